//! Retry: what was rejected is asked for again, with feedback, within a budget; what was good keeps its place.
//!
//! [`Retry`] does no I/O and has no clock: it is told what came back and says what to do next. [`ask_until_settled`]
//! does the waiting and the asking.

mod drive;
mod prompt;
mod settings;

use std::fmt;
use std::time::Duration;

use callgate::internal::policy::Partial;
use callgate::{Call, Code, Finding, Gate, Rejected, Response, Severity};
use serde::Serialize;

pub use crate::model::Usage;
pub use drive::{RetryFailure, ask_until_settled, said};
pub use prompt::PLACEHOLDERS;
pub use settings::{Backoff, RetrySettings};

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Wait, then ask the model with this message, and give what comes back to [`Retry::reply`].
    Ask(Ask),
    /// Nothing is left to ask.
    Settled(Box<Settled>),
    /// Something is still rejected and will not be asked for again.
    Failed(Box<RetryError>),
}

/// One time the model is asked again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Which time, counted from one.
    pub attempt: u32,
    /// How long to wait before.
    pub wait: Duration,
    /// What to say to the model.
    pub prompt: String,
    /// What ties all attempts of one response together.
    pub correlation_id: String,
}

/// The end of it: everything the model called stands, or the model itself gave up.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// The first response, with the calls that were corrected in their places.
    pub response: Response,
    /// How often the model was asked again.
    pub retry_count: u32,
    /// What all responses cost together.
    pub usage: Usage,
    /// Each time it was asked, and what came of it.
    pub log: Vec<AttemptRecord>,
    /// What ties all attempts together.
    pub correlation_id: String,
}

/// One line of the log: the model was asked again, and this came back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttemptRecord {
    /// Which time.
    pub attempt: u32,
    /// What ties all attempts together.
    pub correlation_id: String,
    /// How long was waited before, in milliseconds.
    pub waited_ms: u64,
    /// How many calls came back good.
    pub corrected: usize,
    /// How many good calls came back that nobody had asked for; they are not run.
    pub unasked: usize,
    /// What was still wrong, after this time.
    pub findings: Vec<Finding>,
    /// What came back, as it came.
    pub response: Response,
}

/// Why the asking ended without success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RetryErrorCode {
    /// The budget is spent.
    RetryExhausted,
    /// The model wrote exactly the same again.
    Repeated,
    /// Somebody stopped it.
    Cancelled,
    /// The model could not be asked.
    Interrupted,
}

impl RetryErrorCode {
    /// The stable word; a repetition is a way of being exhausted.
    pub fn kind(self) -> &'static str {
        match self {
            RetryErrorCode::RetryExhausted | RetryErrorCode::Repeated => "retry_exhausted",
            RetryErrorCode::Cancelled => "cancelled",
            RetryErrorCode::Interrupted => "interrupted",
        }
    }
}

/// A response that could not be corrected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RetryError {
    /// Why it ended.
    pub code: RetryErrorCode,
    /// How often the model was asked again.
    pub attempts: u32,
    /// How often it could have been.
    pub max_attempts: u32,
    /// The tool of the first call that is still rejected, where its name is known.
    pub tool: Option<String>,
    /// What is still wrong.
    pub last_findings: Vec<Finding>,
    /// What stands and what is rejected, in the places of the first response.
    pub response: Response,
    /// What all responses cost together.
    pub usage: Usage,
    /// Each time it was asked, and what came of it.
    pub log: Vec<AttemptRecord>,
    /// What ties all attempts together.
    pub correlation_id: String,
}

impl RetryError {
    /// What happened, without what is still wrong.
    pub fn summary(&self) -> String {
        let what = match self.code {
            RetryErrorCode::RetryExhausted => "Failed to parse tool calls",
            RetryErrorCode::Repeated if self.last_words().is_some() => "The model made no call",
            RetryErrorCode::Repeated => "The model repeated its rejected call exactly,",
            RetryErrorCode::Cancelled => "Cancelled",
            RetryErrorCode::Interrupted => "The model could not be asked again",
        };
        format!("{what} after {} retry attempts", self.attempts)
    }

