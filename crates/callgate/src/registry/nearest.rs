//! Nearest names: what the model probably meant, for messages only; nothing is ever run by nearness.

/// The names closest to `wanted`, best first, at most three, leaving out those that are not close at all.
///
/// Case and separators do not count (`GetWeather` is `get_weather`), a name inside the other is close, and
/// otherwise the distance is the number of typing slips: a character more, less, changed, or two swapped.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = letters(wanted);
    let mut close: Vec<(usize, &str)> =
        names.into_iter().filter_map(|name| Some((slips(&wanted, &letters(name))?, name))).collect();
    // The sort is stable, so equally close names keep the order of the registry.
    close.sort_by_key(|(slips, _)| *slips);
    close.into_iter().take(SHOWN).map(|(_, name)| name).collect()
}

/// How many names are shown.
const SHOWN: usize = 3;

/// How much of a name is compared: a name is untrusted text, and the comparison is quadratic in it.
const COMPARED: usize = 64;

/// The part of a name that people remember: its letters and digits, in one case.
fn letters(name: &str) -> Vec<char> {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(COMPARED).collect()
}

/// How far apart two names are, or nothing if they are not close.
fn slips(wanted: &[char], name: &[char]) -> Option<usize> {
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
    Some(distance(wanted, name)).filter(|slips| *slips <= limit)
}

/// The number of single-character insertions, deletions, changes and swaps of neighbours between two names.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let mut row: Vec<usize> = vec![0; b.len() + 1];
    for i in 1..=a.len() {
        row[0] = i;
        for j in 1..=b.len() {
            let change = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row[j] = best;
        }
        std::mem::swap(&mut before, &mut last);
        std::mem::swap(&mut last, &mut row);
    }
    last[b.len()]
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
