//! Regions: no call comes out of what a CommonMark parser says is code or a quotation.

#![no_main]

use callgate_fuzz::profile;
use libfuzzer_sys::fuzz_target;
use pulldown_cmark::{Event, Parser, Tag};

/// What documents are made of, a piece for each byte.
const PIECES: &[&str] = &[
    "\n", "\n\n", "\r\n", " ", "  ", "    ", "\t", "`", "``", "```", "````", "~~~", "~~~~", "> ", ">", "- ",
    "* ", "1. ", "10) ", "# ", "word ", "Say ", "```json", "```\n", "`` ` ``", "\\", "\u{a0}", "\u{c}",
    "\u{feff}", "***\n", "<b>", "</b>", "[a](b)", "a\nb", "=\n", "<!-- ", " -->",
];

/// Every other byte is a call, which tells the others apart by its number.
const CALL: u8 = 200;

fuzz_target!(|data: &[u8]| {
    let mut text = String::new();
    let mut starts = Vec::new();
    for byte in data.iter().take(200) {
        if *byte < CALL {
            text.push_str(PIECES[usize::from(*byte) % PIECES.len()]);
        } else if starts.len() < 8 {
            starts.push(text.len());
            let number = starts.len() - 1;
            text.push_str(&format!(
                "<tool_call>{{\"name\":\"rm\",\"arguments\":{{\"path\":\"{number}\"}}}}</tool_call>"
            ));
        }
    }
    let dead: Vec<_> = Parser::new(&text)
        .into_offset_iter()
        .filter(|(event, _)| {
            matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_) | Tag::BlockQuote(_)))
        })
        .map(|(_, range)| range)
        .collect();
    for call in profile("strict").parse(&text).calls {
        let number = call.value()["path"].as_str().and_then(|path| path.parse::<usize>().ok());
        let Some(start) = number.and_then(|number| starts.get(number)) else { continue };
        let around = dead.iter().find(|range| range.contains(start));
        assert!(around.is_none(), "call {number:?} at {start} runs out of {around:?} in {text:?}");
    }
});
