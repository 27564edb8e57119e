//! Members that a format does not have, blank arguments, odd names: nothing is made up or dropped unseen.

use callgate::{Code, FinishReason, Gate, Registry, Response};
use serde_json::{Value, json};

use crate::endings::{CUT, GOOD, UNKNOWN};
use crate::support::{profile, rejections};
use crate::{codes, gate, parse, scan, tools};

// ---- C17: members ----

const STRANGE: &[&str] = &[
    "{\"name\": \"NAME\", \"arguments\": {\"path\": \"a\"}, \"dry_run\": true}",
    "{\"dry_run\": true, \"name\": \"NAME\", \"arguments\": {\"path\": \"a\"}}",
    "{\"name\": \"NAME\", \"arguments\": {\"path\": \"a\"}, \"function\": {\"name\": \"NAME\"}}",
];

#[test]
fn c17_unknown_members_are_never_silent() {
    for object in STRANGE {
        for (profile_name, name) in [
            ("strict", "read"),
            ("strict", "rm"),
            ("standard", "rm"),
            ("lenient", "rm"),
            ("standard", "read"),
            ("lenient", "read"),
        ] {
            let gate = gate(profile_name, &tools());
            let object = object.replace("NAME", name);
            let rejects = profile_name == "strict" || name == "rm";
            let wanted = if rejects { Code::UnknownMember } else { Code::IgnoredMember };
            let response = gate.parse(&format!("<tool_call>{object}</tool_call>"));
            let place = format!("{profile_name}: {object}: {}", rejections(&response));
            assert_eq!(
                (response.calls.len(), codes(&response).contains(&wanted)),
                (usize::from(!rejects), true),
                "{place}"
            );
            let native: Value = serde_json::from_str(&object).unwrap_or_default();
            if native.get("function").is_some() {
                continue;
            }
            let mut session = gate.session();
            let mut collector = Response::collector();
            session
                .native_calls(&json!([{"id": "1", "type": "function", "function": native}]), &mut |event| {
                    collector.push(event)
                });
            session.native_calls(&json!([{"id": "2", "dry_run": true, "function": {"name": name, "arguments": "{\"path\": \"a\"}"}}]), &mut |event| collector.push(event));
            session.finish(FinishReason::Stop, &mut |event| collector.push(event));
            let response = collector.finish(FinishReason::Stop);
            assert_eq!(response.calls.len(), if rejects { 0 } else { 2 }, "{place}");
            assert_eq!(codes(&response).iter().filter(|code| **code == wanted).count(), 2, "{place}");
        }
    }
}

/// Two members that may be the arguments are none that can be chosen, structured or in text.
#[test]
fn c17_two_members_for_arguments_are_ambiguous() {
    let object = json!({"name": "read", "arguments": {"path": "a"}, "args": {"path": "b"}});
    for profile_name in ["standard", "lenient"] {
        let gate = gate(profile_name, &tools());
        let mut session = gate.session();
        let mut collector = Response::collector();
        let call = json!([{"id": "1", "type": "function", "function": object}]);
        session.native_calls(&call, &mut |event| collector.push(event));
        session.finish(FinishReason::Stop, &mut |event| collector.push(event));
        let native = collector.finish(FinishReason::Stop);
        for response in [gate.parse(&format!("<tool_call>{object}</tool_call>")), native] {
            assert!(response.calls.is_empty(), "{profile_name}");
            assert!(codes(&response).contains(&Code::Ambiguous), "{profile_name}: {}", rejections(&response));
        }
    }
}

#[test]
fn c17_two_names_are_no_name() {
    for object in [
        "{\"tool\": \"read\", \"name\": \"now\", \"arguments\": {}}",
        "{\"name\": \"now\", \"arguments\": {}, \"tool_name\": \"read\"}",
        "{\"name\": \"now\", \"arguments\": {}, \"function\": {\"name\": \"read\", \"arguments\": {}}}",
        "{\"name\": \"now\", \"function\": \"read\", \"arguments\": {}}",
    ] {
        for profile_name in ["standard", "strict", "lenient"] {
            let response = gate(profile_name, &tools()).parse(&format!("<tool_call>{object}</tool_call>"));
            assert!(response.calls.is_empty(), "{profile_name}: {object}");
            assert_eq!(response.rejected.len(), 1, "{profile_name}: {object}");
        }
    }
    for profile_name in ["standard", "structured", "lenient"] {
        let calls = json!([{"name": "rm", "function": {"name": "now", "arguments": "{}"}}]);
        let line = json!({"tool_calls": calls, "tools": tools(), "profile": profile_name, "finish_reason": "tool_calls"});
        assert_eq!(scan(&line)["calls"], json!([]), "{profile_name}");
    }
}

