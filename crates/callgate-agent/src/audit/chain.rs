//! The chain: each line holds the hash of the line before and its own, over the exact bytes of the line; and with a key,
//! a seal that only the key can make.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::heads::Head;
use super::key::{AuditKey, RecordKey};
use crate::hex;

/// What stands before the hash at the end of a line.
const HASH: &str = ",\"hash\":\"";
/// What stands before the seal, which stands before the hash.
const SEAL: &str = ",\"seal\":\"";
/// How a line ends after its hash.
const END: &str = "\"}";
/// The digits of a hash, and of a seal.
const DIGITS: usize = 64;

/// How far a log went: kept elsewhere, it shows whether the end was cut off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The number of the last record.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
}

/// What is known about a log from elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The session that it is of.
    pub session_id: Option<String>,
    /// Records that were in it at some time.
    pub checkpoints: Vec<Checkpoint>,
    /// The first key of its seals.
    pub key: Option<AuditKey>,
}

/// What a verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// How many records hold, from the start.
    pub records: u64,
    /// The session that they are of.
    pub session_id: Option<String>,
    /// The last record that holds.
    pub head: Option<Checkpoint>,
    /// How many bytes all records that hold have.
    pub whole_bytes: u64,
    /// How many bytes of a last line are there that has no end.
    pub torn: u64,
    /// How the log ends.
    pub end: LogEnd,
    /// Whether a key shows that nobody rewrote it.
    pub sealed: Sealed,
    /// What the first record says about the sessions before it.
    pub opening: Option<Opening>,
    /// The first thing that is wrong.
    pub fault: Option<Fault>,
}

/// How a log ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogEnd {
    /// With the record of its end.
    Whole,
    /// Not yet: somebody is writing it.
    Running,
    /// Without the record of its end, and nobody is writing it: the writer died, or the end was cut off.
    #[default]
    Unfinished,
    /// In the middle of a line, and nobody is writing it: nothing in the log tells a crash from a cut.
    Torn,
}

impl LogEnd {
    /// The stable word.
    pub fn word(self) -> &'static str {
        match self {
            LogEnd::Whole => "whole",
            LogEnd::Running => "running",
            LogEnd::Unfinished => "unfinished",
            LogEnd::Torn => "torn",
        }
    }
}

/// Whether a key shows that nobody rewrote a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sealed {
    /// Its records have no seals: whoever can write the file can rewrite it.
    #[default]
    Unkeyed,
    /// Its records have seals, and no key to check them was given.
    Unchecked,
    /// The key made the seals of all its records.
    Checked,
}

/// What the first record of a session says about the others of its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// The session before it, and how far that had gone.
    pub before: Option<Head>,
    /// The sessions that were removed by rule when it began, as far as they were there or are still spoken of.
    pub pruned: Vec<Head>,
    /// Why no heads are kept of it in a second place; nothing if they are.
    pub unheaded: Option<String>,
}

/// Something that is wrong with a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The line, counted from one.
    pub line: u64,
    /// What kind.
    pub kind: FaultKind,
    /// What it means.
    pub message: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// The kinds of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FaultKind {
    /// There is nothing in the file, so it is no log.
    NoLog,
    /// The line is no record.
    NoRecord,
    /// The line does not have the hash that it claims.
    Changed,
    /// The line does not follow the one before it.
    BrokenLink,
    /// The record is of another session.
    OtherSession,
    /// The record does not have the seal that the key makes.
    NotSealed,
    /// The log ends before a record that was in it.
    CutOff,
    /// The log went another way than it had gone.
    RolledBack,
}

/// The hash that the first record of a session follows.
pub(super) fn genesis(session_id: &str) -> String {
    hex(&Sha256::digest(format!("callgate audit 1 {session_id}").as_bytes()))
}

/// The line of a record with its seal, its hash and its end; and the hash.
pub(super) fn seal(body: &str, previous: &str, key: Option<&RecordKey>) -> (String, String) {
    let open = body.strip_suffix('}').unwrap_or(body);
    let sealed = match key {
        Some(key) => format!("{open}{SEAL}{}\"", key.seal(previous, open)),
        None => open.to_owned(),
    };
    let hash = link(previous, &sealed);
    (format!("{sealed}{HASH}{hash}{END}\n"), hash)
}

/// The hash of a record behind another: of that one's hash and the record's own object, here without its last brace.
fn link(previous: &str, open: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(previous.as_bytes());
    hasher.update(open.as_bytes());
    hasher.update(b"}");
    hex(&hasher.finalize())
}

/// Verifies a log file: that it is the log of the session that its name says, and whether somebody is writing it too. An
/// error is one of reading.
pub fn verify_file(path: &Path, known: &Known) -> io::Result<Report> {
    let file = File::open(path)?;
    // Look for a writer before reading: a log that is finished meanwhile must not look unfinished.
    let is_running = crate::lock::is_locked(&file);
    let known = Known { session_id: super::session_of(path).map(str::to_owned), ..known.clone() };
    let mut report = verify(&mut BufReader::new(file), &known)?;
    if is_running && report.end != LogEnd::Whole {
        report.end = LogEnd::Running;
    }
    Ok(report)
}

