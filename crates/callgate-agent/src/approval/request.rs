//! What a person is shown: what will start, what it does, and every argument of the call, with nothing in it that could
//! deceive the eye or the terminal.
//!
//! Each line of a question begins with a label and a gutter that only this file writes. What a model, a server or a file
//! wrote stands behind the gutter and is wrapped here, so that no terminal makes a line of it that begins otherwise.

use callgate::Call;
use callgate::internal::json::escape_pointer;
use serde::Serialize;
use serde_json::Value;

use super::hash;
use crate::script::is_mark;
use crate::visible::{BLANK, Breaks, is_hidden, marked, mixed_words, quoted, visible};

/// How many columns of one argument the short form shows, half from its start and half from its end: fewer, the more
/// arguments there are.
const SHORT: usize = 600;
const SHORT_OF_MANY: usize = 120;
const SHORT_OF_ALL: usize = 2_400;
/// How many arguments, and how many lines of a change, the short form shows, half from the start and half from the end.
const SHORT_FIELDS: usize = 24;
const SHORT_CHANGE: usize = 60;
/// How many rows one line has at most in the short form, and one of many: of the change, or of more arguments than these.
const SHORT_ROWS: usize = 12;
const SHORT_ROWS_OF_MANY: usize = 4;
const MANY: usize = 6;

/// How many columns the label has, and how many stand before the text: the label and the gutter with a blank on either
/// side. What is not ASCII counts as two columns throughout, as the widest terminals show it.
const LABEL: usize = 8;
const BEFORE: usize = LABEL + 4;
/// The gutter of a line, and of what did not fit on it.
const GUTTER: char = '│';
const CONTINUED: char = '┊';
/// The narrowest terminal that is written for.
const NARROW: usize = 20;
/// The longest mark or escape, in characters; longer ones are wrapped like text.
const MARK: usize = 24;

/// What a call will do if it runs, as far as its tool can say. Nothing in it has to be safe to show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// What will start.
    pub starts: Starts,
    /// What it does, in a few words.
    pub effect: &'static str,
    /// The file or folder that it does it to.
    pub place: Option<String>,
    /// What will change, line by line.
    pub change: String,
    /// How many hunks the change has, if each can be made without the others; otherwise it is made as a whole.
    pub hunks: usize,
    /// Why it asks, whatever a rule allows; none: rules decide.
    pub always_asks: Option<String>,
}

/// What will start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Starts {
    /// The tool does not say.
    #[default]
    Unsaid,
    /// Nothing: the host does it itself.
    Nothing,
    /// A program.
    Program {
        /// Where it lies; its name where it is nowhere to be found.
        path: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// A tool of an MCP server.
    Server {
        /// The server.
        server: String,
        /// What the server calls the tool.
        tool: String,
    },
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Request {
    /// An id of its own: the one that queue and records have.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Why it is asked.
    pub why: String,
    /// What the answer is bound to.
    pub hash: String,
    /// What will start.
    pub starts: String,
    /// What it does.
    pub effect: String,
    /// Every argument.
    pub fields: Vec<Field>,
    /// What will change, line by line, where the tool can say.
    pub change: Vec<String>,
    /// How many hunks of the change can be agreed to one by one; fewer than two: it is all or nothing.
    pub hunks: usize,
}

/// One argument, safe to show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// Where it stands in the arguments, as a JSON pointer, in quotes unless it is plain.
    pub path: String,
    /// The JSON type of its value.
    pub kind: &'static str,
    /// Its whole value, on one line: a string in quotes, everything else without.
    pub whole: String,
    /// Its length in characters, as it will be used.
    pub characters: usize,
    /// How many characters of it are invisible or would act on a terminal; they are shown as escapes.
    pub hidden: usize,
    /// How many words of it, or of its name, are made of letters that only look alike; they are shown as escapes.
    pub mixed: usize,
    /// The string itself, where it is one.
    #[serde(skip)]
    text: Option<String>,
}

impl Field {
    /// The value as it fits on a screen; what is left out is said, and both ends are there.
    pub fn short(&self, most: usize) -> String {
        let Some(text) = &self.text else { return self.whole.clone() };
        let weight = |c: char| if is_hidden(c) { 8 } else { 1 + usize::from(!c.is_ascii()) };
        let end_of = |chars: &mut dyn Iterator<Item = char>| {
            let mut left = most / 2;
            let fits = |c: &char| {
                let room = left.checked_sub(weight(*c));
                left = room.unwrap_or(0);
                room.is_some()
            };
            chars.take_while(fits).map(char::len_utf8).sum::<usize>()
        };
        let start = end_of(&mut text.chars());
        let end = text.len() - end_of(&mut text.chars().rev());
        if start >= end {
            return self.whole.clone();
        }
        let hidden = text[start..end].chars().count();
        format!("{} … {hidden} characters are not shown … {}", quoted(&text[..start]), quoted(&text[end..]))
    }

