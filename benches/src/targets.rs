//! Targets: what the speed has to be, as ratios inside one run, and whether it is.

use serde_json::{Value, json};

use crate::allocation::Cost;
use crate::report::{Line, find, number};
use crate::stopwatch::Outcome;
use crate::{creation, growth};

/// Fewer allocations per chunk than this are buffers that grow by doubling.
const NONE_PER_CHUNK: f64 = 0.001;

/// One thing to reach.
pub struct Target {
    pub what: String,
    pub required: f64,
    /// With all dialects listening, or where that makes no difference.
    pub auto: Option<f64>,
    /// With one dialect.
    pub alone: Option<f64>,
    /// Something the reader has to know about the figure.
    pub note: String,
}

impl Target {
    fn one(what: String, required: f64, measured: Option<f64>) -> Target {
        Target { what, required, auto: measured, alone: None, note: String::new() }
    }

    fn verdict(&self) -> &'static str {
        let met = |measured: Option<f64>| measured.map(|measured| measured <= self.required);
        match (met(self.auto), met(self.alone)) {
            (None, None) => "**not measured**",
            (Some(true), Some(true) | None) | (None, Some(true)) => "met",
            (Some(true), Some(false)) => "met with `auto` only",
            (Some(false), Some(true)) => "met with one dialect only",
            _ => "**not met**",
        }
    }
}

/// What was measured; parts that were left out are empty.
pub struct Measured<'m> {
    pub lines: &'m [Line],
    pub creation: &'m [creation::Row],
    pub costs: &'m [Cost],
    pub families: &'m [growth::Row],
    /// Of W3 and W4, streamed: how many pieces of arguments came out per chunk.
    pub deltas: &'m [(&'static str, f64)],
}

