//! Settings: one YAML file, checked as a whole before anything of it counts.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use callgate_agent::model::{Address, Timeouts};
use callgate_agent::yaml::from_yaml;
use serde::Deserialize;

pub use crate::audit::{RecordSettings, SyncAt};
pub use crate::known::{CallsBy, ModelSettings};
pub use crate::log::{LogFormat, LogLevel, LogSettings};
pub use crate::spans::TraceSettings;

/// Everything that can be set. What is left out is as in [`Settings::default`].
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Settings {
    /// Where clients connect.
    pub listen: String,
    /// The names by which clients may know this server, besides those of this machine.
    pub hosts: Vec<String>,
    /// The servers of the models, the preferred ones first.
    pub upstreams: Vec<UpstreamSettings>,
    /// What is known of single models; the first row that fits counts.
    pub models: Vec<ModelSettings>,
    /// Whether servers are asked how their models come by their tools, where no row says it. For other servers than Ollama
    /// that takes two or three small questions to each model.
    pub probe: bool,
    /// When calls leave.
    pub release: ReleaseAt,
    /// How often a rejected call is asked for again.
    pub retries: RetryBudget,
    /// What a client gets when a rejected call was not corrected.
    pub on_failure: OnFailure,
    /// Whether answers say what was repaired, rejected and asked again.
    pub marks: bool,
    /// The keys of clients; without any, everybody who reaches the address may use it.
    pub keys: Vec<KeySettings>,
    /// What one client, and all of them, may take.
    pub limits: Limits,
    /// Whether there is a page to look at.
    pub page: bool,
    /// What is logged, and how.
    pub log: LogSettings,
    /// Where verdicts are recorded; nowhere without.
    pub audit: Option<RecordSettings>,
    /// Where traces go; nowhere without.
    pub traces: Option<TraceSettings>,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            listen: "127.0.0.1:8642".to_owned(),
            hosts: Vec::new(),
            upstreams: Vec::new(),
            models: Vec::new(),
            probe: false,
            release: ReleaseAt::default(),
            retries: RetryBudget::default(),
            on_failure: OnFailure::default(),
            marks: true,
            keys: Vec::new(),
            limits: Limits::default(),
            page: true,
            log: LogSettings::default(),
            audit: None,
            traces: None,
        }
    }
}

/// A server of models.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct UpstreamSettings {
    /// Its address; `scripted:` for the model that is built in.
    pub url: String,
    /// Which API it speaks; found out without it.
    #[serde(default)]
    pub api: Api,
    /// The environment variable that holds its key.
    #[serde(default)]
    pub key_env: Option<String>,
    /// The models that it serves, by name with `*`; all without any.
    #[serde(default)]
    pub models: Vec<String>,
    /// Its share of the requests among the servers of the same model.
    #[serde(default = "one")]
    pub weight: u32,
    /// How long each part of an answer may take.
    #[serde(default)]
    pub timeouts: TimeoutSettings,
}

fn one() -> u32 {
    1
}

impl UpstreamSettings {
    /// A server at this address, and nothing else known of it.
    pub fn at(url: impl Into<String>) -> Self {
        UpstreamSettings {
            url: url.into(),
            api: Api::Auto,
            key_env: None,
            models: Vec::new(),
            weight: 1,
            timeouts: TimeoutSettings::default(),
        }
    }
}

/// How long each part of an answer may take, in milliseconds.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TimeoutSettings {
    /// Until the connection stands.
    pub connect_ms: u64,
    /// Until the first byte of the answer.
    pub first_byte_ms: u64,
    /// Between two chunks.
    pub idle_ms: u64,
    /// From the beginning to the end.
    pub total_ms: u64,
}

impl Default for TimeoutSettings {
    fn default() -> Self {
        TimeoutSettings { connect_ms: 5_000, first_byte_ms: 300_000, idle_ms: 60_000, total_ms: 1_800_000 }
    }
}

impl From<TimeoutSettings> for Timeouts {
    fn from(settings: TimeoutSettings) -> Self {
        Timeouts {
            connect: Duration::from_millis(settings.connect_ms),
            first_byte: Duration::from_millis(settings.first_byte_ms),
            idle: Duration::from_millis(settings.idle_ms),
            total: Duration::from_millis(settings.total_ms),
        }
    }
}

