//! Secrets in text: a name and the value that it is given, in all the ways in which texts give values to names.
//!
//! One pass from left to right. A name is looked at once and its value is passed over, so the work is linear; what is
//! looked at ahead of that has a bound. Where it is unclear how far a secret goes, it goes on: a record that lacks a
//! word can be lived with, one that holds a password cannot.

mod extents;
mod flags;
mod signs;

use std::cell::Cell;

use serde_json::Value;

use super::looks::{secret_at, user_in_address};
use super::quotes::{closer, is_quote};
use super::redact::{REDACTED, Redaction};
use super::words::{Strength, last_word, strength};
pub(super) use flags::secret_flags;
use signs::Sign;

/// How far a name may be from the value that stands apart from it, in bytes.
const FAR: usize = 512;
/// Last words of names whose value is a name: `{"name": "API_KEY", "value": …}`.
const NAMES: &[&str] = &[
    "name",
    "key",
    "field",
    "header",
    "variable",
    "var",
    "env",
    "param",
    "parameter",
    "property",
    "setting",
    "option",
    "label",
];
/// Last words of names whose value belongs to such a name.
const VALUES: &[&str] = &["value", "values", "val"];
/// Words that may stand before a name at the start of a line.
const LEADS: &[&str] = &[
    "export", "set", "setx", "setenv", "env", "arg", "const", "let", "var", "local", "declare", "readonly",
    "final", "static", "private", "public", "string", "val", "def", "-", "*", "+", ">", "$", "#", "//", "-e",
    "--env", "|",
];

/// A text without its secrets. `beside` says that the id of a key stands near.
pub(super) fn without_secrets(text: &str, redaction: &Redaction, beside: bool) -> String {
    let mut scan = Scan {
        text,
        redaction,
        beside: beside || holds_key_id(text),
        at: 0,
        out: String::with_capacity(text.len()),
        line: 0,
        line_known: Cell::new((0, 0)),
        flags: "",
        before: (0, 0),
        named_until: 0,
        is_netrc: false,
        in_section: false,
    };
    scan.run();
    scan.out
}

/// Whether the id of a key of AWS is in a text.
pub(super) fn holds_key_id(text: &str) -> bool {
    ["AKIA", "ASIA"].iter().any(|id| text.contains(id))
}

/// Whether a number may be that of some things. A secret that is a number has more digits.
pub(super) fn is_small(number: f64) -> bool {
    number.abs() < 1e7
}

/// Whether a name is that of a name, or of what belongs to it.
pub(super) fn is_name_of_name(name: &str) -> bool {
    NAMES.contains(&last_word(name).as_str())
}

pub(super) fn is_name_of_value(name: &str) -> bool {
    VALUES.contains(&last_word(name).as_str())
}

struct Scan<'t> {
    text: &'t str,
    redaction: &'t Redaction,
    beside: bool,
    at: usize,
    out: String,
    /// Where the line begins.
    line: usize,
    /// A part of the text without a line break, and where the next one is.
    line_known: Cell<(usize, usize)>,
    /// The flags of the program whose arguments these are.
    flags: &'static str,
    /// Where the name before this one is.
    before: (usize, usize),
    /// Until where a value belongs to a name that was given before it.
    named_until: usize,
    /// Whether a file of logins is being read, whose passwords have no sign before them.
    is_netrc: bool,
    /// Whether everything in this part of the file is a secret: `[credentials]`.
    in_section: bool,
}

/// A name in the text, with what stands around it.
struct Name<'t> {
    name: &'t str,
    start: usize,
    end: usize,
    strength: Option<Strength>,
    /// Whether it is the first thing of its line.
    leads: bool,
    /// The quote just before it, with the number of backslashes before that.
    quote: Option<(char, usize)>,
    /// Whether there is one behind it too.
    is_quoted: bool,
    /// Whether it stands behind a written-out line break: then such a break ends its value.
    is_escaped: bool,
    /// How many dashes make it a flag.
    dashes: usize,
}

