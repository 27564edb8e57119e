//! The audit from outside: every kind of tampering is found, a torn line is told apart, a failing disk stops everything,
//! and killing the writer loses nothing that was acknowledged.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use callgate_agent::audit::{
    AuditErrorCode, AuditLog, AuditSettings, Checkpoint, Entry, EntryKind, FaultKind, Known, Medium, Report,
    Status, Style, Sync, session_path, verify, verify_file,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// A folder that is removed at the end of the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::SeqCst);
        let path = std::env::temp_dir().join(format!("callgate-audit-{}-{number}", std::process::id()));
        drop(std::fs::remove_dir_all(&path));
        Scratch(path)
    }

    fn settings(&self) -> AuditSettings {
        settings(self.0.clone(), Sync::Decision)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn settings(folder: PathBuf, sync: Sync) -> AuditSettings {
    AuditSettings { sync, ..AuditSettings::new(folder).keeping(Style::Full) }
}

fn entry(number: usize) -> Entry {
    Entry::new(EntryKind::Tool, "look", Status::Ok).message(format!("record {number}")).tied("c-1")
}

/// A disk: what was appended, and how much of it survives a power cut.
#[derive(Default)]
struct DiskState {
    bytes: Vec<u8>,
    durable: usize,
    syncs: usize,
    /// How many operations succeed before the disk fails.
    works_for: Option<usize>,
}

#[derive(Clone, Default)]
struct Disk(Arc<Mutex<DiskState>>);

impl Disk {
    fn failing_after(operations: usize) -> Self {
        let disk = Disk::default();
        disk.0.lock().unwrap().works_for = Some(operations);
        disk
    }

    fn log(&self, sync: Sync, clock: fn() -> SystemTime) -> AuditLog {
        AuditLog::on(Box::new(self.clone()), settings(PathBuf::new(), sync), "s", "disk", clock)
    }

    fn all(&self) -> Vec<u8> {
        self.0.lock().unwrap().bytes.clone()
    }

    fn after_power_cut(&self) -> Vec<u8> {
        let state = self.0.lock().unwrap();
        state.bytes[..state.durable].to_vec()
    }
}

impl DiskState {
    fn operation(&mut self) -> io::Result<()> {
        match &mut self.works_for {
            Some(0) => Err(io::Error::other("no space")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Medium for Disk {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.operation()?;
        state.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        state.operation()?;
        state.durable = state.bytes.len();
        state.syncs += 1;
        Ok(())
    }
}

/// A log of this many records, its lines, and how far it went.
fn written(records: usize) -> (Vec<String>, Checkpoint) {
    let disk = Disk::default();
    let mut log = disk.log(Sync::Decision, || SystemTime::UNIX_EPOCH);
    for number in 0..records {
        log.record(entry(number)).unwrap();
    }
    let head = log.flush().unwrap();
    let text = String::from_utf8(disk.all()).unwrap();
    (text.lines().map(|line| format!("{line}\n")).collect(), head)
}

fn report(bytes: &[u8], checkpoint: Option<&Checkpoint>) -> Report {
    let known = Known { checkpoints: checkpoint.into_iter().cloned().collect(), ..Known::default() };
    verify(&mut BufReader::new(bytes), &known).unwrap()
}

fn fault(lines: &[String], checkpoint: Option<&Checkpoint>) -> Option<(FaultKind, u64)> {
    report(lines.concat().as_bytes(), checkpoint).fault.map(|fault| (fault.kind, fault.line))
}

#[test]
fn g_48_a_line_has_every_field_and_verifies() {
    let (lines, head) = written(3);
    let report = report(lines.concat().as_bytes(), Some(&head));
    assert_eq!((report.records, report.torn, &report.fault, &report.head), (3, 0, &None, &Some(head)));
    let line: Value = serde_json::from_str(&lines[1]).unwrap();
    for (field, value) in [
        ("seq", json!(2)),
        ("ts", json!("1970-01-01T00:00:00.000Z")),
        ("type", json!("tool")),
        ("action", json!("look")),
        ("status", json!("ok")),
        ("message", json!("record 1")),
        ("session_id", json!("s")),
        ("version", json!("1")),
        ("correlation_id", json!("c-1")),
        ("details", json!({})),
    ] {
        assert_eq!(line[field], value, "{field}");
    }
    assert!(line["cwd"].is_string() && line["hash"].as_str().unwrap().len() == 64);
    let before: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(line["prev"], before["hash"]);
}

#[test]
fn a_02_every_single_change_is_found_at_its_line() {
    let (lines, head) = written(5);
    for at in 0..lines.len() {
        let line = at as u64 + 1;
        let mut missing = lines.clone();
        missing.remove(at);
        let expected = if at == 4 { (FaultKind::CutOff, 4) } else { (FaultKind::BrokenLink, line) };
        assert_eq!(fault(&missing, Some(&head)), Some(expected), "line {line} removed");
        let mut doubled = lines.clone();
        doubled.insert(at, lines[at].clone());
        assert_eq!(fault(&doubled, None), Some((FaultKind::BrokenLink, line + 1)), "line {line} doubled");
        if at > 0 {
            let mut swapped = lines.clone();
            swapped.swap(at - 1, at);
            assert_eq!(fault(&swapped, None), Some((FaultKind::BrokenLink, line - 1)), "lines swapped");
        }
    }
    // Any other byte, anywhere.
    let whole = lines.concat().into_bytes();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
        assert!(report(&changed, Some(&head)).fault.is_some(), "byte {at} can be changed");
    }
}

#[test]
fn a_02_a_log_of_another_session_or_another_past_is_found() {
    let (lines, head) = written(4);
    let disk = Disk::default();
    let mut other = disk.log(Sync::Decision, || SystemTime::UNIX_EPOCH + Duration::from_secs(9));
    for number in 0..4 {
        other.record(entry(number)).unwrap();
    }
    let forged = disk.all();
    assert_eq!(report(&forged, None).fault, None, "it is a log of its own");
    assert_eq!(report(&forged, Some(&head)).fault.unwrap().kind, FaultKind::RolledBack);
    let renamed: Vec<String> =
        lines.iter().map(|line| line.replace("\"session_id\":\"s\"", "\"session_id\":\"t\"")).collect();
    assert_eq!(fault(&renamed, None), Some((FaultKind::Changed, 1)));
    let older = &lines[..2];
    assert_eq!(fault(older, None), None, "without a checkpoint a shorter log is just shorter");
    assert_eq!(fault(older, Some(&head)), Some((FaultKind::CutOff, 2)));
}

#[test]
fn a_record_with_a_false_number_is_found_even_where_its_hash_was_made_to_fit() {
    let (lines, _) = written(2);
    let record: Value = serde_json::from_str(&lines[1]).unwrap();
    let (body, _) = lines[1].split_once(",\"hash\":").unwrap();
    let body = format!("{}}}", body.replace("\"seq\":2", "\"seq\":7"));
    assert!(body.contains("\"seq\":7"), "{body}");
    let linked = format!("{}{body}", record["prev"].as_str().unwrap());
    let hash: String = Sha256::digest(linked.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let forged = format!("{},\"hash\":\"{hash}\"}}\n", body.strip_suffix('}').unwrap());
    assert_eq!(fault(&[lines[0].clone(), forged], None), Some((FaultKind::BrokenLink, 2)));
}

#[test]
fn a_cut_at_any_byte_is_a_torn_line_and_never_a_change() {
    let (lines, _) = written(3);
    let whole = lines.concat();
    for length in 0..whole.len() {
        let report = report(&whole.as_bytes()[..length], None);
        let complete = whole[..length].matches('\n').count() as u64;
        let kind = report.fault.as_ref().map(|fault| fault.kind);
        let wanted = (length == 0).then_some(FaultKind::NoLog);
        assert_eq!((report.records, kind), (complete, wanted), "after {length} bytes");
        assert_eq!(report.whole_bytes + report.torn, length as u64);
    }
}

#[test]
fn a_torn_line_is_cut_when_the_log_goes_on_and_that_is_recorded() {
    let scratch = Scratch::new();
    let mut log = AuditLog::create(scratch.settings(), "a-1").unwrap();
    log.record(entry(1)).unwrap();
    log.record(entry(2)).unwrap();
    drop(log);
    let path = session_path(&scratch.0, "a-1").unwrap();
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 10]).unwrap();
    let mut log = AuditLog::resume(scratch.settings(), "a-1").unwrap();
    log.record(entry(3)).unwrap();
    let report = verify_file(&path, &Known::default()).unwrap();
    assert_eq!((report.records, report.torn, report.fault), (4, 0, None));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.lines().nth(2).unwrap().contains("torn-line"), "{text}");
}

#[test]
fn a_log_that_was_changed_is_not_gone_on_with() {
    let scratch = Scratch::new();
    let mut log = AuditLog::create(scratch.settings(), "a-1").unwrap();
    log.record(entry(1)).unwrap();
    drop(log);
    let path = session_path(&scratch.0, "a-1").unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("record 1", "record 9")).unwrap();
    let error = AuditLog::resume(scratch.settings(), "a-1").unwrap_err();
    assert_eq!(error.code, AuditErrorCode::Tampered);
    assert!(error.to_string().contains("line 2"), "{error}");
}

