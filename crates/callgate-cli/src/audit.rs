//! `callgate audit`: the records of the agent's decisions, listed, shown, counted, verified and replayed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;

use callgate_agent::audit::{Checkpoint, session_path, sessions, verify_file};
use serde_json::{Value, json};

use crate::args::{AuditAction, AuditArgs, AuditFilter};
use crate::exit::{Outcome, Stop};
use crate::paint::{Breaks, Paint, Tone, one_line, padded, visible};
use crate::replay::{self, Rules};

pub(crate) fn run(args: &AuditArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let files = files(args)?;
    match &args.action {
        AuditAction::List(filter) => list(&files, filter, args.json, paint, out),
        AuditAction::Show { record } => show(&files, record, args.json, paint, out),
        AuditAction::Stats => stats(&files, args.json, paint, out),
        AuditAction::Replay { record, profile, tools, config, set } => {
            let (profile, tools, config) = (profile.as_deref(), tools.as_deref(), config.as_deref());
            let rules = Rules { profile, tools, config, set };
            replay::run(&records(&files)?, record.as_deref(), &rules, args.json, paint, out)
        }
        AuditAction::Verify { checkpoint } => verify(&files, checkpoint.as_deref(), args.json, paint, out),
    }
}

/// The session files that are meant, the oldest first.
fn files(args: &AuditArgs) -> Result<Vec<PathBuf>, Stop> {
    let folder = match &args.folder {
        Some(folder) => folder.clone(),
        None => configured_folder()?,
    };
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

fn configured_folder() -> Result<PathBuf, Stop> {
    let config = crate::config::load_own()?;
    Ok(config.audit().map_or_else(|| ".agent/audit".into(), |audit| audit.folder))
}

/// Every record of the files, with its file. A line that is no record is passed over: `verify` is there to name it.
fn records(files: &[PathBuf]) -> Result<Vec<Value>, Stop> {
    let mut records = Vec::new();
    for path in files {
        let unreadable =
            |error: std::io::Error| Stop::usage(format!("{}: {error}", path.display()), "check the path");
        let file = File::open(path).map_err(unreadable)?;
        for line in BufReader::new(file).split(b'\n') {
            let line = line.map_err(unreadable)?;
            records.extend(serde_json::from_slice::<Value>(&line).ok().filter(Value::is_object));
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
    let fits = |record: &Value| {
        let is = |member: &str, wanted: &Option<String>| {
            wanted.as_ref().is_none_or(|word| record[member] == *word)
        };
        let since = filter.since.as_deref().unwrap_or_default();
        // Moments are written so that their order is that of their text.
        is("type", &filter.kind)
            && is("status", &filter.status)
            && record["ts"].as_str().unwrap_or_default() >= since
    };
    let mut found: Vec<Value> = records(files)?.into_iter().filter(fits).collect();
    if let Some(limit) = filter.limit {
        found.drain(..found.len().saturating_sub(limit));
    }
    for record in &found {
        if json {
            writeln!(out, "{}", paint.json(&record.to_string()))?;
            continue;
        }
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
    }
    Ok(Outcome::Fine)
}

/// The records with this number or this correlation id.
fn show(
    files: &[PathBuf],
    wanted: &str,
    json: bool,
    paint: Paint,
    out: &mut dyn Write,
) -> Result<Outcome, Stop> {
    let fits = |record: &Value| {
        record["correlation_id"] == wanted
            || record["seq"].as_u64().is_some_and(|seq| seq.to_string() == wanted)
    };
    let found: Vec<Value> = records(files)?.into_iter().filter(fits).collect();
    if found.is_empty() {
        let message = format!("no record has the number or correlation id `{wanted}`");
        return Err(Stop::usage(message, "see `callgate audit list`"));
    }
    for record in &found {
        let text = if json { record.to_string() } else { format!("{record:#}") };
        writeln!(out, "{}", paint.json(&text))?;
    }
    Ok(Outcome::Fine)
}

fn stats(files: &[PathBuf], json: bool, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let all = records(files)?;
    let mut counts: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
    let mut count = |group: &'static str, word: &str| {
        *counts.entry(group).or_default().entry(word.to_owned()).or_default() += 1;
    };
    for record in &all {
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
        if details["verdict"] == "refused" {
            let codes = details["findings"].as_array().into_iter().flatten().filter_map(Value::as_str);
            codes.for_each(|code| count("finding", code));
        }
    }
    if json {
        writeln!(out, "{:#}", json!({"sessions": files.len(), "records": all.len(), "counts": counts}))?;
        return Ok(Outcome::Fine);
    }
    writeln!(out, "{} records in {} sessions", all.len(), files.len())?;
    for (group, words) in &counts {
        for (word, number) in words {
            let word = visible(word, Breaks::Show);
            writeln!(out, "{} {} {number}", paint.tone(Tone::Strong, padded(group, 8)), padded(&word, 28))?;
        }
    }
    Ok(Outcome::Fine)
}

fn verify(
    files: &[PathBuf],
    checkpoint: Option<&str>,
    json: bool,
    paint: Paint,
    out: &mut dyn Write,
) -> Result<Outcome, Stop> {
    let checkpoint = checkpoint.map(read_checkpoint).transpose()?;
    if checkpoint.is_some() && files.len() != 1 {
        return Err(Stop::usage(
            "a checkpoint is for one session",
            "name it with --session, or take --latest",
        ));
    }
    let mut is_sound = true;
    for path in files {
        let report = verify_file(path, checkpoint.as_ref())
            .map_err(|error| Stop::usage(format!("{}: {error}", path.display()), "check the path"))?;
        is_sound &= report.fault.is_none();
        let name = visible(&path.display().to_string(), Breaks::Show).into_owned();
        if json {
            writeln!(out, "{}", json!({"file": name, "report": report}))?;
            continue;
        }
        let verdict = match &report.fault {
            None => paint.tone(Tone::Good, "sound".to_owned()).to_string(),
            Some(fault) => paint.tone(Tone::Bad, fault.to_string()).to_string(),
        };
        writeln!(out, "{name}: {} records, {verdict}", report.records)?;
        if report.torn > 0 {
            writeln!(
                out,
                "  a last line of {} bytes was torn by a crash; it was never acknowledged",
                report.torn
            )?;
        }
        if let Some(head) = report.head.filter(|_| report.fault.is_none()) {
            writeln!(out, "  {}", paint.tone(Tone::Grey, format!("checkpoint {}:{}", head.seq, head.hash)))?;
        }
    }
    Ok(Outcome::refused_if(!is_sound))
}

fn read_checkpoint(text: &str) -> Result<Checkpoint, Stop> {
    let parts = text.split_once(':').and_then(|(seq, hash)| Some((seq.parse().ok()?, hash)));
    let (seq, hash) =
        parts.ok_or_else(|| Stop::usage(format!("`{text}` is no checkpoint"), "write it as NUMBER:HASH"))?;
    Ok(Checkpoint { seq, hash: hash.to_owned() })
}
