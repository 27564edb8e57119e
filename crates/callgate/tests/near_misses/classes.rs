//! The classes of damage: what is done to a response, and what has to become of it.

use serde_json::json;

use crate::damage::{Base, is_closer, respell};

/// What has to become of a damaged response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// The calls that were meant, and nothing else.
    Same,
    /// The calls that were meant, or a rejection or finding that says why not.
    Said,
    /// No call, and a rejection or finding that says why not.
    Dead,
    /// No call; of a format that is not heard, nothing need be said.
    Silent,
}

/// A way of damaging a response. The next one is a row too.
pub(crate) struct Class {
    pub(crate) name: &'static str,
    pub(crate) want: Want,
    /// Why only a list of tools tells what was meant, if that is so.
    pub(crate) by_tools: Option<&'static str>,
    /// Every response that it makes of one.
    pub(crate) damage: fn(&Base) -> Vec<String>,
}

pub(crate) const CLASSES: &[Class] = &[
    Class { name: "unchanged", want: Want::Same, by_tools: None, damage: |base| vec![base.text.clone()] },
    Class {
        name: "a line break between two markers",
        want: Want::Same,
        by_tools: None,
        damage: |base| base.between_markers("\n"),
    },
    Class {
        name: "spaces between two markers",
        want: Want::Same,
        by_tools: None,
        damage: |base| base.between_markers("  "),
    },
    Class {
        name: "a space before the end of a tag",
        want: Want::Same,
        by_tools: None,
        damage: Base::spaced_tags,
    },
    Class {
        name: "arguments under another word",
        want: Want::Same,
        by_tools: None,
        damage: |base| {
            base.objects(&[
                |name, arguments| json!({"name": name, "arguments": arguments}),
                |name, arguments| json!({"name": name, "parameters": arguments}),
                |name, arguments| json!({"name": name, "args": arguments}),
                |name, arguments| json!({"name": name, "input": arguments}),
                |name, arguments| json!({"name": name, "params": arguments}),
                |name, arguments| json!({"name": name, "kwargs": arguments}),
                |name, arguments| json!({"name": name, "tool_input": arguments}),
                |name, arguments| json!({"name": name, "function_arguments": arguments}),
            ])
        },
    },
    Class {
        name: "the name under another word",
        want: Want::Same,
        by_tools: None,
        damage: |base| {
            base.objects(&[
                |name, arguments| json!({"tool": name, "arguments": arguments}),
                |name, arguments| json!({"tool_name": name, "arguments": arguments}),
                |name, arguments| json!({"function": name, "arguments": arguments}),
                |name, arguments| json!({"function_name": name, "arguments": arguments}),
                |name, arguments| json!({"action": name, "arguments": arguments}),
                |name, arguments| json!({"func": name, "args": arguments}),
                |name, arguments| json!({"recipient_name": name, "parameters": arguments}),
            ])
        },
    },
    Class {
        name: "name and arguments in an object `function`",
        want: Want::Same,
        by_tools: None,
        damage: |base| {
            base.objects(&[
                |name, arguments| json!({"function": {"name": name, "arguments": arguments}}),
                |name, arguments| json!({"type": "function", "function": {"name": name, "arguments": arguments}}),
                |name, arguments| {
                    json!({"id": "call_1", "type": "function",
                           "function": {"name": name, "arguments": arguments.to_string()}})
                },
            ])
        },
    },
    Class {
        name: "a name in a namespace or in white space",
        want: Want::Same,
        by_tools: None,
        damage: |base| {
            base.objects(&[
                |name, arguments| json!({"name": format!("functions.{name}"), "arguments": arguments}),
                |name, arguments| json!({"name": format!("default_api.{name}"), "arguments": arguments}),
                |name, arguments| json!({"name": format!(" {name}\n"), "arguments": arguments}),
            ])
        },
    },
    Class {
        name: "two members of a kind",
        want: Want::Said,
        by_tools: Some("every member may be one of the arguments"),
        damage: |base| {
            base.objects(&[
                |name, arguments| json!({"name": name, "tool": "other", "arguments": arguments}),
                |name, arguments| json!({"tool": name, "args": arguments, "input": {"path": "b"}}),
                |name, arguments| json!({"name": name, "options": arguments}),
                |name, arguments| json!({"name": name, "arguments": {"arguments": arguments}}),
            ])
        },
    },
    Class {
        name: "a name that no tool has",
        want: Want::Said,
        by_tools: Some("every name may be that of a tool"),
        damage: |base| {
            base.objects(&[
                |_, arguments| json!({"name": "fly", "arguments": arguments}),
                |name, arguments| json!({"name": name.to_uppercase(), "arguments": arguments}),
            ])
        },
    },
    Class {
        name: "arguments in one object more",
        want: Want::Same,
        by_tools: Some("an object with one member may be what is meant"),
        damage: |base| {
            base.objects(&[
                |name, arguments| json!({"name": name, "arguments": {"input": arguments}}),
                |name, arguments| json!({"name": name, "arguments": {"properties": arguments}}),
            ])
        },
    },
    Class {
        name: "white space before a name as a tokenizer shows it",
        want: Want::Said,
        by_tools: None,
        damage: Base::left_over,
    },
    Class {
        name: "a call as code or as a key, and nothing else",
        want: Want::Said,
        by_tools: None,
        damage: Base::bare_calls,
    },
    Class {
        name: "a closing tag missing before another one",
        want: Want::Same,
        by_tools: None,
        damage: |base| {
            base.tags(
                |text, tag, next| is_closer(tag) && is_closer(next) && text.len() > 1,
                |_| String::new(),
            )
        },
    },
    Class {
        name: "a closing tag missing before an opening one",
        want: Want::Said,
        by_tools: None,
        damage: |base| {
            base.tags(
                |_, tag, next| is_closer(tag) && next.starts_with('<') && !is_closer(next),
                |_| String::new(),
            )
        },
    },
    Class {
        name: "a closing tag twice",
        want: Want::Said,
        by_tools: None,
        damage: |base| base.tags(|_, tag, _| is_closer(tag), |tag| format!("{tag}{tag}")),
    },
    Class {
        name: "a closing tag of another format behind the object",
        want: Want::Said,
        by_tools: None,
        damage: |base| base.closers_behind_object(&["</invoke>", "\n</arguments>\n"]),
    },
    Class {
        name: "the end of a thought behind the object",
        want: Want::Dead,
        by_tools: None,
        // What follows the first call is an answer, in which another one is live.
        damage: |base| match base.calls[..] {
            [_] => {
                base.closers_behind_object(&["</think>", "\n</thinking>\n", "</Reasoning>", "</scratchpad>"])
            }
            _ => Vec::new(),
        },
    },
    Class { name: "a value that is computed", want: Want::Dead, by_tools: None, damage: Base::computed },
    Class {
        name: "a word behind a value in quotes",
        want: Want::Said,
        by_tools: None,
        damage: |base| {
            base.around_quoted(&[("", " x"), ("", "x"), ("", "/x"), ("", " (x)"), ("", " ? x : y")])
        },
    },
    Class { name: "the first tag twice", want: Want::Same, by_tools: None, damage: Base::reopened },
    Class {
        name: "attributes in single quotes",
        want: Want::Same,
        by_tools: None,
        damage: |base| base.all_tags(|tag| tag.replace('"', "'"), |tag| tag.contains("=\"")),
    },
    Class {
        name: "attributes without quotes",
        want: Want::Same,
        by_tools: None,
        damage: |base| base.all_tags(|tag| tag.replace('"', ""), |tag| tag.contains("=\"")),
    },
    Class {
        name: "an attribute that the format does not have",
        want: Want::Same,
        by_tools: None,
        damage: |base| {
            base.tags(
                |_, tag, _| tag.contains("=\"") && tag.ends_with("\">"),
                |tag| format!("{} lang=\"en\">", &tag[..tag.len() - 1]),
            )
        },
    },
    Class {
        name: "markers in capitals",
        want: Want::Said,
        by_tools: None,
        damage: |base| base.all_tags(|tag| respell(tag, |c| c.to_ascii_uppercase()), |_| true),
    },
    Class {
        name: "a hyphen for the low line of a marker",
        want: Want::Said,
        by_tools: None,
        damage: |base| {
            base.all_tags(|tag| respell(tag, |c| if c == '_' { '-' } else { c }), |tag| tag.contains('_'))
        },
    },
    Class {
        name: "bars of the other width",
        want: Want::Same,
        by_tools: None,
        damage: |base| {
            let other = |c: char| match c {
                '|' => '｜',
                '｜' => '|',
                c => c,
            };
            base.all_tags(move |tag| tag.chars().map(other).collect(), |tag| tag.contains(['|', '｜']))
        },
    },
    Class {
        name: "a comma after the last object of a list",
        want: Want::Same,
        by_tools: None,
        damage: |base| base.marked(|text| text.replacen("}]", "},]", 1)),
    },
    Class {
        name: "one object for a list",
        want: Want::Same,
        by_tools: None,
        damage: |base| match &base.calls[..] {
            [_] => base.marked(|text| text.replacen("[{", "{", 1).replacen("}]", "}", 1)),
            _ => Vec::new(),
        },
    },
    Class { name: "a list for one object", want: Want::Same, by_tools: None, damage: Base::listed },
    Class {
        name: "a code fence around the object",
        want: Want::Same,
        by_tools: None,
        damage: |base| base.around_object("\n```json\n", "\n```\n"),
    },
    Class {
        name: "inline code around the object",
        want: Want::Said,
        by_tools: None,
        damage: |base| base.around_object("`", "`"),
    },
    Class {
        name: "a sentence before the object",
        want: Want::Said,
        by_tools: None,
        damage: |base| base.around_object("Here it is: ", ""),
    },
    Class {
        name: "a space behind the start of a tag",
        want: Want::Said,
        by_tools: None,
        damage: |base| base.tags(|_, tag, _| !tag.contains('|'), |tag| tag.replacen('<', "< ", 1)),
    },
    Class {
        name: "a backslash before the low line of a marker",
        want: Want::Said,
        by_tools: None,
        damage: |base| base.all_tags(|tag| tag.replace('_', "\\_"), |tag| tag.contains('_')),
    },
    Class {
        name: "the first marker lost",
        want: Want::Said,
        by_tools: Some("a word is a name only if it is on the list"),
        damage: |base| base.without_first(false),
    },
    Class {
        name: "the first and the last marker lost",
        want: Want::Said,
        by_tools: Some("a word is a name only if it is on the list"),
        damage: |base| base.without_first(true),
    },
    Class {
        name: "a token of the chat template behind it",
        want: Want::Same,
        by_tools: None,
        damage: |base| base.around("", "<|im_end|>"),
    },
    Class {
        name: "the end of the turn for a closing tag",
        want: Want::Said,
        by_tools: None,
        damage: |base| base.turn_ends_early(|_| true),
    },
    Class {
        name: "the end of the turn for what closes behind an object",
        want: Want::Same,
        by_tools: None,
        damage: |base| base.turn_ends_early(|left| base.text.starts_with('<') && left.ends_with('}')),
    },
    Class {
        name: "closing brackets missing before the next call",
        want: Want::Said,
        by_tools: Some("what follows may be one of the arguments"),
        damage: Base::unclosed,
    },
    Class { name: "in a quotation", want: Want::Dead, by_tools: None, damage: Base::quoted },
    Class {
        name: "in a thought",
        want: Want::Dead,
        by_tools: None,
        damage: |base| base.around("<think>", "</think>\nDone."),
    },
];

