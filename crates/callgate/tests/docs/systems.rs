//! The pages of the five systems: what is wrong in each, by the code of its document, with the causes and an example that is run.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use callgate::internal::profile::ProfileView;
use callgate::{Code, FinishReason, Gate, Policy, Profile, Registry, Response, Severity};
use serde_json::{Value, json};

use super::{block, cell, replaced, sentence};

/// One thing that goes wrong.
struct Example {
    /// What it is about, or the code of the document that it is for.
    title: &'static str,
    sample: Sample,
}

/// What the model sent.
enum Sample {
    Text(&'static str),
    /// The value of `tool_calls`.
    Calls(&'static str),
    /// Something too long to show, or a policy that makes it short.
    Words(&'static str, fn() -> (Gate, Value, FinishReason)),
}

pub(crate) struct System {
    pub(crate) page: &'static str,
    profile: &'static str,
    examples: &'static [Example],
    /// Codes that the host gives, not the gate: what ends a question.
    by_host: &'static [&'static str],
    /// Responses that its document compares, and what they are.
    scenarios: &'static [(&'static str, &'static str)],
}

const fn text(title: &'static str, text: &'static str) -> Example {
    Example { title, sample: Sample::Text(text) }
}

const fn calls(title: &'static str, calls: &'static str) -> Example {
    Example { title, sample: Sample::Calls(calls) }
}

const fn words(
    title: &'static str,
    words: &'static str,
    make: fn() -> (Gate, Value, FinishReason),
) -> Example {
    Example { title, sample: Sample::Words(words, make) }
}

pub(crate) const SYSTEMS: &[System] = &[
    System {
        page: "docs/systems/goshi.md",
        profile: "action",
        by_host: &[],
        scenarios: &[],
        examples: &[
            text(
                "tool_not_found",
                "{\"type\": \"action\", \"tool\": \"fs.delete\", \"args\": {\"path\": \"notes.txt\"}}",
            ),
            text(
                "invalid_args",
                "{\"type\": \"action\", \"tool\": \"fs.write\", \"args\": {\"path\": \"notes.txt\"}}",
            ),
            text(
                "JSON that cannot be read",
                "{\"type\": \"action\", \"tool\": \"fs.read\", \"args\": {\"path\" \"notes.txt\"}}",
            ),
            text(
                "another type",
                "{\"type\": \"call\", \"tool\": \"fs.read\", \"args\": {\"path\": \"notes.txt\"}}",
            ),
            text(
                "two actions",
                "{\"type\": \"action\", \"tool\": \"fs.read\", \"args\": {\"path\": \"a\"}}\n{\"type\": \"action\", \"tool\": \"fs.read\", \"args\": {\"path\": \"b\"}}",
            ),
            text(
                "words after the action",
                "{\"type\": \"action\", \"tool\": \"fs.read\", \"args\": {\"path\": \"a\"}}\nTell me if you need more.",
            ),
            text(
                "half an action",
                "{\"type\": \"action\", \"tool\": \"fs.write\", \"args\": {\"path\": \"a\", \"content\": \"half of th",
            ),
            text("no tool", "{\"type\": \"action\", \"tool\": \"\", \"args\": {}}"),
            text("nothing", ""),
        ],
    },
    System {
        page: "docs/systems/acode.md",
        profile: "structured",
        by_host: &["ACODE-TLP-106"],
        scenarios: &[],
        examples: &[
            calls("ACODE-TLP-001", "[{\"id\": \"call_1\"}]"),
            calls("ACODE-TLP-002", "[{\"function\": {\"name\": \"\", \"arguments\": \"{}\"}}]"),
            calls("ACODE-TLP-003", "[{\"function\": {\"name\": \"read-file\", \"arguments\": \"{}\"}}]"),
            calls(
                "ACODE-TLP-004",
                "[{\"function\": {\"name\": \"read_file\", \"arguments\": \"just words {{{{\"}}]",
            ),
            words("ACODE-TLP-005", "a name of 65 characters", || {
                (gate("structured"), call(&"x".repeat(65), "{}"), FinishReason::Stop)
            }),
            calls(
                "ACODE-TLP-006",
                "[{\"function\": {\"name\": \"read_file\", \"arguments\": \"[\\\"notes.txt\\\"]\"}}]",
            ),
            calls("ACODE-TLP-101", "[{\"function\": {\"name\": \"raed_file\", \"arguments\": \"{}\"}}]"),
            calls(
                "ACODE-TLP-102",
                "[{\"function\": {\"name\": \"read_file\", \"arguments\": \"{\\\"file_path\\\": 7}\"}}]",
            ),
            words("ACODE-TLP-103", "arguments of more than 1 MiB", || {
                let long = json!({"file_path": "a", "content": "x".repeat(1 << 20)}).to_string();
                (gate("structured"), call("write_file", &long), FinishReason::Stop)
            }),
            words("ACODE-TLP-104", "a list inside a list, 65 deep", || {
                let deep = format!("{{\"file_path\": {}{}}}", "[".repeat(64), "]".repeat(64));
                (gate("structured"), call("read_file", &deep), FinishReason::Stop)
            }),
            words("ACODE-TLP-105", "`{file_path: 'notes.txt',}` where one repair is allowed", || {
                let gate = gate_with("structured", |policy| policy.limits.repairs = 1);
                (gate, call("read_file", "{file_path: 'notes.txt',}"), FinishReason::Stop)
            }),
            words("ACODE-TLP-107", "two calls where `policy.max_calls` is 1", || {
                let gate = gate_with("structured", |policy| policy.max_calls = 1);
                let one = call("read_file", "{\"file_path\": \"a\"}")[0].clone();
                (gate, json!([one, one]), FinishReason::Stop)
            }),
            words(
                "ACODE-TLP-108",
                "`{\"file_path\": \"a\", \"content\": \"half` where the output limit ended the answer",
                || {
                    let half = "{\"file_path\": \"a\", \"content\": \"half";
                    (gate("structured"), call("write_file", half), FinishReason::Length)
                },
            ),
        ],
    },
    System {
        page: "docs/systems/windlass.md",
        profile: "fenced",
        by_host: &[],
        scenarios: &[
            (
                "a valid call",
                "```json\n{\"tool\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}\n```",
            ),
            (
                "a malformed call",
                "```json\n{\"tool\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}}}\n```",
            ),
            ("JSON that is no call", "```json\n{\"fibonacci\": [0, 1, 1, 2, 3], \"sum\": 7}\n```"),
            ("Python with braces", "d = {'tool': 'read_file'}\nprint({k: v for k, v in d.items()})"),
            ("malformed JSON that is no call", "```json\n{\"result\": 42, \"note\": \"x\"}}\n```"),
        ],
        examples: &[
            text(
                "braces too many",
                "```json\n{\"tool\": \"read_file\", \"arguments\": {\"file_path\": \"a\"}}}}\n```",
            ),
            text("single quotes", "```json\n{'tool': 'read_file', 'arguments': {}}\n```"),
            text(
                "an unknown tool",
                "```json\n{\"tool\": \"raed_file\", \"arguments\": {\"file_path\": \"a\"}}\n```",
            ),
            text("arguments that do not fit", "```json\n{\"tool\": \"read_file\", \"arguments\": {}}\n```"),
            text("a `tool` that is no name", "```json\n{\"tool\": null, \"arguments\": {}}\n```"),
            text(
                "a block without its end",
                "```json\n{\"tool\": \"read_file\", \"arguments\": {\"file_path\": \"a",
            ),
        ],
    },
    System {
        page: "docs/systems/reploid.md",
        profile: "labelled",
        by_host: &[],
        scenarios: &[],
        examples: &[
            text("JSON that cannot be read", "TOOL_CALL: read_file\nARGS: {path: \"/a\"}"),
            text("no object", "TOOL_CALL: read_file\nARGS: plain words"),
            text("braces that never close", "TOOL_CALL: read_file\nARGS: {\"file_path\": \"/a\""),
            text("both on one line", "TOOL_CALL: read_file ARGS: {\"file_path\": \"/a\"}"),
            text("an unknown tool", "TOOL_CALL: DeleteFile\nARGS: {\"file_path\": \"/a\"}"),
            text("a name with a dot", "TOOL_CALL: fs.read\nARGS: {\"file_path\": \"/a\"}"),
            text("a line that is no argument", "REPLOID/0\n\nTOOL: read_file\nfile_path /a"),
            text(
                "a block without its end",
                "REPLOID/0\n\nTOOL: write_file\nfile_path: /a\ncontent <<END\nhalf",
            ),
        ],
    },
    System {
        page: "docs/systems/accesslint.md",
        profile: "strict-xml",
        by_host: &["MAX_MISTAKES"],
        scenarios: &[],
        examples: &[
            text("MALFORMED_XML", "<read_file>{\"file_path\": \"a.css\"</read_file>"),
            text("MALFORMED_XML", "<read_file file_path=\"a.css\"></read_file>"),
            text("UNKNOWN_TOOL", "<summon_cat>{\"name\": \"Tom\"}</summon_cat>"),
            text("SCHEMA_VALIDATION", "<write_file>{\"content\": \"<p>Hi</p>\"}</write_file>"),
            text("NO_XML_BLOCKS", "TOOL_CALL: read_file\nINPUT: {\"file_path\": \"a.css\"}"),
            text("NO_XML_BLOCKS", "Let me read file a.css and see."),
        ],
    },
];

/// The tools that the examples call: those of the pages.
fn tools(profile: &str) -> Registry {
    let (read, write, path) = match profile {
        "action" => ("fs.read", "fs.write", "path"),
        _ => ("read_file", "write_file", "file_path"),
    };
    let text = json!({"type": "string"});
    let list = json!([
        {"name": read, "parameters": {"type": "object", "properties": {path: text}, "required": [path]}},
        {"name": write, "parameters": {"type": "object", "properties": {path: text, "content": text}, "required": [path, "content"]}},
    ]);
    Registry::from_value(&list).unwrap_or_else(|error| panic!("{error}"))
}

fn gate(profile: &str) -> Gate {
    gate_with(profile, |_| {})
}

fn gate_with(name: &str, change: impl FnOnce(&mut Policy)) -> Gate {
    let profile = super::profile(name);
    let mut policy = profile.policy();
    change(&mut policy);
    let gate = Gate::builder().profile(profile).tools(tools(name)).policy(policy).build();
    gate.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn call(name: &str, arguments: &str) -> Value {
    json!([{"function": {"name": name, "arguments": arguments}}])
}

fn native(gate: &Gate, calls: &Value, end: FinishReason) -> Response {
    let mut collector = Response::collector();
    let mut session = gate.session();
    session.native_calls(calls, &mut |event| collector.push(event));
    session.finish(end, &mut |event| collector.push(event));
    collector.finish(end)
}

impl System {
    /// What the gate says about an example, in the words of the profile.
    fn view(&self, sample: &Sample) -> (Response, ProfileView) {
        let profile = super::profile(self.profile);
        let (response, input) = match sample {
            Sample::Text(text) => (gate(self.profile).parse(text), *text),
            Sample::Calls(calls) => {
                let calls = serde_json::from_str(calls).unwrap_or_else(|error| panic!("{calls}: {error}"));
                (native(&gate(self.profile), &calls, FinishReason::Stop), "")
            }
            Sample::Words(_, make) => {
                let (gate, calls, end) = make();
                (native(&gate, &calls, end), "")
            }
        };
        let view = ProfileView::of(&profile, &response, input);
        (response, view)
    }

    /// The part of the page about errors.
    fn errors(&self) -> String {
        let profile = super::profile(self.profile);
        let causes = causes(&profile);
        let mut part = String::new();
        let mut before = "";
        for example in self.examples {
            let (_, view) = self.view(&example.sample);
            if example.title != before {
                let is_code = causes.contains_key(example.title);
                let title = if is_code { format!("`{}`", example.title) } else { sentence(example.title) };
                let _ = writeln!(part, "### {}\n", title.trim_end_matches('.'));
                part.push_str(&behind(&profile, causes.get(example.title).map_or(&[], Vec::as_slice)));
                before = example.title;
            }
            match &example.sample {
                Sample::Text("") => part.push_str("An answer of nothing at all gives:\n\n"),
                Sample::Text(text) => {
                    let _ = write!(part, "{}\ngives ", block("text", text));
                }
                Sample::Calls(calls) => {
                    let _ = write!(part, "{}\ngives ", block("json", calls));
                }
                Sample::Words(words, _) => {
                    let _ = write!(part, "{}: ", sentence(words).trim_end_matches('.'));
                }
            }
            let said: Vec<String> = view
                .errors
                .iter()
                .map(|error| format!("{}: {}", error.code, cut(&error.message)))
                .map(|line| cell(&line))
                .collect();
            let _ = writeln!(part, "{}\n", said.join(" and "));
        }
        part
    }

    /// The page with its made parts.
    pub(crate) fn page(&self, page: &str) -> String {
        let page = replaced(page, "errors", &self.errors());
        match self.scenarios {
            [] => page,
            _ => replaced(&page, "scenarios", &self.scenarios()),
        }
    }

    /// What becomes of the scenarios of the document, as a table.
    fn scenarios(&self) -> String {
        let mut part = "| the response | calls | errors that go back |\n|---|---|---|\n".to_owned();
        for (what, text) in self.scenarios {
            let response = gate(self.profile).parse(text);
            let none = |count: usize| if count == 0 { "none".to_owned() } else { count.to_string() };
            let (calls, errors) = (none(response.calls.len()), none(response.rejected.len()));
            let _ = writeln!(part, "| {what}: {} | {calls} | {errors} |", cell(text));
        }
        part
    }

    /// Why the examples do not show what they say.
    pub(crate) fn faults(&self) -> Vec<String> {
        let profile = super::profile(self.profile);
        let codes: BTreeSet<&str> = causes(&profile).into_keys().collect();
        let mut shown: BTreeSet<&str> = self.by_host.iter().copied().collect();
        let mut faults = Vec::new();
        for example in self.examples {
            let (response, view) = self.view(&example.sample);
            let said: Vec<&str> = view.errors.iter().map(|error| error.code.as_str()).collect();
            faults.extend((said.is_empty()).then(|| format!("{}: {} is no error", self.page, example.title)));
            if codes.contains(example.title) {
                let is_shown = said.contains(&example.title);
                faults
                    .extend((!is_shown).then(|| format!("{}: {} gives {said:?}", self.page, example.title)));
                shown.insert(example.title);
            }
            let is_let_through = !response.calls.is_empty() && example.title != "ACODE-TLP-107";
            faults.extend(is_let_through.then(|| format!("{}: {} runs", self.page, example.title)));
        }
        faults.extend(codes.difference(&shown).map(|code| format!("{}: nothing shows {code}", self.page)));
        faults
    }
}

/// The findings behind each code of a document.
fn causes(profile: &Profile) -> BTreeMap<&'static str, Vec<Code>> {
    let mut causes: BTreeMap<&'static str, Vec<Code>> = BTreeMap::new();
    for code in Code::ALL.iter().filter(|code| code.severity() == Severity::Error) {
        if let Some(word) = profile.code(*code) {
            causes.entry(word).or_default().push(*code);
        }
    }
    causes
}

/// What stands behind a code: each finding with its way out, or only their names where there are very many.
fn behind(profile: &Profile, causes: &[Code]) -> String {
    const MOST: usize = 8;
    if causes.is_empty() {
        return String::new();
    }
    let link = |code: &Code| format!("[`{code}`](../findings.md#{code})");
    if causes.len() > MOST {
        let links: Vec<String> = causes.iter().map(link).collect();
        return format!("Behind it stands one of {}.\n\n", links.join(", "));
    }
    let lines = causes.iter().map(|code| {
        let (message, help) = (sentence(profile.sentence(*code)), code.entry().help);
        format!("- {}: {message} *What to do:* {help}\n", link(code))
    });
    lines.collect::<String>() + "\n"
}

/// A message as long as a line of a page may be.
fn cut(message: &str) -> String {
    const MOST: usize = 160;
    match message.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &message[..at]),
        None => message.to_owned(),
    }
}
