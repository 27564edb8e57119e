//! Peers: the parsers of other projects that read the same formats, called the way their documentation says.

use std::error::Error;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use dynamo_parsers_v2 as dynamo;
use tool_parser::parsers::QwenXmlParser;
use tool_parser::{PythonicParser, QwenParser, ToolParser};

use crate::contestant::Contestant;
use crate::stopwatch::Budget;
use crate::workload::{Answer, CallMade, Task, Workload, tools};

/// The peers that know the workload's format.
pub fn all(workload: &Workload) -> Result<Vec<Contestant>, Box<dyn Error>> {
    let Task::Response(dialect) = workload.task else { return Ok(Vec::new()) };
    let mut peers = Vec::new();
    let parser: Option<Box<dyn ToolParser>> = match dialect {
        "hermes" => Some(Box::new(QwenParser::new())),
        "qwen3-coder" => Some(Box::new(QwenXmlParser::new())),
        "pythonic" => Some(Box::new(PythonicParser::new())),
        _ => None,
    };
    if let Some(parser) = parser {
        peers.push(tool_parser(parser)?);
    }
    // It does not read hermes; text without a call is the same task in any format.
    if dialect == "qwen3-coder" || workload.right.calls.is_empty() {
        peers.push(dynamo_parser("qwen3_coder")?);
    }
    Ok(peers)
}

/// One parser for all responses, since making one compiles its expressions; it is reset in between.
fn tool_parser(mut parser: Box<dyn ToolParser>) -> Result<Contestant, Box<dyn Error>> {
    let tools: Vec<openai_protocol::common::Tool> = serde_json::from_value(tools())?;
    let run = move |chunks: &[&str]| {
        let mut answer = Answer::default();
        if let [whole] = chunks {
            let (text, calls) = ready(parser.parse_complete_with_tools(whole, &tools))?.ok()?;
            answer.text = text;
            for call in calls {
                answer.calls.push(CallMade { name: call.function.name, arguments: call.function.arguments });
            }
            return Some(answer);
        }
        let mut budget = Budget::start();
        parser.reset();
        let take = |answer: &mut Answer, index: usize, name: Option<String>, arguments: &str| {
            while answer.calls.len() <= index {
                answer.calls.push(CallMade::default());
            }
            answer.calls[index].arguments.push_str(arguments);
            if let Some(name) = name {
                answer.calls[index].name = name;
            }
        };
        for chunk in chunks {
            let result = ready(parser.parse_incremental(chunk, &tools))?.ok()?;
            answer.text.push_str(&result.normal_text);
            for item in result.calls {
                take(&mut answer, item.tool_index, item.name, &item.parameters);
            }
            if !budget.lasts() {
                return None;
            }
        }
        for item in parser.get_unstreamed_tool_args().unwrap_or_default() {
            take(&mut answer, item.tool_index, item.name, &item.parameters);
        }
        answer.text.push_str(&parser.take_unstreamed_normal_text());
        Some(answer)
    };
    Ok(Contestant::new("tool-parser", Box::new(run)))
}

/// A parser per response, with reasoning and calls in one stream.
fn dynamo_parser(family: &'static str) -> Result<Contestant, Box<dyn Error>> {
    let mut list = Vec::new();
    for tool in tools().as_array().into_iter().flatten() {
        list.push(dynamo::Tool {
            name: tool["function"]["name"].as_str().unwrap_or_default().to_owned(),
            description: None,
            parameters: tool["function"]["parameters"].clone(),
            strict: None,
        });
    }
    let run = move |chunks: &[&str]| {
        let mut answer = Answer::default();
        let mut budget = Budget::start();
        let mut parser = dynamo::create_unified_parser_for_family(family, &list).ok()?;
        parser.initialize_request(dynamo::UnifiedParserInit::default()).ok()?;
        for chunk in chunks {
            let mut output = dynamo::UnifiedParserOutput::default();
            parser.parse_into(chunk, &mut output).ok()?;
            take_events(&mut answer, output);
            if !budget.lasts() {
                return None;
            }
        }
        take_events(&mut answer, parser.finish().ok()?);
        Some(answer)
    };
    Ok(Contestant::new("dynamo-parsers-v2", Box::new(run)))
}

fn take_events(answer: &mut Answer, output: dynamo::UnifiedParserOutput) {
    for event in output.events {
        match event {
            dynamo::UnifiedParserEvent::Text(text) => answer.text.push_str(&text),
            dynamo::UnifiedParserEvent::ToolCall(delta) => {
                while answer.calls.len() <= delta.tool_index {
                    answer.calls.push(CallMade::default());
                }
                let call = &mut answer.calls[delta.tool_index];
                call.arguments.push_str(&delta.arguments);
                if let Some(name) = delta.name {
                    call.name = name;
                }
            }
            _ => {}
        }
    }
}

/// The result of a future that never waits.
fn ready<T>(future: impl Future<Output = T>) -> Option<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Some(result),
        Poll::Pending => None,
    }
}
