//! Damage: responses as their dialect writes them, and the ways to change their markup.

use callgate::{Record, RenderCall};
use serde_json::{Value, json};

/// A response as its dialect writes it.
pub(crate) struct Base {
    pub(crate) text: String,
    pub(crate) calls: Vec<(&'static str, Value)>,
}

impl Base {
    /// The tags and special tokens; the values of the calls have none.
    pub(crate) fn markers(&self) -> Vec<(usize, usize)> {
        let starts = self.text.match_indices('<').map(|(at, _)| at);
        starts.filter_map(|start| Some((start, start + self.text[start..].find('>')? + 1))).collect()
    }

    /// With each tag changed for which the test holds; it is told the tag, and what follows it.
    pub(crate) fn tags(&self, test: fn(&str, &str, &str) -> bool, change: fn(&str) -> String) -> Vec<String> {
        let text = &self.text;
        let changed = self.markers().into_iter().filter_map(|(start, end)| {
            let tag = &text[start..end];
            test(text, tag, text[end..].trim_start())
                .then(|| format!("{}{}{}", &text[..start], change(tag), &text[end..]))
        });
        changed.collect()
    }

    /// With all tags changed for which the test holds.
    pub(crate) fn all_tags(&self, change: impl Fn(&str) -> String, test: fn(&str) -> bool) -> Vec<String> {
        let mut text = self.text.clone();
        for (start, end) in self.markers().into_iter().rev() {
            if test(&self.text[start..end]) {
                text.replace_range(start..end, &change(&self.text[start..end]));
            }
        }
        Some(text).filter(|text| *text != self.text).into_iter().collect()
    }

    /// Without the closing brackets of the first call, and of all calls, where more follow.
    pub(crate) fn unclosed(&self) -> Vec<String> {
        let Some((end, _)) = self.text.match_indices("\"}").next().filter(|_| self.calls.len() > 1) else {
            return Vec::new();
        };
        let rest = &self.text[end + 1..];
        let first = format!("{}{}", &self.text[..=end], rest.trim_start_matches('}'));
        vec![first, self.text.replace("}}", "").replace("\"}", "\"")]
    }

    /// With such a tag, which closes nothing of the call, between an object and the closer behind it.
    pub(crate) fn closers_behind_object(&self, tags: &[&str]) -> Vec<String> {
        let text = &self.text;
        let is_place = |(start, end): &(usize, usize)| {
            is_closer(&text[*start..*end]) && text[..*start].trim_end().ends_with('}')
        };
        let places = self.markers().into_iter().filter(is_place).map(|(start, _)| text.split_at(start));
        places
            .flat_map(|(before, after)| tags.iter().map(move |tag| format!("{before}{tag}{after}")))
            .collect()
    }

    /// With a string in quotes that something is computed with, which only a program could do.
    pub(crate) fn computed(&self) -> Vec<String> {
        const BEHIND: [&str; 17] = [
            " + path",
            " + str(1)",
            " or \"x\"",
            " if late else \"x\"",
            "||\"x\"",
            " + f\"{x}\"",
            "\n + x\n",
            " * 3",
            " - x",
            " if late else None",
            " and x",
            "[0]",
            " == x",
            " f\"{x}\"",
            "f\"{x}\"",
            "or \"x\"",
            "+x+\"y\"",
        ];
        let sums = BEHIND.map(|sum| ("", sum));
        self.around_quoted(&[&sums[..], &[("x + ", ""), ("not ", "")]].concat())
    }

    /// With such texts before and behind the first string in quotes of a single call.
    pub(crate) fn around_quoted(&self, texts: &[(&str, &str)]) -> Vec<String> {
        let [(_, arguments)] = &self.calls[..] else { return Vec::new() };
        let strings = arguments.as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str());
        let places =
            strings.filter_map(|value| self.text.split_once(&format!("\"{value}\"")).map(|at| (value, at)));
        places
            .flat_map(|(value, (first, last))| {
                texts.iter().map(move |(before, behind)| format!("{first}{before}\"{value}\"{behind}{last}"))
            })
            .collect()
    }

    /// With its first tag twice, one behind the other and in two lines.
    pub(crate) fn reopened(&self) -> Vec<String> {
        let Some((0, end)) = self.markers().first().copied() else { return Vec::new() };
        let tag = &self.text[..end];
        // A tag that holds the name is the whole start of a call.
        let is_plain = !tag.contains(['=', ' ']) && self.calls.iter().all(|(name, _)| !tag.contains(name));
        if !is_plain {
            return Vec::new();
        }
        vec![format!("{tag}{}", self.text), format!("{tag}\n{}", self.text)]
    }

    /// With this around all of it.
    pub(crate) fn around(&self, before: &str, after: &str) -> Vec<String> {
        vec![format!("{before}{}{after}", self.text)]
    }

