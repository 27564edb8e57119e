//! Audit: one line per decision, each bound to the one before by its hash, on the disk before the decision counts.
//!
//! A record that could not be written is an error, and after it every further one is too: whoever runs tools must not
//! run what is not recorded. What the log promises: a changed, missing, inserted or moved line is found by
//! [`verify`], and with [`Sync::Decision`] nothing whose [`Receipt`] was given is lost. A log says itself that it is at
//! its end; one that does not was left or cut, and one whose last line is torn too: the log alone cannot tell which. How
//! far it went is therefore kept in a second place ([`Heads`]), each session says which one was before it, and with a
//! key ([`AuditKey`]) whoever has not got it cannot rewrite what is on record.

mod chain;
mod entry;
mod folder;
mod heads;
mod key;
mod log_line;
mod looks;
mod ours;
mod quotes;
mod redact;
mod secrets;
mod tape;
mod words;

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};

pub use chain::{Checkpoint, Fault, FaultKind, Known, LogEnd, Opening, Report, Sealed, verify, verify_file};
pub use entry::{Entry, EntryKind, Status};
pub use folder::{Chosen, FolderReport, SessionReport, sessions, verify_folder};
pub use heads::{Head, Heads, own_path, state_folder};
pub use key::AuditKey;
pub use log_line::error_line;
pub use redact::{REDACTED, Redaction, Style};

use crate::clock::timestamp;
use crate::lock::{Hold, lock_soon};
use crate::written::Written;
use folder::{Chain, Pruning};
use key::RecordKey;
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
    /// The file of the key with which records are sealed, if they are.
    pub key_file: Option<PathBuf>,
    /// The user's state folder, where the heads are kept; none if they are kept nowhere.
    pub state: Option<PathBuf>,
}

impl AuditSettings {
    /// Logs in this folder, each record forced to the disk, without values; nothing is removed, sealed or kept elsewhere.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        AuditSettings {
            folder: folder.into(),
            sync: Sync::Decision,
            redaction: Redaction::default(),
            repair_details: true,
            max_age: None,
            max_sessions: None,
            key_file: None,
            state: None,
        }
    }

    /// The same with as much of the values as this.
    pub fn keeping(mut self, style: Style) -> Self {
        self.redaction.style = style;
        self
    }
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
    key: Option<RecordKey>,
    clock: fn() -> SystemTime,
    /// The last to go, when everything is written.
    hold: Option<Hold>,
}

impl fmt::Debug for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuditLog").field("place", &self.place).field("seq", &self.seq).finish_non_exhaustive()
    }
}

