//! Running the calls of one response: each is looked up, prepared, approved, recorded, run and recorded again.

use std::collections::BTreeMap;
use std::time::Duration;

use callgate::Call;
use callgate::internal::json::{Kind, Tape};
use serde::Serialize;
use tokio::time::Instant;

use super::{ToolError, ToolErrorCode, Toolbox, defused};
use crate::approval::{ApprovalPolicy, Approver, Decision, Denial, DenialReason, Grants, Standing, hash};
use crate::audit::{AuditError, AuditLog, Entry};
use crate::cancel::Cancel;
use crate::history::Message;

/// What a model reads of a tool that gave nothing.
const NO_OUTPUT: &str = "(Tool returned no output)";

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
        }
    }
}

/// What was spent of it.
#[derive(Clone, Debug)]
pub struct Meter {
    spending: Spending,
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
    fn take_call(&mut self, number: usize, call: &Call) -> Result<(), ToolError> {
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

/// Who and what stands behind a call that runs.
pub struct Host<'h> {
    /// The tools.
    pub tools: &'h Toolbox,
    /// Which calls run unasked, which ask, which never run.
    pub approval: &'h ApprovalPolicy,
    /// Who is asked.
    pub approver: &'h dyn Approver,
    /// What the session may do.
    pub grants: &'h Grants,
    /// Where decisions are recorded, if they are.
    pub audit: Option<&'h mut AuditLog>,
    /// What ties the records of one response together.
    pub correlation_id: &'h str,
}

/// What became of one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolReport {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// What became of it.
    pub outcome: Outcome,
}

/// How it went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It ran and gave this.
    Ran {
        /// The result.
        result: String,
    },
    /// It ran and failed, or was stopped while it ran: what it did until then is done.
    Failed {
        /// Why.
        error: ToolError,
    },
    /// It did not run.
    NotRun {
        /// Why.
        error: ToolError,
    },
    /// It was not allowed to.
    Denied {
        /// Who or what said no.
        denial: Denial,
    },
}

impl ToolReport {
    /// Whether the tool was started.
    pub fn ran(&self) -> bool {
        matches!(self.outcome, Outcome::Ran { .. } | Outcome::Failed { .. })
    }

    /// What the model is told, with every control token in it broken.
    pub fn to_message(&self) -> Message {
        let (call_id, name) = (self.call_id.clone(), self.name.clone());
        let error = |said: String| Message::ToolError {
            call_id: call_id.clone(),
            name: name.clone(),
            content: defused(&said),
        };
        match &self.outcome {
            Outcome::Ran { result } if result.trim().is_empty() => {
                Message::ToolResult { call_id, name, content: NO_OUTPUT.to_owned() }
            }
            Outcome::Ran { result } => Message::ToolResult { call_id, name, content: defused(result) },
            Outcome::Failed { error: fault } => error(fault.to_string()),
            Outcome::NotRun { error: fault } => error(format!("{fault} The tool was not run.")),
            Outcome::Denied { denial } => error(denial.to_model()),
        }
    }
}

/// A log that could not be written while calls ran, and what had become of them until then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unrecorded {
    /// Why nothing more is run.
    pub error: AuditError,
    /// The calls that were over, and the one that ran although what it gave is not on record.
    pub reports: Vec<ToolReport>,
}

impl std::fmt::Display for Unrecorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Unrecorded {}

/// Runs the calls of one response, one after the other, and tells of each as soon as it is over. Whatever is not
/// recorded is not run: a log that cannot be written ends it.
pub async fn run_calls(
    calls: &[Call],
    host: &mut Host<'_>,
    meter: &mut Meter,
    cancel: &Cancel,
    tell: &mut (dyn FnMut(&ToolReport) + Send),
) -> Result<Vec<ToolReport>, Unrecorded> {
    let mut reports: Vec<ToolReport> = Vec::new();
    for (number, call) in in_order(calls).into_iter().enumerate() {
        let worked = |id: &String| {
            let ran = |report: &ToolReport| matches!(report.outcome, Outcome::Ran { .. });
            reports.iter().any(|report| report.call_id == *id && ran(report))
        };
        let outcome = if cancel.is_cancelled() {
            not_run(host, call, cancelled())
        } else if let Some(id) = call.after.iter().find(|id| !worked(id)) {
            let message = format!("the call `{id}`, which it waits for, did not work");
            not_run(host, call, ToolError::new(ToolErrorCode::Blocked, "", message))
        } else {
            match meter.take_call(number, call) {
                Ok(()) => run_one(call, host, meter, cancel).await,
                Err(error) => not_run(host, call, error),
            }
        };
        let (outcome, error) = match outcome {
            Ok(outcome) => (Some(outcome), None),
            Err(Unwritten { error, ran }) => (ran.map(|ran| *ran), Some(error)),
        };
        if let Some(outcome) = outcome {
            let report = ToolReport { call_id: call.id.clone(), name: call.name.clone(), outcome };
            tell(&report);
            reports.push(report);
        }
        if let Some(error) = error {
            return Err(Unrecorded { error, reports });
        }
    }
    Ok(reports)
}

/// The calls in the order of the response, each behind those that it waits for.
fn in_order(calls: &[Call]) -> Vec<&Call> {
    let mut waiting: Vec<&Call> = calls.iter().collect();
    let mut ordered: Vec<&Call> = Vec::new();
    while !waiting.is_empty() {
        let is_ready = |call: &&Call| call.after.iter().all(|id| ordered.iter().any(|done| done.id == *id));
        // The gate rejects calls that wait for each other; any that got here would run into `blocked`.
        let next = waiting.iter().position(is_ready).unwrap_or(0);
        ordered.push(waiting.remove(next));
    }
    ordered
}

