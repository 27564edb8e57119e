//! `callgate demo`: nine model outputs go through the gate, without any file.

use std::io::Write;

use callgate::internal::batch::join;
use callgate::{Call, Code, Event, FinishReason, Gate, NativeDelta, Registry, Response};

use crate::exit::{Outcome, Stop};
use crate::input;
use crate::json_text::{Strings, on_one_line};
use crate::paint::{Breaks, Paint, Tone, padded, visible};
use crate::source::Source;
use crate::view::{self, Observer, counted};

/// The tools that the examples may call.
const TOOLS: &str = r#"[
  {"name": "get_weather", "parameters": {"type": "object", "required": ["city"], "properties": {
    "city": {"type": "string"}, "days": {"type": "integer"}}}},
  {"name": "search", "parameters": {"type": "object", "required": ["query"], "properties": {
    "query": {"type": "string"}, "limit": {"type": "integer"}}}},
  {"name": "write_file", "parameters": {"type": "object", "required": ["path", "content"], "properties": {
    "path": {"type": "string"}, "content": {"type": "string"}}}}
]"#;

struct Example {
    title: &'static str,
    /// What it shows.
    lesson: &'static str,
    profile: &'static str,
    /// A dialect that has to be asked for by name.
    dialect: Option<&'static str>,
    output: Output,
    finish: FinishReason,
}

