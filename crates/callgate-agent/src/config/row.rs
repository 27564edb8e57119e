//! The row of a key: who may set it, what may stand there, which of two values is the looser one, and what holds when
//! nobody says anything. The rows themselves are in `table/`.

use callgate::Profile;

use super::table::rows;

/// The providers that a configuration can set up.
pub const PROVIDERS: &[&str] = &["ollama", "openai", "rules"];
/// Those that are reached over HTTP.
const SERVERS: &[&str] = &["ollama", "openai"];

/// A value of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing: whoever uses it does without.
    Unset,
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// Any number.
    Number(f64),
    /// Text, or one word of a list.
    Text(String),
    /// Several texts.
    List(Vec<String>),
}

impl Value {
    /// The value as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Value::Unset => serde_json::Value::Null,
            Value::Flag(flag) => (*flag).into(),
            Value::Count(count) => (*count).into(),
            Value::Number(number) => (*number).into(),
            Value::Text(text) => text.as_str().into(),
            Value::List(items) => items.as_slice().into(),
        }
    }
}

/// What may stand behind a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// `true` or `false`.
    Flag,
    /// A whole number between two bounds, both allowed.
    Count(u64, u64),
    /// A number between two bounds, both allowed.
    Number(f64, f64),
    /// Any text.
    Text,
    /// Text in which `${NAME}` stands for an environment variable.
    Template,
    /// An `http` or `https` address.
    Address,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of texts.
    List,
    /// A list of rules of approval.
    Rules,
    /// A list of rules of approval, each behind a number.
    EveryNth,
}

/// What holds when nobody gives a value.
#[derive(Clone, Copy, Debug)]
pub enum Fallback {
    /// Nothing.
    Unset,
    /// This flag.
    Flag(bool),
    /// This number.
    Count(u64),
    /// This text.
    Text(&'static str),
    /// These texts.
    List(&'static [&'static str]),
    /// What the chosen profile says.
    Profile(fn(&Profile) -> Value),
    /// What the policy of the chosen profile says, at the key's own place.
    Policy,
}

/// Who may set a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Anybody, also a file that nobody named.
    Plain,
    /// A file that came with the folder only after a yes; unasked where its value is no looser than the one that holds
    /// without it.
    Trusting(Order),
    /// Only the user: the own file, the environment, flags.
    Own,
}

impl Class {
    /// The stable word.
    pub fn word(self) -> &'static str {
        match self {
            Class::Plain => "plain",
            Class::Trusting(_) => "trusting",
            Class::Own => "own",
        }
    }
}

/// Which of two values is the looser one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// There is no order: whatever differs is looser.
    Unordered,
    /// The greater number.
    Less,
    /// The word, or flag, behind a later `<`. Words between the same two cannot be compared, so each is looser than the
    /// other.
    Ranks(&'static str),
    /// The one with which another key becomes looser.
    Effect,
}

impl Order {
    /// Whether a value is looser than the one that holds without it.
    pub(super) fn is_looser(self, before: &Value, after: &Value) -> bool {
        let rank = |ranks: &str, value: &Value| {
            let word = match value {
                Value::Text(word) => word.clone(),
                other => other.to_json().to_string(),
            };
            ranks.split(" < ").position(|rank| rank.split(", ").any(|known| known == word))
        };
        let is_tighter = match self {
            Order::Unordered => false,
            Order::Effect => true,
            Order::Less => {
                matches!((before, after), (Value::Count(before), Value::Count(after)) if after < before)
            }
            Order::Ranks(ranks) => {
                rank(ranks, before).zip(rank(ranks, after)).is_some_and(|(before, after)| after < before)
            }
        };
        before != after && !is_tighter
    }
}

