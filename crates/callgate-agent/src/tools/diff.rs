//! What a change to a file looks like, bounded. It is the text itself: whoever shows it makes it safe.

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{ChangeTag, DiffOp, DiffTag};

use crate::approval::Hunks;

/// How many lines of a change are shown.
const SHOWN: usize = 400;
/// How many characters of a line are shown.
const LINE: usize = 400;
/// How many lines on either side are compared; beyond that the whole text counts as replaced.
const COMPARED: usize = 4_000;
/// How many unchanged lines stand around a change.
const AROUND: usize = 3;

/// A change as it is shown.
pub(super) struct Shown {
    /// Lines with `-`, `+` and a space before them.
    pub(super) text: String,
    /// How many hunks it has that can be made one by one; none where it is made as a whole.
    pub(super) hunks: usize,
}

/// The change from one text to another.
pub(super) fn diff(path: &str, old: Option<&[u8]>, new: &str) -> Shown {
    let whole = |text| Shown { text, hunks: 0 };
    let new_lines = new.lines().count();
    let old = match old {
        None => "",
        Some(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => {
                let head = format!("~ {path}: {} bytes that are no text are replaced by:", bytes.len());
                return whole(bounded(head, new.lines().map(|line| ('+', line))));
            }
        },
    };
    let head = if old.is_empty() {
        format!("+ {path}: new, lines: {new_lines}")
    } else {
        format!("~ {path}: changed, lines: {} before, {new_lines} after", old.lines().count())
    };
    if old == new {
        return whole(format!("= {path}: nothing changes"));
    }
    if old.lines().count().max(new_lines) > COMPARED {
        let lines = old.lines().map(|line| ('-', line)).chain(new.lines().map(|line| ('+', line)));
        return whole(bounded(head, lines));
    }
    let (old, new) = (lines_of(old), lines_of(new));
    let groups = changes(&old, &new);
    let count = groups.len();
    let numbers: Vec<String> = (1..=count).map(|number| format!("hunk {number} of {count}")).collect();
    let lines: Vec<Vec<(char, &str)>> = groups.iter().map(|group| signed(group, &old, &new)).collect();
    let length = lines.iter().map(Vec::len).sum::<usize>() + count;
    // Only what is shown can be chosen.
    if count < 2 || length > SHOWN {
        return whole(bounded(head, lines.join(&(' ', "…")).into_iter()));
    }
    let headed = numbers.iter().zip(lines);
    let headed = headed.flat_map(|(number, lines)| [('@', number.as_str())].into_iter().chain(lines));
    Shown { text: bounded(head, headed), hunks: count }
}

/// The old text with nothing but the accepted hunks changed.
pub(super) fn accepted(old: &str, new: &str, hunks: &Hunks) -> String {
    let (old, new) = (lines_of(old), lines_of(new));
    let (mut text, mut at) = (String::new(), 0);
    for (number, group) in changes(&old, &new).iter().enumerate() {
        for op in group.iter().filter(|op| op.tag() != DiffTag::Equal && hunks.accepts(number + 1)) {
            text.extend(old[at..op.old_range().start].iter().chain(&new[op.new_range()]).copied());
            at = op.old_range().end;
        }
    }
    text.extend(old[at..].iter().copied());
    text
}

/// What the refused hunks would have changed, for the model.
pub(super) fn refused(old: &str, new: &str, hunks: &Hunks) -> String {
    let (old, new) = (lines_of(old), lines_of(new));
    let groups = changes(&old, &new);
    let numbers = hunks.refused().iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let head = format!(
        "The user refused parts of this change (hunks {numbers} of {}). They are not in the file:",
        groups.len()
    );
    let lines = groups.iter().enumerate().filter(|(number, _)| !hunks.accepts(number + 1));
    let lines: Vec<Vec<(char, &str)>> = lines.map(|(_, group)| signed(group, &old, &new)).collect();
    bounded(head, lines.join(&(' ', "…")).into_iter())
}

