//! Redaction: what a record must not hold, found by the words of a key and by the look of a value.

use serde_json::{Map, Value, json};

/// What stands in place of a secret.
pub const REDACTED: &str = "***redacted***";

/// Words that make the value of a key a secret. They are compared with whole words of the key: `api_key`, `apiKey` and
/// `API-Key` hold `key`, `monkey` does not.
const SECRET_WORDS: &[&str] = &[
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "apikey",
    "authorization",
    "auth",
    "key",
    "cookie",
    "bearer",
    "credential",
    "pin",
    "otp",
    "jwt",
];
/// Those that also count in running text, before `=` or `:`, where the others are common words.
const ASSIGNED_WORDS: &[&str] =
    &["token", "secret", "password", "passwd", "passphrase", "pwd", "apikey", "authorization", "credential"];
/// How values of well-known services start, and how many characters of a token follow at least.
const PREFIXES: &[(&str, usize)] = &[
    ("sk-", 16),
    ("sk_live_", 10),
    ("rk_live_", 10),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxa-", 10),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("hf_", 20),
    ("npm_", 20),
    ("eyJ", 20),
    ("ya29.", 20),
    ("SG.", 20),
];
/// The longest text of one value that is kept; more is its length and its hash.
const WHOLE: usize = 64 << 10;

/// How much of argument values is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    /// Types and sizes only.
    #[default]
    None,
    /// 40 characters of a text, the sizes of lists and objects.
    Summaries,
    /// 80 characters of a text, 5 members of an object or list.
    Short,
    /// 200 characters of a text, 20 members of an object or list.
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
    pub fn arguments(&self, arguments: &Value) -> Value {
        let Value::Object(members) = arguments else { return self.value(arguments, self.style, 0) };
        self.object(members, self.style, 0)
    }

    /// A text without its secrets.
    pub fn text(&self, text: &str) -> String {
        self.without_secrets(text)
    }

    /// A whole value without its secrets, and otherwise as it is.
    pub fn everything(&self, value: &Value) -> Value {
        self.value(value, Style::Full, 0)
    }

    /// Whether the value of a key is a secret.
    pub fn is_secret(&self, key: &str, value: &Value) -> bool {
        let words = words(key);
        let known = |word: &str| {
            SECRET_WORDS.contains(&word) || self.words.iter().any(|extra| extra.eq_ignore_ascii_case(word))
        };
        // A number of tokens is a count; a number that is a password is none.
        let plural = |word: &String| !value.is_number() && word.strip_suffix('s').is_some_and(known);
        words.iter().any(|word| known(word) || plural(word))
            || words.windows(2).any(|pair| known(&pair.concat()))
    }

    fn object(&self, members: &Map<String, Value>, style: Style, depth: usize) -> Value {
        let room = room(style);
        let mut kept = Map::new();
        for (key, value) in members.iter().take(room) {
            let value = if self.is_secret(key, value) {
                json!(REDACTED)
            } else {
                self.value(value, style, depth + 1)
            };
            kept.insert(self.without_secrets(key), value);
        }
        if members.len() > room {
            kept.insert("…".to_owned(), json!(format!("{} more", members.len() - room)));
        }
        Value::Object(kept)
    }

    fn value(&self, value: &Value, style: Style, depth: usize) -> Value {
        // Arguments are at most this deep, by the policy; whatever else is deeper is only counted.
        let is_deep = depth > 128;
        match (value, style) {
            (Value::Null | Value::Bool(_), _) => value.clone(),
            (Value::Number(_), Style::None) => json!("number"),
            (Value::Number(_), _) => value.clone(),
            (Value::String(text), Style::None) => json!(format!("string[{}]", text.chars().count())),
            (Value::String(text), style) => json!(self.short(text, style)),
            (Value::Array(items), Style::None | Style::Summaries) => json!(format!("array[{}]", items.len())),
            (Value::Object(members), Style::None | Style::Summaries)
                if depth > 0 && !self.holds_plain(members) =>
            {
                json!(format!("object[{}]", members.len()))
            }
            (Value::Array(items), _) if is_deep => json!(format!("array[{}]", items.len())),
            (Value::Object(members), _) if is_deep => json!(format!("object[{}]", members.len())),
            (Value::Array(items), style) => {
                let room = room(style);
                let mut kept: Vec<Value> =
                    items.iter().take(room).map(|item| self.value(item, style, depth + 1)).collect();
                if items.len() > room {
                    kept.push(json!(format!("… {} more", items.len() - room)));
                }
                Value::Array(kept)
            }
            (Value::Object(members), style) => self.object(members, style, depth),
        }
    }

    /// Whether a nested object is small enough to be written with its members: few, and none of them nested.
    fn holds_plain(&self, members: &Map<String, Value>) -> bool {
        members.len() <= 5 && members.values().all(|value| !value.is_object() && !value.is_array())
    }

    fn short(&self, text: &str, style: Style) -> String {
        // Secrets go first: a cut must not hide the end by which one is known.
        let clean = self.without_secrets(text);
        let most = match style {
            Style::None | Style::Summaries => 40,
            Style::Short => 80,
            Style::Long => 200,
            Style::Full if clean.len() <= WHOLE => return clean,
            Style::Full => return super::digest(&clean),
        };
        let count = clean.chars().count();
        if count <= most {
            return clean;
        }
        format!("{}… ({count} characters)", clean.chars().take(most).collect::<String>())
    }

    fn without_secrets(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut before = ' ';
        while let Some(c) = rest.chars().next() {
            let is_start = !before.is_alphanumeric() && before != '_';
            let found = match c {
                // What stands before an address is its scheme, so this begins inside a word.
                ':' => user_in_address(rest),
                _ if is_start => secret_at(rest),
                _ => None,
            };
            if let Some((kept, taken)) = found {
                out.push_str(&rest[..kept]);
                out.push_str(REDACTED);
                rest = &rest[taken..];
                before = '*';
                continue;
            }
            out.push(c);
            before = c;
            rest = &rest[c.len_utf8()..];
        }
        out
    }
}