    fn line(&self, value: &str) -> String {
        let typed = if self.kind == value { String::new() } else { format!("{} ", self.kind) };
        let mut remarks = Vec::new();
        remarks.extend((self.hidden > 0).then(|| format!("{} hidden characters", self.hidden)));
        remarks.extend((self.mixed > 0).then(|| format!("{} words of mixed letters", self.mixed)));
        let remarks = match remarks.is_empty() {
            true => String::new(),
            false => format!(" ({}, shown as escapes)", remarks.join(" and ")),
        };
        format!("{} = {typed}{value}{remarks}", self.path)
    }
}

impl Request {
    /// The question about a call.
    pub fn new(call: &Call, why: &str) -> Self {
        let mut fields = Vec::new();
        let value = call.value();
        // Leaves in the order of the arguments, without recursion: what is nested comes out flat.
        let mut open: Vec<(String, &Value)> = vec![(String::new(), &value)];
        while let Some((path, value)) = open.pop() {
            let below: Vec<(String, &Value)> = match value {
                Value::Object(members) => members
                    .iter()
                    .map(|(key, value)| (format!("{path}/{}", escape_pointer(key)), value))
                    .collect(),
                Value::Array(items) => {
                    items.iter().enumerate().map(|(at, value)| (format!("{path}/{at}"), value)).collect()
                }
                _ => Vec::new(),
            };
            if below.is_empty() {
                fields.push(field(&path, value));
            }
            open.extend(below.into_iter().rev());
        }
        let unsaid = Request {
            id: String::new(),
            tool: plain(&call.name),
            why: visible(why, Breaks::Show).into_owned(),
            hash: hash(call),
            starts: String::new(),
            effect: String::new(),
            fields,
            change: Vec::new(),
            hunks: 0,
        };
        unsaid.about("", &Preview::default())
    }

    /// Says which request it is and what the call will do. Whatever the tool says is made safe to show here.
    pub(super) fn about(mut self, id: &str, preview: &Preview) -> Self {
        self.id = id.to_owned();
        self.hunks = preview.hunks;
        self.starts = match &preview.starts {
            Starts::Unsaid => "the tool does not say what".to_owned(),
            Starts::Nothing => "no program".to_owned(),
            Starts::Program { path, arguments } => {
                let words = std::iter::once(path).chain(arguments).map(|word| quoted(word));
                format!("the program {}", words.collect::<Vec<_>>().join(" "))
            }
            Starts::Server { server, tool } => {
                format!("the tool {} of the MCP server {}", quoted(tool), quoted(server))
            }
        };
        let place = preview.place.as_ref().map(|place| format!(": {}", quoted(place)));
        self.effect = match preview.effect {
            "" => "the tool does not say what it does".to_owned(),
            effect => format!("{effect}{}", place.unwrap_or_default()),
        };
        let change = preview.change.strip_suffix('\n').unwrap_or(&preview.change);
        self.change = match change {
            "" => Vec::new(),
            change => change.split('\n').map(marked).collect(),
        };
        self
    }

    /// The question as lines for a terminal of so many columns, none of them longer.
    pub fn lines(&self, is_short: bool, columns: usize) -> Vec<String> {
        let limit = |limit| if is_short { limit } else { usize::MAX };
        let room = columns.max(NARROW) - BEFORE - 1;
        let mut page = Page { room, most: limit(SHORT_ROWS), lines: Vec::new() };
        page.line("call", &format!("{} wants to run", self.tool));
        page.line("why", &self.why);
        page.line("starts", &self.starts);
        page.line("effect", &self.effect);
        let shown = self.fields.len().clamp(1, SHORT_FIELDS);
        let most = (SHORT_OF_ALL / shown).clamp(SHORT_OF_MANY, SHORT);
        if self.fields.len() > MANY {
            page.most = limit(SHORT_ROWS_OF_MANY);
        }
        both_ends(&self.fields, limit(SHORT_FIELDS), |field| match field {
            Ok(field) if is_short => page.line("argument", &field.line(&field.short(most))),
            Ok(field) => page.line("argument", &field.line(&field.whole)),
            Err(count) => page.line("left out", &format!("{count} arguments are not shown")),
        });
        page.most = limit(SHORT_ROWS_OF_MANY);
        let mut label = "change";
        both_ends(&self.change, limit(SHORT_CHANGE), |line| match line {
            Ok(line) => page.line(std::mem::take(&mut label), line),
            Err(count) => page.line("left out", &format!("{count} lines of the change are not shown")),
        });
        page.most = limit(SHORT_ROWS);
        page.line("hash", &self.hash);
        page.lines
    }
}