impl AuditLog {
    /// Begins the log of a new session in its own file, and removes old sessions as the settings say. Its first record
    /// says which session was before it, and which ones go.
    pub fn create(settings: AuditSettings, session_id: &str) -> Result<Self, AuditError> {
        let path = session_path(&settings.folder, session_id)?;
        let failed = |error: io::Error| AuditError::new(AuditErrorCode::Unwritable, &path, error);
        let key = first_key(&settings)?;
        make_folder(&settings.folder).map_err(failed)?;
        // The lock on the folder keeps two new sessions from naming the same session as the one before them.
        let turn = File::open(&settings.folder).map_err(failed)?;
        lock_soon(&turn).map_err(failed)?;
        let others = sessions(&settings.folder).map_err(failed)?;
        let chain = Chain::read(&others);
        let before = chain.last().map(|id| head(&settings.folder, id)).transpose().map_err(failed)?;
        let pruning = Pruning::plan(&settings, &others, &chain).map_err(failed)?;
        let file = private().write(true).create_new(true).open(&path).map_err(failed)?;
        lock_soon(&file).map_err(failed)?;
        sync_folder(&settings.folder).map_err(failed)?;
        let hold = Hold(file.try_clone().map_err(failed)?);
        let heads = make_heads(&settings);
        let unheaded = heads.as_ref().err().cloned();
        let (kept, place) = (heads.as_ref().ok().cloned(), path.display().to_string());
        let mut log = AuditLog::begin(Box::new(file), settings, session_id, &place, SystemTime::now, kept);
        log.key = key.map(|key| key.of_session(session_id));
        log.hold = Some(hold);
        let opening = Opening { before, pruned: pruning.heads.clone(), unheaded };
        let status = if opening.unheaded.is_none() { Status::Ok } else { Status::Warn };
        log.write(Entry::new(EntryKind::Session, "open", status).message("the log begins"), Some(&opening))?;
        pruning.carry_out(heads.ok().as_deref()).map_err(failed)?;
        Ok(log)
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
        let key = first_key(&settings)?;
        let file = private().append(true).open(&path).map_err(failed)?;
        lock_soon(&file).map_err(failed)?;
        let heads = make_heads(&settings).ok();
        let kept = heads.as_ref().map_or(Ok(Vec::new()), |heads| heads.all()).map_err(failed)?;
        let of_this = kept.into_iter().filter(|head| head.session_id == session_id);
        let known = Known { session_id: None, checkpoints: of_this.map(|head| head.at).collect(), key };
        let report = verify_file(&path, &known).map_err(failed)?;
        if let Some(fault) = report.fault {
            return Err(AuditError::new(AuditErrorCode::Tampered, &path, fault));
        }
        file.set_len(report.whole_bytes).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        let place = path.display().to_string();
        let hold = Hold(file.try_clone().map_err(failed)?);
        let mut log = AuditLog::begin(Box::new(file), settings, session_id, &place, SystemTime::now, heads);
        log.hold = Some(hold);
        if let Some(head) = report.head {
            (log.seq, log.hash) = (head.seq, head.hash);
        }
        log.key = known.key.map(|key| key.of_session(session_id));
        if let Some(key) = &mut log.key {
            (0..log.seq).for_each(|_| key.advance());
        }
        if report.torn > 0 {
            let torn = Entry::new(EntryKind::Diagnostic, "torn-line", Status::Warn)
                .message("the last line was cut in its middle, by a crash or by a hand, and was removed")
                .detail("bytes", json!(report.torn));
            log.record(torn)?;
        }
        Ok(log)
    }

    /// A log on any medium, with any clock. No heads are kept of it.
    pub fn on(
        medium: Box<dyn Medium>,
        settings: AuditSettings,
        session_id: &str,
        place: &str,
        clock: fn() -> SystemTime,
    ) -> Self {
        AuditLog::begin(medium, settings, session_id, place, clock, None)
    }

    fn begin(
        medium: Box<dyn Medium>,
        settings: AuditSettings,
        session_id: &str,
        place: &str,
        clock: fn() -> SystemTime,
        heads: Option<Arc<Heads>>,
    ) -> Self {
        let cwd = std::env::current_dir().map(|path| path.display().to_string()).unwrap_or_default();
        AuditLog {
            tape: Tape::new(medium, settings.sync, heads),
            settings,
            session_id: session_id.to_owned(),
            cwd,
            place: place.to_owned(),
            seq: 0,
            hash: chain::genesis(session_id),
            key: None,
            clock,
            hold: None,
        }
    }

    /// Writes one record. Without a receipt the decision must not take effect.
    pub fn record(&mut self, entry: Entry) -> Result<Receipt, AuditError> {
        self.write(entry, None)
    }

    fn write(&mut self, entry: Entry, opening: Option<&Opening>) -> Result<Receipt, AuditError> {
        let (line, hash) = self.line(entry, opening, (self.clock)());
        let at = Checkpoint { seq: self.seq + 1, hash: hash.clone() };
        let head = Head { session_id: self.session_id.clone(), at };
        self.tape.append(line.as_bytes(), head).map_err(|fault| self.fault(fault))?;
        self.seq += 1;
        self.hash.clone_from(&hash);
        if let Some(key) = &mut self.key {
            key.advance();
        }
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
        AuditError { code, place: self.place.clone(), message, ran: None }
    }

