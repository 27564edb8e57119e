//! Parameters: values written as elements, turned into the text of a JSON object as they come.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::layout::{
    follow_layout, held_back, last_space, last_space_of_json, without_layout, without_lead, without_trail,
};
use crate::bytes::{character_start, holds};
use crate::dialect::{Record, Slot};
use crate::finding::{Code, Finding, Span};
use crate::json::{Kind, Tape, escape_into, escape_pointer, make_room};
use crate::policy::Untyped;
use crate::schema::outline::OutlinePlace;
use crate::schema::place_in_words;
use crate::schema::{CompiledTool, TypeSet, type_text};

/// The types of a value that its header says is no string.
const NOT_STRING: TypeSet =
    TypeSet::NUMBER.or(TypeSet::BOOLEAN).or(TypeSet::NULL).or(TypeSet::ARRAY).or(TypeSet::OBJECT);

/// How a value ended.
#[derive(Debug, Default)]
pub(crate) struct ValueEnd {
    /// Some of the white space after it had been shown, and is layout.
    pub(crate) is_late: bool,
    /// Its header says that it is no string, and the schema leaves nothing else.
    pub(crate) is_text: bool,
    /// Why it could not be typed.
    pub(crate) finding: Option<Finding>,
}

/// Parameters that have been read, as the text of a JSON object.
#[derive(Debug)]
pub(crate) struct Params {
    json: String,
    /// Where the values stand in it.
    tape: Tape,
    /// The key that waits for its value, as a place in the JSON.
    key: Option<(usize, usize)>,
    /// Whether something was written that is no JSON.
    broken: bool,
    /// The values that are open, the object of all parameters first.
    holders: Vec<Holder>,
    /// The value that is being read.
    value: Option<OpenValue>,
    /// What a value is of which no schema says the type.
    untyped: Untyped,
}

/// What the header of a value says, and where the value begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueStart<'a> {
    pub(crate) key: &'a str,
    /// What stands in the slot `{type}`.
    pub(crate) kind: Option<&'a str>,
    /// The white space that the template writes before the value, and after it.
    pub(crate) lead: &'a str,
    pub(crate) trail: &'a str,
    pub(crate) position: usize,
}

/// An object or list whose elements are being read.
#[derive(Debug, Default)]
struct Holder {
    is_list: bool,
    /// Its value on the tape.
    node: usize,
    /// The keys so far.
    keys: BTreeSet<String>,
    /// How many elements it has.
    length: usize,
    /// Where it stands in the arguments.
    place: OutlinePlace,
    pointer: String,
}

/// A parameter's value that is being read.
#[derive(Debug)]
struct OpenValue {
    place: OutlinePlace,
    pointer: String,
    /// Whether it may be an object whose members are written as elements.
    object: bool,
    /// Whether it may be a list whose members are written as elements.
    list: bool,
    /// What `{type}` said: `Some(true)` for a string.
    is_string: Option<bool>,
    lead: String,
    trail: String,
    trim: bool,
    unescape: bool,
    /// The text, if it is kept until its end.
    text: String,
    /// Where in the JSON the value began, if its text is written at once.
    streams: Option<usize>,
    /// Whether it is decided which white space before the value is markup.
    lead_read: bool,
    /// The last bytes, which may be markup.
    tail: String,
    /// How many bytes of white space it begins with, as far as that is known.
    blank: usize,
    /// How much of it was searched for markup that calls begin with, so that nothing is searched twice.
    searched: usize,
    /// Whether some was found.
    shows_opener: bool,
}

impl OpenValue {
    /// What has come of it and is kept, as JSON or as it was written.
    fn kept<'a>(&'a self, json: &'a str) -> &'a str {
        self.streams.map_or(&self.text, |start| &json[start..])
    }

    /// Where the white space ends that its text begins with.
    fn skip_blank(&mut self) -> usize {
        let rest = &self.text[self.blank..];
        self.blank += rest.len() - rest.trim_start().len();
        self.blank
    }
}

