//! `callgate config` and `audit`: what holds and who said so, and what was recorded.

use callgate_agent::audit::{AuditLog, AuditSettings, Entry, EntryKind, Status};
use callgate_agent::written::Written;
use serde_json::{Value, json};

use super::{Scratch, TOOLS, assert_usage_error, callgate, command, json_lines, run_command};

#[test]
fn config_shows_what_holds_and_who_said_so() {
    let file =
        Scratch::new("config.yml", "provider: ollama\nproviders:\n  ollama:\n    model: \"a\\e[31mb\"\n");
    let args = ["config", "show", "--config", file.path(), "--set", "policy.max_calls=7"];
    let mut shown = command(&args);
    shown.env("CALLGATE_AUDIT_VALUES", "short");
    let shown = run_command(shown, b"").stdout;
    let line = |key: &str| {
        let found = shown.lines().find(|line| line.starts_with(&format!("{key} ")));
        found.unwrap_or_else(|| panic!("no {key} in {shown}")).split_whitespace().collect::<Vec<_>>()
    };
    assert_eq!(line("policy.max_calls")[1..3], ["7", "--set"]);
    assert_eq!(line("audit.values")[1..3], ["short", "$CALLGATE_AUDIT_VALUES"]);
    assert_eq!(line("approval.auto_approve")[1..3], ["true", "default"]);
    assert_eq!(line("policy.repair")[1..3], ["lossless", "profile"]);
    assert_eq!(line("providers.ollama.model")[1..3], ["a\\u{1b}[31mb", &format!("{}:4", file.path())]);
    assert!(!shown.contains("providers.openai.model"), "the other providers are for --all");
    assert!(callgate(&[&args[..], &["--all"]].concat(), "").stdout.contains("providers.openai.model"));
    let json: Value = serde_json::from_str(&callgate(&[&args[..], &["--json"]].concat(), "").stdout).unwrap();
    assert_eq!(json["settings"]["policy.max_calls"]["origin"], "--set");
    assert_eq!(json["policy"]["max_calls"], 7);
}

#[test]
fn a_wrong_configuration_is_rejected_with_file_line_key_and_nearest_key() {
    let file = Scratch::new("config.yml", "policy:\n  repare: full\n");
    let said = format!("{}:2", file.path());
    assert_usage_error(
        &callgate(&["config", "show", "--config", file.path()], ""),
        &[&said, "policy.repare", "`policy.repair`"],
    );
    assert_usage_error(&callgate(&["config", "show", "--set", "nothing"], ""), &["--set KEY=VALUE"]);
    // A knob has a name of its own, and a mistake in it the same way out as for `parse`.
    for (set, near) in [
        ("fencs=live", "`policy.fences`"),
        ("policy.fencs=live", "`policy.fences`"),
        ("limit.dept=3", "`policy.limits.depth`"),
        ("temperatur=1", "temperature`"),
    ] {
        for command in [&["chat", "--once", "list"][..], &["config", "show"]] {
            assert_usage_error(
                &callgate(&[command, &["--set", set]].concat(), ""),
                &["unknown-key", "did you mean", near],
            );
        }
    }
}

