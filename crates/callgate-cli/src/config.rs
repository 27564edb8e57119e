//! `callgate config`: every setting with its value, who gave it, and what it decides; and a file to begin with.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callgate::{Gate, GateBuilder, Policy, Record};
use callgate_agent::config::{
    Config, ConfigBuilder, ConfigErrors, FILE, FolderFile, KeySetting, Kind, Places, Row, Value, rows,
};
use serde_json::json;

use crate::args::{ConfigInitArgs, ConfigShowArgs};
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::paint::{Breaks, Paint, Tone, padded, visible};
use crate::trust::{self, Asking, Settled};

pub(crate) fn show(args: &ConfigShowArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let profile = args.profile.as_deref().map(|name| ("--profile", "profile", name));
    let file = args.config.as_deref();
    let config = load(&Sources { file, flags: profile.as_slice(), sets: &args.set, ..Sources::default() })?;
    let dialects = config.profile().dialects();
    if args.json {
        let settings: serde_json::Map<String, serde_json::Value> = config
            .settings()
            .map(|(key, setting)| {
                let class = Row::of(&key).map(|row| row.class.word());
                let (value, origin) = (setting.value.to_json(), setting.origin.to_string());
                (key, json!({"value": value, "origin": origin, "class": class}))
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
    for row in rows() {
        for key in config.keys(row).into_iter().filter(|key| args.all || is_in_use(key, &config)) {
            let setting =
                KeySetting { value: config.value(&key).clone(), origin: config.origin(&key).clone() };
            line(&key, row, &setting, paint, out)?;
        }
    }
    Ok(Outcome::Fine)
}

/// Writes a file in which every key stands with its default, as a comment. It replaces nothing.
pub(crate) fn init(args: &ConfigInitArgs, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let own =
        || places().config.ok_or_else(|| Stop::usage("your folder is not known", "set HOME, or name a file"));
    let path = args.file.clone().map_or_else(own, Ok)?;
    let failed = |error: std::io::Error| {
        let help = match error.kind() {
            std::io::ErrorKind::AlreadyExists => "edit it, or name another file",
            _ => "check the path",
        };
        Stop::usage(format!("{}: {error}", path.display()), help)
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut file = std::fs::File::create_new(&path).map_err(failed)?;
    file.write_all(starter().as_bytes()).map_err(failed)?;
    let path = visible(&path.display().to_string(), Breaks::Show).into_owned();
    writeln!(out, "{path} is there: take the # away from what you want to set")?;
    writeln!(out, "`callgate config show` shows what holds then")?;
    Ok(Outcome::Fine)
}

/// A configuration that sets nothing and names everything.
fn starter() -> String {
    let profile = callgate::Profile::standard();
    let mut text = String::from(
        "# What callgate is told. Every line below is a default: take the # away to set another value.\n\
         # A key may be written whole, as here, or in sections.\n",
    );
    let mut section = "";
    for row in rows() {
        let (value, _) = row.fallback(&profile);
        let value = match value {
            Value::Unset => String::new(),
            other => format!(" {}", other.to_json()),
        };
        let start = row.key.split('.').next().unwrap_or_default();
        if start != section {
            text.push('\n');
            section = start;
        }
        let keys = if row.is_open() { vec![row.key.replace('*', "NAME")] } else { row.keys() };
        text.push_str(&format!("# {}\n", row.meaning));
        for key in keys {
            text.push_str(&format!("#{key}:{value}\n"));
        }
    }
    text
}

/// Where a command takes its configuration from, beside the user's own file and the environment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sources<'a> {
    /// The file that was named; none: the one of the folder, if there is one.
    pub(crate) file: Option<&'a Path>,
    /// The folder that a model works in, if it is not the one that the command runs in.
    pub(crate) root: Option<&'a Path>,
    /// Each a flag, its key and its value.
    pub(crate) flags: &'a [(&'a str, &'a str, &'a str)],
    /// Settings as they stand behind `--set`.
    pub(crate) sets: &'a [String],
    /// Whom to ask about the file of the folder.
    pub(crate) asking: Asking,
}

impl Sources<'_> {
    /// The configuration as all commands see it: the user's own file, the folder's or the one that was named, the
    /// environment, flags. What the folder's file needs a yes for is decided here, before anything else happens.
    pub(crate) fn builder(&self) -> Result<ConfigBuilder, Stop> {
        if let Some(path) = self.file {
            return self.above(self.named(own(), path)?);
        }
        let file = FolderFile::read(Path::new(".")).map_err(|error| stop(&error.into()))?;
        let Some(file) = file else { return self.above(own()) };
        let builder = self.with_folder(&file)?;
        match trust::settle(&file, &builder, self.asking)? {
            Settled::Plain => Ok(builder),
            Settled::Agreed => Ok(builder.agreed()),
            Settled::LeftOut => self.above(own()),
        }
    }

    /// The same with the file of the folder, before anybody was asked about it.
    pub(crate) fn with_folder(&self, file: &FolderFile) -> Result<ConfigBuilder, Stop> {
        self.above(own().folder(FILE, &file.text))
    }

    /// Adds a file that was named. Naming it is a yes; but what lies in the folder may have come with it, or been written
    /// by a model, so that it has no say in what is the user's own.
    fn named(&self, builder: ConfigBuilder, path: &Path) -> Result<ConfigBuilder, Stop> {
        let whole = |path: &Path| std::fs::canonicalize(path).ok();
        let is_own = places().config.is_some_and(|own| whole(&own).is_some() && whole(&own) == whole(path));
        let folders: Vec<PathBuf> =
            [Some(Path::new(".")), self.root].into_iter().flatten().filter_map(whole).collect();
        // Each part of the way is looked at where it stands, because it may be a link that leads out.
        let parts = path.ancestors().filter_map(|part| {
            let above = part.parent().filter(|above| !above.as_os_str().is_empty());
            Some(whole(above.unwrap_or(Path::new(".")))?.join(part.file_name()?))
        });
        let is_inside = whole(path)
            .into_iter()
            .chain(parts)
            .any(|part| folders.iter().any(|folder| part != *folder && part.starts_with(folder)));
        if is_own || !is_inside {
            return Ok(builder.file(path));
        }
        let text = std::fs::read_to_string(path).map_err(|error| input::unreadable(path, &error))?;
        Ok(builder.folder(path, &text).agreed())
    }

    /// Adds what stands above files: the environment and flags.
    fn above(&self, builder: ConfigBuilder) -> Result<ConfigBuilder, Stop> {
        let variables = std::env::vars_os().filter_map(|(name, text)| Some((name.into_string().ok()?, text)));
        let variables = variables.map(|(name, text)| (name, text.to_string_lossy().into_owned()));
        let mut builder = builder.environment(variables);
        for (flag, key, value) in self.flags {
            builder = builder.flag(flag, key, value);
        }
        for set in self.sets {
            let Some((key, value)) = set.split_once('=') else {
                return Err(Stop::usage(format!("`{set}` sets nothing"), "write --set KEY=VALUE"));
            };
            // A knob may be set by its own name, as `parse` and `scan` take it.
            let is_knob = Policy::knobs().iter().any(|knob| knob == key);
            let key = if is_knob { format!("policy.{key}") } else { key.to_owned() };
            builder = builder.flag("--set", &key, value);
        }
        Ok(builder)
    }
}

