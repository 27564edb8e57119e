//! Redaction: what a record must not hold, found by the words of a key and by the look of a value.

use super::secrets::{
    holds_key_id, is_name_of_name, is_name_of_value, is_small, secret_flags, without_secrets,
};
use super::words::{Strength, strength};
use crate::written::{Spelled, Written};

/// What stands in place of a secret.
pub const REDACTED: &str = "***redacted***";

/// The longest text of one value that is kept; more is its length and its hash.
const WHOLE: usize = 64 << 10;
/// How many characters of the end of a text are kept where its start is long.
const TAIL: usize = 50;

/// How much of argument values is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Style {
    /// Types and sizes only.
    #[default]
    None,
    /// 40 characters of a text, the sizes of lists and objects.
    Summaries,
    /// 80 characters of a text, 5 members of an object or list.
    Short,
    /// 200 characters of a text and the last 50 of it, 20 members of an object or list.
    Long,
    /// Everything, up to 64 KiB of one text.
    Full,
}

/// What is kept of arguments and messages.
#[derive(Clone, Debug, Default)]
pub struct Redaction {
    /// How much of a value is kept.
    pub style: Style,
    /// Further words that make the value of a key a secret.
    pub words: Vec<String>,
}

impl Redaction {
    /// What is kept of the arguments of a call.
    pub fn arguments(&self, arguments: &Written) -> Written {
        match arguments {
            Written::Object(members) => self.object(members, self.style, 0),
            other => self.value(other, self.style, 0),
        }
    }

    /// A text without its secrets.
    pub fn text(&self, text: &str) -> String {
        self.read(text, false)
    }

    /// A whole value without its secrets, and otherwise as it was written.
    pub fn everything(&self, value: &Written) -> Written {
        self.value(value, Style::Full, 0)
    }

    /// Whether the value of a key is a secret.
    pub fn is_secret(&self, key: &str, value: &Written) -> bool {
        let is_count = match value {
            Written::Number(digits) => digits.parse().is_ok_and(is_small),
            _ => false,
        };
        strength(key, &self.words, is_count).is_some()
    }

    fn object(&self, members: &[(Spelled, Written)], style: Style, depth: usize) -> Written {
        let room = room(style);
        let is_named = self.is_pair(members);
        let beside = members.iter().filter_map(|(_, value)| value.as_str()).any(holds_key_id);
        let mut kept = Vec::with_capacity(members.len().min(room));
        for (key, value) in members.iter().take(room) {
            let is_secret = self.is_secret(key.text(), value) || (is_named && is_name_of_value(key.text()));
            let value = match value {
                _ if is_secret => REDACTED.into(),
                Written::String(spelled) if beside => {
                    let clean = Written::String(unless_changed(spelled, self.read(spelled.text(), true)));
                    self.value(&clean, style, depth + 1)
                }
                _ => self.value(value, style, depth + 1),
            };
            kept.push((unless_changed(key, self.text(key.text())), value));
        }
        if members.len() > room {
            kept.push(("…".into(), format!("{} more", members.len() - room).as_str().into()));
        }
        Written::Object(kept)
    }

    /// Whether one member says that another is a secret: `{"name": "API_KEY", "value": …}`.
    fn is_pair(&self, members: &[(Spelled, Written)]) -> bool {
        let mut names = members
            .iter()
            .filter(|(key, _)| is_name_of_name(key.text()))
            .filter_map(|(_, value)| value.as_str());
        names.any(|name| !name.contains(' ') && strength(name, &self.words, false).is_some())
    }

    /// Which items of a list are secrets because of the one before: a pair of name and value, a flag of a program.
    fn after_names(&self, items: &[Written]) -> Vec<bool> {
        let mut flags = "";
        let mut is_next = false;
        let mut found = Vec::with_capacity(items.len());
        let beside = items.iter().filter_map(Written::as_str).any(holds_key_id);
        for item in items {
            let text = item.as_str().unwrap_or_default();
            let is_secret = is_next && matches!(item, Written::String(_) | Written::Number(_));
            let looks = beside && !text.is_empty() && self.read(text, true) != text;
            found.push(is_secret || looks);
            flags = secret_flags(text).unwrap_or(flags);
            let (name, is_long) = match text.trim_start_matches('-') {
                name if name.len() + 2 == text.len() => (name, true),
                name => (name, false),
            };
            let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
            let known = strength(name, &self.words, false).filter(|_| is_name);
            let is_user = flags.contains('u') && is_long && matches!(name, "user" | "proxy-user");
            let is_short = text.len() > 1
                && text.len() <= 5
                && text.starts_with('-')
                && name.chars().next_back().is_some_and(|letter| flags.contains(letter));
            let is_known = known == Some(Strength::Strong) || (is_long && known.is_some());
            is_next = !is_secret && (is_known || is_user || is_short);
        }
        found
    }

