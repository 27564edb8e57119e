//! `fs.search`: lines that a pattern fits, in the files beneath a folder, without what `.gitignore` leaves out.

use std::io::Read;
use std::ops::ControlFlow;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use regex::{Regex, RegexBuilder};

use super::super::{ToolError, ToolErrorCode};
use super::root::read_fault;
use super::walk::{Found, Start, Wanted, walk};
use crate::visible::{Breaks, visible};

/// How many entries are looked at.
const LOOKED_AT: usize = 200_000;
/// The largest file that is searched, and how much is searched in all, in bytes.
const FILE: u64 = 8 << 20;
const ALL: u64 = 256 << 20;
/// How much memory a pattern may take.
const PATTERN: usize = 1 << 20;
/// How many characters of a line are shown.
const LINE: usize = 300;

/// What is looked for, and in which files.
pub(super) struct Search {
    pattern: Regex,
    files: Option<Gitignore>,
}

impl Search {
    /// A pattern for lines and one for the names of files, such as `*.rs`.
    pub(super) fn new(pattern: &str, files: Option<&str>) -> Result<Self, ToolError> {
        let unfit =
            |place: &str, message: String| ToolError::new(ToolErrorCode::BadArguments, place, message);
        let pattern = RegexBuilder::new(pattern).size_limit(PATTERN).dfa_size_limit(PATTERN).build();
        let pattern = pattern.map_err(|error| unfit("/pattern", error.to_string()))?;
        let glob = |glob: &str| {
            let mut builder = GitignoreBuilder::new("");
            builder.add_line(None, glob).and_then(|builder| builder.build())
        };
        let files = files.map(glob).transpose();
        Ok(Search { pattern, files: files.map_err(|error| unfit("/file_pattern", error.to_string()))? })
    }

    /// The lines that fit, each with its file and its number; at most `most` of them and `limit` bytes.
    pub(super) fn run(&self, start: Start, most: usize, limit: usize) -> Result<String, ToolError> {
        let path = start.path.clone();
        let (mut text, mut count, mut left, mut is_full) = (String::new(), 0, ALL, false);
        let mut visit = |found: &Found<'_>| {
            let is_wanted = |files: &Gitignore| files.matched(found.path, false).is_ignore();
            if !found.kind.is_file() || !self.files.as_ref().is_none_or(is_wanted) {
                return ControlFlow::Continue(());
            }
            let Some(content) = content(found, left) else { return ControlFlow::Continue(()) };
            left = left.saturating_sub(content.len() as u64);
            for (number, line) in content.lines().enumerate().filter(|(_, line)| self.pattern.is_match(line))
            {
                let shown: String = visible(line.trim_end(), Breaks::Show).chars().take(LINE).collect();
                let name = visible(found.path, Breaks::Show);
                let said = format!("{name}:{}: {shown}\n", number + 1);
                if count == most || text.len() + said.len() > limit {
                    is_full = true;
                    return ControlFlow::Break(());
                }
                text.push_str(&said);
                count += 1;
            }
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let wanted = Wanted { recursive: true, hidden: false, ignored: false, most: LOOKED_AT };
        let passed = walk(start, wanted, &mut visit).map_err(|error| read_fault(&path, &error))?;
        if is_full {
            text.push_str(&format!("[truncated: more than {count} lines fit]"));
        } else if passed.is_cut || left == 0 {
            text.push_str("[truncated: not everything was searched]");
        } else if count == 0 {
            text.push_str("no line fits");
        }
        Ok(text.trim_end().to_owned())
    }
}

/// The text of a file; nothing where it is none, or too large.
fn content(found: &Found<'_>, left: u64) -> Option<String> {
    let file = found.open().ok()?;
    let size = file.metadata().ok()?.len();
    if size > FILE.min(left) {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(FILE).read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}