enum Output {
    Text(&'static str),
    /// A structured call, as a provider delivers it.
    Native {
        name: &'static str,
        arguments: &'static str,
    },
}

const PLAIN: Example = Example {
    title: "",
    lesson: "",
    profile: "standard",
    dialect: None,
    output: Output::Text(""),
    finish: FinishReason::Stop,
};

const EXAMPLES: &[Example] = &[
    Example {
        title: "Hermes, Qwen: JSON between tags",
        lesson: "one comma too many, and a number in quotes",
        output: Output::Text(
            "I'll check.\n<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\", \"days\": \"3\",}}\n</tool_call>",
        ),
        ..PLAIN
    },
    Example {
        title: "Qwen3-Coder: parameters in tags",
        lesson: "the closing tag is part of the file's content",
        output: Output::Text(
            "<tool_call>\n<function=write_file>\n<parameter=path>\nhowto.md\n</parameter>\n<parameter=content>\nEnd a value with </parameter> and go on.\n</parameter>\n</function>\n</tool_call>",
        ),
        ..PLAIN
    },
    Example {
        title: "A call that is only shown",
        lesson: "code fences are dead: nothing runs",
        output: Output::Text(
            "You could write:\n```\n<tool_call>{\"name\": \"search\", \"arguments\": {\"query\": \"tides\"}}</tool_call>\n```",
        ),
        ..PLAIN
    },
    Example {
        title: "gpt-oss: Harmony channels",
        lesson: "a thought in its channel, then a call",
        output: Output::Text(
            "<|channel|>analysis<|message|>They want the tides.<|end|><|start|>assistant<|channel|>commentary to=functions.search <|constrain|>json<|message|>{\"query\": \"tides\"}<|call|>",
        ),
        ..PLAIN
    },
    Example {
        title: "A file cut off by the token limit",
        lesson: "half a file is never written",
        output: Output::Text(
            "<tool_call>{\"name\": \"write_file\", \"arguments\": {\"path\": \"main.rs\", \"content\": \"fn main() {\\n",
        ),
        finish: FinishReason::Length,
        ..PLAIN
    },
    Example {
        title: "DeepSeek: special tokens",
        lesson: "one good call, and one of a tool that does not exist",
        output: Output::Text(
            "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>search<｜tool▁sep｜>{\"query\": \"tides\"}<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>get_wether<｜tool▁sep｜>{\"city\": \"Lima\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        ),
        ..PLAIN
    },
    Example {
        title: "Llama 4: Python calls",
        lesson: "two at once; read, never evaluated",
        dialect: Some("pythonic"),
        output: Output::Text(
            "[get_weather(city='Lima', days=2), search(query=\"ferry timetable\", limit=5)]",
        ),
        ..PLAIN
    },
    Example {
        title: "A provider's structured call",
        lesson: "its arguments are a Python dict",
        output: Output::Native { name: "search", arguments: "{'query': 'tides', 'limit': 5,}" },
        ..PLAIN
    },
    Example {
        title: "A model that says no",
        lesson: "in a format with a way to say so, an error is not a call and not text",
        profile: "action",
        output: Output::Text(
            "{\"type\": \"error\", \"code\": \"permission_denied\", \"message\": \"I may not write there.\"}",
        ),
        ..PLAIN
    },
];

pub(crate) fn run(paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let tools = Registry::from_json(TOOLS).map_err(|error| Stop::Internal(error.to_string()))?;
    let (mut calls, mut rejected, mut same, mut bytes) = (0, 0, 0, 0);
    writeln!(out, "What models write, and what comes through the gate.")?;
    for (number, example) in (1..).zip(EXAMPLES) {
        let gate = example.gate(&tools)?;
        let whole = example.events(&gate, usize::MAX);
        same += usize::from(whole == example.events(&gate, 1));
        bytes += example.source().len();
        let title = padded(&format!("{number}. {}", example.title), 40);
        writeln!(out, "\n{} {}", paint.tone(Tone::Strong, title), paint.tone(Tone::Dim, example.lesson))?;
        let response = example.draw(whole, paint, out)?;
        calls += response.calls.len();
        rejected += response.rejected.len();
    }
    writeln!(
        out,
        "\n{} model outputs: {} came through, {} rejected; everything else is text, reasoning or markup.",
        EXAMPLES.len(),
        paint.tone(Tone::Good, counted(calls, "call")),
        paint.tone(Tone::Bad, rejected),
    )?;
    let verdict = if same == EXAMPLES.len() {
        paint.tone(Tone::Good, "yes".to_owned())
    } else {
        paint.tone(Tone::Bad, format!("only {same} of {}", EXAMPLES.len()))
    };
    writeln!(
        out,
        "The same {bytes} bytes in 1-byte chunks give the same events: {verdict} (measured just now)."
    )?;
    writeln!(
        out,
        "\nNext:  callgate parse out.txt --tools tools.json    callgate explain truncated    callgate dialects"
    )?;
    Ok(Outcome::rejected_if(same != EXAMPLES.len()))
}

impl Example {
    fn gate(&self, tools: &Registry) -> Result<Gate, Stop> {
        let mut builder = Gate::builder().profile(input::profile(self.profile)?).tools(tools.clone());
        if let Some(dialect) = self.dialect {
            builder = builder.dialect(dialect);
        }
        builder.build().map_err(|error| Stop::Internal(error.to_string()))
    }

    fn source(&self) -> &'static str {
        match self.output {
            Output::Text(text) => text,
            Output::Native { arguments, .. } => arguments,
        }
    }

    /// Feeds the example in chunks of so many bytes. Events that only continue the one before are joined to it, so that
    /// what is left does not depend on the cuts.
    fn events(&self, gate: &Gate, chunk: usize) -> Vec<Event<'static>> {
        let mut events = Vec::new();
        let mut keep = |event: Event<'_>| join(&mut events, event.into_owned());
        let mut session = gate.session();
        match self.output {
            Output::Text(text) => {
                for bytes in text.as_bytes().chunks(chunk) {
                    session.push_bytes(bytes, &mut keep);
                }
            }
            Output::Native { name, arguments } => {
                let header = NativeDelta {
                    index: Some(0),
                    id: Some("call_1"),
                    name: Some(name),
                    ..NativeDelta::default()
                };
                session.native(header, &mut keep);
                for part in arguments.as_bytes().chunks(chunk).filter_map(|part| str::from_utf8(part).ok()) {
                    let delta =
                        NativeDelta { index: Some(0), arguments: Some(part), ..NativeDelta::default() };
                    session.native(delta, &mut keep);
                }
            }
        }
        session.finish(self.finish, &mut keep);
        events
    }

