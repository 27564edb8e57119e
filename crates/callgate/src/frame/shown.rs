//! Calls that a code fence shows: whether it begins with one, by what opens the fence and what is first in it.

use super::labels::{before_label, is_labelled, label_of, speaks_of_calls};
use super::likeness::{before_object, begins_with_key, is_call_object, is_member};

/// Whether the name between these texts is that of a call which a code fence begins with, as one is shown: an object with
/// name and arguments, or in the first line an application with named arguments or what a label stands before. The line that
/// opens the fence says what is in it, or a label before the fence; where that are calls, every application is one.
pub(super) fn heads_fence(before: &str, name: &str, after: &str) -> bool {
    let opened = before
        .rsplit_once("```")
        .filter(|(outer, _)| outer.trim_end_matches(' ').ends_with('\n') || outer.is_empty());
    let Some((outer, (info, content))) =
        opened.and_then(|(outer, fence)| Some((outer, fence.split_once('\n')?)))
    else {
        return false;
    };
    let line = outer.trim_end().rsplit('\n').next().unwrap_or_default();
    let is_labelled_fence = label_of(line).is_some();
    if info.trim().is_empty() && !is_labelled_fence {
        return false;
    }
    let content = content.trim_start_matches(['[', ' ', '\t', '\r', '\n']);
    if content.starts_with('{') {
        // A label says that a call follows, so that its name is enough.
        return is_labelled_fence && is_member(content, after)
            || is_call_object(&[content, name, after].concat());
    }
    let applied = after.strip_prefix('(').map(str::trim_start);
    if applied.is_some() && speaks_of_calls(&info.to_ascii_lowercase()) {
        return true;
    }
    let is_applied = applied.is_some_and(|inside| inside.starts_with(')') || begins_with_key(inside));
    !content.contains('\n')
        && (is_applied && matches!(content, "" | "print(")
            || is_labelled(content, after)
            || before_label(content, after)
            || before_object(content, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_opens_a_fence_tells_whether_it_shows_a_call() {
        for (text, is_shown) in [
            ("```json\n{\"name\": \"look\", \"arguments\": {}}", true),
            ("```\n{\"name\": \"look\", \"arguments\": {}}", false),
            ("Action:\n```\n{\"action\": \"look\", \"action_input\": {}}", true),
            ("So:\n```\n{\"action\": \"look\", \"action_input\": {}}", false),
            ("```python\nlook(q=1)", true),
            ("```python\nx = look(q=1)", false),
            ("```tool_code\nx = look(q=1)", true),
            ("```tool_code\nimport y\nawait look(\"a\")", true),
            ("```tool_code\n# look at this", false),
        ] {
            let (before, after) = text.split_once("look").unwrap();
            assert_eq!(heads_fence(before, "look", after), is_shown, "{text}");
        }
    }
}
