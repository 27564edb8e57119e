//! Configuration: the user's own YAML file, above it one that came with the folder, then the environment, then flags;
//! every value with its origin, and whatever is not understood rejected with its place and the nearest known key.
//!
//! Whoever wrote the folder may have written its file, so each key has a [`Class`]: a folder may tighten what holds
//! unasked, needs a yes for what it loosens, and has no say in what is the user's own.
//!
//! ```
//! use callgate_agent::config::Config;
//!
//! let config = Config::builder()
//!     .text(".agent/config.yml", "provider: ollama\nproviders:\n  ollama:\n    model: qwen3\n")
//!     .environment([("CALLGATE_PROFILE".to_owned(), "lenient".to_owned())])
//!     .flag("--model llama3.2", "providers.ollama.model", "llama3.2")
//!     .build()?;
//! assert_eq!(config.provider(), "ollama");
//! assert_eq!(config.profile().name(), "lenient");
//! assert_eq!(config.origin("providers.ollama.model").to_string(), "--model llama3.2");
//! # Ok::<(), callgate_agent::config::ConfigErrors>(())
//! ```

mod editor;
mod error;
mod folder;
mod near;
mod places;
mod row;
mod secrets;
mod servers;
mod state;
mod table;
mod trust;
mod views;
mod wish;
mod yaml;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use callgate::Profile;
use callgate::internal::{nearest, policy::bytes};

use crate::approval::{EveryNth, Rule};
use crate::model::Address;

pub use error::{ConfigError, ConfigErrorCode, ConfigErrors, Origin};
pub use folder::{FILE, FolderFile, check_way};
use near::{keys_near, suggestion};
pub use places::Places;
pub use row::{Class, Fallback, Kind, Order, PROVIDERS, Row, Value};
pub use state::StateFolder;
pub use table::rows;
use table::{ALIASES, STRICT_SWITCH};
pub use trust::{KeyChange, Remembered, TrustAnswer, TrustStore};
pub use wish::Wish;
use yaml::Content;

/// What the names of environment variables start with.
pub const ENVIRONMENT: &str = "CALLGATE_";

/// An environment variable in which other programs are told where a server is.
#[derive(Debug)]
struct Usual {
    variable: &'static str,
    provider: &'static str,
    /// The address that its text stands for.
    address: fn(&str) -> String,
}

const USUAL: &[Usual] = &[
    Usual { variable: "OPENAI_BASE_URL", provider: "openai", address: str::to_owned },
    Usual { variable: "OLLAMA_HOST", provider: "ollama", address: ollama_host },
];

/// A configuration in which every key has a value.
#[derive(Clone, Debug)]
pub struct Config {
    profile: Profile,
    settings: BTreeMap<String, KeySetting>,
}

/// A value and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct KeySetting {
    /// The value.
    pub value: Value,
    /// Who gave it.
    pub origin: Origin,
}

impl Config {
    /// Starts with nothing given.
    pub fn builder() -> ConfigBuilder {
        ConfigBuilder::default()
    }

    /// Every key with its value and its origin, in the order of the documentation.
    pub fn settings(&self) -> impl Iterator<Item = (String, &KeySetting)> {
        let keys = rows().flat_map(|row| self.keys(row));
        keys.filter_map(|key| self.settings.get(&key).map(|setting| (key, setting)))
    }

    /// The keys of a row; those with names of the user's own as far as they were given.
    pub fn keys(&self, row: &Row) -> Vec<String> {
        match row.is_open() {
            true => self.settings.keys().filter(|key| row.fits(key)).cloned().collect(),
            false => row.keys(),
        }
    }

    /// The value of a key; nothing if there is no such key.
    pub fn value(&self, key: &str) -> &Value {
        self.settings.get(key).map_or(&Value::Unset, |setting| &setting.value)
    }

    /// Who gave the value of a key.
    pub fn origin(&self, key: &str) -> &Origin {
        self.settings.get(key).map_or(&Origin::Default, |setting| &setting.origin)
    }

    /// The chosen profile.
    pub fn profile(&self) -> Profile {
        self.profile
    }
}

