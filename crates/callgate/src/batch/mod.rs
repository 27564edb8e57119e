//! Batch: one line of JSON in, one line of JSON out, by a contract that others build on.
//!
//! In: `{"id", "text" | "chunks" | "tool_calls", "tools"?, "dialect"?, "model"?, "profile"?, "finish_reason"?,
//! "prompt_tail"?, "untrusted"?, "policy"?}`. Out: the id and the [`Response`]. A line that is none of this gives
//! `{"id", "error": finding}`. What a line holds may also be read by somebody else and judged here as an [`Answer`].

mod ends;
mod form;
mod gates;
mod members;
mod sessions;

use serde_json::{Value, json};

use crate::attempt::shortened;
use crate::detect::Candidate;
use crate::ending::FinishReason;
use crate::event::Event;
use crate::finding::{Code, Finding};
use crate::json::Tape;
use crate::registry::nearest;
use crate::repair::Repaired;
use crate::response::Response;
use crate::session::Session;

pub use ends::about_end;
pub use form::Form;
pub use gates::Gates;
pub use sessions::{Conversation, Desk, OPERATIONS, event_line, finish_event, join, unusable};

use form::one_line;
use gates::Asked;
use members::{LineMembers, repeated_knob};

/// How deep JSON may be that is to be repaired.
const DEPTH: usize = 128;

/// What a line came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The line to write, without a line break.
    pub line: String,
    /// Whether the line could not be processed.
    pub failed: bool,
    /// What was read, for those who count.
    pub response: Option<Response>,
    /// The dialect to ask for, where nothing was read that it would read.
    pub hint: Option<String>,
    /// What is to be known about what the line asked for: what was forgiven in its tool list, a model that nobody knows.
    pub notes: Vec<String>,
}

/// A line of a batch: an object, and its text for whatever has to be kept as it was written.
#[derive(Clone, Debug)]
pub struct BatchLine<'t> {
    text: &'t str,
    value: Value,
}

impl<'t> BatchLine<'t> {
    /// Reads a line, which must be an object.
    pub fn parse(text: &'t str) -> Result<Self, Finding> {
        let text = text.trim_start_matches('\u{feff}');
        let value = match serde_json::from_str(text) {
            Ok(LineMembers::Once(members)) => Value::Object(members),
            Ok(LineMembers::Repeated(key)) => {
                let message = format!(
                    "the line has two members `{}`, and which is meant, nobody says",
                    shortened(&key)
                );
                return Err(bad(message));
            }
            Ok(LineMembers::Other) => return Err(bad("the line is not a JSON object".to_owned())),
            Err(error) => {
                // Its number is that of the line among the others, which whoever counts them says.
                let said = error.to_string();
                let said = said.rsplit_once(" at line ").map_or(&*said, |(said, _)| said);
                let column = error.column();
                return Err(bad(format!("the line is not JSON: {said} at column {column} of the line")));
            }
        };
        Ok(BatchLine { text, value })
    }

    /// The object.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The line as it was written.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// Whether it holds a response in the form of the contract.
    pub fn is_plain(&self) -> bool {
        ["text", "chunks"].iter().any(|key| self.get(key).is_some())
            || self.value.get("tool_calls").is_some()
                && ["content", "role"].iter().all(|key| self.get(key).is_none())
    }

    /// Judges the response that it holds in the form of the contract. `untrusted` is what somebody read out of it that is
    /// not to be trusted, beside what it says itself; `see` is shown every event.
    pub fn judge(&self, gates: &mut Gates, untrusted: &[String], see: &mut dyn FnMut(&Event<'_>)) -> Outcome {
        let answer = Answer {
            feed: &|session, sink| self.feed(session, sink),
            model: self.get("model").and_then(Value::as_str),
            tools: self.get("tools"),
            word: None,
            reason: FinishReason::Unknown,
            untrusted,
            choice: None,
        };
        self.judge_answer(gates, answer, see)
    }

    /// Judges what somebody read out of it. `see` is shown every event.
    pub fn judge_answer(
        &self,
        gates: &mut Gates,
        answer: Answer<'_>,
        see: &mut dyn FnMut(&Event<'_>),
    ) -> Outcome {
        self.read(gates, answer, see).unwrap_or_else(|finding| self.failed(finding))
    }

    /// The outcome of a line that cannot be judged.
    pub fn failed(&self, finding: Finding) -> Outcome {
        failed(self.value.get("id").unwrap_or(&Value::Null), &finding)
    }

    /// A member that says something.
    fn get(&self, key: &str) -> Option<&Value> {
        self.value.get(key).filter(|value| !value.is_null())
    }

    /// A member that must be a string where it is there.
    fn string(&self, key: &str) -> Result<Option<&str>, Finding> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(bad_member(key, format!("`{key}` must be a string, not {other}"))),
        }
    }

