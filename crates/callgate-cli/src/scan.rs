//! `callgate scan`: many responses, one JSON line each, judged in parallel and written in order.

use std::io::Write;

use crate::args::ScanArgs;
use crate::exit::{Outcome, Stop};
use crate::paint::Paint;

pub(crate) fn run(args: &ScanArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    Ok(Outcome::Fine)
}
