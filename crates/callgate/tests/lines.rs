//! Arguments as lines: what a line is, where a block ends, where the arguments end, and what is rejected.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod support;

use callgate::internal::policy::Partial;
use callgate::{Code, FinishReason, Gate, Profile, Record, Registry, RenderCall, Response};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::guard::watched;
use support::soup::{cuts, places};
use support::{Feed, assert_linear, difference, obeyed, partition_fault, rejections, response};

const HEAD: &str = "REPLOID/0\n\n";

fn tools() -> Value {
    let file = json!({"type": "object", "required": ["path"], "properties": {
        "path": {"type": "string"}, "content": {"type": "string"}, "times": {"type": "integer"}}});
    json!([
        {"name": "write", "parameters": file},
        {"name": "erase", "parameters": file, "dangerous": true},
        {"name": "list", "parameters": {"type": "object", "properties": {}}},
        {"name": "probe", "parameters": {"type": "object"}},
    ])
}

fn gate() -> Gate {
    let registry = Registry::from_value(&tools()).unwrap_or_else(|error| panic!("{error}"));
    let profile = Profile::named("labelled").unwrap_or_else(|| panic!("no such profile"));
    Gate::builder().profile(profile).tools(registry).build().unwrap_or_else(|error| panic!("{error}"))
}

/// The response to a text, which is the same however it is cut and accounts for every byte.
fn read(text: &str) -> Response {
    let gate = gate();
    let feed = Feed::new(&gate);
    let whole = feed.whole(text.as_bytes());
    assert_eq!(partition_fault(&whole, text.len()), None, "{text:?}");
    assert_eq!(difference(&feed.bytewise(text.as_bytes()), &whole), None, "{text:?} byte by byte");
    for at in 1..text.len() {
        assert_eq!(difference(&feed.cut(text.as_bytes(), &[at]), &whole), None, "{text:?} cut at {at}");
    }
    response(&whole)
}

/// The calls of a text behind the header: name and arguments.
fn calls(text: &str) -> Vec<(String, Value)> {
    let response = read(&format!("{HEAD}{text}"));
    assert!(response.rejected.is_empty(), "{text:?}: {}", rejections(&response));
    response.calls.iter().map(|call| (call.name.clone(), call.value())).collect()
}

/// The arguments of the one call.
fn arguments(lines: &str) -> Value {
    let mut calls = calls(lines);
    assert_eq!(calls.len(), 1, "{lines:?}: {calls:?}");
    calls.remove(0).1
}

/// Why the first call is rejected: the code and the message.
fn rejection(text: &str) -> (Code, String) {
    let response = read(&format!("{HEAD}{text}"));
    let Some(rejected) = response.rejected.first() else { panic!("{text:?} is not rejected: {response:?}") };
    (rejected.findings[0].code, rejected.findings[0].message.to_string())
}

#[test]
fn values_are_typed_by_the_schema_and_else_as_json() {
    assert_eq!(
        arguments(
            "TOOL: probe\na: 5\nb: true\nc: null\nd: [1, {\"e\": 2}]\nf: \"5\"\ng: 'q'\nh: 1e999\ni: \"half"
        ),
        json!({"a": 5, "b": true, "c": null, "d": [1, {"e": 2}], "f": "5", "g": "'q'", "h": "1e999", "i": "\"half"})
    );
    assert_eq!(
        arguments("TOOL: write\npath: 5\ncontent: true\ntimes: 7\n"),
        json!({"path": "5", "content": "true", "times": 7})
    );
    assert_eq!(rejection("TOOL: write\npath: a\ntimes: seven\n").0, Code::WrongType);
    assert_eq!(arguments("TOOL: write\npath:\ncontent:   \n"), json!({"path": "", "content": ""}));
}

#[test]
fn colons_hashes_and_white_space_stay_in_values() {
    assert_eq!(
        arguments(
            "TOOL: probe\nurl: https://h:80/a?b=c:d\ncolour: #fff\nat: 12:30\n\tx:\ta\tb \t\nend: a # b\n"
        ),
        json!({"url": "https://h:80/a?b=c:d", "colour": "#fff", "at": "12:30", "x": "a\tb", "end": "a # b"})
    );
    assert_eq!(
        arguments("# before\nTOOL: probe\n# at the margin\n   # indented: yes\na: 1\n\n#\n"),
        json!({"a": 1})
    );
}