/// Collects what is given, layer over layer.
#[derive(Clone, Debug, Default)]
pub struct ConfigBuilder {
    layers: Vec<Layer<Vec<Given>>>,
    errors: Vec<ConfigError>,
    /// What environment variables of other programs say.
    usual: Vec<(&'static Usual, String)>,
}

/// What one giver gave.
#[derive(Clone, Debug)]
struct Layer<T> {
    giver: Giver,
    entries: T,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Giver {
    User,
    /// The folder; whether the user agreed to its file.
    Folder {
        agreed: bool,
    },
}

/// The values of a layer by their canonical keys.
type Settings = BTreeMap<String, KeySetting>;

#[derive(Clone, Debug)]
struct Given {
    key: String,
    content: Content,
    origin: Origin,
}

impl ConfigBuilder {
    /// Reads a file of the user's own. One that is not there is an error.
    pub fn file(mut self, path: &Path) -> Self {
        match std::fs::read_to_string(path) {
            Ok(text) => self.text(path, &text),
            Err(error) => {
                self.errors.push(ConfigError {
                    code: ConfigErrorCode::Unreadable,
                    origin: Origin::File { path: path.to_owned(), line: 0 },
                    key: String::new(),
                    message: format!("the file cannot be read: {error}"),
                    help: "check the path and the permissions".to_owned(),
                });
                self
            }
        }
    }

    /// Takes the text of a file of the user's own. A `settings.json` is an editor's: it is read for the keys that start
    /// with `callgate.`, and for the switch of the profile `strict-xml`.
    pub fn text(self, path: impl Into<PathBuf>, text: &str) -> Self {
        let path = path.into();
        self.yaml(text, Giver::User, |line| Origin::File { path: path.clone(), line })
    }

    /// Takes the text of a file that came with the folder. It may set what is plain; what needs a yes is an error until
    /// [`agreed`](ConfigBuilder::agreed), and what is the user's own is an error always.
    pub fn folder(self, path: impl Into<PathBuf>, text: &str) -> Self {
        let path = path.into();
        self.yaml(text, Giver::Folder { agreed: false }, |line| Origin::Folder { path: path.clone(), line })
    }

    /// Says that the user agreed to the file of the folder, as it is.
    pub fn agreed(mut self) -> Self {
        for layer in self.layers.iter_mut().filter(|layer| layer.giver != Giver::User) {
            layer.giver = Giver::Folder { agreed: true };
        }
        self
    }

    fn yaml(mut self, text: &str, giver: Giver, origin: impl Fn(usize) -> Origin) -> Self {
        let entries = match editor::is_settings(&origin(0)) {
            true => editor::entries(text),
            false => yaml::entries(text),
        };
        match entries {
            Ok(entries) => {
                let given = entries.into_iter().map(|entry| Given {
                    key: entry.key,
                    content: entry.content,
                    origin: origin(entry.line),
                });
                self.layers.push(Layer { giver, entries: given.collect() });
            }
            Err(fault) => self.errors.push(ConfigError {
                code: ConfigErrorCode::Unreadable,
                origin: origin(fault.line),
                key: fault.key,
                message: fault.message,
                help: fault.help.to_owned(),
            }),
        }
        self
    }

    /// Takes environment variables: those that start with [`ENVIRONMENT`], and those in which other programs are told
    /// where a server is, which count where nobody says anything else.
    pub fn environment(mut self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut layer = Vec::new();
        for (name, text) in variables {
            if let Some(usual) = USUAL.iter().find(|usual| usual.variable == name) {
                self.usual.push((usual, text));
                continue;
            }
            if !name.starts_with(ENVIRONMENT) {
                continue;
            }
            let known = all_keys().find(|key| variable(key) == name);
            let origin = Origin::Environment(name.clone());
            match known {
                Some(key) => layer.push(Given { key, content: unquoted(text), origin }),
                None => {
                    let names: Vec<String> = all_keys().map(|key| variable(&key)).collect();
                    let near = nearest(&name, names.iter().map(String::as_str));
                    self.errors.push(ConfigError {
                        code: ConfigErrorCode::UnknownKey,
                        origin,
                        key: name.clone(),
                        message: "there is no such setting".to_owned(),
                        help: near.first().map_or_else(
                            || format!("no other names start with {ENVIRONMENT}"),
                            |near| format!("did you mean `{near}`?"),
                        ),
                    });
                }
            }
        }
        self.layers.push(Layer { giver: Giver::User, entries: layer });
        self
    }

