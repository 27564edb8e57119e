//! One session at a time in a folder.

use std::fs::File;
use std::io;
use std::path::Path;

use crate::lock::{Hold, lock};

/// A folder that a session works in, for as long as this lives. The operating system holds the lock on the folder itself:
/// nothing is written, and nothing is left behind, however the session ends.
#[must_use]
pub struct SessionGuard(#[expect(dead_code, reason = "it is held, not used")] Hold);

impl SessionGuard {
    /// Takes a folder. If another session has it, that is an error of the kind [`WouldBlock`](io::ErrorKind::WouldBlock);
    /// any other means that this folder cannot be locked, and nobody is kept out.
    pub fn take(folder: &Path) -> io::Result<Self> {
        if cfg!(not(unix)) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let file = File::open(folder)?;
        lock(&file)?;
        Ok(SessionGuard(Hold(file)))
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn x66_a_folder_has_one_session_and_is_free_once_it_ends() {
        let folder = std::env::temp_dir().join(format!("callgate-guard-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("inside")).unwrap();
        let taken = |place: &Path| SessionGuard::take(place).map(drop).map_err(|error| error.kind());
        let guard = SessionGuard::take(&folder).unwrap();
        assert_eq!(taken(&folder.join("inside/..")), Err(io::ErrorKind::WouldBlock));
        assert_eq!(taken(&folder.join("inside")), Ok(()), "another folder is another matter");
        drop(guard);
        assert_eq!(taken(&folder), Ok(()));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(taken(&folder), Err(io::ErrorKind::NotFound));
    }
}