    fn draw(&self, events: Vec<Event<'static>>, paint: Paint, out: &mut dyn Write) -> Result<Response, Stop> {
        let mut observer = Observer::new();
        for event in events {
            observer.see(event);
        }
        let reading = observer.finish(self.finish);
        match self.output {
            Output::Text(text) => view::text(out, paint, &Source::new(text.as_bytes()), &reading)?,
            Output::Native { name, arguments } => {
                let json =
                    format!("{{\"function\": {{\"name\": \"{name}\", \"arguments\": \"{arguments}\"}}}}");
                writeln!(out, "{} {}", paint.tone(Tone::Grey, "    │"), paint.tone(Tone::Good, json))?;
            }
        }
        let response = reading.response;
        for call in &response.calls {
            let changes = changes(call);
            let arguments = on_one_line(&call.arguments, Strings::Whole);
            writeln!(
                out,
                "    {} {} {}{}",
                paint.tone(Tone::Good, "✓"),
                paint.tone(Tone::Good, visible(&call.name, Breaks::Show)),
                visible(&arguments, Breaks::Show),
                paint.tone(if changes.is_empty() { Tone::Plain } else { Tone::Changed }, changes)
            )?;
        }
        for rejected in &response.rejected {
            let name = rejected.name.as_deref().unwrap_or("(no name)");
            for finding in rejected.findings.iter().take(1) {
                writeln!(
                    out,
                    "    {} {}: {}",
                    paint.tone(Tone::Bad, "✗"),
                    paint.tone(Tone::Bad, visible(name, Breaks::Show)),
                    visible(&finding.message, Breaks::Show)
                )?;
                writeln!(out, "      {}", paint.tone(Tone::Grey, visible(&finding.help, Breaks::Show)))?;
            }
        }
        for finding in response.findings.iter().filter(|finding| finding.code == Code::DeadRegion) {
            writeln!(out, "    {} {}", paint.tone(Tone::Accent, "·"), finding.message)?;
        }
        if let Some(error) = &response.model_error {
            let code = paint.tone(Tone::Changed, &error.code);
            writeln!(out, "    {} model error {code}: {}", paint.tone(Tone::Changed, "!"), error.message)?;
        }
        Ok(response)
    }
}

/// The repairs and coercions of a call in a few words, equal ones counted.
fn changes(call: &Call) -> String {
    let repairs = call.repairs.iter().map(|repair| format!("repaired {}", repair.code));
    let coercions = call.coercions.iter().map(|coercion| format!("coerced {}", coercion.code));
    let mut counts: Vec<(String, usize)> = Vec::new();
    for change in repairs.chain(coercions) {
        match counts.iter_mut().find(|(known, _)| *known == change) {
            Some((_, count)) => *count += 1,
            None => counts.push((change, 1)),
        }
    }
    let times = |count| if count > 1 { format!(" ×{count}") } else { String::new() };
    counts.iter().map(|(change, count)| format!("  {change}{}", times(*count))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_shows_what_it_says() {
        let tools = Registry::from_json(TOOLS).unwrap();
        let seen: Vec<(usize, usize)> = EXAMPLES
            .iter()
            .map(|example| {
                let gate = example.gate(&tools).unwrap();
                let events = example.events(&gate, usize::MAX);
                assert_eq!(events, example.events(&gate, 1), "{}", example.title);
                let count =
                    |wanted: fn(&Event<'_>) -> bool| events.iter().filter(|event| wanted(event)).count();
                (
                    count(|event| matches!(event, Event::Call(_))),
                    count(|event| matches!(event, Event::Rejected(_))),
                )
            })
            .collect();
        assert_eq!(seen, [(1, 0), (1, 0), (0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (1, 0), (0, 0)]);
    }
}
