//! What a response is in the words of the seed cases: one adapter per profile whose document has a result of its own.

use callgate::{Call, Code, Gate, Profile, Response, Severity};

/// One error of a response, in the profile's words.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) kind: String,
    pub(crate) code: Option<String>,
    pub(crate) tool: Option<String>,
    pub(crate) message: String,
    pub(crate) raw_arguments: Option<String>,
    pub(crate) position: Option<usize>,
}

/// The result of a response. A member that only some profiles have is absent in the others.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) kind: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) notes: Vec<&'static str>,
    pub(crate) feedback: String,
    pub(crate) finish_reason: String,
    pub(crate) success: Option<bool>,
    pub(crate) suggestion: Option<String>,
    pub(crate) parse_error: Option<String>,
    pub(crate) retry: Option<bool>,
    pub(crate) display: Option<String>,
    pub(crate) raw: Option<String>,
    pub(crate) all_succeeded: Option<bool>,
    pub(crate) total: Option<usize>,
}

/// The result of a response in its profile.
pub(crate) fn outcome(gate: &Gate, response: &Response, input: &str) -> Outcome {
    let profile = gate.profile();
    let mut outcome = Outcome {
        text: response.text.clone(),
        calls: response.calls.clone(),
        problems: problems(profile, response),
        notes: response.findings.iter().map(|finding| finding.code.kind()).collect(),
        feedback: profile.feedback(response, gate.registry()).unwrap_or_default(),
        finish_reason: response.finish_reason.word().to_owned(),
        ..Outcome::default()
    };
    match profile.name() {
        "action" => action::refine(&mut outcome, response, input),
        "structured" => structured::refine(&mut outcome, response),
        "strict-xml" => strict_xml::refine(&mut outcome, profile),
        _ => {}
    }
    if outcome.kind.is_empty() {
        let kind = match (outcome.calls.is_empty(), outcome.problems.is_empty()) {
            (false, _) => "calls",
            (true, false) => "error",
            (true, true) => "none",
        };
        outcome.kind = kind.to_owned();
    }
    outcome
}

/// Every rejection by its deciding finding, and every error of the response as a whole.
fn problems(profile: &Profile, response: &Response) -> Vec<Problem> {
    let problem = |code: Code, tool: Option<String>, message: String| Problem {
        kind: code.kind().to_owned(),
        code: profile.code(code).map(str::to_owned),
        tool,
        message,
        raw_arguments: None,
        position: None,
    };
    let rejected = response.rejected.iter().filter_map(|rejected| {
        let messages: Vec<_> =
            rejected.findings.iter().map(|f| format!("{} {}", f.message, f.help)).collect();
        Some(problem(rejected.findings.first()?.code, rejected.name.clone(), messages.join("\n")))
    });
    let whole = response.findings.iter().filter(|finding| finding.severity() == Severity::Error);
    let whole =
        whole.map(|finding| problem(finding.code, None, format!("{} {}", finding.message, finding.help)));
    rejected.chain(whole).collect()
}

mod action {
    use callgate::Response;
    use callgate::internal::profile::action::{ActionKind, ActionResult};

    use super::{Outcome, Problem};

    /// The document's result: text, action or error; a model's own error is no parse failure.
    pub(super) fn refine(outcome: &mut Outcome, response: &Response, input: &str) {
        let result = ActionResult::from_response(response, input);
        outcome.kind = match result.kind {
            ActionKind::Text => "text",
            ActionKind::Action => "calls",
            ActionKind::Error if response.model_error.is_some() => "model_error",
            ActionKind::Error => "error",
        }
        .to_owned();
        if let Some(error) = &response.model_error {
            outcome.problems.push(Problem {
                kind: "model_error".to_owned(),
                code: Some(error.code.clone()),
                tool: None,
                message: error.message.clone(),
                raw_arguments: None,
                position: None,
            });
        }
        let rendered: Vec<&str> = result.errors.iter().map(|error| error.message.as_str()).collect();
        outcome.feedback = [outcome.feedback.as_str(), rendered.join("\n").as_str()].join("\n");
        outcome.display = result.display(response);
        outcome.text = result.text;
        outcome.raw = Some(result.raw);
        outcome.success = Some(result.success);
        outcome.suggestion = Some(result.suggestion);
        outcome.parse_error = result.parse_error;
        outcome.retry = Some(result.needs_retry);
    }
}