    fn read(
        &self,
        gates: &mut Gates,
        answer: Answer<'_>,
        see: &mut dyn FnMut(&Event<'_>),
    ) -> Result<Outcome, Finding> {
        // What is no name of a model would be passed over, and its dialect with it.
        self.string("model")?;
        self.check_policy()?;
        let asked = Asked {
            tools: answer.tools,
            dialect: self.get("dialect"),
            profile: self.get("profile"),
            policy: self.get("policy"),
            model: answer.model,
        };
        let gate = gates.get(asked)?;
        // A server names its model whatever that writes; who writes a line names it so that its dialect is known.
        let unknown = answer.model.filter(|_| self.is_plain() && gates.has_unknown_model(asked));
        let (word, reason) = match self.get("finish_reason") {
            Some(Value::String(word)) => {
                (word.as_str(), finish_reason(word).map_err(|problem| bad_member("finish_reason", problem))?)
            }
            Some(other) => {
                let message = format!("`finish_reason` must be a string, not {other}");
                return Err(bad_member("finish_reason", message));
            }
            None => {
                let word = answer.word.unwrap_or_default();
                finish_reason(word).map_err(bad)?;
                (word, answer.reason)
            }
        };
        let mut session = gate.session();
        if let Some(tail) = self.string("prompt_tail")? {
            session = session.with_prompt_tail(tail);
        }
        self.distrust(&mut session)?;
        answer.untrusted.iter().for_each(|text| session.untrusted(text));
        let mut collector = Response::collector();
        collector.said(word);
        let mut sink = |event: Event<'_>| {
            see(&event);
            collector.push(event);
        };
        (answer.feed)(&mut session, &mut sink)?;
        session.finish(reason, &mut sink);
        let mut response = collector.finish(reason);
        response.findings.extend(about_end(&response, reason, word));
        let id = self.value.get("id").unwrap_or(&Value::Null);
        let choice = answer.choice.map(Value::from);
        let names: Vec<(&str, &Value)> =
            std::iter::once(("id", id)).chain(choice.as_ref().map(|choice| ("choice", choice))).collect();
        let hint = gates.hint(&gate, &response);
        let line = gates.form.after(reason).write(&names, &gate, &response, &self.input(&response));
        let line = with_hint(line, hint.as_ref());
        let hint = hint.map(|hint| hint.dialect);
        let brought = gate.registry().filter(|_| answer.tools.is_some());
        let mut notes = brought.map_or_else(Vec::new, |tools| tools.notes().to_vec());
        notes.extend(unknown.map(|model| {
            let model = shortened(model);
            format!("no dialect is known for the model `{model}` of a line; the profile's dialects listen")
        }));
        Ok(Outcome { line: without_line_ends(line), failed: false, response: Some(response), hint, notes })
    }

    /// A fault if a knob stands twice in the line's policy: the value has only the last of both.
    fn check_policy(&self) -> Result<(), Finding> {
        if !self.get("policy").is_some_and(Value::is_object) {
            return Ok(());
        }
        let text = self.text;
        let written =
            Tape::parse(text).and_then(|tape| Some(tape.raw(text, tape.member(text, 0, "policy")?)));
        let Some(knob) = written.and_then(repeated_knob) else { return Ok(()) };
        let message = format!("`policy` sets `{}` twice, and which is meant, nobody says", shortened(&knob));
        Err(bad(message).help("Set each knob once.").path("/policy"))
    }

    /// The text that was read, as far as the line itself holds it.
    fn input(&self, response: &Response) -> String {
        match (self.get("text"), self.get("chunks")) {
            (Some(Value::String(text)), _) => text.clone(),
            (_, Some(Value::Array(chunks))) => chunks.iter().filter_map(Value::as_str).collect(),
            _ => response.text.clone(),
        }
    }

