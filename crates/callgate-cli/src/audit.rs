//! `callgate audit`: the records of the agent's decisions, listed, shown, counted, verified and replayed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use callgate_agent::audit::{
    AuditKey, Checkpoint, Chosen, FolderReport, Known, LogEnd, Sealed, SessionReport, error_line,
    session_path, sessions, state_folder, verify_file, verify_folder,
};
use serde_json::{Value, json};

use crate::args::{AuditAction, AuditArgs, AuditFilter};
use crate::exit::{Outcome, Stop};
use crate::json_text::{Strings, indented};
use crate::paint::{Breaks, Paint, Tone, one_line, padded, visible};
use crate::replay::{self, Rules};

/// How many records the end of a log is.
const TAIL: usize = 20;

pub(crate) fn run(args: &AuditArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    if let AuditAction::Verify { checkpoint, key } = &args.action {
        return verify(args, checkpoint.as_deref(), key.as_deref(), paint, out);
    }
    let files = files(args)?;
    match &args.action {
        AuditAction::List(filter) => list(&files, filter, args.json, paint, out),
        AuditAction::Show { record } => show(&files, record, args.json, paint, out),
        AuditAction::Errors => errors(&files, out),
        AuditAction::Stats => stats(&files, args.json, paint, out),
        AuditAction::Replay { record, profile, tools, config, set } => {
            let (profile, tools, config) = (profile.as_deref(), tools.as_deref(), config.as_deref());
            let rules = Rules { profile, tools, config, set };
            let records: Vec<Value> = records(&files)?.into_iter().map(|line| line.record).collect();
            replay::run(&records, record.as_deref(), &rules, args.json, paint, out)
        }
        AuditAction::Verify { .. } => Ok(Outcome::Fine),
    }
}

/// The session files that are meant, the oldest first.
fn files(args: &AuditArgs) -> Result<Vec<PathBuf>, Stop> {
    let folder = folder(args)?;
    if let Some(id) = &args.session {
        let path = session_path(&folder, id)
            .map_err(|error| Stop::usage(&error.message, "see `callgate audit list`"))?;
        return Ok(vec![path]);
    }
    let mut all = sessions(&folder).map_err(|error| {
        Stop::usage(format!("{}: {error}", folder.display()), "name the folder of the records with --folder")
    })?;
    if args.latest {
        all.drain(..all.len().saturating_sub(1));
    }
    Ok(all)
}

fn folder(args: &AuditArgs) -> Result<PathBuf, Stop> {
    if let Some(folder) = &args.folder {
        return Ok(folder.clone());
    }
    let config = crate::config::load_own()?;
    Ok(config.audit().map_or_else(|| ".agent/audit".into(), |audit| audit.folder))
}

/// A record, and the line of the log that it is: arguments are printed from the line, by the model's own digits.
struct RecordLine {
    record: Value,
    text: String,
}

/// Every record of the files. A line that is no record is passed over: `verify` is there to name it.
fn records(files: &[PathBuf]) -> Result<Vec<RecordLine>, Stop> {
    let mut records = Vec::new();
    for path in files {
        let unreadable =
            |error: std::io::Error| Stop::usage(format!("{}: {error}", path.display()), "check the path");
        let file = File::open(path).map_err(unreadable)?;
        for line in BufReader::new(file).split(b'\n') {
            let Ok(text) = String::from_utf8(line.map_err(unreadable)?) else { continue };
            let record = serde_json::from_str(&text).ok().filter(Value::is_object);
            records.extend(record.map(|record| RecordLine { record, text }));
        }
    }
    Ok(records)
}

fn list(
    files: &[PathBuf],
    filter: &AuditFilter,
    json: bool,
    paint: Paint,
    out: &mut dyn Write,
) -> Result<Outcome, Stop> {
    let fits = |RecordLine { record, .. }: &RecordLine| {
        let is = |member: &str, wanted: &Option<String>| {
            wanted.as_ref().is_none_or(|word| record[member] == *word)
        };
        let since = filter.since.as_deref().unwrap_or_default();
        // Timestamps sort by their text.
        is("type", &filter.kind)
            && is("status", &filter.status)
            && record["ts"].as_str().unwrap_or_default() >= since
    };
    let mut found: Vec<RecordLine> = records(files)?.into_iter().filter(fits).collect();
    if let Some(limit) = filter.limit {
        found.drain(..found.len().saturating_sub(limit));
    }
    for line in &found {
        match json {
            true => writeln!(out, "{}", paint.json(&line.text))?,
            false => print(&line.record, paint, out)?,
        }
    }
    Ok(Outcome::Fine)
}

