//! The built-in dialects as data: what they write, what they reject, and what a broken file is told.

#![allow(clippy::expect_used, reason = "a test that cannot read its fixtures has failed")]

use callgate::internal::dialect::Content;
use callgate::internal::json::Tape;
use callgate::{Gate, Record, Registry, RenderCall};

/// One line of the samples: a model output and the reading that was meant.
struct Sample<'s> {
    line: &'s str,
    tape: Tape,
}

impl<'s> Sample<'s> {
    fn all(fixtures: &'s str) -> impl Iterator<Item = Sample<'s>> {
        fixtures.lines().map(|line| Sample { line, tape: Tape::parse(line).expect("a fixture is JSON") })
    }

    fn member(&self, node: usize, key: &str) -> Option<usize> {
        self.tape.children(node).find(|child| self.tape.key(self.line, *child).as_deref() == Some(key))
    }

    fn string(&self, node: usize, key: &str) -> Option<String> {
        self.tape.string(self.line, self.member(node, key)?).map(|text| text.into_owned())
    }

    fn expect(&self) -> usize {
        self.member(0, "expect").expect("every sample says what is expected")
    }

    fn calls(&self) -> Vec<(String, &'s str)> {
        let calls = self.member(self.expect(), "calls").expect("every sample lists calls");
        self.tape
            .children(calls)
            .map(|call| {
                let arguments = self.member(call, "arguments").expect("a call has arguments");
                (self.string(call, "name").expect("a call has a name"), self.tape.raw(self.line, arguments))
            })
            .collect()
    }

    fn printed_by_template(&self) -> bool {
        self.member(0, "checked").and_then(|checked| self.member(checked, "printed_by_template")).is_some()
    }
}

fn samples() -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/dialects");
    let dialects = std::fs::read_dir(folder).expect("the samples are part of the repository");
    let files = dialects.flatten().map(|dialect| dialect.path().join("samples.jsonl"));
    files.filter_map(|file| std::fs::read_to_string(file).ok()).collect()
}

fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}

fn call<'a>(name: &'a str, arguments: &'a str) -> RenderCall<'a> {
    RenderCall { id: None, name, arguments }
}

/// Where the model's template and ours write the same call differently, by decision; the notes of the record say why.
fn differs_by_decision(dialect: &str, case: &str) -> bool {
    // A damaged form of what the template prints, or one that starts inside what the prompt holds.
    let is_other_form = matches!(
        case,
        "end_tag_missing_at_eof"
            | "arguments_key"
            | "with_leading_marker"
            | "outer_tag_missing"
            | "implicit_think"
    );
    is_other_form
        || match dialect {
            // The template sorts keys, numbers from 1, prints empty frames or uses single quotes.
            "gemma4" | "kimi-k3" | "lfm2" => true,
            // Python spellings of scalars and nested values are read, but JSON is written.
            "qwen3-coder" | "seed-oss" | "minicpm5" | "functiongemma" => case.contains("python"),
            // The second of two templates for one dialect.
            "gigachat3" => case.starts_with("v31"),
            "llama3-json" => case == "llama4_concatenated",
            "harmony" => case == "recipient_in_role_plain_json",
            _ => false,
        }
}

#[test]
fn what_templates_print_is_what_we_write() {
    let fixtures = samples();
    let mut compared = 0;
    for sample in Sample::all(&fixtures) {
        let dialect = sample.string(0, "dialect").expect("a sample names its dialect");
        let case = sample.string(0, "case").expect("a sample names its case");
        let starts_in_reasoning =
            sample.string(0, "prompt_tail").is_some_and(|tail| tail.contains("<think>"));
        if !sample.printed_by_template() || starts_in_reasoning || differs_by_decision(&dialect, &case) {
            continue;
        }
        let text = sample.string(0, "text").expect("a sample has a text");
        let calls = sample.calls();
        let ids = ["a1B2c3D4e", "Zz9Yy8Xx7"];
        let calls: Vec<RenderCall<'_>> = calls
            .iter()
            .enumerate()
            .map(|(index, (name, arguments))| RenderCall {
                id: ids.get(index).copied().filter(|id| text.contains(id)),
                name,
                arguments,
            })
            .collect();
        let content = sample.string(sample.expect(), "content");
        let reasoning = sample.string(sample.expect(), "reasoning");
        let record = Record::named(&dialect).expect("every sampled dialect is built in");
        let written = record.render(&calls, content.as_deref(), reasoning.as_deref());
        let written = written.unwrap_or_else(|error| panic!("{dialect} {case}: {error}"));
        assert_eq!(without_space(&written), without_space(&text), "{dialect} {case}");
        compared += 1;
    }
    assert!(compared > 200, "only {compared} samples were compared");
}

