//! Signs: how a text gives a value to a name, and where that value begins.

use super::{FAR, Name, Scan, is_name_of_name, is_name_of_value};
use crate::audit::looks::is_token;
use crate::audit::quotes::{closer, is_quote};
use crate::audit::words::{Strength, last_word, strength};

/// Words that give the word behind the next one to that one: `setx API_KEY …`.
const SETTERS: &[&str] = &["set", "setx", "setenv", "env", "arg"];

/// How a value is given to a name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
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
    /// The sign behind a name, and where the value begins.
    pub(super) fn sign(&self, name: &Name<'_>) -> Option<(Sign, usize)> {
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
                // Markdown's bold may close behind the sign: `**password:** x`.
                let is_bold = text[..name.start].ends_with('*');
                let value_at = text.len()
                    - value.trim_start_matches(|c| c == ' ' || c == '\t' || (is_bold && c == '*')).len();
                return Some((sign, self.inside(value_at)));
            }
        }
        // The next cell of an HTML table: `<td>password</td><td>x`.
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
            // `"password", "user": …`: the next string is a key, not a value.
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
    pub(super) fn loose(&self, name: &Name<'_>) -> Option<(Sign, usize)> {
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
    pub(super) fn identified(&self, name: &Name<'_>) -> Option<(usize, usize)> {
        let before = &self.text[self.before.0..self.before.1];
        let is_by = name.name.eq_ignore_ascii_case("by") && before.eq_ignore_ascii_case("identified");
        let rest = self.text[name.end..].trim_start();
        let from = self.inside(self.text.len() - rest.len());
        (is_by && rest.starts_with(is_quote)).then(|| self.extent(self.text, name, Sign::Beside, from))
    }

    /// `Bearer x` and `Basic x`, wherever they stand.
    pub(super) fn scheme(&self, name: &Name<'_>) -> Option<(usize, usize)> {
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
    pub(super) fn is_named_behind(&self, name: &Name<'t>, sign: Sign, from: usize) -> bool {
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

    /// What an element or a part of a form holds whose name ends here: `<entry key="token">…</entry>`.
    pub(super) fn beneath(&self, end: usize) -> Option<(usize, usize)> {
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
