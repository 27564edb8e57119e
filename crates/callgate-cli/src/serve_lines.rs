//! Lines to paste: what a client of the gateway has to be told, and a question to try in each API.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde_json::{Value, json};

use crate::args::ClientKind;

/// The variable in which lines expect the key, where one is needed. The key itself is not known here.
const KEY: &str = "CALLGATE_KEY";

/// What all lines are about.
pub(crate) struct Lines<'a> {
    url: String,
    model: &'a str,
    needs_key: bool,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(address: SocketAddr, model: &'a str, needs_key: bool) -> Self {
        // All addresses of a machine are none that a client could be sent to.
        let ip = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        Lines { url: format!("http://{}", SocketAddr::new(ip, address.port())), model, needs_key }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What a client needs to be told.
    pub(crate) fn of_client(&self, client: ClientKind) -> String {
        let (url, model) = (&self.url, in_shell(self.model));
        let key = if self.needs_key { format!("\"${KEY}\"") } else { "none".to_owned() };
        let lines = match client {
            ClientKind::Claude => format!(
                "Paste this, and start Claude Code in the same shell:\n\n\
                 export ANTHROPIC_BASE_URL={url} ANTHROPIC_AUTH_TOKEN={key}\n\
                 export ANTHROPIC_MODEL={model} ANTHROPIC_SMALL_FAST_MODEL={model}"
            ),
            ClientKind::Codex => {
                let env_key = if self.needs_key { format!("\nenv_key = \"{KEY}\"") } else { String::new() };
                format!(
                    "Paste this into ~/.codex/config.toml:\n\n\
                     model = {}\nmodel_provider = \"callgate\"\n\n\
                     [model_providers.callgate]\nname = \"Callgate\"\nbase_url = \"{url}/v1\"\nwire_api = \"responses\"{env_key}",
                    in_toml(self.model)
                )
            }
            ClientKind::Opencode => {
                let mut options = json!({"baseURL": format!("{url}/v1")});
                if self.needs_key {
                    options["apiKey"] = format!("{{env:{KEY}}}").into();
                }
                let npm = "@ai-sdk/openai-compatible";
                let provider = json!({"npm": npm, "options": options, "models": {self.model: {}}});
                let settings =
                    json!({"provider": {"callgate": provider}, "model": format!("callgate/{}", self.model)});
                format!("Paste this into opencode.json:\n\n{settings}")
            }
            ClientKind::Openai => {
                format!("export OPENAI_BASE_URL={url}/v1 OPENAI_API_KEY={key}\nexport OPENAI_MODEL={model}")
            }
            ClientKind::Ollama => {
                let key = if self.needs_key { format!(" OLLAMA_API_KEY={key}") } else { String::new() };
                format!("export OLLAMA_HOST={url}{key}\n# model: {model}")
            }
        };
        format!("\n{}{lines}", self.about_key())
    }

    /// A line to try for each API.
    pub(crate) fn curl(&self) -> String {
        let ask = "call get_weather {\"city\": \"Oslo\",}";
        let schema =
            json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
        let openai = json!([{"type": "function", "function": {"name": "get_weather", "parameters": schema}}]);
        let messages = json!([{"role": "user", "content": ask}]);
        let model = self.model;
        let questions = [
            ("/v1/chat/completions", json!({"model": model, "messages": messages, "tools": openai})),
            (
                "/v1/responses",
                json!({
                    "model": model, "input": ask, "stream": true,
                    "tools": [{"type": "function", "name": "get_weather", "parameters": schema}],
                }),
            ),
            (
                "/v1/messages",
                json!({
                    "model": model, "max_tokens": 500, "messages": messages,
                    "tools": [{"name": "get_weather", "input_schema": schema}],
                }),
            ),
            ("/api/chat", json!({"model": model, "messages": messages, "tools": openai, "stream": false})),
        ];
        let lines = questions.map(|(path, question)| self.curl_line(path, &question));
        format!(
            "Point any client at it, or try:\n\n{}{}\n\n\
             The page to watch it is {}/ and `--for claude`, codex, opencode, openai or ollama prints the lines for a client.",
            self.about_key(),
            lines.join("\n\n"),
            self.url
        )
    }

    fn curl_line(&self, path: &str, question: &Value) -> String {
        let key =
            if self.needs_key { format!(" -H \"authorization: Bearer ${KEY}\"") } else { String::new() };
        let question = in_shell(&question.to_string());
        format!("curl -s {}{path}{key} -H 'content-type: application/json' -d {question}", self.url)
    }

    fn about_key(&self) -> String {
        match self.needs_key {
            true => format!("Keys are set: put yours into the variable {KEY} first.\n\n"),
            false => String::new(),
        }
    }
}