    /// Gives the session the texts that are not to be trusted.
    fn distrust(&self, session: &mut Session) -> Result<(), Finding> {
        match self.get("untrusted") {
            None => {}
            Some(Value::String(text)) => session.untrusted(text),
            Some(Value::Array(texts)) => {
                for text in texts {
                    let text = text
                        .as_str()
                        .ok_or_else(|| bad_member("untrusted", "`untrusted` must hold strings".to_owned()))?;
                    session.untrusted(text);
                }
            }
            // What is left out would be trusted.
            Some(other) => {
                return Err(bad_member(
                    "untrusted",
                    format!("`untrusted` must be a string or a list, not {other}"),
                ));
            }
        }
        Ok(())
    }

    /// Lets a session read `text`, `chunks` and `tool_calls`.
    fn feed(&self, session: &mut Session, mut sink: &mut dyn FnMut(Event<'_>)) -> Result<(), Finding> {
        let calls = self.value.get("tool_calls");
        if calls.is_none() && ["text", "chunks"].iter().all(|key| self.get(key).is_none()) {
            return Err(bad("the line has none of `text`, `chunks`, `tool_calls`".to_owned()));
        }
        match self.get("text") {
            None => {}
            Some(Value::String(text)) => session.push(text, &mut sink),
            Some(other) => return Err(bad_member("text", format!("`text` must be a string, not {other}"))),
        }
        match self.get("chunks") {
            None => {}
            Some(Value::Array(chunks)) => {
                for chunk in chunks {
                    let chunk = chunk
                        .as_str()
                        .ok_or_else(|| bad_member("chunks", "`chunks` must hold strings".to_owned()))?;
                    session.push(chunk, &mut sink);
                }
            }
            Some(_) => return Err(bad_member("chunks", "`chunks` must be a list of strings".to_owned())),
        }
        match calls {
            None | Some(Value::Null) => {}
            Some(calls @ Value::Array(_)) => {
                // The list as it was written: digits and order are not in the value.
                let text = self.text;
                let written = Tape::parse(text)
                    .and_then(|tape| Some(tape.raw(text, tape.member(text, 0, "tool_calls")?)));
                session.native_list((calls, written), &mut sink);
            }
            Some(_) => return Err(bad_member("tool_calls", "`tool_calls` must be a list".to_owned())),
        }
        Ok(())
    }
}

/// Lets a session read a response.
pub type Feed<'a> = dyn Fn(&mut Session, &mut dyn FnMut(Event<'_>)) -> Result<(), Finding> + 'a;

/// A response that was read out of a line, with what was found about it. The line itself says the rest: its id, its
/// dialect, its profile, and above all that, how the response ended.
#[derive(Clone, Copy)]
pub struct Answer<'a> {
    /// Lets a session read it.
    pub feed: &'a Feed<'a>,
    /// The model that wrote it.
    pub model: Option<&'a str>,
    /// The tools that the model was given.
    pub tools: Option<&'a Value>,
    /// Why it ended, in the provider's word.
    pub word: Option<&'a str>,
    /// The same, as it was understood.
    pub reason: FinishReason,
    /// What tools gave before.
    pub untrusted: &'a [String],
    /// Which of several answers it is.
    pub choice: Option<usize>,
}

/// The reason that a word stands for; what to say if nobody knows the word. Nothing said is no reason.
pub fn finish_reason(word: &str) -> Result<FinishReason, String> {
    if word.trim().is_empty() {
        return Ok(FinishReason::Unknown);
    }
    FinishReason::known_word(word).ok_or_else(|| {
        let near = nearest(word, FinishReason::WORDS.iter().map(|(word, _)| *word));
        let help = match near.as_slice() {
            [] => "use the provider's word, as in stop, tool_calls, length, content_filter, error".to_owned(),
            near => format!("did you mean {}?", near.join(" or ")),
        };
        format!("nobody knows the finish reason `{}`; {help}", shortened(word))
    })
}

/// Reads one line of the batch contract.
pub fn scan_line(line: &str, gates: &mut Gates) -> Outcome {
    match BatchLine::parse(line) {
        Ok(line) => line.judge(gates, &[], &mut |_| {}),
        Err(finding) => failed(&Value::Null, &finding),
    }
}

