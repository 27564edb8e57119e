//! The folder that the file tools are confined to: a capability, so that no path, link or race leads out of it.
//!
//! Every operation starts from an open folder and is resolved by the system beneath it; nothing is checked as text and
//! opened as a path afterwards. What reads may follow links that stay inside; what writes follows none, so that the
//! path that was checked and shown is the place that is written.

use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::{DirExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use super::super::{ToolError, ToolErrorCode};
use super::walk::Start;
use crate::approval::{Preview, Starts};
use crate::visible::{Breaks, is_hidden, visible};

/// The longest name that file systems take, in bytes.
const LONGEST_NAME: usize = 255;
/// The longest path that systems take, in bytes.
const LONGEST_PATH: usize = 4095;
/// Folders of the host's own files, which no tool writes: its configuration decides what runs unasked, and its records
/// say what did.
const OWN: &[&str] = &[".agent"];

/// A folder and everything beneath it.
#[derive(Debug)]
pub struct Root {
    dir: Dir,
    /// Where it was when it was opened, to be shown.
    place: PathBuf,
    own: Vec<String>,
}

/// Whether missing folders on the way to a file are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Missing {
    Make,
    Leave,
}

impl Root {
    /// Opens a folder. From here on its own path does not matter: it may be moved or replaced.
    pub fn open(path: &Path) -> Result<Self, ToolError> {
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(|error| {
            let message = format!("the workspace cannot be opened: {error}");
            ToolError::new(ToolErrorCode::NoWorkspace, path.display().to_string(), message)
        })?;
        let place = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Ok(Root { dir, place, own: OWN.iter().map(|name| (*name).to_owned()).collect() })
    }

    /// Keeps tools from writing a further file or folder, named from the root.
    pub fn keep(mut self, path: &str) -> Self {
        self.own.push(folded(path.trim_matches('/')));
        self
    }

    /// What is done to a file or folder, for whoever is asked.
    pub(super) fn preview(&self, effect: &'static str, path: &str) -> Preview {
        let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
        let place = self.place.join(parts.collect::<Vec<_>>().join("/"));
        Preview {
            starts: Starts::Nothing,
            effect,
            place: Some(place.to_string_lossy().into_owned()),
            ..Preview::default()
        }
    }

    /// Opens a regular file to be read. What is no regular file is not opened at all if that can be seen before, and is
    /// never waited for.
    pub(super) fn open_file(&self, path: &str) -> Result<(File, Metadata), ToolError> {
        let plain = inside(path)?;
        let failed = |error: io::Error| read_fault(path, &error);
        regular(path, &self.dir.metadata(plain).map_err(failed)?)?;
        let mut options = OpenOptions::new();
        options.read(true).nonblock(true);
        let file = self.dir.open_with(plain, &options).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        regular(path, &metadata)?;
        Ok((file, metadata))
    }

    /// Opens a folder to be listed.
    pub(super) fn open_folder(&self, path: &str) -> Result<Dir, ToolError> {
        let plain = inside(path)?;
        self.dir.open_dir(plain).map_err(|error| match error.kind() {
            io::ErrorKind::NotADirectory => {
                ToolError::new(ToolErrorCode::NotAFolder, shown(path), "this is no folder")
            }
            _ => read_fault(path, &error),
        })
    }

    /// Opens a folder to walk beneath it, and the folders around it.
    pub(super) fn start(&self, path: &str) -> Result<Start, ToolError> {
        let folder = self.open_folder(path)?;
        let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        // A path that climbs has no plain place of its own, so only the rules inside of it hold.
        let known = if parts.contains(&"..") { 0 } else { parts.len() };
        let around = (0..known).map(|count| {
            let path = parts[..count].join("/");
            let folder = self.open_folder(if count == 0 { "." } else { &path })?;
            Ok((path, folder))
        });
        Ok(Start { folder, path: parts.join("/"), around: around.collect::<Result<_, ToolError>>()? })
    }