    /// The line of a record and its hash.
    fn line(&self, entry: Entry, opening: Option<&Opening>, now: SystemTime) -> (String, String) {
        let redaction = &self.settings.redaction;
        let details = entry.details.iter().map(|(key, value)| (key.as_str(), value.clone()));
        let details = redaction.everything(&Written::object(details));
        let mut body = json!({
            "seq": self.seq + 1,
            "ts": timestamp(now),
            "type": entry.kind.word(),
            "action": redaction.text(&entry.action),
            "status": entry.status.word(),
            "message": redaction.text(&entry.message),
            "cwd": self.cwd,
            "session_id": self.session_id,
            "correlation_id": entry.correlation_id,
            "version": VERSION,
            "prev": self.hash,
        });
        if let Some(opening) = opening {
            body["opening"] = json!(opening);
        }
        let body = Written::from(body).with("details", details);
        chain::seal(&body.to_string(), &self.hash, self.key.as_ref())
    }
}

/// The file of a session. An id is part of a file name, so it is made of harmless characters only.
pub fn session_path(folder: &Path, session_id: &str) -> Result<PathBuf, AuditError> {
    let is_harmless = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let fits = !session_id.is_empty() && session_id.len() <= 128 && session_id.chars().all(is_harmless);
    let path = folder.join(file_name(session_id));
    if fits {
        return Ok(path);
    }
    let message = "a session id is made of letters, digits, `-` and `_`";
    Err(AuditError::new(AuditErrorCode::Unwritable, folder, message))
}

fn file_name(session_id: &str) -> String {
    format!("session-{session_id}.jsonl")
}

/// The session that a file is of, by its name.
fn session_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_prefix("session-")?.strip_suffix(".jsonl")
}

/// How far the log of a session went, by its own word.
fn head(folder: &Path, session_id: &str) -> io::Result<Head> {
    let report = verify_file(&folder.join(file_name(session_id)), &Known::default())?;
    let at = report.head.unwrap_or(Checkpoint { seq: 0, hash: String::new() });
    Ok(Head { session_id: session_id.to_owned(), at })
}

/// Where heads are kept, or why they are not: a session goes on without, and its first record says so.
fn make_heads(settings: &AuditSettings) -> Result<Arc<Heads>, String> {
    let state = settings.state.as_deref().ok_or("no state folder is known")?;
    Heads::make(state, &settings.folder).map(Arc::new).map_err(|error| error.to_string())
}

fn first_key(settings: &AuditSettings) -> Result<Option<AuditKey>, AuditError> {
    settings.key_file.as_deref().map(AuditKey::read).transpose()
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

/// Why something was not recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditError {
    /// What kind of error.
    pub code: AuditErrorCode,
    /// Which file.
    pub place: String,
    /// What happened.
    pub message: String,
    /// The tool that had run when what it gave could not be recorded; none if nothing had run unrecorded.
    pub ran: Option<String>,
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
    /// The key of the log cannot be used.
    NoKey,
}

impl AuditError {
    fn new(code: AuditErrorCode, place: &Path, message: impl fmt::Display) -> Self {
        AuditError { code, place: place.display().to_string(), message: message.to_string(), ran: None }
    }

    /// Says that a tool had run, and only what it gave is not on record.
    pub fn after(self, tool: &str) -> Self {
        AuditError { ran: Some(tool.to_owned()), ..self }
    }

    /// The way out.
    pub fn help(&self) -> &'static str {
        match self.code {
            AuditErrorCode::Unwritable => "nothing more is run; check space and permissions",
            AuditErrorCode::Broken => "nothing more is run; start a new session",
            AuditErrorCode::Tampered => {
                "keep the file as it is for whoever looks into it, and start a new session"
            }
            AuditErrorCode::NoKey => "see `audit.key_file`",
        }
    }
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (", self.place, self.message)?;
        if let Some(tool) = &self.ran {
            write!(f, "`{tool}` has run, and what it gave is not on record; ")?;
        }
        write!(f, "{})", self.help())
    }
}

impl std::error::Error for AuditError {}