/// Which API a server of models speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    /// It is asked.
    #[default]
    Auto,
    /// OpenAI's chat completions.
    Openai,
    /// Ollama's own.
    Ollama,
}

/// When calls leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReleaseAt {
    /// After the whole response was judged.
    Verified,
    /// When they stand whatever comes next; at the end where that cannot be known before.
    #[default]
    Settled,
    /// While they are written, for display.
    Eager,
}

/// How often a rejected call is asked for again, and what that may cost.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RetryBudget {
    /// How often.
    pub attempts: u32,
    /// The most tokens of all further answers together.
    pub tokens: u64,
    /// The most time for all of them.
    pub seconds: u64,
}

impl Default for RetryBudget {
    fn default() -> Self {
        RetryBudget { attempts: 2, tokens: 16_384, seconds: 120 }
    }
}

/// What a client gets when a rejected call was not corrected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// A sentence at the end of the text that says which call was rejected, and why.
    #[default]
    Explain,
    /// An error in the form of its API.
    Error,
    /// Nothing but the extension field.
    Quiet,
}

/// The key of a client.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct KeySettings {
    /// Whose it is, for logs and metrics.
    pub name: String,
    /// The SHA-256 of the key, in hexadecimal digits.
    pub sha256: String,
    /// The most requests in a minute.
    #[serde(default)]
    pub requests_per_minute: Option<u32>,
    /// The most requests at once.
    #[serde(default)]
    pub concurrent: Option<usize>,
}

/// What clients may take.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Limits {
    /// The largest request, in bytes, unpacked.
    pub body: usize,
    /// The largest head of a request, in bytes.
    pub head: usize,
    /// The most requests that are worked on at once.
    pub concurrent: usize,
    /// The most requests that wait for that.
    pub queue: usize,
    /// The most connections.
    pub connections: usize,
    /// How long the head of a request may take, in milliseconds.
    pub head_ms: u64,
    /// How long the body of a request may take, in milliseconds.
    pub body_ms: u64,
    /// How long a client may not take what it is sent, in milliseconds.
    pub write_ms: u64,
    /// How long a stream may be silent before the client hears that somebody is there, in milliseconds.
    pub ping_ms: u64,
    /// How many exchanges the page remembers.
    pub remembered: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            body: 32 << 20,
            head: 64 << 10,
            concurrent: 512,
            queue: 1024,
            connections: 16_384,
            head_ms: 15_000,
            body_ms: 60_000,
            write_ms: 60_000,
            ping_ms: 10_000,
            remembered: 100,
        }
    }
}

/// Why settings cannot be used: all faults at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// The file, if it was one.
    pub path: Option<PathBuf>,
    /// What is wrong, each with a place and a way out.
    pub faults: Vec<String>,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.path.as_ref().map_or_else(String::new, |path| format!("{}: ", path.display()));
        write!(f, "{place}{}", self.faults.join(&format!("\n{place}")))
    }
}

impl std::error::Error for SettingsError {}

impl Settings {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, SettingsError> {
        let named = |faults: Vec<String>| SettingsError { path: Some(path.to_owned()), faults };
        let text = std::fs::read_to_string(path).map_err(|error| named(vec![error.to_string()]))?;
        Settings::parse(&text).map_err(|error| named(error.faults))
    }

    /// Reads YAML text.
    pub fn parse(text: &str) -> Result<Self, SettingsError> {
        let fault = |faults: Vec<String>| SettingsError { path: None, faults };
        // A file that is just being written is empty, and would take away every key and every limit.
        let is_said = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with(['#', '%', '-']);
        if !text.lines().any(is_said) {
            let why = "there is no setting in it; leave the file out where none is wanted, or name one: `upstreams: []`";
            return Err(fault(vec![why.to_owned()]));
        }
        let settings: Settings = from_yaml(text).map_err(|error| fault(vec![error.to_string()]))?;
        settings.check().map_err(fault)?;
        Ok(settings)
    }