#[test]
fn c17_members_that_providers_add_are_known() {
    for profile_name in ["standard", "strict"] {
        let object = "{\"id\": \"a\", \"type\": \"function\", \"index\": 0, \"name\": \"read\", \"arguments\": {\"path\": \"a\"}}";
        let response = gate(profile_name, &tools()).parse(&format!("<tool_call>{object}</tool_call>"));
        assert_eq!((response.calls.len(), codes(&response)), (1, vec![]), "{profile_name}");
    }
}

// ---- blank arguments, names, dropped arguments, the guarded profile ----

#[test]
fn strict_makes_no_arguments_up() {
    let line = |profile: &str, tools: bool| {
        let mut line = json!({"profile": profile, "finish_reason": "stop",
            "text": "<tool_call>{\"name\": \"now\"}</tool_call>"});
        if tools {
            line["tools"] = self::tools();
        }
        scan(&line)
    };
    for tools in [true, false] {
        assert_eq!(line("strict", tools)["calls"], json!([]));
        assert_eq!(line("standard", tools)["calls"][0]["repairs"][0]["code"], "blank-arguments");
        for arguments in [json!(""), json!(null)] {
            let calls = json!([{"function": {"name": "now", "arguments": arguments}}]);
            let mut line = json!({"profile": "strict", "tool_calls": calls, "finish_reason": "tool_calls"});
            if tools {
                line["tools"] = self::tools();
            }
            assert_eq!(scan(&line)["calls"], json!([]));
        }
    }
}

#[test]
fn names_are_not_repaired_where_nothing_may_be_guessed() {
    for (name, profile_name, calls) in [
        ("read_read", "standard", 1),
        ("read.read", "standard", 1),
        ("rm_rm", "standard", 0),
        ("rm.rm", "lenient", 0),
        ("read_read", "strict", 0),
    ] {
        let text =
            format!("<tool_call>{{\"name\": \"{name}\", \"arguments\": {{\"path\": \"a\"}}}}</tool_call>");
        assert_eq!(gate(profile_name, &tools()).parse(&text).calls.len(), calls, "{name}, {profile_name}");
    }
}

#[test]
fn dropping_arguments_never_empties_a_call() {
    let tools = json!([
        {"name": "list", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}},
        {"name": "free", "parameters": {"type": "object"}},
    ]);
    let gate = gate("lenient", &tools);
    let call = |name: &str, arguments: &str| {
        gate.parse(&format!("<tool_call>{{\"name\": \"{name}\", \"arguments\": {arguments}}}</tool_call>"))
    };
    assert_eq!(codes(&call("list", "{\"folder\": \"a\"}")), [Code::UnexpectedArgument]);
    assert_eq!(call("list", "{\"folder\": \"a\", \"path\": \"b\"}").calls[0].value(), json!({"path": "b"}));
    assert_eq!(call("list", "{}").calls.len(), 1);
    assert_eq!(call("free", "{\"folder\": \"a\"}").calls[0].value(), json!({"folder": "a"}));
}

#[test]
fn the_guarded_profile_wants_one_dialect_and_a_good_ending() {
    let registry = || Registry::from_value(&tools()).unwrap_or_else(|error| panic!("{error}"));
    let guarded = || Gate::builder().profile(profile("guarded")).tools(registry());
    for builder in [guarded(), guarded().dialect("auto"), guarded().dialects(&["hermes", "mistral"])] {
        let error = builder.build().err().unwrap_or_else(|| panic!("a gate without one dialect"));
        assert_eq!(error.code, "needs-dialect");
        assert!(!error.help.is_empty());
    }
    let gate = guarded().dialect("hermes").build().unwrap_or_else(|error| panic!("{error}"));
    let call = "<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}</tool_call>";
    for word in GOOD {
        assert_eq!(parse(&gate, call, word).calls.len(), 1, "{word}");
    }
    for word in CUT.iter().chain(UNKNOWN) {
        let response = parse(&gate, call, word);
        assert_eq!((response.calls.len(), codes(&response)), (0, vec![Code::Truncated]), "{word}");
    }
    for rejected in [
        format!("So: {call}"),
        call.replace("}}<", "},\"dry_run\": true}<"),
        call.replace("\"a\"}", "\"a\",}"),
        call.replace("}}<", "}<"),
        call.replace("</tool_call>", ""),
        call.replace("read", "read_read"),
        "[TOOL_CALLS][{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}]".to_owned(),
    ] {
        assert!(parse(&gate, &rejected, "stop").calls.is_empty(), "{rejected}");
    }
}
