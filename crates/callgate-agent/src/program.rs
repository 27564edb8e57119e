//! Programs: where a name leads on this system, what a started one gets of the environment, and how all that it started
//! ends with it.

use std::path::{Path, PathBuf};

use tokio::process::{Child, Command};

/// The variables that every started program gets: who and where the user is, and how to write. A closed list: all others
/// may hold a key, and reach only the program for which they are named.
const PASSED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_ADDRESS",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
    // Without these no program starts on Windows, or finds where it may write.
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "HOMEDRIVE",
    "HOMEPATH",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROCESSOR_ARCHITECTURE",
];

/// Takes the environment away from a program that is about to start, but for the closed list. `secrets` are variables
/// that it does not get, whatever they are called.
pub(crate) fn confine(command: &mut Command, secrets: &[String]) {
    command.env_clear();
    let passed = PASSED.iter().filter(|name| !secrets.iter().any(|secret| secret == *name));
    let held = passed.filter_map(|name| Some((name, std::env::var_os(name)?)));
    // Old shells define a function from a variable whose value begins so.
    command.envs(held.filter(|(_, value)| !value.as_encoded_bytes().starts_with(b"()")));
}

/// The file that starts under this name, as the system looks for it: on the path, or where the name itself says.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let whole = |path: PathBuf| std::path::absolute(path).ok();
    if name.contains(std::path::is_separator) {
        return Some(PathBuf::from(name)).filter(|path| is_program(path)).and_then(whole);
    }
    let folders = std::env::var_os("PATH")?;
    let mut files = std::env::split_paths(&folders).map(|folder| folder.join(name));
    files.find(|path| is_program(path)).and_then(whole)
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// A program and whatever it started. If nobody waits for it any more, all of them end.
pub(crate) struct Group(pub(crate) Child);

impl Group {
    /// Starts a program as the first of a group of its own.
    pub(crate) fn start(mut command: Command) -> std::io::Result<Self> {
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        command.spawn().map(Group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // `id` is `None` once the program was waited for, so that no other one with the same id is killed.
        #[cfg(unix)]
        if let Some(leader) = self.0.id().and_then(|id| i32::try_from(id).ok())
            && let Some(leader) = rustix::process::Pid::from_raw(leader)
        {
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_name_leads_where_the_system_would_look() {
        assert!(find("sh").is_some_and(|path| path.is_absolute() && path.ends_with("sh")));
        assert_eq!(find("/bin/sh"), Some(PathBuf::from("/bin/sh")));
        assert_eq!(find("no-such-program"), None);
        assert_eq!(find("/etc/passwd"), None, "what cannot be run is no program");
        assert_eq!(find(""), None);
    }
}
