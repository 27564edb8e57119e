//! `callgate serve` and `callgate verify` in a program that was built without the gateway: they say how to get it.

/// In place of the command.
pub(crate) mod serve {
    use crate::args::ServeArgs;
    use crate::exit::{Outcome, Stop};
    use crate::paint::Paint;

    pub(crate) fn run(_: &ServeArgs, _: Paint) -> Result<Outcome, Stop> {
        Err(super::missing())
    }
}

/// In place of the command.
pub(crate) mod verify {
    use std::io::Write;

    use crate::args::VerifyArgs;
    use crate::exit::{Outcome, Stop};
    use crate::paint::Paint;

    pub(crate) fn run(_: &VerifyArgs, _: Paint, _: &mut impl Write) -> Result<Outcome, Stop> {
        Err(super::missing())
    }
}

fn missing() -> crate::exit::Stop {
    crate::exit::Stop::usage(
        "this program was built without the gateway",
        "build it with the feature `gateway`: `cargo install callgate-cli` does",
    )
}
