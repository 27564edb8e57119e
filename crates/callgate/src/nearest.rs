//! Nearest names: what the model probably meant, for messages only; nothing is ever run by nearness.

/// The names closest to `wanted`, best first, at most three, leaving out those that are not close at all.
///
/// Case and separators do not count (`GetWeather` is `get_weather`), a name inside the other is close, and
/// otherwise the distance is the number of typing slips: a character more, less, changed, or two swapped.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted: Vec<char> = letters(wanted).collect();
    let mut close: Vec<(usize, &str)> = Vec::new();
    let mut letters_of_name = Vec::new();
    let mut rows = Rows::default();
    for name in names.into_iter().take(LOOKED_AT) {
        letters_of_name.clear();
        letters_of_name.extend(letters(name));
        if let Some(slips) = slips(&wanted, &letters_of_name, &mut rows) {
            close.push((slips, name));
        }
    }
    // The sort is stable, so equally close names keep the order of the registry.
    close.sort_by_key(|(slips, _)| *slips);
    close.into_iter().take(SHOWN).map(|(_, name)| name).collect()
}

/// How many names are shown.
const SHOWN: usize = 3;

/// How much of a name is compared: a name is untrusted text, and the comparison is quadratic in it.
const COMPARED: usize = 64;

/// How many names are compared.
const LOOKED_AT: usize = 4096;

/// The part of a name that people remember: its letters and digits, in one case.
pub(crate) fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(COMPARED)
}

/// How far apart two names are, or nothing if they are not close.
fn slips(wanted: &[char], name: &[char], rows: &mut Rows) -> Option<usize> {
    if wanted.is_empty() || name.is_empty() {
        return None;
    }
    if wanted == name {
        return Some(0);
    }
    let (short, long) = if wanted.len() <= name.len() { (wanted, name) } else { (name, wanted) };
    // A short fragment is inside half of all names, so it says nothing.
    let inside = short.len() >= 3 && long.windows(short.len()).any(|part| part == short);
    let limit = if inside { usize::MAX } else { 1 + long.len() / 4 };
    let least = long.len() - short.len();
    if least > limit {
        return None;
    }
    if inside {
        return Some(least.min(3));
    }
    distance(wanted, name, limit, rows)
}

/// Whether a text is at most so many slips away from another one.
pub(crate) fn is_within(text: &str, other: &str, slips: usize) -> bool {
    let (text, other): (Vec<char>, Vec<char>) = (text.chars().collect(), other.chars().collect());
    text.len().abs_diff(other.len()) <= slips
        && distance(&text, &other, slips, &mut Rows::default()).is_some()
}

/// The rows of the table of distances that are needed at a time.
#[derive(Default)]
struct Rows {
    before: Vec<usize>,
    last: Vec<usize>,
    row: Vec<usize>,
}

/// The number of single-character insertions, deletions, changes and swaps of neighbours between two names, if it is at
/// most `limit`. Only the cells that can lead to such a number are looked at, and when no row can, none after it is.
fn distance(a: &[char], b: &[char], limit: usize, rows: &mut Rows) -> Option<usize> {
    let far = limit + 1;
    for row in [&mut rows.before, &mut rows.last, &mut rows.row] {
        row.clear();
        row.resize(b.len() + 1, far);
    }
    let Rows { before, last, row } = rows;
    for (j, cell) in last.iter_mut().enumerate().take(far) {
        *cell = j;
    }
    for i in 1..=a.len() {
        let from = i.saturating_sub(limit).max(1);
        let to = (i + limit).min(b.len());
        row.fill(far);
        row[0] = i.min(far);
        let mut least = row[0];
        for j in from..=to {
            let change = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row[j] = best.min(far);
            least = least.min(best);
        }
        // A swap looks two rows back, so one row that is too far does not decide.
        if least > limit && last.iter().all(|cell| *cell > limit) {
            return None;
        }
        std::mem::swap(before, last);
        std::mem::swap(last, row);
    }
    last.get(b.len()).copied().filter(|slips| *slips <= limit)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn case_and_separators_do_not_count() {
        let names = ["get_weather", "get_time", "search"];
        assert_eq!(nearest("GetWeather", names), ["get_weather"]);
        assert_eq!(nearest("get-weather", names), ["get_weather"]);
    }

    #[test]
    fn slips_and_fragments_are_close() {
        let names = ["read_file", "write_file", "list_files", "fly"];
        assert_eq!(nearest("raed_file", names)[0], "read_file");
        assert_eq!(nearest("read", names), ["read_file"]);
        assert_eq!(nearest("read_file_contents", names)[0], "read_file");
        assert!(nearest("zzzzzz", names).is_empty());
        assert!(nearest("", names).is_empty());
        assert_eq!(nearest("lok", ["look"]), ["look"]);
    }

    #[test]
    fn at_most_three_and_hostile_names_are_cheap() {
        assert_eq!(nearest("abc1", ["abc2", "abc3", "abc4", "abc5"]).len(), 3);
        let long = "x".repeat(1 << 20);
        assert!(nearest(&long, ["look"]).is_empty());
    }
}