/// A record that could not be written, and what the call had come to if it had run all the same.
struct Unwritten {
    error: AuditError,
    ran: Option<Box<Outcome>>,
}

impl From<AuditError> for Unwritten {
    fn from(error: AuditError) -> Self {
        Unwritten { error, ran: None }
    }
}

async fn run_one(
    call: &Call,
    host: &mut Host<'_>,
    meter: &Meter,
    cancel: &Cancel,
) -> Result<Outcome, Unwritten> {
    let Some(tool) = host.tools.get(&call.name) else {
        let message = format!("no tool `{}` can be run here", call.name);
        return not_run(host, call, ToolError::new(ToolErrorCode::UnknownTool, "", message));
    };
    // Completion has no side effects, so grants and approval rules do not apply to it.
    if tool.ends() {
        return match tool.prepare(&call.value()).await {
            Ok(prepared) => finished(host, call, prepared.run().await, Duration::ZERO),
            Err(error) => not_run(host, call, error),
        };
    }
    if let Err(denial) = host.grants.check(tool.tool()) {
        return deny(host, call, denial);
    }
    // Denied by a rule: no answer could let it run, so it is not even prepared.
    if let (Standing::Deny, why) = host.approval.standing(call, tool.tool()) {
        return deny(host, call, Denial::new(DenialReason::Rule, why));
    }
    // Tools take numbers of 64 bits. A rounded one would differ from what the model wrote and the user approved.
    if let Some(number) = rounded(&call.arguments) {
        let message = format!("the tool would get a rounded number instead of {number}");
        return not_run(host, call, ToolError::new(ToolErrorCode::BadArguments, "", message));
    }
    let arguments = call.value();
    let limit = (Instant::now() + meter.spending.call_time).min(meter.until());
    let prepared = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(cancelled()),
        prepared = tokio::time::timeout_at(limit, tool.prepare(&arguments)) => {
            prepared.unwrap_or_else(|_| Err(too_slow()))
        }
    };
    let prepared = match prepared {
        Ok(prepared) => prepared,
        Err(error) => return not_run(host, call, error),
    };
    let asked = host.approval.decide(call, tool.tool(), prepared.preview(), host.approver);
    let decision = tokio::select! {
        biased;
        () = cancel.cancelled() => {
            let detail = "the user stopped the question".to_owned();
            deny(host, call, Denial::new(DenialReason::Cancelled, detail))?;
            return Ok(Outcome::NotRun { error: cancelled() });
        }
        decision = asked => decision,
    };
    record(host, |settings| Entry::decision(call, &decision, settings))?;
    let redeemed = match decision {
        Decision::Permitted(permit) => permit.redeem(call),
        Decision::Denied(denial) => Err(denial),
    };
    if let Err(denial) = redeemed {
        return Ok(Outcome::Denied { denial });
    }
    let started = Instant::now();
    let limit = (started + meter.spending.call_time).min(meter.until());
    let result = tokio::select! {
        biased;
        () = cancel.cancelled() => Err(cancelled()),
        result = tokio::time::timeout_at(limit, prepared.run()) => result.unwrap_or_else(|_| {
            Err(too_slow())
        }),
    };
    finished(host, call, result, started.elapsed())
}

/// Records what a tool gave.
fn finished(
    host: &mut Host<'_>,
    call: &Call,
    result: Result<String, ToolError>,
    time: Duration,
) -> Result<Outcome, Unwritten> {
    let recorded = record(host, |settings| Entry::result(call, result.as_deref(), settings).took(time));
    let outcome = match result {
        Ok(result) => Outcome::Ran { result },
        Err(error) => Outcome::Failed { error },
    };
    match recorded {
        Ok(()) => Ok(outcome),
        Err(error) => Err(Unwritten { error: error.after(&call.name), ran: Some(Box::new(outcome)) }),
    }
}

/// Records that a tool was never started, and why.
fn not_run(host: &mut Host<'_>, call: &Call, error: ToolError) -> Result<Outcome, Unwritten> {
    record(host, |settings| Entry::not_run(call, &error, settings))?;
    Ok(Outcome::NotRun { error })
}

fn deny(host: &mut Host<'_>, call: &Call, denial: Denial) -> Result<Outcome, Unwritten> {
    let decision = Decision::Denied(denial.clone());
    record(host, |settings| Entry::decision(call, &decision, settings))?;
    Ok(Outcome::Denied { denial })
}

/// A whole number in the arguments that 64 bits cannot hold.
fn rounded(arguments: &str) -> Option<String> {
    let tape = Tape::parse(arguments)?;
    let is_whole = |raw: &str| !raw.contains(['.', 'e', 'E']);
    let is_exact = |raw: &str| raw.parse::<i64>().is_ok() || raw.parse::<u64>().is_ok();
    let numbers = tape.nodes().iter().filter(|node| node.kind == Kind::Number);
    let mut raw = numbers.filter_map(|node| arguments.get(node.start()..node.end()));
    raw.find(|raw| is_whole(raw) && !is_exact(raw)).map(str::to_owned)
}

fn too_slow() -> ToolError {
    ToolError::new(ToolErrorCode::Timeout, "", "the tool took too long")
}

fn cancelled() -> ToolError {
    ToolError::new(ToolErrorCode::Cancelled, "", "the user stopped it")
}

fn record(
    host: &mut Host<'_>,
    entry: impl FnOnce(&crate::audit::AuditSettings) -> Entry,
) -> Result<(), AuditError> {
    let Some(log) = host.audit.as_deref_mut() else { return Ok(()) };
    let entry = entry(log.settings()).tied(host.correlation_id);
    log.record(entry).map(drop)
}
