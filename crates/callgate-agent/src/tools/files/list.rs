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
    let failed = |error: std::io::Error| read_fault(path, &error);
    // Only the names that are given out are kept.
    let mut lines: BTreeMap<std::ffi::OsString, String> = BTreeMap::new();
    let (mut seen, mut left_out) = (0, 0);
    for entry in folder.entries().map_err(failed)? {
        if seen == LOOKED_AT {
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
    if seen == LOOKED_AT {
        text.push_str(&format!("\n[truncated: the folder has {LOOKED_AT} entries or more]"));
    } else if left_out > 0 {
        text.push_str(&format!("\n[truncated: {left_out} more entries]"));
    }
    Ok(text)
}