impl<'t> Scan<'t> {
    fn run(&mut self) {
        self.section(0);
        while let Some(c) = self.rest().chars().next() {
            let before = self.text[..self.at].chars().next_back();
            let is_start = before.is_none_or(|before| !before.is_alphanumeric() && before != '_');
            let at = self.at;
            if c == ':'
                && let Some((start, end)) = user_in_address(self.rest())
            {
                self.keep_to(at + start);
                self.hide_to(at + end);
            } else if is_start && let Some(length) = secret_at(self.rest(), self.beside) {
                self.hide_to(at + length);
            } else if c == '"' && before != Some('\\') && self.string() {
                // The string was read as a text of its own.
            } else if is_start && (c.is_alphanumeric() || c == '_') {
                self.name();
            } else if c != '-' || !self.short_flag() {
                self.keep_to(at + c.len_utf8());
            }
        }
    }

    /// Reads a string in quotes as the text that it stands for; false if that hides nothing. A string in a string needs
    /// twice the backslashes, so there are few of them in each other.
    fn string(&mut self) -> bool {
        let open = self.at + 1;
        let Some(close) = closer(self.text, open, '"', 0) else { return false };
        let raw = &self.text[open..close];
        if !raw.contains(['=', ':', ' ', '\\']) {
            return false;
        }
        let decoded = match raw.contains('\\') {
            true => serde_json::from_str::<String>(&self.text[self.at..=close]).ok(),
            false => None,
        };
        let text = decoded.as_deref().unwrap_or(raw);
        let clean = self.redaction.read(text, self.beside);
        if clean == text {
            return false;
        }
        match decoded {
            Some(_) => self.out.push_str(&Value::String(clean).to_string()),
            None => self.out.extend(["\"", &clean, "\""]),
        }
        if let Some(line) = raw.rfind('\n') {
            self.line = open + line + 1;
        }
        self.at = close + 1;
        true
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn keep_to(&mut self, end: usize) {
        let part = &self.text[self.at..end];
        for (at, byte) in part.bytes().enumerate() {
            match byte {
                b'\n' => {
                    // A command may go on behind a backslash.
                    if !part[..at].ends_with('\\') && !self.out.ends_with('\\') {
                        self.flags = "";
                    }
                    self.line = self.at + at + 1;
                    self.section(self.line);
                }
                b'{' | b'}' => self.named_until = 0,
                // A line break that is written out begins a line too, and so does a text in quotes.
                b'[' if self.text[..self.at + at].ends_with(['n', '"', '\'']) => self.section(self.at + at),
                _ => {}
            }
        }
        self.out.push_str(part);
        self.at = end;
    }

    fn hide_to(&mut self, end: usize) {
        if let Some(line) = self.text[self.at..end].rfind('\n') {
            self.line = self.at + line + 1;
        }
        self.out.push_str(REDACTED);
        self.at = end;
    }

    /// Looks whether a line is the head of a part of a file.
    fn section(&mut self, line: usize) {
        let head = self.text[line..].strip_prefix('[').map(|rest| rest.trim_start_matches('['));
        if let Some(head) = head {
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ' | ':');
            let name: String = head.chars().take(64).take_while(|c| is_part(*c)).collect();
            let is_head = head[name.len()..].starts_with(']');
            self.in_section =
                is_head && strength(&name, &self.redaction.words, false) == Some(Strength::Strong);
        }
    }

    /// Reads a name, and hides its value if that is a secret.
    fn name(&mut self) {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let start = self.at;
        let length = self.rest().find(|c| !is_part(c)).unwrap_or(self.rest().len());
        let name = self.describe(start, start + length);
        let value = self.value(&name).or_else(|| self.hidden_in(&name));
        self.remember(&name);
        if let Some((from, to)) = value {
            self.keep_to(from);
            self.hide_to(to);
        } else {
            self.keep_to(name.end);
        }
    }

    /// A secret with dashes that looks like the end of a name.
    fn hidden_in(&self, name: &Name<'_>) -> Option<(usize, usize)> {
        let starts = name.name.match_indices('-').map(|(at, _)| name.start + at + 1);
        starts.filter_map(|at| Some((at, at + secret_at(&self.text[at..], self.beside)?))).next()
    }

    fn describe(&self, start: usize, end: usize) -> Name<'t> {
        let (before, mut name) = (&self.text[..start], &self.text[start..end]);
        let mut is_escaped = false;
        let mut found = strength(name, &self.redaction.words, false);
        // The letter behind a backslash may be part of a line break that is written out.
        if before.ends_with('\\') && name.starts_with(['n', 'r', 't']) {
            let rest = strength(&name[1..], &self.redaction.words, false);
            if rest > found || found.is_none() {
                (name, found, is_escaped) = (&name[1..], rest, true);
            }
        }
        // `API key` and `api.key` are names of two words.
        let first = self.first_word(start).filter(|(_, first)| {
            let joined = format!("{first}{name}").to_lowercase();
            found != Some(Strength::Strong)
                && strength(&joined, &self.redaction.words, false) == Some(Strength::Strong)
        });
        let lead = first.map_or(start, |(lead, _)| lead);
        let found = if first.is_some() { Some(Strength::Strong) } else { found };
        let dashes = before.len() - before.trim_end_matches('-').len();
        let outer = before.trim_end_matches('-');
        let is_flag =
            dashes > 0 && outer.chars().next_back().is_none_or(|c| c.is_whitespace() || is_quote(c));
        // `curl --user name:password`: the value of this flag holds a password.
        let is_user = is_flag && self.flags.contains('u') && matches!(name, "user" | "proxy-user");
        let found = if is_user { Some(Strength::Strong) } else { found };
        let quote = outer.chars().next_back().filter(|c| is_quote(*c)).map(|quote| {
            let rest = &outer[..outer.len() - quote.len_utf8()];
            (quote, rest.len() - rest.trim_end_matches('\\').len())
        });
        Name {
            start: end - name.len(),
            end,
            name,
            strength: found,
            leads: is_escaped || (!is_flag && found.is_some() && self.leads(lead)),
            is_quoted: quote.is_some() && self.text[end..].trim_start_matches('\\').starts_with(is_quote),
            quote,
            is_escaped,
            dashes: if is_flag { dashes } else { 0 },
        }
    }

