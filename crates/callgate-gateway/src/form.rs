//! Forms: where JSON was asked for, a document without any marker is the answer, unless all that it calls are tools.

use callgate::internal::policy::ExtraArgs;
use callgate::internal::schema::CompiledSchema;
use callgate::{Code, Event, Registry, Response, Span};
use callgate_agent::report::{Part, PartKind};
use callgate_agent::written::Written;
use serde_json::Value;

use crate::asked::{Asked, ToolChoice, text};

/// The form in which a client wants the words of an answer.
pub(crate) struct Form<'a> {
    asked: &'a Asked,
    /// The schema that they have to fit, where there is one.
    schema: Option<&'a Written>,
}

impl<'a> Form<'a> {
    /// The form that a request asks for; none where any words will do, or where only calls will.
    pub(crate) fn of(asked: &'a Asked) -> Option<Self> {
        let (_, format) = asked.settings.iter().find(|(key, _)| key == "response_format")?;
        let schema = match text(format, "type")? {
            "json_object" => None,
            "json_schema" => format.get("json_schema").and_then(|named| named.get("schema")),
            _ => return None,
        };
        let has_words = !matches!(asked.choice, ToolChoice::Required | ToolChoice::Named(_));
        has_words.then_some(Form { asked, schema })
    }

    /// The document that is the answer: all words, or those from the first call on that was tried. Where it begins and
    /// ends; nothing if it is made of calls.
    fn document(&self, tools: &Registry, raw: &str, waiting: &Waiting, response: &Response) -> Option<Span> {
        let spans = response.calls.iter().map(|call| call.span);
        let spans = spans.chain(response.rejected.iter().map(|rejected| rejected.span));
        // Structured calls are calls.
        let tried: Vec<usize> = spans.map(|span| Some(span?.start)).collect::<Option<_>>()?;
        let first = tried.into_iter().min();
        let words = first.into_iter().chain(waiting.began).min()?;
        // A list of calls begins before the first of them.
        let list = first.and_then(|first| raw.get(..first));
        let list = list.map(|before| before.trim_end_matches(|c: char| c.is_whitespace() || c == '[').len());
        let found = [Some(words), list].into_iter().flatten();
        let (span, value) = found.into_iter().find_map(|from| document_at(raw, from, &response.text))?;
        let is_tool = |name: Option<&str>| name.is_some_and(|name| tools.get(name).is_some());
        let calls_tools =
            first.is_some() && response.rejected.iter().all(|rejected| is_tool(rejected.name.as_deref()));
        let is_call = calls_tools && self.asked.choice != ToolChoice::None;
        (!is_call || value.is_some_and(|value| self.fits(&value))).then_some(span)
    }

    /// Whether a document fits the schema that was asked for.
    fn fits(&self, document: &Value) -> bool {
        let Some(mut schema) = self.schema.map(Written::to_value) else { return false };
        CompiledSchema::compile(&mut schema)
            .is_ok_and(|schema| schema.problems(document, ExtraArgs::Allow).is_empty())
    }

    /// Takes an answer for what it is: no call was tried in it. Gives what of its words has not left yet.
    pub(crate) fn take(
        &self,
        tools: &Registry,
        raw: &str,
        waiting: &mut Waiting,
        response: &mut Response,
    ) -> Option<(String, Part)> {
        let Span { start, end, .. } = self.document(tools, raw, waiting, response)?;
        // What stands in it is said of it, and not of a call.
        response.findings.retain(|finding| {
            finding.code != Code::LooksLikeACall && finding.span.is_none_or(|span| span.start < start)
        });
        if response.calls.is_empty() && response.rejected.is_empty() {
            return None;
        }
        let rest = raw.get(start.max(waiting.left)..end)?.to_owned();
        response.calls.clear();
        response.rejected.clear();
        // What waits is a part of the document, and stands at the end of the text.
        let left = response.text.len().saturating_sub(std::mem::take(&mut waiting.text).len());
        response.text.truncate(left);
        response.text.push_str(&rest);
        Some((rest, Part { kind: PartKind::Text, start, end }))
    }
}

/// The document that begins at a place and is followed by no other words, and its value unless it was cut off.
fn document_at(raw: &str, from: usize, text: &str) -> Option<(Span, Option<Value>)> {
    let words = raw.get(from..)?;
    let from = from + words.len() - words.trim_start().len();
    let words = words.trim_start();
    if !words.starts_with(['{', '[']) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(words).into_iter::<Value>();
    let value = match values.next()? {
        Ok(value) => Some(value),
        Err(error) if error.is_eof() => None,
        Err(_) => return None,
    };
    let end = if value.is_some() { values.byte_offset() } else { words.len() };
    // What follows and is no text only ends the turn.
    let behind = words.get(end..)?.trim();
    let is_last = behind.is_empty() || !text.trim_end().ends_with(behind);
    is_last.then_some((Span::new(from, from + end), value))
}

/// Words that wait until it is known whether they belong to a document in which calls were tried: the gate takes what lies
/// between two calls of a list for text.
#[derive(Default)]
pub(crate) struct Waiting {
    text: String,
    /// Whether something was tried, so that all that follows waits.
    is_tried: bool,
    /// The end of what the gate has told so far.
    told: usize,
    /// The end of the words that have left.
    left: usize,
    /// Where the words begin.
    began: Option<usize>,
}

impl Waiting {
    /// Takes the next event. Gives the words that may leave, if it is one of words; nothing may leave of those without any.
    pub(crate) fn take(&mut self, event: &Event<'_>) -> Option<String> {
        let span = event.accounts_for()?;
        // Calls come out at the end: what nobody has told of lies in one.
        let is_tried = span.start > self.told;
        self.told = self.told.max(span.end);
        let Event::Text { text, .. } = event else { return None };
        self.is_tried |= is_tried;
        if !text.trim().is_empty() {
            self.began = self.began.or(Some(span.start));
        }
        self.text.push_str(text);
        let is_between = |c: char| c.is_whitespace() || matches!(c, '[' | ',' | ']');
        if self.is_tried || text.chars().all(is_between) {
            return Some(String::new());
        }
        self.left = span.end;
        Some(std::mem::take(&mut self.text))
    }

    /// What still waits.
    pub(crate) fn rest(self) -> String {
        self.text
    }
}
