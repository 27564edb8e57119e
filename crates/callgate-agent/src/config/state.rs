//! The state folder: what is remembered between runs, for nobody else to read, and never through a link.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

use super::folder::{belongs, user};
use crate::id::random_id;

/// The longest file that is read, in bytes.
const LONGEST: u64 = 16 << 20;

/// A folder of the user's own, made when something is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateFolder {
    path: PathBuf,
}

impl StateFolder {
    /// The folder at this place.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        StateFolder { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What a file holds; nothing if there is none.
    pub fn read(&self, name: &str) -> io::Result<Option<String>> {
        let is_absent = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let dir = match self.open() {
            Err(error) if is_absent(&error) => return Ok(None),
            other => other?,
        };
        let mut options = OpenOptions::new();
        options.read(true).nonblock(true).follow(FollowSymlinks::No);
        let file = match dir.open_with(name, &options) {
            Err(error) if is_absent(&error) => return Ok(None),
            other => other?,
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("this is no regular file"));
        }
        let mut text = String::new();
        let length = file.take(LONGEST + 1).read_to_string(&mut text)?;
        if length as u64 > LONGEST {
            return Err(io::Error::other("the file is too large"));
        }
        Ok(Some(text))
    }

    /// Puts a text in the place of a file in one step. A link that stands there is replaced, not followed.
    pub fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.path)?;
        let dir = self.open()?;
        let unfinished = format!("{name}.{}", random_id());
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        cap_std::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = dir.open_with(&unfinished, &options)?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .and_then(|()| dir.rename(&unfinished, &dir, name));
        if written.is_err() {
            // Report the first error, not one from cleaning up after it.
            let _ = dir.remove_file(&unfinished);
        }
        written
    }

    fn open(&self) -> io::Result<Dir> {
        let dir = Dir::open_ambient_dir(&self.path, ambient_authority())?;
        belongs(user(), &dir.dir_metadata()?, &self.path).map_err(|error| io::Error::other(error.message))?;
        Ok(dir)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a03_what_is_written_replaces_a_link_and_leaves_what_it_led_to() {
        let path = std::env::temp_dir().join(format!("callgate-state-{}", std::process::id()));
        let state = StateFolder::at(path.join("deep/callgate"));
        assert_eq!(state.read("x").unwrap(), None);
        state.write("x", "one").unwrap();
        state.write("x", "two").unwrap();
        assert_eq!(state.read("x").unwrap().as_deref(), Some("two"));
        let mode = std::fs::metadata(state.path().join("x")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(std::fs::metadata(state.path()).unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::write(path.join("victim"), "mine").unwrap();
        std::os::unix::fs::symlink(path.join("victim"), state.path().join("y")).unwrap();
        assert!(state.read("y").is_err());
        state.write("y", "three").unwrap();
        assert_eq!(std::fs::read_to_string(path.join("victim")).unwrap(), "mine");
        assert_eq!(state.read("y").unwrap().as_deref(), Some("three"));
        assert_eq!(std::fs::read_dir(state.path()).unwrap().count(), 2, "nothing unfinished is left");
        drop(std::fs::remove_dir_all(&path));
    }
}
