//! `callgate config show`: every knob of a profile's policy, with its value and what it means.

use std::io::Write;

use callgate::Policy;
use serde_json::Value;

use crate::exit::{Outcome, Stop};
use crate::input;
use crate::paint::{Paint, Tone, padded};

/// Each knob: its path in the policy, what it decides, and its values (none for numbers).
const KNOBS: &[(&str, &str, &str)] = &[
    ("repair", "which repairs may be made to read a broken attempt", "off | backtick | lossless | full"),
    ("coerce", "whether values may be changed to fit their schema", "off | text-born | lossless"),
    ("truncated", "what a call means whose last value runs into the end", "reject | complete"),
    ("fences", "what a call in a code fence is", "dead | live | sole"),
    ("quote", "what a call in inline code or a quotation is", "dead | live"),
    ("reasoning", "what a call in the reasoning is", "dead | live | sole"),
    ("position", "where in the response a call may stand", "anywhere | line-start | trailing"),
    ("max_calls", "the most calls of one response", ""),
    ("on_excess", "what more calls mean", "report | reject"),
    ("partial", "what one refused call means for the others", "keep-good | all-or-nothing"),
    ("extra_args", "what an argument means that the schema does not mention", "reject | drop | allow"),
    ("require_call", "whether a response without a call is a mistake", "never | if-attempted | always"),
    ("on_malformed", "how a refused attempt is shown", "reject | as-text"),
    ("foreign", "what a call in a dialect is that was not chosen by name", "live | reject | ignore"),
    ("name_rule.extra", "the characters of a name besides ASCII letters, digits and _", ""),
    ("name_rule.max", "the longest name, in characters", ""),
    ("release", "when accepted calls come out", "at-end | early"),
    ("echo", "what a call means that repeats untrusted text", "report | reject"),
    ("duplicate_keys", "what a key means that stands twice in one object", "reject | keep-last"),
    ("limits.arguments", "the largest arguments of one call, in bytes", ""),
    ("limits.depth", "the deepest nesting; the arguments object is 1", ""),
    ("limits.held", "the most text held back while it is undecided, in bytes", ""),
    ("limits.repairs", "the most repairs of one call", ""),
    ("limits.raw", "how much of a refused attempt a refusal quotes, in bytes", ""),
];

pub(crate) fn show(profile: &str, json: bool, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let profile = input::profile(profile)?;
    let policy = policy_value(&profile.policy())?;
    let dialects = profile.dialects();
    if json {
        let all = serde_json::json!({ "profile": profile.name(), "dialects": dialects, "policy": policy });
        writeln!(out, "{all:#}")?;
        return Ok(Outcome::Fine);
    }
    let knob = |name: &str| padded(name, 18);
    writeln!(out, "{}{}: {}", paint.tone(Tone::Strong, knob("profile")), profile.name(), profile.summary())?;
    writeln!(out, "{}{}", paint.tone(Tone::Strong, knob("dialects")), dialects.join(", "))?;
    for (name, meaning, values) in KNOBS {
        let value = value_at(&policy, name);
        let choice = if values.is_empty() { String::new() } else { format!(" ({values})") };
        writeln!(
            out,
            "{}{}{}",
            paint.tone(Tone::Accent, knob(name)),
            padded(&value, 16),
            paint.tone(Tone::Grey, format!("{meaning}{choice}"))
        )?;
    }
    Ok(Outcome::Fine)
}

fn policy_value(policy: &Policy) -> Result<Value, Stop> {
    serde_json::to_value(policy).map_err(|error| Stop::Internal(error.to_string()))
}

fn value_at(policy: &Value, path: &str) -> String {
    let value = path.split('.').fold(policy, |value, key| &value[key]);
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_is_explained() {
        let policy = policy_value(&Policy::default()).unwrap();
        let mut keys = Vec::new();
        for (key, value) in policy.as_object().unwrap() {
            match value {
                Value::Object(inner) => keys.extend(inner.keys().map(|inner| format!("{key}.{inner}"))),
                _ => keys.push(key.clone()),
            }
        }
        let mut known: Vec<_> = KNOBS.iter().map(|(name, ..)| (*name).to_owned()).collect();
        keys.sort();
        known.sort();
        assert_eq!(keys, known);
    }

    #[test]
    fn every_default_is_one_of_the_listed_values() {
        let policy = policy_value(&Policy::default()).unwrap();
        for (name, _, values) in KNOBS.iter().filter(|(_, _, values)| !values.is_empty()) {
            let value = value_at(&policy, name);
            assert!(values.split(" | ").any(|listed| listed == value), "{name} = {value}");
        }
    }
}