    /// What the model said last, if that was words and no call at all; perhaps nothing.
    pub fn last_words(&self) -> Option<&str> {
        let response = &self.log.last()?.response;
        let is_prose = response.calls.is_empty() && response.rejected.is_empty();
        is_prose.then(|| response.text.trim())
    }

    /// The way out.
    pub fn help(&self) -> &'static str {
        match self.code {
            RetryErrorCode::RetryExhausted => {
                "raise `max_retry_attempts`, or give the model an example of the call"
            }
            RetryErrorCode::Repeated => "change the prompt or the temperature: asking again gives the same",
            RetryErrorCode::Cancelled => "start again when ready; nothing of the response was run",
            RetryErrorCode::Interrupted => "see why the model could not be asked",
        }
    }
}

impl fmt::Display for RetryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.summary())?;
        if let Some(finding) = self.last_findings.first() {
            write!(f, ": {finding}")?;
        }
        Ok(())
    }
}

impl std::error::Error for RetryError {}

/// One place of the response: a call that stands, or one that is asked for.
#[derive(Clone, Debug)]
enum Place {
    Stands(Call),
    Asked(Rejected),
}

/// The retry engine of one response.
#[derive(Clone, Debug)]
pub struct Retry {
    gate: Gate,
    settings: RetrySettings,
    correlation_id: String,
    /// The first response, or the latest where each replaces the one before; its calls live in `places`.
    base: Response,
    places: Vec<Place>,
    /// The numbers of the places among all calls and rejections of the response, those included that are not asked for.
    numbers: Vec<usize>,
    attempts: u32,
    usage: Usage,
    log: Vec<AttemptRecord>,
    waited: Duration,
    /// What was rejected before, to see whether the model repeats itself.
    fingerprint: Vec<String>,
}

impl Retry {
    /// An engine for one response that this gate judged.
    pub fn new(gate: &Gate, settings: RetrySettings, correlation_id: impl Into<String>) -> Self {
        Retry {
            gate: gate.clone(),
            settings,
            correlation_id: correlation_id.into(),
            base: Response::default(),
            places: Vec::new(),
            numbers: Vec::new(),
            attempts: 0,
            usage: Usage::default(),
            log: Vec::new(),
            waited: Duration::ZERO,
            fingerprint: Vec::new(),
        }
    }

    /// Takes the first response.
    pub fn first(&mut self, response: Response, usage: Usage) -> Step {
        self.usage += usage;
        self.replace(response);
        let words = if self.places.is_empty() { self.base.text.trim().to_owned() } else { String::new() };
        self.fingerprint = self.fingerprint_of(&words);
        self.next_step(false)
    }

    /// Takes the response to an [`Ask`].
    pub fn reply(&mut self, response: Response, usage: Usage) -> Step {
        self.usage += usage;
        let is_prose = response.calls.is_empty() && response.rejected.is_empty();
        let came = response.clone();
        let before = self.standing();
        let prose = if is_prose { response.text.trim().to_owned() } else { String::new() };
        let model_error = response.model_error.clone();
        let mut unasked = 0;
        if model_error.is_some() {
            // The model reports an error: keep the calls that stand, and pass its message to the host.
            self.base.model_error = model_error;
        } else if self.replaces() && !(is_prose && self.is_asking()) {
            let first_text = std::mem::take(&mut self.base.text);
            self.replace(response);
            // The first text was already shown, so it stays; without one, the reply's text is the answer.
            if !first_text.trim().is_empty() {
                self.base.text = first_text;
            }
        } else {
            unasked = self.merge(response);
        }
        let findings = self.open_findings();
        self.log.push(AttemptRecord {
            attempt: self.attempts,
            correlation_id: self.correlation_id.clone(),
            waited_ms: u64::try_from(self.waited.as_millis()).unwrap_or(u64::MAX),
            corrected: self.standing().saturating_sub(before),
            unasked,
            findings,
            response: came,
        });
        let fingerprint = self.fingerprint_of(&prose);
        let repeated = fingerprint == self.fingerprint;
        self.fingerprint = fingerprint;
        if repeated && self.settings.stop_when_repeated && !self.is_settled() {
            return Step::Failed(Box::new(self.error(RetryErrorCode::Repeated)));
        }
        self.next_step(is_prose)
    }

