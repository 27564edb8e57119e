//! How a run ends: the exit codes, and the line on standard error that goes with a bad end, one for each fault.

use std::fmt;
use std::io;

/// A run that went to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Everything came through.
    Fine,
    /// Something was rejected, or a line was bad.
    Rejected,
    /// The user went by Ctrl-C.
    Interrupted,
    /// What is there holds, but a log does not say that it is at its end.
    Unfinished,
}

impl Outcome {
    /// `Rejected` if anything was.
    pub(crate) fn rejected_if(rejected: bool) -> Self {
        if rejected { Outcome::Rejected } else { Outcome::Fine }
    }
}

/// A run that could not go to its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The command line or an input file cannot be used: one sentence, and a way out.
    Usage { message: String, help: String },
    /// Several things cannot be used: a sentence and a way out for each.
    Faults(Vec<(String, String)>),
    /// Standard output or the output file could not be written.
    Write(io::Error),
    /// Reading failed in the middle, or a promise of the program itself did not hold.
    Internal(String),
}

impl Stop {
    pub(crate) fn usage(message: impl fmt::Display, help: impl fmt::Display) -> Self {
        Stop::Usage { message: message.to_string(), help: help.to_string() }
    }

    /// What is said about it, a line for each fault.
    pub(crate) fn lines(&self) -> Vec<String> {
        match self {
            Stop::Faults(faults) => {
                let usage = |(message, help): &(String, String)| Stop::usage(message, help).to_string();
                faults.iter().map(usage).collect()
            }
            other => vec![other.to_string()],
        }
    }

    /// The reader went away (`callgate … | head`): that is how it says that it has seen enough.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Stop::Write(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Usage { message, help } if help.is_empty() => f.write_str(message),
            Stop::Usage { message, help } => write!(f, "{message}; {help}"),
            Stop::Faults(_) => f.write_str(&self.lines().join("\n")),
            Stop::Write(error) => write!(f, "cannot write the output: {error}"),
            Stop::Internal(message) => write!(f, "internal error: {message}"),
        }
    }
}

/// Every `?` on an `io::Result` in this program is a write: reads are turned into `Stop::Usage` with their path.
impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Stop::Write(error)
    }
}

/// The exit code of a program that Ctrl-C ended, as shells give it.
pub(crate) const INTERRUPTED: u8 = 130;

/// The code of the process; `callgate --help` and `docs/cli.md` list them.
pub(crate) fn code(result: &Result<Outcome, Stop>) -> u8 {
    match result {
        Ok(Outcome::Fine) => 0,
        Ok(Outcome::Rejected) => 1,
        Ok(Outcome::Unfinished) => 4,
        Ok(Outcome::Interrupted) => INTERRUPTED,
        Err(stop) if stop.is_closed_pipe() => 0,
        Err(Stop::Usage { .. } | Stop::Faults(_)) => 2,
        Err(Stop::Write(_) | Stop::Internal(_)) => 3,
    }
}

/// What a panic says, for the one line that reports it.
pub(crate) fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let message = text.or_else(|| panic.downcast_ref::<String>().cloned());
    format!(
        "{}; please report it with the input",
        message.as_deref().unwrap_or("a part of the program failed")
    )
}