/// Verifies a log, line by line, up to the first thing that is wrong.
pub fn verify(log: &mut dyn BufRead, known: &Known) -> io::Result<Report> {
    let mut checker = Checker::new(known);
    let mut line = Vec::new();
    loop {
        line.clear();
        if log.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let Some(text) = line.strip_suffix(b"\n") else {
            checker.report.torn = line.len() as u64;
            checker.report.end = LogEnd::Torn;
            break;
        };
        if let Err((kind, message)) = checker.record(text) {
            let line = checker.report.records + 1;
            checker.report.fault = Some(Fault { line, kind, message: message.to_owned() });
            return Ok(checker.report);
        }
        checker.report.whole_bytes += line.len() as u64;
    }
    Ok(checker.finish())
}

/// What ties a record to the one before; the rest is not read.
#[derive(Deserialize)]
struct Links<'a> {
    #[serde(borrow)]
    prev: Cow<'a, str>,
    seq: u64,
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    action: Cow<'a, str>,
    opening: Option<Opening>,
}

/// The first record of a log, as far as it can be read; it is not verified.
pub(super) fn opening(path: &Path) -> Option<(String, Option<Opening>)> {
    let mut line = Vec::new();
    BufReader::new(File::open(path).ok()?).read_until(b'\n', &mut line).ok()?;
    let text = std::str::from_utf8(&line).ok()?;
    #[derive(Deserialize)]
    struct First {
        ts: String,
        opening: Option<Opening>,
    }
    serde_json::from_str::<First>(text).ok().map(|first| (first.ts, first.opening))
}

/// A log on its way through verification.
struct Checker<'k> {
    known: &'k Known,
    /// The key of the next record; none where there is no key, or no record yet.
    key: Option<RecordKey>,
    has_seals: bool,
    report: Report,
}

impl<'k> Checker<'k> {
    fn new(known: &'k Known) -> Self {
        Checker { known, key: None, has_seals: true, report: Report::default() }
    }

    /// Checks one line against what is before it.
    fn record(&mut self, line: &[u8]) -> Result<(), (FaultKind, &'static str)> {
        const NO_RECORD: (FaultKind, &str) = (FaultKind::NoRecord, "this is no record");
        let text = std::str::from_utf8(line).map_err(|_| NO_RECORD)?;
        let (open, hash) = tail(text, HASH, END).ok_or(NO_RECORD)?;
        let Links { prev, seq, session_id, kind, action, opening } =
            serde_json::from_str(text).map_err(|_| NO_RECORD)?;
        if link(&prev, open) != hash {
            return Err((FaultKind::Changed, "the record was changed"));
        }
        let wanted = self.report.session_id.as_ref().or(self.known.session_id.as_ref());
        if wanted.is_some_and(|wanted| *wanted != session_id) {
            return Err((FaultKind::OtherSession, "the record is of another session"));
        }
        let follows = match &self.report.head {
            Some(head) => prev == head.hash,
            None => prev == genesis(&session_id),
        };
        if !follows || seq != self.report.records + 1 {
            return Err((FaultKind::BrokenLink, "a record before this one is missing, moved or added"));
        }
        self.seal(open, &prev, &session_id)?;
        let was = |checkpoint: &&Checkpoint| checkpoint.seq == seq && checkpoint.hash != hash;
        if self.known.checkpoints.iter().any(|checkpoint| was(&checkpoint)) {
            return Err((FaultKind::RolledBack, "another record was here, so the log was rewritten"));
        }
        let is_end = kind == "session" && action == "end";
        let report = &mut self.report;
        report.end = if is_end { LogEnd::Whole } else { LogEnd::Unfinished };
        if seq == 1 {
            report.session_id = Some(session_id.into_owned());
            report.opening = opening;
        }
        report.head = Some(Checkpoint { seq, hash: hash.to_owned() });
        report.records = seq;
        Ok(())
    }

    /// Checks the seal of a record, if there is a key for it.
    fn seal(&mut self, open: &str, prev: &str, session_id: &str) -> Result<(), (FaultKind, &'static str)> {
        let sealed = tail(open, SEAL, "\"");
        self.has_seals &= sealed.is_some();
        let Some(first) = &self.known.key else { return Ok(()) };
        let key = self.key.get_or_insert_with(|| first.of_session(session_id));
        if sealed.is_none_or(|(open, seal)| key.seal(prev, open) != seal) {
            return Err((FaultKind::NotSealed, "the key did not seal this record, so the log was rewritten"));
        }
        key.advance();
        Ok(())
    }

    /// What can only be said at the end.
    fn finish(self) -> Report {
        let mut report = self.report;
        report.sealed = match (report.records > 0 && self.has_seals, &self.known.key) {
            (false, _) => Sealed::Unkeyed,
            (true, None) => Sealed::Unchecked,
            (true, Some(_)) => Sealed::Checked,
        };
        let last = self.known.checkpoints.iter().map(|checkpoint| checkpoint.seq).max().unwrap_or(0);
        let fault = |kind, message| Some(Fault { line: report.records, kind, message });
        report.fault = if last > report.records {
            let records = report.records;
            fault(FaultKind::CutOff, format!("the log ends at record {records}, and {last} were written"))
        } else if report.records == 0 && report.torn == 0 {
            fault(FaultKind::NoLog, "the file is empty, and a log has at least one record".to_owned())
        } else {
            None
        };
        report
    }
}

/// A text cut before its last value: what stands before, and the digits.
fn tail<'t>(text: &'t str, before: &str, after: &str) -> Option<(&'t str, &'t str)> {
    let length = before.len() + DIGITS + after.len();
    let (open, tail) = text.split_at_checked(text.len().checked_sub(length)?)?;
    Some((open, tail.strip_prefix(before)?.strip_suffix(after)?))
}
