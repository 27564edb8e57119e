//! Audit: one line per decision, each bound to the one before by its hash, on the disk before the decision counts.
//!
//! A record that could not be written is an error, and after it every further one is too: whoever runs tools must not
//! run what is not recorded. What the log promises: a changed, missing, inserted or moved line is found by
//! [`verify`]; a last line that was torn by a crash is told apart from both; and with [`Sync::Decision`] nothing whose
//! [`Receipt`] was given is lost. A tail that was cut off whole is found with a [`Checkpoint`] that was kept elsewhere.

mod chain;
mod entry;
mod log_line;
mod ours;
mod redact;
mod tape;

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub use chain::{Checkpoint, Fault, FaultKind, Report, verify, verify_file};
pub use entry::{Entry, EntryKind, Status};
pub use log_line::error_line;
pub use redact::{REDACTED, Redaction, Style};

use crate::clock::timestamp;
use ours::is_ours;
use tape::{Tape, TapeFault};

/// The version of the form of a line.
const VERSION: &str = "1";

/// When records are forced to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// With each record, before its receipt is given.
    Decision,
    /// At most this long after a record, and at the end of each question; until then a power cut can lose what has a
    /// receipt.
    Interval(Duration),
}

/// How a log is kept.
#[derive(Clone, Debug)]
pub struct AuditSettings {
    /// The folder of the session files.
    pub folder: PathBuf,
    /// When records are forced to the disk.
    pub sync: Sync,
    /// What is kept of values.
    pub redaction: Redaction,
    /// Whether each repair is listed, or only their number.
    pub repair_details: bool,
    /// Sessions that are older are removed, if given.
    pub max_age: Option<Duration>,
    /// More sessions are removed, the oldest first, if given.
    pub max_sessions: Option<usize>,
}

/// Proof that a record was written, and by the log's policy is durable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Its number in the session, counted from one.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
}

/// What lines are written to. A file in all but tests.
pub trait Medium: Send {
    /// Appends bytes.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Forces what was appended to the disk.
    fn sync(&mut self) -> io::Result<()>;
}

impl Medium for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// The log of one session.
pub struct AuditLog {
    tape: Tape,
    settings: AuditSettings,
    session_id: String,
    cwd: String,
    place: String,
    seq: u64,
    hash: String,
    clock: fn() -> SystemTime,
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditLog").field("place", &self.place).field("seq", &self.seq).finish_non_exhaustive()
    }
}

impl AuditLog {
    /// Begins the log of a new session in its own file, and removes old sessions as the settings say.
    pub fn create(settings: AuditSettings, session_id: &str) -> Result<Self, AuditError> {
        let path = session_path(&settings.folder, session_id)?;
        let failed = |error: io::Error| AuditError::new(AuditErrorCode::Unwritable, &path, error);
        make_folder(&settings.folder).map_err(failed)?;
        let file = private().write(true).create_new(true).open(&path).map_err(failed)?;
        lock(&file).map_err(failed)?;
        sync_folder(&settings.folder).map_err(failed)?;
        prune(&settings, &path, SystemTime::now()).map_err(failed)?;
        Ok(AuditLog::on(Box::new(file), settings, session_id, &path.display().to_string(), SystemTime::now))
    }

    /// Goes on with the log of a session. It is verified first; a last line that was torn is cut off, and a record says
    /// so. A log that was tampered with is not gone on with.
    pub fn resume(settings: AuditSettings, session_id: &str) -> Result<Self, AuditError> {
        let path = session_path(&settings.folder, session_id)?;
        let failed = |error: io::Error| AuditError::new(AuditErrorCode::Unwritable, &path, error);
        let is_link = std::fs::symlink_metadata(&path).map_err(failed)?.is_symlink();
        if is_link {
            return Err(failed(io::Error::other("this is a link, and no log is written through one")));
        }
        let file = private().append(true).open(&path).map_err(failed)?;
        lock(&file).map_err(failed)?;
        let report = verify_file(&path, None).map_err(failed)?;
        if let Some(fault) = report.fault {
            return Err(AuditError::new(AuditErrorCode::Tampered, &path, fault));
        }
        file.set_len(report.whole_bytes).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        let place = path.display().to_string();
        let mut log = AuditLog::on(Box::new(file), settings, session_id, &place, SystemTime::now);
        if let Some(head) = report.head {
            (log.seq, log.hash) = (head.seq, head.hash);
        }
        if report.torn > 0 {
            let torn = Entry::new(EntryKind::Diagnostic, "torn-line", Status::Warn)
                .message("a last line that a crash had torn was cut off")
                .detail("bytes", json!(report.torn));
            log.record(torn)?;
        }
        Ok(log)
    }

    /// A log on any medium, with any clock.
    pub fn on(
        medium: Box<dyn Medium>,
        settings: AuditSettings,
        session_id: &str,
        place: &str,
        clock: fn() -> SystemTime,
    ) -> Self {
        let cwd = std::env::current_dir().map(|path| path.display().to_string()).unwrap_or_default();
        AuditLog {
            tape: Tape::new(medium, settings.sync),
            settings,
            session_id: session_id.to_owned(),
            cwd,
            place: place.to_owned(),
            seq: 0,
            hash: chain::genesis(session_id),
            clock,
        }
    }