/// Hands out the first and the last items, and how many are not shown between them: what is in the middle must not push
/// what matters off the screen.
fn both_ends<T>(items: &[T], most: usize, mut show: impl FnMut(Result<&T, usize>)) {
    if items.len() <= most {
        return items.iter().for_each(|item| show(Ok(item)));
    }
    let half = most / 2;
    items[..half].iter().for_each(|item| show(Ok(item)));
    show(Err(items.len() - 2 * half));
    items[items.len() - half..].iter().for_each(|item| show(Ok(item)));
}

/// Lines that are being laid out.
struct Page {
    /// How many columns the text behind the gutter has.
    room: usize,
    /// How many rows a line may have.
    most: usize,
    lines: Vec<String>,
}

impl Page {
    /// Adds a line, and as many more as its text needs.
    fn line(&mut self, label: &str, text: &str) {
        let mut start = (label, GUTTER);
        both_ends(&rows(text, self.room), self.most, |row| match row {
            Ok(row) => {
                let (label, gutter) = std::mem::replace(&mut start, ("", CONTINUED));
                self.lines.push(format!("{label:LABEL$} {gutter} {row}"));
            }
            Err(count) => self.lines.push(format!("{:LABEL$} {GUTTER} {count}…", "left out")),
        });
    }
}

/// A text in rows of so many columns. A blank never ends a row, where it could not be seen.
fn rows(text: &str, room: usize) -> Vec<String> {
    let (mut rows, mut row, mut used) = (Vec::new(), String::new(), 0);
    let mut rest = text;
    while !rest.is_empty() {
        let mut part = token(rest);
        if columns_of(part) > room {
            part = &rest[..rest.chars().next().map_or(0, char::len_utf8)];
        }
        let columns = columns_of(part);
        if used + columns > room || (part == " " && used + columns == room) {
            rows.push(std::mem::take(&mut row));
            used = 0;
        }
        row.push_str(part);
        used += columns;
        rest = &rest[part.len()..];
    }
    rows.push(row);
    rows
}

/// What is not to be torn apart at the start of a text: a mark, an escape, or a character with all that is drawn onto it.
fn token(text: &str) -> &str {
    let upto =
        |end: Option<usize>| end.and_then(|end| text.get(..end)).filter(|token| token.len() <= 3 * MARK);
    let mut chars = text.char_indices();
    let first = chars.next().map(|(_, c)| c);
    let whole = match (first, chars.next()) {
        (Some(BLANK), Some(_)) => {
            upto(chars.take(MARK).find(|(_, c)| *c == BLANK).map(|(at, c)| at + c.len_utf8()))
        }
        (Some('\\'), Some((_, 'u'))) => upto(chars.take(MARK).find(|(_, c)| *c == '}').map(|(at, _)| at + 1)),
        (Some('\\'), Some((at, c))) => upto(Some(at + c.len_utf8())),
        (Some(_), Some((at, c))) if is_mark(c) => {
            let end = text[at..].find(|c| !is_mark(c)).map_or(text.len(), |length| at + length);
            upto(Some(end))
        }
        _ => None,
    };
    whole.unwrap_or(&text[..first.map_or(0, char::len_utf8)])
}

fn columns_of(text: &str) -> usize {
    text.chars().map(|c| 1 + usize::from(!c.is_ascii())).sum()
}

fn field(path: &str, value: &Value) -> Field {
    let path = if path.is_empty() { "/" } else { path };
    let (kind, text) = match value {
        Value::String(text) => ("string", Some(text)),
        Value::Number(_) => ("number", None),
        Value::Bool(_) => ("boolean", None),
        Value::Null => ("null", None),
        Value::Array(_) => ("list", None),
        Value::Object(_) => ("object", None),
    };
    let used = text.cloned().unwrap_or_else(|| value.to_string());
    Field {
        path: plain(path),
        kind,
        whole: text.map_or_else(|| used.clone(), |text| quoted(text)),
        characters: used.chars().count(),
        hidden: used.chars().filter(|c| is_hidden(*c) && !matches!(c, '\n' | '\t')).count(),
        mixed: mixed_words(&used) + mixed_words(path),
        text: text.cloned(),
    }
}

/// A name as it is, if it could be nothing else; otherwise in quotes.
fn plain(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./~$".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) { name.to_owned() } else { quoted(name) }
}