    /// Takes a flag of the command line: as it was written, the key it stands for, and the value.
    pub fn flag(mut self, flag: &str, key: &str, text: &str) -> Self {
        let origin = Origin::Flag(flag.to_owned());
        let given = Given { key: key.to_owned(), content: unquoted(text.to_owned()), origin };
        self.layers.push(Layer { giver: Giver::User, entries: vec![given] });
        self
    }

    /// What the file of the folder asks for, in its order, each with the class that its value has here. What cannot be
    /// read is left to [`build`](ConfigBuilder::build).
    pub fn wishes(&self) -> Vec<Wish> {
        wish::wishes(&self.read().0)
    }

    /// Puts the layers together, the later above the earlier.
    pub fn build(mut self) -> Result<Config, ConfigErrors> {
        let usual = std::mem::take(&mut self.usual);
        let (layers, mut errors) = self.read();
        let is_agreed = layers.iter().all(|layer| layer.giver != Giver::Folder { agreed: false });
        errors.extend(wish::wishes(&layers).into_iter().filter_map(|wish| wish.fault(is_agreed)));
        let mut config = Config::of(&layers);
        errors.extend(usual.into_iter().filter_map(|(usual, text)| config.place(usual, text.trim()).err()));
        errors.extend(servers::check(&config.settings));
        errors.extend(secrets::check(&config));
        if errors.is_empty() { Ok(config) } else { Err(ConfigErrors(errors)) }
    }

    /// The layers with typed values, and what is wrong with them.
    fn read(&self) -> (Vec<Layer<Settings>>, Vec<ConfigError>) {
        let mut errors = self.errors.clone();
        let mut layers = Vec::new();
        for layer in &self.layers {
            let mut settings: BTreeMap<String, (&str, KeySetting)> = BTreeMap::new();
            for entry in &layer.entries {
                match read(entry) {
                    Err(error) => errors.push(error),
                    Ok(None) => {}
                    Ok(Some((key, value))) => {
                        let setting = KeySetting { value, origin: entry.origin.clone() };
                        match settings.get(&key) {
                            Some((other, there)) if there.value != setting.value => {
                                errors.push(ConfigError {
                                    code: ConfigErrorCode::Conflict,
                                    message: format!("`{other}` says something else ({})", there.origin),
                                    origin: setting.origin,
                                    key: entry.key.clone(),
                                    help: format!("both mean `{key}`: keep one"),
                                });
                            }
                            _ => {
                                settings.insert(key, (&entry.key, setting));
                            }
                        }
                    }
                }
            }
            let entries = settings.into_iter().map(|(key, (_, setting))| (key, setting)).collect();
            layers.push(Layer { giver: layer.giver, entries });
        }
        (layers, errors)
    }
}

impl Config {
    /// Takes the address in a variable of another program, where nobody gave one and its server is the chosen one.
    fn place(&mut self, usual: &Usual, text: &str) -> Result<(), ConfigError> {
        let key = format!("providers.{}.endpoint", usual.provider);
        if text.is_empty() || usual.provider != self.provider() || self.origin(&key).is_given() {
            return Ok(());
        }
        let origin = Origin::Environment(usual.variable.to_owned());
        let address = (usual.address)(text);
        match Address::parse(&address) {
            Ok(_) => {
                self.settings.insert(key, KeySetting { value: Value::Text(address), origin });
                Ok(())
            }
            Err(message) => Err(ConfigError {
                code: ConfigErrorCode::OutOfRange,
                origin,
                key,
                message,
                help: "write an address such as http://127.0.0.1:11434, or set the key itself".to_owned(),
            }),
        }
    }

