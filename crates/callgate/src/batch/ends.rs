//! Ends: what is to be said of how a whole answer ended, beside its reason, which is about its calls.

use crate::attempt::shortened;
use crate::ending::FinishReason;
use crate::finding::{Code, Finding};
use crate::response::Response;

/// What the reason of a response does not say: that the answer was cut off behind its calls, or that those are not there which
/// the provider has announced. `word` is the provider's, nothing where nobody said that the answer is over.
pub fn about_end(response: &Response, reason: FinishReason, word: &str) -> Option<Finding> {
    let word = word.trim();
    if reason == FinishReason::Failed && word.is_empty() {
        return Some(Finding::new(Code::CutOff).message("the answer stops without saying that it is over"));
    }
    if reason.is_cut() && response.finish_reason == FinishReason::ToolCalls {
        let message = format!(
            "the provider ended the answer with `{}`, so more calls may have been meant",
            shortened(word)
        );
        return Some(Finding::new(Code::CutOff).message(message));
    }
    let is_empty = response.calls.is_empty() && response.rejected.is_empty();
    (reason == FinishReason::ToolCalls && is_empty).then(|| Finding::new(Code::MissingCalls))
}
