//! Laying out valid JSON text without decoding it, so that numbers and escapes stay as they were written.

/// Whether strings are shown whole.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Strings {
    Whole,
    /// Cut after so many bytes, with the number of the rest.
    CutAfter(usize),
}

/// One line, with one space after commas and colons.
pub(crate) fn on_one_line(json: &str, strings: Strings) -> String {
    lay_out(json, None, strings)
}

/// One member per line, indented by two spaces per level.
pub(crate) fn indented(json: &str, strings: Strings) -> String {
    lay_out(json, Some(2), strings)
}

fn lay_out(json: &str, indent: Option<usize>, strings: Strings) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 4);
    let mut depth = 0usize;
    let mut rest = json;
    let line = |out: &mut String, depth: usize| {
        if let Some(indent) = indent {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', depth * indent));
        }
    };
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        match c {
            '"' => {
                let end = string_end(rest);
                push_string(&mut out, &rest[..end], strings);
                rest = &rest[end..];
                continue;
            }
            '{' | '[' => {
                out.push(c);
                // An empty container stays closed.
                if !after.trim_start().starts_with(['}', ']']) {
                    depth += 1;
                    line(&mut out, depth);
                } else {
                    let inner = after.trim_start();
                    out.push_str(&inner[..1]);
                    rest = &inner[1..];
                    continue;
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(',');
                if indent.is_some() { line(&mut out, depth) } else { out.push(' ') }
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
        rest = after;
    }
    out
}

/// One past the closing quote of the string at the start of `json`.
fn string_end(json: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in json.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    json.len()
}

fn push_string(out: &mut String, string: &str, strings: Strings) {
    let Strings::CutAfter(limit) = strings else { return out.push_str(string) };
    if string.len() <= limit + 24 {
        return out.push_str(string);
    }
    let mut cut = limit;
    while !string.is_char_boundary(cut) {
        cut -= 1;
    }
    out.push_str(&string[..cut]);
    out.push_str(&format!("… {} more bytes\"", string.len() - 1 - cut));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_and_escapes_stay() {
        let json = r#"{"a" :[1.00,12345678901234567890123,{ }],"b":"\u0041\"x,y"}"#;
        assert_eq!(
            on_one_line(json, Strings::Whole),
            r#"{"a": [1.00, 12345678901234567890123, {}], "b": "\u0041\"x,y"}"#
        );
        assert_eq!(
            indented(json, Strings::Whole),
            "{\n  \"a\": [\n    1.00,\n    12345678901234567890123,\n    {}\n  ],\n  \"b\": \"\\u0041\\\"x,y\"\n}"
        );
    }

    #[test]
    fn long_strings_say_how_much_is_missing() {
        let json = format!("[\"{}\"]", "ä".repeat(100));
        assert_eq!(on_one_line(&json, Strings::CutAfter(10)), "[\"ääää… 192 more bytes\"]");
        assert_eq!(on_one_line(&json, Strings::CutAfter(300)), json);
    }
}