mod structured {
    use callgate::Response;
    use callgate::internal::profile::structured::StructuredResult;

    use super::{Outcome, Problem};

    /// The document's result: calls, errors with their raw arguments and position, and the sums.
    pub(super) fn refine(outcome: &mut Outcome, response: &Response) {
        let result = StructuredResult::from_response(response);
        outcome.problems = result
            .errors
            .iter()
            .map(|error| Problem {
                kind: error.kind.to_string(),
                code: Some(error.code.to_string()),
                tool: error.tool.clone(),
                message: error.message.clone(),
                raw_arguments: error.raw_arguments.clone(),
                position: error.position,
            })
            .collect();
        outcome.all_succeeded = Some(result.all_succeeded);
        outcome.total = Some(result.total);
        outcome.finish_reason = result.finish_reason.word().to_owned();
    }
}

/// The strict profile's own machinery: strikes, error records, and what a host is told while it streams.
pub(crate) mod strict_xml {
    use callgate::internal::profile::strict_xml::{StreamReport, StrictError};
    use callgate::internal::profile::{StrikeMode, Strikes};
    use callgate::{Gate, Profile, Response};
    use serde_json::Value;

    use super::Outcome;

    /// In this profile every block that cannot be read is malformed, whatever is wrong inside of it.
    pub(super) fn refine(outcome: &mut Outcome, profile: &Profile) {
        for problem in &mut outcome.problems {
            let alone = problem.kind != callgate::Code::Sibling.kind();
            if alone && problem.code.as_deref() == profile.code(callgate::Code::Malformed) {
                problem.kind = "malformed".to_owned();
            }
        }
    }

    /// The counter of rejected responses, as the case configures it.
    pub(crate) fn strikes(config: &Value) -> Strikes {
        let limit = config["max_mistakes"].as_u64().map_or(3, |limit| limit as usize);
        let mode = match config["strike_mode"].as_str() {
            Some("after_limit") => StrikeMode::AfterLimit,
            _ => StrikeMode::AtLimit,
        };
        Strikes::new(limit, mode)
    }

    /// What one turn comes to: the error type, its cause behind a reached limit, the whole record, the count.
    pub(crate) struct Turn {
        pub(crate) error: Option<String>,
        pub(crate) cause: Option<String>,
        pub(crate) record: Value,
        pub(crate) mistakes: usize,
    }

    /// Judges a response and counts it.
    pub(crate) fn turn(strikes: &mut Strikes, gate: &Gate, response: &Response) -> Turn {
        let error = strikes.judge(response, gate).map(StrictError::from);
        let record = serde_json::to_value(&error).unwrap_or_default();
        Turn {
            error: error.as_ref().map(|error| error.kind.to_string()),
            cause: error.as_ref().and_then(|error| error.cause.map(|cause| cause.to_string())),
            record,
            mistakes: strikes.count(),
        }
    }

    /// What the host is told after each chunk: whether a call is complete, which one, and whether to hold back.
    pub(crate) fn reports(gate: &Gate, chunks: &[String]) -> Vec<(bool, Option<String>, bool)> {
        let mut session = gate.session();
        let mut report = StreamReport::default();
        chunks
            .iter()
            .map(|chunk| {
                report.feed(&mut session, chunk);
                (report.complete, report.detected.clone(), report.buffer)
            })
            .collect()
    }
}

/// The labelled profile's question: is the model done?
pub(crate) fn is_done(text: &str, gate: &Gate, endless: bool) -> bool {
    !endless && gate.profile().is_done(&gate.parse(text))
}
