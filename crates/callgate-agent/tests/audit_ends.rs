//! The end of a log: whole, running, unfinished and torn told apart, missing sessions seen, heads in a second place,
//! and a key that makes a rewrite visible.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]

#[path = "support/scratch.rs"]
mod scratch;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use callgate_agent::audit::{
    AuditErrorCode, AuditKey, AuditLog, AuditSettings, Chosen, Entry, EntryKind, FaultKind, FolderReport,
    Heads, Known, LogEnd, Sealed, Status, Sync, own_path, session_path, verify_file, verify_folder,
};
use scratch::Scratch;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A folder of logs, and the state folder beside it.
struct Logs(Scratch);

impl Logs {
    fn new(name: &str) -> Self {
        Logs(Scratch::new(name))
    }

    fn folder(&self) -> PathBuf {
        self.0.path("audit")
    }

    fn state(&self) -> PathBuf {
        self.0.path("state")
    }

    fn settings(&self) -> AuditSettings {
        AuditSettings { state: Some(self.state()), ..AuditSettings::new(self.folder()) }
    }

    /// A session with two records between its beginning and its end.
    fn session(&self, id: &str) -> PathBuf {
        self.session_with(self.settings(), id)
    }

    fn session_with(&self, settings: AuditSettings, id: &str) -> PathBuf {
        let mut log = AuditLog::create(settings, id).unwrap();
        log.record(entry("look")).unwrap();
        log.record(entry("put")).unwrap();
        log.record(end()).unwrap();
        log.flush().unwrap();
        self.file(id)
    }

    fn file(&self, id: &str) -> PathBuf {
        session_path(&self.folder(), id).unwrap()
    }

    fn verify(&self) -> FolderReport {
        verify_folder(&self.folder(), &Chosen::All, Some(&self.state()), None).unwrap()
    }

    /// As on another machine, which has no heads.
    fn verify_elsewhere(&self) -> FolderReport {
        verify_folder(&self.folder(), &Chosen::All, None, None).unwrap()
    }
}

fn entry(action: &str) -> Entry {
    Entry::new(EntryKind::Tool, action, Status::Ok)
}

fn end() -> Entry {
    Entry::new(EntryKind::Session, "end", Status::Ok)
}

fn faults(found: &FolderReport) -> Vec<Option<FaultKind>> {
    found.sessions.iter().map(|session| session.report.fault.as_ref().map(|fault| fault.kind)).collect()
}

fn missing(found: &FolderReport) -> Vec<&str> {
    found.missing.iter().map(|head| head.session_id.as_str()).collect()
}

