//! Secrets: which environment variable goes where. Each goes to a host that the user named, and there over TLS or not
//! beyond this machine.

use super::servers::{below, names, variables};
use super::{Config, ConfigError, ConfigErrorCode, Value};
use crate::model::{Address, OLLAMA, OPENAI};

/// What the keys that bind variables to hosts start with.
pub(super) const SECTION: &str = "keys.";

/// What is wrong with where secrets would go, each with the place of the key that it is about.
pub(super) fn check(config: &Config) -> Vec<ConfigError> {
    let mut errors = hosts(config);
    errors.extend(key(config));
    for name in names(&config.settings) {
        errors.extend(server(config, name));
    }
    errors
}

impl Config {
    /// The environment variable that holds the key of the chosen provider: the one that its settings name, or the one
    /// that is bound to the host of its endpoint.
    pub fn key_variable(&self) -> Option<&str> {
        self.key().and_then(|key| self.text(&key))
    }

    /// The address of the chosen provider's server; nothing for the one that is made of rules.
    pub(super) fn address(&self) -> Option<Address> {
        let usual = match self.provider() {
            "ollama" => OLLAMA,
            "openai" => OPENAI,
            _ => return None,
        };
        // What is no address was rejected when the file was read.
        Address::parse(self.text(&self.of_provider("endpoint")).unwrap_or(usual)).ok()
    }

    /// The key whose value is the variable.
    fn key(&self) -> Option<String> {
        let address = self.address()?;
        let named = self.of_provider("api_key_env");
        if self.text(&named).is_some() {
            return Some(named);
        }
        let bound = below(&self.settings, SECTION).map(|(key, _)| key);
        bound.into_iter().find(|key| is_at(&address, &key[SECTION.len()..])).map(str::to_owned)
    }

    fn of_provider(&self, part: &str) -> String {
        format!("providers.{}.{part}", self.provider())
    }

    /// The hosts that a variable is bound to.
    fn hosts_of(&self, variable: &str) -> Vec<&str> {
        below(&self.settings, SECTION)
            .filter(|(_, setting)| matches!(&setting.value, Value::Text(text) if text == variable))
            .map(|(key, _)| &key[SECTION.len()..])
            .collect()
    }

    /// Why a variable that a key names does not go to an address, whoever named the address.
    fn misdirection(&self, key: &str, variable: &str, address: &Address) -> Option<ConfigError> {
        let hosts = self.hosts_of(variable);
        if !hosts.is_empty() && !hosts.iter().any(|host| is_at(address, host)) {
            let message = format!("`{variable}` is bound to {}, not to {}", hosts.join(", "), address.host);
            let help = format!(
                "take another variable, or add `{}: {variable}` to `keys` in your own file",
                address.host
            );
            return Some(self.unbound(key, message, help));
        }
        if !address.is_https && !address.is_loopback() {
            let message = format!("`{variable}` would go to {address} unencrypted");
            return Some(self.unbound(key, message, "use https; http is for this machine alone".to_owned()));
        }
        None
    }

    fn unbound(&self, key: &str, message: String, help: String) -> ConfigError {
        let origin = self.origin(key).clone();
        ConfigError { code: ConfigErrorCode::UnboundSecret, origin, key: key.to_owned(), message, help }
    }
}

/// What is no host in `keys`.
fn hosts(config: &Config) -> Vec<ConfigError> {
    let is_host = |host: &str| {
        !host.contains('/')
            && Address::parse(&format!("https://{host}")).is_ok_and(|address| is_at(&address, host))
    };
    below(&config.settings, SECTION)
        .filter(|(key, _)| !is_host(&key[SECTION.len()..]))
        .map(|(key, setting)| ConfigError {
            code: ConfigErrorCode::OutOfRange,
            origin: setting.origin.clone(),
            key: key.to_owned(),
            message: format!("`{}` is no host", &key[SECTION.len()..]),
            help: "write it as in `keys: {api.example.com: NAME}`".to_owned(),
        })
        .collect()
}

/// What is wrong with where the key of the chosen provider would go.
fn key(config: &Config) -> Option<ConfigError> {
    let address = config.address()?;
    let key = config.key()?;
    let variable = config.text(&key)?;
    let wrong = config.misdirection(&key, variable, &address);
    if wrong.is_some() {
        return wrong;
    }
    let endpoint = config.origin(&config.of_provider("endpoint"));
    if endpoint.is_folder() && config.hosts_of(variable).is_empty() {
        let message = format!("`{variable}` would go to {address}, which {endpoint} names and you did not");
        let help =
            format!("if it is meant, write `keys: {{{}: {variable}}}` into your own file", address.host);
        return Some(config.unbound(&key, message, help));
    }
    let certificates = config.origin(&config.of_provider("ca_file"));
    certificates.is_folder().then(|| {
        let message = format!("`{variable}` would go to whoever {certificates} says is {}", address.host);
        config.unbound(&key, message, "name the certificates in your own file".to_owned())
    })
}

/// What is wrong with where the variables of an MCP server would go. A server that gets any comes from the user as a whole:
/// otherwise a folder could put its own address or program in the place of the one that they were meant for.
fn server(config: &Config, name: &str) -> Vec<ConfigError> {
    let own = format!("mcp.servers.{name}.");
    let templates: Vec<(&str, Vec<&str>)> = below(&config.settings, &own)
        .filter_map(|(key, setting)| match &setting.value {
            Value::Text(text) => Some((key, variables(text)?)),
            _ => None,
        })
        .filter(|(_, variables)| !variables.is_empty())
        .collect();
    if templates.is_empty() {
        return Vec::new();
    }
    let foreign = below(&config.settings, &own).find(|(_, setting)| setting.origin.is_folder());
    if let Some((key, _)) = foreign {
        let message =
            format!("the server `{name}` gets secrets of yours, so a folder's file has no part in it");
        let help = "give the folder's server another name, or put all of it into your own file".to_owned();
        return vec![config.unbound(key, message, help)];
    }
    // Only servers with an address send secrets to a host; a started program gets its variables from the user.
    let Some(address) = config.text(&format!("{own}url")).and_then(|url| Address::parse(url).ok()) else {
        return Vec::new();
    };
    let faults =
        templates.iter().flat_map(|(key, variables)| variables.iter().map(move |variable| (*key, *variable)));
    faults.filter_map(|(key, variable)| config.misdirection(key, variable, &address)).collect()
}

/// Whether an address is at a host, given with or without its port.
fn is_at(address: &Address, host: &str) -> bool {
    let name = address.host.to_ascii_lowercase();
    let host = host.to_ascii_lowercase();
    let bracketed = if name.contains(':') { format!("[{name}]") } else { name.clone() };
    host == name || host == bracketed || host == format!("{bracketed}:{}", address.port)
}