#[test]
fn a_03_after_a_failed_write_or_sync_nothing_is_acknowledged_any_more() {
    for works in 0..8 {
        let disk = Disk::failing_after(works);
        let mut log = disk.log(Sync::Decision, || SystemTime::UNIX_EPOCH);
        let codes: Vec<_> =
            (0..6).map(|number| log.record(entry(number)).map_err(|error| error.code)).collect();
        let good = works / 2;
        for (number, code) in codes.iter().enumerate() {
            match number.cmp(&good) {
                std::cmp::Ordering::Less => assert!(code.is_ok(), "{works}: {codes:?}"),
                std::cmp::Ordering::Equal => assert_eq!(code, &Err(AuditErrorCode::Unwritable), "{works}"),
                std::cmp::Ordering::Greater => assert_eq!(code, &Err(AuditErrorCode::Broken), "{works}"),
            }
        }
        disk.0.lock().unwrap().works_for = None;
        assert!(log.record(entry(9)).is_err(), "a disk that works again does not heal the log");
        let report = report(&disk.after_power_cut(), None);
        let is_empty = report.fault.as_ref().is_some_and(|fault| fault.kind == FaultKind::NoLog);
        assert!(report.records >= good as u64, "{report:?}");
        assert!(report.fault.is_none() || (is_empty && good == 0), "{report:?}");
    }
}

