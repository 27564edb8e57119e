//! The page of the configuration: made from the table of keys, compared with the file, its example read.
//!
//! `UPDATE=1 cargo test -p callgate-agent --test docs` rewrites it.

use std::fmt::Write;
use std::path::Path;

use callgate::Profile;
use callgate_agent::config::{Config, Fallback, Kind, ROWS, Row, variable};

const PAGE: &str = "docs/configuration.md";

const HEAD: &str = "\
<!-- Made from the table of keys by `UPDATE=1 cargo test -p callgate-agent --test docs`. -->
# Configuration

One YAML file, `.agent/config.yml` in the folder where the agent works. Above it stand environment variables, above those
flags. `callgate config show` prints every key with its value and who gave it.

";

const EXAMPLE: &str = "\
provider: ollama
profile: standard
providers:
  ollama:
    model: qwen3
    endpoint: http://127.0.0.1:11434
    tool_call_retry:
      max_retry_attempts: 3
      enable_auto_repair: true
      retry_delay_ms: 100
mcp:
  servers:
    files:
      command: npx
      args: [-y, '@modelcontextprotocol/server-filesystem', /data]
    far:
      url: https://example.test/mcp
      headers:
        Authorization: Bearer ${FAR_TOKEN}
approval:
  deny:
    - fs.write path=**/.git/**
  safe:
    - fs.read
audit:
  values: summaries
";

const RULES: &str = "
A key that is not in the table is refused with its line and the nearest key that is. So is a value of another type or
outside of its range; all faults of a file are told at once. Anchors, aliases and tags of YAML are not read.

An environment variable is `CALLGATE_` and the key in capitals with `_` for each dot: `policy.max_calls` is
`CALLGATE_POLICY_MAX_CALLS`. Items of a list are separated by commas. A misspelt variable is refused like a misspelt key.

A secret, such as an API key, never stands in the file: `api_key_env` names the variable that holds it. In the headers and environment
of MCP servers, `${VARIABLE}` stands for an environment variable; a header or variable whose name is that of a secret must be written so, and a
variable that is not set is an error. No other program gets a variable that is used in such a way. Keys with a name of your own
(`mcp.servers.NAME`) stand in the file or after `--set`, not in the environment.

Programs of MCP servers that stand in `.agent/config.yml` are started after a yes at the terminal, or if the file was named with `--config`:
whoever wrote the folder may have written the file.

## Older spellings

`model.providers.NAME.tool_call` is read as `providers.NAME.tool_call_retry`, and `max_retries` as `max_retry_attempts`. If both spellings
are there and disagree, the file is refused. `accesslint.useStrictXMLParsing: true` in a settings file chooses the profile `strict-xml`.

## Rules of approval

A rule is the name of a tool, with `*` for any part of it, and any number of `argument=pattern`: `fs.write path=docs/**`. In a pattern `*` stands for
anything but a slash, `**` for anything, `?` for one character. A rule fits if the name and every pattern fit. A call that a
`deny` rule fits never runs; then `ask` rules are tried, then `safe` ones, then `approval.default` decides.

A `deny` or `ask` rule fits any spelling of a path (`./a//b`, `x/../a/b`, other letter case); a `safe` rule fits only a path that is written plainly. Some calls ask although a `safe`
rule fits: those of dangerous tools that name files which decide what runs later (`.git`, `.agent`, settings of editors and shells), and command lines that a
shell would take apart or that are known to destroy.

## Every key

`NAME` stands for a provider, or for a name of your own. \u{201c}The profile's\u{201d} means that the chosen profile decides.

";

/// A-94: every key of the retry section is on the page, with its default and an example.
#[test]
fn the_page_of_the_configuration_is_fresh() {
    let fresh = page();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &fresh).unwrap();
        return;
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == fresh,
        "{PAGE} is stale; `UPDATE=1 cargo test -p callgate-agent --test docs` rewrites it"
    );
}

#[test]
fn the_example_is_a_configuration() {
    let config = Config::builder().text("config.yml", EXAMPLE).build().unwrap();
    assert_eq!(config.provider(), "ollama");
    assert_eq!(config.retry().max_attempts, 3);
    assert_eq!(config.mcp_servers(|_| Some("t".to_owned())).unwrap().len(), 2);
}

#[test]
fn the_variable_in_the_page_is_the_variable_of_its_key() {
    assert!(RULES.contains(&variable("policy.max_calls")));
}

fn page() -> String {
    let mut page = format!("{HEAD}```yaml\n{EXAMPLE}```\n{RULES}");
    page.push_str("| key | value | otherwise | what it decides |\n|---|---|---|---|\n");
    for row in ROWS {
        let key = row.key.replacen('*', "NAME", 1).replace('*', "VARIABLE");
        let key = key.replace("headers.VARIABLE", "headers.HEADER");
        let meaning = row.meaning.replace('|', "\\|");
        let _ = writeln!(page, "| `{key}` | {} | {} | {meaning} |", value(row), otherwise(row));
    }
    page
}

fn value(row: &Row) -> String {
    match row.kind {
        Kind::Flag => "`true` or `false`".to_owned(),
        Kind::Count(least, most) => format!("{least} to {most}"),
        Kind::Number(least, most) => format!("{least} to {most}"),
        Kind::Text => "text".to_owned(),
        Kind::Address => "an address".to_owned(),
        Kind::Word(words) => {
            let words: Vec<String> = words.split(" | ").map(|word| format!("`{word}`")).collect();
            words.join(", ")
        }
        Kind::List => "a list".to_owned(),
        Kind::Rules => "a list of rules".to_owned(),
    }
}

fn otherwise(row: &Row) -> String {
    match row.fallback {
        Fallback::Unset => "unset".to_owned(),
        Fallback::Profile(_) | Fallback::Policy => "the profile's".to_owned(),
        _ => match row.fallback(&Profile::standard()).0.to_json() {
            serde_json::Value::Array(items) if items.is_empty() => "none".to_owned(),
            value => format!("`{}`", value.to_string().replace('"', "")),
        },
    }
}
