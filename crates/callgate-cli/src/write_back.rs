//! Writing back: a file is replaced by its repaired text in one step, and kept under another name by choice.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::exit::Stop;
use crate::unpack::is_packed;

/// Replaces the file that held `before` by `after`. Whoever reads it meanwhile sees the one or the other, never a part.
pub(crate) fn write_back(path: &Path, before: &str, after: &str, backup: Option<&str>) -> Result<(), Stop> {
    let failed = |error: io::Error| {
        Stop::usage(
            format!("cannot write {}: {error}", path.display()),
            "check the directory and its permissions",
        )
    };
    let named = path.display();
    // A link stays one: what it leads to is replaced.
    let path = path.canonicalize().map_err(failed)?;
    let bytes = fs::read(&path).map_err(failed)?;
    if is_packed(&bytes) {
        return Err(Stop::usage(format!("{named} is packed"), "unpack it, or leave --inline out"));
    }
    if bytes != before.as_bytes() {
        return Err(Stop::usage(format!("{named} has changed meanwhile"), "call the command once more"));
    }
    if let Some(suffix) = backup {
        fs::copy(&path, beside(&path, suffix)).map_err(failed)?;
    }
    let unfinished = beside(&path, &format!(".unfinished-{}", std::process::id()));
    let written = replace(&path, &unfinished, after);
    if written.is_err() {
        // The file itself is as it was; what is left of the attempt is of no use.
        let _ = fs::remove_file(&unfinished);
    }
    written.map_err(failed)
}

fn replace(path: &Path, unfinished: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).open(unfinished)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(path.metadata()?.permissions())?;
    file.sync_all()?;
    fs::rename(unfinished, path)
}

/// The path with something behind its name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