/// A word of a shell that means this text, whatever it holds: names of models come from servers.
fn in_shell(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_./:@%+=,-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    if !text.chars().any(char::is_control) {
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut word = String::from("$'");
    for c in text.chars() {
        match c {
            '\'' | '\\' => word.extend(['\\', c]),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    word.push_str(&format!("\\x{byte:02x}"));
                }
            }
            c => word.push(c),
        }
    }
    word + "'"
}

/// A string of TOML: that of JSON, in which a few more characters have to be written as escapes.
fn in_toml(text: &str) -> String {
    let text = Value::from(text).to_string();
    let escaped = |c: char| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    text.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const NAMES: [&str; 7] =
        ["qwen3:8b", "it's", "a b; exit 1", "$(exit 1)`exit 1`", "\"\\\"", "\u{1b}[31m'\n\\", "ä ü\u{85}"];

    fn lines(model: &str, needs_key: bool) -> Lines<'_> {
        Lines::new(SocketAddr::from(([0, 0, 0, 0], 8642)), model, needs_key)
    }

    /// What a shell makes of lines; none where there is no such shell.
    fn run(script: &str) -> Option<String> {
        let output =
            Command::new("bash").args(["--norc", "-c", script]).env("CALLGATE_KEY", "k 1").output().ok()?;
        assert!(output.status.success(), "{script}");
        Some(String::from_utf8(output.stdout).unwrap())
    }

    #[test]
    fn a_shell_reads_names_of_models_as_they_are() {
        for (name, needs_key) in NAMES.into_iter().zip([true, false].into_iter().cycle()) {
            let lines = lines(name, needs_key);
            let told = lines.of_client(ClientKind::Claude);
            let exports: Vec<&str> = told.split("\nexport ").skip(1).collect();
            let script = format!(
                "export {}; printf %s \"$ANTHROPIC_MODEL|$ANTHROPIC_AUTH_TOKEN\"",
                exports.join("\nexport ")
            );
            let key = if needs_key { "k 1" } else { "none" };
            let Some(said) = run(&script) else { return };
            assert_eq!(said, format!("{name}|{key}"));
            let curl = lines.curl();
            for line in curl.lines().filter(|line| line.starts_with("curl ")) {
                let said = run(&format!("curl() {{ printf %s \"${{@: -1}}\"; }}; {line}")).unwrap();
                let question: Value = serde_json::from_str(&said).unwrap();
                assert_eq!(question["model"], name, "{line}");
            }
            assert!(!curl.contains('\u{1b}'), "{curl:?}");
        }
    }

    #[test]
    fn files_of_clients_hold_names_of_models_as_they_are() {
        for name in NAMES {
            let told = lines(name, true).of_client(ClientKind::Opencode);
            let settings: Value = serde_json::from_str(told.rsplit("\n\n").next().unwrap()).unwrap();
            let provider = &settings["provider"]["callgate"];
            assert!(provider["models"].get(name).is_some(), "{settings}");
            assert_eq!(provider["options"]["baseURL"], "http://127.0.0.1:8642/v1");
            let told = lines(name, true).of_client(ClientKind::Codex);
            let line = told.lines().find_map(|line| line.strip_prefix("model = ")).unwrap();
            assert_eq!(serde_json::from_str::<String>(line).unwrap(), name, "{line}");
            assert!(!line.chars().any(char::is_control), "{line:?}");
            assert!(told.contains("env_key = \"CALLGATE_KEY\""), "{told}");
        }
    }
}