#[test]
fn a_block_ends_at_its_word_alone_on_a_line() {
    let inside =
        "the END is\n END\nENDING\nEN\n\nTOOL: list\n---\nREPLOID/0\n# kept\nkey: value\nother <<EOF\nEOF";
    assert_eq!(
        arguments(&format!("TOOL: write\npath: a\ncontent <<END\n{inside}\nEND \t\ntimes: 2\n")),
        json!({"path": "a", "content": inside, "times": 2})
    );
    for (block, content) in [
        ("<<END\nEND", ""),
        ("<<END\n\nEND", ""),
        ("<<END\n\n\nEND", "\n"),
        (": <<_e1\n  a\n\n_e1", "  a\n"),
        ("<<END\r\na\r\nb\rc\r\n\r\nEND\r\n", "a\r\nb\rc\r\n"),
    ] {
        assert_eq!(
            arguments(&format!("TOOL: write\npath: a\ncontent {block}")),
            json!({"path": "a", "content": content}),
            "{block:?}"
        );
    }
}

#[test]
fn a_block_without_its_end_is_cut_off() {
    for text in ["content <<END\nhalf", "content <<END\nEN", "content <<END", "content <<END\nEND of it\n"] {
        let (code, message) = rejection(&format!("TOOL: write\npath: a\n{text}"));
        assert_eq!(code, Code::Truncated, "{text:?}");
        assert!(message.contains("content") && message.contains("END"), "{message}");
    }
    // Nothing in it is a call of its own.
    let response = read(&format!("{HEAD}TOOL: write\npath: a\ncontent <<END\nTOOL: list\n{{}}\n"));
    assert_eq!((response.calls.len(), response.rejected.len()), (0, 1));
}

#[test]
fn a_line_that_is_no_argument_is_shown() {
    for line in
        ["path /oops", "content <<", "content <<1x", "content <<'END'", "some key: x", ": x", "{\"a\": 1}"]
    {
        let (code, message) = rejection(&format!("TOOL: write\npath: a\n{line}\n"));
        assert_eq!(code, Code::Malformed, "{line:?}");
        assert!(message.contains(line), "{message}");
    }
    assert_eq!(rejection("TOOL: write\npath: a\npath: b\n").0, Code::DuplicateKey);
}

#[test]
fn a_text_to_the_end_loses_its_indent_and_nothing_else() {
    for (text, content) in [
        ("  def f():\n    pass\n\n  x  \n\n\n", "def f():\n  pass\n\nx  "),
        ("def f():\n  pass\n", "def f():\n  pass"),
        ("\n\ta\n\tb", "\na\nb"),
        ("", ""),
        ("  TOOL: list\n  ---\n", "TOOL: list\n---"),
        // A separator is one only where a call follows.
        ("---\ntitle: a\n---\nbody\n", "---\ntitle: a\n---\nbody"),
        ("  one\ntwo\n", "  one\ntwo"),
        ("one\nn: 3\n", "one\nn: 3"),
    ] {
        let wanted = json!({"path": "a", "content": content});
        assert_eq!(arguments(&format!("TOOL: write\npath: a\ncontent: |\n{text}")), wanted, "{text:?}");
        let followed = calls(&format!("TOOL: write\npath: a\ncontent: |\n{text}\n---\n\nTOOL: list\n"));
        assert_eq!(followed, [("write".to_owned(), wanted), ("list".to_owned(), json!({}))], "{text:?}");
    }
    // At the end of all there is no call to follow, but nothing else either.
    let ended = arguments("TOOL: write\npath: a\ncontent: |\none\n---\n\n");
    assert_eq!(ended, json!({"path": "a", "content": "one"}));
    // Whether this was meant as an argument of its own, nobody can say.
    let (code, message) = rejection("TOOL: write\npath: a\ncontent: |\n  one\ntimes: 3\n");
    assert_eq!(code, Code::Ambiguous);
    assert!(message.contains("times: 3"), "{message}");
}

