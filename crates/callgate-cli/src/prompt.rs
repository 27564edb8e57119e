//! `callgate prompt`: the system-prompt section that teaches a model the format of a profile or of a dialect.

use std::io::Write;

use crate::args::PromptArgs;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::paint::Paint;

pub(crate) fn run(args: &PromptArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let tools = input::tools(&args.tools)?;
    let section = match input::chosen_record(args.dialect.as_deref(), args.dialect_file.as_deref())? {
        Some(record) => record.prompt_section(&tools),
        None => input::profile(&args.profile)?.prompt(&tools),
    };
    writeln!(out, "{}", paint.raw_or_visible(section.trim_end()))?;
    Ok(Outcome::Fine)
}
