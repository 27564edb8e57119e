//! Values that nobody reads: what stands between the tags of a parameter in the text is data, whatever became of the call
//! around it and whichever formats listen.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::pool::give_back;
use crate::dialect::{Part, Record, Slot};

/// The most bytes of a tag, its attributes included.
const LONGEST_TAG: usize = 96;

/// The tags of parameters in the text.
#[derive(Debug, Default)]
pub(super) struct UnreadValues {
    /// The tag that is being read, from its first character on.
    tag: String,
    /// The character before it, or the last one.
    before: char,
    /// The last character up to there that is no blank.
    led_by: char,
    /// The name of the tag whose value is open.
    open: Option<String>,
    /// Whether a value has come since the last call.
    seen: bool,
    /// Whether the scan has seen that no tag begins in the text that comes next.
    pub(super) has_no_tags: bool,
}

/// Whether a tag may begin with these bytes, as far as they have come.
#[inline]
pub(super) fn may_be_tag(bytes: &[u8]) -> bool {
    match bytes {
        [b'<', after, ..] => after.is_ascii_alphabetic() || matches!(after, b'/' | b'|' | 128..),
        [b'<'] => true,
        _ => false,
    }
}

impl UnreadValues {
    /// Whether what comes next stands in a value.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whether a value has come since the last call, which may have been meant for the next one.
    pub(super) fn take_seen(&mut self) -> bool {
        std::mem::take(&mut self.seen)
    }

    /// A frame has been left: what stands behind it begins as behind a tag.
    pub(super) fn pass_frame(&mut self) {
        (self.before, self.led_by) = ('>', '>');
    }

    /// Reads the next piece of the text.
    #[inline]
    pub(super) fn read(&mut self, text: &str) {
        if self.has_no_tags && self.tag.is_empty() {
            return self.pass(text);
        }
        let mut rest = text;
        while !rest.is_empty() {
            rest = match self.tag.is_empty() {
                true => self.find_tag(rest),
                false => self.read_tag(rest),
            };
        }
    }

    /// Passes over text up to a tag, and says what follows its first character.
    #[inline(never)] // Little text has tags.
    fn find_tag<'t>(&mut self, text: &'t str) -> &'t str {
        let at = memchr::memchr(b'<', text.as_bytes());
        let (before, rest) = text.split_at(at.unwrap_or(text.len()));
        self.pass(before);
        let mut rest = rest.chars();
        self.tag.extend(rest.next());
        rest.as_str()
    }

    /// Reads the tag on to its end, to another one, or to where it is none, and says what follows.
    #[inline(never)] // Little text has tags.
    fn read_tag<'t>(&mut self, text: &'t str) -> &'t str {
        if self.tag.len() == 1
            && !text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '/' | '|' | '｜'))
        {
            self.pass_all("");
            return text;
        }
        let end = memchr::memchr2(b'<', b'>', text.as_bytes());
        let (inner, rest) = text.split_at(end.unwrap_or(text.len()));
        if self.tag.len() + inner.len() > LONGEST_TAG {
            self.pass_all(inner);
            return rest;
        }
        self.tag.push_str(inner);
        if end.is_none() {
            // It may go on in the next piece.
            return rest;
        }
        let closed = rest.strip_prefix('>');
        if closed.is_some() {
            self.tag.push('>');
            self.pass_tag();
        }
        self.pass_all("");
        closed.unwrap_or(rest)
    }

    /// Passes over text in which no tag begins.
    #[inline]
    fn pass(&mut self, text: &str) {
        if let Some(last) = text.chars().next_back() {
            self.before = last;
            let led_by = match last {
                ' ' | '\t' => text.trim_end_matches([' ', '\t']).chars().next_back(),
                last => Some(last),
            };
            self.led_by = led_by.unwrap_or(self.led_by);
        }
    }

    /// Passes over what was held as a tag, and what follows it.
    fn pass_all(&mut self, text: &str) {
        let tag = std::mem::take(&mut self.tag);
        self.pass(&tag);
        self.pass(text);
        give_back(&mut self.tag, tag);
    }

    /// Whether the tag that was read is written about: it is quoted, or a word of the sentence stands before it.
    fn is_mention(&self) -> bool {
        let is_word = matches!(self.before, ' ' | '\t') && !matches!(self.led_by, '\n' | '\r' | '>' | '\0');
        is_word || matches!(self.before, '`' | '"' | '\'')
    }

    /// A tag has been read to its end.
    fn pass_tag(&mut self) {
        if let Some(closing) = self.tag.strip_prefix("</") {
            if self.open.as_deref() == Some(local(name_of(closing))) {
                self.open = None;
            }
        } else if self.open.is_none()
            && let Some(name) = self.tag.strip_prefix('<').and_then(value_tag)
            && !self.is_mention()
        {
            self.open = Some(local(name).to_owned());
            self.seen = true;
        }
    }
}

