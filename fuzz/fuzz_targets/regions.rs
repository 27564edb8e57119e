//! Regions: no call comes out of what a CommonMark parser says is code or a quotation.

#![no_main]

use callgate_fuzz::profile;
use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, parse_document};
use libfuzzer_sys::fuzz_target;

/// What documents are made of, a piece for each byte.
const PIECES: &[&str] = &[
    "\n", "\n\n", "\r\n", " ", "  ", "    ", "\t", "`", "``", "```", "````", "~~~", "~~~~", "> ", ">", "- ",
    "* ", "1. ", "10) ", "# ", "word ", "Say ", "```json", "```\n", "`` ` ``", "\\", "\u{a0}", "\u{c}",
    "\u{feff}", "***\n", "<b>", "</b>", "[a](b)", "a\nb", "=\n", "<!-- ", " -->",
];

/// Every other byte is a call, which tells the others apart by its number.
const CALL: u8 = 200;

fuzz_target!(|data: &[u8]| {
    // The document as the gate reads it, and as the parser does: there a call is one word.
    let (mut text, mut shown) = (String::new(), String::new());
    let mut calls = 0;
    for byte in data.iter().take(200) {
        if *byte < CALL {
            let piece = PIECES[usize::from(*byte) % PIECES.len()];
            text.push_str(piece);
            shown.push_str(piece);
        } else if calls < 8 {
            text.push_str(&format!(
                "<tool_call>{{\"name\":\"rm\",\"arguments\":{{\"path\":\"{calls}\"}}}}</tool_call>"
            ));
            shown.push_str(&word(calls));
            calls += 1;
        }
    }
    if !pairs_agree(&shown) {
        return;
    }
    let arena = Arena::new();
    let source = shown.strip_prefix('\u{feff}').unwrap_or(&shown);
    let root = parse_document(&arena, source, &Options::default());
    let dead: Vec<String> = root.descendants().filter_map(dead_text).collect();
    for call in profile("strict").parse(&text).calls {
        let number = call.value()["path"].as_str().and_then(|path| path.parse().ok());
        let Some(number) = number else { continue };
        let is_dead = dead.iter().any(|text| text.contains(&word(number)));
        assert!(!is_dead, "call {number} runs out of code or a quotation in {text:?}");
    }
});

/// Whether the parser pairs the runs of backticks as CommonMark says. Once it has looked for a run in vain, it remembers
/// the last place of each length, but overwrites that by earlier places when it looks again, and so overlooks pairs.
fn pairs_agree(text: &str) -> bool {
    let marks = text.split(|c| c != '`').map(str::len).filter(|length| *length > 0);
    let runs: Vec<usize> = marks.collect();
    let (mut last, mut has_failed) = ([0; 256], false);
    let mut at = 0;
    while let Some(length) = runs.get(at) {
        let pair = (at + 1..runs.len()).find(|other| runs[*other] == *length);
        if pair.is_some() && has_failed && last.get(*length).is_some_and(|place| *place <= at) {
            return false;
        }
        for (place, seen) in
            runs.iter().enumerate().take(pair.map_or(runs.len(), |pair| pair + 1)).skip(at + 1)
        {
            if let Some(last) = last.get_mut(*seen) {
                *last = place;
            }
        }
        has_failed |= pair.is_none();
        at = pair.map_or(at, |pair| pair) + 1;
    }
    true
}

fn word(number: usize) -> String {
    format!("zq{number}qz")
}

/// The text of a node if it is code, or stands in a quotation.
fn dead_text<'a>(node: &'a AstNode<'a>) -> Option<String> {
    let is_quoted =
        || node.ancestors().any(|above| matches!(above.data.borrow().value, NodeValue::BlockQuote));
    match &node.data.borrow().value {
        NodeValue::Code(code) => Some(code.literal.clone()),
        NodeValue::CodeBlock(code) => Some(format!("{}\n{}", code.info, code.literal)),
        NodeValue::Text(text) if is_quoted() => Some(text.to_string()),
        NodeValue::HtmlInline(html) if is_quoted() => Some(html.clone()),
        NodeValue::HtmlBlock(html) if is_quoted() => Some(html.literal.clone()),
        _ => None,
    }
}