    /// Ends it because somebody stopped it.
    pub fn cancel(&self) -> RetryError {
        self.error(RetryErrorCode::Cancelled)
    }

    /// Ends it because the model could not be asked.
    pub fn interrupt(&self) -> RetryError {
        self.error(RetryErrorCode::Interrupted)
    }

    fn next_step(&mut self, was_prose: bool) -> Step {
        if self.is_settled() {
            return Step::Settled(Box::new(Settled {
                response: self.response(),
                retry_count: self.attempts,
                usage: self.usage,
                log: self.log.clone(),
                correlation_id: self.correlation_id.clone(),
            }));
        }
        if self.attempts >= self.settings.max_attempts {
            return Step::Failed(Box::new(self.error(RetryErrorCode::RetryExhausted)));
        }
        self.attempts += 1;
        self.waited = self.settings.wait(self.attempts);
        let prompt = prompt::prompt(&self.gate, &self.settings, &self.asked(), was_prose);
        Step::Ask(Ask {
            attempt: self.attempts,
            wait: self.waited,
            prompt,
            correlation_id: self.correlation_id.clone(),
        })
    }

    /// Whether nothing is left to ask: nothing rejected, or the model itself reported an error. An error of the response
    /// as a whole, such as that it holds no call, is over when calls stand.
    fn is_settled(&self) -> bool {
        let all_stand = self.places.iter().all(Place::stands);
        let has_error = self.base.findings.iter().any(|finding| finding.severity() == Severity::Error);
        self.base.model_error.is_some() || (all_stand && (!self.places.is_empty() || !has_error))
    }

    /// Whether a reply stands for the whole response. It does where calls stand or fall together, and where the
    /// response as a whole was rejected, so that there is no place to fill.
    fn replaces(&self) -> bool {
        self.gate.policy().partial == Partial::AllOrNothing || !self.is_asking()
    }

    /// Whether a call was rejected that words do not make good.
    fn is_asking(&self) -> bool {
        self.places.iter().any(|place| !place.stands())
    }

    fn replace(&mut self, mut response: Response) {
        let calls = std::mem::take(&mut response.calls).into_iter();
        let asked;
        (asked, response.rejected) = response.rejected.into_iter().partition(is_worth_asking);
        let asked: Vec<Rejected> = asked;
        let mut places: Vec<(usize, Place)> = calls.map(|call| (call.attempt, Place::Stands(call))).collect();
        places.extend(asked.into_iter().map(|rejected| (rejected.attempt, Place::Asked(rejected))));
        places.sort_by_key(|(attempt, _)| *attempt);
        (self.numbers, self.places) = places.into_iter().unzip();
        self.base = response;
    }

    /// Puts the calls of a reply where they were asked for: by id, else by name, else in order. Returns how many good
    /// calls had no place.
    fn merge(&mut self, response: Response) -> usize {
        let mut items: Vec<(usize, Place)> =
            response.calls.into_iter().map(|call| (call.attempt, Place::Stands(call))).collect();
        let rejected = response.rejected.into_iter().filter(is_worth_asking);
        items.extend(rejected.map(|rejected| (rejected.attempt, Place::Asked(rejected))));
        items.sort_by_key(|(attempt, _)| *attempt);
        let mut items: Vec<Place> = items.into_iter().map(|(_, item)| item).collect();
        // A reply that repeats calls which already stand does not add them again.
        items.retain(|item| !self.places.iter().any(|place| place.stands() && place.is_same(item)));
        let asked: Vec<usize> = (0..self.places.len()).filter(|at| !self.places[*at].stands()).collect();
        let mut filled = vec![false; self.places.len()];
        let rules: [fn(&Place, &Place) -> bool; 3] = [
            |place, item| place.id().is_some() && place.id() == item.id(),
            |place, item| place.name().is_some() && place.name() == item.name(),
            |_, _| true,
        ];
        for fits in rules {
            let mut rest = Vec::new();
            for item in items {
                match asked.iter().find(|at| !filled[**at] && fits(&self.places[**at], &item)) {
                    Some(at) => {
                        filled[*at] = true;
                        self.fill(*at, item);
                    }
                    None => rest.push(item),
                }
            }
            items = rest;
        }
        items.iter().filter(|item| item.stands()).count()
    }

