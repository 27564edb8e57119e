//! What one question may cost, and what it has cost.

use std::collections::BTreeMap;
use std::time::Duration;

use callgate::Call;
use tokio::time::Instant;

use super::{ToolError, ToolErrorCode};
use crate::approval::hash;

/// How much one question of the user may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spending {
    /// The most responses of the model.
    pub turns: usize,
    /// The most calls that are run.
    pub calls: usize,
    /// The most calls of one response that are run.
    pub calls_per_turn: usize,
    /// How often the same call with the same arguments is run.
    pub same_calls: usize,
    /// How long all of it may take.
    pub time: Duration,
    /// How long one call may take.
    pub call_time: Duration,
    /// After which failures a call is run once more.
    pub rerun: Rerun,
    /// How often at most.
    pub max_reruns: u32,
}

impl Default for Spending {
    fn default() -> Self {
        Spending {
            turns: 16,
            calls: 64,
            calls_per_turn: 16,
            same_calls: 5,
            time: Duration::from_secs(1_800),
            call_time: Duration::from_secs(30),
            rerun: Rerun::Off,
            max_reruns: 2,
        }
    }
}

/// After which failures a call that ran unasked is run once more. Others may pass as little the second time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rerun {
    /// After none.
    #[default]
    Off,
    /// If what it needs could not be reached.
    Transport,
    /// If it took too long, too.
    Timeout,
}

impl Rerun {
    /// Whether a call that failed so is run once more.
    pub fn is_after(self, error: &ToolError) -> bool {
        match error.code {
            ToolErrorCode::Unreachable => self >= Rerun::Transport,
            ToolErrorCode::Timeout => self >= Rerun::Timeout,
            _ => false,
        }
    }
}

/// What was spent of it.
#[derive(Clone, Debug)]
pub struct Meter {
    pub(super) spending: Spending,
    until: Instant,
    turns: usize,
    calls: usize,
    /// How often each call was taken, by its hash.
    taken: BTreeMap<String, usize>,
}

impl Meter {
    /// Nothing is spent yet; the time begins now.
    pub fn new(spending: Spending) -> Self {
        // A limit beyond what the clock can hold is no limit.
        let far = Duration::from_secs(86_400 * 365);
        Meter {
            spending,
            until: Instant::now() + spending.time.min(far),
            turns: 0,
            calls: 0,
            taken: BTreeMap::new(),
        }
    }

    /// Takes a response of the model; an error if there is none left.
    pub fn take_turn(&mut self) -> Result<(), ToolError> {
        self.in_time()?;
        if self.turns == self.spending.turns {
            return Err(over(format!("the {} responses of one question are spent", self.turns)));
        }
        self.turns += 1;
        Ok(())
    }

    /// When the time is over.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// The responses and calls that were taken.
    pub fn taken(&self) -> (usize, usize) {
        (self.turns, self.calls)
    }

    /// Takes the call with this number in its response; an error if there is none left.
    pub(super) fn take_call(&mut self, number: usize, call: &Call) -> Result<(), ToolError> {
        self.in_time()?;
        if number >= self.spending.calls_per_turn {
            let most = self.spending.calls_per_turn;
            return Err(over(format!("only {most} calls of one response are run")));
        }
        if self.calls == self.spending.calls {
            return Err(over(format!("the {} calls of one question are spent", self.calls)));
        }
        let same = self.taken.entry(hash(call)).or_default();
        if *same == self.spending.same_calls {
            let message = format!("this very call was made {same} times already, and its results are above");
            return Err(ToolError::new(ToolErrorCode::Repeated, "", message));
        }
        *same += 1;
        self.calls += 1;
        Ok(())
    }

    fn in_time(&self) -> Result<(), ToolError> {
        if Instant::now() >= self.until {
            return Err(over("the time for one question is over".to_owned()));
        }
        Ok(())
    }
}

fn over(message: String) -> ToolError {
    ToolError::new(ToolErrorCode::OverBudget, "", message)
}