    fn value(&self, value: &Written, style: Style, depth: usize) -> Written {
        // Arguments are at most this deep, by the policy; whatever else is deeper is only counted.
        let is_deep = depth > 128;
        let counted = |word: &str, count: usize| Written::from(format!("{word}[{count}]").as_str());
        match (value, style) {
            (Written::Null | Written::Bool(_), _) => value.clone(),
            (Written::Number(_), Style::None) => "number".into(),
            (Written::Number(_), _) => value.clone(),
            (Written::String(spelled), Style::None) => counted("string", spelled.text().chars().count()),
            (Written::String(spelled), style) => {
                Written::String(unless_changed(spelled, self.short(spelled.text(), style)))
            }
            (Written::Array(items), Style::None | Style::Summaries) => counted("array", items.len()),
            (Written::Object(members), Style::None | Style::Summaries)
                if depth > 0 && !self.holds_plain(members) =>
            {
                counted("object", members.len())
            }
            (Written::Array(items), _) if is_deep => counted("array", items.len()),
            (Written::Object(members), _) if is_deep => counted("object", members.len()),
            (Written::Array(items), style) => {
                let room = room(style);
                let secret = self.after_names(items);
                let mut kept: Vec<Written> = items
                    .iter()
                    .zip(secret)
                    .take(room)
                    .map(|(item, secret)| match secret {
                        true => REDACTED.into(),
                        false => self.value(item, style, depth + 1),
                    })
                    .collect();
                if items.len() > room {
                    kept.push(format!("… {} more", items.len() - room).as_str().into());
                }
                Written::Array(kept)
            }
            (Written::Object(members), style) => self.object(members, style, depth),
        }
    }

    /// Whether a nested object is small enough to be written with its members: few, and none of them nested.
    fn holds_plain(&self, members: &[(Spelled, Written)]) -> bool {
        let is_nested = |value: &Written| matches!(value, Written::Object(_) | Written::Array(_));
        members.len() <= 5 && !members.iter().any(|(_, value)| is_nested(value))
    }

    fn short(&self, text: &str, style: Style) -> String {
        // Hide secrets before cutting: a secret that is known by its end would survive a cut.
        let clean = self.text(text);
        let most = match style {
            Style::None | Style::Summaries => 40,
            Style::Short => 80,
            Style::Long => 200,
            Style::Full if clean.len() <= WHOLE => return clean,
            Style::Full => return super::digest(&clean),
        };
        let count = clean.chars().count();
        let tail = if style == Style::Long { TAIL } else { 0 };
        if count <= most + tail {
            return clean;
        }
        let start: String = clean.chars().take(most).collect();
        let end: String = clean.chars().skip(count - tail).collect();
        format!("{start}…{end} ({count} characters)")
    }

    /// A text without its secrets. One that is JSON is read as such too, for what escapes and order hide from a reader of
    /// text. JSON in JSON doubles its backslashes with each step, so a text of this length has few steps.
    pub(super) fn read(&self, text: &str, beside: bool) -> String {
        let scanned = without_secrets(text, self, beside);
        let is_json = text.len() <= WHOLE && text.trim_start().starts_with(['{', '[', '"']);
        let Some(value) = is_json.then(|| Written::parse(text)).flatten() else { return scanned };
        let clean = self.value(&value, Style::Full, 0);
        // Keep the text as it was written if scanning it as text hid as much as reading it as JSON.
        if clean == value || Written::parse(&scanned).as_ref() == Some(&clean) {
            return scanned;
        }
        without_secrets(&clean.to_string(), self, beside)
    }
}

/// A string or key as it was spelled, if nothing was taken out of it.
fn unless_changed(before: &Spelled, after: String) -> Spelled {
    if before.text() == after { before.clone() } else { after.as_str().into() }
}