    /// What is known of a model.
    pub(crate) fn row(&self, model: &str) -> Option<&ModelSettings> {
        self.models.iter().find(|row| fits(&row.name, model))
    }

    /// What its server calls a model.
    pub(crate) fn upstream_name<'n>(&'n self, model: &'n str) -> &'n str {
        self.row(model).and_then(|row| row.upstream_name.as_deref()).unwrap_or(model)
    }

    /// Checks what the form alone does not say.
    pub fn check(&self) -> Result<(), Vec<String>> {
        let mut faults = Vec::new();
        for (at, upstream) in self.upstreams.iter().enumerate() {
            if upstream.url != SCRIPTED
                && let Err(why) = Address::parse(&upstream.url)
            {
                // What stands before an `@` may be a password.
                let shown = upstream.url.rsplit('@').next().unwrap_or_default();
                faults.push(format!("upstreams[{at}].url: {why}: {shown:?}"));
            }
            let times = &upstream.timeouts;
            faults.extend(out_of_range(
                &format!("upstreams[{at}].timeouts"),
                &[
                    ("connect_ms", times.connect_ms, 1, LONGEST_MS),
                    ("first_byte_ms", times.first_byte_ms, 1, LONGEST_MS),
                    ("idle_ms", times.idle_ms, 1, LONGEST_MS),
                    ("total_ms", times.total_ms, 1, LONGEST_MS),
                ],
            ));
            if let Some(name) = &upstream.key_env
                && std::env::var(name).is_err()
            {
                faults.push(format!("upstreams[{at}].key_env: the variable {name} is not set"));
            }
        }
        for (at, model) in self.models.iter().enumerate() {
            faults.extend(model.faults().map(|(key, why)| format!("models[{at}].{key}: {why}")));
        }
        for (at, key) in self.keys.iter().enumerate() {
            if key.sha256.len() != 64 || !key.sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                faults.push(format!(
                    "keys[{at}].sha256: this is no SHA-256 in 64 hexadecimal digits; `printf %s KEY | sha256sum` makes one"
                ));
            }
        }
        for (at, key) in self.keys.iter().enumerate() {
            // What a key has used is counted by its name.
            if self.keys[..at].iter().any(|other| other.name == key.name || other.sha256 == key.sha256) {
                faults.push(format!("keys[{at}]: another key has this name, or is the same"));
            }
            let least = u64::from(key.requests_per_minute.unwrap_or(1));
            let least = least.min(key.concurrent.unwrap_or(1).try_into().unwrap_or(u64::MAX));
            if least == 0 {
                faults.push(format!(
                    "keys[{at}]: a limit of 0 lets nothing through; leave the key out instead"
                ));
            }
        }
        let limits = &self.limits;
        let number = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        faults.extend(out_of_range(
            "limits",
            &[
                ("body", number(limits.body), 1, MOST),
                // A request line and a host have to have room.
                ("head", number(limits.head), 8192, MOST),
                ("concurrent", number(limits.concurrent), 1, MOST),
                ("queue", number(limits.queue), 0, MOST),
                ("connections", number(limits.connections), 1, MOST),
                ("head_ms", limits.head_ms, 1, LONGEST_MS),
                ("body_ms", limits.body_ms, 1, LONGEST_MS),
                ("write_ms", limits.write_ms, 1, LONGEST_MS),
                ("ping_ms", limits.ping_ms, 1, LONGEST_MS),
                ("remembered", number(limits.remembered), 0, 10_000),
            ],
        ));
        let retries = &self.retries;
        faults.extend(out_of_range(
            "retries",
            &[
                ("attempts", retries.attempts.into(), 0, 100),
                ("seconds", retries.seconds, 0, LONGEST_MS / 1000),
            ],
        ));
        faults.extend(self.audit.iter().flat_map(RecordSettings::faults));
        faults.extend(self.traces.iter().flat_map(TraceSettings::faults));
        if faults.is_empty() { Ok(()) } else { Err(faults) }
    }
}

/// The longest time of a setting, in milliseconds: thirty days. No clock runs over by it.
const LONGEST_MS: u64 = 30 * 24 * 3_600_000;

