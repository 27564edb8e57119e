//! What text and code only show: the start of a call in inline code, and tags that some format has around its messages.

use callgate::{Gate, Record, RenderCall};

use crate::support::guard::in_parallel;
use crate::support::{Feed, profile, registry, rejections, response};
use crate::tools;

/// The starts of a call, up to where each of its tokens ends, as one line of inline code can show them.
fn starts(record: &Record) -> Vec<String> {
    let call = |id| RenderCall { id, name: "read", arguments: r#"{"path": "a"}"# };
    let whole = record.render(&[call(None)], None, None);
    let Ok(text) = whole.or_else(|_| record.render(&[call(Some("a1b2c3d4e"))], None, None)) else {
        return Vec::new();
    };
    // What has backticks itself cannot be told from the end of the code.
    let line =
        text.trim_start().split(['\n', '{']).next().filter(|_| !text.contains('`')).unwrap_or_default();
    // Where arguments have begun, what follows is theirs.
    let name = line.find("read").map_or(0, |at| at + "read".len());
    let behind = line[name..].find(|c| !matches!(c, '"' | '\'' | '>' | ']')).unwrap_or(line.len() - name);
    let header = &line[..name + behind];
    let ends = header.match_indices(['>', ']', ' ', '=']).map(|(at, end)| at + end.len());
    let ends = ends.chain([header.len()]).filter(|end| header[..*end].contains(['<', '[']));
    ends.map(|end| header[..end].trim_end().to_owned()).collect()
}

/// Whoever writes of the start of a call in inline code calls nothing, and what follows the code is text.
#[test]
fn promise_07_the_start_of_a_call_in_inline_code_takes_nothing_with_it() {
    let results = in_parallel(Record::builtin(), |record| {
        let (mut shown, mut faults) = (0, Vec::new());
        for (name, is_named) in [("standard", true), ("standard", false), ("strict", true), ("lenient", true)]
        {
            let gate = Gate::builder().profile(profile(name)).tools(registry(&tools()));
            let gate = if is_named { gate.dialect(&record.name) } else { gate };
            let gate = gate.build().unwrap_or_else(|error| panic!("{}: {error}", record.name));
            for start in starts(record) {
                let text = format!("A call begins with `{start}` there.\n\nThen the rest.");
                let feed = Feed::new(&gate);
                for events in [feed.whole(text.as_bytes()), feed.bytewise(text.as_bytes())] {
                    shown += 1;
                    let response = response(&events);
                    if !response.calls.is_empty()
                        || !response.rejected.is_empty()
                        || !response.text.ends_with(" there.\n\nThen the rest.")
                    {
                        faults.push(format!("{}, {name}: {text}: {}", record.name, rejections(&response)));
                    }
                }
            }
        }
        (shown, faults)
    });
    let shown: usize = results.iter().map(|(shown, _)| shown).sum();
    let faults: Vec<&String> = results.iter().flat_map(|(_, faults)| faults).collect();
    let list: Vec<&str> = faults.iter().take(24).map(|fault| fault.as_str()).collect();
    assert!(faults.is_empty(), "{} of {shown}\n{}", faults.len(), list.join("\n"));
    assert!(shown > 500, "only {shown} were shown");
}

/// Tags that a format has around its messages are tags of documents to everybody else.
#[test]
fn tags_around_the_messages_of_a_format_that_nobody_asked_for_are_text() {
    let is_tag = |head: &str| head.starts_with('<') && !head.contains(['|', '｜', '{']);
    let mut tags = Vec::new();
    for record in Record::builtin() {
        let heads = record.text.iter().chain(&record.noise).map(|template| template.head().trim().to_owned());
        tags.extend(heads.filter(|head| is_tag(head)).map(|head| (record, head)));
    }
    assert!(tags.len() >= 4, "{tags:?}");
    for (record, tag) in tags {
        let gate = |dialect: &str| {
            let gate = Gate::builder().tools(registry(&tools())).dialect(dialect).build();
            gate.unwrap_or_else(|error| panic!("{dialect}: {error}"))
        };
        let text = format!("one {tag} two");
        assert_eq!(gate("hermes").parse(&text).text, text, "{}", record.name);
        assert!(!gate(&record.name).parse(&text).text.contains(&tag), "{}: {tag}", record.name);
    }
}

/// A call that another format's object follows, with a name, was not given that object.
#[test]
fn an_object_with_a_name_behind_a_call_is_another_call() {
    for (dialect, text) in [
        ("mistral", r#"[TOOL_CALLS][{"name": "read", "arguments": {"path": "a"}}]"#),
        ("granite", r#"<|tool_call|>[{"name": "read", "arguments": {"path": "a"}}]"#),
        ("mistral-v11", r#"[TOOL_CALLS]read[ARGS]{"path": "a"}"#),
    ] {
        let gate = Gate::builder().tools(registry(&tools())).dialect(dialect).build();
        let gate = gate.unwrap_or_else(|error| panic!("{dialect}: {error}"));
        let calls = |behind: &str| {
            let text = format!("{text}\n{behind}");
            let feed = Feed::new(&gate);
            let whole = feed.whole(text.as_bytes());
            assert_eq!(whole, feed.bytewise(text.as_bytes()), "{text}");
            let response = response(&whole);
            assert!(!response.rejected.is_empty() || !response.findings.is_empty(), "{text}: silence");
            response.calls.len()
        };
        for key in ["name", "tool", "function_name"] {
            assert_eq!(calls(&format!(r#"{{"{key}": "list", "arguments": {{}}}}"#)), 1, "{dialect}, {key}");
        }
        for key in ["lines", "names", "nam"] {
            assert_eq!(calls(&format!(r#"{{"{key}": "list"}}"#)), 0, "{dialect}, {key}");
        }
    }
}
