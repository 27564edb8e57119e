//! Contestants: Callgate as its users call it, and the floors that no reader can get under.

use std::error::Error;
use std::hint::black_box;

use callgate::json::{End, Reader, Syntax};
use callgate::{Event, FinishReason, Gate, Policy, Profile, Record, Registry, Response, Session};
use serde_json::Value;

use crate::stopwatch::Budget;
use crate::workload::{Answer, CallMade, Task, Workload, tools};

/// Reads chunks into an answer; nothing if it was given up.
type Run = Box<dyn FnMut(&[&str]) -> Option<Answer>>;

/// One column of the table.
pub struct Contestant {
    pub name: &'static str,
    /// Whether it only touches the bytes, so that it has no answer to check.
    pub is_floor: bool,
    run: Run,
}

impl Contestant {
    pub fn new(name: &'static str, run: Run) -> Self {
        Contestant { name, is_floor: false, run }
    }

    pub fn run(&mut self, chunks: &[&str]) -> Option<Answer> {
        (self.run)(chunks)
    }
}

/// Callgate's ways of doing the workload.
pub fn callgate(workload: &Workload) -> Result<Vec<Contestant>, Box<dyn Error>> {
    Ok(match workload.task {
        Task::Response(dialect) => {
            let mut contestants = vec![Contestant::new("callgate", read_with(gate(dialect)?))];
            // A format without an unmistakable marker is never read unless it was asked for.
            let opener =
                callgate::dialect::named(dialect).and_then(|record| record.openers().first().copied());
            if opener.is_some_and(Record::is_unmistakable) {
                contestants.push(Contestant::new("callgate auto", read_with(gate("auto")?)));
            }
            contestants.push(Contestant::new("callgate alone", read_with(gate_alone(dialect)?)));
            contestants
        }
        Task::Repair => vec![Contestant::new("callgate", Box::new(repair))],
    })
}

/// The floors: parsing the arguments that are known to be right, and looking for one byte.
pub fn floors(workload: &Workload) -> Vec<Contestant> {
    let arguments: Vec<String> = workload.right.calls.iter().map(|call| call.arguments.clone()).collect();
    let mut floors = Vec::new();
    if !arguments.is_empty() {
        let run: Run = Box::new(move |_| {
            for text in &arguments {
                black_box(serde_json::from_str::<Value>(text).ok());
            }
            Some(Answer::default())
        });
        floors.push(Contestant { name: "serde_json", is_floor: true, run });
    }
    let run: Run = Box::new(|chunks| {
        for chunk in chunks {
            black_box(memchr::memchr_iter(b'<', chunk.as_bytes()).count());
        }
        Some(Answer::default())
    });
    floors.push(Contestant { name: "memchr", is_floor: true, run });
    floors
}

/// A gate with the tools of the workloads, profile standard, and this dialect.
pub fn gate(dialect: &str) -> Result<Gate, Box<dyn Error>> {
    let registry = Registry::from_json(&tools().to_string())?;
    Ok(Gate::builder().tools(registry).dialect(dialect).build()?)
}

/// The same, but deaf to all other dialects: the profile `structured` does not listen.
fn gate_alone(dialect: &str) -> Result<Gate, Box<dyn Error>> {
    let registry = Registry::from_json(&tools().to_string())?;
    let profile = Profile::named("structured").ok_or("no such profile")?;
    Ok(Gate::builder().profile(profile).policy(Policy::default()).tools(registry).dialect(dialect).build()?)
}

/// Feeds the chunks until they end or patience does. Never inlined, so that a profiler can be told to look
/// inside only.
#[inline(never)]
pub fn feed(session: &mut Session, chunks: &[&str], sink: &mut dyn FnMut(Event<'_>)) -> bool {
    let mut budget = Budget::start();
    for chunk in chunks {
        session.push(chunk, sink);
        if !budget.lasts() {
            return false;
        }
    }
    session.finish(FinishReason::Stop, sink);
    true
}

fn read_with(gate: Gate) -> Run {
    Box::new(move |chunks| {
        let mut collector = Response::collector();
        let mut session = gate.session();
        let done = feed(&mut session, chunks, &mut |event| collector.push(event));
        let response = collector.finish(FinishReason::Stop);
        let made = |call: callgate::Call| CallMade { name: call.name, arguments: call.arguments };
        done.then(|| Answer { text: response.text, calls: response.calls.into_iter().map(made).collect() })
    })
}

fn repair(chunks: &[&str]) -> Option<Answer> {
    let mut budget = Budget::start();
    let mut reader = Reader::new(Syntax::Json).document();
    for chunk in chunks {
        reader.push(chunk);
        if !budget.lasts() {
            return None;
        }
    }
    if reader.finish() != End::Whole {
        reader.close();
    }
    let (arguments, _, _) = reader.into_parts();
    Some(Answer { text: String::new(), calls: vec![CallMade { name: String::new(), arguments }] })
}