/// The last records of a log, each in a line.
pub(crate) fn tail(path: &Path, paint: Paint, out: &mut dyn Write) -> Result<(), Stop> {
    let found = records(&[path.to_owned()])?;
    for line in &found[found.len().saturating_sub(TAIL)..] {
        print(&line.record, paint, out)?;
    }
    Ok(())
}

/// A record in a line.
fn print(record: &Value, paint: Paint, out: &mut dyn Write) -> Result<(), Stop> {
    let text = |member: &str| record[member].as_str().unwrap_or("-").to_owned();
    let tone = match record["status"].as_str() {
        Some("ok") => Tone::Good,
        Some("warn") => Tone::Changed,
        _ => Tone::Bad,
    };
    let shown = |member: &str, width| padded(&one_line(&text(member), width), width);
    writeln!(
        out,
        "{} {} {} {} {} {}",
        paint.tone(Tone::Grey, shown("ts", 24)),
        padded(&record["seq"].to_string(), 5),
        paint.tone(tone, shown("status", 5)),
        shown("type", 10),
        paint.tone(Tone::Accent, shown("action", 20)),
        one_line(&text("message"), paint.columns().saturating_sub(70).max(20)),
    )?;
    Ok(())
}

/// The records with this number or this correlation id.
fn show(
    files: &[PathBuf],
    wanted: &str,
    json: bool,
    paint: Paint,
    out: &mut dyn Write,
) -> Result<Outcome, Stop> {
    let fits = |RecordLine { record, .. }: &RecordLine| {
        record["correlation_id"] == wanted
            || record["seq"].as_u64().is_some_and(|seq| seq.to_string() == wanted)
    };
    let found: Vec<RecordLine> = records(files)?.into_iter().filter(fits).collect();
    if found.is_empty() {
        let message = format!("no record has the number or correlation id `{wanted}`");
        return Err(Stop::usage(message, "see `callgate audit list`"));
    }
    for RecordLine { text, .. } in &found {
        let shown = if json { text.clone() } else { indented(text, Strings::Whole) };
        writeln!(out, "{}", paint.json(&shown))?;
    }
    Ok(Outcome::Fine)
}

/// Every rejected call as monitoring expects it.
fn errors(files: &[PathBuf], out: &mut dyn Write) -> Result<Outcome, Stop> {
    for line in records(files)?.iter().filter_map(|line| error_line(&line.record)) {
        writeln!(out, "{line}")?;
    }
    Ok(Outcome::Fine)
}

fn stats(files: &[PathBuf], json: bool, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let all = records(files)?;
    let mut counts: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
    let mut count = |group: &'static str, word: &str| {
        *counts.entry(group).or_default().entry(word.to_owned()).or_default() += 1;
    };
    for RecordLine { record, .. } in &all {
        count("status", record["status"].as_str().unwrap_or("-"));
        count("type", record["type"].as_str().unwrap_or("-"));
        let details = &record["details"];
        if let Some(verdict) = details["verdict"].as_str() {
            let repaired = details["repairs"].as_array().is_some_and(|repairs| !repairs.is_empty())
                || details["repairs"].as_u64().is_some_and(|repairs| repairs > 0);
            count("verdict", if repaired { "repaired" } else { verdict });
            count("tool", record["action"].as_str().unwrap_or("-"));
        }
        for repair in details["repairs"].as_array().into_iter().flatten() {
            count("repair", repair["code"].as_str().unwrap_or("-"));
        }
        // Logs of earlier versions say `refused`.
        if details["verdict"] == "rejected" || details["verdict"] == "refused" {
            let codes = details["findings"].as_array().into_iter().flatten().filter_map(Value::as_str);
            codes.for_each(|code| count("finding", code));
            count("code", details["error_code"].as_str().unwrap_or("-"));
        }
        if record["action"] == "retry" && record["type"] == "response" {
            count("retry", details["outcome"].as_str().unwrap_or("went on"));
        }
        if let Some(state) = details["state"].as_str().filter(|state| *state != "pending") {
            count("call", state);
        }
        if !details["runs_again_in_ms"].is_null() {
            count("call", "run again");
        }
        if record["action"] == "strike" && record["type"] == "safety" {
            count("strike", details["end"].as_str().unwrap_or("counted"));
        }
    }
    let means = means(all.iter().map(|line| &line.record));
    let rates = rates(all.iter().map(|line| &line.record));
    if json {
        writeln!(
            out,
            "{:#}",
            json!({
                "sessions": files.len(),
                "records": all.len(),
                "counts": counts,
                "rates": rates,
                "mean_ms": means,
            })
        )?;
        return Ok(Outcome::Fine);
    }
    writeln!(out, "{} records in {} sessions", all.len(), files.len())?;
    for (group, words) in &counts {
        for (word, number) in words {
            let word = visible(word, Breaks::Show);
            writeln!(out, "{} {} {number}", paint.tone(Tone::Strong, padded(group, 8)), padded(&word, 28))?;
        }
    }
    for (what, rate) in &rates {
        let percent = rate * 100.0;
        writeln!(out, "{} {} {percent:.1} %", paint.tone(Tone::Strong, padded("rate", 8)), padded(what, 28))?;
    }
    for (what, mean) in &means {
        writeln!(out, "{} {} {mean:.1} ms", paint.tone(Tone::Strong, padded("mean", 8)), padded(what, 28))?;
    }
    Ok(Outcome::Fine)
}