#[test]
fn a_json_object_may_stand_for_the_lines() {
    for text in [
        "TOOL: write {\"path\": \"a\"}",
        "TOOL: write\n{\"path\": \"a\"}\n",
        "TOOL: write\n# remark\n\n  {\n\"path\": \"a\"\n}\n# remark\n---\n",
    ] {
        assert_eq!(arguments(text), json!({"path": "a"}), "{text:?}");
    }
    assert_eq!(arguments("TOOL: probe {\"a\": -1, \"b\": [-2, 3]}"), json!({"a": -1, "b": [-2, 3]}));
}

#[test]
fn calls_follow_each_other_with_and_without_a_separator() {
    let three = [("list", json!({})), ("write", json!({"path": "a"})), ("list", json!({}))];
    for text in [
        "TOOL: list\n---\nTOOL: write\npath: a\n---\nTOOL: list",
        "TOOL: list\nTOOL: write\npath: a\n\nTOOL: list\n{}",
        "TOOL: list {} --- TOOL: write path: a --- TOOL: list",
        "TOOL: list --- TOOL: write path: a\n---\n# remark\nTOOL: list {}",
        "TOOL: list\r\n---\r\nTOOL: write\r\npath: a\r\n---\r\nTOOL: list\r\n",
    ] {
        let found = calls(text);
        let found: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        assert_eq!(found, three, "{text:?}");
    }
    // Behind the line of the name, a separator inside of a line is text.
    assert_eq!(arguments("TOOL: write\npath: a --- TOOL: list\n"), json!({"path": "a --- TOOL: list"}));
    // The line of a format that listens beside this one ends the arguments too.
    assert_eq!(calls("TOOL: write\npath: a\nTOOL_CALL: list\nARGS: {}\n").len(), 2);
}

#[test]
fn claims_of_the_model_are_no_arguments() {
    let response =
        read(&format!("{HEAD}TOOL: write\npath: a\nEVIDENCE:\npath: b\nMILESTONE: m\nTOOL: list\n"));
    let found: Vec<_> = response.calls.iter().map(|call| (call.name.as_str(), call.value())).collect();
    assert_eq!(found, [("write", json!({"path": "a"})), ("list", json!({}))]);
    assert!(response.text.contains("path: b"), "{response:?}");
    assert_eq!(read("There is no EVIDENCE: of it.").text, "There is no EVIDENCE: of it.");
}

#[test]
fn a_call_without_the_header_is_reported_and_one_in_a_line_is_none() {
    let response = read("Well.\nTOOL: write\npath: a\n");
    assert_eq!(response.calls.len(), 1);
    assert_eq!(response.findings[0].code, Code::BareCall);
    for text in
        ["The TOOL: write is good.", "```\nREPLOID/0\n\nTOOL: write\npath: a\n```\n", "REPLOID/0 is old."]
    {
        let response = read(text);
        assert!(response.calls.is_empty() && response.rejected.is_empty(), "{response:?}");
        assert_eq!(response.text, text);
    }
}

#[test]
fn the_last_line_counts_unless_it_may_have_been_cut() {
    let text = format!("{HEAD}TOOL: erase\npath: /a");
    let stopped = |text: &str, reason: FinishReason| {
        let gate = gate();
        response(&Feed { finish: reason, ..Feed::new(&gate) }.whole(text.as_bytes()))
    };
    assert_eq!(stopped(&text, FinishReason::Stop).calls.len(), 1);
    assert_eq!(stopped(&text, FinishReason::Length).rejected[0].findings[0].code, Code::Truncated);
    // A tool that can do harm needs somebody's word that the line is whole.
    assert_eq!(stopped(&text, FinishReason::Unknown).rejected[0].findings[0].code, Code::Truncated);
    assert_eq!(stopped(&format!("{text}\n"), FinishReason::Unknown).calls.len(), 1);
    let harmless = text.replace("erase", "write");
    assert_eq!(stopped(&harmless, FinishReason::Unknown).calls.len(), 1);
    assert_eq!(stopped(&harmless, FinishReason::Failed).rejected[0].findings[0].code, Code::Truncated);
}

