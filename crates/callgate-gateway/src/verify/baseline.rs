//! Baselines: an earlier report, and what got better or worse since.

use serde::{Deserialize, Serialize};

use super::Report;

/// By how much a time may differ and still count as the same: a fifth, or so many milliseconds.
const SAME_MS: u64 = 20;

/// An earlier report, as `--json` wrote it.
#[derive(Clone, Debug, Deserialize)]
pub struct Baseline {
    /// The endpoint.
    pub endpoint: String,
    /// The model.
    pub model: String,
    scores: Vec<OldScore>,
    #[serde(default)]
    first_argument: Option<OldWaits>,
    #[serde(default)]
    tasks: Vec<OldTask>,
}

#[derive(Clone, Debug, Deserialize)]
struct OldScore {
    measure: String,
    held: u32,
    of: u32,
}

#[derive(Clone, Debug, Deserialize)]
struct OldWaits {
    median_ms: u64,
}

#[derive(Clone, Debug, Deserialize)]
struct OldTask {
    name: String,
}

/// What became of a measure since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    /// It holds in a larger share of cases, or takes less time.
    Better,
    /// In a smaller share, or more time.
    Worse,
    /// Neither.
    Same,
    /// One of the two did not look at it.
    Unknown,
}

impl Change {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Change::Better => "better",
            Change::Worse => "worse",
            Change::Same => "same",
            Change::Unknown => "not compared",
        }
    }
}

/// A measure, then and now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// Its name; `first argument` is the time, in milliseconds of one.
    pub measure: &'static str,
    /// How often it held then, and of how many.
    pub was: Option<(u64, u64)>,
    /// How often it holds now, and of how many.
    pub is: Option<(u64, u64)>,
    /// What became of it.
    pub change: Change,
}

/// The name of the time until the first argument, among the measures.
pub const FIRST_ARGUMENT: &str = "first argument";

impl Baseline {
    /// Reads what `--json` wrote.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Whether other tasks were asked, so that the shares are about something else.
    pub fn is_about_other_tasks(&self, report: &Report) -> bool {
        let then = self.tasks.iter().map(|task| task.name.as_str());
        !then.eq(report.tasks.iter().map(|task| task.name.as_str()))
    }

    /// Every measure that either looked at, then and now; the time stands last.
    pub fn compare(&self, report: &Report) -> Vec<Compared> {
        let mut all: Vec<Compared> = report
            .scores
            .iter()
            .map(|score| {
                let was = self.scores.iter().find(|old| old.measure == score.measure && old.of > 0);
                let was = was.map(|old| (u64::from(old.held), u64::from(old.of)));
                let is = (score.of > 0).then(|| (u64::from(score.held), u64::from(score.of)));
                Compared { measure: score.measure, was, is, change: change(was, is) }
            })
            .filter(|compared| compared.was.is_some() || compared.is.is_some())
            .collect();
        let was = self.first_argument.as_ref().map(|waits| waits.median_ms);
        let is = report.first_argument.map(|waits| waits.median_ms);
        if was.is_some() || is.is_some() {
            let once = |time: Option<u64>| time.map(|time| (time, 1));
            all.push(Compared {
                measure: FIRST_ARGUMENT,
                was: once(was),
                is: once(is),
                change: time_change(was, is),
            });
        }
        all
    }

    /// Whether a measure got worse. Times differ from run to run, so they alone are no reason.
    pub fn is_worse(compared: &[Compared]) -> bool {
        compared.iter().any(|one| one.change == Change::Worse && one.measure != FIRST_ARGUMENT)
    }
}

fn change(was: Option<(u64, u64)>, is: Option<(u64, u64)>) -> Change {
    let (Some((held_then, of_then)), Some((held, of))) = (was, is) else { return Change::Unknown };
    match (held * of_then).cmp(&(held_then * of)) {
        std::cmp::Ordering::Greater => Change::Better,
        std::cmp::Ordering::Less => Change::Worse,
        std::cmp::Ordering::Equal => Change::Same,
    }
}

fn time_change(was: Option<u64>, is: Option<u64>) -> Change {
    match (was, is) {
        (Some(was), Some(is)) if was.abs_diff(is) <= SAME_MS.max(was / 5) => Change::Same,
        (Some(was), Some(is)) => {
            if is < was {
                Change::Better
            } else {
                Change::Worse
            }
        }
        _ => Change::Unknown,
    }
}
