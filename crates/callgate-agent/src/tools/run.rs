//! Running the calls of one response: each is looked up, prepared, approved, recorded, run and recorded again.

use std::time::Duration;

use callgate::Call;
use callgate::internal::json::{Kind, Tape};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::meter::Meter;
use super::queue::{CallState, Queue, QueuedCall};
use super::{RunTool, ToolError, ToolErrorCode, Toolbox, defused};
use crate::approval::{ApprovalPolicy, Approver, Case, Decision, Denial, DenialReason, Grants, Standing};
use crate::audit::{AuditError, AuditLog, AuditSettings, Entry};
use crate::cancel::Cancel;
use crate::history::Message;

/// What a model reads of a tool that gave nothing.
const NO_OUTPUT: &str = "(Tool returned no output)";
/// How long is waited before a call runs once more, times how often it ran.
const PAUSE: Duration = Duration::from_millis(100);

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
    /// The calls of the session.
    pub queue: &'h mut Queue,
    /// Where decisions are recorded, if they are.
    pub audit: Option<&'h mut AuditLog>,
    /// What ties the records of one response together.
    pub correlation_id: &'h str,
}

/// What became of one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolReport {
    /// The id of the request, by which queue and records know it.
    pub request_id: String,
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

/// What is told while calls run.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'p> {
    /// A call came to another state.
    Step(&'p QueuedCall),
    /// A call is over.
    Over(&'p ToolReport),
}

/// Runs the calls of one response, one after the other, and tells of each as it goes on. Whatever is not recorded is not
/// run: a log that cannot be written ends it.
pub async fn run_calls(
    calls: &[Call],
    host: &mut Host<'_>,
    meter: &mut Meter,
    cancel: &Cancel,
    tell: &mut (dyn FnMut(Progress<'_>) + Send),
) -> Result<Vec<ToolReport>, Unrecorded> {
    let calls = in_order(calls);
    let mut waiting = Vec::new();
    for call in calls {
        let request_id = host.queue.push(call);
        step(host.queue, &request_id, CallState::Pending, tell);
        waiting.push((call, request_id));
    }
    let mut reports: Vec<ToolReport> = Vec::new();
    for (number, (call, request_id)) in waiting.into_iter().enumerate() {
        let worked = |id: &String| {
            let ran = |report: &ToolReport| matches!(report.outcome, Outcome::Ran { .. });
            reports.iter().any(|report| report.call_id == *id && ran(report))
        };
        let blocking = call.after.iter().find(|id| !worked(id));
        let mut task = Task { call, request_id: &request_id, host, meter, cancel, tell };
        let outcome = if cancel.is_cancelled() {
            task.not_run(cancelled())
        } else if let Some(id) = blocking {
            let message = format!("the call `{id}`, which it waits for, did not work");
            task.not_run(ToolError::new(ToolErrorCode::Blocked, "", message))
        } else {
            match task.meter.take_call(number, call) {
                Ok(()) => task.run().await,
                Err(error) => task.not_run(error),
            }
        };
        let (outcome, error) = match outcome {
            Ok(outcome) => (Some(outcome), None),
            Err(Unwritten { error, ran }) => (ran.map(|ran| *ran), Some(error)),
        };
        if let Some(outcome) = outcome {
            step(host.queue, &request_id, CallState::after(&outcome), tell);
            let report =
                ToolReport { request_id, call_id: call.id.clone(), name: call.name.clone(), outcome };
            tell(Progress::Over(&report));
            reports.push(report);
        }
        if let Some(error) = error {
            return Err(Unrecorded { error, reports });
        }
    }
    Ok(reports)
}

/// Moves a call to a state, and tells of it.
fn step(queue: &mut Queue, request_id: &str, state: CallState, tell: &mut (dyn FnMut(Progress<'_>) + Send)) {
    if let Some(call) = queue.step(request_id, state) {
        tell(Progress::Step(call));
    }
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

/// One call on its way.
struct Task<'t, 'h> {
    call: &'t Call,
    request_id: &'t str,
    host: &'t mut Host<'h>,
    meter: &'t mut Meter,
    cancel: &'t Cancel,
    tell: &'t mut (dyn FnMut(Progress<'_>) + Send),
}

/// What came of starting a call.
enum Attempt {
    /// It was not started.
    Not(Outcome),
    /// It gave this, after this time. What ran unasked may run once more.
    Ran { result: Result<String, ToolError>, time: Duration, is_unasked: bool },
}

impl Task<'_, '_> {
    async fn run(&mut self) -> Result<Outcome, Unwritten> {
        let Some(tool) = self.host.tools.get(&self.call.name) else {
            let message = format!("no tool `{}` can be run here", self.call.name);
            return self.not_run(ToolError::new(ToolErrorCode::UnknownTool, "", message));
        };
        let arguments = self.call.value();
        // Completion has no side effects, so grants and approval rules do not apply to it.
        if tool.ends() {
            return match tool.prepare(&arguments).await {
                Ok(prepared) => {
                    self.step(CallState::Running);
                    let result = prepared.run(None).await;
                    self.finished(result, Duration::ZERO)
                }
                Err(error) => self.not_run(error),
            };
        }
        if let Err(denial) = self.host.grants.check(tool.tool()) {
            return self.deny(denial);
        }
        // Denied by a rule: no answer could let it run, so it is not even prepared.
        if let (Standing::Deny, why) = self.host.approval.standing(self.call, tool.tool()) {
            return self.deny(Denial::new(DenialReason::Rule, why));
        }
        // Tools take numbers of 64 bits. A rounded one would differ from what the model wrote and the user approved.
        if let Some(number) = rounded(&self.call.arguments) {
            let message = format!("the tool would get a rounded number instead of {number}");
            return self.not_run(ToolError::new(ToolErrorCode::BadArguments, "", message));
        }
        let spending = self.meter.spending;
        let mut reruns = 0;
        loop {
            let (result, time, is_unasked) = match self.attempt(&**tool, &arguments).await? {
                Attempt::Not(outcome) => return Ok(outcome),
                Attempt::Ran { result, time, is_unasked } => (result, time, is_unasked),
            };
            let error = match &result {
                Err(error)
                    if is_unasked && reruns < spending.max_reruns && spending.rerun.is_after(error) =>
                {
                    error
                }
                _ => return self.finished(result, time),
            };
            reruns += 1;
            let pause = PAUSE * reruns;
            if Instant::now() + pause >= self.meter.until() {
                return self.finished(result, time);
            }
            let again = json!(u64::try_from(pause.as_millis()).unwrap_or(u64::MAX));
            self.record(CallState::Pending, |call, settings| {
                Entry::result(call, Err(error), settings).took(time).detail("runs_again_in_ms", again)
            })?;
            self.step(CallState::Pending);
            tokio::select! {
                biased;
                () = self.cancel.cancelled() => return self.finished(Err(cancelled()), time),
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Prepares the call, decides about it, and starts it.
    async fn attempt(&mut self, tool: &dyn RunTool, arguments: &Value) -> Result<Attempt, Unwritten> {
        let limit = (Instant::now() + self.meter.spending.call_time).min(self.meter.until());
        let prepared = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(cancelled()),
            prepared = tokio::time::timeout_at(limit, tool.prepare(arguments)) => {
                prepared.unwrap_or_else(|_| Err(too_slow()))
            }
        };
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return self.not_run(error).map(Attempt::Not),
        };
        let Host { approval, approver, .. } = *self.host;
        let every_n = &approval.every_n;
        let mut preview = prepared.preview().clone();
        preview.always_asks =
            preview.always_asks.or_else(|| self.host.queue.cadence.due(every_n, tool.tool(), arguments));
        let case = Case { id: self.request_id, call: self.call, tool: tool.tool(), preview: &preview };
        let decision = tokio::select! {
            biased;
            () = self.cancel.cancelled() => {
                let detail = "the user stopped the question".to_owned();
                self.deny(Denial::new(DenialReason::Cancelled, detail))?;
                return Ok(Attempt::Not(Outcome::NotRun { error: cancelled() }));
            }
            decision = approval.decide(&case, approver) => decision,
        };
        let state = match &decision {
            Decision::Permitted(_) => CallState::Pending,
            Decision::Denied(_) => CallState::Rejected,
        };
        self.record(state, |call, settings| Entry::decision(call, &decision, settings))?;
        let permit = match decision {
            Decision::Permitted(permit) => permit,
            Decision::Denied(denial) => return Ok(Attempt::Not(Outcome::Denied { denial })),
        };
        let (was_asked, hunks) = (permit.was_asked(), permit.hunks().cloned());
        if let Err(denial) = permit.redeem(self.call) {
            return Ok(Attempt::Not(Outcome::Denied { denial }));
        }
        self.host.queue.cadence.count(every_n, tool.tool(), arguments, was_asked);
        self.step(CallState::Running);
        let started = Instant::now();
        let limit = (started + self.meter.spending.call_time).min(self.meter.until());
        let result = tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(cancelled()),
            result = tokio::time::timeout_at(limit, prepared.run(hunks)) => {
                result.unwrap_or_else(|_| Err(too_slow()))
            }
        };
        Ok(Attempt::Ran { result, time: started.elapsed(), is_unasked: !was_asked })
    }

    /// Records what a tool gave.
    fn finished(&mut self, result: Result<String, ToolError>, time: Duration) -> Result<Outcome, Unwritten> {
        let outcome = match &result {
            Ok(result) => Outcome::Ran { result: result.clone() },
            Err(error) => Outcome::Failed { error: error.clone() },
        };
        let recorded = self.record(CallState::after(&outcome), |call, settings| {
            Entry::result(call, result.as_deref(), settings).took(time)
        });
        match recorded {
            Ok(()) => Ok(outcome),
            Err(error) => {
                Err(Unwritten { error: error.after(&self.call.name), ran: Some(Box::new(outcome)) })
            }
        }
    }

    /// Records that a tool was not started, and why. One that was started before has run all the same.
    fn not_run(&mut self, error: ToolError) -> Result<Outcome, Unwritten> {
        let outcome = match self.attempts() {
            0 => Outcome::NotRun { error: error.clone() },
            _ => Outcome::Failed { error: error.clone() },
        };
        self.record(CallState::after(&outcome), |call, settings| Entry::not_run(call, &error, settings))?;
        Ok(outcome)
    }

    fn deny(&mut self, denial: Denial) -> Result<Outcome, Unwritten> {
        let decision = Decision::Denied(denial.clone());
        self.record(CallState::Rejected, |call, settings| Entry::decision(call, &decision, settings))?;
        Ok(Outcome::Denied { denial })
    }

    /// How often the call was started.
    fn attempts(&self) -> u32 {
        let queued = self.host.queue.calls().iter().rfind(|call| call.request_id == self.request_id);
        queued.map_or(0, |call| call.attempts)
    }

    fn step(&mut self, state: CallState) {
        step(self.host.queue, self.request_id, state, self.tell);
    }

    /// Records something about the call, which is in this state then.
    fn record(
        &mut self,
        state: CallState,
        entry: impl FnOnce(&Call, &AuditSettings) -> Entry,
    ) -> Result<(), AuditError> {
        let attempts = self.attempts();
        let Some(log) = self.host.audit.as_deref_mut() else { return Ok(()) };
        let entry = entry(self.call, log.settings())
            .tied(self.host.correlation_id)
            .detail("request_id", json!(self.request_id))
            .detail("state", json!(state))
            .detail("attempts", json!(attempts));
        log.record(entry).map(drop)
    }
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