fn room(style: Style) -> usize {
    match style {
        Style::Short => 5,
        Style::Long => 20,
        Style::None | Style::Summaries | Style::Full => usize::MAX,
    }
}

/// The words of a key, in lower case: cut at everything that is no letter or digit, and where a capital begins a word.
fn words(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let characters: Vec<char> = key.chars().take(256).collect();
    for (at, c) in characters.iter().enumerate() {
        let after_small = at > 0 && characters[at - 1].is_lowercase();
        let before_small = at > 0 && characters.get(at + 1).is_some_and(|next| next.is_lowercase());
        if !c.is_alphanumeric() || (c.is_uppercase() && (after_small || before_small)) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A secret at the start of a text: how much before it is kept, and where it ends. Each look is bounded, or ends in
/// passing over what was looked at, so that the work stays linear.
fn secret_at(text: &str) -> Option<(usize, usize)> {
    for (prefix, least) in PREFIXES {
        if let Some(rest) = text.strip_prefix(prefix)
            && rest.chars().take(*least).filter(|c| is_token(*c)).count() == *least
        {
            return Some((0, prefix.len() + token_length(rest)));
        }
    }
    if let Some(rest) = text.strip_prefix("-----BEGIN ") {
        let head: String = rest.chars().take(40).collect();
        if head.contains("PRIVATE KEY-----") {
            let end = text.find("-----END ").and_then(|at| text[at..].find('\n').map(|line| at + line));
            return Some((0, end.unwrap_or(text.len())));
        }
    }
    assigned(text)
}

/// `://name:password@` of an address.
fn user_in_address(text: &str) -> Option<(usize, usize)> {
    let rest = text.strip_prefix("://")?;
    let end =
        rest.char_indices().take(256).find(|(_, c)| matches!(c, '@' | '/' | '?' | '#') || c.is_whitespace());
    let (at, _) = end.filter(|(_, c)| *c == '@')?;
    rest[..at].contains(':').then_some((3, 3 + at))
}

/// `password=…`, `"token": "…"`, `Authorization: Bearer …` in running text.
fn assigned(text: &str) -> Option<(usize, usize)> {
    let name: String =
        text.chars().take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).take(64).collect();
    let words = words(&name);
    let is_secret = words.iter().any(|word| ASSIGNED_WORDS.contains(&word.as_str()))
        || words.windows(2).any(|pair| ASSIGNED_WORDS.contains(&pair.concat().as_str()));
    if !is_secret {
        return None;
    }
    let rest = text[name.len()..].trim_start_matches(['"', '\'', '\\']).trim_start_matches(' ');
    let rest = rest.strip_prefix(['=', ':'])?;
    let mut rest = rest.trim_start_matches([' ', '"', '\'', '\\']);
    for scheme in ["Bearer ", "bearer ", "Basic ", "basic "] {
        rest = rest.strip_prefix(scheme).unwrap_or(rest);
    }
    let length: usize = rest
        .chars()
        .take_while(|c| !c.is_whitespace() && !matches!(c, '"' | '\'' | '&' | ';' | ',' | '}' | ')'))
        .map(char::len_utf8)
        .sum();
    let kept = text.len() - rest.len();
    (length > 0).then_some((kept, kept + length))
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+' | '/' | '=')
}

fn token_length(text: &str) -> usize {
    text.chars().take_while(|c| is_token(*c)).map(char::len_utf8).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full() -> Redaction {
        Redaction { style: Style::Full, words: Vec::new() }
    }

    #[test]
    fn c_17_keys_count_by_whole_words() {
        let secret = |key: &str| full().is_secret(key, &json!("x"));
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
        assert!(!full().is_secret("max_tokens", &json!(100)), "a count");
        assert!(full().is_secret("password", &json!(1234)));
        let more = Redaction { words: vec!["Badge".to_owned()], ..full() };
        assert!(
            more.is_secret("badge_number", &json!("x")) && !full().is_secret("badge_number", &json!("x"))
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
        let kept = |style| Redaction { style, words: Vec::new() }.arguments(&arguments);
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
        assert_eq!(kept(Style::Long)["path"], format!("{}… (300 characters)", "x".repeat(200)));
        assert_eq!(kept(Style::Full), arguments);
        let large = Redaction { style: Style::Full, words: Vec::new() }
            .arguments(&json!({"c": "y".repeat(10 << 20)}));
        let large = large["c"].as_str().unwrap();
        assert!(large.starts_with("10485760 bytes, sha256 ") && large.len() < 100, "{large}");
    }

    #[test]
    fn a_secret_in_an_object_goes_in_every_style() {
        let arguments = json!({"path": "a", "api_token": "zzz", "nested": {"password": "p"}, "list": [{"secret": {"x": "zzz"}}]});
        for style in [Style::None, Style::Summaries, Style::Short, Style::Long, Style::Full] {
            let kept = Redaction { style, words: Vec::new() }.arguments(&arguments).to_string();
            assert!(!kept.contains("zzz") && !kept.contains("\"p\""), "{style:?}: {kept}");
        }
    }
}