#[test]
fn audit_lists_shows_counts_and_verifies_what_the_agent_recorded() {
    let folder = Scratch::folder("audit");
    let settings = AuditSettings::new(folder.0.clone());
    let mut log = AuditLog::create(settings.clone(), "one").unwrap();
    let repairs = serde_json::json!([{"code": "trailing-comma"}]);
    let accepted = Entry::new(EntryKind::Response, "look", Status::Warn)
        .message("fine \u{1b}[31mred")
        .tied("corr-1")
        .detail("verdict", "accepted")
        .detail("arguments", Written::parse("{\"n\": 12345678901234567890123, \"b\": 1.0}").unwrap())
        .detail("repairs", repairs);
    log.record(accepted).unwrap();
    let rejected = Entry::new(EntryKind::Safety, "put", Status::Error)
        .detail("verdict", "rejected")
        .detail("findings", serde_json::json!(["unknown-tool"]));
    log.record(rejected).unwrap();
    let audit = |rest: &[&str]| callgate(&[&["audit", "--folder", folder.path()], rest].concat(), "");

    let list = audit(&["list"]).stdout;
    assert_eq!(list.lines().count(), 3, "{list}");
    assert!(list.contains("fine \\u{1b}[31mred") && !list.contains('\u{1b}'), "{list}");
    for (filter, count) in [
        (vec!["--status", "error"], 1),
        (vec!["--type", "response"], 1),
        (vec!["--limit", "1"], 1),
        (vec!["--since", "2999"], 0),
        (vec!["--since", "1999-01-01"], 3),
    ] {
        let found = audit(&[&["list", "--json"], &filter[..]].concat()).stdout;
        assert_eq!(json_lines(&found).len(), count, "{filter:?}: {found}");
    }
    assert!(audit(&["show", "corr-1"]).stdout.contains("\"action\": \"look\""));
    assert!(audit(&["show", "2"]).stdout.contains("\"n\": 12345678901234567890123"), "every digit");
    assert!(audit(&["show", "2", "--json"]).stdout.contains("\"b\":1.0"), "a float stays one");
    assert!(audit(&["list", "--json"]).stdout.contains("12345678901234567890123"));
    assert!(audit(&["show", "3"]).stdout.contains("\"action\": \"put\""));
    assert_usage_error(&audit(&["show", "corr-9"]), &["corr-9", "audit list"]);
    let stats: Value = serde_json::from_str(&audit(&["stats", "--json"]).stdout).unwrap();
    assert_eq!(stats["counts"]["verdict"], serde_json::json!({"rejected": 1, "repaired": 1}));
    assert_eq!(stats["counts"]["finding"], serde_json::json!({"unknown-tool": 1}));
    assert!(audit(&["stats"]).stdout.contains("trailing-comma"));

    let running = audit(&["verify"]);
    assert_eq!(running.code, 0, "{}", running.stdout);
    assert!(running.stdout.contains("3 records, running"), "{}", running.stdout);
    log.record(Entry::new(EntryKind::Session, "end", Status::Ok)).unwrap();
    let checkpoint = log.flush().unwrap();
    let checkpoint = format!("{}:{}", checkpoint.seq, checkpoint.hash);
    drop(log);
    let sound = audit(&["verify"]);
    assert_eq!(sound.code, 0, "{}", sound.stdout);
    assert!(sound.stdout.contains("4 records, whole\n"), "{}", sound.stdout);
    assert!(sound.stdout.contains("unkeyed: a rewrite cannot be seen"), "{}", sound.stdout);
    assert!(sound.stdout.contains(&checkpoint), "{}", sound.stdout);
    let file = folder.0.join("session-one.jsonl");
    let whole = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() - 5]).unwrap();
    let torn = audit(&["verify"]);
    assert_eq!(torn.code, 4, "{}", torn.stdout);
    assert!(torn.stdout.contains("cannot tell a crash from a cut"), "{}", torn.stdout);
    let cut = audit(&["verify", "--session", "one", "--checkpoint", &checkpoint]);
    assert_eq!(cut.code, 1);
    assert!(cut.stdout.contains("the log ends at record 3"), "{}", cut.stdout);
    std::fs::write(&file, whole.replace("\"put\"", "\"get\"")).unwrap();
    let changed = audit(&["verify", "--json", "--latest"]);
    assert_eq!(changed.code, 1);
    assert_eq!(json_lines(&changed.stdout)[0]["report"]["fault"]["kind"], "changed");
    assert_usage_error(&audit(&["verify", "--checkpoint", "x"]), &["NUMBER:HASH"]);
    assert_usage_error(&audit(&["list", "--session", "../x"]), &["letters"]);
    assert_usage_error(&callgate(&["audit", "list", "--folder", "/nonexistent"], ""), &["--folder"]);
}