/// Repairs one line: in `{"id", "input"}`, out `{"id", "output", "repairs"}` or `{"id", "error"}`, with what a schema
/// changed and decided. The input becomes what `read` makes of it, given how deep it may be.
pub fn repair_line(line: &str, read: impl Fn(&str, usize) -> Result<Repaired, Vec<Finding>>) -> Outcome {
    let line = match BatchLine::parse(line) {
        Ok(line) => line,
        Err(finding) => return failed(&Value::Null, &finding.help(REPAIR_LINE)),
    };
    let Some(input) = line.get("input").and_then(Value::as_str) else {
        return line.failed(bad("`input` must be a string".to_owned()).help(REPAIR_LINE));
    };
    match read(input, DEPTH) {
        Ok(repaired) => {
            let id = line.value.get("id").unwrap_or(&Value::Null);
            let output = repaired.text.trim();
            let line = one_line(format!("{{\"id\":{id},\"output\":{output},{}}}", about_repaired(&repaired)));
            Outcome { line, failed: false, response: None, hint: None, notes: Vec::new() }
        }
        Err(findings) => {
            let id = line.value.get("id").unwrap_or(&Value::Null);
            let line = format!("{{\"id\":{id},{}}}", about_rejected(&findings));
            Outcome { line, failed: true, response: None, hint: None, notes: Vec::new() }
        }
    }
}

/// What a line is to look like that holds a text to be repaired.
pub const REPAIR_LINE: &str = "Write one JSON object per line, with `id` and `input`, the text.";

/// The members of an object that say what was changed and decided, as JSON.
pub fn about_repaired(repaired: &Repaired) -> String {
    let mut members = format!("\"repairs\":{}", json!(repaired.repairs));
    if !repaired.coercions.is_empty() {
        members.push_str(&format!(",\"coercions\":{}", json!(repaired.coercions)));
    }
    if let Some(decided) = &repaired.decided {
        members.push_str(&format!(",\"decided\":{}", json!(decided)));
    }
    members
}

/// The members of an object that say why there is no result, as JSON: the first error, and all where there are more.
pub fn about_rejected(findings: &[Finding]) -> String {
    let mut members = format!("\"error\":{}", json!(findings.first()));
    if findings.len() > 1 {
        members.push_str(&format!(",\"errors\":{}", json!(findings)));
    }
    members
}

/// The finding about a line that cannot be used. Problems say behind a semicolon what to do about them; that is the way out,
/// where they do.
pub fn bad(message: String) -> Finding {
    let way_out = message.rsplit_once("; ").map(|(_, way_out)| {
        let mut letters = way_out.chars();
        let first = letters.next().into_iter().flat_map(char::to_uppercase);
        let end = if way_out.ends_with(['?', '.', '`']) { "" } else { "." };
        first.chain(letters).collect::<String>() + end
    });
    let finding = Finding::new(Code::BadLine).message(message);
    way_out.into_iter().fold(finding, Finding::help)
}

/// The finding about a member of a line.
fn bad_member(key: &str, message: String) -> Finding {
    let finding = bad(message);
    let is_told = finding.message.contains("; ");
    let finding = finding.path(format!("/{key}"));
    if is_told { finding } else { finding.help(format!("Correct `{key}`, or leave it out.")) }
}

/// The outcome of a line that gives no result.
pub fn failed(id: &Value, finding: &Finding) -> Outcome {
    let line = json!({"id": id, "error": finding}).to_string();
    Outcome { line, failed: true, response: None, hint: None, notes: Vec::new() }
}

/// A result with the dialect to ask for, where nothing was read that it would read.
pub fn with_hint(mut line: String, hint: Option<&Candidate>) -> String {
    if let Some(hint) = hint {
        line.truncate(line.len() - 1);
        line.push_str(&format!(",\"hint\":{}}}", json!({"dialect": hint.dialect, "why": hint.why})));
    }
    line
}

/// JSON in one line for everybody: what some readers take for the end of a line is escaped. It stands in strings only.
fn without_line_ends(line: String) -> String {
    const ENDS: [(char, &str); 3] = [('\u{85}', "\\u0085"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];
    if !line.contains(ENDS.map(|(end, _)| end)) {
        return line;
    }
    ENDS.iter().fold(line, |line, (end, escape)| line.replace(*end, escape))
}

#[cfg(test)]
mod tests {
    use super::without_line_ends;

    #[test]
    fn no_reader_of_lines_finds_an_end_in_one() {
        let line = without_line_ends("{\"text\":\"a\u{2028}b\u{2029}c\u{85}d é\"}".to_owned());
        assert_eq!(line, "{\"text\":\"a\\u2028b\\u2029c\\u0085d é\"}");
    }
}