impl Measured<'_> {
    /// Callgate's two ways against another contestant.
    fn against(&self, workload: &str, streamed: bool, other: &str, required: f64) -> Target {
        let line = find(self.lines, workload, streamed);
        let mut note = String::new();
        for name in ["callgate auto", "callgate alone", other] {
            if let Some(Outcome::Read { fault: Some(fault), .. }) = line.and_then(|line| line.outcome(name)) {
                note.push_str(&format!("{name}: {}. ", fault.kind));
            }
        }
        let ratio = |name: &str| ratio(line?, name, other);
        Target {
            what: format!("{workload} {} ÷ {other}", if streamed { "streamed" } else { "whole" }),
            required,
            auto: ratio("callgate auto"),
            alone: ratio("callgate alone"),
            note,
        }
    }

    /// One contestant against another.
    fn between(&self, workload: &str, name: &str, other: &str, required: f64) -> Target {
        let line = find(self.lines, workload, false);
        let measured = line.and_then(|line| ratio(line, name, other));
        Target::one(format!("{workload}: {name} ÷ {other}"), required, measured)
    }

    /// All targets, in the order of the goals.
    pub fn targets(&self) -> Vec<Target> {
        let mut targets = vec![
            self.against("W1", false, "dynamo-parsers", 0.8),
            self.against("W2", false, "dynamo-parsers", 1.0),
            self.against("W3", false, "dynamo-parsers", 1.5),
            self.against("W4", false, "dynamo-parsers-v2", 0.02),
            self.against("W6", false, "dynamo-parsers", 0.25),
            self.against("W3", false, "serde_json", 1.3),
        ];
        for (workload, required) in [("W3", 2.0), ("W4", 2.0), ("W1", 2.5)] {
            let mut target = self.against(workload, true, "floor", required);
            if let Some((_, deltas)) = self.deltas.iter().find(|(name, _)| *name == workload) {
                target.note.push_str(&format!("{deltas:.2} pieces of arguments per chunk"));
            }
            targets.push(target);
        }
        for name in ["hermes", "qwen3-coder", "text"] {
            let cost = self.costs.iter().find(|cost| cost.name == name);
            let what = format!("allocations per chunk, {name} of 10 MB");
            targets.push(Target::one(what, NONE_PER_CHUNK, cost.map(|cost| cost.per_chunk)));
        }
        let session =
            |what: &str| self.creation.iter().find(|row| row.name == "callgate" && row.what == what);
        let (auto, alone) = (session("auto"), session("hermes alone"));
        targets.push(Target {
            auto: auto.map(|row| row.nanoseconds),
            alone: alone.map(|row| row.nanoseconds),
            ..Target::one("making a session, in ns".to_owned(), 100.0, None)
        });
        targets.push(Target {
            auto: auto.map(|row| row.allocations as f64),
            alone: alone.map(|row| row.allocations as f64),
            ..Target::one("making a session, allocations".to_owned(), 0.0, None)
        });
        let gate = session(creation::ALL);
        let what = format!("{}, in ms", creation::ALL);
        targets.push(Target::one(what, 20.0, gate.map(|row| row.nanoseconds / 1e6)));
        let what = format!("{}, in MB", creation::ALL);
        targets.push(Target::one(what, 4.0, gate.map(|row| row.peak as f64 / 1e6)));
        let text = self.between("W5", "alone, borrowed", "memmem", 3.0);
        targets.push(Target { alone: text.auto, auto: None, ..text });
        targets.push(self.between("W5", "auto, borrowed", "memchr3", 3.0));
        targets.push(Target {
            note: "the reader's text against a value of serde_json".to_owned(),
            ..self.between("repair-100k", "callgate text", "serde_json", 1.0)
        });
        targets.push(self.between("repair-100k", "callgate value", "serde_json", 1.0));
        targets.push(Target {
            note: "the reader's text against a value of serde_json".to_owned(),
            ..self.between("valid-100k", "callgate text", "serde_json", 1.15)
        });
        targets.push(self.between("valid-100k", "callgate value", "serde_json", 1.15));
        for mode in ["whole", "streamed"] {
            let rows = self.families.iter().filter(|row| row.mode == mode && row.dialect != "floor");
            let worst = rows
                .filter_map(|row| Some((row.exponent()?, &row.dialect)))
                .max_by(|(one, _), (other, _)| one.total_cmp(other));
            // What memory and caches do to the exponent by themselves.
            let mut floor = self.families.iter().filter(|row| row.mode == mode && row.dialect == "floor");
            let floor = floor.next().and_then(|row| row.exponent());
            let floor = floor.map(|exponent| format!("; the floor has {exponent:.3}")).unwrap_or_default();
            targets.push(Target {
                note: worst.map(|(_, dialect)| format!("the worst is {dialect}{floor}")).unwrap_or_default(),
                ..Target::one(
                    format!("growth from 10 KB to 10 MB, {mode}: exponent"),
                    1.03,
                    worst.map(|(exponent, _)| exponent),
                )
            });
        }
        let peak = |cost: &Cost| cost.peak as f64 / cost.bytes as f64;
        let calls = || self.costs.iter().filter(|cost| cost.name != "text");
        let worst = calls().max_by(|one, other| peak(one).total_cmp(&peak(other)));
        for (limit, words) in [(1.3, ""), (2.5, ", at the very most")] {
            targets.push(Target {
                note: worst.map(|cost| format!("the worst is {}", cost.name)).unwrap_or_default(),
                ..Target::one(
                    format!("peak memory of a streamed call of 10 MB ÷ its size{words}"),
                    limit,
                    worst.map(peak),
                )
            });
        }
        let text = self.costs.iter().find(|cost| cost.name == "text");
        targets.push(Target::one(
            "peak memory of 10 MB of streamed text, in KB".to_owned(),
            64.0,
            text.map(|cost| cost.peak as f64 / 1024.0),
        ));
        targets
    }
}

/// The time of one contestant against another's. A wrong answer of Callgate's has no time: being fast at it is worth nothing.
fn ratio(line: &Line, name: &str, other: &str) -> Option<f64> {
    match line.outcome(name)? {
        Outcome::Read { best, fault: None, .. } => Some(best / line.outcome(other)?.best()?),
        _ => None,
    }
}

/// The targets as JSON.
pub fn to_json(targets: &[Target]) -> Value {
    let row = |target: &Target| {
        json!({"what": target.what, "required": target.required, "auto": target.auto, "alone": target.alone,
            "verdict": target.verdict().replace('*', ""), "note": target.note})
    };
    targets.iter().map(row).collect()
}

/// The targets as a table.
pub fn to_markdown(targets: &[Target]) -> String {
    let mut table =
        String::from("| what | at most | `auto` | one dialect | | |\n|---|--:|--:|--:|---|---|\n");
    for target in targets {
        let cell = |measured: Option<f64>| measured.map_or("–".to_owned(), number);
        table.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            target.what,
            target.required,
            cell(target.auto),
            cell(target.alone),
            target.verdict(),
            target.note.trim()
        ));
    }
    table
}
