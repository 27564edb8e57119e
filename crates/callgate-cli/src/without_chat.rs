//! `callgate chat` in a program that was built without it, as the one in the Python wheel is: it says how to get it.

/// In place of the command.
pub(crate) mod chat {
    use crate::args::ChatArgs;
    use crate::exit::{Outcome, Stop};
    use crate::paint::Paint;

    pub(crate) fn run(_: &ChatArgs, _: Paint) -> Result<Outcome, Stop> {
        Err(Stop::usage(
            "this program was built without `chat`",
            "take one with the feature `chat`, as those of a release and that of `cargo install callgate-cli` are",
        ))
    }
}