fn room(style: Style) -> usize {
    match style {
        Style::Short => 5,
        Style::Long => 20,
        Style::None | Style::Summaries | Style::Full => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn full() -> Redaction {
        Redaction { style: Style::Full, words: Vec::new() }
    }

    #[test]
    fn c_17_keys_count_by_whole_words() {
        let secret = |key: &str| full().is_secret(key, &"x".into());
        for key in [
            "token",
            "api_token",
            "apiToken",
            "API_KEY",
            "apikey",
            "api-key",
            "x-api-key",
            "APIKey",
            "password",
            "user.password",
            "pwd",
            "cookie",
            "bearer",
            "Authorization",
            "auth",
            "clientSecret",
            "tokens",
            "privateKey",
            "keys",
            "passphrase",
        ] {
            assert!(secret(key), "{key}");
        }
        for key in [
            "monkey",
            "keyboard",
            "author",
            "authority",
            "tokenizer",
            "path",
            "secretary",
            "passwordless",
            "pinned",
            "",
        ] {
            assert!(!secret(key), "{key}");
        }
        assert!(!full().is_secret("max_tokens", &json!(100).into()), "a count");
        assert!(full().is_secret("password", &json!(1234).into()));
        let more = Redaction { words: vec!["Badge".to_owned()], ..full() };
        assert!(
            more.is_secret("badge_number", &"x".into()) && !full().is_secret("badge_number", &"x".into())
        );
    }

    #[test]
    fn values_that_look_like_secrets_go_wherever_they_stand() {
        for (text, kept) in [
            ("use sk-abcdefghijklmnop0123 now", "use *** now"),
            ("ghp_0123456789abcdefghijABCDEFGHIJ", "***"),
            ("AKIAIOSFODNN7EXAMPLE", "***"),
            ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc!", "jwt ***!"),
            ("curl -H 'Authorization: Bearer abc.def' x", "curl -H 'Authorization: Bearer ***' x"),
            ("postgres://me:hunter2@db/x", "postgres://***@db/x"),
            ("password=hunter2&x=1", "password=***&x=1"),
            ("{\"api_key\": \"abc\", \"n\": 1}", "{\"api_key\": \"***\", \"n\": 1}"),
            ("DB_PASSWORD: hunter2", "DB_PASSWORD: ***"),
            ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nafter", "***\nafter"),
            ("-----BEGIN PRIVATE KEY-----\nabc", "***"),
        ] {
            assert_eq!(full().text(text), kept.replace("***", REDACTED), "{text}");
        }
        for text in [
            "task-abcdefghijklmnopqrst",
            "sk-short",
            "the key: be kind",
            "http://host:80/a@b",
            "a monkey=1",
            "eyJ",
            "-----BEGIN CERTIFICATE-----\nabc",
            "password: ",
            "see token",
            "the author: Ann",
            "größe=1",
        ] {
            assert_eq!(full().text(text), text);
        }
    }

    #[test]
    fn hostile_text_takes_linear_time() {
        // Counted by doing a lot of it: a quadratic look would not come back.
        for unit in ["sk-", "eyJ.", "password", "://a", "-----BEGIN ", "token=", "a_"] {
            let text = unit.repeat(2_000_000 / unit.len());
            assert!(!full().text(&text).is_empty());
        }
    }

    #[test]
    fn g_51_each_style_keeps_its_share() {
        let arguments =
            json!({"path": "x".repeat(300), "n": 5, "list": [1, 2, 3, 4, 5, 6, 7], "deep": {"a": {"b": 1}}});
        let kept = |style| Redaction { style, words: Vec::new() }.arguments(&(&arguments).into()).to_value();
        assert_eq!(
            kept(Style::None),
            json!({"path": "string[300]", "n": "number", "list": "array[7]", "deep": "object[1]"})
        );
        let summaries = kept(Style::Summaries);
        assert_eq!(summaries["path"], format!("{}… (300 characters)", "x".repeat(40)));
        assert_eq!(
            (&summaries["n"], &summaries["list"], &summaries["deep"]),
            (&json!(5), &json!("array[7]"), &json!("object[1]"))
        );
        assert_eq!(kept(Style::Short)["list"], json!([1, 2, 3, 4, 5, "… 2 more"]));
        let both = format!("{}…{} (300 characters)", "x".repeat(200), "x".repeat(50));
        assert_eq!(kept(Style::Long)["path"], both);
        assert_eq!(kept(Style::Full), arguments);
        let large = Redaction { style: Style::Full, words: Vec::new() }
            .arguments(&json!({"c": "y".repeat(10 << 20)}).into())
            .to_value();
        let large = large["c"].as_str().unwrap();
        assert!(large.starts_with("10485760 bytes, sha256 ") && large.len() < 100, "{large}");
    }

    #[test]
    fn a_secret_in_an_object_goes_in_every_style() {
        let arguments = json!({"path": "a", "api_token": "zzz", "nested": {"password": "p"}, "list": [{"secret": {"x": "zzz"}}]});
        for style in [Style::None, Style::Summaries, Style::Short, Style::Long, Style::Full] {
            let kept = Redaction { style, words: Vec::new() }.arguments(&(&arguments).into()).to_string();
            assert!(!kept.contains("zzz") && !kept.contains("\"p\""), "{style:?}: {kept}");
        }
    }
}
