//! Time: CPU time of this thread, in rounds that take turns, with a budget for contestants that do not come back.

use std::cell::Cell;
use std::hint::black_box;
use std::time::Duration;

use cpu_time::ThreadTime;

use crate::allocation::{Count, counted};
use crate::contestant::{Contestant, Take};
use crate::workload::{Answer, Fault};

/// How long one reading may take before it is given up.
const PATIENCE: Duration = Duration::from_secs(40);
/// How long one turn of a contestant lasts at least, so that the clock's own cost does not count.
const TURN: Duration = Duration::from_millis(4);
/// A contestant slower than this is measured once.
const SLOW: Duration = Duration::from_millis(700);

thread_local! {
    /// What contestants spent on things that are not theirs.
    static ASIDE: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// The patience that is left for one reading.
pub struct Budget {
    start: ThreadTime,
    asked: usize,
}

impl Budget {
    /// The clock is read when the first chunks are done: short readings do not pay for it.
    pub fn start(chunks: &[&str]) -> Option<Self> {
        (chunks.len() > 1024).then(|| Budget { start: ThreadTime::now(), asked: 0 })
    }
}

/// Whether to go on. Asked once per chunk, it looks at the clock only now and then.
pub fn lasts(budget: &mut Option<Budget>) -> bool {
    let Some(budget) = budget else { return true };
    budget.asked += 1;
    budget.asked % 1024 != 0 || budget.start.elapsed() < PATIENCE
}

/// Does something that is not part of the reading, such as wrapping chunks into a peer's type: its time is taken off.
#[cfg(feature = "peers")]
pub fn aside<T>(work: impl FnOnce() -> T) -> T {
    let (result, took) = time(work);
    ASIDE.set(ASIDE.get() + took);
    result
}

/// What one contestant did.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It read the text; the fastest reading took this long, in nanoseconds. The fault is what is wrong with its answer.
    Read { best: f64, fault: Option<Fault>, count: Count },
    /// It was given up.
    GivenUp,
}

impl Outcome {
    /// The fastest reading in nanoseconds.
    pub fn best(&self) -> Option<f64> {
        match self {
            Outcome::Read { best, .. } => Some(*best),
            Outcome::GivenUp => None,
        }
    }
}

/// Lets the contestants read the chunks in turns and keeps the fastest reading of each.
pub fn race(contestants: &mut [Contestant], chunks: &[&str], right: &Answer, rounds: usize) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for contestant in contestants.iter_mut() {
        ASIDE.set(Duration::ZERO);
        let ((answer, took), count) = counted(|| time(|| contestant.run(chunks, Take::Copy)));
        let best = took.saturating_sub(ASIDE.get()).as_nanos() as f64;
        // The first reading also fills what is shared, such as compiled expressions.
        let count = if best > SLOW.as_nanos() as f64 {
            count
        } else {
            counted(|| contestant.run(chunks, Take::Copy)).1
        };
        outcomes.push(match answer {
            Some(answer) => {
                let fault = if contestant.is_floor { None } else { answer.fault(right) };
                Outcome::Read { best, fault, count }
            }
            None => Outcome::GivenUp,
        });
    }
    for _ in 0..rounds {
        for (contestant, outcome) in contestants.iter_mut().zip(&mut outcomes) {
            let Outcome::Read { best, .. } = outcome else { continue };
            if *best > SLOW.as_nanos() as f64 {
                continue;
            }
            let times = (TURN.as_nanos() as f64 / best.max(1.0)).clamp(1.0, 100_000.0) as u32;
            *best = best.min(fastest(times, || {
                black_box(contestant.run(black_box(chunks), contestant.take));
            }));
        }
    }
    outcomes
}

/// The time of one of this many runs in nanoseconds, without what was done aside.
pub fn fastest(times: u32, mut run: impl FnMut()) -> f64 {
    ASIDE.set(Duration::ZERO);
    let ((), took) = time(|| (0..times).for_each(|_| run()));
    took.saturating_sub(ASIDE.get()).as_nanos() as f64 / f64::from(times)
}

/// The CPU time of one run.
pub fn time<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = ThreadTime::now();
    let result = black_box(run());
    (result, start.elapsed())
}
