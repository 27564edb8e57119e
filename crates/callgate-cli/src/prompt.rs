//! `callgate prompt`: the system-prompt section that teaches a model the format of a profile.

use std::io::Write;

use crate::args::PromptArgs;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::paint::Paint;

pub(crate) fn run(args: &PromptArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let profile = input::profile(&args.profile)?;
    let tools = input::tools(&args.tools)?;
    writeln!(out, "{}", paint.raw_or_visible(profile.prompt(&tools).trim_end()))?;
    Ok(Outcome::Fine)
}