/// How much of what was judged went how: repairs that succeeded among those that were tried, and each code of a rejection
/// among all calls.
fn rates<'r>(records: impl Iterator<Item = &'r Value>) -> BTreeMap<String, f64> {
    let (mut judged, mut tried, mut repaired) = (0.0, 0.0, 0.0);
    let mut codes: BTreeMap<String, f64> = BTreeMap::new();
    for details in records.map(|record| &record["details"]).filter(|details| details["verdict"].is_string()) {
        judged += 1.0;
        let is_repaired = details["parse_result"] == "repaired";
        repaired += f64::from(u8::from(is_repaired));
        tried += f64::from(u8::from(is_repaired || details["repair_attempted"] == true));
        if let Some(code) = details["error_code"].as_str() {
            *codes.entry(format!("rejected as {code}")).or_default() += 1.0;
        }
    }
    codes.values_mut().for_each(|count| *count /= judged);
    if tried > 0.0 {
        codes.insert("repaired of those tried".to_owned(), repaired / tried);
    }
    codes
}

/// How long things took, on average, in milliseconds: runs of tools, and waiting before a model was asked again.
fn means<'r>(records: impl Iterator<Item = &'r Value>) -> BTreeMap<&'static str, f64> {
    let mut sums: BTreeMap<&'static str, (f64, f64)> = BTreeMap::new();
    for record in records {
        let times = [
            ("duration_ms", "tool"),
            ("waited_ms", "wait before asking again"),
            ("parse_time_ms", "reading a response"),
            ("retry_time_ms", "asking again"),
        ];
        for (key, what) in times {
            if let Some(time) = record["details"][key].as_f64() {
                let (sum, count) = sums.entry(what).or_default();
                (*sum, *count) = (*sum + time, *count + 1.0);
            }
        }
    }
    sums.into_iter().map(|(what, (sum, count))| (what, sum / count)).collect()
}

fn verify(
    args: &AuditArgs,
    checkpoint: Option<&str>,
    key: Option<&Path>,
    paint: Paint,
    out: &mut dyn Write,
) -> Result<Outcome, Stop> {
    let folder = folder(args)?;
    let chosen = match (&args.session, args.latest) {
        (Some(id), _) => Chosen::Session(id.clone()),
        (None, true) => Chosen::Latest,
        (None, false) => Chosen::All,
    };
    if let Chosen::Session(id) = &chosen {
        session_path(&folder, id)
            .map_err(|error| Stop::usage(&error.message, "see `callgate audit list`"))?;
    }
    let checkpoint = checkpoint.map(read_checkpoint).transpose()?;
    let key = key.map(AuditKey::read).transpose();
    let key =
        key.map_err(|error| Stop::usage(format!("{}: {}", error.place, error.message), "see `--key`"))?;
    let mut found =
        verify_folder(&folder, &chosen, state_folder().as_deref(), key.as_ref()).map_err(|error| {
            Stop::usage(
                format!("{}: {error}", folder.display()),
                "name the folder of the records with --folder",
            )
        })?;
    if found.sessions.is_empty() && found.missing.is_empty() {
        let message = format!("{}: there are no records", folder.display());
        return Err(Stop::usage(message, "name the folder of the records with --folder"));
    }
    if let Some(checkpoint) = checkpoint {
        let [session] = found.sessions.as_mut_slice() else {
            let message = "a checkpoint is for one session";
            return Err(Stop::usage(message, "name it with --session, or take --latest"));
        };
        let known = Known { checkpoints: vec![checkpoint], key, ..Known::default() };
        let report = verify_file(&session.file, &known)
            .map_err(|error| Stop::usage(format!("{}: {error}", session.file.display()), "check the path"))?;
        session.report.fault = session.report.fault.take().or(report.fault);
    }
    if args.json {
        for session in &found.sessions {
            let file = visible(&session.file.display().to_string(), Breaks::Show).into_owned();
            let line = json!({"file": file, "has_head": session.has_head, "report": session.report});
            writeln!(out, "{line}")?;
        }
        for missing in &found.missing {
            writeln!(out, "{}", json!({"missing": missing}))?;
        }
    } else {
        say(&found, paint, out)?;
    }
    let is_wrong = !found.missing.is_empty() || found.sessions.iter().any(|one| one.report.fault.is_some());
    let is_left = |one: &SessionReport| matches!(one.report.end, LogEnd::Unfinished | LogEnd::Torn);
    Ok(match is_wrong {
        true => Outcome::Rejected,
        false if found.sessions.iter().any(is_left) => Outcome::Unfinished,
        false => Outcome::Fine,
    })
}