#[test]
fn a_power_cut_loses_nothing_that_has_a_receipt() {
    let disk = Disk::default();
    let mut log = disk.log(Sync::Decision, || SystemTime::UNIX_EPOCH);
    for number in 0..20 {
        let receipt = log.record(entry(number)).unwrap();
        let report = report(&disk.after_power_cut(), None);
        assert_eq!(report.head, Some(Checkpoint { seq: receipt.seq, hash: receipt.hash }));
    }
}

#[test]
fn with_an_interval_records_wait_for_it_or_for_the_end() {
    let disk = Disk::default();
    let mut log = disk.log(Sync::Interval(Duration::from_secs(3_600)), || SystemTime::UNIX_EPOCH);
    for number in 0..20 {
        log.record(entry(number)).unwrap();
    }
    assert_eq!(report(&disk.after_power_cut(), None).records, 0, "a power cut loses what is not on the disk");
    let head = log.flush().unwrap();
    assert_eq!(report(&disk.after_power_cut(), Some(&head)).records, 20);
    log.record(entry(20)).unwrap();
    drop(log);
    assert_eq!(report(&disk.after_power_cut(), None).records, 21, "an end that nobody announced counts too");
}

/// A medium that says when it is forced to the disk.
struct Told(std::sync::mpsc::Sender<()>, bool);

impl Medium for Told {
    fn append(&mut self, _: &[u8]) -> std::io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> std::io::Result<()> {
        self.0.send(()).map_err(std::io::Error::other)?;
        if self.1 { Ok(()) } else { Err(std::io::Error::other("no disk")) }
    }
}

#[test]
fn the_interval_passes_even_if_nothing_more_is_recorded() {
    let (told, syncs) = std::sync::mpsc::channel();
    let settings = settings(PathBuf::new(), Sync::Interval(Duration::from_millis(1)));
    let medium = Box::new(Told(told, true));
    let mut log = AuditLog::on(medium, settings, "s", "here", || SystemTime::UNIX_EPOCH);
    for number in 0..3 {
        log.record(entry(number)).unwrap();
        // Nobody writes and nobody flushes: only the interval can bring this about.
        syncs.recv().unwrap();
    }
}

#[test]
fn a_failure_between_two_records_is_told_to_the_next_one() {
    let (told, syncs) = std::sync::mpsc::channel();
    let settings = settings(PathBuf::new(), Sync::Interval(Duration::from_millis(1)));
    let medium = Box::new(Told(told, false));
    let mut log = AuditLog::on(medium, settings, "s", "here", || SystemTime::UNIX_EPOCH);
    log.record(entry(0)).unwrap();
    syncs.recv().unwrap();
    assert_eq!(log.flush().unwrap_err().code, AuditErrorCode::Broken);
    assert_eq!(
        log.record(entry(1)).unwrap_err().code,
        AuditErrorCode::Broken,
        "what is not recorded is not run"
    );
}

