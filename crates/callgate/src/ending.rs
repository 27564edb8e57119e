//! Endings: why a response ended, in the words of all providers, and what that means for a call that was not closed.

use crate::json::Safety;
use crate::policy::TruncatedPolicy;
use crate::rules::Rules;

/// Why a response ended, as the provider says and as the gate corrects it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FinishReason {
    /// The model was done.
    Stop,
    /// The output limit was reached.
    Length,
    /// The model called tools.
    ToolCalls,
    /// The provider withheld something.
    ContentFilter,
    /// Something went wrong, or somebody ended it.
    Failed,
    /// Nobody said, or in a word that nobody knows.
    #[default]
    Unknown,
}

impl FinishReason {
    /// The words of the providers, each with what it means. Letter case and what stands between the parts of a word do
    /// not count, so `MAX_TOKENS` and `maxTokens` are `max_tokens`.
    pub const WORDS: &'static [(&'static str, FinishReason)] = &[
        // The model was done. The first word of a meaning is the one that is written.
        ("stop", FinishReason::Stop),
        ("end_turn", FinishReason::Stop),
        ("end_of_turn", FinishReason::Stop),
        ("end_of_text", FinishReason::Stop),
        ("eos", FinishReason::Stop),
        ("eos_token", FinishReason::Stop),
        ("eot", FinishReason::Stop),
        ("stop_sequence", FinishReason::Stop),
        ("stop_token", FinishReason::Stop),
        ("eos_found", FinishReason::Stop),
        ("stop_string_found", FinishReason::Stop),
        ("complete", FinishReason::Stop),
        ("completed", FinishReason::Stop),
        ("done", FinishReason::Stop),
        ("finished", FinishReason::Stop),
        ("normal", FinishReason::Stop),
        ("success", FinishReason::Stop),
        ("succeeded", FinishReason::Stop),
        // It called tools, and was done with that.
        ("tool_calls", FinishReason::ToolCalls),
        ("tool_call", FinishReason::ToolCalls),
        ("tool_use", FinishReason::ToolCalls),
        ("function_call", FinishReason::ToolCalls),
        ("function_calls", FinishReason::ToolCalls),
        // It was cut off, or goes on elsewhere.
        ("length", FinishReason::Length),
        ("max_tokens", FinishReason::Length),
        ("max_length", FinishReason::Length),
        ("max_output_tokens", FinishReason::Length),
        ("max_new_tokens", FinishReason::Length),
        ("max_completion_tokens", FinishReason::Length),
        ("model_length", FinishReason::Length),
        ("model_context_window_exceeded", FinishReason::Length),
        ("context_length_exceeded", FinishReason::Length),
        ("context_length", FinishReason::Length),
        ("context_length_reached", FinishReason::Length),
        ("max_predicted_tokens_reached", FinishReason::Length),
        ("token_limit", FinishReason::Length),
        ("error_limit", FinishReason::Length),
        ("limit", FinishReason::Length),
        ("incomplete", FinishReason::Length),
        ("in_progress", FinishReason::Length),
        ("not_finished", FinishReason::Length),
        ("pause_turn", FinishReason::Length),
        ("truncated", FinishReason::Length),
        // Something was withheld.
        ("content_filter", FinishReason::ContentFilter),
        ("content_filtered", FinishReason::ContentFilter),
        ("filtered", FinishReason::ContentFilter),
        ("refusal", FinishReason::ContentFilter),
        ("safety", FinishReason::ContentFilter),
        ("sensitive", FinishReason::ContentFilter),
        ("recitation", FinishReason::ContentFilter),
        ("language", FinishReason::ContentFilter),
        ("blocklist", FinishReason::ContentFilter),
        ("prohibited_content", FinishReason::ContentFilter),
        ("spii", FinishReason::ContentFilter),
        ("image_safety", FinishReason::ContentFilter),
        ("model_armor", FinishReason::ContentFilter),
        ("guardrail_intervened", FinishReason::ContentFilter),
        ("error_toxic", FinishReason::ContentFilter),
        // It went wrong, or somebody ended it.
        ("error", FinishReason::Failed),
        ("failed", FinishReason::Failed),
        ("failure", FinishReason::Failed),
        ("abort", FinishReason::Failed),
        ("aborted", FinishReason::Failed),
        ("cancel", FinishReason::Failed),
        ("canceled", FinishReason::Failed),
        ("cancelled", FinishReason::Failed),
        ("user_cancel", FinishReason::Failed),
        ("user_stopped", FinishReason::Failed),
        ("interrupted", FinishReason::Failed),
        ("expired", FinishReason::Failed),
        ("timeout", FinishReason::Failed),
        ("time_limit", FinishReason::Failed),
        ("network_error", FinishReason::Failed),
        ("insufficient_system_resource", FinishReason::Failed),
        ("malformed_function_call", FinishReason::Failed),
        ("malformed_tool_use", FinishReason::Failed),
        ("malformed_model_output", FinishReason::Failed),
        ("malformed_response", FinishReason::Failed),
        ("unexpected_tool_call", FinishReason::Failed),
        ("too_many_tool_calls", FinishReason::Failed),
        // It does not say why.
        ("unknown", FinishReason::Unknown),
        ("unspecified", FinishReason::Unknown),
        ("other", FinishReason::Unknown),
        ("none", FinishReason::Unknown),
        ("null", FinishReason::Unknown),
    ];

    /// The reason with this word; any other word is [`FinishReason::Unknown`].
    pub fn from_word(word: &str) -> Self {
        FinishReason::known_word(word).unwrap_or_default()
    }

    /// The reason with this word, if it is a word that anybody uses; nothing said is no word.
    pub fn known_word(word: &str) -> Option<Self> {
        let word = word.trim();
        // Some name the field in the word.
        let said = match word.get(..PREFIX.len()) {
            Some(start) if start.eq_ignore_ascii_case(PREFIX) => &word[PREFIX.len()..],
            _ => word,
        };
        let row = FinishReason::WORDS.iter().find(|(known, _)| letters(known).eq(letters(said)));
        row.map(|(_, reason)| *reason)
    }

    /// The word; an unknown reason reads as `stop`.
    pub fn word(self) -> &'static str {
        match self {
            FinishReason::Stop | FinishReason::Unknown => "stop",
            FinishReason::Length => "length",
            FinishReason::ToolCalls => "tool_calls",
            FinishReason::ContentFilter => "content_filter",
            FinishReason::Failed => "error",
        }
    }

    /// Whether the provider said that the model came to its end. Only then a call may be closed that was not.
    pub fn is_good(self) -> bool {
        matches!(self, FinishReason::Stop | FinishReason::ToolCalls)
    }

    /// Whether the provider said that the model did not come to its end.
    pub fn is_cut(self) -> bool {
        !self.is_good() && self != FinishReason::Unknown
    }
}