/// What was found, in words. A log is called sound if it says itself that it is at its end, and something outside of it
/// says that it is the one that was written.
fn say(found: &FolderReport, paint: Paint, out: &mut dyn Write) -> Result<(), Stop> {
    for SessionReport { file, has_head, report } in &found.sessions {
        let name = visible(&file.display().to_string(), Breaks::Show).into_owned();
        let (tone, verdict) = match (&report.fault, report.end) {
            (Some(fault), _) => (Tone::Bad, fault.to_string()),
            (None, LogEnd::Whole) if *has_head || report.sealed == Sealed::Checked => {
                (Tone::Good, "whole and sound".to_owned())
            }
            (None, LogEnd::Whole) => (Tone::Good, "whole".to_owned()),
            (None, LogEnd::Running) => (Tone::Good, "running: somebody is writing it".to_owned()),
            (None, LogEnd::Unfinished) => (
                Tone::Changed,
                "unfinished: there is no record of its end, and nobody is writing it".to_owned(),
            ),
            (None, LogEnd::Torn) => (
                Tone::Changed,
                format!(
                    "torn: the last line is cut after {} bytes: cannot tell a crash from a cut",
                    report.torn
                ),
            ),
        };
        writeln!(out, "{name}: {} records, {}", report.records, paint.tone(tone, verdict))?;
        if report.fault.is_some() {
            continue;
        }
        let seals = match report.sealed {
            Sealed::Unkeyed => "unkeyed",
            Sealed::Unchecked => "sealed, but no --key was given",
            Sealed::Checked => "every record is sealed with the key",
        };
        let unheaded = report.opening.as_ref().and_then(|opening| opening.unheaded.as_ref());
        let heads = match (has_head, unheaded, &found.heads) {
            (true, _, Some(place)) => format!("it agrees with its head in {}", place.display()),
            (_, Some(why), _) => format!("no head of it was kept: {why}"),
            _ => "this machine has no head of it: it was written elsewhere, or added".to_owned(),
        };
        // A kept head or a checked seal shows a rewrite; without both, any log could stand here.
        let unseen =
            if *has_head || report.sealed == Sealed::Checked { "" } else { ": a rewrite cannot be seen" };
        let notes = visible(&format!("{seals}{unseen}; {heads}"), Breaks::Show).into_owned();
        writeln!(out, "  {}", paint.tone(Tone::Grey, notes))?;
        if let Some(head) = &report.head {
            writeln!(out, "  {}", paint.tone(Tone::Grey, format!("checkpoint {}:{}", head.seq, head.hash)))?;
        }
    }
    for missing in &found.missing {
        let id = visible(&missing.session_id, Breaks::Show).into_owned();
        let said = format!("missing, and no rule removed it: it had {} records", missing.at.seq);
        writeln!(out, "session {id}: {}", paint.tone(Tone::Bad, said))?;
        if let Some(place) = &found.heads {
            let place = place.join(format!("{id}.json"));
            let place = visible(&place.display().to_string(), Breaks::Show).into_owned();
            let said = format!("if you removed it yourself, remove its head too: {place}");
            writeln!(out, "  {}", paint.tone(Tone::Grey, said))?;
        }
    }
    Ok(())
}

fn read_checkpoint(text: &str) -> Result<Checkpoint, Stop> {
    let parts = text.split_once(':').and_then(|(seq, hash)| Some((seq.parse().ok()?, hash)));
    let (seq, hash) =
        parts.ok_or_else(|| Stop::usage(format!("`{text}` is no checkpoint"), "write it as NUMBER:HASH"))?;
    Ok(Checkpoint { seq, hash: hash.to_owned() })
}