fn is_fine(found: &FolderReport) -> bool {
    found.missing.is_empty()
        && found.sessions.iter().all(|one| one.report.fault.is_none() && one.report.end == LogEnd::Whole)
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// Writes a log anew with hashes that fit: what somebody with a text editor and an hour can do.
fn rewrite(path: &Path, keep: impl Fn(&Value) -> bool) {
    let mut records: Vec<Value> =
        lines(path).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    records.retain(|record| keep(record));
    let mut previous = records[0]["prev"].as_str().unwrap().to_owned();
    let mut text = String::new();
    for (number, mut record) in records.into_iter().enumerate() {
        let members = record.as_object_mut().unwrap();
        members.remove("hash");
        members.remove("seal");
        members.insert("seq".to_owned(), (number + 1).into());
        members.insert("prev".to_owned(), previous.clone().into());
        let body = record.to_string();
        previous =
            Sha256::digest(format!("{previous}{body}")).iter().map(|byte| format!("{byte:02x}")).collect();
        text.push_str(&format!("{},\"hash\":\"{previous}\"}}\n", body.strip_suffix('}').unwrap()));
    }
    fs::write(path, text).unwrap();
}

#[test]
fn a10_four_ends_are_told_apart() {
    let logs = Logs::new("ends");
    let ends = |path: &Path| {
        let report = verify_file(path, &Known::default()).unwrap();
        assert_eq!(report.fault, None);
        report.end
    };
    let mut log = AuditLog::create(logs.settings(), "a").unwrap();
    let path = logs.file("a");
    assert_eq!(ends(&path), LogEnd::Running);
    log.record(entry("look")).unwrap();
    assert_eq!(ends(&path), LogEnd::Running);
    drop(log);
    assert_eq!(ends(&path), LogEnd::Unfinished);
    let mut log = AuditLog::resume(logs.settings(), "a").unwrap();
    log.record(end()).unwrap();
    assert_eq!(ends(&path), LogEnd::Whole, "it says so itself, whoever still holds it");
    drop(log);
    assert_eq!(ends(&path), LogEnd::Whole);
    let whole = fs::read(&path).unwrap();
    for cut in 1..200 {
        fs::write(&path, &whole[..whole.len() - cut]).unwrap();
        assert_eq!(ends(&path), LogEnd::Torn, "{cut} bytes cut");
    }
    let mut log = AuditLog::resume(AuditSettings { state: None, ..logs.settings() }, "a").unwrap();
    log.record(entry("more")).unwrap();
    drop(log);
    assert_eq!(ends(&path), LogEnd::Unfinished, "an end in the middle is none");
}

#[test]
fn a10_a_log_without_its_end_record_is_unfinished() {
    let logs = Logs::new("no-end");
    let path = logs.session("a");
    let text = lines(&path);
    for kept in 1..text.len() {
        fs::write(&path, text[..kept].join("\n") + "\n").unwrap();
        let elsewhere = logs.verify_elsewhere();
        assert_eq!(faults(&elsewhere), [None]);
        assert_eq!(elsewhere.sessions[0].report.end, LogEnd::Unfinished, "{kept} of {}", text.len());
        assert_eq!(faults(&logs.verify()), [Some(FaultKind::CutOff)], "the head knows better");
    }
}

#[test]
fn a10_an_acknowledged_line_that_was_cut_is_no_crash() {
    let logs = Logs::new("acknowledged");
    let path = logs.session("a");
    let whole = fs::read(&path).unwrap();
    for cut in (1..whole.len()).step_by(5) {
        fs::write(&path, &whole[..whole.len() - cut]).unwrap();
        assert_eq!(faults(&logs.verify()), [Some(FaultKind::CutOff)], "{cut} bytes cut");
    }
}

#[test]
fn a10_an_empty_file_is_no_log() {
    let logs = Logs::new("empty");
    let path = logs.session("a");
    fs::write(&path, "").unwrap();
    assert_eq!(faults(&logs.verify_elsewhere()), [Some(FaultKind::NoLog)]);
    assert_eq!(faults(&logs.verify()), [Some(FaultKind::CutOff)]);
    let error = AuditLog::resume(AuditSettings { state: None, ..logs.settings() }, "a").unwrap_err();
    assert_eq!(error.code, AuditErrorCode::Tampered);
}

#[test]
fn a10_a_log_under_another_name_is_found() {
    let logs = Logs::new("names");
    let (a, b) = (logs.session("a"), logs.session("b"));
    fs::copy(&a, &b).unwrap();
    assert_eq!(faults(&logs.verify_elsewhere()), [None, Some(FaultKind::OtherSession)]);
    // Records of two sessions in one file, each with a hash that fits.
    let logs = Logs::new("mixed");
    let path = logs.session("a");
    let text = fs::read_to_string(&path).unwrap();
    let at = text.rfind("\"session_id\":\"a\"").unwrap();
    fs::write(&path, format!("{}\"session_id\":\"b\"{}", &text[..at], &text[at + 16..])).unwrap();
    rewrite(&path, |_| true);
    let fault = verify_file(&path, &Known::default()).unwrap().fault.unwrap();
    assert_eq!((fault.kind, fault.line), (FaultKind::OtherSession, 4));
}

#[test]
fn a10_a_recomputed_chain_is_found_by_its_head_and_by_the_session_after_it() {
    let logs = Logs::new("recomputed");
    let path = logs.session("a");
    rewrite(&path, |record| record["action"] != "put");
    assert_eq!(faults(&logs.verify_elsewhere()), [None], "nothing else knows of it, and it is whole");
    assert_eq!(faults(&logs.verify()), [Some(FaultKind::CutOff)]);
    rewrite(&path, |record| record["action"] != "look");
    let logs = Logs::new("recomputed-same-length");
    let path = logs.session("a");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("\"put\"", "\"get\"")).unwrap();
    rewrite(&path, |_| true);
    assert_eq!(faults(&logs.verify()), [Some(FaultKind::RolledBack)]);
    assert_eq!(faults(&logs.verify_elsewhere()), [None]);
    let logs = Logs::new("recomputed-followed");
    let path = logs.session("a");
    logs.session("b");
    rewrite(&path, |record| record["action"] != "put");
    assert!(faults(&logs.verify_elsewhere()).contains(&Some(FaultKind::CutOff)));
}