/// The largest number of a setting that counts bytes, requests or connections: as many as can be counted on every machine.
const MOST: u64 = (1 << 29) - 1;

/// What is wrong with the numbers of a group of settings: name, number, the least and the most that it may be.
fn out_of_range<'a>(
    group: &'a str,
    numbers: &'a [(&'static str, u64, u64, u64)],
) -> impl Iterator<Item = String> + 'a {
    let is_out = |(_, number, least, most): &&(&str, u64, u64, u64)| !(least..=most).contains(&number);
    numbers.iter().filter(is_out).map(move |(name, number, least, most)| {
        format!("{group}.{name}: {number} is not between {least} and {most}")
    })
}

/// The address of the model that is built in.
pub const SCRIPTED: &str = "scripted:";

/// Whether a name fits a pattern in which `*` stands for any letters. Case does not count.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_lowercase(), name.to_lowercase());
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_names() {
        for (pattern, name, wanted) in [
            ("*", "anything", true),
            ("qwen3*", "Qwen3-Coder", true),
            ("qwen3*", "qwen2", false),
            ("*coder*30b", "qwen3-coder-30B", true),
            ("exact", "exact", true),
            ("exact", "exactly", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(fits(pattern, name), wanted, "{pattern} {name}");
        }
    }

    #[test]
    fn numbers_that_let_nothing_through_or_run_over_are_faults() {
        let sha = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
        let limits =
            ["body", "head", "concurrent", "connections", "head_ms", "body_ms", "write_ms", "ping_ms"];
        let times = ["connect_ms", "first_byte_ms", "idle_ms", "total_ms"];
        let largest = u64::MAX;
        for number in [0, largest] {
            for name in limits {
                let faults = Settings::parse(&format!("limits: {{{name}: {number}}}")).unwrap_err().faults;
                assert!(faults[0].starts_with(&format!("limits.{name}: {number} ")), "{faults:?}");
            }
            for name in times {
                let text = format!("upstreams: [{{url: 'http://h', timeouts: {{{name}: {number}}}}}]");
                let faults = Settings::parse(&text).unwrap_err().faults;
                assert!(faults[0].contains(&format!("timeouts.{name}: {number} ")), "{faults:?}");
            }
        }
        for text in [
            format!("limits: {{queue: {largest}}}"),
            format!("limits: {{remembered: {largest}}}"),
            format!("retries: {{seconds: {largest}}}"),
            "retries: {attempts: 4294967295}".to_owned(),
            format!("keys: [{{name: a, sha256: {sha}, concurrent: 0}}]"),
            format!("keys: [{{name: a, sha256: {sha}, requests_per_minute: 0}}]"),
            format!("keys: [{{name: a, sha256: {sha}}}, {{name: b, sha256: {sha}}}]"),
        ] {
            assert_eq!(Settings::parse(&text).unwrap_err().faults.len(), 1, "{text}");
        }
        let text = format!("keys: [{{name: a, sha256: {sha}, concurrent: 1, requests_per_minute: 1}}]");
        assert!(Settings::parse(&text).is_ok());
    }

    #[test]
    fn all_faults_of_settings_are_told_at_once() {
        let text = "upstreams:\n  - url: nowhere\nmodels:\n  - name: m\n    dialect: klingon\nkeys:\n  - name: a\n    sha256: abc\n";
        let faults = Settings::parse(text).unwrap_err().faults;
        assert_eq!(faults.len(), 3, "{faults:?}");
        assert!(faults[0].starts_with("upstreams[0].url"), "{faults:?}");
        assert!(faults[1].contains("klingon"), "{faults:?}");
        assert!(Settings::parse("unknown: 1").is_err());
        let secret = Settings::parse("upstreams: [{url: 'http://me:hun@ter2@host/v1'}]").unwrap_err().faults;
        assert!(
            secret[0].contains("host/v1") && !secret[0].contains("hun") && !secret[0].contains("ter2"),
            "{secret:?}"
        );
        assert!(Settings::parse("").is_err_and(|error| error.faults[0].contains("no setting")));
    }
}
