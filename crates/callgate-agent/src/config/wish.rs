//! Wishes: what a file that came with the folder asks for, each judged against what holds without the file.

use super::servers::variables;
use super::{
    Class, Config, ConfigError, ConfigErrorCode, Giver, Kind, Layer, Origin, ROWS, Row, Settings, Value,
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

    /// Why it is refused, if it is.
    pub(super) fn fault(self, is_agreed: bool) -> Option<ConfigError> {
        let (code, message, help) = match self.class {
            Class::Plain => return None,
            Class::Trusting(_) if is_agreed => return None,
            Class::Trusting(_) => (
                ConfigErrorCode::Untrusted,
                "this loosens what holds, and nobody agreed to it",
                "look at it with `callgate trust show`, agree with `callgate trust allow`",
            ),
            Class::Own => (
                ConfigErrorCode::OwnKey,
                "this is yours to decide, and a folder's file has no say in it",
                "set it in your own file (~/.config/callgate/config.yml), the environment or a flag; `callgate trust deny` \
                 leaves the folder's file out",
            ),
        };
        let (key, origin) = (self.key, self.origin);
        Some(ConfigError { code, origin, key, message: message.to_owned(), help: help.to_owned() })
    }
}

/// What the folder's layer asks for, by the lines of its file.
pub(super) fn wishes(layers: &[Layer<Settings>]) -> Vec<Wish> {
    let Some(at) = layers.iter().position(|layer| layer.giver != Giver::User) else { return Vec::new() };
    let (below, above) = (&layers[..at], &layers[at + 1..]);
    let before = Config::of(below.iter().chain(above));
    let mut wishes: Vec<Wish> = layers[at]
        .entries
        .iter()
        .map(|(key, setting)| {
            let general = Row::of(key).map_or(Class::Own, |row| class(row, &setting.value));
            let is_overruled = above.iter().any(|layer| layer.entries.contains_key(key));
            let class = match general {
                Class::Trusting(order) => {
                    let alone = Layer {
                        giver: Giver::Folder { agreed: false },
                        entries: Settings::from([(key.clone(), setting.clone())]),
                    };
                    let after = || Config::of(below.iter().chain([&alone]).chain(above));
                    let is_loose = !is_overruled
                        && (order.is_looser(before.value(key), &setting.value)
                            || is_looser(&before, &after()));
                    if is_loose { general } else { Class::Plain }
                }
                other => other,
            };
            Wish { key: key.clone(), value: setting.value.clone(), class, origin: setting.origin.clone() }
        })
        .collect();
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
    ROWS.iter().any(|row| match row.class {
        Class::Trusting(order) if row.key.starts_with("policy.") => {
            order.is_looser(&row.knob(&policy), &row.knob(&new_policy))
        }
        Class::Trusting(order) => {
            row.keys().iter().any(|key| order.is_looser(before.value(key), after.value(key)))
        }
        Class::Plain | Class::Own => false,
    })
}
