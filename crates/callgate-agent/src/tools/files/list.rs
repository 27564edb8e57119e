//! `fs.list`: what is in a folder, bounded.

use std::collections::BTreeMap;

use cap_std::fs::Dir;

use super::super::ToolError;
use super::root::read_fault;
use super::write::is_unfinished;
use crate::visible::{Breaks, visible};

/// How many entries are looked at; a folder with more is not read to its end.
const LOOKED_AT: usize = 200_000;

/// The entries of a folder in the order of their names, one per line: folders with a slash, files with their size,
/// links as such. What is left out is said in a last line.
pub(super) fn list(folder: &Dir, path: &str, limit: usize) -> Result<String, ToolError> {
    list_within(folder, path, limit, LOOKED_AT)
}

fn list_within(folder: &Dir, path: &str, limit: usize, most: usize) -> Result<String, ToolError> {
    let failed = |error: std::io::Error| read_fault(path, &error);
    // Only the names that are given out are kept.
    let mut lines: BTreeMap<std::ffi::OsString, String> = BTreeMap::new();
    let (mut seen, mut left_out, mut is_cut) = (0, 0, false);
    for entry in folder.entries().map_err(failed)? {
        if seen == most {
            is_cut = true;
            break;
        }
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if is_unfinished(&name) {
            continue;
        }
        seen += 1;
        let is_beyond = lines.len() == limit && lines.last_key_value().is_some_and(|(last, _)| *last < name);
        if is_beyond {
            left_out += 1;
            continue;
        }
        let said = visible(&name.to_string_lossy(), Breaks::Show).into_owned();
        let kind = entry.file_type().map_err(failed)?;
        let line = if kind.is_dir() {
            format!("{said}/")
        } else if kind.is_symlink() {
            format!("{said} (link)")
        } else if kind.is_file() {
            // A file that is gone by now has no size to tell.
            match entry.metadata() {
                Ok(metadata) => format!("{said} ({} bytes)", metadata.len()),
                Err(_) => said,
            }
        } else {
            format!("{said} (special)")
        };
        lines.insert(name, line);
        if lines.len() > limit {
            lines.pop_last();
            left_out += 1;
        }
    }
    let mut text = lines.into_values().collect::<Vec<_>>().join("\n");
    if is_cut {
        text.push_str(&format!(
            "\n[truncated: the folder has more than {most} entries, and no more were looked at]"
        ));
    } else if left_out > 0 {
        text.push_str(&format!("\n[truncated: {left_out} more entries]"));
    }
    Ok(text)
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
        let folder = Dir::open_ambient_dir(&path, cap_std::ambient_authority()).unwrap();
        let whole = list_within(&folder, ".", 3, 8).unwrap();
        let cut = list_within(&folder, ".", 3, 7).unwrap();
        std::fs::remove_dir_all(&path).unwrap();
        assert_eq!(whole, "0 (0 bytes)\n1 (0 bytes)\n2 (0 bytes)\n[truncated: 5 more entries]");
        assert!(
            cut.ends_with("[truncated: the folder has more than 7 entries, and no more were looked at]"),
            "{cut}"
        );
        assert_eq!(cut.lines().count(), 4, "{cut}");
    }
}
