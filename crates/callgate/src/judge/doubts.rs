//! Doubts about arguments that were guessed: where nobody knows where their strings end, nothing is left out of them, and no end
//! of a turn is a part of them.

use crate::attempt::{ARGUING, Attempt};
use crate::dialect::turn;
use crate::event::{Coercion, CoercionCode};
use crate::finding::{Code, Finding};
use crate::json::{RepairCode, Safety};

/// Repairs that decide where a string ends, or what stands behind one: a guess of theirs may have made a member out of its text.
const ENDS_OF_STRINGS: [RepairCode; 8] = [
    RepairCode::UnescapedQuote,
    RepairCode::MissingQuote,
    RepairCode::UnclosedString,
    RepairCode::SwappedQuote,
    RepairCode::DoubledQuote,
    RepairCode::UnquotedKey,
    RepairCode::MissingComma,
    RepairCode::MissingColon,
];

/// Why these arguments cannot be what was meant, if that is so: policies drop arguments that no tool has, and keep the last of
/// two.
pub(super) fn doubt(attempt: &Attempt, arguments: &str, coercions: &[Coercion]) -> Option<Finding> {
    let mut dropped = coercions.iter().filter(|coercion| coercion.code == CoercionCode::DroppedArgument);
    let arguing = dropped.clone().find(|coercion| {
        let word = coercion.path.strip_prefix('/').unwrap_or_default();
        ARGUING.contains(&word) && coercion.from.starts_with('{')
    });
    if let Some(coercion) = arguing {
        let message = "it stands for all arguments, and others stand beside it";
        return Some(Finding::new(Code::Ambiguous).path(coercion.path.clone()).message(message));
    }
    let is_unclosed = attempt.repairs.iter().any(|repair| repair.code == RepairCode::UnclosedString);
    if is_unclosed && turn::is_over_in(arguments) {
        return Some(
            Finding::new(Code::SuspectValueEnd)
                .message("a string without its end runs over the end of the turn"),
        );
    }
    let is_guessed = |code: &RepairCode| {
        let guesses = attempt.repairs.iter().filter(|repair| repair.safety == Safety::Guess);
        guesses.clone().any(|repair| repair.code == *code)
    };
    let leaves_out = dropped.next().is_some() || is_guessed(&RepairCode::DuplicateKey);
    (leaves_out && ENDS_OF_STRINGS.iter().any(is_guessed)).then(|| {
        let message = "where its strings end is a guess, and a part of the arguments would be left out";
        Finding::new(Code::RepairRefused).message(message)
    })
}