    /// The layers put together, and what holds where nobody gave anything.
    fn of<'l>(layers: impl IntoIterator<Item = &'l Layer<Settings>>) -> Self {
        let mut given = Settings::new();
        for layer in layers {
            for (key, setting) in &layer.entries {
                let mut setting = setting.clone();
                // What a folder forbids comes on top of what the user forbids; it replaces none of it.
                if layer.giver != Giver::User
                    && let (Value::List(items), Some(KeySetting { value: Value::List(below), .. })) =
                        (&mut setting.value, given.get(key))
                    && Row::of(key).is_some_and(|row| matches!(row.kind, Kind::Rules | Kind::EveryNth))
                {
                    items.splice(0..0, below.iter().cloned());
                }
                given.insert(key.clone(), setting);
            }
        }
        let profile = match given.get("profile") {
            Some(KeySetting { value: Value::Text(name), .. }) => Profile::named(name),
            _ => None,
        };
        let profile = profile.unwrap_or_else(Profile::standard);
        let policy = serde_json::to_value(profile.policy()).unwrap_or_default();
        for row in rows() {
            let (value, is_profiles) = row.fallback_of(&profile, &policy);
            let origin = if is_profiles { Origin::Profile } else { Origin::Default };
            for key in row.keys() {
                given
                    .entry(key)
                    .or_insert_with(|| KeySetting { value: value.clone(), origin: origin.clone() });
            }
        }
        Config { profile, settings: given }
    }
}

/// The environment variable of a key.
pub fn variable(key: &str) -> String {
    format!("{ENVIRONMENT}{}", key.replace('.', "_").to_uppercase())
}

fn all_keys() -> impl Iterator<Item = String> {
    rows().flat_map(Row::keys)
}

/// The address in Ollama's variable: scheme, host and port may each be missing, and a server that listens everywhere is
/// reached on this machine.
fn ollama_host(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => (name, format!(":{port}")),
        _ if text.contains("://") => (host, String::new()),
        _ => (host, ":11434".to_owned()),
    };
    let name = if matches!(name, "" | "0.0.0.0" | "[::]") { "127.0.0.1" } else { name };
    format!("{scheme}://{name}{port}{path}")
}

fn unquoted(text: String) -> Content {
    Content::Scalar { text, quoted: false }
}

/// The canonical key and the value of what was given; nothing where it asks for nothing.
fn read(given: &Given) -> Result<Option<(String, Value)>, ConfigError> {
    let fault = |code, message: String, help: String| ConfigError {
        code,
        origin: given.origin.clone(),
        key: given.key.clone(),
        message,
        help,
    };
    if given.key == STRICT_SWITCH {
        let value =
            typed("", Kind::Flag, &given.content, &given.origin).map_err(|(c, m, h)| fault(c, m, h))?;
        let strict = ("profile".to_owned(), Value::Text("strict-xml".to_owned()));
        return Ok((value == Value::Flag(true)).then_some(strict));
    }
    let key = canonical(&given.key);
    let Some(row) = Row::of(&key) else {
        let is_section = keys_near(&key).iter().any(|known| known.starts_with(&format!("{key}.")));
        let message = if is_section { "this is a section, not a value" } else { "there is no such key" };
        return Err(fault(ConfigErrorCode::UnknownKey, message.to_owned(), suggestion(&key)));
    };
    let value =
        typed(row.key, row.kind, &given.content, &given.origin).map_err(|(c, m, h)| fault(c, m, h))?;
    Ok(Some((key, value)))
}

/// The key that an older spelling stands for.
fn canonical(key: &str) -> String {
    for provider in PROVIDERS {
        for (alias, meant) in ALIASES {
            let (alias, meant) = (alias.replacen('*', provider, 1), meant.replacen('*', provider, 1));
            if key == alias {
                return meant;
            }
            if let Some(rest) = key.strip_prefix(&alias).filter(|_| alias.ends_with('.')) {
                return format!("{meant}{rest}");
            }
        }
    }
    key.to_owned()
}

type Misfit = (ConfigErrorCode, String, String);

