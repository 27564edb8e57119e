//! Heads: how far each log went, kept in a second place outside of the workspace, so that a log that was cut short or
//! rewritten is found.
//!
//! The place is `callgate/heads/HASH/SESSION.json` in the user's state folder, where HASH is of the log folder's own path.
//! Below the state folder no link is followed. A head is replaced whole, after its record is on the disk: it is never
//! ahead of its log.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, OpenOptions};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Checkpoint;
use crate::hex;

/// The folders on the way, from the state folder on.
const WAY: [&str; 2] = ["callgate", "heads"];
/// The most bytes of a head's file.
const MOST: u64 = 64 << 10;

/// How far the log of a session went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The session.
    pub session_id: String,
    /// Its last record.
    #[serde(flatten)]
    pub at: Checkpoint,
}

/// The user's state folder: `$XDG_STATE_HOME`, or else `~/.local/state`. None if neither can be told.
pub fn state_folder() -> Option<PathBuf> {
    // The XDG specification says to ignore a path that is not absolute.
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
}

/// The heads of one folder's logs.
pub struct Heads {
    dir: Dir,
    place: PathBuf,
    folder: String,
}

/// A head as it is kept, with the folder that it is about for whoever looks at the file.
#[derive(Serialize, Deserialize)]
struct Kept {
    folder: String,
    #[serde(flatten)]
    head: Head,
}

impl Heads {
    /// Opens the place of a folder's heads and makes it if it is not there.
    pub(super) fn make(state: &Path, folder: &Path) -> io::Result<Self> {
        super::make_folder(state)?;
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        cap_std::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let make = |dir: &Dir, name: &str| match dir.create_dir_with(name, &builder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        };
        Heads::reach(state, folder, &make)
    }

    /// Opens the place of a folder's heads, if there is one.
    pub fn find(state: &Path, folder: &Path) -> io::Result<Option<Self>> {
        match Heads::reach(state, folder, &|_, _| Ok(())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found.map(Some),
        }
    }

    fn reach(state: &Path, folder: &Path, make: &dyn Fn(&Dir, &str) -> io::Result<()>) -> io::Result<Self> {
        let folder = own_path(folder)?;
        let key = hex(&Sha256::digest(folder.as_os_str().as_encoded_bytes()));
        let mut dir = Dir::open_ambient_dir(state, ambient_authority())?;
        let mut place = state.to_owned();
        for name in WAY.into_iter().chain([key.as_str()]) {
            make(&dir, name)?;
            dir = dir.open_dir_nofollow(name)?;
            place.push(name);
        }
        Ok(Heads { dir, place, folder: folder.display().to_string() })
    }

    /// Where they are.
    pub fn place(&self) -> &Path {
        &self.place
    }

    /// Every head that can be read. One that cannot says nothing, as one that was lost would.
    pub fn all(&self) -> io::Result<Vec<Head>> {
        let mut found = Vec::new();
        for entry in self.dir.entries()? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if let Some(id) = name.strip_suffix(".json").filter(|id| !id.starts_with('.')) {
                found.extend(self.get(id));
            }
        }
        found.sort_by(|a, b| a.session_id.cmp(&b.session_id));
        Ok(found)
    }

    fn get(&self, session_id: &str) -> Option<Head> {
        let mut options = OpenOptions::new();
        options.read(true).follow(FollowSymlinks::No);
        let file = self.dir.open_with(name(session_id), &options).ok()?;
        let mut text = String::new();
        file.take(MOST).read_to_string(&mut text).ok()?;
        let kept: Kept = serde_json::from_str(&text).ok()?;
        (kept.head.session_id == session_id).then_some(kept.head)
    }

    /// Keeps a head in place of the one before.
    pub(super) fn put(&self, head: &Head) -> io::Result<()> {
        let kept = Kept { folder: self.folder.clone(), head: head.clone() };
        let text = serde_json::to_string(&kept).map_err(io::Error::other)?;
        // A session has one writer, so nobody else writes this file.
        let new = format!(".{}.new", head.session_id);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).follow(FollowSymlinks::No);
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = self.dir.open_with(&new, &options)?;
        file.write_all(text.as_bytes())?;
        self.dir.rename(&new, &self.dir, name(&head.session_id))
    }

    /// Forgets a session that was removed by rule.
    pub(super) fn remove(&self, session_id: &str) -> io::Result<()> {
        match self.dir.remove_file(name(session_id)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }
}

fn name(session_id: &str) -> String {
    format!("{session_id}.json")
}

/// The one path of a folder, without links, also where the folder or its last parents are not there any more.
pub fn own_path(folder: &Path) -> io::Result<PathBuf> {
    let whole = std::path::absolute(folder)?;
    let mut gone: Vec<OsString> = Vec::new();
    let mut there = whole.as_path();
    loop {
        match std::fs::canonicalize(there) {
            Ok(path) => return Ok(gone.iter().rev().fold(path, |path, name| path.join(name))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        match (there.parent(), there.file_name()) {
            (Some(parent), Some(name)) => {
                gone.push(name.to_owned());
                there = parent;
            }
            _ => return Ok(whole),
        }
    }
}
