//! `callgate audit replay`: a recorded response, read again under today's rules, and what is different.

use std::io::Write;
use std::path::Path;

use callgate::{Registry, Response};
use callgate_agent::chat::{Recording, verdicts};
use serde_json::{Value, json};

use crate::config::Sources;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::paint::{Breaks, Paint, Tone, visible};

/// The rules that are taken instead of the recorded ones.
pub(crate) struct Rules<'a> {
    pub(crate) profile: Option<&'a str>,
    pub(crate) tools: Option<&'a Path>,
    pub(crate) config: Option<&'a Path>,
    pub(crate) set: &'a [String],
}

/// Replays the responses that are meant. The outcome says whether anything is different.
pub(crate) fn run(
    records: &[Value],
    wanted: Option<&str>,
    rules: &Rules<'_>,
    json: bool,
    paint: Paint,
    out: &mut dyn Write,
) -> Result<Outcome, Stop> {
    let is_wanted = |record: &Value| {
        wanted.is_none_or(|wanted| {
            record["correlation_id"] == wanted
                || record["seq"].as_u64().map(|seq| seq.to_string()).as_deref() == Some(wanted)
        })
    };
    let recorded: Vec<&Value> =
        records.iter().filter(|record| recording(record).is_some() && is_wanted(record)).collect();
    if recorded.is_empty() {
        return Err(Stop::usage(
            "no such response is recorded whole",
            "record with `audit.values: full`, and see `callgate audit list --type response`",
        ));
    }
    let mut is_different = false;
    for record in recorded {
        let verdicts_then = record["details"]["verdicts"].as_array().into_iter().flatten();
        let then: Vec<String> = verdicts_then.filter_map(Value::as_str).map(in_todays_words).collect();
        let now = verdicts(&replayed(records, record, rules)?);
        let same = then == now;
        is_different |= !same;
        if json {
            let line = json!({
                "seq": record["seq"],
                "correlation_id": record["correlation_id"],
                "same": same,
                "then": then,
                "now": now,
            });
            writeln!(out, "{}", paint.json(&line.to_string()))?;
            continue;
        }
        let id = visible(record["correlation_id"].as_str().unwrap_or("-"), Breaks::Show).into_owned();
        let (tone, word) = if same { (Tone::Good, "same") } else { (Tone::Changed, "different") };
        writeln!(out, "{} {} {}", record["seq"], paint.tone(Tone::Accent, id), paint.tone(tone, word))?;
        if !same {
            for (sign, tone, side) in [("-", Tone::Bad, &then), ("+", Tone::Good, &now)] {
                for verdict in side {
                    let line = visible(verdict, Breaks::Show).into_owned();
                    writeln!(out, "  {}", paint.tone(tone, format!("{sign} {line}")))?;
                }
            }
        }
    }
    Ok(Outcome::rejected_if(is_different))
}

/// The response as it came, if it was recorded whole. Logs of earlier versions call it `heard`.
fn recording(record: &Value) -> Option<&Value> {
    let details = &record["details"];
    details.get("recording").or_else(|| details.get("heard"))
}

/// A recorded verdict. Logs of earlier versions say `refused` for `rejected`.
fn in_todays_words(verdict: &str) -> String {
    match verdict.strip_prefix("refused ") {
        Some(rest) => format!("rejected {rest}"),
        None => verdict.to_owned(),
    }
}

/// The response as today's rules judge it.
fn replayed(records: &[Value], record: &Value, rules: &Rules<'_>) -> Result<Response, Stop> {
    let begin = records
        .iter()
        .find(|other| other["session_id"] == record["session_id"] && other["details"].get("tools").is_some());
    let recorded = record["action"].as_str().unwrap_or("standard");
    let profile = input::profile(rules.profile.unwrap_or(recorded))?;
    let flags = [("--profile", "profile", profile.name())];
    let config = crate::config::load(&Sources {
        file: rules.config,
        flags: &flags,
        sets: rules.set,
        ..Sources::default()
    })?;
    let tools = match (rules.tools, begin) {
        (Some(path), _) => input::tools(path)?,
        (None, Some(begin)) => Registry::from_value(&begin["details"]["tools"])
            .map_err(|error| Stop::usage(error, "give the tools with --tools"))?,
        (None, None) => Registry::new(),
    };
    let (builder, _) = crate::config::gate(&config, &[])?;
    let gate =
        builder.tools(tools).build().map_err(|error| Stop::usage(error, "see `callgate config show`"))?;
    let recording = recording(record).cloned().unwrap_or_default();
    let recording: Recording = serde_json::from_value(recording).map_err(|error| {
        Stop::usage(format!("record {}: {error}", record["seq"]), "see `callgate audit show`")
    })?;
    Ok(recording.replay(&gate))
}
