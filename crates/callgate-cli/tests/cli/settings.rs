//! `callgate config` and `audit`: what holds and who said so, and what was recorded.

use callgate_agent::audit::{AuditLog, AuditSettings, Entry, EntryKind, Redaction, Status, Sync};
use callgate_agent::written::Written;
use serde_json::Value;

use super::{Scratch, assert_usage_error, callgate, command, json_lines, run_command};

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
}

#[test]
fn audit_lists_shows_counts_and_verifies_what_the_agent_recorded() {
    let folder = Scratch::folder("audit");
    let settings = AuditSettings {
        folder: folder.0.clone(),
        sync: Sync::Decision,
        redaction: Redaction::default(),
        repair_details: true,
        max_age: None,
        max_sessions: None,
        key_file: None,
        state: None,
    };
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