#[test]
fn a_04_one_record_is_one_line_whatever_is_in_it() {
    let disk = Disk::default();
    let mut log = disk.log(Sync::Decision, || SystemTime::UNIX_EPOCH);
    let hostile = "a\nb\r\0\u{1b}[31m\u{2028}\",\"hash\":\"";
    let large = "x".repeat(10 << 20);
    let record = Entry::new(EntryKind::Tool, hostile, Status::Ok)
        .message(hostile)
        .detail(hostile, json!(hostile))
        .detail("large", json!(large));
    log.record(record).unwrap();
    log.record(entry(1)).unwrap();
    let bytes = disk.all();
    assert_eq!(bytes.iter().filter(|byte| **byte == b'\n').count(), 2);
    assert!(bytes.iter().all(|byte| *byte == b'\n' || *byte >= b' '), "no byte acts on a terminal");
    assert!(bytes.len() < 4096, "a large value is its length and hash");
    assert_eq!(report(&bytes, None).records, 2);
    let first: Value = serde_json::from_slice(bytes.split(|byte| *byte == b'\n').next().unwrap()).unwrap();
    assert_eq!(first["message"], hostile);
}

#[test]
fn g_13_no_secret_reaches_a_line() {
    let disk = Disk::default();
    let mut log = disk.log(Sync::Decision, || SystemTime::UNIX_EPOCH);
    let canary = "sk-canarycanarycanary1";
    log.record(
        Entry::new(EntryKind::Message, &format!("use {canary}"), Status::Ok)
            .message(format!("Authorization: Bearer {canary}"))
            .detail("arguments", json!({"api_key": "canary", "text": canary, "list": [canary], canary: 1})),
    )
    .unwrap();
    assert!(!String::from_utf8(disk.all()).unwrap().contains("canary"));
}

#[test]
fn g_52_old_and_surplus_sessions_go_and_the_current_one_stays() {
    let scratch = Scratch::new();
    let names = |scratch: &Scratch| {
        let mut names: Vec<String> = std::fs::read_dir(&scratch.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    for (number, id) in ["one", "two", "three"].iter().enumerate() {
        AuditLog::create(scratch.settings(), id).unwrap().record(entry(1)).unwrap();
        let file = std::fs::File::options().write(true).open(session_path(&scratch.0, id).unwrap()).unwrap();
        let age = Duration::from_secs(86_400 * (10 - number as u64));
        file.set_modified(SystemTime::now() - age).unwrap();
    }
    std::fs::write(scratch.0.join("notes.txt"), "mine").unwrap();
    let keep = AuditSettings { max_sessions: Some(3), ..scratch.settings() };
    AuditLog::create(keep, "four").unwrap().record(entry(1)).unwrap();
    assert_eq!(
        names(&scratch),
        ["notes.txt", "session-four.jsonl", "session-three.jsonl", "session-two.jsonl"]
    );
    let young = AuditSettings { max_age: Some(Duration::from_secs(86_400)), ..scratch.settings() };
    AuditLog::create(young, "five").unwrap();
    assert_eq!(names(&scratch), ["notes.txt", "session-five.jsonl", "session-four.jsonl"]);
}

#[test]
fn a04_pruning_removes_only_session_logs_of_this_workspace() {
    let scratch = Scratch::new();
    let log = |id: &str| AuditLog::create(scratch.settings(), id).unwrap().record(entry(1)).unwrap();
    log("ours");
    log("theirs");
    let path = |name: &str| scratch.0.join(name);
    // A record of another project, one under another name, and files that only look like logs.
    let theirs = std::fs::read_to_string(path("session-theirs.jsonl")).unwrap();
    let here = std::env::current_dir().unwrap().display().to_string();
    std::fs::write(path("session-theirs.jsonl"), theirs.replace(&here, "/elsewhere")).unwrap();
    std::fs::copy(path("session-ours.jsonl"), path("session-copy.jsonl")).unwrap();
    std::fs::write(path("session-notes.jsonl"), "{\"my\": \"notes\"}\n").unwrap();
    std::fs::write(path("session-empty.jsonl"), "").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(path("session-ours.jsonl"), path("session-link.jsonl")).unwrap();
    let strict =
        AuditSettings { max_sessions: Some(1), max_age: Some(Duration::from_nanos(1)), ..scratch.settings() };
    AuditLog::create(strict, "new").unwrap();
    assert!(!path("session-ours.jsonl").exists(), "its own goes");
    for name in ["session-theirs.jsonl", "session-copy.jsonl", "session-notes.jsonl", "session-empty.jsonl"] {
        assert!(path(name).exists(), "{name}");
    }
    #[cfg(unix)]
    assert!(std::fs::symlink_metadata(path("session-link.jsonl")).is_ok());
}

#[test]
fn a_session_id_cannot_leave_the_folder_and_a_session_is_not_begun_twice() {
    let scratch = Scratch::new();
    for id in ["", "../x", "a/b", "a\0b", "a b", &"x".repeat(200)] {
        assert!(AuditLog::create(scratch.settings(), id).is_err(), "{id:?}");
    }
    AuditLog::create(scratch.settings(), "a").unwrap();
    assert!(AuditLog::create(scratch.settings(), "a").is_err());
}

#[cfg(unix)]
#[test]
fn a_log_has_one_writer_and_is_not_removed_under_it() {
    let scratch = Scratch::new();
    let mut first = AuditLog::create(scratch.settings(), "a").unwrap();
    first.record(entry(1)).unwrap();
    let error = AuditLog::resume(scratch.settings(), "a").unwrap_err();
    assert_eq!(error.code, AuditErrorCode::Unwritable, "{error}");
    let keep_one = AuditSettings { max_sessions: Some(1), ..scratch.settings() };
    let second = AuditLog::create(keep_one.clone(), "b").unwrap();
    first.record(entry(2)).unwrap();
    let path = session_path(&scratch.0, "a").unwrap();
    assert_eq!(verify_file(&path, &Known::default()).unwrap().records, 3, "what is being written stays");
    drop((first, second));
    AuditLog::create(keep_one, "c").unwrap();
    assert!(!path.exists(), "what nobody writes any more goes");
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_a_log_is_not_followed() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(&scratch.0).unwrap();
    let outside = scratch.0.join("outside");
    let path = session_path(&scratch.0, "a").unwrap();
    std::os::unix::fs::symlink(&outside, &path).unwrap();
    assert!(AuditLog::create(scratch.settings(), "a").is_err(), "a link to nothing");
    std::fs::write(&outside, "mine").unwrap();
    assert!(AuditLog::create(scratch.settings(), "a").is_err(), "a link to a file");
    assert!(AuditLog::resume(scratch.settings(), "a").is_err());
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "mine");
}

#[cfg(unix)]
#[test]
fn nobody_else_can_read_the_records() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    AuditLog::create(scratch.settings(), "a").unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&session_path(&scratch.0, "a").unwrap()), 0o600);
    assert_eq!(mode(&scratch.0), 0o700);
}