/// What some write before the word.
const PREFIX: &str = "finish_reason_";

/// What tells words apart.
fn letters(word: &str) -> impl Iterator<Item = char> {
    word.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase())
}

/// What a call lacks where the output ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lacks {
    /// Only what closes it: every value that was begun is complete.
    Closers,
    /// The rest of the value that runs into the end.
    Rest,
    /// Nothing that its format must write. But nothing marks its end, either.
    Mark,
}

/// Whether a call may be closed where the output ends, and how certain that is; `None` if it is cut off. Calls in the
/// text and structured ones end by this rule alone.
pub(crate) fn closing(
    rules: &Rules,
    reason: FinishReason,
    name: Option<&str>,
    lacks: Lacks,
) -> Option<Safety> {
    if reason.is_cut() {
        return None;
    }
    let is_dangerous = || name.is_some_and(|name| rules.is_dangerous(name));
    let may_guess = || rules.policy.truncated == TruncatedPolicy::Complete && !is_dangerous();
    match (lacks, reason.is_good()) {
        (Lacks::Closers | Lacks::Mark, true) => Some(Safety::Lossless),
        (Lacks::Mark, false) => (!is_dangerous()).then_some(Safety::Lossless),
        // More members may have been coming.
        (Lacks::Closers, false) | (Lacks::Rest, true) => may_guess().then_some(Safety::Guess),
        (Lacks::Rest, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::FinishReason;

    #[test]
    fn words_are_read_in_any_spelling() {
        for (word, reason) in FinishReason::WORDS {
            for spelling in [
                word.to_string(),
                word.to_uppercase(),
                word.replace('_', "-"),
                word.replace('_', ""),
                format!("FINISH_REASON_{}", word.to_uppercase()),
            ] {
                assert_eq!(FinishReason::from_word(&spelling), *reason, "{spelling}");
            }
        }
        for word in ["", "stopped short", "stp", "FINISH_REASON_", "é"] {
            assert_eq!(FinishReason::from_word(word), FinishReason::Unknown, "{word}");
            assert_eq!(FinishReason::known_word(word), None, "{word}");
        }
    }

    #[test]
    fn each_word_stands_once_and_each_meaning_is_written_as_one_of_its_words() {
        for (index, (word, _)) in FinishReason::WORDS.iter().enumerate() {
            assert!(
                FinishReason::WORDS[..index].iter().all(|(other, _)| other != word),
                "{word} stands twice"
            );
        }
        for (_, reason) in FinishReason::WORDS.iter().filter(|(_, reason)| *reason != FinishReason::Unknown) {
            assert_eq!(FinishReason::from_word(reason.word()), *reason);
        }
    }
}
