//! Import: a Hugging Face `response_template` becomes a dialect file, with a remark wherever that form cannot say something.
//!
//! The form lists fields (`content`, `thinking`, `tool_calls`), each with what opens it, what closes it, and how the
//! text between is read. A dialect says more: types come from the tool's schema, closers may be missing, ids are
//! kept or made, and everything is judged. What the form leaves open gets the safe default.

mod calls;
mod field;
mod file;
mod pattern;
mod transform;

use std::fmt;

use serde_json::{Map, Value as Json};

use super::load;
use super::record::Record;
use calls::Calls;
use field::{Closer, Field, FieldContent, known_keys, object, written};
use file::{File, KeyValue};

/// Why a template cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The stable word.
    pub code: &'static str,
    /// Where in the file, as a JSON pointer or as line and column. Empty for the file as a whole.
    pub place: String,
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: String,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let colon = if self.place.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{} ({})", self.place, self.message, self.help)
    }
}

impl std::error::Error for ImportError {}

impl ImportError {
    fn new(
        code: &'static str,
        place: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        ImportError { code, place: place.into(), message: message.into(), help: help.into() }
    }
}

/// Turns the `response_template` of a tokenizer's configuration, or the bare template, into the text of a dialect
/// file with one dialect of this name.
///
/// The text is checked: it loads with [`Record::parse`].
///
/// ```
/// let template = r#"{"fields": {"tool_calls": {"open": "<call>", "close": "</call>", "repeats": true,
///     "content": "json", "transform": {"type": "function", "function": {
///         "name": "{content.name}", "arguments": "{content.arguments}"}}}}}"#;
/// let file = callgate::internal::dialect::import(template, "mine")?;
/// assert!(file.contains(r#"call = "<call>{object}</call>""#));
/// # Ok::<(), callgate::internal::dialect::ImportError>(())
/// ```
pub fn import(json: &str, name: &str) -> Result<String, ImportError> {
    let document: Json = serde_json::from_str(json).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        ImportError::new("not-json", place, error.to_string(), "Give a tokenizer_config.json.")
    })?;
    if !load::is_name(name) {
        let message = format!("`{name}` is no name for a dialect");
        return Err(ImportError::new("name", "", message, load::NAME_HELP));
    }
    let (place, template) = locate(&document)?;
    let file = convert(&place, template)?.to_toml(name);
    match Record::parse(&file) {
        Ok(_) => Ok(file),
        Err(error) => Err(ImportError::new(
            "does-not-load",
            place,
            format!("the dialect made from it is rejected: {}", error.message),
            error.help,
        )),
    }
}

/// The template in a tokenizer's configuration, or the document itself.
fn locate(document: &Json) -> Result<(String, &Map<String, Json>), ImportError> {
    let keys = object("", document)?;
    if let Some(template) = keys.get("response_template") {
        let place = "/response_template";
        return Ok((place.to_owned(), object(place, template)?));
    }
    if keys.contains_key("fields") {
        return Ok((String::new(), keys));
    }
    if keys.contains_key("response_schema") {
        let message = "`response_schema` is an older form, made of regular expressions alone";
        let help = "Write the dialect by hand: docs/dialects.md teaches it.";
        return Err(ImportError::new("old-form", "/response_schema", message, help));
    }
    let message = "there is no `response_template` in this file";
    let help = "Give a tokenizer_config.json that has one, or the template itself.";
    Err(ImportError::new("no-template", "", message, help))
}

/// The fields of a template by what they become.
#[derive(Default)]
struct TemplateFields<'t> {
    text: Option<Field<'t>>,
    reasoning: Vec<Field<'t>>,
    calls: Option<Field<'t>>,
}

impl<'t> TemplateFields<'t> {
    fn read(place: &str, template: &'t Map<String, Json>) -> Result<Self, ImportError> {
        let place = format!("{place}/fields");
        let Some(listed) = template.get("fields") else {
            return Err(ImportError::new("no-calls", place, "the template has no `fields`", CALLS_HELP));
        };
        let mut fields = TemplateFields::default();
        let mut implicit: Option<&str> = None;
        for (name, value) in object(&place, listed)? {
            let field = Field::read(format!("{place}/{name}"), value)?;
            if field.open.is_none()
                && let Some(other) = implicit.replace(name)
            {
                let message = format!("`{other}` and `{name}` both have no opener");
                return Err(ImportError::new("two-implicit", place, message, "Give one of them `open`."));
            }
            match name.as_str() {
                "content" => fields.text = Some(field),
                "thinking" | "reasoning" | "reasoning_content" => fields.reasoning.push(field),
                "tool_calls" => fields.calls = Some(field),
                other => {
                    let message = format!("a dialect has no place for the field `{other}`");
                    let help = "Known are content, thinking, reasoning, reasoning_content and tool_calls.";
                    return Err(ImportError::new("unknown-field", field.place, message, help));
                }
            }
        }
        Ok(fields)
    }

