//! Contestants: Callgate as its users call it. The floors and the peers are in files of their own.

use std::error::Error;
use std::hint::black_box;

use callgate::internal::json::{End, Reader, Syntax};
use callgate::{Event, FinishReason, Gate, Profile, Record, Registry, Response, Session};

use crate::stopwatch::{Budget, lasts};
use crate::workload::{Answer, CallMade, Task, Workload, tools};

/// How deep JSON may be.
const DEPTH: usize = 128;

/// What is done with what a contestant reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// Text, names and arguments are copied into an answer.
    Copy,
    /// They are looked at and let go: what borrowed events are for. There is no answer then.
    Look,
}

/// Reads chunks into an answer; nothing if it was given up.
pub type Run = Box<dyn FnMut(&[&str], Take) -> Option<Answer>>;

/// One column of the table.
pub struct Contestant {
    pub name: &'static str,
    /// Whether it does only a part of the task, so that it has no answer to check.
    pub is_floor: bool,
    /// How it takes what it is measured with; its answer is checked in a run that copies.
    pub take: Take,
    run: Run,
}

impl Contestant {
    pub fn new(name: &'static str, run: Run) -> Self {
        Contestant { name, is_floor: false, take: Take::Copy, run }
    }

    pub fn floor(name: &'static str, run: Run) -> Self {
        Contestant { name, is_floor: true, take: Take::Copy, run }
    }

    pub fn run(&mut self, chunks: &[&str], take: Take) -> Option<Answer> {
        (self.run)(chunks, take)
    }
}

/// Callgate's ways of doing the workload.
pub fn callgate(workload: &Workload) -> Result<Vec<Contestant>, Box<dyn Error>> {
    Ok(match workload.task {
        Task::Response(dialect) => {
            let mut contestants = vec![
                Contestant::new("callgate auto", read_with(gate_auto(dialect)?)),
                Contestant::new("callgate alone", read_with(gate_alone(dialect)?)),
            ];
            if workload.right.calls.is_empty() {
                for (name, gate) in
                    [("auto, borrowed", gate_auto(dialect)?), ("alone, borrowed", gate_alone(dialect)?)]
                {
                    let borrowed = Contestant::new(name, read_with(gate));
                    contestants.push(Contestant { take: Take::Look, ..borrowed });
                }
            }
            contestants
        }
        Task::Json => vec![
            Contestant::new("callgate text", Box::new(|chunks, _| read_json(chunks, false))),
            Contestant::new("callgate value", Box::new(|chunks, _| read_json(chunks, true))),
        ],
    })
}

/// A gate with the tools of the workloads, profile standard, and this dialect.
pub fn gate(dialect: &str) -> Result<Gate, Box<dyn Error>> {
    let registry = Registry::from_json(&tools().to_string())?;
    Ok(Gate::builder().tools(registry).dialect(dialect).build()?)
}

/// A gate for which every dialect listens as if it had been asked for alone.
pub fn gate_of_all() -> Result<Gate, Box<dyn Error>> {
    let names: Vec<&str> = Record::builtin().iter().map(|record| &*record.name).collect();
    let registry = Registry::from_json(&tools().to_string())?;
    Ok(Gate::builder().tools(registry).dialects(&names).build()?)
}

/// A gate for which all dialects listen that do so by themselves. A format without an unmistakable marker does not, and has
/// to be asked for as well.
pub fn gate_auto(dialect: &str) -> Result<Gate, Box<dyn Error>> {
    let openers = Record::named(dialect).map(Record::openers).unwrap_or_default();
    if openers.first().is_some_and(|opener| Record::is_unmistakable(opener)) {
        return gate("auto");
    }
    let registry = Registry::from_json(&tools().to_string())?;
    Ok(Gate::builder().tools(registry).dialects(&["auto", dialect]).build()?)
}

/// The same with the policy of standard, but deaf to all other dialects: the profile `structured` does not listen.
pub fn gate_alone(dialect: &str) -> Result<Gate, Box<dyn Error>> {
    let registry = Registry::from_json(&tools().to_string())?;
    let profile = Profile::named("structured").ok_or("no such profile")?;
    let policy = Profile::standard().policy();
    Ok(Gate::builder().profile(profile).policy(policy).tools(registry).dialect(dialect).build()?)
}

/// Feeds the chunks until they end or patience does. Never inlined, so that a profiler can be told to look
/// inside only.
#[inline(never)]
pub fn feed(mut session: Session, chunks: &[&str], sink: &mut dyn FnMut(Event<'_>)) -> bool {
    let mut budget = Budget::start(chunks);
    for chunk in chunks {
        session.push(chunk, sink);
        if !lasts(&mut budget) {
            return false;
        }
    }
    session.finish(FinishReason::Stop, sink);
    true
}

fn read_with(gate: Gate) -> Run {
    Box::new(move |chunks, take| {
        let session = gate.session();
        if take == Take::Look {
            let done = feed(session, chunks, &mut |event| {
                black_box(&event);
            });
            return done.then(Answer::default);
        }
        let mut collector = Response::collector();
        let done = feed(session, chunks, &mut |event| {
            black_box(&event);
            collector.push(event);
        });
        let response = collector.finish(FinishReason::Stop);
        let made = |call: callgate::Call| CallMade { name: call.name, arguments: call.arguments };
        done.then(|| Answer { text: response.text, calls: response.calls.into_iter().map(made).collect() })
    })
}

/// How many pieces of arguments come out of a response before its calls are judged.
pub fn deltas(gate: &Gate, chunks: &[&str]) -> usize {
    let mut count = 0;
    feed(gate.session(), chunks, &mut |event| {
        count += usize::from(matches!(event, Event::ArgumentsDelta { .. }));
    });
    count
}

/// The JSON reader with every repair allowed: to valid text, or to a value of serde_json.
fn read_json(chunks: &[&str], to_value: bool) -> Option<Answer> {
    let answer =
        |arguments| Answer { text: String::new(), calls: vec![CallMade { name: String::new(), arguments }] };
    if let ([whole], false) = (chunks, to_value) {
        return callgate::repair(whole, DEPTH).ok().map(|repaired| answer(repaired.text));
    }
    let mut budget = Budget::start(chunks);
    let mut reader = Reader::new(Syntax::Json).document().with_depth(DEPTH);
    for chunk in chunks {
        reader.push(chunk);
        if !lasts(&mut budget) {
            return None;
        }
    }
    if reader.finish() != End::Whole {
        reader.close();
    }
    let (arguments, tape, _) = reader.into_parts();
    if to_value {
        black_box(tape.value(&arguments, 0)?);
    }
    Some(answer(arguments))
}
