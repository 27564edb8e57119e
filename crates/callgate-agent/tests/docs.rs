//! The page of the configuration: made from the table of keys, compared with the file, its example read.
//!
//! `UPDATE=1 cargo test -p callgate-agent --test docs` rewrites it.

use std::fmt::Write;
use std::path::Path;

use callgate::Profile;
use callgate_agent::config::{Class, Config, Fallback, Kind, Order, Origin, Row, rows, variable};

const PAGE: &str = "docs/configuration.md";

const HEAD: &str = "\
<!-- Made from the table of keys by `UPDATE=1 cargo test -p callgate-agent --test docs`. -->
# Configuration

Two YAML files, both optional. Your own is `$XDG_CONFIG_HOME/callgate/config.yml` (`~/.config/callgate/config.yml`). Above it stands the one of the folder where
the agent works, `.agent/config.yml`, or instead of that the one you name with `--config`. Above files stand environment variables, above those flags.
`callgate config show` prints every key with its value, who gave it and its class.

Your own file, `~/.config/callgate/config.yml`:

";

const OWN: &str = "\
provider: openai
providers:
  openai:
    endpoint: https://api.example.com
    model: large
keys:
  api.example.com: EXAMPLE_KEY
mcp:
  servers:
    far:
      url: https://example.test/mcp
      headers:
        Authorization: Bearer ${FAR_TOKEN}
approval:
  safe:
    - fs.read
audit:
  values: summaries
";

const BETWEEN: &str = "
The file of a folder, `.agent/config.yml`:

";

const FOLDER: &str = "\
profile: strict
policy:
  max_calls: 8
