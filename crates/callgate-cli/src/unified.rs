//! Unified diffs: what changes from one text to another, line by line, as `diff -u` writes it.

use std::ops::Range;

use similar::ChangeTag;
use similar::algorithms::{Capture, Compact, Replace, myers};

/// How many unchanged lines stand around a change.
const AROUND: usize = 3;

/// The change as `diff -u` writes it; nothing if there is none. The algorithm is named as a function: where it is chosen by a
/// value, all others are compiled too.
pub(crate) fn unified(name: &str, before: &str, after: &str) -> String {
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<&str>>();
    let (old, new) = (lines(before), lines(after));
    let mut found = Compact::new(Replace::new(Capture::new()), &old[..], &new[..]);
    let Ok(()) = myers::diff(&mut found, &old[..], 0..old.len(), &new[..], 0..new.len());
    let groups = found.into_inner().into_inner().into_grouped_ops(AROUND);
    let mut text = String::new();
    for group in &groups {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        if text.is_empty() {
            text = format!("--- {name}\n+++ {name} (repaired)\n");
        }
        let old_lines = counted(first.old_range().start..last.old_range().end);
        let new_lines = counted(first.new_range().start..last.new_range().end);
        text.push_str(&format!("@@ -{old_lines} +{new_lines} @@\n"));
        for change in group.iter().flat_map(|op| op.iter_changes(&old[..], &new[..])) {
            text.push(match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            });
            text.push_str(change.value());
            if !change.value().ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    text
}

/// Lines by the number of the first and how many there are, where that is not one; of none, the line before them.
fn counted(lines: Range<usize>) -> String {
    match lines.len() {
        1 => format!("{}", lines.start + 1),
        0 => format!("{},0", lines.start),
        count => format!("{},{count}", lines.start + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::unified;

    #[test]
    fn a_diff_is_one_that_patch_reads() {
        let old: String = (1..=12).map(|number| format!("{number}\n")).collect();
        let new = old.replace("2\n3\n", "2\nthree\n").replace("12\n", "12");
        let head = "--- a\n+++ a (repaired)\n";
        let first = "@@ -1,6 +1,6 @@\n 1\n 2\n-3\n+three\n 4\n 5\n 6\n";
        let last = "@@ -9,4 +9,4 @@\n 9\n 10\n 11\n-12\n+12\n\\ No newline at end of file\n";
        assert_eq!(unified("a", &old, &new), format!("{head}{first}{last}"));
        assert_eq!(
            unified("a", "x", "y"),
            format!(
                "{head}@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n"
            )
        );
        assert_eq!(unified("a", "", "y\n"), format!("{head}@@ -0,0 +1 @@\n+y\n"));
        assert_eq!(unified("a", &old, &old), "");
    }
}
