//! Walking a folder: everything beneath it in the order of names, without following a link, without recursion, bounded.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, File, FileType, OpenOptions};
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::write::is_unfinished;

/// How deep folders are entered.
const DEPTH: usize = 64;
/// The largest `.gitignore` that is read.
const RULES: u64 = 64 << 10;
/// Where paths are thought to begin, so that rules of all folders are about the same kind of path.
const TOP: &str = "/";

/// What is walked over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// What is in folders, too.
    pub(super) recursive: bool,
    /// Names that begin with a dot.
    pub(super) hidden: bool,
    /// What `.gitignore` files say is not part of the work.
    pub(super) ignored: bool,
    /// How many entries are looked at.
    pub(super) most: usize,
}

/// Something that was found.
pub(super) struct Found<'w> {
    parent: &'w Dir,
    name: &'w OsStr,
    /// Its path from the workspace.
    pub(super) path: &'w str,
    pub(super) kind: FileType,
}

impl Found<'_> {
    /// The file, if it still is a regular one; nothing is waited for.
    pub(super) fn open(&self) -> io::Result<File> {
        let file = self.parent.open_with(self.name, &reading())?;
        match file.metadata()?.is_file() {
            true => Ok(file),
            false => Err(io::Error::other("this is no regular file")),
        }
    }

    /// Its size, if it is still there.
    pub(super) fn size(&self) -> Option<u64> {
        self.parent.symlink_metadata(self.name).ok().map(|metadata| metadata.len())
    }
}

/// What the walk passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// How many hidden entries.
    pub(super) hidden: usize,
    /// Whether there was more than is looked at.
    pub(super) is_cut: bool,
}

/// The rules of one folder, above those of the folders around it.
struct Rules {
    own: Gitignore,
    around: Option<Rc<Rules>>,
}

/// An entry that waits to be visited.
struct Waiting {
    parent: Rc<Dir>,
    rules: Option<Rc<Rules>>,
    name: OsString,
    path: String,
    kind: FileType,
    depth: usize,
}

/// A folder to walk, and where it stands.
pub(super) struct Start {
    pub(super) folder: Dir,
    /// Its path from the workspace; empty if it is the workspace.
    pub(super) path: String,
    /// The folders around it with their paths, the outermost first: their rules hold in it too.
    pub(super) around: Vec<(String, Dir)>,
}

/// Visits what is wanted beneath a folder.
pub(super) fn walk(
    start: Start,
    wanted: Wanted,
    visit: &mut dyn FnMut(&Found<'_>) -> ControlFlow<()>,
) -> io::Result<Passed> {
    let mut passed = Passed::default();
    let mut seen = 0;
    let mut waiting: Vec<Waiting> = Vec::new();
    let around = start.around.iter().fold(None, |around, (path, folder)| rules(folder, path, around));
    let folder = Rc::new(start.folder);
    enter(folder, around, &start.path, 0, wanted, (&mut seen, &mut passed), &mut waiting)?;
    while let Some(next) = waiting.pop() {
        let found = Found { parent: &next.parent, name: &next.name, path: &next.path, kind: next.kind };
        if visit(&found).is_break() {
            return Ok(passed);
        }
        if wanted.recursive && next.kind.is_dir() && next.depth < DEPTH {
            // A folder that is gone by now, or that may not be read, holds nothing that could be shown.
            let Ok(folder) = next.parent.open_dir_nofollow(&next.name) else { continue };
            let counts = (&mut seen, &mut passed);
            let (rules, depth) = (next.rules.clone(), next.depth + 1);
            let _ = enter(Rc::new(folder), rules, &next.path, depth, wanted, counts, &mut waiting);
        }
    }
    Ok(passed)
}

/// Reads the entries of a folder, so that the first by name is visited first.
fn enter(
    folder: Rc<Dir>,
    around: Option<Rc<Rules>>,
    path: &str,
    depth: usize,
    wanted: Wanted,
    (seen, passed): (&mut usize, &mut Passed),
    waiting: &mut Vec<Waiting>,
) -> io::Result<()> {
    let rules = match wanted.ignored {
        true => around,
        false => rules(&folder, path, around),
    };
    let mut entries = Vec::new();
    for entry in folder.entries()? {
        if *seen == wanted.most {
            passed.is_cut = true;
            break;
        }
        let entry = entry?;
        let name = entry.file_name();
        if is_unfinished(&name) {
            continue;
        }
        *seen += 1;
        if !wanted.hidden && name.as_encoded_bytes().starts_with(b".") {
            passed.hidden += 1;
            continue;
        }
        let text = name.to_string_lossy();
        let path = if path.is_empty() { text.into_owned() } else { format!("{path}/{text}") };
        let kind = entry.file_type()?;
        if is_ignored(rules.as_deref(), &path, kind.is_dir()) {
            continue;
        }
        entries.push(Waiting { parent: Rc::clone(&folder), rules: rules.clone(), name, path, kind, depth });
    }
    entries.sort_by(|one, other| other.name.cmp(&one.name));
    waiting.extend(entries);
    Ok(())
}

/// The rules that hold in a folder.
fn rules(folder: &Dir, path: &str, around: Option<Rc<Rules>>) -> Option<Rc<Rules>> {
    let text = folder.open_with(".gitignore", &reading()).ok().and_then(|file| {
        let mut text = String::new();
        // What is no text holds no rules.
        let is_file = file.metadata().is_ok_and(|metadata| metadata.is_file());
        (is_file && file.take(RULES).read_to_string(&mut text).is_ok()).then_some(text)
    });
    let Some(text) = text else { return around };
    let mut builder = GitignoreBuilder::new(Path::new(TOP).join(path));
    for line in text.lines() {
        // A line that is no rule says nothing; git passes over it too.
        let _ = builder.add_line(None, line);
    }
    match builder.build() {
        Ok(own) => Some(Rc::new(Rules { own, around })),
        Err(_) => around,
    }
}

/// Whether rules leave a path out: the innermost that says anything decides.
fn is_ignored(rules: Option<&Rules>, path: &str, is_folder: bool) -> bool {
    let path = Path::new(TOP).join(path);
    let mut next = rules;
    while let Some(rules) = next {
        match rules.own.matched(&path, is_folder) {
            Match::Ignore(_) => return true,
            Match::Whitelist(_) => return false,
            Match::None => next = rules.around.as_deref(),
        }
    }
    false
}

/// How a file is opened to be read: never through a link, and never waiting for one that is no file.
fn reading() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true).follow(FollowSymlinks::No);
    options
}
