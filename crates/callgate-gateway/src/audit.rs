//! The audit: the verdicts of every exchange in the agent's hash-chained log, on record before the calls leave.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use callgate_agent::audit::{
    AuditError, AuditErrorCode, AuditKey, AuditLog, AuditSettings, Entry, EntryKind, Redaction, Status,
    Style, Sync, state_folder,
};
use callgate_agent::id::random_id;
use serde::Deserialize;

/// Where verdicts are recorded, and how much of them. The words are those of the agent's configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RecordSettings {
    /// The folder of the logs: one file for each start, and one more whenever one is full.
    pub folder: PathBuf,
    /// How much of the values of arguments is kept.
    #[serde(default)]
    pub values: Style,
    /// Further words that make the value of a key a secret.
    #[serde(default)]
    pub redact: Vec<String>,
    /// When records are forced to the disk.
    #[serde(default)]
    pub sync: SyncAt,
    /// The interval, in milliseconds.
    #[serde(default = "sync_interval_ms")]
    pub sync_interval_ms: u64,
    /// After how many records a new file begins.
    #[serde(default = "max_records")]
    pub max_records: u64,
    /// More files than this are removed, the oldest first; 0 keeps all.
    #[serde(default)]
    pub max_sessions: usize,
    /// The file of the key that seals records.
    #[serde(default)]
    pub key_file: Option<PathBuf>,
}

fn sync_interval_ms() -> u64 {
    200
}

fn max_records() -> u64 {
    100_000
}

impl RecordSettings {
    /// Records in this folder, as they are kept where nothing else is said.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        RecordSettings {
            folder: folder.into(),
            values: Style::default(),
            redact: Vec::new(),
            sync: SyncAt::default(),
            sync_interval_ms: sync_interval_ms(),
            max_records: max_records(),
            max_sessions: 0,
            key_file: None,
        }
    }

    /// What is wrong with them.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.max_records < 100 {
            faults.push("audit.max_records: a file holds at least 100 records".to_owned());
        }
        if !(1..=60_000).contains(&self.sync_interval_ms) {
            faults.push("audit.sync_interval_ms: 1 to 60000 milliseconds".to_owned());
        }
        if let Some(Err(error)) = self.key_file.as_deref().map(AuditKey::read) {
            faults.push(format!("audit.key_file: {}: {}", error.place, error.message));
        }
        faults
    }

    fn settings(&self) -> AuditSettings {
        AuditSettings {
            sync: match self.sync {
                SyncAt::Decision => Sync::Decision,
                SyncAt::Interval => Sync::Interval(Duration::from_millis(self.sync_interval_ms)),
            },
            redaction: Redaction { style: self.values, words: self.redact.clone() },
            max_sessions: Some(self.max_sessions).filter(|most| *most > 0),
            key_file: self.key_file.clone(),
            state: state_folder(),
            ..AuditSettings::new(&self.folder)
        }
    }
}

/// When records are forced to the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SyncAt {
    /// With each record, before the calls leave: nothing that left is lost in a power cut.
    Decision,
    /// At most an interval after a record: a server answers many at once.
    #[default]
    Interval,
}

/// The log that is being written.
#[derive(Clone)]
pub(crate) struct Audit {
    settings: Arc<AuditSettings>,
    most: u64,
    open: Arc<Mutex<Open>>,
}

struct Open {
    /// Nothing once it has ended.
    log: Option<AuditLog>,
    records: u64,
}

impl Audit {
    /// Begins a log.
    pub(crate) fn begin(settings: &RecordSettings) -> Result<Self, AuditError> {
        Audit::of(settings.settings(), settings.max_records)
    }

    fn of(settings: AuditSettings, most: u64) -> Result<Self, AuditError> {
        let log = Some(AuditLog::create(settings.clone(), &random_id())?);
        let open = Open { log, records: 1 };
        Ok(Audit { settings: Arc::new(settings), most, open: Arc::new(Mutex::new(open)) })
    }

    /// What is kept of values.
    pub(crate) fn settings(&self) -> &AuditSettings {
        &self.settings
    }

    /// Writes records, in this order and with no others between them. Waiting for the disk is done elsewhere than in the
    /// tasks of requests.
    pub(crate) async fn record(&self, entries: Vec<Entry>) -> Result<(), String> {
        let audit = self.clone();
        let written = tokio::task::spawn_blocking(move || audit.write(entries)).await;
        written.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
    }

    fn write(&self, entries: Vec<Entry>) -> Result<(), AuditError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.records >= self.most
            && let Some(mut full) = open.log.take()
        {
            full.record(end("the file is full; another begins"))?;
            full.flush()?;
            // The old file must be closed when the next one names it as the one before.
            drop(full);
            *open = Open { log: Some(AuditLog::create((*self.settings).clone(), &random_id())?), records: 1 };
        }
        let Open { log: Some(log), records } = &mut *open else { return Err(self.over()) };
        for entry in entries {
            log.record(entry)?;
            *records += 1;
        }
        Ok(())
    }

    /// The error of a record after the end, or after a file that could not be begun.
    fn over(&self) -> AuditError {
        let place = self.settings.folder.display().to_string();
        AuditError { code: AuditErrorCode::Broken, place, message: "no log is open".to_owned(), ran: None }
    }

    /// Says that the log is at its end, and forces everything to the disk.
    pub(crate) fn end(&self) -> Result<(), AuditError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut log) = open.log.take() else { return Ok(()) };
        log.record(end("the server ends"))?;
        log.flush().map(|_| ())
    }
}

fn end(why: &str) -> Entry {
    Entry::new(EntryKind::Session, "end", Status::Ok).message(why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_agent::audit::{Chosen, LogEnd, verify_folder};

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("callgate-gateway-{name}-{}", random_id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[tokio::test]
    async fn a_full_file_is_ended_and_the_next_one_names_it() {
        let folder = folder("full");
        let audit = Audit::of(AuditSettings::new(&folder), 3).unwrap();
        for number in 0..7 {
            let entry = Entry::new(EntryKind::Response, &format!("n{number}"), Status::Ok);
            audit.record(vec![entry]).await.unwrap();
        }
        audit.end().unwrap();
        let report = verify_folder(&folder, &Chosen::All, None, None).unwrap();
        assert_eq!(report.sessions.len(), 4, "two records after the first of each");
        for session in &report.sessions {
            assert!(session.report.fault.is_none() && session.report.end == LogEnd::Whole);
        }
        assert!(report.missing.is_empty());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn what_cannot_be_written_is_an_error_and_stays_one() {
        let folder = folder("gone");
        let audit = Audit::of(AuditSettings::new(&folder), 2).unwrap();
        let entry = || vec![Entry::new(EntryKind::Response, "x", Status::Ok)];
        audit.record(entry()).await.unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        std::fs::write(&folder, "a file where the folder was").unwrap();
        // The file is full, and there is no place for the next.
        assert!(audit.record(entry()).await.is_err());
        assert!(audit.record(entry()).await.is_err());
        std::fs::remove_file(folder).unwrap();
    }
}