#[test]
fn every_sampled_call_can_be_written() {
    let fixtures = samples();
    for sample in Sample::all(&fixtures) {
        let dialect = sample.string(0, "dialect").expect("a sample names its dialect");
        let record = Record::named(&dialect).expect("every sampled dialect is built in");
        let calls = sample.calls();
        let calls: Vec<RenderCall<'_>> = calls
            .iter()
            .map(|(name, arguments)| RenderCall { id: Some("a1B2c3D4e"), name, arguments })
            .collect();
        if let Err(error) = record.render(&calls, None, None) {
            panic!("{dialect} {}: {error}", sample.string(0, "case").unwrap_or_default());
        }
    }
}

#[test]
fn layout_is_exact_where_it_matters() {
    let weather = [call("get_weather", r#"{"city": "Oslo", "days": 3}"#)];
    for (dialect, text, expected) in [
        (
            "hermes",
            Some("Hi."),
            "Hi.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 3}}\n</tool_call>",
        ),
        (
            "qwen3-coder",
            Some("Hi."),
            "Hi.\n\n<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>",
        ),
        (
            "mistral",
            None,
            "[TOOL_CALLS][{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 3}}]",
        ),
        ("gemma4", None, "<|tool_call>call:get_weather{city:<|\"|>Oslo<|\"|>,days:3}<tool_call|>"),
        ("pythonic", None, "[get_weather(city=\"Oslo\", days=3)]"),
        (
            "harmony",
            Some("Hi."),
            "<|channel|>commentary<|message|>Hi.<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{\"city\": \"Oslo\", \"days\": 3}<|call|>",
        ),
        (
            "cohere-cofl",
            None,
            "<cofl:tool_calls><cofl:tool_call id=\"0\" name=\"get_weather\"><cofl:value name=\"city\" type=\"raw\">Oslo</cofl:value><cofl:value name=\"days\" type=\"json\">3</cofl:value></cofl:tool_call></cofl:tool_calls>",
        ),
        (
            "hy-v3",
            None,
            "<tool_calls:opensource>\n<tool_call:opensource>get_weather<tool_sep:opensource>\n<arg_key:opensource>city</arg_key:opensource>\n<arg_value:opensource>Oslo</arg_value:opensource>\n<arg_key:opensource>days</arg_key:opensource>\n<arg_value:opensource>3</arg_value:opensource>\n</tool_call:opensource>\n</tool_calls:opensource>",
        ),
        (
            "action-json",
            None,
            "{\"type\": \"action\", \"tool\": \"get_weather\", \"args\": {\"city\": \"Oslo\", \"days\": 3}}",
        ),
        (
            "fenced-json",
            Some("Hi."),
            "Hi.\n```json\n{\"tool\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": 3}}\n```",
        ),
        ("reploid0", Some("Hi."), "Hi.\nREPLOID/0\n\nTOOL: get_weather\ncity: Oslo\ndays: 3"),
        (
            "reploid0-plan",
            None,
            "REPLOID/0\n\nPLAN:\n[{\"tool\": \"get_weather\", \"args\": {\"city\": \"Oslo\", \"days\": 3}}]",
        ),
        (
            "tool-call-args",
            Some("Hi."),
            "Hi.\nTOOL_CALL: get_weather\nARGS: {\"city\": \"Oslo\", \"days\": 3}",
        ),
        ("tool-xml", None, "<get_weather>\n{\"city\": \"Oslo\", \"days\": 3}\n</get_weather>"),
        (
            "bracket-json",
            None,
            "[TOOL_CALL] {\"tool\": \"get_weather\", \"args\": {\"city\": \"Oslo\", \"days\": 3}} [/TOOL_CALL]",
        ),
    ] {
        let record = Record::named(dialect).expect("built in");
        assert_eq!(record.render(&weather, text, None).expect(dialect), expected, "{dialect}");
    }
}

#[test]
fn arguments_are_copied_byte_for_byte() {
    let json = "{ \"n\": 12345678901234567890.10,\n  \"s\": \"\\u00e9 </tool_call>\" }";
    let written = Record::named("hermes")
        .expect("built in")
        .render(&[call("put", json)], None, None)
        .expect("JSON can say it");
    assert!(written.contains(json));
}

#[test]
fn an_id_is_written_where_it_has_a_place() {
    let with_id = RenderCall { id: Some("a1"), name: "look", arguments: "{}" };
    let write = |dialect: &str, call: RenderCall<'_>| {
        Record::named(dialect).expect("built in").render(&[call], None, None)
    };
    assert_eq!(
        write("mistral-v11", with_id).expect("has a form with id"),
        "[TOOL_CALLS]look[CALL_ID]a1[ARGS]{}"
    );
    assert_eq!(
        write("mistral-v11", call("look", "{}")).expect("has a form without"),
        "[TOOL_CALLS]look[ARGS]{}"
    );
    assert_eq!(
        write("mistral", with_id).expect("a member"),
        r#"[TOOL_CALLS][{"name": "look", "arguments": {}, "id": "a1"}]"#
    );
    assert_eq!(
        write("solar-open", call("look", "{}")).expect_err("every call has an id").path,
        "/calls/0/id"
    );
}

#[test]
fn what_would_not_read_back_is_rejected() {
    let rejected = |dialect: &str, calls: &[RenderCall<'_>], text: Option<&str>, reasoning: Option<&str>| {
        let record = Record::named(dialect).expect("built in");
        record.render(calls, text, reasoning).map_err(|error| error.path)
    };
    let put = |arguments: &'static str| [call("put", arguments)];
    let cases: &[(&str, &str, bool)] = &[
        // A closer alone is data; with what can follow it, it ends the value.
        ("qwen3-coder", r#"{"text": "a</parameter>b"}"#, true),
        ("qwen3-coder", r#"{"text": "a</parameter> b"}"#, true),
        // At the end of a value, its closer could be one that stands twice.
        ("qwen3-coder", r#"{"text": "a</parameter>"}"#, false),
        ("qwen3-coder", r#"{"text": "a</parameter>\n<parameter=b>"}"#, false),
        ("qwen3-coder", r#"{"text": "a</parameter> </function>"}"#, false),
        // Its closer may be absent, in a record or by a slip, so a continuation alone is enough.
        ("qwen3-coder", r#"{"text": "a\n<parameter=b>"}"#, false),
        ("minimax-m2", r#"{"text": "a\n<parameter name=\"b\">"}"#, false),
        ("minimax-m2", r#"{"text": "a</Parameter ></ invoke>"}"#, false),
        ("minimax-m2", r#"{"text": "a</parameter></invoke>"}"#, false),
        ("glm45", r#"{"text": "</arg_value> is what ends a value"}"#, true),
        ("glm45", r#"{"text": "</arg_value>"}"#, false),
        ("glm45", r#"{"text": "</arg_value></tool_call>"}"#, false),
        // Where all that follows a parameter may be absent, its closer can end the call.
        ("beam", r#"{"text": "a</rfl:parameter><|call|>"}"#, false),
        ("beam", r#"{"text": "a<|end|>"}"#, false),
        ("beam", r#"{"text": "a</rfl:parameter>b"}"#, false),
        ("beam", r#"{"text": "a</rfl:parameters>b"}"#, true),
        // Nested objects as JSON inside a raw value are text too.
        ("glm45", r#"{"o": {"k": "</arg_value></tool_call>"}}"#, false),
        // Quotes of the bare syntax cannot be escaped.
        ("gemma4", r#"{"text": "say <|\"|> now"}"#, false),
        ("gemma4", r#"{"text": "<tool_call|>"}"#, true),
        ("gemma4", r#"{"a b": 1}"#, false),
        // White space that is dropped on reading.
        ("dots", r#"{"text": " a"}"#, false),
        ("dots", r#"{"text": "a b"}"#, true),
        // Keys.
        ("qwen3-coder", r#"{"a b": 1}"#, false),
        ("pythonic", r#"{"a-b": 1}"#, false),
        ("cline-xml", r#"{"/put": 1}"#, false),
        ("hermes", r#"{"a b": 1}"#, true),
        ("hermes", r#"{"a": 1, "\u0061": 2}"#, false),
        ("hermes", r#"{"a": "\ud800"}"#, false),
        ("hermes", "[]", false),
        // Nested elements.
        ("minimax-m3", r#"{"o": {"item": 1}}"#, false),
        ("minimax-m3", r#"{"o": {"items": [1, {"a": []}]}}"#, true),
        ("minimax-m3", r#"{"o": "]<]minimax[>[<x>"}"#, false),
        // Escaped text can hold anything.
        ("minicpm5", r#"{"text": "</param></function> & <![CDATA["}"#, true),
    ];
    for (dialect, arguments, is_fine) in cases {
        let outcome = rejected(dialect, &put(arguments), None, None);
        assert_eq!(outcome.is_ok(), *is_fine, "{dialect} {arguments}: {outcome:?}");
    }
    assert_eq!(
        rejected("glm45", &put(r#"{"a": 1, "b": "</arg_value></tool_call>"}"#), None, None),
        Err("/calls/0/arguments/b".to_owned())
    );

    // Only the tool that runs code is written as code, not one whose name begins like its opener.
    let code = |name| rejected("functionary-v32", &[call(name, r#"{"code": "1 + 1"}"#)], None, None);
    assert_eq!(code("python").as_deref(), Ok("python\n1 + 1"));
    assert_eq!(code("python_3"), Err("/calls/0/name".to_owned()));

    let text = |dialect: &str, text: &str| rejected(dialect, &put("{}"), Some(text), None).is_ok();
    assert!(text("hermes", "Use <tool_call> wisely."));
    assert!(!text("hermes", "Use <tool_call>{ wisely."));
    assert!(!text("hermes", "a </think> b"));
    assert!(!text("hermes", "a\n"));
    assert!(!text("hermes", "```\ncode"));
    assert!(text("hermes", "```\ncode\n```"));
    assert!(text("llama3-json", r#"{"a": 1}"#));
    assert!(!text("llama3-json", r#"like { "name": 1}"#));
    assert!(text("pythonic", "an array[1] and a call f(x)"));
    assert!(!text("pythonic", "[f(x)]"));
    assert!(!text("harmony", "a<|end|>b"));
    assert!(!text("functionary-v32", "a >>>word\n{}"));
    assert!(!text("glm4-legacy", "put\n{}"));
    assert!(!text("cohere-command", "see <co>this"));
    assert!(rejected("hermes", &[], None, Some("a </think> b")).is_err());
    assert!(rejected("react", &put("{}"), Some("text"), Some("thought")).is_err());
    assert!(rejected("react", &put("{}"), None, Some("thought")).is_ok());

    let name = |dialect: &str, name: &str| rejected(dialect, &[call(name, "{}")], None, None).is_ok();
    assert!(name("hermes", "mcp__files__read-it"));
    assert!(!name("hermes", "two words"));
    assert!(!name("hermes", ""));
    assert!(!name("muse-atem", "self"));
    assert!(!name("functionary-v32", "all"));
    assert!(!name("kimi-k2", "a:1"));
}

#[test]
fn code_is_written_as_code() {
    let run = [call("python", r#"{"code": "print(1)\n"}"#)];
    let record = Record::named("functionary-v32").expect("built in");
    assert_eq!(record.render(&run, None, None).expect("code"), "python\nprint(1)\n");
    let with_more = [call("python", r#"{"code": "1", "timeout": 2}"#)];
    assert!(record.render(&with_more, None, None).is_err());
}

#[test]
fn unmistakable_dialects_listen_by_themselves() {
    let by_name: Vec<&str> =
        Record::builtin().iter().filter(|record| !record.auto).map(|record| &*record.name).collect();
    let expected = "phi4-mini command-r-plus xlam functionary-v32 glm4-legacy qwen-fn react toolcall-xml tool-code \
         json-bare json-tool-calls-object cline-xml calling-tool action-json fenced-json fenced-call \
         tool-call-heading cwm python-lines tool-call-args reploid0 reploid0-plan tool-xml";
    assert_eq!(by_name.join(" "), expected);
}

#[test]
fn shapes_know_their_members() {
    let record = Record::named("action-json").expect("built in");
    assert_eq!(record.object.len(), 3);
    assert!(record.object[1].is_call() && !record.object[2].is_call());
    assert!(record.error[0].has(&Content::Reason));
    let keys = |dialect: &str| {
        let shape = &Record::named(dialect).expect("built in").object[0];
        let member = shape.members.iter().find(|member| member.content == Content::Arguments);
        member.map(|member| member.path[0].clone()).unwrap_or_default()
    };
    assert_eq!(keys("hermes"), ["arguments", "parameters"]);
    assert_eq!(keys("internlm2"), ["parameters", "arguments"]);
    assert_eq!(keys("mistral"), ["arguments"]);
}

/// Entries are compared with each other, so there is an end to their number.
#[test]
fn c11_a_key_has_an_end_of_entries() {
    let list = |count: usize| {
        let entries: Vec<String> = (0..count).map(|number| format!("'<c{number}>{{object}}</c>'")).collect();
        Record::parse(&format!("[x]\ncall = [{}]", entries.join(", ")))
    };
    assert_eq!(list(256).expect("as many as are read")[0].call.len(), 256);
    for count in [257, 20_000] {
        let error = list(count).expect_err("too many").to_string();
        assert!(error.contains("at most 256"), "{error}");
    }
}

/// A broken file, and where and how it is rejected.
#[test]
fn broken_files_are_told_where_and_how() {
    for (file, place, message, help) in [
        ("", "line 1, column 1", "no dialect", "[my-dialect]"),
        ("call = 'x'", "line 1, column 1", "outside of every dialect", "[my-dialect]"),
        ("[x]\ncall = 'a", "line 2, column", "literal string", "Correct the TOML"),
        ("[x]\njoin = ''", "line 1, column 2", "has no `call`", "Add `call`"),
        ("[x y]\ncall = ''", "line 1, column", "", "Correct the TOML"),
        ("[Xy]\ncall = ''", "line 1, column 2", "no name for a dialect", "lower-case"),
        ("[x]\ncall = '<c>{object}</c>'\nopne = '<s>'", "line 3, column 1", "unknown key `opne`", "`open`"),
        ("[x]\ncall = 7", "line 2, column 8", "`call` is an integer", "a string or a list"),
        ("[x]\ncall = ['a{object}', 1]", "line 2, column 22", "`call` is an integer", "list of strings"),
        ("[x]\ncall = '<c>{arguments}</c>'", "line 2, column 8", "which tool", "{name}"),
        ("[x]\ncall = '<c>{name}{argments}</c>'", "line 2, column 8", "have no place", "spelling"),
        (
            "[x]\ncall = '<c>{name}{value}</c>'",
            "line 2, column 8",
            "`{value}` has no place in `call`",
            "{params}",
        ),
        ("[x]\ncall = '<c>{name}{params}</c>'", "line 2, column 8", "needs the key `param`", "{key}"),
        ("[x]\ncall = '<run>{code}'", "line 2, column 8", "needs the key `code_tool`", "runs the code"),
        ("[x]\ncall = '<c>{object}'\ncode_tool = 'x'", "line 3, column 13", "no call has `{code}`", "remove"),
        ("[x]\ncall = '<c>{code}'\ncode_tool = 'a b'", "line 3, column 13", "is not one word", "tool list"),
        (
            "[x]\ncall = '<c>{name}{params}</c>'\nparam = ['<p>{key}={value}</p>', '<q>{value}</q>']",
            "line 3, column 34",
            "needs `{key}`",
            "both",
        ),
        (
            "[x]\ncall = '<c>{name}{params}</c>'\nparam = '<p {key}>{value}<q>{value}</p>'",
            "line 3, column 9",
            "`{value}` twice",
            "once",
        ),
        (
            "[x]\ncall = '<c>{name}{params}</c>'\nparam = \"{key}: {value}\\n\"",
            "line 3, column 9",
            "white space only",
            "visible",
        ),
        (
            "[x]\nopen = ['<a>', '<b>']\ncall = '{object}'\nclose = ['</a>']",
            "line 4, column 10",
            "2 openers but 1 closers",
            "same length",
        ),
        (
            "[x]\ncall = '<c>{object}</c>'\nsyntax = 'pyton'",
            "line 3, column 10",
            "unknown syntax `pyton`",
            "`python`",
        ),
        (
            "[x]\ncall = '<c>{name}{arguments}</c>'\nsyntax = 'bare'",
            "line 3, column 10",
            "needs `quote`",
            "Add `quote`",
        ),
        (
            "[x]\ncall = '<c>{object}</c>'\nquote = '|'",
            "line 3, column 9",
            "belongs to the syntax `bare`",
            "remove",
        ),
        (
            "[x]\ncall = '<c>{object}</c>'\nsuffix = ':a'",
            "line 3, column 10",
            "no template has `{suffix}`",
            "remove",
        ),
        (
            "[x]\ncall = '<c>{object}</c>'\nitem = '<i>{value}</i>'",
            "line 3, column 8",
            "`item` needs `param`",
            "Add `param`",
        ),
        (
            "[x]\ncall = '<c>{object}</c>'\nalso = [['<d>', '']]",
            "line 3, column 9",
            "occurs in no template",
            "exactly",
        ),
        (
            "[x]\ncall = '<c>{object}</c>'\nalso = [['<c>', ''], ['c>', 'd>']]",
            "line 3, column 22",
            "overlaps",
            "do not share",
        ),
        (
            "[x]\ncall = '<c>{object}</c>'\nalso = [['<c>']]",
            "line 3, column 9",
            "at least one other",
            "absent",
        ),
        (
            "[x]\ncall = ['<c>{name} {arguments}', '<c> {name}{arguments}']",
            "line 2, column 34",
            "cannot be told apart",
            "literal",
        ),
        (
            "[x]\ncall = ['<c>{object}', '<c>{name}:{arguments}', '<c>{id}:{name} {arguments}']",
            "line 2, column 49",
            "entries 2 and 3",
            "literal",
        ),
        (
            "[x]\ncall = '<c>{object}</c>'\nobject = '{\"name\": {name}}'",
            "line 3, column 10",
            "quoted string",
            "JSON object",
        ),
        (
            "[x]\ncall = '<c>{object}</c>'\nobject = '{\"name\": \"{name}\"}'",
            "line 3, column 10",
            "neither a call nor an answer",
            "{arguments}",
        ),
        (
            "[x]\ncall = '<c>{object}</c>'\ntext = '<t>'",
            "line 3, column 8",
            "`text` needs `{text}` once",
            "{text}",
        ),
        (
            "[x]\ncall = '<c>{object}</c>'\nreasoning = '{text}</r>'",
            "line 3, column 13",
            "no opener",
            "literal",
        ),
        (
            "[x]\ncall = '<c>{object}</c>'\nprompt = '<r>'\nreasoning = '<r>{text}</r>'",
            "line 3, column 10",
            "inside reasoning",
            "prompt_tail",
        ),
        ("[x]\ncall = '{object}'\nauto = true", "line 3, column 8", "cannot be `auto`", "four bytes"),
        ("[x]\ncall = '<c>{object}</c>'\nlines = true", "line 3, column 9", "start a line", "`join`"),
        ("[x]\ncall = '<c>{object}</c>'\nbare = ['<inner>']", "line 3, column 9", "no inner opener", "Copy"),
        (
            "[ok]\ncall = '<c>{object}</c>'\n\n[x]\ncall = '<c>{object}</c>'\ntypes = { text = 'a' }",
            "line 6, column 11",
            "no JSON type",
            "string",
        ),
    ] {
        let error = Record::parse(file).expect_err(file);
        let shown = error.to_string();
        assert!(shown.starts_with(place), "{file}: {shown}");
        assert!(error.message.contains(message), "{file}: {shown}");
        assert!(error.help.contains(help), "{file}: {shown}");
    }
}

#[test]
fn a_gate_takes_dialects_of_ones_own() {
    let record = |toml: &str| Record::parse(toml).expect("the file is good").remove(0);
    let mine = record("[mine]\ncall = '!{object}!'");
    let text =
        r#"!{"name": "look", "arguments": {}}! <tool_call>{"name": "look", "arguments": {}}</tool_call>"#;
    let dialects = |gate: Gate| -> Vec<String> {
        gate.parse(text).calls.iter().map(|call| call.dialect.to_string()).collect()
    };
    let gate = Gate::builder().record(mine.clone()).build().expect("it is live beside the others");
    assert_eq!(dialects(gate), ["mine", "hermes"]);
    let named = Gate::builder().record(mine.clone()).dialect("mine").build().expect("it can be named");
    assert_eq!(named.live().map(|record| &*record.name).collect::<Vec<_>>(), ["mine"]);
    let instead = record("[hermes]\ncall = '<tool_call>{object}</tool_call>'");
    let gate =
        Gate::builder().record(instead).dialect("hermes").build().expect("it replaces the built-in one");
    assert_eq!(gate.live().count(), 1);
    assert!(gate.live().all(|record| record.models.is_empty()), "the record that was added listens");

    let code = |builder: callgate::GateBuilder| builder.build().map(|_| ()).map_err(|error| error.code);
    assert_eq!(code(Gate::builder().record(mine.clone()).record(mine)), Err("repeated-dialect"));
    let known = record("[by-name]\nknown = true\ncall = '<{name}>{arguments}</{name}>'");
    assert_eq!(code(Gate::builder().record(known.clone())), Err("needs-tools"));
    let tools = Registry::from_json(r#"[{"name": "look", "parameters": {}}]"#).expect("a tool list");
    assert_eq!(code(Gate::builder().record(known).tools(tools)), Ok(()));
    assert_eq!(code(Gate::builder().dialect("mine")), Err("unknown-dialect"));
}

#[test]
fn every_dialect_can_be_taught() {
    let tools = r#"[{"name": "look", "parameters": {"type": "object", "required": ["q"], "properties": {
        "q": {"type": "string"}, "n": {"type": "integer"}}}}]"#;
    let registry = || Registry::from_json(tools).expect("a tool list");
    for record in Record::builtin() {
        let gate = Gate::builder().tools(registry()).dialect(&record.name).build().expect("a gate");
        let examples = record.examples(&registry());
        assert_eq!(examples.len(), 1, "{}", record.name);
        let read = gate.parse(&examples[0]);
        assert_eq!((read.calls.len(), read.rejected.len()), (1, 0), "{}: {}", record.name, examples[0]);
        let section = record.prompt_section(&registry());
        assert!(section.contains(&examples[0]) && section.contains("`look`"), "{}: {section}", record.name);
    }
}