#[test]
fn a10_a_running_log_is_never_behind_its_head() {
    let logs = Logs::new("running");
    let mut log = AuditLog::create(logs.settings(), "a").unwrap();
    let verifying = {
        let (folder, state) = (logs.folder(), logs.state());
        std::thread::spawn(move || {
            for _ in 0..200 {
                let found = verify_folder(&folder, &Chosen::All, Some(&state), None).unwrap();
                assert_eq!(faults(&found), [None]);
                assert_eq!(found.sessions[0].report.end, LogEnd::Running);
            }
        })
    };
    while !verifying.is_finished() {
        log.record(entry("look")).unwrap();
    }
    verifying.join().unwrap();
}

#[test]
fn a10_a_missing_session_is_seen() {
    for gone in ["a", "b", "c"] {
        let logs = Logs::new("missing");
        for id in ["a", "b", "c"] {
            logs.session(id);
        }
        assert!(is_fine(&logs.verify()) && is_fine(&logs.verify_elsewhere()));
        fs::remove_file(logs.file(gone)).unwrap();
        assert_eq!(missing(&logs.verify()), [gone]);
        // The last one is only spoken of in the second place.
        let spoken_of: &[&str] = if gone == "c" { &[] } else { &[gone] };
        assert_eq!(missing(&logs.verify_elsewhere()), spoken_of);
        let one = |id: &str| {
            verify_folder(&logs.folder(), &Chosen::Session(id.to_owned()), Some(&logs.state()), None).unwrap()
        };
        assert_eq!(missing(&one(gone)), [gone]);
        let other = if gone == "a" { "b" } else { "a" };
        assert!(is_fine(&one(other)) && one(other).sessions.len() == 1);
        let latest = verify_folder(&logs.folder(), &Chosen::Latest, Some(&logs.state()), None).unwrap();
        assert_eq!((missing(&latest), latest.sessions.len()), (vec![gone], 1));
    }
}

#[test]
fn a10_a_folder_whose_files_are_gone_is_not_fine() {
    let logs = Logs::new("all-gone");
    for id in ["a", "b"] {
        logs.session(id);
    }
    for id in ["a", "b"] {
        fs::remove_file(logs.file(id)).unwrap();
    }
    assert_eq!(missing(&logs.verify()), ["a", "b"]);
    fs::remove_dir_all(logs.folder()).unwrap();
    assert_eq!(missing(&logs.verify()), ["a", "b"], "the folder is gone too");
    assert!(verify_folder(&logs.folder(), &Chosen::All, None, None).is_err());
}

#[test]
fn a10_what_goes_by_rule_is_told_apart_from_what_was_deleted() {
    let logs = Logs::new("pruned");
    let few = || AuditSettings { max_sessions: Some(2), ..logs.settings() };
    for (number, id) in ["a", "b", "c", "d", "e", "f"].iter().enumerate() {
        let path = logs.session_with(few(), id);
        // Sessions in a test follow each other faster than some file systems count time.
        let moment = SystemTime::now() - Duration::from_secs(1000 - number as u64);
        fs::File::options().write(true).open(path).unwrap().set_modified(moment).unwrap();
        assert!(is_fine(&logs.verify()) && is_fine(&logs.verify_elsewhere()), "after {id}");
    }
    assert_eq!(logs.verify().sessions.len(), 2);
    let heads = Heads::find(&logs.state(), &logs.folder()).unwrap().unwrap();
    let kept: Vec<String> = heads.all().unwrap().into_iter().map(|head| head.session_id).collect();
    assert_eq!(kept, ["e", "f"]);
    let first: Value = serde_json::from_str(&lines(&logs.file("f"))[0]).unwrap();
    assert_eq!(first["opening"]["pruned"][0]["session_id"], "d", "{first}");
    assert_eq!(first["opening"]["pruned"][0]["seq"], 4);
    fs::remove_file(logs.file("e")).unwrap();
    assert_eq!(missing(&logs.verify()), ["e"]);
    assert_eq!(missing(&logs.verify_elsewhere()), ["e"]);
    // A session that somebody added does not excuse it here, where the heads are known.
    let added =
        fs::read_to_string(logs.file("f")).unwrap().replace("\"session_id\":\"d\"", "\"session_id\":\"e\"");
    fs::write(logs.file("g"), added.replace("\"session_id\":\"f\"", "\"session_id\":\"g\"")).unwrap();
    assert_eq!(missing(&logs.verify()), ["e"]);
}

