//! One budget for correction, over real HTTP: how often a model is asked about rejected responses, in which words each
//! profile ends, and what is on record of it.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]

#[path = "support/scratch.rs"]
mod scratch;
// Other tests need more of the server.
#[allow(dead_code)]
mod support;
// Other tests say more.
#[allow(dead_code)]
#[path = "support/asked.rs"]
mod asked;

use asked::{Says, ask, calls};
use callgate::internal::profile::StrikeMode;
use callgate_agent::chat::End;
use callgate_agent::config::Config;
use callgate_agent::tools::Spending;
use serde_json::Value;

const HERMES: &str = "<tool_call>{\"name\": \"nope\", \"arguments\": {}}</tool_call>";
const ACTION: &str = "{\"type\": \"action\", \"tool\": \"nope\", \"args\": {}}";
const FENCED: &str = "```json\n{\"tool\": \"nope\", \"arguments\": {}}\n```";
const LABELLED: &str = "TOOL_CALL: nope\nARGS: {}";
const XML: &str = "<read_file>{\"nothing\": 1}</read_file>";

/// A-48, A-50, X-10, X-18, W-08: the requests that each profile sends to a model that never gets it right, and its end.
#[tokio::test]
async fn every_profile_has_one_budget_and_ends_in_its_own_words() {
    let limit = "The limit of rejected responses in a row is reached (3).";
    for (profile, says, requests, code, words) in [
        ("standard", Says::Text(HERMES), 3, "max-mistakes", limit),
        ("strict", Says::Text(HERMES), 3, "max-mistakes", limit),
        ("guarded", Says::Text(HERMES), 3, "max-mistakes", limit),
        ("lenient", Says::Text(HERMES), 3, "max-mistakes", limit),
        (
            "action",
            Says::Text(ACTION),
            1,
            "max-mistakes",
            "The response couldn't be parsed. Ask the LLM to clarify or retry.",
        ),
        (
            "structured",
            calls("nope", "a.txt"),
            4,
            "ACODE-TLP-106",
            "Failed to parse tool calls after 3 retry attempts",
        ),
        (
            "strict-xml",
            Says::Text(XML),
            3,
            "MAX_MISTAKES",
            "Maximum mistakes reached (3). Please follow the strict XML format.",
        ),
    ] {
        let asked = ask(profile, &[says], |setting| setting.retry.stop_when_repeated = false).await;
        assert_eq!(asked.requests.len(), requests, "{profile}: {:?}", asked.answered);
        let (end_code, message, cause) = asked.end();
        assert_eq!((end_code, message), (code, words), "{profile}");
        assert!(!cause.is_empty() && cause != message, "{profile}: {cause}");
        assert_eq!(asked.strikes, (1..=requests).collect::<Vec<_>>(), "{profile}");
        let strikes = asked.count(|record| record["action"] == "strike");
        assert_eq!(strikes, requests, "{profile}: every strike is on record");
        let ends = asked.count(|record| record["details"]["end"] == code);
        assert_eq!(ends, 1, "{profile}: so is the end");
        let rejected = asked.count(|record| record["details"]["verdict"] == "rejected");
        assert_eq!(rejected, requests, "{profile}: and every rejected call, asked for again or not");
    }
}

/// W-08, W-19: an error goes into the next turn, and turns are what ends it.
#[tokio::test]
async fn where_errors_go_into_the_next_turn_only_turns_end_it() {
    for (profile, says) in [("fenced", FENCED), ("labelled", LABELLED)] {
        let turns = Spending { turns: 5, ..Spending::default() };
        let asked = ask(profile, &[Says::Text(says)], |setting| setting.spending = turns).await;
        assert_eq!(asked.requests.len(), 5, "{profile}");
        assert!(matches!(asked.answered.end, End::OverBudget { .. }), "{profile}: {:?}", asked.answered);
        let words = asked.requests[1]["messages"].as_array().unwrap().last().unwrap();
        assert_eq!(words["role"], "user", "{profile}: {words}");
        assert!(words["content"].as_str().unwrap().contains("unknown tool: nope"), "{profile}: {words}");
    }
}

/// W-08, D7: words after a rejected call are the answer, and nobody is told that a call is required.
#[tokio::test]
async fn prose_after_a_rejection_is_the_answer() {
    for (profile, says) in [("fenced", FENCED), ("labelled", LABELLED)] {
        let answer = Says::Text("Never mind, the answer is 4.");
        let asked = ask(profile, &[Says::Text(says), answer], |_| {}).await;
        assert_eq!(asked.answered.end, End::Answered, "{profile}");
        assert_eq!(asked.answered.text, "Never mind, the answer is 4.", "{profile}");
        assert_eq!(asked.requests.len(), 2, "{profile}");
        let said = asked.requests[1].to_string();
        assert!(!said.contains("A tool call is required"), "{profile}: {said}");
    }
}