impl Params {
    /// No parameters yet.
    pub(crate) fn new(tool: Option<&CompiledTool>, untyped: Untyped) -> Self {
        let place = tool.map_or_else(OutlinePlace::default, |tool| tool.outline.root());
        let mut tape = Tape::default();
        let node = tape.open(Kind::Object, None, 0);
        let all = Holder { place, node, ..Holder::default() };
        let json = String::from("{");
        Params { json, tape, key: None, broken: false, holders: vec![all], value: None, untyped }
    }

    /// Program text as the only parameter: `code`, unless the tool has no `code` and exactly one other.
    pub(crate) fn of_code(code: &str, tool: Option<&CompiledTool>) -> Self {
        let mut params = Params::new(None, Untyped::default());
        let only =
            tool.map(|tool| tool.keys()).filter(|keys| keys.len() == 1).and_then(|mut keys| keys.next());
        params.member(only.unwrap_or("code"), 0, None);
        let start = params.json.len();
        write_string(&mut params.json, code);
        params.written(start);
        params
    }

    /// The JSON so far.
    pub(crate) fn json(&self) -> &str {
        &self.json
    }

    /// Whether there is a parameter of this name.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.holders.first().is_some_and(|all| all.keys.contains(key))
    }

    /// Begins a value. The finding says that its key has been there before.
    pub(crate) fn begin(
        &mut self,
        record: &Record,
        begins: ValueStart<'_>,
        tool: Option<&CompiledTool>,
    ) -> Option<Finding> {
        let ValueStart { key, kind, lead, trail, position } = begins;
        let (place, pointer, twice) = self.member(key, position, tool)?;
        let types = place.types();
        let is_string = kind.map(|kind| kind == record.type_spelling("string"));
        let writes_string = is_string.unwrap_or_else(|| types.is_some_and(TypeSet::only_string));
        let unescape = record.escape.contains(&Slot::Value);
        let streams = writes_string && !record.trim && !unescape;
        if streams {
            self.json.push('"');
        }
        let (object, list) = match kind {
            _ if record.item.is_none() || streams => (false, false),
            Some(kind) => (kind == record.type_spelling("object"), kind == record.type_spelling("array")),
            None => types.map_or((true, true), |types| {
                (types.contains(TypeSet::OBJECT), types.contains(TypeSet::ARRAY))
            }),
        };
        self.value = Some(OpenValue {
            place,
            pointer,
            object,
            list,
            is_string,
            lead: lead.to_owned(),
            trail: trail.to_owned(),
            trim: record.trim,
            unescape,
            text: String::new(),
            streams: streams.then_some(self.json.len()),
            lead_read: false,
            tail: String::new(),
            blank: 0,
            searched: 0,
            shows_opener: false,
        });
        twice
    }

    /// Writes what stands before a value: its place in the schema and in the arguments, and the finding that says that
    /// its key has been there before.
    fn member(
        &mut self,
        key: &str,
        position: usize,
        tool: Option<&CompiledTool>,
    ) -> Option<(OutlinePlace, String, Option<Finding>)> {
        let holder = self.holders.last_mut()?;
        let place = match tool {
            Some(tool) if holder.is_list => tool.outline.item(&holder.place, holder.length),
            Some(tool) => tool.outline.member(&holder.place, key),
            None => OutlinePlace::default(),
        };
        let step = if holder.is_list { holder.length.to_string() } else { escape_pointer(key) };
        let pointer = [&*holder.pointer, "/", &step].concat();
        if holder.length > 0 {
            self.json.push_str(", ");
        }
        holder.length += 1;
        let mut twice = None;
        if !holder.is_list {
            let start = self.json.len();
            write_string(&mut self.json, key);
            self.key = Some((start, self.json.len()));
            self.json.push_str(": ");
            twice = (!holder.keys.insert(key.to_owned())).then(|| {
                Finding::new(Code::DuplicateKey)
                    .at(Span::new(position, position))
                    .path(pointer.clone())
                    .message(format!("the parameter `{key}` is given twice"))
            });
        }
        Some((place, pointer, twice))
    }

    /// A parameter that is written on one line. A JSON string is that string; everything else is typed as text is.
    pub(crate) fn line(
        &mut self,
        key: &str,
        text: &str,
        span: Span,
        tool: Option<&CompiledTool>,
    ) -> Vec<Finding> {
        let Some((place, pointer, twice)) = self.member(key, span.start, tool) else { return Vec::new() };
        let mut found: Vec<Finding> = twice.into_iter().collect();
        let start = self.json.len();
        if is_json_string(text) {
            self.json.push_str(text);
        } else if let Err(finding) = type_text(&mut self.json, text, place.types(), self.untyped) {
            // The text stays what it is, so that the rejection shows it.
            write_string(&mut self.json, text);
            found.push(told(finding, span, pointer));
        }
        self.written(start);
        found
    }

    /// More of the value.
    pub(crate) fn text(&mut self, text: &str) {
        let Some(value) = &mut self.value else { return };
        if value.streams.is_none() {
            make_room(&mut value.text, text.len());
            value.text.push_str(text);
            return;
        }
        // Every byte may need an escape.
        make_room(&mut self.json, text.len() * 2);
        if value.lead_read && value.tail.is_empty() {
            // Nothing is held back, so most of the text need not be kept.
            let held = held_back(text, &value.trail);
            let (free, tail) = text.split_at(text.len() - held);
            escape_into(&mut self.json, free);
            if held > 0 {
                value.tail.push_str(tail);
            }
            return;
        }
        value.tail.push_str(text);
        if !value.lead_read {
            let (at, read) = follow_layout(&value.tail, &value.lead);
            if at == value.tail.len() && read < value.lead.len() {
                return;
            }
            value.lead_read = true;
            let rest = without_lead(&value.tail, &value.lead).len();
            value.tail.drain(..value.tail.len() - rest);
        }
        // The last bytes are held back while they may be the white space that the template writes.
        let held = held_back(&value.tail, &value.trail);
        let free = value.tail.len() - held;
        escape_into(&mut self.json, &value.tail[..free]);
        value.tail.drain(..free);
    }

    /// Whether the value that is being read could be over without its closer: it does not show how calls begin, since it
    /// then shows how they end as well, and if it is no text, a bracket that it begins with is closed.
    pub(crate) fn value_may_end(&mut self, openers: &[String]) -> bool {
        self.shows_opener(openers).is_some_and(|shows| !shows) && self.brackets_are_closed()
    }

    /// Whether one of these literals stands in the value that is being read.
    fn shows_opener(&mut self, openers: &[String]) -> Option<bool> {
        let value = self.value.as_mut()?;
        if !value.shows_opener {
            let kept = value.kept(&self.json);
            let longest = openers.iter().map(String::len).max().unwrap_or_default();
            let new = &kept[character_start(kept, value.searched.saturating_sub(longest))..];
            let shows = openers.iter().any(|opener| holds(new, opener) || value.tail.contains(opener));
            (value.searched, value.shows_opener) = (kept.len(), shows);
        }
        Some(value.shows_opener)
    }

    fn brackets_are_closed(&mut self) -> bool {
        let Some(value) = self.value.as_mut().filter(|value| value.streams.is_none()) else { return true };
        if value.is_string == Some(true)
            || value.place.types().is_some_and(|types| types.contains(TypeSet::STRING))
        {
            return true;
        }
        let start = value.skip_blank();
        match value.text.as_bytes().get(start) {
            Some(b'[') => value.text.trim_end().ends_with(']'),
            Some(b'{') => value.text.trim_end().ends_with('}'),
            _ => true,
        }
    }

    /// The end of the value that is being read, without white space.
    pub(crate) fn value_end(&self) -> Option<&str> {
        self.value.as_ref().map(|value| match value.streams {
            Some(start) if value.tail.trim().is_empty() => self.json[start..].trim_end(),
            Some(_) => value.tail.trim_end(),
            None => value.text.trim_end(),
        })
    }

    /// Whether this stands in the value that is being read.
    pub(crate) fn value_shows(&self, text: &str) -> bool {
        let shows = |value: &OpenValue| holds(value.kept(&self.json), text) || holds(&value.tail, text);
        self.value.as_ref().is_some_and(shows)
    }

    /// What has come of the value that is being read, as JSON or as it was written.
    pub(crate) fn value_so_far(&self) -> Cow<'_, str> {
        let Some(value) = &self.value else { return Cow::Borrowed("") };
        let kept = value.kept(&self.json);
        if value.tail.trim().is_empty() {
            // White space at the end of JSON is escaped.
            let space = |end: &str| ["\\n", "\\r", "\\t"].iter().any(|space| end.ends_with(space));
            let mut end = kept.trim_end();
            while value.streams.is_some() && space(end) {
                end = end[..end.len() - 2].trim_end();
            }
            return Cow::Borrowed(end);
        }
        Cow::Owned(format!("{kept}{}", value.tail.trim_end()))
    }

    /// Whether nothing but white space has come of the value that is being read.
    pub(crate) fn value_is_blank(&mut self) -> bool {
        let Some(value) = &mut self.value else { return false };
        if value.streams.is_some() {
            return value.tail.trim().is_empty() && value.kept(&self.json).is_empty();
        }
        value.skip_blank() == value.text.len()
    }

    /// Whether the value that is being read can be nothing but an object, or nothing but a list.
    pub(crate) fn is_container(&self) -> bool {
        let types = self.value.as_ref().and_then(|value| value.place.types());
        types.is_some_and(|types| types == TypeSet::OBJECT || types == TypeSet::ARRAY)
    }

    /// Ends the value: types it and writes it. The span is that of the value in the input. Where its closer is missing,
    /// the white space before what follows is layout.
    pub(crate) fn end(&mut self, span: Span, lacks_closer: bool) -> ValueEnd {
        let json = &mut self.json;
        let Some(value) = self.value.take() else { return ValueEnd::default() };
        if let Some(start) = value.streams {
            let tail = if value.lead_read { &value.tail } else { without_lead(&value.tail, &value.lead) };
            escape_into(json, without_trail(tail, &value.trail));
            let mut is_late = false;
            if lacks_closer {
                let end = start + without_layout(&json[start..], last_space_of_json).len();
                is_late = end < json.len();
                json.truncate(end);
            }
            json.push('"');
            self.written(start - 1);
            return ValueEnd { is_late, ..ValueEnd::default() };
        }
        let start = json.len();
        let mut text = without_trail(without_lead(&value.text, &value.lead), &value.trail);
        if value.trim {
            text = text.trim();
        }
        if lacks_closer {
            text = without_layout(text, last_space);
        }
        if text.is_empty() && value.object != value.list {
            // Nothing but its type tells an object without members from a list without elements.
            json.push_str(if value.list { "[]" } else { "{}" });
            self.written(start);
            return ValueEnd::default();
        }
        let plain = if value.unescape { unescape_xml(text) } else { text.to_owned() };
        let types = value.place.types();
        let is_json = value.is_string == Some(false);
        let takes_text = types.is_none_or(|types| types.contains(TypeSet::STRING));
        // What is no text is written as JSON, in which a string stands between quotes.
        if is_json && takes_text && is_json_string(plain.trim()) {
            json.push_str(plain.trim());
            self.written(start);
            return ValueEnd::default();
        }
        let is_text = is_json && types.is_some_and(|types| is_text_after_all(&plain, types, self.untyped));
        let result = match value.is_string {
            Some(said) if said || is_text => {
                write_string(json, &plain);
                Ok(())
            }
            Some(_) => type_text(json, &plain, Some(NOT_STRING), self.untyped),
            None => type_text(json, &plain, types, self.untyped),
        };
        let finding = result.err().map(|finding| {
            // The text stays what it is, so that the rejection shows it.
            write_string(json, &plain);
            told(finding, span, value.pointer)
        });
        self.written(start);
        ValueEnd { is_late: false, is_text, finding }
    }

    /// A value has been written from here to the end.
    fn written(&mut self, start: usize) {
        self.broken |= !self.tape.add(&self.json, start, self.key.take());
    }

    /// Whether the value that is being read may hold members, or elements of a list, that begin here.
    pub(crate) fn may_hold(&self) -> (bool, bool) {
        match &self.value {
            Some(value) if value.text.trim().is_empty() => (value.object, value.list),
            _ => (false, false),
        }
    }

    /// How many values hold the one that is being read.
    pub(crate) fn level(&self) -> usize {
        self.holders.len().saturating_sub(1)
    }

    /// Makes the value that is being read an object or a list, whose first element follows.
    pub(crate) fn open_holder(&mut self, is_list: bool) {
        let Some(value) = self.value.take() else { return };
        let (bracket, kind) = if is_list { ('[', Kind::Array) } else { ('{', Kind::Object) };
        let node = self.tape.open(kind, self.key.take(), self.json.len());
        self.json.push(bracket);
        let (place, pointer) = (value.place, value.pointer);
        self.holders.push(Holder { is_list, node, place, pointer, ..Holder::default() });
    }

    /// Closes the objects and lists inside of this level.
    pub(crate) fn close_holders(&mut self, level: usize) {
        while self.level() > level {
            if let Some(holder) = self.holders.pop() {
                self.json.push(if holder.is_list { ']' } else { '}' });
                self.tape.close(holder.node, self.json.len());
            }
        }
    }

    /// Closes everything, unless a value is still being read.
    pub(crate) fn close(&mut self) {
        if self.value.is_none() {
            self.close_holders(0);
            self.json.push('}');
            self.tape.close(0, self.json.len());
        }
    }

    /// The whole object; nothing if it ends inside of a value.
    pub(crate) fn finish(self) -> Option<(String, Tape)> {
        (self.value.is_none() && !self.broken).then_some((self.json, self.tape))
    }
}

