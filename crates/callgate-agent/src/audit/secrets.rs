//! Secrets in text: a name and the value that it is given, in all the ways in which texts give values to names.
//!
//! One pass from left to right. A name is looked at once and its value is passed over, so the work is linear; what is
//! looked at ahead of that has a bound. Where it is unclear how far a secret goes, it goes on: a record that lacks a
//! word can be lived with, one that holds a password cannot.

use std::cell::Cell;

use serde_json::Value;

use super::looks::{is_token, private_key, secret_at, user_in_address};
use super::quotes::{balanced, closer, is_quote};
use super::redact::{REDACTED, Redaction};
use super::words::{Strength, last_word, strength};

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
/// Programs, and the letters of those flags of theirs whose value is a secret. A flag that is followed by nothing takes
/// the next word.
const PROGRAMS: &[(&str, &str)] = &[
    ("curl", "uUb"),
    ("http", "a"),
    ("https", "a"),
    ("xh", "a"),
    ("mysql", "p"),
    ("mysqldump", "p"),
    ("mysqladmin", "p"),
    ("mariadb", "p"),
    ("mongo", "p"),
    ("mongosh", "p"),
    ("mongodump", "p"),
    ("sshpass", "p"),
    ("login", "p"),
    ("redis-cli", "a"),
    ("ldapsearch", "w"),
    ("ldapadd", "w"),
    ("ldapmodify", "w"),
    ("sqlcmd", "P"),
    ("bcp", "P"),
    ("zip", "P"),
    ("unzip", "P"),
    ("7z", "p"),
    ("7za", "p"),
    ("rar", "p"),
    ("unrar", "p"),
    ("smbclient", "U"),
    ("lftp", "u"),
    ("mosquitto_pub", "P"),
    ("mosquitto_sub", "P"),
    ("ipmitool", "P"),
    ("twine", "p"),
    ("openssl", "kK"),
];
/// Words that give the word behind the next one to that one: `setx API_KEY …`.
const SETTERS: &[&str] = &["set", "setx", "setenv", "env", "arg"];
/// Words that may stand before a name at the start of a line.
const LEADS: &[&str] = &[
    "export", "set", "setx", "setenv", "env", "arg", "const", "let", "var", "local", "declare", "readonly",
    "final", "static", "private", "public", "string", "val", "def", "-", "*", "+", ">", "$", "#", "//", "-e",
    "--env", "|",
];
/// Words before a secret in the value of a header.
const SCHEMES: &[&str] = &[
    "bearer",
    "basic",
    "digest",
    "token",
    "apikey",
    "negotiate",
    "ntlm",
    "hawk",
    "oauth",
    "sharedkey",
    "aws4-hmac-sha256",
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

/// The letters of a program's flags whose value is a secret.
pub(super) fn secret_flags(program: &str) -> Option<&'static str> {
    let name = program.rsplit('/').next().unwrap_or(program);
    PROGRAMS.iter().find(|(known, _)| *known == name).map(|(_, letters)| *letters)
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

/// How a value is given to a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    /// `=`, `:=`, `=>`, `->`.
    Equals,
    /// `:`.
    Colon,
    /// `<name>…</name>`.
    Tag,
    /// `"name", "value"`, `name("value")`, `name "value"`.
    Beside,
    /// `--name value`, `set name value`.
    Blank,
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
                // It was a text of its own.
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
        let piece = &self.text[self.at..end];
        for (at, byte) in piece.bytes().enumerate() {
            match byte {
                b'\n' => {
                    // A command may go on behind a backslash.
                    if !piece[..at].ends_with('\\') && !self.out.ends_with('\\') {
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
        self.out.push_str(piece);
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
        // The user of a request is named with a password.
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

    /// What an element or a part of a form holds whose name ends here: `<entry key="token">…</entry>`.
    fn beneath(&self, end: usize) -> Option<(usize, usize)> {
        let behind = self.text[end..].strip_prefix(['"', '\''])?;
        let part = ["\r\n\r\n", "\n\n"].iter().find_map(|blank| behind.strip_prefix(blank));
        if let Some(part) = part {
            let from = self.text.len() - part.len();
            return Some((from, self.line_end(from)));
        }
        let tag: String =
            behind.chars().take(256).take_while(|c| !matches!(c, '>' | '<' | '{' | '}')).collect();
        let held = behind[tag.len()..]
            .strip_prefix('>')
            .filter(|held| !tag.ends_with('/') && !held.starts_with('<'))?;
        let from = self.text.len() - held.len();
        held.find('<').filter(|length| *length > 0).map(|length| (from, from + length))
    }

    /// The value behind a type that was taken for it: `password: str = "x"`.
    fn typed(&self, name: &Name<'_>, sign: Sign, (from, to): (usize, usize)) -> (usize, usize) {
        let behind = self.text[to..].trim_start_matches(' ');
        match behind.strip_prefix('=').filter(|_| sign == Sign::Colon) {
            Some(value) => {
                let at = self.inside(self.text.len() - value.trim_start_matches(' ').len());
                self.extent(self.text, name, Sign::Equals, at)
            }
            None => (from, to),
        }
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

    /// The sign behind a name, and where the value begins.
    fn sign(&self, name: &Name<'_>) -> Option<(Sign, usize)> {
        let text = self.text;
        let closers = |c: char| is_quote(c) || matches!(c, '\\' | ']' | ')' | '*');
        let mut at = name.end;
        let behind = text[at..].trim_start_matches(closers);
        let closed = behind.len() != text[at..].len();
        at = text.len() - behind.len();
        if let Some(is_closing) = in_tag(&text[..name.start]) {
            let tag: String = text[name.end..].chars().take(256).take_while(|c| *c != '>').collect();
            let end = name.end + tag.len();
            let is_open =
                !is_closing && !tag.ends_with('/') && !tag.contains('<') && text[end..].starts_with('>');
            return is_open.then_some((Sign::Tag, end + 1));
        }
        let blank = behind.len() - behind.trim_start_matches([' ', '\t']).len();
        let rest = behind.trim_start_matches([' ', '\t']);
        at += blank;
        for (mark, sign) in [
            (":=", Sign::Equals),
            ("=>", Sign::Equals),
            ("->", Sign::Equals),
            ("?=", Sign::Equals),
            ("+=", Sign::Equals),
            ("==", Sign::Equals),
            ("=", Sign::Equals),
            (":", Sign::Colon),
            ("：", Sign::Colon),
            ("→", Sign::Equals),
            ("- ", Sign::Equals),
        ] {
            if let Some(value) = rest.strip_prefix(mark) {
                if (mark == ":" && value.starts_with("//")) || (mark == "- " && !(name.leads && blank > 0)) {
                    return None;
                }
                // What is printed in bold may end behind the sign.
                let is_bold = text[..name.start].ends_with('*');
                let value_at = text.len()
                    - value.trim_start_matches(|c| c == ' ' || c == '\t' || (is_bold && c == '*')).len();
                return Some((sign, self.inside(value_at)));
            }
        }
        // The next cell of a table.
        if let Some(cell) = rest.strip_prefix("</").and_then(|rest| next_cell(rest)) {
            return Some((Sign::Tag, text.len() - cell.len()));
        }
        let is_column = text[..name.start].trim_end_matches([' ', '`', '*']).ends_with('|');
        if let Some(value) = rest.trim_start_matches('`').strip_prefix('|').filter(|_| is_column) {
            return Some((Sign::Blank, text.len() - value.trim_start_matches([' ', '`']).len()));
        }
        if let Some(value) = rest.strip_prefix(',').filter(|_| closed) {
            let value = value.trim_start();
            let slashes = value.len() - value.trim_start_matches('\\').len();
            let quote = value[slashes..].chars().next().filter(|c| is_quote(*c))?;
            let near = &value[..value.char_indices().nth(FAR).map_or(value.len(), |(at, _)| at)];
            // Another name is no value.
            let close = closer(near, slashes + 1, quote, slashes).unwrap_or(near.len());
            let is_name = near[close..].trim_start_matches(['\\', quote]).trim_start().starts_with(':');
            return (!is_name).then(|| (Sign::Beside, self.inside(text.len() - value.len())));
        }
        if let Some(value) = rest.strip_prefix('(').filter(|value| value.starts_with(is_quote)) {
            return Some((Sign::Beside, self.inside(text.len() - value.len())));
        }
        if (name.dashes > 0 || self.is_set(name)) && blank > 0 && !rest.starts_with(['-', '\n', '\r']) {
            return Some((Sign::Blank, self.inside(at)));
        }
        None
    }

    /// A value that stands beside a name with nothing but words between: `PASSWORD 'x'`, `the password is x`.
    fn loose(&self, name: &Name<'_>) -> Option<(Sign, usize)> {
        let text = self.text;
        let is_strong = name.strength == Some(Strength::Strong);
        let rest = text[name.end..].trim_start_matches([' ', '\t']);
        if rest.len() == text.len() - name.end {
            return None;
        }
        let at = text.len() - rest.len();
        if is_strong && rest.starts_with(['\'', '"']) && name.quote.is_none() {
            return Some((Sign::Beside, self.inside(at)));
        }
        let said = ["is ", "was ", "to "].iter().find_map(|word| rest.strip_prefix(word));
        let word = |text: &'t str| text.split_whitespace().next().unwrap_or_default();
        let is_odd = |word: &str| {
            word.trim_end_matches(['.', ',', '!', '?', ')']).contains(|c: char| !c.is_alphabetic())
        };
        let has_digit = |word: &str| word.contains(|c: char| c.is_ascii_digit());
        if let Some(value) = said.filter(|value| is_odd(word(value)) && (is_strong || has_digit(word(value))))
        {
            return Some((Sign::Blank, self.inside(text.len() - value.len())));
        }
        let line = &text[at..self.line_end(at).max(at)];
        let is_login = matches!(name.name, "password" | "passwd" | "PASS" | "AUTH");
        let is_rule = matches!(name.name, "requirepass" | "masterauth");
        let is_line = name.leads && line.split_whitespace().take(2).count() == 1 && is_odd(word(line));
        let two_before = text[..name.start].split_whitespace().rev().nth(1);
        let is_there = !line.trim_start().is_empty();
        let follows = is_rule || (is_login && (is_line || self.is_netrc || two_before == Some("login")));
        (is_there && follows).then_some((Sign::Blank, at))
    }

    /// `IDENTIFIED BY 'x'`.
    fn identified(&self, name: &Name<'_>) -> Option<(usize, usize)> {
        let before = &self.text[self.before.0..self.before.1];
        let is_by = name.name.eq_ignore_ascii_case("by") && before.eq_ignore_ascii_case("identified");
        let rest = self.text[name.end..].trim_start();
        let from = self.inside(self.text.len() - rest.len());
        (is_by && rest.starts_with(is_quote)).then(|| self.extent(self.text, name, Sign::Beside, from))
    }

    /// `Bearer x` and `Basic x`, wherever they stand.
    fn scheme(&self, name: &Name<'_>) -> Option<(usize, usize)> {
        let value = self.text[name.end..].strip_prefix(' ')?;
        let is_coded = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
        let scheme = last_word(name.name);
        let word = match scheme.as_str() {
            "bearer" => &value[..value.len() - value.trim_start_matches(is_token).len()],
            "basic" => &value[..value.len() - value.trim_start_matches(is_coded).len()],
            _ => return None,
        };
        let length = word.len();
        let has = |odd: fn(char) -> bool| word.chars().skip(1).any(odd);
        let is_odd = has(|c| c.is_ascii_digit() || c == '=') || has(|c| c.is_ascii_uppercase());
        let is_secret = length >= 20 || (length >= 6 && is_odd);
        is_secret.then_some((name.end + 1, name.end + 1 + length))
    }

    /// Whether a word that gives values to names stands just before.
    fn is_set(&self, name: &Name<'_>) -> bool {
        let before = &self.text[self.floor(name.start.saturating_sub(160))..name.start];
        let is_open = !before.ends_with(char::is_whitespace);
        let setter =
            before.split_whitespace().rev().skip(usize::from(is_open)).find(|word| !word.starts_with('-'));
        setter.is_some_and(|word| SETTERS.contains(&word.to_ascii_lowercase().as_str()))
    }

    /// Whether the name of a value stands behind it: `{"value": …, "name": "API_KEY"}`.
    fn is_named_behind(&self, name: &Name<'t>, sign: Sign, from: usize) -> bool {
        let (_, start) = self.extent(&self.text[..self.floor(from + FAR)], name, sign, from);
        let behind = &self.text[start..self.floor(start + FAR)];
        let behind = &behind[..behind.find(['{', '}', '<']).unwrap_or(behind.len())];
        let mut words = behind.split(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'));
        let mut words = words.by_ref().filter(|word| !word.is_empty());
        while let Some(word) = words.next() {
            if is_name_of_value(word) {
                return false;
            }
            if is_name_of_name(word) {
                return words
                    .next()
                    .is_some_and(|word| strength(word, &self.redaction.words, false).is_some());
            }
        }
        false
    }

    /// Where a value begins behind the marks that open its string.
    fn inside(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        let letters = rest.trim_start_matches(['b', 'B', 'r', 'R', 'u', 'U', 'f', 'F', '$', '@']);
        let is_prefix = rest.len() - letters.len() <= 2 && letters.starts_with(is_quote);
        if is_prefix { self.text.len() - letters.len() } else { at }
    }

    /// Where a value begins and ends that is given here, behind its quotes and its scheme. What cannot be seen of `text`
    /// is taken for its end.
    fn extent(&self, text: &str, name: &Name<'_>, sign: Sign, from: usize) -> (usize, usize) {
        let value = &text[from..];
        let slashes = value.len() - value.trim_start_matches('\\').len();
        let bare = &value[slashes..];
        let Some(quote) = bare.chars().next().filter(|c| is_quote(*c) && sign != Sign::Tag) else {
            let to = self.unquoted(text, name, sign, from);
            return (from + scheme_length(&text[from..to]), to);
        };
        let triple = quote.to_string().repeat(3);
        if let Some(long) = bare.strip_prefix(triple.as_str()) {
            let open = from + slashes + 3;
            return (open, open + long.find(triple.as_str()).unwrap_or(long.len()));
        }
        let open = from + slashes + quote.len_utf8();
        let to = closer(text, open, quote, slashes).unwrap_or_else(|| match quote {
            '"' => text.len(),
            // An apostrophe need not open anything.
            _ => self.line_end(from).min(text.len()),
        });
        (open + scheme_length(&text[open..to]), to)
    }

    fn unquoted(&self, text: &str, name: &Name<'_>, sign: Sign, from: usize) -> usize {
        let value = &text[from..];
        if let Some(length) = private_key(value) {
            return from + length;
        }
        if sign == Sign::Tag {
            return from + value.find("</").unwrap_or(value.len());
        }
        if value.starts_with(['{', '[']) {
            return from + balanced(value, "{[", "}]");
        }
        // The arguments of a call, and a tuple.
        let call = value.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'));
        if call.starts_with('(') && matches!(sign, Sign::Equals | Sign::Colon) {
            return text.len() - call.len() + balanced(call, "(", ")");
        }
        let line = self.line_end(from).min(text.len());
        let mut first = text[from..line].trim();
        // A tag and an anchor stand before a value of YAML.
        while first.starts_with(['!', '&']) && first.contains(' ') {
            first = first.trim_start_matches(|c: char| !c.is_whitespace()).trim_start();
        }
        let is_scalar = first.starts_with(['|', '>'])
            && first[1..].chars().all(|c| c.is_ascii_digit() || matches!(c, '+' | '-'));
        if (first.is_empty() || is_scalar) && sign == Sign::Colon && line < text.len() {
            return self.block(text, name, line);
        }
        let lower = name.name.to_ascii_lowercase();
        let is_header =
            sign == Sign::Colon && (lower.ends_with("authorization") || lower.ends_with("cookie"));
        let around = name.quote.filter(|_| !name.is_quoted && sign == Sign::Colon);
        if let Some((quote, slashes)) = around {
            return closer(text, name.end, quote, slashes).map_or(line, |end| end.max(from));
        }
        if is_header && !name.is_escaped {
            return line;
        }
        if name.leads && sign == Sign::Colon && name.dashes == 0 && !name.is_escaped {
            return from + text[from..line].trim_end().len();
        }
        from + plain(&text[from..line], name)
    }

    /// The end of the lines that belong to a name whose line is over: those further in, and the items of a list.
    fn block(&self, text: &str, name: &Name<'_>, line: usize) -> usize {
        let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
        let own = indent(&text[self.line.min(name.start)..name.start]);
        let mut end = line + 1;
        for next in text[line + 1..].split_inclusive('\n') {
            let is_item = next.trim_start().starts_with("- ") && indent(next) == own;
            if !next.trim().is_empty() && indent(next) <= own && !is_item {
                break;
            }
            end += next.len();
        }
        // The line break before the next line stays.
        let block = &text[line..end];
        if block.trim().is_empty() { line } else { line + block.trim_end().len() }
    }

    /// Passes over a short flag of a program and hides its value; false if this is none.
    fn short_flag(&mut self) -> bool {
        let before = self.text[..self.at].chars().next_back();
        let letters = self.flags;
        if letters.is_empty() || before.is_some_and(|c| !c.is_whitespace() && !is_quote(c)) {
            return false;
        }
        let rest = &self.rest()[1..];
        let run = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let Some(first) = rest.chars().next().filter(|_| run > 0) else { return false };
        let behind = &rest[run..];
        let is_alone = behind.starts_with(|c: char| c.is_whitespace() || is_quote(c) || c == '\\');
        let last = rest[..run].chars().next_back().unwrap_or(first);
        let from = if is_alone && run <= 4 && letters.contains(last) {
            let value =
                behind.trim_start_matches(|c: char| is_quote(c) || matches!(c, ' ' | '\t' | ',' | '\\'));
            self.text.len() - value.len()
        } else if letters.contains(first) {
            self.at + 2
        } else {
            return false;
        };
        let value = &self.text[from..];
        let before = &self.text[..from];
        let end = match before.chars().next_back().filter(|c| is_quote(*c)) {
            Some(quote) => {
                let outer = &before[..from - quote.len_utf8()];
                let slashes = outer.len() - outer.trim_end_matches('\\').len();
                closer(self.text, from, quote, slashes).unwrap_or(self.text.len())
            }
            None => match value.chars().next().filter(|c| is_quote(*c)) {
                Some(quote) => closer(self.text, from + 1, quote, 0).unwrap_or(self.text.len()),
                None => {
                    let word = value.find(|c: char| c.is_whitespace() || is_quote(c)).unwrap_or(value.len());
                    from + value[..word].trim_end_matches('\\').len()
                }
            },
        };
        if end <= from {
            return false;
        }
        self.keep_to(from);
        self.hide_to(end);
        true
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

/// Whether a name behind this text is that of a tag, and then whether it is a closing one.
fn in_tag(before: &str) -> Option<bool> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let space = before.strip_suffix(':').map_or(before, |space| space.trim_end_matches(is_part));
    let before = if space.ends_with(['<', '/']) { space } else { before };
    match before.ends_with("</") {
        true => Some(true),
        false => before.ends_with('<').then_some(false),
    }
}

/// The text of the cell behind a closed one, from its name on: `td><td>…`.
fn next_cell(rest: &str) -> Option<&str> {
    let near: usize = rest.chars().take(128).map(char::len_utf8).sum();
    let open = rest[..near].find('<')?;
    let end = open + rest[open..near].find('>')?;
    (rest[..open].trim_end().ends_with('>') && !rest[open..].starts_with("</")).then(|| &rest[end + 1..])
}

/// How long a value is that no quotes hold together.
fn plain(line: &str, name: &Name<'_>) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let gives = |rest: &str| {
        let word = rest.trim_start_matches(['"', '\'', '\\']);
        let behind = word.trim_start_matches(is_word);
        let value = behind.trim_start_matches(['"', '\'', '\\']).strip_prefix(['=', ':']);
        // What encodings end with gives nothing.
        let is_end =
            |value: &str| value.is_empty() || value.starts_with(['=', '"', '\'']) && behind.starts_with('=');
        behind.len() != word.len() && value.is_some_and(|value| !is_end(value))
    };
    let mut looked = 0;
    for (at, c) in line.char_indices() {
        let rest = &line[at + c.len_utf8()..];
        let ends = match c {
            '\\' if name.is_escaped => rest.starts_with(['n', 'r']) || rest.starts_with(is_quote),
            '\\' => rest.trim_start_matches('\\').starts_with(is_quote),
            '<' => rest.starts_with('/'),
            _ if is_quote(c) => !name.leads || name.quote.is_some(),
            '&' => {
                looked += 1;
                looked < 64 && gives(rest)
            }
            ';' | ',' | ')' | '}' | ']' | '|' => {
                looked += 1;
                !name.leads
                    && (rest.is_empty()
                        || rest.starts_with(|c: char| {
                            c.is_whitespace() || is_quote(c) || matches!(c, '}' | ']' | ')')
                        })
                        || looked < 64 && gives(rest))
            }
            _ if c.is_whitespace() => {
                looked += 1;
                !name.leads || name.dashes > 0 || rest.starts_with('-') || looked < 64 && gives(rest)
            }
            _ => false,
        };
        if ends && at > 0 {
            return at;
        }
    }
    line.trim_end().len()
}

/// How long the word is that says in a header what kind of secret follows.
fn scheme_length(value: &str) -> usize {
    let (scheme, rest) = value.split_once(' ').unwrap_or_default();
    let is_known = SCHEMES.iter().any(|known| known.eq_ignore_ascii_case(scheme)) && !rest.trim().is_empty();
    if is_known { scheme.len() + 1 } else { 0 }
}