approval:
  deny:
    - fs.write path=**/.git/**
# From here on it needs your yes.
providers:
  ollama:
    model: qwen3
    endpoint: http://127.0.0.1:11434
    tool_call_retry:
      max_retry_attempts: 3
mcp:
  servers:
    files:
      command: npx
      args: [-y, '@modelcontextprotocol/server-filesystem', /data]
";

const RULES: &str = "
A key that is not in the table is rejected with its line and the nearest key that is. So is a value of another type or
outside of its range; all faults of a file are told at once. Anchors, aliases and tags of YAML are not read.

An environment variable is `CALLGATE_` and the key in capitals with `_` for each dot: `policy.max_calls` is
`CALLGATE_POLICY_MAX_CALLS`. Items of a list are separated by commas. A misspelt variable is rejected like a misspelt key. Keys with a name of your own
(`mcp.servers.NAME`, `keys.HOST`) stand in a file or after `--set`, not in the environment.

## Who may set a key

Whoever wrote a folder may have written its file. So each key has a class:

| class | in `.agent/config.yml` | in a file that you name, inside of the folder | your own file, a named one elsewhere, the environment, flags |
|---|---|---|---|
| `plain` | holds | holds | holds |
| `trusting` | holds unasked where it is no looser than what you have without it; otherwise after your yes | holds | holds |
| `own` | rejected (`own-key`) | rejected (`own-key`) | holds |

*Looser* is measured against what holds without the file, flags and environment included. A greater number is looser. Flags and words are ordered in the last column below,
tightest first; words that share a place cannot be compared, and each is looser than the other. Where there is no order, whatever differs is looser. A profile is looser if any key becomes looser
with it. The rules of `approval.deny`, `approval.ask` and `approval.every_n` are added to yours and replace none. A header or variable of an MCP server that names one of your environment variables (`${VARIABLE}`)
is `own`.

A yes is for one file as it is: its path without links and the SHA-256 of the bytes that were read, kept in `$XDG_STATE_HOME/callgate/trust` (`~/.local/state/callgate/trust`).
`callgate chat` asks at a terminal, before anything is connected, started or written, and shows every key that needs the yes and, if you answered before, what changed since. Everywhere
else, with `--once` too, the run is rejected with exit code 2. `callgate trust show` shows what a file asks for, `callgate trust allow` agrees, `callgate trust deny` leaves the whole file out as
long as it stays the same. The yes does not cover what the file only names: a program or a dialect file in the folder can change without it.

To name a file with `--config` is a yes. But a file inside of the folder (of the one you are in, or of `--root`), or one that is reached by a link in it, may have come with the folder or been written by a
model, so `own` keys are rejected in it all the same. In your home folder this is true for every file but `~/.config/callgate/config.yml` itself.

The folder and `.agent` must belong to you, and neither `.agent` nor anything in it is reached through a link (`not-yours`).

## Secrets

A secret, such as an API key, never stands in a file. `keys` binds an environment variable to a host, or to a host and its port: it is sent there and nowhere else.
`api_key_env` names the variable of a provider; it is sent only if you named the endpoint yourself, or nobody did. A key goes over https, or not beyond this machine, and not to a host whose
certificates the folder chose. Otherwise the run is rejected (`unbound-secret`) before anything is connected.

In the headers and environment of MCP servers, `${VARIABLE}` stands for an environment variable. A header or variable whose name is that of a secret must be written so, and a variable that is
not set is an error. A server that gets one is yours as a whole: a folder's file has no part in it. No other program gets a variable that is used in such a way.

A file of a folder that named `api_key_env` or `${VARIABLE}` before there were classes: move these lines into your own file, where `keys` can take the place of `api_key_env`.

## Older spellings

`model.providers.NAME.tool_call` is read as `providers.NAME.tool_call_retry`, and `max_retries` as `max_retry_attempts`. If both spellings
are there and disagree, the file is rejected. `accesslint.useStrictXMLParsing: true` in a settings file chooses the profile `strict-xml`.

A file called `settings.json` is an editor's: comments are allowed, keys that start with `callgate.` are read without that word (`callgate.profile` for `profile`), and everything else in it is
left alone.

## Rules of approval

A rule is the name of a tool, with `*` for any part of it, and any number of `argument=pattern`: `fs.write path=docs/**`. In a pattern `*` stands for
anything but a slash, `**` for anything, `?` for one character. A rule fits if the name and every pattern fit. A call that a
`deny` rule fits never runs; then `ask` rules are tried, then `safe` ones, then `approval.default` decides.

In place of a name, `@` and a permission stands for every tool that needs it: `@FS_WRITE path=docs/**`. Tools that read files need `FS_READ`, those that write them `FS_WRITE`; whatever starts a
program (tools of a list, the shell, MCP servers that are started) needs `EXECUTE`, and tools of MCP servers elsewhere need `NETWORK`. The entry of a listed tool may name another `permission`.

A rule of `approval.every_n` has a number before it: by `5 @FS_READ` every fifth call of a tool that reads files asks, counted from the last yes, and goes on asking until there is one. The strictest
rule wins: what is denied never runs, and what asks always asks, however often it ran. A person who wants to be asked about everything sets `approval.auto_approve: false`, one who wants to be asked
about nothing but what is dangerous leaves everything as it is.

A `deny`, `ask` or `every_n` rule fits any spelling of a path (`./a//b`, `x/../a/b`, other letter case); a `safe` rule fits only a path that is written plainly. Some calls ask although a `safe`
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
fn the_examples_are_configurations() {
    let config = Config::builder().text("config.yml", OWN).folder(".agent/config.yml", FOLDER).agreed();
    let config = config.build().unwrap();
    assert_eq!((config.provider(), config.profile().name()), ("openai", "strict"));
    assert_eq!(config.key_variable(), Some("EXAMPLE_KEY"));
    assert_eq!(config.mcp_servers(|_| Some("t".to_owned())).unwrap().len(), 2);
    // What stands above the remark in the folder's file is plain, and what stands below it is not.
    let line = FOLDER.lines().position(|line| line.starts_with('#')).unwrap() + 1;
    for wish in Config::builder().text("config.yml", OWN).folder("f", FOLDER).wishes() {
        let Origin::Folder { line: at, .. } = wish.origin else { continue };
        assert_eq!(wish.is_trusting(), at > line, "{}", wish.key);
    }
}

#[test]
fn the_variable_in_the_page_is_the_variable_of_its_key() {
    assert!(RULES.contains(&variable("policy.max_calls")));
}

fn page() -> String {
    let mut page = format!("{HEAD}```yaml\n{OWN}```\n{BETWEEN}```yaml\n{FOLDER}```\n{RULES}");
    let _ = writeln!(page, "Over `standard`, {} loosen nothing.\n", plain_profiles());
    page.push_str(
        "| key | class | value | otherwise | what it decides | tightest first |\n|---|---|---|---|---|---|\n",
    );
    for row in rows() {
        let key =
            row.key.replacen("keys.*", "keys.HOST", 1).replacen('*', "NAME", 1).replace('*', "VARIABLE");
        let key = key.replace("headers.VARIABLE", "headers.HEADER");
        let meaning = row.meaning.replace('|', "\\|");
        let (value, otherwise, order) = (value(row), otherwise(row), order(row));
        let class = row.class.word();
        let _ = writeln!(page, "| `{key}` | {class} | {value} | {otherwise} | {meaning} | {order} |");
    }
    page
}

/// The profiles that a folder may choose unasked.
fn plain_profiles() -> String {
    let is_plain = |name: &&&str| {
        let text = format!("profile: {name}\n");
        Config::builder().folder("f", &text).build().is_ok()
    };
    let names: Vec<String> = Profile::NAMES.iter().filter(is_plain).map(|name| format!("`{name}`")).collect();
    names.join(" and ").replacen("`standard` and ", "the profiles ", 1)
}

fn order(row: &Row) -> String {
    match row.class {
        Class::Trusting(Order::Less) => "less".to_owned(),
        Class::Trusting(Order::Ranks(ranks)) => ranks.to_owned(),
        Class::Trusting(Order::Effect) => "by all other keys".to_owned(),
        Class::Trusting(Order::Unordered) | Class::Plain | Class::Own => String::new(),
    }
}

fn value(row: &Row) -> String {
    match row.kind {
        Kind::Flag => "`true` or `false`".to_owned(),
        Kind::Count(least, most) => format!("{least} to {most}"),
        Kind::Number(least, most) => format!("{least} to {most}"),
        Kind::Text => "text".to_owned(),
        Kind::Template => "text with `${VARIABLE}`".to_owned(),
        Kind::Address => "an address".to_owned(),
        Kind::Word(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            words.join(", ")
        }
        Kind::List => "a list".to_owned(),
        Kind::Rules => "a list of rules".to_owned(),
        Kind::EveryNth => "a list of rules behind numbers".to_owned(),
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
