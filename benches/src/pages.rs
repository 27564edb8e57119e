//! Pages: puts what was measured into the documents, between marks, so that nobody writes figures by hand.

use std::error::Error;
use std::path::{Path, PathBuf};

/// A file of the repository.
pub fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Replaces the marked parts of a page.
pub fn write(page: &str, parts: &[(&str, String)]) -> Result<(), Box<dyn Error>> {
    let path = root(page);
    let mut text = std::fs::read_to_string(&path)?;
    for (part, table) in parts {
        let (start, end) = (format!("<!-- made: {part} -->\n"), "<!-- end -->");
        let found =
            text.split_once(&start).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
        let (before, after) = found.ok_or_else(|| format!("{page} has no part `{part}`"))?;
        text = format!("{before}{start}{}\n{end}{after}", table.trim_end());
    }
    std::fs::write(path, text)?;
    eprintln!("{page} is written");
    Ok(())
}

/// What the figures were measured on and with.
pub fn machine() -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = cpus.lines().filter_map(|line| line.strip_prefix("model name"));
    let model = named.filter_map(|rest| rest.split_once(": ")).map(|(_, model)| model.trim()).next();
    let compiler = std::process::Command::new("rustc").arg("--version").output();
    let compiler = compiler.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let compiler = compiler.unwrap_or_default();
    let compiler = compiler.split(" (").next().unwrap_or_default().trim();
    format!("{}, {compiler}", model.unwrap_or("an unknown processor"))
}
