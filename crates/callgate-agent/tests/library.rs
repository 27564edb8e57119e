//! The agent as a library: the example of it runs, and its defaults are safe.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "../examples/own_tools.rs"]
mod own_tools;

use callgate::internal::profile::Strikes;
use callgate::{Event, FinishReason, Gate, NativeDelta, Profile, Registry, Tool};
use callgate_agent::approval::DenialReason;
use callgate_agent::cancel::Cancel;
use callgate_agent::chat::{Chat, End, Setting};
use callgate_agent::model::{Scripted, ScriptedTurn};
use callgate_agent::tools::{Outcome, ToolErrorCode, Toolbox};
use serde::Deserialize;
use serde_json::json;

#[tokio::test]
async fn the_example_runs() {
    let answered = own_tools::conversation().await.unwrap();
    assert_eq!((&answered.end, answered.text.as_str()), (&End::Answered, "Tea and milk are on their way."));
    let results: Vec<String> = answered
        .tools
        .iter()
        .map(|report| match &report.outcome {
            Outcome::Ran { result } => format!("{}: {result}", report.name),
            other => format!("{}: {other:?}", report.name),
        })
        .collect();
    assert_eq!(
        results,
        ["add_to_cart: 2 × tea in the cart", "add_to_cart: 1 × milk in the cart", "order: ordered 2 items"]
    );
}

#[derive(Deserialize)]
struct Number {
    n: u8,
}

fn tools() -> Toolbox {
    let mut tools = Toolbox::new();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    let safe = Tool::new("twice", "Doubles.", schema.clone());
    tools.add_function(safe, |Number { n }| async move { Ok((u16::from(n) * 2).to_string()) }).unwrap();
    let harm = Tool::new("drop", "Drops everything.", schema.clone()).dangerous();
    tools.add_function(harm, |Number { .. }| async { Ok("dropped".to_owned()) }).unwrap();
    let kept = Tool::new("kept", "Needs a permission.", schema).permission("KEEP");
    tools.add_function(kept, |Number { .. }| async { Ok("kept".to_owned()) }).unwrap();
    tools
}

fn calls(text: &str) -> Box<Scripted> {
    Box::new(Scripted::new([ScriptedTurn::text(text), ScriptedTurn::text("Done.")]))
}

fn call(name: &str, n: u32) -> String {
    format!("<tool_call>{{\"name\": \"{name}\", \"arguments\": {{\"n\": {n}}}}}</tool_call>")
}

/// What nobody allowed does not run, and arguments that the function cannot take are told to the model.
#[tokio::test]
async fn a_setting_begins_safely() {
    let text = [call("twice", 21), call("twice", 300), call("drop", 1), call("kept", 1)].concat();
    let setting = Setting::new(calls(&text), tools()).unwrap();
    assert_eq!(*setting.gate.profile(), Profile::standard());
    assert!(setting.audit.is_none() && setting.grants.given().is_empty() && setting.max_strikes.is_none());
    let mut chat = Chat::begin(setting, "").unwrap();
    let answered = chat.ask("Go.", &Cancel::new(), &mut |_| {}).await;
    assert_eq!(answered.end, End::Answered);
    let outcomes: Vec<&Outcome> = answered.tools.iter().map(|report| &report.outcome).collect();
    assert!(matches!(outcomes[0], Outcome::Ran { result } if result == "42"), "{outcomes:?}");
    assert!(
        matches!(outcomes[1], Outcome::NotRun { error } if error.code == ToolErrorCode::BadArguments
            && error.message.contains("300")),
        "{outcomes:?}"
    );
    assert!(
        matches!(outcomes[2], Outcome::Denied { denial } if denial.reason == DenialReason::Nobody),
        "{outcomes:?}"
    );
    assert!(
        matches!(outcomes[3], Outcome::Denied { denial } if denial.reason == DenialReason::Permission),
        "{outcomes:?}"
    );
}

fn registry_of(names: &[&str]) -> Registry {
    let mut registry = Registry::new();
    for name in names {
        registry.register(Tool::new(*name, "A tool.", json!({"type": "object"}))).unwrap();
    }
    registry
}

/// the tools of a gate can be replaced between two responses, and what a host shows of it can be read.
#[test]
fn x61_tools_are_replaced_at_run_time_and_the_state_can_be_read() {
    let xml = Profile::named("strict-xml").unwrap();
    let old = Gate::builder().profile(xml).tools(registry_of(&["look"])).build().unwrap();
    let new = old.with_tools(registry_of(&["find", "put"]));
    let mut strikes = Strikes::default();
    let call = "<look>{}</look>";
    assert!(strikes.judge(&old.parse(call), &old).is_none());
    assert!(strikes.judge(&new.parse(call), &new).is_some(), "the old tool is gone");
    assert_eq!(new.parse("<find>{}</find>").calls.len(), 1);
    let registered: Vec<&str> = new.registry().unwrap().names().collect();
    assert_eq!((strikes.count(), registered.len()), (1, 2));
    assert_eq!(new.profile().dialects(), ["tool-xml"], "no other format");
}

/// what has come of each structured call so far is what was told of it; a session is for one response, so a new one
/// is the way to start anew.
#[test]
fn a76_the_arguments_so_far_are_the_deltas_that_were_told() {
    let gate = Gate::builder().tools(registry_of(&["look", "put"])).build().unwrap();
    let deltas = [
        (1, Some("put"), "{\"a\": "),
        (0, Some("look"), "{\"b\""),
        (1, None, "1"),
        (0, None, ": 2}"),
        (1, None, "}"),
    ];
    for _ in 0..2 {
        let mut session = gate.session();
        let mut so_far = [String::new(), String::new()];
        let mut started: Vec<(usize, String)> = Vec::new();
        for (index, name, arguments) in deltas {
            let id = format!("c{index}");
            let delta = NativeDelta {
                index: Some(index),
                id: name.map(|_| id.as_str()),
                name,
                arguments: Some(arguments),
                done: false,
            };
            session.native(delta, &mut |event| match event {
                Event::CallStarted { attempt, name, .. } => started.push((attempt, name.to_string())),
                Event::ArgumentsDelta { delta, .. } => so_far[index].push_str(&delta),
                _ => {}
            });
        }
        assert_eq!(started.len(), 2, "{started:?}");
        assert_eq!(so_far, ["{\"b\": 2}", "{\"a\": 1}"]);
        assert_eq!(session.completed().count(), 0, "nobody said that they are complete");
        let mut calls = Vec::new();
        session.finish(FinishReason::ToolCalls, &mut |event| {
            if let Event::Call(call) = event {
                calls.push((call.id.clone(), call.arguments.clone()));
            }
        });
        let call = |id: &str, arguments: &str| (id.to_owned(), arguments.to_owned());
        assert_eq!(calls, [call("c0", "{\"b\": 2}"), call("c1", "{\"a\": 1}")]);
    }
}