/// A value as the type of its key.
fn typed(key: &str, kind: Kind, content: &Content, origin: &Origin) -> Result<Value, Misfit> {
    let from_file = matches!(origin, Origin::File { .. } | Origin::Folder { .. });
    let (text, quoted) = match (kind, content) {
        (Kind::List | Kind::Rules | Kind::EveryNth, Content::List(items)) => {
            return list(kind, items.clone());
        }
        (Kind::List | Kind::Rules | Kind::EveryNth, Content::Scalar { text, .. }) if !from_file => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            return list(kind, items.map(str::to_owned).collect());
        }
        (_, Content::List(_)) => return Err(wrong(words(kind), "a list", "write one value")),
        (_, Content::Scalar { text, quoted }) => (text.as_str(), *quoted),
    };
    let shown = || format!("`{}`", text.chars().take(40).collect::<String>());
    let out_of_range =
        |help: String| (ConfigErrorCode::OutOfRange, format!("{} is not allowed", shown()), help);
    let unquote = "write it without quotes";
    match kind {
        Kind::List | Kind::Rules | Kind::EveryNth => {
            Err(wrong("a list", "one value", "write `- value` lines or `[a, b]`"))
        }
        Kind::Text | Kind::Template => Ok(Value::Text(text.to_owned())),
        Kind::Flag => match text {
            "true" | "True" | "TRUE" if !quoted => Ok(Value::Flag(true)),
            "false" | "False" | "FALSE" if !quoted => Ok(Value::Flag(false)),
            "true" | "false" => Err(wrong("true or false", "text", unquote)),
            _ => Err(wrong("true or false", &shown(), "write `true` or `false`")),
        },
        Kind::Count(least, most) => {
            let bounds = format!("allowed is {least} to {most}");
            match bytes(key, text).map_or_else(|| text.parse::<u64>(), Ok) {
                Ok(_) if quoted => Err(wrong("a whole number", "text", unquote)),
                Ok(count) if (least..=most).contains(&count) => Ok(Value::Count(count)),
                Ok(_) => Err(out_of_range(bounds)),
                // A number that is too long or negative gets the message about the range.
                Err(_) if !quoted && is_whole(text) => Err(out_of_range(bounds)),
                Err(_) => Err(wrong("a whole number", &shown(), &bounds)),
            }
        }
        Kind::Number(least, most) => {
            let bounds = format!("allowed is {least} to {most}");
            match text.parse::<f64>() {
                Ok(_) if quoted => Err(wrong("a number", "text", unquote)),
                Ok(number) if (least..=most).contains(&number) => Ok(Value::Number(number)),
                Ok(_) => Err(out_of_range(bounds)),
                Err(_) => Err(wrong("a number", &shown(), &bounds)),
            }
        }
        Kind::Word(known) => {
            if known.contains(&text) {
                return Ok(Value::Text(text.to_owned()));
            }
            let near = nearest(text, known.iter().copied());
            let all = format!("allowed is {}", known.join(", "));
            Err(out_of_range(
                near.first().map_or(all.clone(), |near| format!("did you mean `{near}`? {all}")),
            ))
        }
        Kind::Address => match crate::model::Address::parse(text) {
            Ok(_) => Ok(Value::Text(text.to_owned())),
            Err(message) => {
                Err((ConfigErrorCode::OutOfRange, message, "for example http://127.0.0.1:11434".to_owned()))
            }
        },
    }
}

fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// A list, of rules where rules are wanted.
fn list(kind: Kind, items: Vec<String>) -> Result<Value, Misfit> {
    let unfit = |item: &String| match kind {
        Kind::Rules => {
            let help = "a rule is a tool or an `@` and a permission, and any `argument=pattern`, as in `fs.write path=docs/**`";
            Rule::parse(item).err().map(|error| (error, help))
        }
        Kind::EveryNth => {
            let help = "write a number and a rule, as in `5 fs.read`";
            EveryNth::parse(item).err().map(|error| (error, help))
        }
        _ => None,
    };
    match items.iter().find_map(unfit) {
        None => Ok(Value::List(items)),
        Some((error, help)) => Err((ConfigErrorCode::OutOfRange, error.message, help.to_owned())),
    }
}

fn words(kind: Kind) -> &'static str {
    match kind {
        Kind::Flag => "true or false",
        Kind::Count(..) => "a whole number",
        Kind::Number(..) => "a number",
        Kind::Text | Kind::Template => "text",
        Kind::Address => "an address",
        Kind::Word(_) => "one word",
        Kind::List | Kind::Rules | Kind::EveryNth => "a list",
    }
}

fn wrong(expected: &str, found: &str, help: &str) -> Misfit {
    (ConfigErrorCode::WrongType, format!("expected {expected}, found {found}"), help.to_owned())
}