/// Where the writing child writes.
const FOLDER: &str = "CALLGATE_TEST_AUDIT_FOLDER";

/// What the test of killing does in the process that it kills: writes records and says the number of each when it has
/// its receipt, without end.
fn write_until_killed(folder: PathBuf) {
    let settings = settings(folder.clone(), Sync::Decision);
    let path = session_path(&folder, "k").unwrap();
    let log = if path.exists() { AuditLog::resume(settings, "k") } else { AuditLog::create(settings, "k") };
    let mut log = log.unwrap();
    let mut out = io::stdout();
    for number in 0.. {
        let filler = "y".repeat(number * 37 % 5000);
        let receipt = log.record(entry(number).detail("filler", json!(filler))).unwrap();
        writeln!(out, "\nwritten {}", receipt.seq).unwrap();
        out.flush().unwrap();
    }
}

#[test]
fn a_01_killing_the_writer_loses_nothing_that_was_acknowledged() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return write_until_killed(folder.into());
    }
    let scratch = Scratch::new();
    let path = session_path(&scratch.0, "k").unwrap();
    let mut acknowledged = 0;
    for round in 0..60 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_01_killing_the_writer_loses_nothing_that_was_acknowledged", "--nocapture"])
            .env(FOLDER, &scratch.0)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = 0;
        while seen < 1 + round % 7 {
            let Some(line) = lines.next() else { panic!("the child of round {round} ended by itself") };
            if let Some(seq) = line.unwrap().strip_prefix("written ") {
                acknowledged = seq.parse().unwrap();
                seen += 1;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // What it could still say before it died counts as well; a number that was cut does not.
        let rest = lines.map_while(Result::ok).collect::<Vec<_>>().join("\n");
        for line in rest.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            if let Some(seq) = line.trim_end().strip_prefix("written ") {
                acknowledged = seq.parse().unwrap();
            }
        }
        let report = verify_file(&path, &Known::default()).unwrap();
        assert_eq!(report.fault, None, "round {round}");
        assert!(report.records >= acknowledged, "round {round}: {} of {acknowledged}", report.records);
    }
    assert!(acknowledged >= 60, "the child wrote in every round");
}