/// The lines of a text, each with its end.
fn lines_of(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The lines of a hunk with their signs.
fn signed<'t>(group: &[DiffOp], old: &[&'t str], new: &[&'t str]) -> Vec<(char, &'t str)> {
    let sign = |tag| match tag {
        ChangeTag::Delete => '-',
        ChangeTag::Insert => '+',
        ChangeTag::Equal => ' ',
    };
    let changes = group.iter().flat_map(|op| op.iter_changes(old, new));
    changes.map(|change| (sign(change.tag()), change.value())).collect()
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
            diff("x.txt", Some(old.as_bytes()), new).text,
            "~ x.txt: changed, lines: 8 before, 8 after\n  b\n  c\n  d\n- e\n+ E\n  f\n  g\n  h"
        );
        assert_eq!(diff("x", None, "one\ntwo").text, "+ x: new, lines: 2\n+ one\n+ two");
        assert_eq!(diff("x", Some(b"same"), "same").text, "= x: nothing changes");
        assert_eq!(
            diff("x", Some(b"\xff"), "text").text,
            "~ x: 1 bytes that are no text are replaced by:\n+ text"
        );
    }

    #[test]
    fn a_carriage_return_alone_ends_no_line() {
        let shown = diff("x", Some(b"a\rb\nc\n"), "a\rB\nc\n").text;
        assert_eq!(shown, "~ x: changed, lines: 2 before, 2 after\n- a\rb\n+ a\rB\n  c");
    }

    #[test]
    fn what_is_left_out_of_a_change_is_counted() {
        let long = "x".repeat(1_000) + &"\nline".repeat(1_000);
        let shown = diff("a", None, &long).text;
        assert!(shown.contains("… 600 characters are not shown"), "{shown}");
        assert!(shown.ends_with("… 601 lines are not shown"), "{shown}");
    }

    #[test]
    fn a_large_change_is_shown_as_a_replacement() {
        let old = "a\n".repeat(5_000);
        let new = "b\n".repeat(5_000);
        let shown = diff("x", Some(old.as_bytes()), &new).text;
        assert!(shown.ends_with("… 9600 lines are not shown"), "{}", &shown[shown.len() - 60..]);
    }

    /// Thirty lines of which three far from each other change, the last of them without its end.
    fn three_hunks() -> (String, String) {
        let old: Vec<String> = (0..30).map(|number| format!("line {number}\r\n")).collect();
        let mut new = old.clone();
        new[2] = "changed\r\n".to_owned();
        new.splice(14..15, []);
        new.push("no end".to_owned());
        (old.concat(), new.concat())
    }

    #[test]
    fn hunks_are_numbered_where_there_are_several() {
        let (old, new) = three_hunks();
        let shown = diff("x", Some(old.as_bytes()), &new);
        assert_eq!(shown.hunks, 3);
        for head in ["\n@ hunk 1 of 3\n", "\n@ hunk 2 of 3\n", "\n@ hunk 3 of 3\n"] {
            assert!(shown.text.contains(head), "{}", shown.text);
        }
        assert_eq!(diff("x", Some(b"a\n"), "b\n").hunks, 0, "one hunk is the whole change");
        let far: String = (0..3_900).map(|number| format!("{number}\n")).collect();
        let far_new: String =
            far.lines().map(|line| if line.ends_with('0') { "x\n" } else { "y\n" }).collect();
        let shown = diff("x", Some(far.as_bytes()), &far_new);
        assert_eq!(shown.hunks, 0, "what is not shown whole cannot be chosen");
    }

    #[test]
    fn what_is_accepted_is_exactly_what_changes() {
        let (old, new) = three_hunks();
        for chosen in 0..8_usize {
            let hunks = Hunks::choose(3, (1..=3).filter(|hunk| chosen & (1 << (hunk - 1)) != 0)).unwrap();
            let text = accepted(&old, &new, &hunks);
            // Each hunk worked out by hand.
            assert_eq!(text.contains("changed\r\n"), hunks.accepts(1), "{chosen}");
            assert_eq!(text.contains("line 2\r\n"), !hunks.accepts(1), "{chosen}");
            assert_eq!(text.contains("line 14\r\n"), !hunks.accepts(2), "{chosen}");
            assert_eq!(text.ends_with("line 29\r\nno end"), hunks.accepts(3), "{chosen}");
            let lines = 30 - usize::from(hunks.accepts(2)) + usize::from(hunks.accepts(3));
            assert_eq!(text.lines().count(), lines, "{chosen}");
            let rest = refused(&old, &new, &hunks);
            assert_eq!(rest.contains("+ no end"), !hunks.accepts(3), "{chosen}: {rest}");
        }
        assert_eq!(accepted(&old, &new, &Hunks::choose(3, [1, 2, 3]).unwrap()), new);
        assert_eq!(accepted(&old, &new, &Hunks::choose(3, []).unwrap()), old);
        assert_eq!((Hunks::choose(3, [4]), Hunks::choose(3, [0])), (None, None));
    }
}