#[test]
fn knobs_can_be_set_wherever_a_profile_can() {
    let tools = Scratch::new("tools.json", TOOLS);
    let comma = "<tool_call>{\"name\": \"look\", \"arguments\": {\"q\": \"cats\",}}</tool_call>";
    let parse = |more: &[&str]| {
        callgate(&[&["parse", "--tools", tools.path(), "--output-format", "callgate"], more].concat(), comma)
    };
    assert_eq!(parse(&[]).code, 0);
    for flag in ["repair=off", "policy.repair=off"] {
        let run = parse(&["--set", flag]);
        assert_eq!(run.code, 1, "{flag}: {}", run.stdout);
        assert!(run.stdout.contains("bad-json"), "{}", run.stdout);
    }
    let lines = [
        json!({"id": 1, "text": comma}),
        json!({"id": 2, "text": comma, "policy": {"repair": "lossless"}}),
        json!({"id": 3, "text": comma, "policy": {"repiar": "off"}}),
        json!({"id": 4, "text": comma, "policy": {"limits": {"depth": 0}}}),
        json!({"id": 5, "text": comma, "profile": "lenient"}),
        json!({"id": 6, "text": comma, "policy": "off"}),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let run = callgate(&["scan", "-q", "--tools", tools.path(), "--set", "repair=off"], &input);
    assert_eq!(run.code, 1);
    let results = json_lines(&run.stdout);
    let calls = |index: usize| results[index]["calls"].as_array().map(Vec::len);
    assert_eq!((calls(0), calls(1), calls(4)), (Some(0), Some(1), Some(0)), "{}", run.stdout);
    for (index, part) in [(2, "did you mean repair?"), (3, "from 1 to 128"), (5, "knobs are an object")] {
        let message = results[index]["error"]["message"].as_str().unwrap();
        assert!(message.contains(part), "{message}");
    }
    for args in [&["parse", "--set", "repiar=off"][..], &["scan", "--set", "repiar=off"]] {
        assert_usage_error(&callgate(args, ""), &["there is no knob `repiar`", "did you mean repair?"]);
    }
    assert_usage_error(&callgate(&["parse", "--set", "repair=of"], ""), &["did you mean off?"]);
    assert_usage_error(&callgate(&["parse", "--set", "repair"], ""), &["KNOB=VALUE"]);
    // What counts bytes is said as the tables print it, wherever a knob is set.
    for (size, code) in [("20", 1), ("1 KiB", 0), ("1MiB", 0)] {
        assert_eq!(parse(&["--set", &format!("limits.arguments={size}")]).code, code, "{size}");
        let line = json!({"text": comma, "policy": {"limits": {"arguments": size}}});
        let scanned = callgate(&["scan", "-q", "--tools", tools.path()], &line.to_string());
        assert_eq!(scanned.stdout.contains("\"name\":\"look\""), code == 0, "{size}: {}", scanned.stdout);
    }
    let file = Scratch::new("config.yml", "policy:\n  limits:\n    held: 4 KiB\n");
    let shown =
        ["config", "show", "--config", file.path(), "--set", "policy.limits.arguments=2MiB", "--json"];
    let config: Value = serde_json::from_str(&callgate(&shown, "").stdout).unwrap();
    let value = |key: &str| config["settings"][key]["value"].clone();
    assert_eq!(
        (value("policy.limits.held"), value("policy.limits.arguments")),
        (json!(4 << 10), json!(2 << 20))
    );
    assert_usage_error(
        &callgate(&["config", "show", "--set", "limits.depth=1KiB"], ""),
        &["policy.limits.depth", "allowed is 1 to 128"],
    );
    let shown = callgate(&["config", "show", "--set", "repair=off", "--set", "limits.depth=7", "--json"], "");
    let config: Value = serde_json::from_str(&shown.stdout).unwrap();
    let settings = &config["settings"];
    assert_eq!(
        (&settings["policy.repair"]["value"], &settings["policy.limits.depth"]["value"]),
        (&json!("off"), &json!(7))
    );
}

#[test]
fn text_values_without_a_type_and_keys_that_stand_twice_are_knobs() {
    let written = "<tool_call>\n<function=go>\n<parameter=n>\nTrue\n</parameter>\n<parameter=m>\n5\n</parameter>\n</function>\n</tool_call>";
    let arguments = |knob: &str| {
        let run = callgate(&["parse", "--output-format", "callgate", "--set", knob], written);
        let response: Value = serde_json::from_str(&run.stdout).unwrap();
        response["calls"][0]["arguments"].clone()
    };
    assert_eq!(arguments("untyped=json"), json!({"n": "True", "m": 5}));
    assert_eq!(arguments("untyped=text"), json!({"n": "True", "m": "5"}));
    assert_eq!(arguments("untyped=python"), json!({"n": true, "m": 5}));
    let twice = "<tool_call>\n<function=go>\n<parameter=n>\na\n</parameter>\n<parameter=n>\nb\n</parameter>\n</function>\n</tool_call>";
    let parse = |more: &[&str]| {
        let run = callgate(&[&["parse", "--output-format", "callgate"], more].concat(), twice);
        serde_json::from_str::<Value>(&run.stdout).unwrap()
    };
    assert_eq!(parse(&[])["rejected"][0]["findings"][0]["code"], "duplicate-key");
    let kept = parse(&["--set", "duplicate_keys=keep-last", "--set", "repair=off"]);
    assert_eq!(kept["calls"][0]["arguments"], json!({"n": "b"}), "{kept}");
    assert_eq!(kept["calls"][0]["repairs"][0]["code"], "duplicate-key");
}

#[test]
fn tool_lists_are_read_tolerantly_by_scan_and_strictly_on_demand() {
    let list = r#"[{"name": "look", "parameters": {"type": "dict", "properties": {"q": {"type": "str"}, "n": {"type": "frob"}}}}, {"type": "web_search"}]"#;
    let tools = Scratch::new("tools.json", list);
    let text = "<tool_call>{\"name\": \"look\", \"arguments\": {\"q\": \"cats\", \"n\": 3}}</tool_call>";
    let line = json!({"id": 1, "text": text}).to_string();
    let run = callgate(&["scan", "--tools", tools.path()], &line);
    assert_eq!(json_lines(&run.stdout)[0]["calls"][0]["checked"], true, "{}", run.stdout);
    for part in ["dict", "frob", "tool-without-name"] {
        assert_eq!(run.stderr.matches(part).count(), 1, "{part}: {}", run.stderr);
    }
    let own =
        json!({"id": 1, "text": text, "tools": serde_json::from_str::<Value>(list).unwrap()}).to_string();
    let run = callgate(&["scan"], &format!("{own}\n{own}\n"));
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert_eq!(run.stderr.matches("frob").count(), 1, "{}", run.stderr);
    let strict = callgate(&["scan", "-q", "--tool-loading", "strict"], &own);
    assert!(strict.stdout.contains("tool-bad-schema"), "{}", strict.stdout);
    for args in [&["parse", "--tools"][..], &["scan", "--tool-loading", "strict", "--tools"]] {
        assert_usage_error(&callgate(&[args, &[tools.path()]].concat(), text), &["tool-bad-schema"]);
    }
    let run = callgate(&["parse", "--tool-loading", "tolerant", "--tools", tools.path()], text);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let twice = json!([{"name": "a"}, {"name": "a"}]).to_string();
    let twice = Scratch::new("twice.json", twice);
    assert_usage_error(&callgate(&["scan", "--tools", twice.path()], ""), &["tool-name-taken"]);
}

#[test]
fn the_words_of_the_documents_are_explained() {
    let run = callgate(&["explain", "acode-tlp-101"], "");
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("structured") && run.stdout.contains("unknown-tool"), "{}", run.stdout);
    let run = callgate(&["explain", "ACODE-TLP-004"], "");
    for code in ["bad-json", "repair-refused", "duplicate-key"] {
        assert!(run.stdout.contains(code), "{code}: {}", run.stdout);
    }
    assert!(callgate(&["explain", "tool_not_found"], "").stdout.contains("unknown-tool"));
    for (word, part) in [
        ("TOOL_CALL_PARSE_ERROR", "labelled"),
        ("out-of-range", "configuration"),
        ("unknown-key", "configuration"),
        ("untrusted", "configuration"),
        ("first-byte-timeout", "server"),
    ] {
        let run = callgate(&["explain", word], "");
        assert!(run.code == 0 && run.stdout.starts_with(word), "{word}: {}{}", run.stdout, run.stderr);
        assert!(run.stdout.contains(part), "{word}: {}", run.stdout);
    }
    assert_usage_error(&callgate(&["explain", "ACODE-TLP-999"], ""), &["there is no code"]);
}