#[test]
fn a_plan_says_what_waits_for_what() {
    let response = read(
        "REPLOID/0\n\nTOOL: list\n\nPLAN:\n[{\"tool\": \"list\", \"args\": {}, \"after\": [\"y\"], \"id\": \"x\"},\n\
         {\"id\": \"y\", \"tool\": \"write\", \"args\": {\"path\": \"a\"}, \"after\": []}]",
    );
    let found: Vec<_> = response
        .calls
        .iter()
        .map(|call| (call.id.as_str(), call.name.as_str(), call.after.clone()))
        .collect();
    let waits = vec!["y".to_owned()];
    assert_eq!(found, [("gen_1", "list", vec![]), ("x", "list", waits.clone()), ("y", "write", vec![])]);
    let written = serde_json::to_value(&response.calls).unwrap_or_default();
    assert_eq!(written[1]["after"], json!(waits));
    assert_eq!(written[2].get("after"), None);
}

#[test]
fn a_step_that_waits_in_vain_is_rejected() {
    let step = |id: &str, after: &str, tool: &str| {
        format!("{{\"id\": \"{id}\", \"after\": {after}, \"tool\": \"{tool}\", \"args\": {{}}}}")
    };
    let ids = |steps: &[String]| -> Vec<String> {
        let response = read(&format!("PLAN: [{}]", steps.join(", ")));
        assert_eq!(response.calls.len() + response.rejected.len(), steps.len());
        response.calls.iter().map(|call| call.id.clone()).collect()
    };
    let free = step("f", "[]", "list");
    // One that was rejected, and all that wait for it.
    let chain = [step("c", "[\"b\"]", "list"), step("b", "[\"a\"]", "list"), step("a", "[]", "none")];
    assert_eq!(ids(&[&chain[..], std::slice::from_ref(&free)].concat()), ["f"]);
    // One that is not there; a circle; what is no list of ids.
    assert_eq!(ids(&[step("a", "[\"z\"]", "list"), free.clone()]), ["f"]);
    assert_eq!(ids(&[step("a", "[\"b\"]", "list"), step("b", "[\"a\"]", "list"), free.clone()]), ["f"]);
    assert_eq!(ids(&[step("a", "\"f\"", "list"), free.clone()]), ["f"]);
    assert_eq!(ids(&[step("a", "[\"f\", 1]", "list"), free.clone()]), ["f"]);
    assert_eq!(ids(&[step("a", "null", "list"), free]), ["a", "f"]);
}

#[test]
fn large_and_repetitive_input_is_read_in_linear_time() {
    let registry = || Registry::from_value(&tools()).unwrap_or_else(|error| panic!("{error}"));
    let gate = Gate::builder().tools(registry()).dialect("reploid0").dialect("reploid0-plan").build();
    let gate = gate.unwrap_or_else(|error| panic!("{error}"));
    let line = "0123456789abcde\n";
    for (before, unit, after) in [
        ("TOOL: write\npath: a\ncontent <<END\n", line, "END\n"),
        ("TOOL: write\npath: a\ncontent: |\n", line, "\n"),
        ("TOOL: write\npath: a\ncontent: ", "0123456789abcdef", "\n"),
        ("TOOL: write\npath: a\ncontent <<END\n", "END.\n", "END\n"),
        ("TOOL: write\npath: a\ncontent <<END\nEND", " ", "x\nEND\n"),
        ("TOOL: write\npath: a\ncontent: |\n", "---\n", "\n"),
        ("TOOL: write path: a", " ", "\n"),
        ("TOOL: write path: a", " ---", "\n"),
        ("TOOL: write", " ", "path: a\n"),
        ("TOOL: write path: a", " --- TOOL: write path: a", "\n"),
        ("", "TOOL: write\n", "path: a\n"),
        ("", "# remark ", "\nTOOL: list\n"),
        ("TOOL: list {}\n", "# remark\n", "---\nTOOL: list\n"),
        ("TOOL: list {", "# ", "}\n"),
    ] {
        let label = format!("{before:?} and many {unit:?}");
        let text = format!("{HEAD}{before}{}{after}", unit.repeat(400_000 / unit.len()));
        // What the reader of the lines does with a byte is not counted, so a quadratic step shows by never ending.
        watched(label.clone(), || {
            assert_linear(&label, &gate, text.as_bytes(), 1);
            assert_linear(&label, &gate, text.as_bytes(), text.len());
        });
    }
    let content = line.repeat(10 << 16);
    let response = gate.parse(&format!("{HEAD}TOOL: write\npath: a\ncontent <<END\n{content}END\n"));
    assert_eq!(response.calls[0].value()["content"], content.trim_end());
    // Beyond the limit nothing is kept, and the end is found all the same.
    let small = self::gate();
    let text = format!("{HEAD}TOOL: write\npath: a\ncontent <<END\n{content}END\n---\nTOOL: list\n");
    let feed = Feed::new(&small);
    let whole = feed.whole(text.as_bytes());
    assert_eq!(partition_fault(&whole, text.len()), None);
    let response = support::response(&whole);
    assert_eq!(response.rejected[0].findings[0].code, Code::TooLarge);
    assert_eq!(response.calls[0].name, "list");
    assert_eq!(difference(&feed.cut(text.as_bytes(), &[1000, 1 << 20, (1 << 20) + 77]), &whole), None);
}