    /// Writes one record. Without a receipt the decision must not take effect.
    pub fn record(&mut self, entry: Entry) -> Result<Receipt, AuditError> {
        let (line, hash) = self.line(entry, (self.clock)());
        self.tape.append(line.as_bytes()).map_err(|fault| self.fault(fault))?;
        self.seq += 1;
        self.hash.clone_from(&hash);
        Ok(Receipt { seq: self.seq, hash })
    }

    /// Forces everything to the disk; the end of a question or of the session.
    pub fn flush(&mut self) -> Result<Checkpoint, AuditError> {
        self.tape.sync().map_err(|fault| self.fault(fault))?;
        Ok(Checkpoint { seq: self.seq, hash: self.hash.clone() })
    }

    /// What is kept of values.
    pub fn settings(&self) -> &AuditSettings {
        &self.settings
    }

    fn fault(&self, fault: TapeFault) -> AuditError {
        let (code, message) = match fault {
            TapeFault::Failed(error) => (AuditErrorCode::Unwritable, error.to_string()),
            TapeFault::Broken(why) => (AuditErrorCode::Broken, why),
        };
        AuditError { code, place: self.place.clone(), message }
    }

    /// The line of a record and its hash.
    fn line(&self, entry: Entry, now: SystemTime) -> (String, String) {
        let redaction = &self.settings.redaction;
        let body = json!({
            "seq": self.seq + 1,
            "ts": timestamp(now),
            "type": entry.kind.word(),
            "action": redaction.text(&entry.action),
            "status": entry.status.word(),
            "message": redaction.text(&entry.message),
            "cwd": self.cwd,
            "session_id": self.session_id,
            "correlation_id": entry.correlation_id,
            "details": redaction.everything(&Value::Object(entry.details)),
            "version": VERSION,
            "prev": self.hash,
        });
        chain::seal(&body.to_string(), &self.hash)
    }
}

/// The file of a session. An id is part of a file name, so it is made of harmless characters only.
pub fn session_path(folder: &Path, session_id: &str) -> Result<PathBuf, AuditError> {
    let is_harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let fits = !session_id.is_empty() && session_id.len() <= 128 && session_id.chars().all(is_harmless);
    let path = folder.join(format!("session-{session_id}.jsonl"));
    if fits {
        return Ok(path);
    }
    let message = "a session id is made of letters, digits, `-` and `_`";
    Err(AuditError::new(AuditErrorCode::Unwritable, folder, message))
}

/// The session files of a folder, the one that was written last at the end.
pub fn sessions(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with("session-") && name.ends_with(".jsonl") {
            found.push((entry.metadata()?.modified()?, entry.path()));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Removes sessions of this workspace that are too old or too many. Those that are being written stay, whoever writes them.
fn prune(settings: &AuditSettings, current: &Path, now: SystemTime) -> io::Result<()> {
    if settings.max_age.is_none() && settings.max_sessions.is_none() {
        return Ok(());
    }
    let others = sessions(&settings.folder)?.into_iter().filter(|path| path != current && is_ours(path));
    let others: Vec<PathBuf> = others.collect();
    let room = settings.max_sessions.map_or(usize::MAX, |most| most.saturating_sub(1));
    // The newest first.
    for (number, path) in others.into_iter().rev().enumerate() {
        let modified = std::fs::metadata(&path)?.modified()?;
        let is_old =
            settings.max_age.is_some_and(|age| now.duration_since(modified).is_ok_and(|passed| passed > age));
        if (number >= room || is_old) && File::open(&path).and_then(|file| lock(&file)).is_ok() {
            std::fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// A text too large for a record: its length and its hash.
fn digest(text: &str) -> String {
    format!("{} bytes, sha256 {}", text.len(), crate::hex(&Sha256::digest(text.as_bytes())))
}

/// Files that nobody else may read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Says that a log is being written, for as long as the file is open. Somebody else's word is an error.
#[cfg(unix)]
fn lock(file: &File) -> io::Result<()> {
    use rustix::fs::{FlockOperation, flock};
    flock(file, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
        rustix::io::Errno::WOULDBLOCK => io::Error::other("another process is writing it"),
        other => other.into(),
    })
}

#[cfg(not(unix))]
fn lock(_: &File) -> io::Result<()> {
    Ok(())
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A new file is only there after a power cut if its folder was forced to the disk too.
fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Why nothing was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditError {
    /// What kind of error.
    pub code: AuditErrorCode,
    /// Which file.
    pub place: String,
    /// What happened.
    pub message: String,
}

/// The kinds of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AuditErrorCode {
    /// The record could not be written or made durable.
    Unwritable,
    /// An earlier record could not, so this one was not tried.
    Broken,
    /// The log was changed by somebody else.
    Tampered,
}

impl AuditError {
    fn new(code: AuditErrorCode, place: &Path, message: impl fmt::Display) -> Self {
        AuditError { code, place: place.display().to_string(), message: message.to_string() }
    }

    /// The way out.
    pub fn help(&self) -> &'static str {
        match self.code {
            AuditErrorCode::Unwritable => "check space and permissions; nothing was run",
            AuditErrorCode::Broken => "start a new session; nothing was run",
            AuditErrorCode::Tampered => {
                "keep the file as it is for whoever looks into it, and start a new session"
            }
        }
    }
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.place, self.message, self.help())
    }
}

impl std::error::Error for AuditError {}