    /// The name just before this place, if a blank or a dot is between, and where it begins.
    fn first_word(&self, start: usize) -> Option<(usize, &'t str)> {
        let (from, to) = self.before;
        let between = self.text.get(to..start)?;
        matches!(between, " " | ".").then(|| (from, &self.text[from..to]))
    }

    /// Whether nothing but signs and leading words stands before a place in its line.
    fn leads(&self, start: usize) -> bool {
        let Some(before) = self.text.get(self.line..start).filter(|before| before.len() <= 128) else {
            return false;
        };
        let mut words = before.split_whitespace().peekable();
        let is_open = !before.ends_with(char::is_whitespace);
        while let Some(word) = words.next() {
            let is_path = is_open
                && words.peek().is_none()
                && word.ends_with(['.', ':', '/', '"', '\'', '$'])
                && !word.contains(['{', '(', '[', ',']);
            if !is_path && !LEADS.contains(&word.to_ascii_lowercase().as_str()) {
                return false;
            }
        }
        true
    }

    /// What later names have to know of this one.
    fn remember(&mut self, name: &Name<'_>) {
        let previous = self.text[..name.start].chars().next_back();
        let next = self.text[name.end..].chars().next();
        let is_word = previous
            .is_none_or(|c| c.is_whitespace() || is_quote(c) || matches!(c, '/' | '(' | '|' | ';' | '&'))
            && next.is_none_or(|c| c.is_whitespace() || is_quote(c) || c == '\\');
        if let Some(letters) = secret_flags(name.name).filter(|_| is_word) {
            self.flags = letters;
        }
        self.is_netrc |= is_word && matches!(name.name, "machine" | "default") && self.leads(name.start);
        self.before = (name.start, name.end);
    }

