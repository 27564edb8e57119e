//! `fs.write`: a whole file, proposed as a diff, then put in place in one step.
//!
//! A proposal remembers what the file held; it is only applied to that. The new text goes into a file beside the old
//! one, is forced to the disk, and takes the old one's name. So after a crash at any point there is the old file or the
//! new one, and a second name of the old file (a hard link, perhaps outside of the root) keeps the old text.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::time::SystemTime;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, File, OpenOptions, Permissions};
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::super::diff;
use super::super::{ToolError, ToolErrorCode};
use super::root::{Missing, Root, shown, write_fault};
use crate::approval::Hunks;
use crate::clock::timestamp;
use crate::id::{is_id, random_id};

/// What the names of files that are being written begin and end with. Between stand an id and a part of its hash, so that
/// no name of the user's is taken for one.
const UNFINISHED: (&str, &str) = (".callgate-", ".tmp");

/// A change to a file that has not been made yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proposal {
    /// An id of its own.
    pub id: String,
    /// The file, from the root.
    pub path: String,
    /// Whether the file is new.
    pub is_new_file: bool,
    /// The SHA-256 of what the file holds now; none if it is new.
    pub base_hash: Option<String>,
    /// The SHA-256 of what it will hold.
    pub content_hash: String,
    /// When it was made.
    pub generated_at: String,
    /// The change, line by line; whoever shows it makes it safe.
    pub diff: String,
    /// How many hunks of it can be made one by one; none where it is made as a whole.
    pub hunks: usize,
}

/// What would change if this were the whole text.
pub(super) fn propose(root: &Root, path: &str, content: &str, limit: usize) -> Result<Proposal, ToolError> {
    within(content, path, limit)?;
    Ok(propose_from(root, path, limit, |_| Ok(content.to_owned()))?.0)
}

/// What would change, and the whole new text, which is made from what the file holds now.
pub(super) fn propose_from(
    root: &Root,
    path: &str,
    limit: usize,
    make: impl FnOnce(Option<&[u8]>) -> Result<String, ToolError>,
) -> Result<(Proposal, String), ToolError> {
    let (folder, name) = root.folder_of(path, Missing::Leave)?;
    let base = match &folder {
        Some(folder) => base(folder, name, path, limit)?,
        None => None,
    };
    let old = base.as_ref().map(|base| base.bytes.as_slice());
    let content = make(old)?;
    within(&content, path, limit)?;
    let change = diff::diff(path, old, &content);
    let proposal = Proposal {
        id: random_id(),
        path: path.to_owned(),
        is_new_file: base.is_none(),
        base_hash: old.map(hash),
        content_hash: hash(content.as_bytes()),
        generated_at: timestamp(SystemTime::now()),
        diff: change.text,
        hunks: change.hunks,
    };
    Ok((proposal, content))
}

fn within(content: &str, path: &str, limit: usize) -> Result<(), ToolError> {
    if content.len() <= limit {
        return Ok(());
    }
    let message = format!("{} bytes are more than the {limit} that can be written", content.len());
    Err(ToolError::new(ToolErrorCode::TooLarge, shown(path), message))
}

/// Makes the change, or only some hunks of it, unless the file is no longer what it was.
pub(super) fn apply(
    root: &Root,
    proposal: &Proposal,
    content: &str,
    hunks: Option<&Hunks>,
    limit: usize,
) -> Result<String, ToolError> {
    let path = proposal.path.as_str();
    let (folder, name) = root.folder_of(path, Missing::Make)?;
    let Some(folder) = folder else {
        return Err(ToolError::new(ToolErrorCode::NotFound, shown(path), "its folder is gone"));
    };
    let base = base(&folder, name, path, limit)?;
    if base.as_ref().map(|base| hash(&base.bytes)) != proposal.base_hash {
        let message = "the file was changed after the change to it was shown";
        return Err(ToolError::new(ToolErrorCode::Changed, shown(path), message));
    }
    let what = if proposal.is_new_file { "created" } else { "replaced" };
    let said = |text: &str| {
        format!("{} {what}: {} bytes, sha256 {}", shown(path), text.len(), hash(text.as_bytes()))
    };
    let old = base.as_ref().and_then(|base| std::str::from_utf8(&base.bytes).ok());
    let (content, said) = match hunks.zip(old) {
        None => (Cow::Borrowed(content), said(content)),
        Some((hunks, old)) => {
            let accepted = diff::accepted(old, content, hunks);
            let said = format!("{}\n{}", said(&accepted), diff::refused(old, content, hunks));
            (Cow::Owned(accepted), said)
        }
    };
    let permissions = base.map(|base| base.permissions);
    replace(&folder, name, content.as_bytes(), permissions).map_err(|error| write_fault(path, &error))?;
    Ok(said)
}

