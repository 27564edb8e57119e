//! The MCP servers of a configuration. Their names are the user's own, so their keys are checked together: one way to
//! reach each server, nothing that belongs to the other way, and no secret that stands in the file itself.

use std::collections::{BTreeMap, BTreeSet};

use super::{Config, ConfigError, ConfigErrorCode, KeySetting, Value};
use crate::audit::Redaction;
use crate::model::Secret;
use crate::tools::mcp::{McpServer, McpWay, is_server_name};
use crate::written::Written;

/// What the keys of servers start with.
const SECTION: &str = "mcp.servers.";

/// What is wrong with the servers, each with the place of the key that it is about.
pub(super) fn check(settings: &BTreeMap<String, KeySetting>) -> Vec<ConfigError> {
    let mut errors = Vec::new();
    for name in names(settings) {
        let own = format!("{SECTION}{name}.");
        let mut fault = |key: &str, message: String, help: &str| {
            let Some(setting) = settings.get(key) else { return };
            errors.push(ConfigError {
                code: ConfigErrorCode::OutOfRange,
                origin: setting.origin.clone(),
                key: key.to_owned(),
                message,
                help: help.to_owned(),
            });
        };
        let keys: Vec<&str> = below(settings, &own).map(|(key, _)| key).collect();
        let first = keys.first().copied().unwrap_or_default();
        if !is_server_name(name) {
            let help = "the name stands before those of its tools: letters, digits and _";
            fault(first, format!("`{name}` cannot be the name of a server"), help);
        }
        let [command, url] = ["command", "url"].map(|part| format!("{own}{part}"));
        let has = |key: &String| settings.contains_key(key);
        match (has(&command), has(&url)) {
            (true, true) => {
                fault(&url, "a server is started or called, not both".to_owned(), "keep `command` or `url`")
            }
            (false, false) => {
                fault(first, "nothing says how the server is reached".to_owned(), "add `command` or `url`");
            }
            _ => {}
        }
        for key in keys {
            let part = key.strip_prefix(&own).unwrap_or_default();
            let is_for_url = part == "ca_file" || part.starts_with("headers.");
            let is_for_command = part == "args" || part.starts_with("env.");
            if (is_for_url && !has(&url) && has(&command)) || (is_for_command && !has(&command) && has(&url))
            {
                let other = if is_for_url { "url" } else { "command" };
                fault(key, format!("this is for servers with a `{other}`"), "leave it out");
                continue;
            }
            let Some(Value::Text(text)) = settings.get(key).map(|setting| &setting.value) else { continue };
            let Some((kind, name)) = part.split_once('.') else { continue };
            if kind == "headers" && hyper::header::HeaderName::from_bytes(name.as_bytes()).is_err() {
                fault(key, format!("`{name}` is no name of a header"), "for example Authorization");
            }
            match variables(text) {
                None => fault(key, "`${` is never closed".to_owned(), "write ${NAME}"),
                Some(variables)
                    if variables.is_empty() && Redaction::default().is_secret(name, &Written::Null) =>
                {
                    let help = "put it into an environment variable and write ${NAME}";
                    fault(key, "a secret must not stand in a file".to_owned(), help);
                }
                Some(_) => {}
            }
        }
    }
    errors
}

impl Config {
    /// The MCP servers whose tools the model may call. `variable` looks up the environment variables that their
    /// settings name; one that is not there is an error.
    pub fn mcp_servers(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Vec<McpServer>, ConfigError> {
        names(&self.settings).into_iter().map(|name| self.server(name, &variable)).collect()
    }

    /// The environment variables that the settings of servers name. Each is meant for one server and no other program.
    pub(super) fn server_variables(&self) -> Vec<String> {
        let texts = below(&self.settings, SECTION).filter_map(|(_, setting)| match &setting.value {
            Value::Text(text) => variables(text),
            _ => None,
        });
        texts.flatten().map(str::to_owned).collect()
    }

    fn server(
        &self,
        name: &str,
        variable: &impl Fn(&str) -> Option<String>,
    ) -> Result<McpServer, ConfigError> {
        let own = format!("{SECTION}{name}.");
        let text = |part: &str| self.text(&format!("{own}{part}")).map(str::to_owned);
        let pairs = |part: &str| -> Result<Vec<(String, Secret)>, ConfigError> {
            let section = format!("{own}{part}.");
            below(&self.settings, &section)
                .map(|(key, setting)| {
                    let value = match &setting.value {
                        Value::Text(text) => expanded(text, variable),
                        _ => Ok(String::new()),
                    };
                    let value = value.map_err(|missing| ConfigError {
                        code: ConfigErrorCode::OutOfRange,
                        origin: setting.origin.clone(),
                        key: key.to_owned(),
                        message: format!("the environment variable `{missing}` is not set"),
                        help: "set it, or leave the server out".to_owned(),
                    })?;
                    Ok((key[section.len()..].to_owned(), Secret::new(value)))
                })
                .collect()
        };
        let way = match text("url") {
            Some(url) => {
                McpWay::Address { url, headers: pairs("headers")?, ca_file: text("ca_file").map(Into::into) }
            }
            None => McpWay::Command {
                program: text("command").unwrap_or_default(),
                arguments: self.list(&format!("{own}args")).to_vec(),
                variables: pairs("env")?,
            },
        };
        Ok(McpServer { name: name.to_owned(), way })
    }
}

/// The names of the servers, in order.
pub(super) fn names(settings: &BTreeMap<String, KeySetting>) -> BTreeSet<&str> {
    below(settings, SECTION).filter_map(|(key, _)| key[SECTION.len()..].split('.').next()).collect()
}

pub(super) fn below<'s>(
    settings: &'s BTreeMap<String, KeySetting>,
    section: &str,
) -> impl Iterator<Item = (&'s str, &'s KeySetting)> {
    let section = section.to_owned();
    settings
        .range(section.clone()..)
        .take_while(move |(key, _)| key.starts_with(&section))
        .map(|(key, setting)| (key.as_str(), setting))
}

/// The variables that a text names as `${NAME}`; nothing if one is never closed.
pub(super) fn variables(text: &str) -> Option<Vec<&str>> {
    text.split("${").skip(1).map(|rest| rest.split_once('}').map(|(name, _)| name)).collect()
}

/// The text with the variables put in, once: what a variable holds is not looked at again. An error is the name of one
/// that is not there.
fn expanded(text: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut parts = text.split("${");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        whole.push_str(&variable(name).ok_or_else(|| name.to_owned())?);
        whole.push_str(rest);
    }
    Ok(whole)
}