/// A-49 and the rows around it: the number of requests is what the settings say, in every way of saying it.
#[tokio::test]
async fn the_budget_is_what_the_settings_say() {
    for (retries, strikes, requests) in
        [(0, None, 1), (1, None, 2), (3, None, 4), (3, Some(2), 2), (1, Some(5), 5), (0, Some(1), 1)]
    {
        let asked = ask("structured", &[calls("nope", "a.txt")], |setting| {
            (setting.retry.max_attempts, setting.max_strikes) = (retries, strikes);
        })
        .await;
        assert_eq!(asked.requests.len(), requests, "{retries} retries, {strikes:?} strikes");
        let words = format!("Failed to parse tool calls after {} retry attempts", requests - 1);
        assert_eq!(asked.end(), ("ACODE-TLP-106", words.as_str(), "unknown tool: nope"));
    }
    let asked = ask("strict-xml", &[Says::Text(XML)], |setting| {
        setting.strike_mode = callgate::internal::profile::StrikeMode::AfterLimit;
    })
    .await;
    assert_eq!(asked.requests.len(), 4, "X-19: the example of the document ends on the fourth");
}

/// X-20, X-22: a good call starts the count anew, and runs.
#[tokio::test]
async fn a_corrected_call_runs_and_starts_the_count_anew() {
    let good = "<read_file>{\"file_path\": \"a.txt\"}</read_file>";
    let says = [XML, XML, good, XML, XML, XML].map(Says::Text);
    let asked = ask("strict-xml", &says, |_| {}).await;
    assert_eq!(asked.requests.len(), 6);
    assert_eq!(asked.strikes, [1, 2, 1, 2, 3]);
    assert_eq!(asked.answered.tools.len(), 1);
    let says = [calls("nope", "a.txt"), calls("read_file", "a.txt"), Says::Text("Alpha.")];
    let asked = ask("structured", &says, |_| {}).await;
    assert_eq!((asked.requests.len(), &asked.answered.end), (3, &End::Answered));
    assert!(asked.answered.tools[0].ran());
}

/// A repetition word for word ends the question where the profile says so, in words that say why.
#[tokio::test]
async fn a_repeated_mistake_is_not_asked_about_again() {
    let asked = ask("standard", &[Says::Text(HERMES)], |_| {}).await;
    assert_eq!(asked.requests.len(), 2);
    assert!(asked.end().1.starts_with("The model repeated its rejected call exactly"), "{:?}", asked.end());
    let ends = asked.count(|record| !record["details"]["end"].is_null());
    assert_eq!(ends, 1, "the end is on record");
}

/// G-26: a model's own error is an error on record, with its code.
#[tokio::test]
async fn a_models_own_error_is_on_record_as_one() {
    let error = "{\"type\": \"error\", \"code\": \"invalid_args\", \"message\": \"Which file?\"}";
    let asked = ask("action", &[Says::Text(error)], |_| {}).await;
    assert!(matches!(asked.answered.end, End::ModelError { .. }));
    let is_error = |record: &Value| {
        record["type"] == "response"
            && record["status"] == "error"
            && record["details"]["model_error"] == "invalid_args"
            && record["details"]["model_error_message"] == "Which file?"
    };
    assert_eq!(asked.count(is_error), 1, "{:?}", asked.records);
}

/// G-57: the profile `action` asks again in the words of its document, where it is told to ask again.
#[tokio::test]
async fn g57_action_asks_again_with_error_and_guidance() {
    let good =
        Says::Text("{\"type\": \"action\", \"tool\": \"read_file\", \"args\": {\"file_path\": \"a.txt\"}}");
    let missing = Says::Text("{\"type\": \"action\", \"tool\": \"read_file\", \"args\": {}}");
    let done = Says::Text("It says alpha.");
    let asked = ask("action", &[missing, good, done], |setting| setting.retry.max_attempts = 1).await;
    assert_eq!(asked.answered.end, End::Answered, "{:?}", asked.answered);
    let messages = asked.requests[1]["messages"].as_array().unwrap();
    let again = messages.last().unwrap()["content"].as_str().unwrap();
    let (error, guidance) = again.split_once("\n\n[Guidance]\n").unwrap();
    assert!(error.starts_with("[Parser Error]\n") && error.contains("missing required argument: file_path"));
    assert!(guidance.contains("read_file") && guidance.contains("\"file_path\""), "{guidance}");
    // A-90: the record of the call that stands in the end says how it came about.
    let accepted = asked.records.iter().find(|record| record["details"]["verdict"] == "accepted").unwrap();
    let details = &accepted["details"];
    assert_eq!((&details["parse_result"], &details["retry_count"]), (&Value::from("retry"), &Value::from(1)));
    assert!(details["retry_time_ms"].is_u64() && details["total_tokens"].is_u64(), "{details}");
    assert_eq!(asked.count(|record| record["details"]["parse_time_ms"].is_u64()), 2);
}

/// X-19: whether the third strike ends it, or the one after, is a setting.
#[tokio::test]
async fn x19_the_strike_after_the_limit_can_be_the_last() {
    for (mode, requests) in [(StrikeMode::AtLimit, 3), (StrikeMode::AfterLimit, 4)] {
        let asked = ask("strict-xml", &[Says::Text(XML)], |setting| setting.strike_mode = mode).await;
        assert_eq!(asked.requests.len(), requests, "{mode:?}");
        assert_eq!(asked.end().0, "MAX_MISTAKES");
    }
    for (text, mode) in [("at_limit", StrikeMode::AtLimit), ("after_limit", StrikeMode::AfterLimit)] {
        let config = Config::builder().text("c.yml", &format!("chat:\n  strike_mode: {text}\n")).build();
        assert_eq!(config.unwrap().strike_mode(), mode);
    }
}
