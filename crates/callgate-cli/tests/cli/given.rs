//! What a file is given as: packed and cut off, in another encoding, full of blank lines, or with headers before it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{Scratch, assert_usage_error, callgate, command, json_lines, run_command};

const CALL: &str = "<tool_call>{\"name\": \"tide\", \"arguments\": {}}</tool_call>";

#[test]
fn blank_lines_cost_no_more_than_their_number() {
    let event = "{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"done\":false}\n";
    for (before, lines) in [("", 0), (event, 1), ("{\"text\": \"Hi\"}\n", 1)] {
        let input = format!("{before}{}", "\n".repeat(16 << 20));
        let start = Instant::now();
        let run = callgate(&["scan", "-q", "-"], &input);
        assert_eq!(run.stdout.lines().count(), lines, "{}", run.stdout);
        assert!(start.elapsed() < Duration::from_secs(20), "{before}: {:?}", start.elapsed());
    }
    let start = Instant::now();
    assert_eq!(callgate(&["parse", "--stream", "--json"], &"\n".repeat(8 << 20)).code, 0);
    assert!(start.elapsed() < Duration::from_secs(40), "{:?}", start.elapsed());
    // Behind fewer of them a whole answer is still one.
    let whole = format!("{}{{\n\"text\": \"Hi\"\n}}\n", "\n".repeat(1000));
    assert_eq!(json_lines(&callgate(&["scan", "-q"], &whole).stdout)[0]["text"], "Hi");
}
