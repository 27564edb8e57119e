//! Locks of the operating system: they end with whoever holds them, however that ends.

use std::fs::File;
use std::io;
use std::time::Duration;

/// Says that something is in use, for as long as the file is open. Somebody else's word is an error.
#[cfg(unix)]
pub(crate) fn lock(file: &File) -> io::Result<()> {
    use rustix::fs::{FlockOperation, flock};
    flock(file, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
        rustix::io::Errno::WOULDBLOCK => io::Error::new(io::ErrorKind::WouldBlock, "another process uses it"),
        other => other.into(),
    })
}

#[cfg(not(unix))]
pub(crate) fn lock(_: &File) -> io::Result<()> {
    Ok(())
}

/// Something that is in use. It is let go by name: a program that is just being started has a copy of every open file
/// for a moment, and would hold it longer.
pub(crate) struct Hold(pub(crate) File);

impl Drop for Hold {
    fn drop(&mut self) {
        unlock(&self.0);
    }
}

#[cfg(unix)]
fn unlock(file: &File) {
    // If unlocking fails, closing the file releases the lock.
    let _ = rustix::fs::flock(file, rustix::fs::FlockOperation::Unlock);
}

#[cfg(not(unix))]
fn unlock(_: &File) {}

/// Locks what others hold for a moment only, such as a folder while a session begins in it or is looked for.
pub(crate) fn lock_soon(file: &File) -> io::Result<()> {
    const TRIES: u32 = 50;
    let mut tries = 0;
    loop {
        match lock(file) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && tries < TRIES => {
                tries += 1;
                std::thread::sleep(Duration::from_millis(10));
            }
            locked => return locked,
        }
    }
}

/// Whether somebody uses it.
#[cfg(unix)]
pub(crate) fn is_locked(file: &File) -> bool {
    use rustix::fs::{FlockOperation, flock};
    let locked = flock(file, FlockOperation::NonBlockingLockShared);
    // Readers share the lock and release it at once, so that a writer waits for no more than this moment.
    unlock(file);
    locked == Err(rustix::io::Errno::WOULDBLOCK)
}

#[cfg(not(unix))]
pub(crate) fn is_locked(_: &File) -> bool {
    false
}
