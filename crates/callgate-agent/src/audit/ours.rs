//! Whose a log is: a folder may hold the logs of several workspaces, and each removes only its own.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserialize;

/// The longest first line that is read, in bytes.
const LONGEST: u64 = 64 << 20;

/// What the first record of a log says about itself.
#[derive(Deserialize)]
struct FirstLine {
    session_id: String,
    cwd: String,
}

/// Whether a file is the log of a session that ran in the folder where this program runs. What is a link, or does not
/// begin with a record of the session that its name says, is nobody's.
pub(super) fn is_ours(path: &Path) -> bool {
    let is_file = std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    let first = File::open(path).ok().filter(|_| is_file).and_then(|file| {
        let mut line = Vec::new();
        BufReader::new(file.take(LONGEST)).read_until(b'\n', &mut line).ok()?;
        serde_json::from_slice::<FirstLine>(&line).ok()
    });
    let here = std::env::current_dir().map(|path| path.display().to_string());
    first.zip(here.ok()).is_some_and(|(first, here)| {
        let name = format!("session-{}.jsonl", first.session_id);
        first.cwd == here && path.file_name().is_some_and(|own| own == name.as_str())
    })
}
