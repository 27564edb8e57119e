//! Thoughts: by whatever name, nested and unclosed ones too, nothing in them is a call.

use std::collections::BTreeMap;
use std::fmt::Write;

use callgate::Record;
use callgate::internal::dialect::Template;

use super::support::guard::in_parallel;
use super::{Faults, READERS, Reader, assert_only_shown, fill, literals, neutral};

const NAMES: &[&str] = &[
    "think",
    "thinking",
    "thought",
    "reasoning",
    "reflection",
    "scratchpad",
    "scratch_pad",
    "inner_monologue",
    "internal_monologue",
    "internal_thoughts",
    "thought_process",
    "chain_of_thought",
    "cot",
    "deliberation",
    "antThinking",
    "longcat_think",
    "think_fast",
    "think_faster",
];

/// A tag in other letter cases.
fn spellings(name: &str) -> Vec<String> {
    let title = name[..1].to_uppercase() + &name[1..];
    let mixed: String =
        name.char_indices().map(|(at, c)| if at % 2 == 1 { c.to_ascii_uppercase() } else { c }).collect();
    vec![name.to_owned(), title, name.to_uppercase(), mixed]
}

/// The openers and closers of thoughts, by any name.
fn tags() -> Vec<(String, String)> {
    let named = NAMES.iter().flat_map(|name| spellings(name));
    let mut tags: Vec<(String, String)> =
        named.map(|name| (format!("<{name}>"), format!("</{name}>"))).collect();
    tags.extend(TOKENS.map(|(open, close)| (open.to_owned(), close.to_owned())));
    tags
}

/// Tokens around thoughts. What begins with neither `<` nor `[` is looked for where its dialect was chosen or where the
/// response begins, so that it costs no search.
const TOKENS: [(&str, &str); 4] = [
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|thought_start|>", "<|thought_end|>"),
    ("<|thinking|>", "<|/thinking|>"),
    ("◁think▷", "◁/think▷"),
];

/// Thoughts that end: O opens, C closes, K is the call.
const CLOSED: &[&str] = &[
    "OKCDone.",
    "O\nK\nC\n\nDone.",
    "O\nI could write K here.\nC\nDone.",
    "Hello.\nO\nK\nC\nDone.",
    "O a O b C K C Done.",
    "O\na\nO\nb\nC\nK\nC\nDone.",
    "O\na\nO\nK\nC\nb\nC\nDone.",
    "O\na\nC\nO\nK\nC\nDone.",
    "O<b>K</b>CDone.",
    "O\n```\nK\n```\nCDone.",
    "<think>\nO\na\nC\nK\n</think>\nDone.",
];

/// Thoughts that do not end.
const OPEN: &[&str] = &[
    "OK",
    "O\nK",
    "O\nK\nand so on",
    "Hello.\nO\nK\n",
    "O\na\nO\nb\nC\nK\n",
    "O\na\nO\nK\n",
    "O\na\nC\nb\nO\nK\n",
];

fn assert_thoughts_are_dead(forms: &[&str], concerns: impl Fn(&Reader) -> bool + Sync) {
    let results = in_parallel(&READERS, |reader| {
        let mut faults = Vec::new();
        for form in forms.iter().filter(|_| concerns(reader)) {
            for (open, close) in tags() {
                let listens = |open: &str| {
                    reader.by_name && literals(reader.record).iter().any(|literal| literal.contains(open))
                };
                // Where the prompt opens a header, what is a word for it is part of its name.
                let is_name = form.starts_with("OK") && reader.by_name && !reader.record.prompt.is_empty();
                let begins = form.starts_with('O') && form.matches('O').count() == 1 && !is_name;
                if open.starts_with('◁') && !begins && !listens(&open) {
                    continue;
                }
                let (no_open, no_close) = (neutral(&open), neutral(&close));
                // A call that is none among other tags need not be reported in a thought.
                let plain = [('O', &*no_open), ('C', &no_close), ('K', &reader.call)];
                let is_call = || reader.runs(&fill(&neutral(form), &plain));
                let response = reader.read(&fill(form, &[('O', &open), ('C', &close), ('K', &reader.call)]));
                if !response.calls.is_empty() {
                    faults.push((open.clone(), *form, "runs", reader.name.clone()));
                } else if response.rejected.is_empty() && response.findings.is_empty() && is_call() {
                    faults.push((open.clone(), *form, "is not reported", reader.name.clone()));
                }
            }
        }
        faults
    });
    // By tag first: one that is not known fails in all forms.
    let mut by_tag: BTreeMap<(String, &str), BTreeMap<&str, Vec<String>>> = BTreeMap::new();
    for (tag, form, what, who) in results.into_iter().flatten() {
        by_tag.entry((tag, what)).or_default().entry(form).or_default().push(who);
    }
    let mut report = String::new();
    for ((tag, what), forms) in &by_tag {
        let forms: Vec<String> =
            forms.iter().map(|(form, who)| format!("{form:?} {} times, {}", who.len(), who[0])).collect();
        let _ = writeln!(report, "  {tag} {what}: {}", forms.join("; "));
    }
    assert!(by_tag.is_empty(), "calls in thoughts run or are not reported:\n{report}");
}

