//! The chain: each line holds the hash of the line before and its own, over the exact bytes of the line.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::hex;

/// What stands before the hash at the end of a line.
const SEAL: &str = ",\"hash\":\"";
/// How a line ends after its hash.
const END: &str = "\"}";
/// The digits of a hash.
const DIGITS: usize = 64;

/// How far a log went: kept elsewhere, it shows whether the end was cut off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Checkpoint {
    /// The number of the last record.
    pub seq: u64,
    /// Its hash.
    pub hash: String,
}

/// What a verification found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// How many records are sound, from the start.
    pub records: u64,
    /// The last sound record.
    pub head: Option<Checkpoint>,
    /// How many bytes all sound records have.
    pub whole_bytes: u64,
    /// How many bytes of a last line are there that never got its end: a crash, not a change.
    pub torn: u64,
    /// The first thing that is wrong.
    pub fault: Option<Fault>,
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
    /// The line is no record.
    NoRecord,
    /// The line does not have the hash that it claims.
    Changed,
    /// The line does not follow the one before it.
    BrokenLink,
    /// The log ends before the checkpoint.
    CutOff,
    /// The log went another way than the checkpoint.
    RolledBack,
}

/// The hash that the first record of a session follows.
pub(super) fn genesis(session_id: &str) -> String {
    hex(&Sha256::digest(format!("callgate audit 1 {session_id}").as_bytes()))
}

/// The line of a record with its hash and its end, and the hash.
pub(super) fn seal(body: &str, previous: &str) -> (String, String) {
    let open = body.strip_suffix('}').unwrap_or(body);
    let hash = link(previous, open);
    (format!("{open}{SEAL}{hash}{END}\n"), hash)
}

/// The hash of a record behind another: of that one's hash and the record's own object, here without its last brace.
fn link(previous: &str, open: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(previous.as_bytes());
    hasher.update(open.as_bytes());
    hasher.update(b"}");
    hex(&hasher.finalize())
}

/// Verifies a log file. An error is one of reading.
pub fn verify_file(path: &Path, checkpoint: Option<&Checkpoint>) -> io::Result<Report> {
    verify(&mut BufReader::new(File::open(path)?), checkpoint)
}

/// Verifies a log, line by line, up to the first thing that is wrong.
pub fn verify(log: &mut dyn BufRead, checkpoint: Option<&Checkpoint>) -> io::Result<Report> {
    let mut report = Report::default();
    let mut line = Vec::new();
    let mut reached = None;
    loop {
        line.clear();
        if log.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let number = report.records + 1;
        let Some(text) = line.strip_suffix(b"\n") else {
            report.torn = line.len() as u64;
            break;
        };
        match record(text, &report) {
            Ok(head) => {
                if checkpoint.is_some_and(|checkpoint| checkpoint.seq == head.seq) {
                    reached = Some(head.hash.clone());
                }
                report.head = Some(head);
            }
            Err((kind, message)) => {
                report.fault = Some(Fault { line: number, kind, message: message.to_owned() });
                return Ok(report);
            }
        }
        report.records = number;
        report.whole_bytes += line.len() as u64;
    }
    report.fault = checkpoint.and_then(|checkpoint| {
        let fault = |kind, message: String| Some(Fault { line: report.records, kind, message });
        match reached {
            // Before the first record there is nothing that a checkpoint could know.
            None if checkpoint.seq == 0 => None,
            None => fault(
                FaultKind::CutOff,
                format!("the log ends at record {}, and {} were written", report.records, checkpoint.seq),
            ),
            Some(hash) if hash != checkpoint.hash => fault(
                FaultKind::RolledBack,
                format!("record {} is not the one that was written", checkpoint.seq),
            ),
            Some(_) => None,
        }
    });
    Ok(report)
}

/// What ties a record to the one before; the rest is not read.
#[derive(Deserialize)]
struct Links<'a> {
    #[serde(borrow)]
    prev: Cow<'a, str>,
    seq: u64,
    #[serde(borrow)]
    session_id: Cow<'a, str>,
}

/// Checks one line against what is before it.
fn record(line: &[u8], before: &Report) -> Result<Checkpoint, (FaultKind, &'static str)> {
    const NO_RECORD: (FaultKind, &str) = (FaultKind::NoRecord, "this is no record");
    let text = std::str::from_utf8(line).map_err(|_| NO_RECORD)?;
    let tail = SEAL.len() + DIGITS + END.len();
    let cut = text.len().checked_sub(tail).filter(|cut| text.is_char_boundary(*cut)).ok_or(NO_RECORD)?;
    let (open, seal) = text.split_at(cut);
    let hash = seal.strip_prefix(SEAL).and_then(|rest| rest.strip_suffix(END)).ok_or(NO_RECORD)?;
    let Links { prev, seq, session_id } = serde_json::from_str(text).map_err(|_| NO_RECORD)?;
    if link(&prev, open) != hash {
        return Err((FaultKind::Changed, "the record was changed"));
    }
    let follows = match &before.head {
        Some(head) => prev == head.hash,
        None => prev == genesis(&session_id),
    };
    if !follows || seq != before.records + 1 {
        return Err((FaultKind::BrokenLink, "a record before this one is missing, moved or added"));
    }
    Ok(Checkpoint { seq, hash: hash.to_owned() })
}