    /// Puts a call into a place. The id by which the place is known stays.
    fn fill(&mut self, at: usize, mut item: Place) {
        let known = self.places[at].id().map(str::to_owned);
        let taken = |id: &str| {
            self.places.iter().enumerate().any(|(other, place)| other != at && place.id() == Some(id))
        };
        match (&mut item, known) {
            (Place::Stands(call), Some(id)) => call.id = id,
            (Place::Stands(call), None) if taken(&call.id) => {
                let mut number = at + 1;
                while taken(&format!("{}_{number}", call.id)) {
                    number += 1;
                }
                call.id = format!("{}_{number}", call.id);
            }
            (Place::Asked(rejected), known) => rejected.id = known.or(rejected.id.take()),
            (Place::Stands(_), None) => {}
        }
        self.places[at] = item;
    }

    /// The response as it stands now.
    fn response(&self) -> Response {
        let mut response = self.base.clone();
        for (number, place) in self.numbers.iter().copied().zip(&self.places) {
            match place {
                Place::Stands(call) => {
                    let mut call = call.clone();
                    call.attempt = number;
                    response.calls.push(call);
                }
                Place::Asked(rejected) => {
                    let mut rejected = rejected.clone();
                    rejected.attempt = number;
                    response.rejected.push(rejected);
                }
            }
        }
        if !response.calls.is_empty() && response.rejected.is_empty() {
            response.finish_reason = callgate::FinishReason::ToolCalls;
        }
        response
    }

    /// The response with only those rejections that are asked for.
    fn asked(&self) -> Response {
        let mut response = self.response();
        response.rejected.retain(is_worth_asking);
        response
    }

    fn standing(&self) -> usize {
        self.places.iter().filter(|place| place.stands()).count()
    }

    fn open_findings(&self) -> Vec<Finding> {
        let errors = self.base.findings.iter().filter(|finding| finding.severity() == Severity::Error);
        let rejected = self.places.iter().filter_map(|place| match place {
            Place::Asked(rejected) => Some(&rejected.findings),
            Place::Stands(_) => None,
        });
        rejected.flatten().chain(errors).cloned().collect()
    }

    fn fingerprint_of(&self, words: &str) -> Vec<String> {
        let asked = self.places.iter().filter_map(|place| match place {
            Place::Asked(rejected) => {
                Some(format!("{}\n{}", rejected.name.as_deref().unwrap_or_default(), rejected.raw))
            }
            Place::Stands(_) => None,
        });
        // Without calls the text is compared; beside calls it may differ.
        asked.chain([words.to_owned()]).collect()
    }

    fn error(&self, code: RetryErrorCode) -> RetryError {
        let response = self.response();
        RetryError {
            code,
            attempts: u32::try_from(self.log.len()).unwrap_or(u32::MAX),
            max_attempts: self.settings.max_attempts,
            tool: self.asked().rejected.first().and_then(|rejected| rejected.name.clone()),
            last_findings: self.open_findings(),
            response,
            usage: self.usage,
            log: self.log.clone(),
            correlation_id: self.correlation_id.clone(),
        }
    }
}

impl Place {
    fn stands(&self) -> bool {
        matches!(self, Place::Stands(_))
    }

    fn id(&self) -> Option<&str> {
        match self {
            Place::Stands(call) => Some(&call.id),
            Place::Asked(rejected) => rejected.id.as_deref(),
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Place::Stands(call) => Some(&call.name),
            Place::Asked(rejected) => rejected.name.as_deref(),
        }
    }

    /// Whether both are the same call with the same arguments.
    fn is_same(&self, other: &Place) -> bool {
        match (self, other) {
            (Place::Stands(one), Place::Stands(other)) => {
                one.name == other.name && one.canonical_arguments() == other.canonical_arguments()
            }
            _ => false,
        }
    }
}

/// Whether a rejection is the model's to correct. What lost against structured calls, was one too many, or stood in a
/// thought is reported and not asked for again.
fn is_worth_asking(rejected: &Rejected) -> bool {
    !rejected.findings.first().is_some_and(|finding| {
        matches!(finding.code, Code::ShadowedByNative | Code::TooManyCalls | Code::CallInReasoning)
    })
}