    /// The folder that a file is to be written in, reached without following a link, and the file's name. Nothing if
    /// the folder is not there and is not to be made.
    pub(super) fn folder_of<'p>(
        &self,
        path: &'p str,
        missing: Missing,
    ) -> Result<(Option<Dir>, &'p str), ToolError> {
        inside(path)?;
        let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if parts.contains(&"..") {
            let message = "a file is written by its plain path, without `..`";
            return Err(ToolError::new(ToolErrorCode::BadPath, shown(path), message));
        }
        let Some((name, folders)) = parts.split_last().filter(|_| !path.ends_with('/')) else {
            return Err(ToolError::new(ToolErrorCode::NotAFile, shown(path), "this is a folder"));
        };
        self.reject_own(path, &parts)?;
        let failed = |error: io::Error| write_fault(path, &error);
        let mut dir = self.dir.try_clone().map_err(failed)?;
        for folder in folders {
            dir = match dir.open_dir_nofollow(folder) {
                Ok(next) => next,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if missing == Missing::Leave {
                        return Ok((None, name));
                    }
                    match dir.create_dir(folder) {
                        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                            return Err(failed(error));
                        }
                        _ => {}
                    }
                    dir.open_dir_nofollow(folder).map_err(failed)?
                }
                Err(error) => return Err(failed(error)),
            };
        }
        Ok((Some(dir), name))
    }

    fn reject_own(&self, path: &str, parts: &[&str]) -> Result<(), ToolError> {
        let whole = folded(&parts.join("/"));
        let is_own = self.own.iter().any(|own| {
            whole.strip_prefix(own.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        if is_own {
            let message = "this belongs to the host, and no tool writes it";
            return Err(ToolError::new(ToolErrorCode::Forbidden, shown(path), message));
        }
        Ok(())
    }
}

/// A path as it may stand in a message.
pub(super) fn shown(path: &str) -> String {
    visible(path, Breaks::Show).chars().take(300).collect()
}

/// What a failed reading is called.
pub(super) fn read_fault(path: &str, error: &io::Error) -> ToolError {
    let (code, message) = match error.kind() {
        io::ErrorKind::NotFound => (ToolErrorCode::NotFound, "there is no such file or folder".to_owned()),
        io::ErrorKind::NotADirectory => {
            (ToolErrorCode::NotFound, "a part of the path is no folder".to_owned())
        }
        io::ErrorKind::IsADirectory => (ToolErrorCode::NotAFile, "this is a folder".to_owned()),
        // Errors of the system have a number; those with which `cap-std` rejects a path have none.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => outside(),
        io::ErrorKind::CrossesDevices => outside(),
        _ if is_loop(error) => outside(),
        _ => (ToolErrorCode::Failed, error.to_string()),
    };
    ToolError::new(code, shown(path), message)
}

/// What a failed writing is called.
pub(super) fn write_fault(path: &str, error: &io::Error) -> ToolError {
    if error.kind() == io::ErrorKind::NotADirectory || is_loop(error) {
        let message = "a part of the path is a link or no folder; nothing is written through links";
        return ToolError::new(ToolErrorCode::PathOutsideRoot, shown(path), message);
    }
    read_fault(path, error)
}

/// Whether the system met a link where none is followed, or too many.
#[cfg(unix)]
fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_loop(_: &io::Error) -> bool {
    false
}

fn outside() -> (ToolErrorCode, String) {
    (ToolErrorCode::PathOutsideRoot, "the path leads out of the workspace".to_owned())
}

fn regular(path: &str, metadata: &Metadata) -> Result<(), ToolError> {
    if metadata.is_file() {
        return Ok(());
    }
    let message = if metadata.is_dir() { "this is a folder" } else { "this is no regular file" };
    Err(ToolError::new(ToolErrorCode::NotAFile, shown(path), message))
}

/// The path, if it can be handed to the system as it is. That a path does not climb out is decided by the system; what
/// plainly does is rejected here, so that it is called by its name even where a folder on the way is missing.
fn inside(path: &str) -> Result<&str, ToolError> {
    let reject = |code, message: &str| Err(ToolError::new(code, shown(path), message));
    if path.is_empty() {
        return reject(ToolErrorCode::PathOutsideRoot, "the path is empty");
    }
    if path.starts_with('/') {
        return reject(ToolErrorCode::PathOutsideRoot, "the path is not relative to the workspace");
    }
    if path.chars().any(is_hidden) {
        return reject(ToolErrorCode::BadPath, "the path holds characters that cannot be seen");
    }
    if path.contains('\\') {
        return reject(ToolErrorCode::BadPath, "the path holds a backslash");
    }
    if path.len() > LONGEST_PATH || path.split('/').any(|part| part.len() > LONGEST_NAME) {
        return reject(ToolErrorCode::BadPath, "the path is too long");
    }
    let mut depth = 0_i64;
    for part in path.split('/') {
        depth += match part {
            "" | "." => 0,
            ".." => -1,
            _ => 1,
        };
        if depth < 0 {
            return reject(ToolErrorCode::PathOutsideRoot, "the path climbs out of the workspace");
        }
    }
    Ok(path)
}

/// A path as file systems that ignore the case of letters, or dots and spaces at the end of a name, compare it.
fn folded(path: &str) -> String {
    let parts: Vec<String> =
        path.split('/').map(|part| part.trim_end_matches([' ', '.']).to_lowercase()).collect();
    parts.join("/")
}
