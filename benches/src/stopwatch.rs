//! Time: CPU time of this thread, in rounds that take turns, with a budget for contestants that do not come back.

use std::hint::black_box;
use std::time::Duration;

use cpu_time::ThreadTime;

use crate::contestant::Contestant;
use crate::workload::{Answer, Fault};

/// How long one reading may take before it is given up.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one turn of a contestant lasts at least, so that the clock's own cost does not count.
const TURN: Duration = Duration::from_millis(4);
/// A contestant slower than this is measured once.
const SLOW: Duration = Duration::from_millis(700);

/// The patience that is left for one reading.
pub struct Budget {
    start: ThreadTime,
    asked: usize,
}

impl Budget {
    pub fn start() -> Self {
        Budget { start: ThreadTime::now(), asked: 0 }
    }

    /// Whether to go on. Asked once per chunk, it looks at the clock only now and then.
    pub fn lasts(&mut self) -> bool {
        self.asked += 1;
        self.asked % 256 != 0 || self.start.elapsed() < PATIENCE
    }
}

/// What one contestant did.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// It read the text; the fastest reading took this long. The fault is what is wrong with its answer.
    Read { best: Duration, fault: Option<Fault> },
    /// It was given up.
    GivenUp,
}

impl Outcome {
    pub fn best(&self) -> Option<Duration> {
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
        let start = ThreadTime::now();
        let answer = black_box(contestant.run(chunks));
        let best = start.elapsed();
        outcomes.push(match answer {
            Some(answer) => {
                let fault = if contestant.is_floor { None } else { answer.fault(right) };
                Outcome::Read { best, fault }
            }
            None => Outcome::GivenUp,
        });
    }
    for _ in 0..rounds {
        for (contestant, outcome) in contestants.iter_mut().zip(&mut outcomes) {
            let Outcome::Read { best, .. } = outcome else { continue };
            if *best > SLOW {
                continue;
            }
            let times = (TURN.as_nanos() / best.as_nanos().max(1)).clamp(1, 20_000) as u32;
            let start = ThreadTime::now();
            for _ in 0..times {
                black_box(contestant.run(black_box(chunks)));
            }
            *best = (*best).min(start.elapsed() / times);
        }
    }
    outcomes
}

/// The CPU time of one run.
pub fn time<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = ThreadTime::now();
    let result = run();
    (result, start.elapsed())
}