#[test]
fn bytes_that_are_no_text_reject_the_call_and_join_nothing() {
    let gate = gate();
    let feed = Feed::new(&gate);
    for text in [
        &b"REPLOID/0\n\nTOOL: write\npath: a\nTO\xffOL: list\n"[..],
        b"REPLOID/0\n\nTOOL: write path: a -\xff-- TOOL: list\n",
    ] {
        let whole = feed.whole(text);
        assert_eq!(partition_fault(&whole, text.len()), None);
        assert_eq!(difference(&feed.bytewise(text), &whole), None);
        let response = response(&whole);
        assert_eq!((response.calls.len(), response.rejected.len()), (0, 1), "{response:?}");
    }
}

#[test]
fn what_is_written_says_the_same_in_the_shortest_way() {
    let Some(record) = Record::named("reploid0") else { panic!("no such dialect") };
    let written = |arguments: &Value| {
        let json = arguments.to_string();
        let call = RenderCall { id: None, name: "probe", arguments: &json };
        let text = record.render(&[call, call], None, None).unwrap_or_else(|error| panic!("{error}"));
        let response = read(&text);
        assert_eq!(response.calls.len(), 2, "{text:?}: {}", rejections(&response));
        assert!(response.calls.iter().all(|call| call.value() == *arguments), "{text:?}");
        let body = text.strip_prefix("REPLOID/0\n\nTOOL: probe\n").unwrap_or_default();
        body.split_once("\n---\n").map_or(body, |(first, _)| first).to_owned()
    };
    for (value, line) in [
        (json!("a b: c # d"), "k: a b: c # d"),
        (json!("5"), "k: \"5\""),
        (json!(" a"), "k: \" a\""),
        (json!(""), "k: \"\""),
        (json!("|"), "k: \"|\""),
        (json!("<<END"), "k: \"<<END\""),
        (json!("a\r\nb\r"), "k: \"a\\r\\nb\\r\""),
        (json!("a\tb"), "k: \"a\\tb\""),
        (json!("a\nb"), "k <<END\na\nb\nEND"),
        (json!("a\nEND \nEND1\n"), "k <<END2\na\nEND \nEND1\n\nEND2"),
        (json!([1, {"a": null}]), "k: [1,{\"a\":null}]"),
        (json!(-1.5), "k: -1.5"),
    ] {
        assert_eq!(written(&json!({"k": value})), line, "{value}");
    }
    for whole in [
        json!({}),
        json!({"a b": 1}),
        json!({"a:b": 1}),
        json!({"TOOL": 1}),
        json!({"#a": 1}),
        json!({"k": 1, "PLAN": "x"}),
    ] {
        assert_eq!(written(&whole), whole.to_string());
    }
}

