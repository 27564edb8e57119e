//! What a change to a file looks like, bounded. It is the text itself: whoever shows it makes it safe.

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{ChangeTag, DiffOp};

/// How many lines of a change are shown.
const SHOWN: usize = 400;
/// How many characters of a line are shown.
const LINE: usize = 400;
/// How many lines on either side are compared; beyond that the whole text counts as replaced.
const COMPARED: usize = 4_000;
/// How many unchanged lines stand around a change.
const AROUND: usize = 3;

/// The change from one text to another as lines with `-`, `+` and a space before them.
pub(super) fn diff(path: &str, old: Option<&[u8]>, new: &str) -> String {
    let new_lines = new.lines().count();
    let old = match old {
        None => "",
        Some(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => {
                let head = format!("~ {path}: {} bytes that are no text are replaced by:", bytes.len());
                return bounded(head, new.lines().map(|line| ('+', line)));
            }
        },
    };
    let head = if old.is_empty() {
        format!("+ {path}: new, lines: {new_lines}")
    } else {
        format!("~ {path}: changed, lines: {} before, {new_lines} after", old.lines().count())
    };
    if old == new {
        return format!("= {path}: nothing changes");
    }
    if old.lines().count().max(new_lines) > COMPARED {
        let lines = old.lines().map(|line| ('-', line)).chain(new.lines().map(|line| ('+', line)));
        return bounded(head, lines);
    }
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let mut lines: Vec<(char, &str)> = Vec::new();
    for (number, group) in changes(&old, &new).iter().enumerate() {
        if number > 0 {
            lines.push((' ', "…"));
        }
        for change in group.iter().flat_map(|op| op.iter_changes(&old, &new)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            lines.push((sign, change.value()));
        }
    }
    bounded(head, lines.into_iter())
}

/// The changes between lines, in groups that are far from each other. The algorithm is named as a function: where it is chosen
/// by a value, all others are compiled too, and the command is larger by a twentieth.
fn changes(old: &[&str], new: &[&str]) -> Vec<Vec<DiffOp>> {
    let mut found = Compact::new(Replace::new(Capture::new()), old, new);
    let Ok(()) = myers::diff(&mut found, old, 0..old.len(), new, 0..new.len());
    found.into_inner().into_inner().into_grouped_ops(AROUND)
}

/// The lines, as many as are shown, and how many are not.
fn bounded<'a>(head: String, lines: impl Iterator<Item = (char, &'a str)>) -> String {
    let mut text = head;
    let mut left_out = 0;
    for (number, (sign, line)) in lines.enumerate() {
        if number >= SHOWN {
            left_out += 1;
            continue;
        }
        let line = line.strip_suffix('\n').unwrap_or(line);
        let count = line.chars().count();
        let start: String = line.chars().take(LINE).collect();
        text.push_str(&format!("\n{sign} {start}"));
        if count > LINE {
            text.push_str(&format!(" … {} characters are not shown", count - LINE));
        }
    }
    if left_out > 0 {
        text.push_str(&format!("\n… {left_out} lines are not shown"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_shows_what_goes_and_what_comes_with_lines_around_it() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let new = "a\nb\nc\nd\nE\nf\ng\nh\n";
        assert_eq!(
            diff("x.txt", Some(old.as_bytes()), new),
            "~ x.txt: changed, lines: 8 before, 8 after\n  b\n  c\n  d\n- e\n+ E\n  f\n  g\n  h"
        );
        assert_eq!(diff("x", None, "one\ntwo"), "+ x: new, lines: 2\n+ one\n+ two");
        assert_eq!(diff("x", Some(b"same"), "same"), "= x: nothing changes");
        assert_eq!(
            diff("x", Some(b"\xff"), "text"),
            "~ x: 1 bytes that are no text are replaced by:\n+ text"
        );
    }

    #[test]
    fn a_carriage_return_alone_ends_no_line() {
        let shown = diff("x", Some(b"a\rb\nc\n"), "a\rB\nc\n");
        assert_eq!(shown, "~ x: changed, lines: 2 before, 2 after\n- a\rb\n+ a\rB\n  c");
    }

    #[test]
    fn what_is_left_out_of_a_change_is_counted() {
        let long = "x".repeat(1_000) + &"\nline".repeat(1_000);
        let shown = diff("a", None, &long);
        assert!(shown.contains("… 600 characters are not shown"), "{shown}");
        assert!(shown.ends_with("… 601 lines are not shown"), "{shown}");
    }

    #[test]
    fn a_large_change_is_shown_as_a_replacement() {
        let old = "a\n".repeat(5_000);
        let new = "b\n".repeat(5_000);
        let shown = diff("x", Some(old.as_bytes()), &new);
        assert!(shown.ends_with("… 9600 lines are not shown"), "{}", &shown[shown.len() - 60..]);
    }
}