/// One key.
#[derive(Clone, Debug)]
pub struct Row {
    /// The key. `*` stands for the name of a provider, or for a name of the user's own.
    pub key: &'static str,
    /// Who may set it.
    pub class: Class,
    /// What may stand there.
    pub kind: Kind,
    /// What holds otherwise.
    pub fallback: Fallback,
    /// What it decides.
    pub meaning: &'static str,
}

pub(super) const fn row(
    key: &'static str,
    class: Class,
    kind: Kind,
    fallback: Fallback,
    meaning: &'static str,
) -> Row {
    Row { key, class, kind, fallback, meaning }
}

pub(super) const fn knob(key: &'static str, class: Class, kind: Kind, meaning: &'static str) -> Row {
    Row { key, class, kind, fallback: Fallback::Policy, meaning }
}

pub(super) const fn ranked(ranks: &'static str) -> Class {
    Class::Trusting(Order::Ranks(ranks))
}

impl Row {
    /// The row of a key.
    pub fn of(key: &str) -> Option<&'static Row> {
        rows().find(|row| row.fits(key))
    }

    /// The providers that a key is for; none if it is for no provider.
    pub fn providers(&self) -> &'static [&'static str] {
        match self.key.strip_prefix("providers.*.") {
            None => &[],
            Some(rest) if rest.starts_with("tool_call_retry.") || rest == "model" => PROVIDERS,
            Some(_) => SERVERS,
        }
    }

    /// Whether the key holds names of the user's own, so that nobody can list all its keys.
    pub fn is_open(&self) -> bool {
        self.key.contains('*') && self.providers().is_empty()
    }

    /// Whether a key is one of this row's. A name at the end may hold dots.
    pub fn fits(&self, key: &str) -> bool {
        match self.key.split_once('*') {
            None => return self.key == key,
            Some((start, end)) if !self.is_open() => {
                let provider = key.strip_prefix(start).and_then(|rest| rest.strip_suffix(end));
                return provider.is_some_and(|provider| self.providers().contains(&provider));
            }
            Some(_) => {}
        }
        let parts: Vec<&str> = self.key.split('.').collect();
        let given: Vec<&str> = key.splitn(parts.len(), '.').collect();
        let fits = |(part, given): (&&str, &&str)| part == given || (*part == "*" && !given.is_empty());
        parts.len() == given.len() && parts.iter().zip(&given).all(fits)
    }

    /// The keys with the providers' names put in; none where names are the user's own.
    pub fn keys(&self) -> Vec<String> {
        match self.providers() {
            [] if self.is_open() => Vec::new(),
            [] => vec![self.key.to_owned()],
            providers => providers.iter().map(|provider| self.key.replacen('*', provider, 1)).collect(),
        }
    }

    /// The value that holds when nobody gives one, and whether it is the profile's.
    pub fn fallback(&self, profile: &Profile) -> (Value, bool) {
        self.fallback_of(profile, &serde_json::to_value(profile.policy()).unwrap_or_default())
    }

    /// The same, with the profile's policy as JSON.
    pub(super) fn fallback_of(&self, profile: &Profile, policy: &serde_json::Value) -> (Value, bool) {
        match self.fallback {
            Fallback::Unset => (Value::Unset, false),
            Fallback::Flag(flag) => (Value::Flag(flag), false),
            Fallback::Count(count) => (Value::Count(count), false),
            Fallback::Text(text) => (Value::Text(text.to_owned()), false),
            Fallback::List(items) => {
                (Value::List(items.iter().map(|item| (*item).to_owned()).collect()), false)
            }
            Fallback::Profile(value) => (value(profile), true),
            Fallback::Policy => (self.knob(policy), true),
        }
    }

    /// The value of a knob in a policy, which is given as JSON.
    pub(super) fn knob(&self, policy: &serde_json::Value) -> Value {
        let place = self.key.split('.').skip(1).fold(policy, |value, key| &value[key]);
        match place {
            serde_json::Value::String(text) => Value::Text(text.clone()),
            other => other.as_u64().map_or(Value::Unset, Value::Count),
        }
    }
}