/// Whether a value that its header says is no string is one all the same: it is of no other type that the schema has
/// there. A number is left to the coercions.
fn is_text_after_all(text: &str, types: TypeSet, untyped: Untyped) -> bool {
    let others = types.and(NOT_STRING);
    let is_other = |types: TypeSet| {
        !types.is_empty() && type_text(&mut String::new(), text, Some(types), untyped).is_ok()
    };
    types.contains(TypeSet::STRING) && !is_other(others) && !is_other(TypeSet::NUMBER)
}

/// Whether a text is one JSON string from end to end.
pub(super) fn is_json_string(text: &str) -> bool {
    text.starts_with('"') && serde_json::from_str::<String>(text).is_ok()
}

fn write_string(json: &mut String, text: &str) {
    json.push('"');
    escape_into(json, text);
    json.push('"');
}

/// The five entities of XML; anything else stays as it is.
fn unescape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let entity = [("&amp;", '&'), ("&lt;", '<'), ("&gt;", '>'), ("&quot;", '"'), ("&apos;", '\'')]
            .into_iter()
            .find(|(name, _)| rest.starts_with(name));
        match entity {
            Some((name, c)) => {
                out.push(c);
                rest = &rest[name.len()..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// What is said of a text that is of no type that its parameter may have: which parameter, and where it stands.
fn told(finding: Finding, span: Span, pointer: String) -> Finding {
    let message = match finding.message.strip_prefix("invalid value") {
        Some(rest) => format!("invalid value for {}{rest}", place_in_words(&pointer)),
        None => finding.message.to_string(),
    };
    finding.at(span).path(pointer).message(message)
}