    /// With a token that ends the turn in the place of its last marker, of the last two, and so on, where what is left of it
    /// passes the test.
    pub(crate) fn turn_ends_early(&self, test: impl Fn(&str) -> bool) -> Vec<String> {
        let mut left = self.text.trim_end();
        let mut cut = Vec::new();
        for (start, end) in self.markers().into_iter().rev() {
            if end != left.len() {
                break;
            }
            left = left[..start].trim_end();
            cut.extend(Some(left).filter(|left| test(left)).map(|left| format!("{left}\n<|im_end|>\n")));
        }
        cut
    }

    /// Every line of it as one of a quotation.
    pub(crate) fn quoted(&self) -> Vec<String> {
        vec![self.text.lines().map(|line| format!("> {line}\n")).collect()]
    }

    /// Without its first marker, and without its last one either.
    pub(crate) fn without_first(&self, and_last: bool) -> Vec<String> {
        let markers = self.markers();
        let [(0, first), .., (last, end)] = markers[..] else { return Vec::new() };
        let end = if and_last && end == self.text.trim_end().len() { last } else { self.text.len() };
        let left = &self.text[first..end];
        // Without the name nothing is left that could be told.
        let is_named = self.calls.iter().all(|(name, _)| left.contains(name));
        Some(left.to_owned()).filter(|_| is_named).into_iter().collect()
    }

    /// With this around the object that is the call or its arguments, where a marker says that it is one.
    pub(crate) fn around_object(&self, before: &str, after: &str) -> Vec<String> {
        let [(name, arguments)] = &self.calls[..] else { return Vec::new() };
        let written = arguments.to_string();
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        let is_arguments = |(start, _): (usize, &str)| {
            let mut stream = serde_json::Deserializer::from_str(&self.text[start..]).into_iter::<Value>();
            let is_same = stream.next().is_some_and(|value| value.is_ok_and(|value| value == *arguments));
            let end = start + stream.byte_offset();
            (is_same && bare(&self.text[start..end]) == bare(&written)).then_some((start, end))
        };
        let object = call_object(&self.text, name);
        let object = object.or_else(|| self.text.match_indices('{').find_map(is_arguments));
        let Some((start, end)) = object.filter(|_| self.text.starts_with('<')) else { return Vec::new() };
        let (head, tail) = (&self.text[..start], &self.text[end..]);
        if head.contains("```") || head.trim_end().ends_with(':') {
            return Vec::new();
        }
        vec![format!("{head}{before}{}{after}{tail}", &self.text[start..end])]
    }

    /// Changed, where a marker says that it is a call.
    pub(crate) fn marked(&self, change: fn(&str) -> String) -> Vec<String> {
        let is_marked = self.text.starts_with('<') && !self.text.contains("```");
        Some(change(&self.text)).filter(|text| is_marked && *text != self.text).into_iter().collect()
    }

    /// With a list around the object that is the call.
    pub(crate) fn listed(&self) -> Vec<String> {
        let [(name, _)] = &self.calls[..] else { return Vec::new() };
        let Some((start, end)) = call_object(&self.text, name) else { return Vec::new() };
        let (before, after) = (&self.text[..start], &self.text[end..]);
        if !before.starts_with('<') || before.contains("```") || before.trim_end().ends_with(['[', ':']) {
            return Vec::new();
        }
        vec![format!("{before}[{}]{after}", &self.text[start..end])]
    }

    /// With this between two markers that follow each other, at each place and at all of them.
    pub(crate) fn between_markers(&self, gap: &str) -> Vec<String> {
        let text = &self.text;
        let ends_tag = |at: usize| {
            let before = &text[..at];
            before.ends_with('>') && before.rfind('<').is_some_and(|open| is_marker(&before[open..]))
        };
        let is_place = |at: usize| {
            let (before, after) = (&text[..at], &text[at..]);
            ends_tag(at) && after.starts_with(['<', '[', '{'])
                || before.ends_with([']', '}']) && after.starts_with('<')
        };
        let places: Vec<usize> =
            (1..text.len()).filter(|at| text.is_char_boundary(*at) && is_place(*at)).collect();
        let with = |places: &[usize]| {
            let mut text = text.clone();
            places.iter().rev().for_each(|at| text.insert_str(*at, gap));
            text
        };
        let all = Some(with(&places)).filter(|_| !places.is_empty());
        places.iter().map(|at| with(&[*at])).chain(all).collect()
    }

    /// With a space before the end of each tag that has a word before it.
    pub(crate) fn spaced_tags(&self) -> Vec<String> {
        let text = &self.text;
        let is_place = |at: usize| {
            text[at..].starts_with('>')
                && text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"'))
                && text[..at].rfind('<').is_some_and(|open| !text[open..at].contains('>'))
        };
        let places = (1..text.len()).filter(|at| text.is_char_boundary(*at) && is_place(*at));
        places.map(|at| format!("{} {}", &text[..at], &text[at..])).collect()
    }