/// The configuration of a command.
pub(crate) fn load(sources: &Sources<'_>) -> Result<Config, Stop> {
    sources.builder()?.build().map_err(|errors| stop(&errors))
}

/// The configuration without the file of the folder: all that decides about records is there.
pub(crate) fn load_own() -> Result<Config, Stop> {
    Sources::default().above(own())?.build().map_err(|errors| stop(&errors))
}

/// The user's own places.
pub(crate) fn places() -> Places {
    Places::find(|name| std::env::var_os(name))
}

/// The user's own file, if there is one.
fn own() -> ConfigBuilder {
    match places().config.filter(|path| path.exists()) {
        Some(path) => Config::builder().file(&path),
        None => Config::builder(),
    }
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
        let record = own.iter().find(|record| *record.name == **name).or_else(|| Record::named(name));
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

/// All faults, each with its way out.
pub(crate) fn stop(errors: &ConfigErrors) -> Stop {
    let said = errors.0.iter().map(|error| {
        let message = match error.key.as_str() {
            "" => format!("{}: {} ({})", error.origin, error.message, error.code.word()),
            key => format!("{}: `{key}`: {} ({})", error.origin, error.message, error.code.word()),
        };
        (message, error.help.clone())
    });
    Stop::Faults(said.collect())
}

/// Whether a key matters to the chosen provider.
fn is_in_use(key: &str, config: &Config) -> bool {
    let provider = key.strip_prefix("providers.").and_then(|rest| rest.split('.').next());
    provider.is_none_or(|provider| provider == config.provider())
}

fn line(key: &str, row: &Row, setting: &KeySetting, paint: Paint, out: &mut dyn Write) -> Result<(), Stop> {
    let value = match &setting.value {
        Value::Unset => "-".to_owned(),
        Value::Text(text) => visible(text, Breaks::Show).into_owned(),
        other => visible(&other.to_json().to_string(), Breaks::Show).into_owned(),
    };
    let choice = match row.kind {
        Kind::Word(words) => format!(" ({})", words.join(" | ")),
        _ => String::new(),
    };
    let origin = visible(&setting.origin.to_string(), Breaks::Show).into_owned();
    let tone = if setting.origin.is_given() { Tone::Strong } else { Tone::Plain };
    writeln!(
        out,
        "{} {} {} {} {}",
        paint.tone(Tone::Accent, padded(key, 50)),
        paint.tone(tone, padded(&value, 12)),
        padded(&origin, 8),
        padded(row.class.word(), 8),
        paint.tone(Tone::Grey, format!("{}{choice}", row.meaning)),
    )?;
    Ok(())
}