/// Whether a name is that of a file that is being written, or was when something ended. Whatever else begins and ends so
/// is the user's.
pub(super) fn is_unfinished(name: &OsStr) -> bool {
    let name = name.to_str().and_then(|name| name.strip_prefix(UNFINISHED.0)?.strip_suffix(UNFINISHED.1));
    name.and_then(|name| name.split_once('-')).is_some_and(|(id, sum)| is_id(id) && sum == check(id))
}

/// The part of an id's hash that stands behind it.
fn check(id: &str) -> String {
    hash(id.as_bytes()).chars().take(8).collect()
}

/// What a file holds before it is changed.
struct Base {
    bytes: Vec<u8>,
    permissions: Permissions,
}

fn base(folder: &Dir, name: &str, path: &str, limit: usize) -> Result<Option<Base>, ToolError> {
    let failed = |error: io::Error| write_fault(path, &error);
    let reject = |code, message: &str| Err(ToolError::new(code, shown(path), message));
    let metadata = match folder.symlink_metadata(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed)?,
    };
    if metadata.is_symlink() {
        return reject(ToolErrorCode::PathOutsideRoot, "this is a link; nothing is written through links");
    }
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true).follow(FollowSymlinks::No);
    let is_file = metadata.is_file();
    let file = if is_file { Some(folder.open_with(name, &options).map_err(failed)?) } else { None };
    let metadata = match &file {
        Some(file) => file.metadata().map_err(failed)?,
        None => metadata,
    };
    let Some(file) = file.filter(|_| metadata.is_file()) else {
        return reject(ToolErrorCode::NotAFile, "only a regular file can be replaced");
    };
    if metadata.permissions().readonly() {
        return reject(ToolErrorCode::Forbidden, "the file is marked as not to be written");
    }
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > limit {
        return reject(ToolErrorCode::TooLarge, "the file is too large to be replaced");
    }
    Ok(Some(Base { bytes, permissions: metadata.permissions() }))
}

/// Puts bytes in the place of a file in one step.
fn replace(folder: &Dir, name: &str, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
    sweep(folder)?;
    let (unfinished, mut file) = begin(folder, permissions.is_some())?;
    let written = (|| {
        file.write_all(bytes)?;
        if let Some(permissions) = permissions {
            file.set_permissions(permissions)?;
        }
        file.sync_all()?;
        folder.rename(&unfinished, folder, name)
    })();
    if written.is_err() {
        // Report the first error; the next write sweeps up what could not be removed.
        let _ = folder.remove_file(&unfinished);
    }
    written?;
    sync(folder)
}

/// A new file of its own name, locked for as long as it is open.
fn begin(folder: &Dir, is_private: bool) -> io::Result<(String, File)> {
    loop {
        let id = random_id();
        let name = format!("{}{id}-{}{}", UNFINISHED.0, check(&id), UNFINISHED.1);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if is_private {
            // Until it has the old file's permissions, nobody else reads it.
            cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        let file = folder.open_with(&name, &options)?;
        if holds(folder, &name, &file)? {
            return Ok((name, file));
        }
    }
}

/// Locks a file that was just made. False if somebody swept it away before it was locked.
#[cfg(unix)]
fn holds(folder: &Dir, name: &str, file: &File) -> io::Result<bool> {
    use rustix::fs::{FlockOperation, flock};
    flock(file, FlockOperation::LockExclusive)?;
    folder.try_exists(name)
}

#[cfg(not(unix))]
fn holds(_: &Dir, _: &str, _: &File) -> io::Result<bool> {
    Ok(true)
}

/// Removes what earlier writings left when they were killed. Whoever still writes holds a lock.
#[cfg(unix)]
fn sweep(folder: &Dir) -> io::Result<()> {
    use rustix::fs::{FlockOperation, flock};
    for entry in folder.entries()? {
        let name = entry?.file_name();
        if !is_unfinished(&name) {
            continue;
        }
        let mut options = OpenOptions::new();
        options.read(true).nonblock(true).follow(FollowSymlinks::No);
        if let Ok(file) = folder.open_with(&name, &options)
            && flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok()
        {
            // Another writer may have swept it first.
            let _ = folder.remove_file(&name);
        }
    }
    Ok(())
}

#[cfg(not(unix))]
fn sweep(_: &Dir) -> io::Result<()> {
    Ok(())
}

/// A new name is only there after a power cut if its folder was forced to the disk too.
#[cfg(unix)]
fn sync(folder: &Dir) -> io::Result<()> {
    use rustix::fs::{Mode, OFlags, fsync, openat};
    // The capability's own handle is only good for finding names, so the folder is opened once more, by itself.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(fsync(openat(folder, ".", flags, Mode::empty())?)?)
}

#[cfg(not(unix))]
fn sync(_: &Dir) -> io::Result<()> {
    Ok(())
}

fn hash(bytes: &[u8]) -> String {
    crate::hex(&Sha256::digest(bytes))
}
