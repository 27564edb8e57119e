//! The configuration from outside: layers, origins, aliases, and every way of being wrong with its place and way out.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

use std::time::Duration;

use callgate::internal::policy::{ExtraArgs, Partial, RepairPolicy};
use callgate::{Profile, Registry};
use callgate_agent::approval::{ApprovalPolicy, DefaultStanding, Rule, Standing};
use callgate_agent::audit::{Style, Sync};
use callgate_agent::config::{
    Config, ConfigError, ConfigErrorCode, ConfigErrors, Kind, Origin, PROVIDERS, Row, Value, rows, variable,
};
use callgate_agent::model::{Parameters, Timeouts};
use callgate_agent::retry::Backoff;
use callgate_agent::tools::mcp::McpWay;

fn from_file(text: &str) -> Result<Config, ConfigErrors> {
    Config::builder().text("config.yml", text).build()
}

fn good(text: &str) -> Config {
    from_file(text).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The only error of a file.
fn error(text: &str) -> ConfigError {
    match from_file(text) {
        Ok(_) => panic!("{text:?} was taken"),
        Err(ConfigErrors(mut errors)) if errors.len() == 1 => errors.remove(0),
        Err(errors) => panic!("more than one error: {errors}"),
    }
}

#[test]
fn flags_win_over_the_environment_and_that_over_the_file() {
    let text = "provider: ollama\nproviders:\n  ollama:\n    model: a\n    seed: 1\n    max_tokens: 5\n";
    let variables =
        [("CALLGATE_PROVIDERS_OLLAMA_MODEL", "b"), ("CALLGATE_PROVIDERS_OLLAMA_SEED", "2"), ("PATH", "/bin")];
    let config = Config::builder()
        .text("config.yml", text)
        .environment(variables.map(|(name, text)| (name.to_owned(), text.to_owned())))
        .flag("--model c", "providers.ollama.model", "c")
        .build()
        .unwrap();
    let shown = |key: &str| (config.value(key).to_json().to_string(), config.origin(key).to_string());
    assert_eq!(shown("providers.ollama.model"), ("\"c\"".to_owned(), "--model c".to_owned()));
    assert_eq!(
        shown("providers.ollama.seed"),
        ("2".to_owned(), "$CALLGATE_PROVIDERS_OLLAMA_SEED".to_owned())
    );
    assert_eq!(shown("providers.ollama.max_tokens"), ("5".to_owned(), "config.yml:6".to_owned()));
    assert_eq!(shown("approval.default"), ("\"auto\"".to_owned(), "default".to_owned()));
    assert_eq!(shown("policy.repair"), ("\"lossless\"".to_owned(), "profile".to_owned()));
}

#[test]
fn where_every_tool_is_dangerous_every_call_asks() {
    assert!(good("profile: standard\n").approval().auto_approve);
    for config in ["profile: guarded\n", "policy:\n  dangerous: all\n"] {
        assert!(!good(config).approval().auto_approve, "{config}");
    }
}

#[test]
fn every_key_has_a_value_of_its_type_in_every_profile() {
    for name in Profile::NAMES {
        let config = good(&format!("profile: {name}\n"));
        let settings: Vec<_> = config.settings().collect();
        assert_eq!(settings.len(), rows().flat_map(Row::keys).count());
        for row in rows() {
            for key in row.keys() {
                let fits = matches!(
                    (row.kind, config.value(&key)),
                    (_, Value::Unset)
                        | (Kind::Flag, Value::Flag(_))
                        | (Kind::Text | Kind::Address, Value::Text(_))
                        | (Kind::List | Kind::Rules | Kind::EveryNth, Value::List(_))
                ) || match (row.kind, config.value(&key)) {
                    (Kind::Count(least, most), Value::Count(count)) => (least..=most).contains(count),
                    (Kind::Word(words), Value::Text(text)) => words.contains(&text.as_str()),
                    _ => false,
                };
                assert!(fits, "{name}: {key} is {:?}", config.value(&key));
            }
        }
    }
}

#[test]
fn every_knob_of_the_policy_is_a_key_and_reaches_it() {
    let policy = serde_json::to_value(Profile::standard().policy()).unwrap();
    let mut knobs = Vec::new();
    for (key, value) in policy.as_object().unwrap() {
        match value.as_object() {
            Some(inner) => knobs.extend(inner.keys().map(|inner| format!("policy.{key}.{inner}"))),
            None => knobs.push(format!("policy.{key}")),
        }
    }
    let mut keys: Vec<&str> = rows().map(|row| row.key).filter(|key| key.starts_with("policy.")).collect();
    keys.sort_unstable();
    knobs.sort();
    assert_eq!(keys, knobs);
    for row in rows().filter(|row| row.key.starts_with("policy.")) {
        // Each value that differs from the default must be seen in the policy.
        let values: Vec<String> = match row.kind {
            Kind::Word(words) => words.iter().map(|word| (*word).to_owned()).collect(),
            Kind::Count(least, most) => vec![least.max(1).to_string(), most.to_string()],
            _ => vec!["x-y".to_owned()],
        };
        for value in values {
            let config = Config::builder().flag("--set", row.key, &value).build().unwrap();
            let policy = serde_json::to_value(config.policy()).unwrap();
            let found = row.key.split('.').skip(1).fold(&policy, |value, key| &value[key]);
            assert_eq!(found.to_string().trim_matches('"'), value, "{}", row.key);
        }
    }
}

#[test]
fn a_67_older_spellings_mean_the_same_key() {
    for text in [
        "providers: {ollama: {tool_call_retry: {max_retry_attempts: 7}}}",
        "providers: {ollama: {tool_call_retry: {max_retries: 7}}}",
        "providers: {ollama: {tool_call: {max_retry_attempts: 7}}}",
        "model: {providers: {ollama: {tool_call: {max_retries: 7}}}}",
        "model: {providers: {ollama: {tool_call: {max_retry_attempts: 7}}}}",
        "model.providers.ollama.tool_call_retry.max_retry_attempts: 7",
    ] {
        let config = good(text);
        let key = "providers.ollama.tool_call_retry.max_retry_attempts";
        assert_eq!(config.value(key), &Value::Count(7), "{text}");
    }
}

#[test]
fn b_16_two_spellings_that_disagree_are_rejected_and_two_that_agree_are_not() {
    let both = |one: u8, other: u8| {
        format!(
            "providers:\n  ollama:\n    tool_call_retry:\n      max_retry_attempts: {one}\n\
             model:\n  providers:\n    ollama:\n      tool_call:\n        max_retries: {other}\n"
        )
    };
    let error = error(&both(3, 4));
    assert_eq!(error.code, ConfigErrorCode::Conflict);
    assert_eq!(error.origin, Origin::File { path: "config.yml".into(), line: 9 });
    assert!(error.message.contains("providers.ollama.tool_call_retry.max_retry_attempts"), "{error}");
    good(&both(4, 4));
}

#[test]
fn what_is_not_understood_is_rejected_with_line_key_and_nearest_key() {
    for (text, code, line, key, said) in [
        ("profle: strict\n", ConfigErrorCode::UnknownKey, 1, "profle", "`profile`"),
        (
            "provider: ollama\naudit:\n  foldr: x\n",
            ConfigErrorCode::UnknownKey,
            3,
            "audit.foldr",
            "`audit.folder`",
        ),
        (
            "providers:\n  olama:\n    model: x\n",
            ConfigErrorCode::UnknownKey,
            3,
            "providers.olama.model",
            "`providers.ollama.model`",
        ),
        (
            "providers:\n  ollama:\n    tool_call_rety:\n      backoff: linear\n",
            ConfigErrorCode::UnknownKey,
            4,
            "providers.ollama.tool_call_rety.backoff",
            "`providers.ollama.tool_call_retry.backoff`",
        ),
        (
            "providers:\n  openai:\n    api_key: sk-123\n",
            ConfigErrorCode::UnknownKey,
            3,
            "providers.openai.api_key",
            "`providers.openai.api_key_env`",
        ),
        ("max_calls: 3\n", ConfigErrorCode::UnknownKey, 1, "max_calls", "`policy.max_calls`"),
        ("audit: yes please\n", ConfigErrorCode::UnknownKey, 1, "audit", "folder"),
        ("zzzz: 1\n", ConfigErrorCode::UnknownKey, 1, "zzzz", "config show"),
        ("policy:\n  max_calls: many\n", ConfigErrorCode::WrongType, 2, "policy.max_calls", "whole number"),
        ("policy:\n  max_calls: '3'\n", ConfigErrorCode::WrongType, 2, "policy.max_calls", "without quotes"),
        ("policy:\n  max_calls: 3.5\n", ConfigErrorCode::WrongType, 2, "policy.max_calls", "whole number"),
        ("policy:\n  max_calls: [3]\n", ConfigErrorCode::WrongType, 2, "policy.max_calls", "list"),
        ("policy:\n  max_calls: 0\n", ConfigErrorCode::OutOfRange, 2, "policy.max_calls", "1 to 10000"),
        ("policy:\n  max_calls: -1\n", ConfigErrorCode::OutOfRange, 2, "policy.max_calls", "1 to 10000"),
        (
            "policy:\n  max_calls: 99999999999999999999999\n",
            ConfigErrorCode::OutOfRange,
            2,
            "policy.max_calls",
            "1 to 10000",
        ),
        ("policy:\n  repair: lossles\n", ConfigErrorCode::OutOfRange, 2, "policy.repair", "`lossless`"),
        ("audit:\n  enabled: 'true'\n", ConfigErrorCode::WrongType, 2, "audit.enabled", "without quotes"),
        ("audit:\n  enabled: on\n", ConfigErrorCode::WrongType, 2, "audit.enabled", "`true` or `false`"),
        ("approval:\n  deny: fs.write\n", ConfigErrorCode::WrongType, 2, "approval.deny", "`- value`"),
        (
            "providers:\n  ollama:\n    temperature: 3\n",
            ConfigErrorCode::OutOfRange,
            3,
            "providers.ollama.temperature",
            "0 to 2",
        ),
        (
            "providers:\n  ollama:\n    temperature: .nan\n",
            ConfigErrorCode::WrongType,
            3,
            "providers.ollama.temperature",
            "0 to 2",
        ),
        (
            "providers:\n  ollama:\n    temperature: NaN\n",
            ConfigErrorCode::OutOfRange,
            3,
            "providers.ollama.temperature",
            "0 to 2",
        ),
        (
            "providers:\n  ollama:\n    endpoint: localhost\n",
            ConfigErrorCode::OutOfRange,
            3,
            "providers.ollama.endpoint",
            "http://",
        ),
        (
            "providers:\n  ollama:\n    endpoint: http://me:pw@host\n",
            ConfigErrorCode::OutOfRange,
            3,
            "providers.ollama.endpoint",
            "password",
        ),
        (
            "approval:\n  deny: [path=x]\n",
            ConfigErrorCode::OutOfRange,
            2,
            "approval.deny",
            "fs.write path=docs/**",
        ),
        ("profile: a\nprofile: b\n", ConfigErrorCode::Unreadable, 2, "profile", "twice"),
    ] {
        let error = error(text);
        assert_eq!(error.code, code, "{text:?}: {error}");
        assert_eq!(error.origin, Origin::File { path: "config.yml".into(), line }, "{text:?}");
        assert_eq!(error.key, key, "{text:?}");
        assert!(error.to_string().contains(said), "{text:?}: {error}");
        assert!(error.to_string().starts_with(&format!("config.yml:{line}: `{key}`: ")), "{error}");
    }
}

#[test]
fn all_faults_are_told_at_once() {
    let errors = from_file("profle: x\npolicy:\n  max_calls: 0\n  repair: fulll\n").unwrap_err();
    assert_eq!(errors.0.len(), 3, "{errors}");
}

#[test]
fn a_misspelt_variable_is_rejected_and_foreign_ones_are_not() {
    let build =
        |name: &str, text: &str| Config::builder().environment([(name.to_owned(), text.to_owned())]).build();
    let errors = build("CALLGATE_AUDIT_FOLDR", "x").unwrap_err();
    assert!(errors.to_string().contains("CALLGATE_AUDIT_FOLDER"), "{errors}");
    let errors = build("CALLGATE_AUDIT_ENABLED", "maybe").unwrap_err();
    assert!(errors.to_string().contains("$CALLGATE_AUDIT_ENABLED"), "{errors}");
    assert!(build("OLLAMA_HOST", "x").is_ok());
    let config = build("CALLGATE_APPROVAL_DENY", "fs.write, fs.delete path=**").unwrap();
    let rules = ["fs.write".to_owned(), "fs.delete path=**".to_owned()];
    assert_eq!(config.value("approval.deny"), &Value::List(rules.to_vec()));
}

#[test]
fn no_two_keys_share_a_variable() {
    let mut names: Vec<String> = rows().flat_map(Row::keys).map(|key| variable(&key)).collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn a_missing_file_is_an_error_only_where_it_was_named() {
    let errors = Config::builder().file("/nonexistent/config.yml".as_ref()).build().unwrap_err();
    assert_eq!(errors.0[0].code, ConfigErrorCode::Unreadable);
    assert!(errors.to_string().contains("/nonexistent/config.yml"));
}

#[test]
fn c_46_the_keys_of_the_retry_section_reach_policy_and_engine() {
    let section = |lines: &str| {
        good(&format!(
            "provider: openai\nprofile: structured\nproviders:\n  openai:\n    tool_call_retry:\n{lines}"
        ))
    };
    let config = section("");
    assert_eq!(config.policy(), Profile::named("structured").unwrap().policy());
    assert_eq!(section("      enable_auto_repair: false\n").policy().repair, RepairPolicy::Off);
    assert_eq!(section("      strict_validation: false\n").policy().extra_args, ExtraArgs::Allow);
    assert_eq!(section("      max_nesting_depth: 9\n").policy().limits.depth, 9);
    assert_eq!(section("      max_argument_size: 512\n").policy().limits.arguments, 512);
    let repairs = config.policy().limits.repairs;
    assert_eq!(section("      repair_timeout_ms: 50\n").policy().limits.repairs, repairs / 2);
    let retry = section(
        "      max_retry_attempts: 5\n      retry_delay_ms: 20\n      backoff: linear\n      \
         max_retry_delay_ms: 50\n      stop_when_repeated: true\n      retry_prompt_template: 'Again: {tool_name}'\n",
    )
    .retry();
    assert_eq!(retry.max_attempts, 5);
    assert_eq!(retry.delay, Duration::from_millis(20));
    assert_eq!(retry.max_delay, Duration::from_millis(50));
    assert_eq!(retry.backoff, Backoff::Linear);
    assert!(retry.stop_when_repeated);
    assert_eq!(retry.template.as_deref(), Some("Again: {tool_name}"));
}

#[test]
fn the_rules_of_approval_come_from_the_file() {
    let policy = good(
        "approval:\n  default: deny\n  auto_approve: false\n  deny: [fs.write path=.git/**]\n  ask: ['fs.*']\n  safe:\n    - fs.read\n  \
         command_tools: [sh]\n  timeout_ms: 5\n",
    )
    .approval();
    assert_eq!(policy.default, DefaultStanding::Always(Standing::Deny));
    assert!(!policy.auto_approve);
    assert_eq!(policy.deny, [Rule::parse("fs.write path=.git/**").unwrap()]);
    assert_eq!(policy.ask, [Rule::parse("fs.*").unwrap()]);
    assert_eq!(policy.safe, [Rule::parse("fs.read").unwrap()]);
    assert_eq!(policy.command_tools, ["sh"]);
    assert_eq!(policy.timeout, Duration::from_millis(5));
    assert_eq!(
        good("").approval(),
        ApprovalPolicy::default(),
        "the table and the code agree on what holds otherwise"
    );
}

#[test]
fn the_client_comes_from_the_file_and_its_key_from_the_environment() {
    let text = "provider: openai\nproviders:\n  openai:\n    model: m\n    temperature: 0.5\n    max_tokens: 7\n    seed: 1\n    \
                api_key_env: MY_KEY\n    timeouts: {connect_ms: 1, first_byte_ms: 2, idle_ms: 3, total_ms: 4}\n";
    let config = good(text);
    let parameters =
        Parameters { model: "m".to_owned(), temperature: Some(0.5), max_tokens: Some(7), seed: Some(1) };
    assert_eq!(config.parameters(), parameters);
    let times = config.timeouts();
    let times = [times.connect, times.first_byte, times.idle, times.total].map(|time| time.as_millis());
    assert_eq!(times, [1, 2, 3, 4]);
    assert!(config.model(&Registry::new(), |name| (name == "MY_KEY").then(|| "sk".to_owned())).is_ok());
    let fault = config.model(&Registry::new(), |_| None).err().unwrap();
    assert!(fault.message.contains("MY_KEY"), "{fault}");
    for provider in PROVIDERS {
        assert!(
            good(&format!("provider: {provider}\n")).model(&Registry::new(), |_| None).is_ok(),
            "{provider}"
        );
    }
    let usual = good("provider: ollama\n");
    assert_eq!(usual.timeouts(), Timeouts::default(), "the table and the code agree on what holds otherwise");
    assert_eq!(usual.parameters(), Parameters::default());
}

#[test]
fn the_audit_comes_from_the_file() {
    let audit = good(
        "provider: ollama\naudit: {folder: x, values: long, redact: [badge], sync: interval, sync_interval_ms: 9, max_days: 2, \
         max_sessions: 3}\nproviders: {ollama: {tool_call_retry: {log_repair_details: false}}}\n",
    )
    .audit()
    .unwrap();
    assert_eq!(audit.folder.to_str(), Some("x"));
    assert_eq!((audit.redaction.style, audit.redaction.words), (Style::Long, vec!["badge".to_owned()]));
    assert_eq!(audit.sync, Sync::Interval(Duration::from_millis(9)));
    assert_eq!((audit.max_age, audit.max_sessions), (Some(Duration::from_secs(2 * 86_400)), Some(3)));
    assert!(!audit.repair_details);
    let usual = good("").audit().unwrap();
    assert_eq!((usual.redaction.style, usual.sync), (Style::None, Sync::Decision));
    assert_eq!((usual.max_age, usual.max_sessions, usual.repair_details), (None, None, true));
    assert!(good("audit: {enabled: false}").audit().is_none());
    let values = "provider: ollama\nproviders: {ollama: {tool_call_retry: {log_argument_values: true}}}\n";
    assert_eq!(good(values).audit().unwrap().redaction.style, Style::Short);
}

#[test]
fn a_knob_wins_over_the_retry_section_and_another_provider_has_no_say() {
    let config = good(
        "provider: ollama\npolicy: {repair: full, partial: all-or-nothing}\nproviders:\n  ollama: {tool_call_retry: \
         {enable_auto_repair: false}}\n  openai: {tool_call_retry: {max_nesting_depth: 3}}\n",
    );
    let policy = config.policy();
    assert_eq!(policy.repair, RepairPolicy::Full);
    assert_eq!(policy.partial, Partial::AllOrNothing);
    assert_eq!(policy.limits.depth, 64);
}

#[test]
fn servers_have_names_of_their_own_and_one_way_to_be_reached() {
    let text = "mcp:\n  servers:\n    near:\n      command: npx\n      args: [-y, 'two words']\n      env:\n        HOME_OF_IT: ${HERE}/x\n    far:\n      url: https://example.test/mcp\n      headers:\n        X-Api-Key: ${KEY}\n        X.Dotted: plain\n";
    let config = good(text);
    let servers = config.mcp_servers(|name| Some(format!("[{name}]"))).unwrap();
    let [far, near] = servers.as_slice() else { panic!("{servers:?}") };
    assert!(
        matches!(&far.way, McpWay::Address { url, headers, .. } if url == "https://example.test/mcp" && headers.len() == 2),
        "{far:?}"
    );
    let McpWay::Command { program, arguments, variables } = &near.way else { panic!("{near:?}") };
    assert_eq!(
        (program.as_str(), arguments.as_slice()),
        ("npx", ["-y".to_owned(), "two words".to_owned()].as_slice())
    );
    assert_eq!(variables[0].0, "HOME_OF_IT");
    assert_eq!(config.secret_variables(), ["KEY", "HERE"]);
    let shown: Vec<String> =
        config.settings().map(|(key, _)| key).filter(|key| key.starts_with("mcp.")).collect();
    assert_eq!(shown.len(), 6, "{shown:?}");
    assert_eq!(config.origin("mcp.servers.far.url").to_string(), "config.yml:9");
    let missing = config.mcp_servers(|name| (name == "KEY").then(String::new)).unwrap_err();
    assert_eq!(
        (missing.key.as_str(), missing.origin.to_string().as_str()),
        ("mcp.servers.near.env.HOME_OF_IT", "config.yml:7")
    );
    // What a variable holds is not looked at again.
    assert!(config.mcp_servers(|_| Some("${".to_owned())).is_ok());

    for (text, key, said) in [
        ("a: {command: x, url: 'http://y'}", "mcp.servers.a.url", "not both"),
        ("a: {args: [x]}", "mcp.servers.a.args", "how the server is reached"),
        ("a: {command: x, headers: {A: b}}", "mcp.servers.a.headers.A", "servers with a `url`"),
        ("a: {url: 'http://y', env: {A: b}}", "mcp.servers.a.env.A", "servers with a `command`"),
        (
            "a: {url: 'http://y', headers: {Authorization: Bearer abc}}",
            "mcp.servers.a.headers.Authorization",
            "a secret",
        ),
        ("a: {command: x, env: {API_TOKEN: abc}}", "mcp.servers.a.env.API_TOKEN", "a secret"),
        (
            "a: {url: 'http://y', headers: {'no header': b}}",
            "mcp.servers.a.headers.no header",
            "no name of a header",
        ),
        ("a: {url: 'http://y', headers: {A: '${B'}}", "mcp.servers.a.headers.A", "never closed"),
        ("a: {url: 'ftp://y'}", "mcp.servers.a.url", "http"),
        ("a-b: {command: x}", "mcp.servers.a-b.command", "cannot be the name"),
        ("a: {comand: x}", "mcp.servers.a.comand", "no such key"),
        ("a: x", "mcp.servers.a", "section"),
        ("a: {command: [x]}", "mcp.servers.a.command", "found a list"),
    ] {
        let error = error(&format!("mcp:\n  servers:\n    {text}\n"));
        assert_eq!(error.key, key, "{error}");
        assert!(error.to_string().contains(said), "{error}");
        assert!(error.origin.to_string().starts_with("config.yml:3"), "{error}");
    }
    assert!(error("mcp:\n  servers:\n    a: {comand: x}\n").help.contains("`mcp.servers.a.command`"));
    assert!(error("mcp:\n  server:\n    a: {command: x}\n").help.contains("mcp.servers"));
}