    /// With the white space before its names as tokenizers show it.
    pub(crate) fn left_over(&self) -> Vec<String> {
        let mut text = self.text.clone();
        for (name, _) in &self.calls {
            text = text.replace(&format!(" {name}"), &format!("Ġ{name}"));
            text = text.replace(&format!("\n{name}"), &format!("Ċ{name}"));
        }
        Some(text).filter(|text| *text != self.text).into_iter().collect()
    }

    /// The same calls in none of the ways of the dialect: as code, and as objects whose only key is the name.
    pub(crate) fn bare_calls(&self) -> Vec<String> {
        let application = |(name, arguments): &(&str, Value)| {
            let members = arguments.as_object().into_iter().flatten();
            let list: Vec<String> = members.map(|(key, value)| format!("{key}={value}")).collect();
            format!("{name}({})", list.join(", "))
        };
        let code: Vec<String> = self.calls.iter().map(application).collect();
        let keyed = |(name, arguments): &(&str, Value)| json!({*name: arguments}).to_string();
        let keys: Vec<String> = self.calls.iter().map(keyed).collect();
        let (code, keys) = (code.join(", "), keys.join(", "));
        vec![format!("[{code}]"), format!("{code}\n"), format!("[{keys}]"), keys]
    }

    /// With another object in the place of the one that is the call, where a marker says that it is one.
    pub(crate) fn objects(&self, forms: &[fn(&str, &Value) -> Value]) -> Vec<String> {
        let [(name, arguments)] = &self.calls[..] else { return Vec::new() };
        let Some((start, end)) = call_object(&self.text, name) else { return Vec::new() };
        let (before, after) = (&self.text[..start], &self.text[end..]);
        // A fence or a bracket is no marker: what stands in it is a call by its own words only.
        let is_marked = !before.starts_with("```") && before.contains(char::is_alphanumeric);
        if !is_marked {
            return Vec::new();
        }
        forms.iter().map(|form| format!("{before}{}{after}", form(name, arguments))).collect()
    }
}

/// Whether a text begins with a closing tag.
pub(crate) fn is_closer(text: &str) -> bool {
    text.starts_with("</")
}

/// A marker whose own word is spelled otherwise; names and keys in it stay.
pub(crate) fn respell(marker: &str, spell: impl Fn(char) -> char) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
    let start = marker.find(is_word).unwrap_or(marker.len());
    let end = start + marker[start..].find(|c| !is_word(c)).unwrap_or(marker.len() - start);
    let word: String = marker[start..end].chars().map(spell).collect();
    format!("{}{word}{}", &marker[..start], &marker[end..])
}

/// Whether a text is a tag or a special token.
fn is_marker(text: &str) -> bool {
    let inner = text.trim_start_matches('<').trim_end_matches('>');
    text.matches('<').count() == 1
        && inner.contains(char::is_alphanumeric)
        && !inner.contains(char::is_whitespace)
}

/// The object in a text that has this name as a value, and arguments beside it.
fn call_object(text: &str, name: &str) -> Option<(usize, usize)> {
    let quoted = format!("\"{name}\"");
    text.match_indices('{').find_map(|(start, _)| {
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        let object = stream.next()?.ok()?;
        let written = &text[start..start + stream.byte_offset()];
        let is_call = object.as_object()?.values().any(|value| {
            value == name || value.as_object().is_some_and(|inner| inner.values().any(|value| value == name))
        });
        (is_call && written.contains(&quoted)).then(|| (start, start + written.len()))
    })
}

/// What the dialect writes for calls of these tools, as far as it can.
pub(crate) fn bases(record: &Record) -> Vec<Base> {
    let turns: [Vec<(&'static str, Value)>; 4] = [
        vec![("read", json!({"path": "a", "lines": 3}))],
        vec![("read", json!({"path": "some words"}))],
        vec![("list", json!({"deep": true}))],
        vec![("read", json!({"path": "a"})), ("list", json!({"deep": false}))],
    ];
    let write = |calls: &[(&'static str, Value)], id: Option<&str>| {
        let written: Vec<String> = calls.iter().map(|(_, arguments)| arguments.to_string()).collect();
        let calls: Vec<RenderCall<'_>> = calls
            .iter()
            .zip(&written)
            .map(|((name, _), arguments)| RenderCall { id, name, arguments })
            .collect();
        record.render(&calls, None, None).ok()
    };
    let base = |calls: Vec<(&'static str, Value)>| {
        let text = write(&calls, Some("a1b2c3d4e")).or_else(|| write(&calls, None))?;
        Some(Base { text, calls })
    };
    turns.into_iter().filter_map(base).collect()
}