/// The name of a tag, given from behind its `<`, if values stand behind it.
fn value_tag(tag: &str) -> Option<&str> {
    static NAMES: LazyLock<HashSet<String>> = LazyLock::new(value_tags);
    let name = name_of(tag);
    let is_empty = tag.ends_with("/>") || tag.contains(" value=");
    (!is_empty && (NAMES.contains(name) || NAMES.contains(local(name)))).then_some(name)
}

/// The tags of all dialects that stand right before a value and have a name of their own. Those that speak of parameters
/// count in every namespace.
fn value_tags() -> HashSet<String> {
    let mut names = HashSet::new();
    for record in Record::builtin() {
        for param in &record.param {
            let before = param.parts.iter().take_while(|part| !matches!(part, Part::Slot(Slot::Value)));
            let before: String = before
                .map(|part| match part {
                    Part::Literal(literal) => literal.as_str(),
                    Part::Slot(_) => "\0",
                })
                .collect();
            let Some((_, tag)) = before.rsplit_once('<') else { continue };
            let name = name_of(tag);
            if local(name).chars().any(char::is_alphabetic) && !name.contains(['\0', '|', '/']) {
                names.insert(name.to_owned());
                let local = local(name);
                if ["param", "arg"].iter().any(|word| local.contains(word)) {
                    names.insert(local.to_owned());
                }
            }
        }
    }
    names
}

/// The name of a tag, given from behind its `<`.
fn name_of(tag: &str) -> &str {
    let is_end = |c: char| c.is_whitespace() || matches!(c, '=' | '>' | 'Ġ' | '\0');
    // White space may stand behind a namespace.
    let head = &tag[..tag.find(['=', '>', '"']).unwrap_or(tag.len())];
    let bar = head.char_indices().rfind(|(_, c)| matches!(c, '｜' | '|'));
    let start = bar.map_or(0, |(at, bar)| at + bar.len_utf8());
    let start = start + tag[start..].len() - tag[start..].trim_start().len();
    let end = tag[start..].find(is_end).map_or(tag.len(), |at| start + at);
    &tag[..end]
}

/// A name without its namespace.
fn local(name: &str) -> &str {
    name.rsplit([':', '｜', '|']).next().unwrap_or(name).trim_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_behind(text: &str) -> bool {
        let mut whole = UnreadValues::default();
        whole.read(text);
        let mut cut = UnreadValues::default();
        for (at, c) in text.char_indices() {
            cut.read(&text[at..at + c.len_utf8()]);
        }
        assert_eq!(whole.is_open(), cut.is_open(), "{text}");
        whole.is_open()
    }

    #[test]
    fn a_value_is_open_between_its_tags() {
        for text in [
            "<parameter=body>see ",
            "<atem:parameter name=\"body\">see <b>",
            "<｜DSML｜r:parameter name=\"body\" string=\"true\">",
            "<paramĠname=\"body\">see",
            "a<arg_value>",
            "if a < b\n<parameter=x>",
            "<function=f> <parameter=x>",
        ] {
            assert!(open_behind(text), "{text}");
        }
        for text in [
            "<parameter=body>see</parameter> ",
            "the tag `<parameter=body>` is",
            "put it in <parameter=body> please",
            "<param name=\"movie\" value=\"a.swf\">",
            "<parameter name=\"a\"/>",
            "<value>3",
            "<body>",
        ] {
            assert!(!open_behind(text), "{text}");
        }
    }

    #[test]
    fn many_dialects_have_tags_of_values() {
        assert!(value_tags().len() > 8, "{:?}", value_tags());
    }
}
