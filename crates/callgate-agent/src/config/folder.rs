//! The file that a folder brings along: read once, through the folder's capability, without following links, and only
//! where the folder and all on the way belong to the user.

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, OpenOptions};
use sha2::{Digest, Sha256};

use super::{ConfigError, ConfigErrorCode, Origin};
use crate::hex;

/// Where the file is, from the folder in which the agent works.
pub const FILE: &str = ".agent/config.yml";
/// The longest file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// The file of a folder, as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderFile {
    /// The whole path, without links.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// The SHA-256 of the very bytes that are the text.
    pub sha256: String,
}

impl FolderFile {
    /// Reads [`FILE`] of a folder; nothing if it is not there. What belongs to another user, or is a link, is an error.
    pub fn read(folder: &Path) -> Result<Option<Self>, ConfigError> {
        read_as(user(), folder)
    }
}

/// Rejects a way down from a folder that the agent is to write in, if the folder or any part of the way belongs to
/// another user or is a link. What is not there yet is nobody's; a way that leads out of the folder is the user's choice.
pub fn check_way(folder: &Path, way: &Path) -> Result<(), ConfigError> {
    if !way.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Ok(());
    }
    let dir = open(user(), folder)?;
    walk(user(), dir, way).map(drop)
}

fn read_as(user: Option<u32>, folder: &Path) -> Result<Option<FolderFile>, ConfigError> {
    let file = Path::new(FILE);
    let way = file.parent().unwrap_or(file);
    match Dir::open_ambient_dir(folder, ambient_authority()).and_then(|dir| dir.symlink_metadata(way)) {
        // Without `.agent` there is nothing to read, so it does not matter whose the folder is.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        _ => {}
    }
    let Some(dir) = walk(user, open(user, folder)?, way)? else { return Ok(None) };
    let mut options = OpenOptions::new();
    options.read(true).nonblock(true).follow(FollowSymlinks::No);
    let name = file.file_name().map_or(file, Path::new);
    let opened = match dir.open_with(name, &options) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(_) if dir.symlink_metadata(name).is_ok_and(|metadata| metadata.is_symlink()) => {
            return Err(is_link(file));
        }
        other => other.map_err(|error| unreadable(file, &error))?,
    };
    let metadata = opened.metadata().map_err(|error| unreadable(file, &error))?;
    belongs(user, &metadata, file)?;
    if !metadata.is_file() {
        return Err(unreadable(file, &io::Error::other("this is no regular file")));
    }
    let mut bytes = Vec::new();
    opened.take(LONGEST + 1).read_to_end(&mut bytes).map_err(|error| unreadable(file, &error))?;
    if bytes.len() as u64 > LONGEST {
        return Err(unreadable(file, &io::Error::other("the file is too large")));
    }
    let sha256 = hex(&Sha256::digest(&bytes));
    let text = String::from_utf8(bytes).map_err(|error| unreadable(file, &io::Error::other(error)))?;
    let folder = std::fs::canonicalize(folder).map_err(|error| unreadable(folder, &error))?;
    Ok(Some(FolderFile { path: folder.join(file), text, sha256 }))
}

fn open(user: Option<u32>, folder: &Path) -> Result<Dir, ConfigError> {
    let failed = |error: io::Error| unreadable(folder, &error);
    let dir = Dir::open_ambient_dir(folder, ambient_authority()).map_err(failed)?;
    belongs(user, &dir.dir_metadata().map_err(failed)?, folder)?;
    Ok(dir)
}

/// Goes down from a folder without following links; nothing if the way ends before it is over.
fn walk(user: Option<u32>, mut dir: Dir, way: &Path) -> Result<Option<Dir>, ConfigError> {
    let mut walked = PathBuf::new();
    for part in way.components() {
        let Component::Normal(name) = part else { continue };
        walked.push(name);
        dir = match dir.open_dir_nofollow(name) {
            Ok(next) => next,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(_) if dir.symlink_metadata(name).is_ok_and(|metadata| metadata.is_symlink()) => {
                return Err(is_link(&walked));
            }
            Err(error) => return Err(unreadable(&walked, &error)),
        };
        let metadata = dir.dir_metadata().map_err(|error| unreadable(&walked, &error))?;
        belongs(user, &metadata, &walked)?;
    }
    Ok(Some(dir))
}