    /// Where the value of a name begins and ends, if it is a secret.
    fn value(&mut self, name: &Name<'t>) -> Option<(usize, usize)> {
        let last = last_word(name.name);
        let is_value = VALUES.contains(&last.as_str());
        let is_name = NAMES.contains(&last.as_str());
        if name.strength.is_none() && !is_value && !is_name && !self.in_section {
            return self.identified(name).or_else(|| self.scheme(name));
        }
        let found = self.sign(name);
        if let Some((sign, from)) =
            found.filter(|(sign, _)| is_name && matches!(sign, Sign::Equals | Sign::Colon))
        {
            let (from, to) = self.extent(&self.text[..self.floor(from + FAR)], name, sign, from);
            let given = self.text[from..to].split([',', ';', '"', '\'']).next().unwrap_or_default();
            let is_name = !given.contains(|c: char| c.is_whitespace() || matches!(c, '{' | '['));
            if is_name && strength(given, &self.redaction.words, false).is_some() {
                self.named_until = from + FAR;
                return self.beneath(from + given.len());
            }
        }
        let loose = if found.is_none() { self.loose(name) } else { None };
        let Some((sign, from)) = found.or(loose) else { return self.scheme(name) };
        let belongs = is_value && (name.start < self.named_until || self.is_named_behind(name, sign, from));
        let leads = name.leads || self.leads(name.start);
        let is_in_section = self.in_section && leads && matches!(sign, Sign::Equals | Sign::Colon);
        if !belongs && !is_in_section && loose.is_none() && !self.counts(name, sign) {
            return None;
        }
        let (from, to) = self.typed(name, sign, self.extent(self.text, name, sign, from));
        let value = &self.text[from..to];
        let first = value.split([' ', ',', ';']).next().unwrap_or_default();
        let is_quoted = self.text[..from].ends_with(is_quote);
        let is_count = !is_quoted
            && first.parse().is_ok_and(is_small)
            && strength(name.name, &self.redaction.words, true).is_none();
        let is_nothing = matches!(value, "" | "null" | "true" | "false" | "none" | "None" | "True" | "False");
        (belongs || is_in_section || !is_count).then_some((from, to)).filter(|_| !is_nothing)
    }

    /// Whether a name is one here: a word that can mean something else has to stand where names stand.
    fn counts(&self, name: &Name<'_>, sign: Sign) -> bool {
        let Some(strength) = name.strength else { return false };
        if strength == Strength::Strong || name.dashes > 0 || sign == Sign::Tag {
            return true;
        }
        let before = self.text[..name.start].trim_end_matches([' ', '\t']);
        let is_capital = name.name.chars().all(|c| !c.is_lowercase()) && sign == Sign::Equals;
        let is_header = name.name.to_ascii_lowercase().ends_with("cookie") && sign == Sign::Colon;
        let is_member =
            before.ends_with(['{', ',', ';', '?', '&', '[', '(']) || name.name.contains(['_', '-']);
        let gives = matches!(sign, Sign::Equals | Sign::Colon);
        gives && (name.leads || name.is_quoted || is_capital || is_header || is_member || self.is_camel(name))
    }

    /// Whether a name is written as only programs write names: `privateKey`.
    fn is_camel(&self, name: &Name<'_>) -> bool {
        name.name.chars().skip(1).any(char::is_uppercase) && name.name.chars().any(char::is_lowercase)
    }

    /// Where the line of a place ends. It is looked for once per line.
    fn line_end(&self, at: usize) -> usize {
        let (from, to) = self.line_known.get();
        if (from..=to).contains(&at) && to > 0 {
            return to;
        }
        let end = self.text[at..].find('\n').map_or(self.text.len(), |length| at + length);
        self.line_known.set((at, end));
        end
    }

    /// The last place before this one at which the text can be cut.
    fn floor(&self, at: usize) -> usize {
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}