#[cfg(unix)]
#[test]
fn a10_what_went_by_rule_is_remembered_for_as_long_as_it_is_spoken_of() {
    let logs = Logs::new("carried");
    let few = || AuditSettings { max_sessions: Some(1), ..logs.settings() };
    logs.session("a");
    // It speaks of `a`, and outlives the sessions that remember where `a` went.
    let long = AuditLog::create(few(), "long").unwrap();
    assert!(!logs.file("a").exists());
    for id in ["b", "c", "d"] {
        logs.session_with(few(), id);
        let found = logs.verify_elsewhere();
        assert_eq!((missing(&found), faults(&found)), (vec![], vec![None, None]), "after {id}");
    }
    drop(long);
    logs.session_with(few(), "e");
    assert!(is_fine(&logs.verify()) && logs.verify().sessions.len() == 1);
}

#[cfg(unix)]
#[test]
fn a10_sessions_that_begin_at_once_come_one_behind_the_other() {
    let logs = Logs::new("at-once");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let logs = &logs;
            scope.spawn(move || logs.session(&format!("s{number}")));
        }
    });
    assert!(is_fine(&logs.verify()) && is_fine(&logs.verify_elsewhere()));
    let before = |number: usize| -> Option<String> {
        let first: Value = serde_json::from_str(&lines(&logs.file(&format!("s{number}")))[0]).unwrap();
        first["opening"]["before"]["session_id"].as_str().map(str::to_owned)
    };
    let named: std::collections::BTreeSet<Option<String>> = (0..8).map(before).collect();
    assert_eq!(named.len(), 8, "no two come behind the same one: {named:?}");
}

#[cfg(unix)]
#[test]
fn a10_heads_are_private_and_no_link_leads_to_or_from_them() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let logs = Logs::new("heads");
    logs.session("a");
    let place = Heads::find(&logs.state(), &logs.folder()).unwrap().unwrap().place().to_owned();
    assert!(place.starts_with(logs.state().join("callgate/heads")), "{}", place.display());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&place.join("a.json")), mode(&place)), (0o600, 0o700));
    assert_eq!(fs::read_dir(&place).unwrap().count(), 1, "nothing else is left there");
    // The same folder by another name has the same heads.
    symlink(logs.folder(), logs.0.path("other")).unwrap();
    let other = verify_folder(&logs.0.path("other"), &Chosen::All, Some(&logs.state()), None).unwrap();
    assert!(is_fine(&other) && other.sessions[0].has_head);
    assert_eq!(own_path(&logs.0.path("other/x/y")).unwrap(), own_path(&logs.folder()).unwrap().join("x/y"));
    // A link in the place of a head is not read, and what it leads to is not written.
    let outside = logs.0.path("outside");
    fs::write(&outside, "mine").unwrap();
    symlink(&outside, place.join("b.json")).unwrap();
    logs.session("b");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "mine");
    symlink(&outside, place.join(".c.new")).unwrap();
    assert!(AuditLog::create(logs.settings(), "c").is_err());
    assert_eq!(fs::read_to_string(&outside).unwrap(), "mine");
}