/// Where a class does not hold yet, by class and dialect. What holds again leaves the list, and nothing else enters it.
pub(crate) const OPEN: &[(&str, &str)] = &[
    // They listen only by name, and to whoever does not listen a name that no tool has is a word like others.
    ("a name that no tool has", "json-tool-calls-object"),
    ("a name that no tool has", "reploid0-plan"),
    ("white space before a name as a tokenizer shows it", "tool-code"),
    // Its quotes are tags, which the reader of arguments knows in one spelling: rejected.
    ("a space before the end of a tag", "functiongemma"),
    ("bars of the other width", "gemma4"),
    // Its opener is a word between bars that begins no frame.
    ("bars of the other width", "k2-horizon"),
    // Formats with a suffix in their tags read the second one as the start of an inner one, and what has read furthest is told.
    ("the first tag twice", "tool-calls-array"),
    ("the first tag twice", "minimax-m1"),
    ("the first tag twice", "hy-v4"),
    // Behind its tag any text is code.
    ("the first tag twice", "llama3-builtin"),
    // Its tags are the tools' own names, so that what is not written exactly could be anything.
    ("a closing tag missing before another one", "cline-xml"),
    ("markers in capitals", "cline-xml"),
    ("markers in capitals", "tool-xml"),
    ("a code fence around the object", "tool-xml"),
    // Its arguments are any text, so that whatever stands there is one.
    ("a code fence around the object", "cwm"),
    // Its tags are keys, of which any tag of HTML could be one where no tool says which there are.
    ("a closing tag missing before an opening one", "anthropic-legacy-xml"),
    // Its value is the rest of a line, and a token in it may be a part of the value.
    ("a token of the chat template behind it", "reploid0"),
    // Its marker is the name in a line, which says nothing in a thought.
    ("in a thought", "functionary-v32"),
    // Where they are not listened to: the name ends with an escape, or the fence is one of code.
    ("a name in a namespace or in white space", "json-tool-calls-object"),
    ("a name in a namespace or in white space", "reploid0-plan"),
];