    fn all(&self) -> impl Iterator<Item = &Field<'t>> {
        self.text.iter().chain(&self.reasoning).chain(&self.calls)
    }
}

const CALLS_HELP: &str = "Add the field `tool_calls`: a dialect is how calls are written.";

fn convert(place: &str, template: &Map<String, Json>) -> Result<File, ImportError> {
    known_keys(place, template, &["version", "defaults", "fields", "start_anchor", "start_anchor_pattern"])?;
    match template.get("version") {
        None => {}
        Some(version) if version.as_u64() == Some(1) => {}
        Some(version) => {
            let message = format!("version {version} of the form is not known");
            return Err(ImportError::new("version", format!("{place}/version"), message, "Version 1 is."));
        }
    }
    let fields = TemplateFields::read(place, template)?;
    let Some(calls) = &fields.calls else {
        return Err(ImportError::new(
            "no-calls",
            format!("{place}/fields"),
            "no field holds calls",
            CALLS_HELP,
        ));
    };
    let mut also = Spellings::default();
    let closer = also.choose(&fields, calls)?;
    let mut made = Calls::read(calls, &closer)?;
    also.rows.append(&mut made.also);

    let mut file = File::default();
    introduce(&mut file, &fields, &made);
    let source = "Imported from a Hugging Face response_template.";
    file.key("source", KeyValue::Text(source.to_owned()), Vec::new());
    file.key("open", KeyValue::List(made.open), Vec::new());
    file.key("call", KeyValue::List(made.call), made.call_remarks);
    file.key("join", KeyValue::Text(made.join), Vec::new());
    file.key("close", KeyValue::List(made.close), Vec::new());
    // The default shape also reads `parameters`, so it is better left out.
    let is_default = made.object == [r#"{"name": "{name}", "arguments": {arguments}}"#];
    file.key("object", KeyValue::List(if is_default { Vec::new() } else { made.object }), Vec::new());
    file.key("param", KeyValue::List(made.param), made.param_remarks);
    file.key("syntax", KeyValue::Text(made.syntax), Vec::new());
    file.key("quote", KeyValue::Text(made.quote), Vec::new());
    file.key("trim", KeyValue::Flag(made.trim), Vec::new());
    let mut text = Vec::new();
    let mut noise = Vec::new();
    if let Some(field) = &fields.text {
        check_text(field)?;
        match &field.open {
            Some(_) => text = frames(field, &also.choose(&fields, field)?)?,
            None => noise = end_tokens(&fields, field.closer()?),
        }
    }
    let mut reasoning = Vec::new();
    let mut reasoning_remarks = Vec::new();
    for field in &fields.reasoning {
        check_text(field)?;
        let closer = also.choose(&fields, field)?;
        if field.open.is_some() {
            reasoning.extend(frames(field, &closer)?);
        } else {
            reasoning.push(format!("{}{{text}}{closer}", implied_opener(field, &closer)?));
            let remark = "The template starts in reasoning. Here its opener is made from its closer, and `prompt_tail` says \
                          where the prompt opened it; a closer without opener makes what was before it reasoning.";
            reasoning_remarks.push(remark.to_owned());
        }
    }
    let also_remarks = vec!["Other spellings, and \"\" for what may be absent.".to_owned()];
    file.key("also", KeyValue::Rows(also.rows), also_remarks);
    file.key("text", KeyValue::List(text), Vec::new());
    file.key("reasoning", KeyValue::List(reasoning), reasoning_remarks);
    file.key("noise", KeyValue::List(noise), Vec::new());
    Ok(file)
}

/// What holds for the whole file, above all what the form does not say.
fn introduce(file: &mut File, fields: &TemplateFields<'_>, made: &Calls) {
    file.remark(
        "Imported from a Hugging Face `response_template`. That form does not say everything a dialect says:",
    );
    file.remark(if made.has_id {
        "- ids: the model's are kept unless they repeat."
    } else {
        "- ids: the form names none, so each call gets one."
    });
    file.remark(
        "- missing closers: only those under `also` may be absent in the middle; at the end of the response a \
         complete call may lack its closers. A cut-off value is rejected.",
    );
    file.remark(
        "- layout: white space next to a marker is text unless a template writes it; `before` would make it layout.",
    );
    if fields.reasoning.is_empty() {
        file.remark(
            "- reasoning: the template has none, so the usual <think> is read, and calls in it are dead.",
        );
    } else {
        file.remark("- reasoning: calls in it are dead; `ends_thought = true` would let a call end it.");
    }
    if fields.text.as_ref().is_none_or(|text| text.open.is_some()) {
        file.remark("- text outside of every frame is text; the template drops it.");
    }
    if fields.all().any(|field| field.required) {
        file.remark("- required fields: a response that lacks them is read all the same.");
    }
    if fields.all().any(|field| field.joins) {
        file.remark("- `join`: pieces of text are passed on one by one, with nothing between.");
    }
    file.remark("The anchor of the prompt and the defaults of the message say nothing about the output.");
}

/// Text is text: everything else the form could make of it is rejected.
fn check_text(field: &Field<'_>) -> Result<(), ImportError> {
    if field.content != FieldContent::Text {
        let help = "Only `tool_calls` can be read as data.";
        return Err(field.reject("content", "content", "text and reasoning are read as `text` only", help));
    }
    field.known_args(&["strip"])?;
    let is_plain = field.transform.is_none_or(|transform| transform == "{content}");
    if !is_plain || field.transform_each {
        let help = "Remove it: text is passed on as it is.";
        return Err(field.reject("transform", "transform", "text cannot be transformed", help));
    }
    Ok(())
}

/// One frame for each way in which the field opens.
fn frames(field: &Field<'_>, closer: &str) -> Result<Vec<String>, ImportError> {
    let alternatives = field.open.iter().flat_map(|open| &open.alternatives);
    alternatives
        .map(|pieces| match written(pieces, |_| None) {
            Ok(opener) => Ok(format!("{opener}{{text}}{closer}")),
            Err(why) => Err(field.bad_pattern("open_pattern", &why)),
        })
        .collect()
}

/// What closes the text around everything is swallowed, unless it opens another field.
fn end_tokens(fields: &TemplateFields<'_>, closer: Closer) -> Vec<String> {
    let openers: Vec<String> = fields.all().flat_map(|field| literals(field.open.as_ref())).collect();
    let opens = |token: &String| openers.iter().any(|opener| opener.starts_with(token.as_str()));
    closer.spellings.into_iter().filter(|token| !token.trim().is_empty() && !opens(token)).collect()
}

/// The opener that belongs to a closing tag.
fn implied_opener(field: &Field<'_>, closer: &str) -> Result<String, ImportError> {
    let name = closer.trim().strip_prefix("</").and_then(|rest| rest.strip_suffix('>'));
    name.map(|name| format!("<{name}>")).ok_or_else(|| {
        let message = "reasoning without an opener needs a closing tag, from which the opener is made";
        field.reject("close", "no-opener", message, "Give the field `open`.")
    })
}

/// The literal texts of a marker.
fn literals(marker: Option<&pattern::Pattern>) -> Vec<String> {
    let pieces = marker.into_iter().flat_map(|marker| marker.alternatives.iter().flatten());
    pieces
        .filter_map(|piece| match piece {
            pattern::PatternPiece::Literal(text) => Some(text.clone()),
            _ => None,
        })
        .collect()
}

/// The rows of `also`: closers with several spellings.
#[derive(Default)]
struct Spellings {
    rows: Vec<Vec<String>>,
}

impl Spellings {
    /// The spelling of a field's closer that its template writes; the others become a row.
    ///
    /// A row counts wherever its literal stands, so one is preferred that no other field has.
    fn choose(&mut self, fields: &TemplateFields<'_>, field: &Field<'_>) -> Result<String, ImportError> {
        let Closer { mut spellings, may_be_absent } = field.closer()?;
        let others: Vec<String> = fields
            .all()
            .filter(|other| other.place != field.place)
            .flat_map(|other| literals(other.open.as_ref()).into_iter().chain(literals(other.close.as_ref())))
            .collect();
        let is_own = |spelling: &String| !others.iter().any(|other| other.contains(spelling.trim()));
        if spellings.is_empty() {
            return Ok(String::new());
        }
        let chosen = spellings.remove(spellings.iter().position(is_own).unwrap_or(0));
        let mut row = vec![chosen.trim().to_owned()];
        row.extend(spellings.iter().map(|spelling| spelling.trim().to_owned()));
        if may_be_absent {
            row.push(String::new());
        }
        if row.len() > 1 {
            match self.rows.iter().find(|known| known.first() == row.first()) {
                None => self.rows.push(row),
                Some(known) if *known == row => {}
                Some(_) => {
                    let message =
                        format!("`{}` closes two fields that differ in how else they close", row[0]);
                    let help = "Give both fields the same list, or write the dialect by hand.";
                    return Err(field.reject("close", "conflict", &message, help));
                }
            }
        }
        Ok(chosen)
    }
}