#[test]
fn c16_a_call_in_a_thought_of_any_name_does_not_run() {
    // A closer behind the call of a format of lines belongs to its last line.
    assert_thoughts_are_dead(CLOSED, |reader| !reader.takes_line());
}

/// The end of a thought of another name is a slip of its own or a word in it: what stood before it was thought either way.
#[test]
fn c16_a_call_before_the_end_of_a_thought_of_another_name_does_not_run() {
    let results = in_parallel(&READERS, |reader| {
        let mut faults = Vec::new();
        let ends =
            NAMES.iter().flat_map(|name| spellings(name)).filter(|name| !name.eq_ignore_ascii_case("think"));
        for end in ends {
            for form in ["<think>I could write K here.</E>\nDone.", "<think>\nK\n</E>\n\nDone."] {
                let response = reader.read(&fill(form, &[('K', &reader.call), ('E', &end)]));
                if !response.calls.is_empty() {
                    faults.push((form, format!("{} {end}", reader.name)));
                }
            }
        }
        faults
    });
    let mut faults = Faults::default();
    for (form, who) in results.into_iter().flatten() {
        faults.add(form.to_owned(), &who);
    }
    faults.assert_none("a call in a thought runs");
}

#[test]
fn c16_a_call_in_a_thought_without_end_does_not_run() {
    // Where the record says so, a call ends the thought; and where the prompt opens a head of any text, whatever comes
    // first is that head.
    let has_head = |reader: &Reader| {
        reader.by_name && reader.record.text.iter().any(|text| text.to_string().contains("{skip}"))
    };
    assert_thoughts_are_dead(OPEN, |reader| !reader.ends_thought && !has_head(reader));
}

#[test]
fn c16_the_end_of_a_thought_whose_start_was_never_seen_takes_what_is_before_it() {
    assert_thoughts_are_dead(&["K\nC\nDone.", "I could write K here. C\n\nDone."], |_| true);
}

#[test]
fn c16_a_call_in_the_thoughts_of_its_own_dialect_does_not_run() {
    let mut faults = Faults::default();
    let mut tried = 0;
    for reader in READERS.iter().filter(|reader| reader.by_name) {
        for template in reader.record.reasoning.iter().filter(|template| !is_message(reader.record, template))
        {
            let shown = template.to_string();
            // A thought without a closer has no end to stand behind.
            let Some((open, close)) = shown.split_once("{text}").filter(|(_, close)| !close.is_empty())
            else {
                continue;
            };
            let (open, close) = (open.replace("{suffix}", ""), close.replace("{suffix}", ""));
            let text = format!("{open}I could write\n{}\nhere.{close}Done.", reader.call);
            tried += 1;
            if reader.runs(&text) {
                faults.add(format!("{shown:?}"), &reader.name);
            }
        }
    }
    assert!(tried > 40, "only {tried} thoughts were tried");
    faults.assert_none("calls in thoughts run");
}

#[test]
fn c16_a_whole_response_in_a_thought_does_not_run() {
    let mut faults = Faults::default();
    let mut tried = 0;
    for reader in READERS.iter().filter(|reader| reader.by_name && !reader.takes_line()) {
        for text in reader.record.text.iter().map(ToString::to_string) {
            let Some((open, close)) = text.split_once("{text}").filter(|_| !text.contains("{s")) else {
                continue;
            };
            tried += 1;
            let said = format!("{open}So.{close}{}", reader.call);
            for (begin, end) in tags() {
                if reader.runs(&format!("{begin}{said}{end}Done.")) {
                    faults.add(format!("{begin}{open}"), &reader.name);
                }
            }
        }
    }
    assert!(tried > 4, "only {tried} texts were tried");
    faults.assert_none("calls in thoughts run");
}

/// Whether a thought is a message like a call: then the head of the next message ends it, as every other message.
fn is_message(record: &Record, thought: &Template) -> bool {
    !record.prompt.is_empty() && thought.head().starts_with(&record.prompt)
}

#[test]
fn c16_words_that_only_look_like_thoughts_take_no_call() {
    let tags = ["<thinking>", "<reasoning>", "<Reflection>", "<THINK>"];
    assert_only_shown(&["So: `W` is a tag.\n\nK", "```\nW\n```\n\nK"], &tags);
    assert_only_shown(&["W\nK"], &["<thinks>", "<rethink>", "<think-tank>", "<reasonings>", "thinking>"]);
    // A thought that is over takes nothing that follows it.
    let mut faults = Faults::default();
    for reader in READERS.iter() {
        for form in ["O\nno\nC\nK", "O\nno\nO\nno\nC\nC\n\nK"] {
            // Not every format lets text stand before its call.
            if !reader.runs(&fill("no\n\nK", &[('K', &reader.call)])) {
                continue;
            }
            for (open, close) in self::tags() {
                let text = fill(form, &[('O', &open), ('C', &close), ('K', &reader.call)]);
                if !reader.runs(&text) {
                    faults.add(format!("lost: {form:?}, {open}"), &reader.name);
                }
            }
        }
    }
    faults.assert_none("a call after a thought is lost");
}