/// Everything that means something in this format, and what comes close.
const PIECES: &[&str] = &[
    "REPLOID/0",
    "TOOL:",
    "TOO",
    "L:",
    " write",
    " probe",
    "PLAN:",
    " [",
    "{",
    "}",
    "]",
    "\"id\": \"a\"",
    "\"tool\": \"list\"",
    "\"args\": {}",
    "\"after\": [\"a\"]",
    ",",
    "---",
    "-",
    "path: a",
    "content",
    " <<END",
    ": <<E",
    ": |",
    "END",
    "E",
    "ND",
    "\n",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    " ",
    "  ",
    "\t",
    "#",
    "# x",
    "EVIDENCE:",
    "MILESTONE: m",
    "TOOL_CALL: list",
    "ARGS: {}",
    "key",
    ":",
    "é",
    "`",
    "```",
    "> ",
    "<think>",
    "</think>",
    "\u{a0}",
];

#[test]
fn any_mixture_is_read_the_same_however_it_is_cut() {
    let gate = gate();
    let pieces = prop::collection::vec(prop::sample::select(PIECES), 0..40);
    support::hold(4000, (pieces, any::<bool>(), cuts(4)), |(pieces, with_head, cuts)| {
        let text =
            format!("{}{}", if with_head { "REPLOID/0\n\nTOOL: write\n" } else { "" }, pieces.concat());
        let feed = Feed::new(&gate);
        let whole = feed.whole(text.as_bytes());
        obeyed(partition_fault(&whole, text.len()))?;
        obeyed(difference(&feed.bytewise(text.as_bytes()), &whole))?;
        obeyed(difference(&feed.cut(text.as_bytes(), &places(&cuts, text.len())), &whole))
    });
}

#[test]
fn a_step_that_waits_in_vain_takes_the_others_with_it_where_all_or_nothing_runs() {
    let plan = "REPLOID/0\n\nPLAN:\n[{\"id\": \"a\", \"tool\": \"list\", \"args\": {}},\n\
                {\"id\": \"b\", \"after\": [\"c\"], \"tool\": \"list\", \"args\": {}}]";
    let registry = Registry::from_value(&tools()).unwrap_or_else(|error| panic!("{error}"));
    let profile = Profile::named("labelled").unwrap_or_else(|| panic!("no such profile"));
    for (partial, run) in [(Partial::KeepGood, 1), (Partial::AllOrNothing, 0)] {
        let mut policy = profile.policy();
        policy.partial = partial;
        let builder = Gate::builder().profile(profile).policy(policy).tools(registry.clone());
        let gate = builder.build().unwrap_or_else(|error| panic!("{error}"));
        let response = gate.parse(plan);
        assert_eq!((response.calls.len(), response.rejected.len()), (run, 2 - run), "{partial:?}");
    }
}

#[test]
fn an_opener_that_touches_the_end_of_a_value_is_suspect() {
    for opener in ["REPLOID/0", "TOOL:", "EVIDENCE:"] {
        let response = read(&format!("{HEAD}TOOL: probe\nk: some words{opener}\n"));
        assert!(response.calls.is_empty(), "{opener}: {:?}", response.calls);
        let codes: Vec<Code> = response
            .rejected
            .iter()
            .flat_map(|rejected| &rejected.findings)
            .map(|finding| finding.code)
            .collect();
        assert!(codes.contains(&Code::SuspectValueEnd), "{opener}: {}", rejections(&response));
    }
    // A value may speak of it.
    assert_eq!(
        arguments("TOOL: probe\nk: it begins with REPLOID/0"),
        json!({"k": "it begins with REPLOID/0"})
    );
}

#[test]
fn an_emphasis_that_ends_with_a_value_is_suspect() {
    for lines in
        ["TOOL: probe\nk: some words**", "TOOL: probe\nk: it is done.**\n", "TOOL: probe\nk: aTOOL: TOOL:"]
    {
        assert_eq!(rejection(lines).0, Code::SuspectValueEnd, "{lines}");
    }
    for (value, expected) in [
        ("**some words**", "**some words**"),
        ("src/**", "src/**"),
        ("\"some words**\"", "some words**"),
        ("\"aTOOL:\"", "aTOOL:"),
    ] {
        assert_eq!(arguments(&format!("TOOL: probe\nk: {value}")), json!({"k": expected}), "{value}");
    }
}