/// The user as whom this program runs; nothing where systems do not say.
#[cfg(unix)]
pub(super) fn user() -> Option<u32> {
    Some(rustix::process::geteuid().as_raw())
}

#[cfg(not(unix))]
pub(super) fn user() -> Option<u32> {
    None
}

#[cfg(unix)]
pub(super) fn belongs(user: Option<u32>, metadata: &Metadata, path: &Path) -> Result<(), ConfigError> {
    let owner = cap_std::fs::MetadataExt::uid(metadata);
    if user == Some(owner) {
        return Ok(());
    }
    let message = format!("this belongs to another user (uid {owner}), so it is not read or written unasked");
    let help =
        "work in a folder of your own, or name a file with --config and a folder with --set audit.folder=DIR";
    Err(fault(ConfigErrorCode::NotYours, path, message, help))
}

#[cfg(not(unix))]
pub(super) fn belongs(_: Option<u32>, _: &Metadata, _: &Path) -> Result<(), ConfigError> {
    Ok(())
}

fn is_link(path: &Path) -> ConfigError {
    let message = "this is a link, and nothing is read or written through links".to_owned();
    fault(ConfigErrorCode::NotYours, path, message, "put the file itself there, or name it with --config")
}

fn unreadable(path: &Path, error: &io::Error) -> ConfigError {
    let message = format!("this cannot be read: {error}");
    fault(ConfigErrorCode::Unreadable, path, message, "check the path and the permissions")
}

fn fault(code: ConfigErrorCode, path: &Path, message: String, help: &str) -> ConfigError {
    let origin = Origin::Folder { path: path.to_owned(), line: 0 };
    ConfigError { code, origin, key: String::new(), message, help: help.to_owned() }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("callgate-folder-{}-{name}", std::process::id()));
            drop(std::fs::remove_dir_all(&path));
            std::fs::create_dir_all(path.join(".agent")).unwrap();
            Scratch(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn a01_a_file_is_read_once_with_the_hash_of_its_bytes() {
        let scratch = Scratch::new("read");
        assert_eq!(FolderFile::read(&scratch.0), Ok(None));
        std::fs::write(scratch.0.join(FILE), "profile: strict\n").unwrap();
        let file = FolderFile::read(&scratch.0).unwrap().unwrap();
        assert_eq!(file.text, "profile: strict\n");
        assert_eq!(file.sha256, hex(&Sha256::digest(b"profile: strict\n")));
        assert_eq!(file.path, std::fs::canonicalize(&scratch.0).unwrap().join(FILE));
    }

    #[test]
    fn a01_what_belongs_to_somebody_else_is_not_read() {
        let scratch = Scratch::new("owner");
        std::fs::write(scratch.0.join(FILE), "profile: strict\n").unwrap();
        let other = user().map(|user| user + 1);
        let error = read_as(other, &scratch.0).unwrap_err();
        assert_eq!(error.code, ConfigErrorCode::NotYours);
        std::fs::remove_dir_all(scratch.0.join(".agent")).unwrap();
        assert_eq!(read_as(other, &scratch.0), Ok(None), "a folder that brings nothing is not asked about");
    }

    #[test]
    fn a03_nothing_is_reached_through_a_link() {
        let scratch = Scratch::new("links");
        let elsewhere = scratch.0.join("elsewhere");
        std::fs::create_dir_all(elsewhere.join(".agent")).unwrap();
        std::fs::write(elsewhere.join(FILE), "profile: strict\n").unwrap();
        std::os::unix::fs::symlink(elsewhere.join(FILE), scratch.0.join(FILE)).unwrap();
        assert_eq!(FolderFile::read(&scratch.0).unwrap_err().code, ConfigErrorCode::NotYours);
        std::fs::remove_dir_all(scratch.0.join(".agent")).unwrap();
        std::os::unix::fs::symlink(elsewhere.join(".agent"), scratch.0.join(".agent")).unwrap();
        assert_eq!(FolderFile::read(&scratch.0).unwrap_err().code, ConfigErrorCode::NotYours);
        let way = check_way(&scratch.0, Path::new(".agent/audit")).unwrap_err();
        assert_eq!(way.code, ConfigErrorCode::NotYours);
        assert_eq!(check_way(&elsewhere, Path::new(".agent/audit")), Ok(()));
    }
}
