//! Wishes: what a file that came with the folder asks for, each judged against what holds without the file.

use super::servers::variables;
use super::{
    Class, Config, ConfigError, ConfigErrorCode, Giver, KeySetting, Kind, Layer, Origin, Row, Settings,
    Value, rows,
};

/// One setting that a file of the folder asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish {
    /// The key, in its canonical spelling.
    pub key: String,
    /// The value.
    pub value: Value,
    /// Who may set this value: a key that is trusting in general is plain where the value loosens nothing.
    pub class: Class,
    /// Where it stands.
    pub origin: Origin,
}

impl Wish {
    /// Whether it needs a yes.
    pub fn is_trusting(&self) -> bool {
        matches!(self.class, Class::Trusting(_))
    }

    /// Why it is rejected, if it is.
    pub(super) fn fault(self, is_agreed: bool) -> Option<ConfigError> {
        let (code, message, help) = match self.class {
            Class::Plain => return None,
            Class::Trusting(_) if is_agreed => return None,
            Class::Trusting(_) => (
                ConfigErrorCode::Untrusted,
                "this loosens your configuration, and you have not agreed to it",
                "look at it with `callgate trust show`, agree with `callgate trust allow`",
            ),
            Class::Own => (
                ConfigErrorCode::OwnKey,
                "only you may set this; a file that came with a folder may not",
                "set it in your own file (~/.config/callgate/config.yml), the environment or a flag; `callgate trust deny` \
                 leaves the folder's file out",
            ),
        };
        let (key, origin) = (self.key, self.origin);
        Some(ConfigError { code, origin, key, message: message.to_owned(), help: help.to_owned() })
    }
}

/// What the folder's layers ask for, by the lines of their files.
pub(super) fn wishes(layers: &[Layer<Settings>]) -> Vec<Wish> {
    let is_users = |layer: &&Layer<Settings>| layer.giver == Giver::User;
    let before = Config::of(layers.iter().filter(is_users));
    let mut wishes = Vec::new();
    for (at, layer) in layers.iter().enumerate().filter(|(_, layer)| !is_users(layer)) {
        let below = || layers[..at].iter().filter(is_users);
        let above = || layers[at + 1..].iter().filter(is_users);
        for (key, KeySetting { value, origin }) in &layer.entries {
            let mut class = Row::of(key).map_or(Class::Own, |row| class(row, value));
            if let Class::Trusting(order) = class {
                let is_overruled = above().any(|layer| layer.entries.contains_key(key));
                let is_looser = || {
                    let setting = KeySetting { value: value.clone(), origin: origin.clone() };
                    let alone =
                        Layer { giver: layer.giver, entries: Settings::from([(key.clone(), setting)]) };
                    let after = Config::of(below().chain([&alone]).chain(above()));
                    is_looser(&before, &after)
                };
                if is_overruled || !(order.is_looser(before.value(key), value) || is_looser()) {
                    class = Class::Plain;
                }
            }
            wishes.push(Wish { key: key.clone(), value: value.clone(), class, origin: origin.clone() });
        }
    }
    wishes.sort_by_key(|wish| match wish.origin {
        Origin::Folder { line, .. } => line,
        _ => 0,
    });
    wishes
}

/// The class of a key with this value: whatever names an environment variable is the user's own.
fn class(row: &Row, value: &Value) -> Class {
    match value {
        Value::Text(text)
            if row.kind == Kind::Template && variables(text).is_none_or(|all| !all.is_empty()) =>
        {
            Class::Own
        }
        _ => row.class,
    }
}

/// Whether any key, or any knob of the policy that comes of all keys together, became looser.
fn is_looser(before: &Config, after: &Config) -> bool {
    let [policy, new_policy] =
        [before, after].map(|config| serde_json::to_value(config.policy()).unwrap_or_default());
    rows().any(|row| match row.class {
        Class::Trusting(order) if row.key.starts_with("policy.") => {
            order.is_looser(&row.knob(&policy), &row.knob(&new_policy))
        }
        Class::Trusting(order) => {
            row.keys().iter().any(|key| order.is_looser(before.value(key), after.value(key)))
        }
        Class::Plain | Class::Own => false,
    })
}
