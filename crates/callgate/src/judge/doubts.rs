//! Doubts about arguments that were guessed: where nobody knows where their strings end, nothing is left out of them, and no end
//! of a turn is a part of them.

use serde_json::{Map, Value};

use crate::attempt::{ARGUING, Attempt};
use crate::dialect::turn;
use crate::event::{Coercion, CoercionCode};
use crate::finding::{Code, Finding};
use crate::json::{Repair, RepairCode, Safety};
use crate::nearest::nearest;
use crate::schema::CompiledTool;

/// Whether the last string of some arguments holds what stands behind a string: the next key, or brackets that close nothing
/// in it.
fn ends_in_structure(arguments: &str) -> bool {
    let inside =
        arguments.trim_end().trim_end_matches(['}', ']', ' ', '\n']).strip_suffix('"').unwrap_or_default();
    let mut quotes = inside.match_indices('"').map(|(at, _)| at);
    let is_plain = |at: &usize| {
        let slashes = inside[..*at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        slashes % 2 == 0
    };
    let Some(start) = quotes.rfind(is_plain) else { return false };
    let text = inside[start + 1..].trim_end_matches(['`', ' ']).trim_end_matches("\\n");
    let count = |bracket: char| text.matches(bracket).count();
    text.contains("\\\":")
        || text.contains("':")
        || text.ends_with('}') && count('}') > count('{')
        || text.ends_with(']') && count(']') > count('[')
}

/// Whether a string of these arguments begins or ends with a quote that has no other one in it.
fn has_odd_quote(arguments: &str) -> bool {
    let mut values: Vec<Value> = serde_json::from_str(arguments).into_iter().collect();
    while let Some(value) = values.pop() {
        match value {
            Value::String(text) => {
                let is_odd = text.matches('"').count() % 2 == 1;
                if is_odd && (text.starts_with('"') || text.ends_with('"')) {
                    return true;
                }
            }
            Value::Array(list) => values.extend(list),
            Value::Object(members) => values.extend(members.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
    false
}

/// An argument of the tool that was not given and whose key and sign of equality stand inside of a value.
fn swallowed_key<'t>(arguments: &str, tool: &'t CompiledTool) -> Option<&'t str> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let is_given_here = |at: usize, key: &str| {
        let (before, after) = (&arguments[..at], &arguments[at + key.len()..]);
        let after = after.trim_start_matches(['"', '\'', '\\', ' ', '`', '”', '“']);
        !before.ends_with(is_name) && after.starts_with([':', '=', '：', '＝'])
    };
    let given: Map<String, Value> = serde_json::from_str(arguments).ok()?;
    let mut missing = tool.keys().filter(|key| !key.is_empty() && !given.contains_key(*key));
    missing.find(|key| arguments.match_indices(key).any(|(at, _)| is_given_here(at, key)))
}

/// Why these arguments cannot be what was meant, if that is so: policies drop arguments that no tool has, and keep the last of
/// two.
pub(super) fn doubt(
    attempt: &Attempt,
    arguments: &str,
    coercions: &[Coercion],
    tool: Option<&CompiledTool>,
) -> Option<Finding> {
    let mut dropped = coercions.iter().filter(|coercion| coercion.code == CoercionCode::DroppedArgument);
    let arguing = dropped.clone().find(|coercion| {
        let word = coercion.path.strip_prefix('/').unwrap_or_default();
        ARGUING.contains(&word) && coercion.from.starts_with('{')
    });
    if let Some(coercion) = arguing {
        let message = "it stands for all arguments, and others stand beside it";
        return Some(Finding::new(Code::Ambiguous).path(coercion.path.clone()).message(message));
    }
    let misspelt = dropped.clone().find_map(|coercion| {
        let given: Map<String, Value> = serde_json::from_str(arguments).ok()?;
        let keys = tool?.keys().filter(|key| !given.contains_key(*key));
        let meant = nearest(coercion.path.strip_prefix('/')?, keys).first().copied()?;
        Some((coercion, meant))
    });
    if let Some((coercion, meant)) = misspelt {
        let message = format!("no such argument is known, but it may be `{meant}`, so it is not left out");
        return Some(Finding::new(Code::UnexpectedArgument).path(coercion.path.clone()).message(message));
    }
    let is_unclosed = attempt.repairs.iter().any(|repair| repair.code == RepairCode::UnclosedString);
    if is_unclosed && (turn::is_over_in(arguments) || ends_in_structure(arguments)) {
        return Some(
            Finding::new(Code::SuspectValueEnd)
                .message("a string without its end runs over what seems to follow it"),
        );
    }
    let mut bounds = attempt.repairs.iter().filter(|repair| repair.code.bounds_strings());
    if bounds.clone().next().is_some()
        && let Some(key) = tool.and_then(|tool| swallowed_key(arguments, tool))
    {
        let message = format!("a string that was repaired seems to hold the argument `{key}`");
        return Some(Finding::new(Code::SuspectValueEnd).message(message));
    }
    if attempt.repairs.iter().any(|repair| repair.code == RepairCode::UnescapedQuote)
        && has_odd_quote(arguments)
    {
        let message = "a quote at the end of a string is a part of it, or stands there twice";
        return Some(Finding::new(Code::SuspectValueEnd).message(message));
    }
    let is_guess = |repair: &&Repair| repair.safety == Safety::Guess;
    let is_dropped =
        attempt.repairs.iter().filter(is_guess).any(|repair| repair.code == RepairCode::DuplicateKey);
    let leaves_out = dropped.next().is_some() || is_dropped;
    (leaves_out && bounds.any(|repair| is_guess(&repair))).then(|| {
        let message = "where its strings end is a guess, and a part of the arguments would be left out";
        Finding::new(Code::RepairRefused).message(message)
    })
}
