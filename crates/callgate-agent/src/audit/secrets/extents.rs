//! Extents: how far a value goes that is a secret, in quotes, brackets, blocks and words.

use super::signs::Sign;
use super::{Name, Scan};
use crate::audit::looks::private_key;
use crate::audit::quotes::{balanced, closer, is_quote};

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

impl Scan<'_> {
    /// Where a value begins behind the marks that open its string.
    pub(super) fn inside(&self, at: usize) -> usize {
        let rest = &self.text[at..];
        let letters = rest.trim_start_matches(['b', 'B', 'r', 'R', 'u', 'U', 'f', 'F', '$', '@']);
        let is_prefix = rest.len() - letters.len() <= 2 && letters.starts_with(is_quote);
        if is_prefix { self.text.len() - letters.len() } else { at }
    }

    /// Where a value begins and ends that is given here, behind its quotes and its scheme. What cannot be seen of `text`
    /// is taken for its end.
    pub(super) fn extent(&self, text: &str, name: &Name<'_>, sign: Sign, from: usize) -> (usize, usize) {
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
            // An apostrophe may be part of a word, so without a closing one the value ends with its line.
            _ => self.line_end(from).min(text.len()),
        });
        (open + scheme_length(&text[open..to]), to)
    }

    /// The value behind a type that was taken for it: `password: str = "x"`.
    pub(super) fn typed(&self, name: &Name<'_>, sign: Sign, (from, to): (usize, usize)) -> (usize, usize) {
        let behind = self.text[to..].trim_start_matches(' ');
        match behind.strip_prefix('=').filter(|_| sign == Sign::Colon) {
            Some(value) => {
                let at = self.inside(self.text.len() - value.trim_start_matches(' ').len());
                self.extent(self.text, name, Sign::Equals, at)
            }
            None => (from, to),
        }
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
        // `password = decrypt(…)` or a tuple: everything in the brackets.
        let call = value.trim_start_matches(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'));
        if call.starts_with('(') && matches!(sign, Sign::Equals | Sign::Colon) {
            return text.len() - call.len() + balanced(call, "(", ")");
        }
        let line = self.line_end(from).min(text.len());
        let mut first = text[from..line].trim();
        // YAML allows a tag (`!`) and an anchor (`&`) before a value.
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
}

/// How long a value is that no quotes hold together.
fn plain(line: &str, name: &Name<'_>) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let gives = |rest: &str| {
        let word = rest.trim_start_matches(['"', '\'', '\\']);
        let behind = word.trim_start_matches(is_word);
        let value = behind.trim_start_matches(['"', '\'', '\\']).strip_prefix(['=', ':']);
        // The `=` that pads base64 gives no value.
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
