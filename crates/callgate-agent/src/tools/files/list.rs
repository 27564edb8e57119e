//! `fs.list`: what is in a folder, or beneath it, bounded.

use std::ops::ControlFlow;

use super::super::ToolError;
use super::root::read_fault;
use super::walk::{Found, Start, Wanted, walk};
use crate::visible::{Breaks, visible};

/// How many entries are looked at; what has more is not read to its end.
const LOOKED_AT: usize = 200_000;

/// What a call wants to see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Listing {
    pub(super) recursive: bool,
    pub(super) hidden: bool,
}

/// The entries of a folder, by their paths from it, in the order of their names, one per line: folders with a slash, files with their size,
/// links as such. What is left out is said in a last line.
pub(super) fn list(start: Start, listing: Listing, limit: usize) -> Result<String, ToolError> {
    list_within(start, listing, limit, LOOKED_AT)
}

fn list_within(
    start: Start,
    Listing { recursive, hidden }: Listing,
    limit: usize,
    most: usize,
) -> Result<String, ToolError> {
    let path = start.path.clone();
    let (mut lines, mut left_out) = (Vec::new(), 0);
    let mut visit = |found: &Found<'_>| {
        match lines.len() < limit {
            true => lines.push(line(found, &path)),
            false => left_out += 1,
        }
        ControlFlow::Continue(())
    };
    let wanted = Wanted { recursive, hidden, ignored: true, most };
    let passed = walk(start, wanted, &mut visit).map_err(|error| read_fault(&path, &error))?;
    if passed.is_cut {
        lines.push(format!("[truncated: there are more than {most} entries, and no more were looked at]"));
    } else if left_out > 0 {
        lines.push(format!("[truncated: {left_out} more entries]"));
    }
    if passed.hidden > 0 {
        lines.push(format!("[{} hidden entries are not listed; ask with hidden: true]", passed.hidden));
    }
    Ok(lines.join("\n"))
}

fn line(found: &Found<'_>, folder: &str) -> String {
    let inside = found.path.strip_prefix(folder).unwrap_or(found.path).trim_start_matches('/');
    let said = visible(inside, Breaks::Show).into_owned();
    if found.kind.is_dir() {
        format!("{said}/")
    } else if found.kind.is_symlink() {
        format!("{said} (link)")
    } else if found.kind.is_file() {
        // A file that is gone by now has no size to tell.
        match found.size() {
            Some(size) => format!("{said} ({size} bytes)"),
            None => said,
        }
    } else {
        format!("{said} (special)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_entries_are_looked_at_than_the_limit() {
        let path = std::env::temp_dir().join(format!("callgate-list-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        for number in 0..8 {
            std::fs::write(path.join(number.to_string()), "").unwrap();
        }
        let folder = || {
            let folder = cap_std::fs::Dir::open_ambient_dir(&path, cap_std::ambient_authority()).unwrap();
            Start { folder, path: String::new(), around: Vec::new() }
        };
        let whole = list_within(folder(), Listing::default(), 3, 8).unwrap();
        let cut = list_within(folder(), Listing::default(), 3, 7).unwrap();
        std::fs::remove_dir_all(&path).unwrap();
        assert_eq!(whole, "0 (0 bytes)\n1 (0 bytes)\n2 (0 bytes)\n[truncated: 5 more entries]");
        assert!(
            cut.ends_with("[truncated: there are more than 7 entries, and no more were looked at]"),
            "{cut}"
        );
        assert_eq!(cut.lines().count(), 4, "{cut}");
    }
}