#[cfg(unix)]
#[test]
fn a10_without_a_second_place_a_session_goes_on_and_says_so() {
    let logs = Logs::new("nowhere");
    // A link on the way is as good as nothing there.
    fs::create_dir_all(logs.state()).unwrap();
    fs::create_dir_all(logs.0.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(logs.0.path("elsewhere"), logs.state().join("callgate")).unwrap();
    let path = logs.session("a");
    assert_eq!(fs::read_dir(logs.0.path("elsewhere")).unwrap().count(), 0);
    let report = verify_file(&path, &Known::default()).unwrap();
    assert!(report.opening.unwrap().unheaded.is_some());
    let first: Value = serde_json::from_str(&lines(&path)[0]).unwrap();
    assert_eq!(first["status"], "warn");
    assert!(is_fine(&logs.verify_elsewhere()) && !logs.verify_elsewhere().sessions[0].has_head);
}

#[test]
fn a10_with_an_interval_heads_follow_each_flush() {
    let logs = Logs::new("interval");
    let sync = Sync::Interval(Duration::from_secs(3600));
    let mut log = AuditLog::create(AuditSettings { sync, ..logs.settings() }, "a").unwrap();
    let head = || {
        let heads = Heads::find(&logs.state(), &logs.folder()).unwrap().unwrap();
        heads.all().unwrap().first().map(|head| head.at.clone())
    };
    log.record(entry("look")).unwrap();
    assert_eq!(head(), None);
    let flushed = log.flush().unwrap();
    assert_eq!((head().as_ref(), flushed.seq), (Some(&flushed), 2));
    log.record(entry("put")).unwrap();
    assert_eq!(head(), Some(flushed));
    drop(log);
    assert_eq!(head().unwrap().seq, 3);
}

#[test]
fn a10_a_key_shows_every_rewrite() {
    let logs = Logs::new("key");
    let key_file = logs.0.file("key", "correct horse battery staple\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(&key_file, fs::Permissions::from_mode(0o644)).unwrap();
        let settings = AuditSettings { key_file: Some(key_file.clone()), ..logs.settings() };
        assert_eq!(AuditLog::create(settings, "x").unwrap_err().code, AuditErrorCode::NoKey);
        fs::set_permissions(&key_file, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let settings = || AuditSettings { key_file: Some(key_file.clone()), state: None, ..logs.settings() };
    let path = logs.session_with(settings(), "a");
    let key = AuditKey::read(&key_file).unwrap();
    let known = |key: &AuditKey| Known { key: Some(key.clone()), ..Known::default() };
    let with = |key: &AuditKey| {
        let report = verify_file(&path, &known(key)).unwrap();
        (report.sealed, report.fault.map(|fault| fault.kind))
    };
    assert_eq!(with(&key), (Sealed::Checked, None));
    assert_eq!(verify_file(&path, &Known::default()).unwrap().sealed, Sealed::Unchecked);
    let other = AuditKey::new(b"another key of somebody").unwrap();
    assert_eq!(with(&other).1, Some(FaultKind::NotSealed));
    // A log that goes on is sealed as one that was never left.
    let mut log = AuditLog::resume(settings(), "a").unwrap();
    log.record(entry("more")).unwrap();
    drop(log);
    assert_eq!(with(&key), (Sealed::Checked, None));
    // Without the key no rewrite holds, whatever it leaves out, and every byte counts.
    let whole = fs::read(&path).unwrap();
    rewrite(&path, |record| record["action"] != "put");
    assert_eq!(verify_file(&path, &Known::default()).unwrap().sealed, Sealed::Unkeyed);
    assert_eq!(with(&key).1, Some(FaultKind::NotSealed));
    assert_eq!(AuditLog::resume(settings(), "a").unwrap_err().code, AuditErrorCode::Tampered);
    for at in (0..whole.len()).step_by(7).chain([whole.len() - 1]) {
        let mut changed = whole.clone();
        changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
        fs::write(&path, &changed).unwrap();
        // A last line that has lost its line break is one that was never finished, and says so.
        let is_noticed = |known: &Known| {
            let report = verify_file(&path, known).unwrap();
            report.fault.is_some() || at + 1 == whole.len() && report.torn > 0
        };
        assert!(is_noticed(&known(&key)), "byte {at}");
        assert!(is_noticed(&Known::default()), "byte {at}");
    }
    fs::write(&path, "key").unwrap();
    assert!(AuditKey::read(&path).is_err(), "too short");
}
