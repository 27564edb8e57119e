//! `callgate config show`: every setting with its value, who gave it, and what it decides.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callgate::{Gate, GateBuilder, Record, dialect};
use callgate_agent::config::{Config, ConfigErrors, FILE, Kind, ROWS, Row, Setting, Value};
use serde_json::json;

use crate::args::ConfigShowArgs;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::paint::{Breaks, Paint, Tone, padded, visible};

pub(crate) fn show(args: &ConfigShowArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let profile = args.profile.as_deref().map(|name| ("--profile", "profile", name));
    let config = load(args.config.as_deref(), profile.as_slice(), &args.set)?;
    let dialects = config.profile().dialects();
    if args.json {
        let settings: serde_json::Map<String, serde_json::Value> = config
            .settings()
            .map(|(key, setting)| {
                (key, json!({"value": setting.value.to_json(), "origin": setting.origin.to_string()}))
            })
            .collect();
        let all = json!({
            "profile": config.profile().name(),
            "dialects": dialects,
            "policy": config.policy(),
            "settings": settings,
        });
        writeln!(out, "{all:#}")?;
        return Ok(Outcome::Fine);
    }
    let profile = config.profile();
    let head = |name: &str| paint.tone(Tone::Strong, padded(name, 10)).to_string();
    writeln!(out, "{}{}: {}", head("profile"), profile.name(), profile.summary())?;
    writeln!(out, "{}{}", head("dialects"), dialects.join(", "))?;
    for row in ROWS {
        for key in config.keys(row).into_iter().filter(|key| args.all || is_in_use(key, &config)) {
            let setting = Setting { value: config.value(&key).clone(), origin: config.origin(&key).clone() };
            line(&key, row, &setting, paint, out)?;
        }
    }
    Ok(Outcome::Fine)
}

/// The configuration as all commands see it: file, environment, flags. Each of `flags` is a flag, its key and its value.
pub(crate) fn load(
    file: Option<&Path>,
    flags: &[(&str, &str, &str)],
    sets: &[String],
) -> Result<Config, Stop> {
    let mut builder = Config::builder();
    match file {
        Some(path) => builder = builder.file(path),
        // The usual file is read where it is; nobody has to have one.
        None if Path::new(FILE).exists() => builder = builder.file(Path::new(FILE)),
        None => {}
    }
    let variables = std::env::vars_os().filter_map(|(name, text)| Some((name.into_string().ok()?, text)));
    builder = builder.environment(variables.map(|(name, text)| (name, text.to_string_lossy().into_owned())));
    for (flag, key, value) in flags {
        builder = builder.flag(flag, key, value);
    }
    for set in sets {
        let Some((key, value)) = set.split_once('=') else {
            return Err(Stop::usage(format!("`{set}` sets nothing"), "write --set KEY=VALUE"));
        };
        builder = builder.flag("--set", key, value);
    }
    builder.build().map_err(|errors| stop(&errors))
}

/// The gate that a configuration describes, without tools, and the dialect that the model is taught, if it is not the
/// profile's: the first of those that were named, or the first of those in `files`, which stand above the configured ones.
pub(crate) fn gate(config: &Config, files: &[PathBuf]) -> Result<(GateBuilder, Option<Arc<Record>>), Stop> {
    let mut builder = Gate::builder().profile(config.profile()).policy(config.policy());
    let mut own: Vec<Record> = Vec::new();
    let configured = config.dialect_files().iter().map(PathBuf::from);
    for path in files.iter().cloned().chain(configured) {
        own.extend(input::records(&path)?);
    }
    for record in &own {
        builder = builder.record(record.clone());
    }
    let named = |name: &String| {
        let record = own.iter().find(|record| *record.name == **name).or_else(|| dialect::named(name));
        record.cloned().map(Arc::new)
    };
    for name in config.dialects() {
        builder = builder.dialect(name);
    }
    let taught = match config.dialects() {
        [] => own.first().cloned().map(Arc::new),
        names => names.iter().find_map(named),
    };
    Ok((builder, taught))
}

/// All faults on one line, with the way out of the first.
fn stop(errors: &ConfigErrors) -> Stop {
    let said: Vec<String> = errors
        .0
        .iter()
        .map(|error| match error.key.as_str() {
            "" => format!("{}: {}", error.origin, error.message),
            key => format!("{}: `{key}`: {}", error.origin, error.message),
        })
        .collect();
    let help = errors.0.first().map(|error| error.help.clone()).unwrap_or_default();
    Stop::usage(said.join("; "), help)
}

/// Whether a key matters to the chosen provider.
fn is_in_use(key: &str, config: &Config) -> bool {
    let provider = key.strip_prefix("providers.").and_then(|rest| rest.split('.').next());
    provider.is_none_or(|provider| provider == config.provider())
}

fn line(key: &str, row: &Row, setting: &Setting, paint: Paint, out: &mut dyn Write) -> Result<(), Stop> {
    let value = match &setting.value {
        Value::Unset => "-".to_owned(),
        Value::Text(text) => visible(text, Breaks::Show).into_owned(),
        other => visible(&other.to_json().to_string(), Breaks::Show).into_owned(),
    };
    let choice = match row.kind {
        Kind::Word(words) => format!(" ({words})"),
        _ => String::new(),
    };
    let origin = visible(&setting.origin.to_string(), Breaks::Show).into_owned();
    let tone = if setting.origin.is_given() { Tone::Strong } else { Tone::Plain };
    writeln!(
        out,
        "{} {} {} {}",
        paint.tone(Tone::Accent, padded(key, 50)),
        paint.tone(tone, padded(&value, 12)),
        padded(&origin, 8),
        paint.tone(Tone::Grey, format!("{}{choice}", row.meaning)),
    )?;
    Ok(())
}
