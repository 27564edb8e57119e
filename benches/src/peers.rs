//! Peers: the parsers of other projects that read the same formats, called the way their documentation says.

use std::error::Error;
use std::future::Future;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use dynamo_parsers::tool_calling::jail::{Annotated, JailedStream};
use dynamo_parsers::tool_calling::{ToolDefinition, try_tool_call_parse_aggregate_finalize};
use dynamo_parsers_v2 as dynamo_2;
use dynamo_protocols::types::{
    ChatChoiceStream, ChatCompletionMessageContent, ChatCompletionStreamResponseDelta,
    CreateChatCompletionStreamResponse, FinishReason, Role,
};
use futures::StreamExt;
use serde_json::Value;
use tool_parser::parsers::QwenXmlParser;
use tool_parser::{PythonicParser, QwenParser, ToolParser};

use crate::contestant::{Contestant, Take};
use crate::stopwatch::{Budget, aside, lasts};
use crate::workload::{Answer, CallMade, Task, Workload, tools};

/// The peers that do the workload's task in this way of feeding.
pub fn all(workload: &Workload, streamed: bool) -> Result<Vec<Contestant>, Box<dyn Error>> {
    let Task::Response(dialect) = workload.task else {
        return Ok(if streamed { Vec::new() } else { repairers() });
    };
    let mut peers = Vec::new();
    if let Some(parser) = make_tool_parser(dialect) {
        peers.push(tool_parser(parser)?);
    }
    if let Some(family) = dynamo_family(dialect) {
        peers.push(dynamo_parser(family));
    }
    // The second version does not read hermes; text without a call is the same task in any format.
    if dialect == "qwen3-coder" || workload.right.calls.is_empty() {
        peers.push(dynamo_parser_2("qwen3_coder"));
    }
    Ok(peers)
}

fn make_tool_parser(dialect: &str) -> Option<Box<dyn ToolParser>> {
    Some(match dialect {
        "hermes" => Box::new(QwenParser::new()),
        "qwen3-coder" => Box::new(QwenXmlParser::new()),
        "pythonic" => Box::new(PythonicParser::new()),
        _ => return None,
    })
}

fn dynamo_family(dialect: &str) -> Option<&'static str> {
    ["hermes", "qwen3_coder", "pythonic"].into_iter().find(|family| family.replace('_', "-") == dialect)
}

/// Ways of making a parser for one response: its name, what it is for, and the making.
pub fn makers() -> Vec<(&'static str, &'static str, Box<dyn FnMut()>)> {
    let mut makers: Vec<(&'static str, &'static str, Box<dyn FnMut()>)> = Vec::new();
    for dialect in ["hermes", "qwen3-coder", "pythonic"] {
        let make = move || {
            black_box(make_tool_parser(dialect));
        };
        makers.push(("tool-parser", dialect, Box::new(make)));
        if let Some(family) = dynamo_family(dialect) {
            let tools = dynamo_tools();
            let make = move || {
                black_box(jail(family, &tools));
            };
            makers.push(("dynamo-parsers", dialect, Box::new(make)));
        }
    }
    let tools = dynamo_tools_2();
    let make = move || {
        black_box(dynamo_2::create_unified_parser_for_family("qwen3_coder", &tools).ok());
    };
    makers.push(("dynamo-parsers-v2", "qwen3-coder", Box::new(make)));
    makers
}

/// Adds a piece to the call with this number.
fn take(answer: &mut Answer, index: usize, name: Option<String>, arguments: &str) {
    while answer.calls.len() <= index {
        answer.calls.push(CallMade::default());
    }
    answer.calls[index].arguments.push_str(arguments);
    if let Some(name) = name {
        answer.calls[index].name = name;
    }
}

/// One parser for all responses, since making one compiles its expressions; it is reset in between.
fn tool_parser(mut parser: Box<dyn ToolParser>) -> Result<Contestant, Box<dyn Error>> {
    let tools: Vec<openai_protocol::common::Tool> = serde_json::from_value(tools())?;
    let run = move |chunks: &[&str], _: Take| {
        let mut answer = Answer::default();
        if let [whole] = chunks {
            let (text, calls) = ready(parser.parse_complete_with_tools(whole, &tools))?.ok()?;
            answer.text = text;
            for call in calls {
                answer.calls.push(CallMade { name: call.function.name, arguments: call.function.arguments });
            }
            return Some(answer);
        }
        let mut budget = Budget::start(chunks);
        parser.reset();
        for chunk in chunks {
            let result = ready(parser.parse_incremental(chunk, &tools))?.ok()?;
            answer.text.push_str(&result.normal_text);
            for item in result.calls {
                take(&mut answer, item.tool_index, item.name, &item.parameters);
            }
            if !lasts(&mut budget) {
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

fn dynamo_tools() -> Vec<ToolDefinition> {
    let list = tools();
    let functions = list.as_array().into_iter().flatten().map(|tool| &tool["function"]);
    functions
        .map(|function| ToolDefinition {
            name: function["name"].as_str().unwrap_or_default().to_owned(),
            parameters: Some(function["parameters"].clone()),
            strict: None,
        })
        .collect()
}

fn jail(family: &str, tools: &[ToolDefinition]) -> JailedStream {
    JailedStream::builder().tool_call_parser(family).tool_definitions(tools.to_vec()).build()
}

/// Whole texts go to its parser, streams through its jail, which holds a call until it is complete.
fn dynamo_parser(family: &'static str) -> Contestant {
    let tools = dynamo_tools();
    let run = move |chunks: &[&str], _: Take| {
        let mut answer = Answer::default();
        if let [whole] = chunks {
            let parsed = try_tool_call_parse_aggregate_finalize(whole, Some(family), Some(&tools));
            let (calls, text) = ready(parsed)?.ok()?;
            answer.text = text.unwrap_or_default();
            for call in calls {
                answer.calls.push(CallMade { name: call.function.name, arguments: call.function.arguments });
            }
            return Some(answer);
        }
        // In a server the chunks come wrapped, so that wrapping them is not its work.
        let wrapped: Vec<_> = aside(|| {
            let texts = chunks.iter().map(|chunk| Some((*chunk).to_owned()));
            texts.chain([None]).map(wrapped).collect()
        });
        let stream = jail(family, &tools).apply(futures::stream::iter(wrapped));
        let mut stream = pin!(stream);
        let mut budget = Budget::start(chunks);
        while let Some(item) = ready(stream.next())? {
            let Some(choice) = item.data.and_then(|data| data.choices.into_iter().next()) else { continue };
            if let Some(ChatCompletionMessageContent::Text(text)) = choice.delta.content {
                answer.text.push_str(&text);
            }
            for call in choice.delta.tool_calls.unwrap_or_default() {
                let Some(function) = call.function else { continue };
                let arguments = function.arguments.unwrap_or_default();
                take(&mut answer, call.index as usize, function.name, &arguments);
            }
            if !lasts(&mut budget) {
                return None;
            }
        }
        Some(answer)
    };
    Contestant::new("dynamo-parsers", Box::new(run))
}

/// A chunk as its server receives it; the last one has no text.
fn wrapped(text: Option<String>) -> Annotated<CreateChatCompletionStreamResponse> {
    let is_last = text.is_none();
    #[allow(deprecated)]
    let choice = ChatChoiceStream {
        index: 0,
        delta: ChatCompletionStreamResponseDelta {
            role: Some(Role::Assistant),
            content: text.map(ChatCompletionMessageContent::Text),
            tool_calls: None,
            function_call: None,
            refusal: None,
            reasoning_content: None,
        },
        finish_reason: is_last.then_some(FinishReason::Stop),
        logprobs: None,
    };
    let data = CreateChatCompletionStreamResponse {
        id: "response".to_owned(),
        choices: vec![choice],
        created: 0,
        model: "model".to_owned(),
        system_fingerprint: None,
        object: "chat.completion.chunk".to_owned(),
        usage: None,
        service_tier: None,
    };
    Annotated { data: Some(data), id: None, event: None, comment: None, error: None }
}

/// Those that make JSON of broken JSON, each to a value. They read whole texts only.
fn repairers() -> Vec<Contestant> {
    fn repairer(name: &'static str, loads: fn(&str) -> Option<Value>) -> Contestant {
        let run = move |chunks: &[&str], _: Take| {
            let [whole] = chunks else { return None };
            let value = loads(whole)?;
            // Writing the value down again is for the check alone.
            let arguments = aside(|| value.to_string());
            Some(Answer { text: String::new(), calls: vec![CallMade { name: String::new(), arguments }] })
        };
        Contestant::new(name, Box::new(run))
    }
    vec![
        repairer("jsonrepair-rs", |text| jsonrepair_rs::jsonrepair_value(text).ok()),
        repairer("jsonrepair", |text| jsonrepair::loads(text, &Default::default()).ok()),
        repairer("llm_json", |text| llm_json::loads(text, &Default::default()).ok()),
    ]
}

fn dynamo_tools_2() -> Vec<dynamo_2::Tool> {
    let tools = dynamo_tools().into_iter();
    tools
        .map(|tool| dynamo_2::Tool {
            name: tool.name,
            description: None,
            parameters: tool.parameters.unwrap_or_default(),
            strict: None,
        })
        .collect()
}

/// A parser per response, with reasoning and calls in one stream.
fn dynamo_parser_2(family: &'static str) -> Contestant {
    let tools = dynamo_tools_2();
    let run = move |chunks: &[&str], _: Take| {
        let mut answer = Answer::default();
        let mut budget = Budget::start(chunks);
        let mut parser = dynamo_2::create_unified_parser_for_family(family, &tools).ok()?;
        parser.initialize_request(dynamo_2::UnifiedParserInit::default()).ok()?;
        for chunk in chunks {
            let mut output = dynamo_2::UnifiedParserOutput::default();
            parser.parse_into(chunk, &mut output).ok()?;
            take_events(&mut answer, output);
            if !lasts(&mut budget) {
                return None;
            }
        }
        take_events(&mut answer, parser.finish().ok()?);
        Some(answer)
    };
    Contestant::new("dynamo-parsers-v2", Box::new(run))
}

fn take_events(answer: &mut Answer, output: dynamo_2::UnifiedParserOutput) {
    for event in output.events {
        match event {
            dynamo_2::UnifiedParserEvent::Text(text) => answer.text.push_str(&text),
            dynamo_2::UnifiedParserEvent::ToolCall(delta) => {
                take(answer, delta.tool_index, delta.name, &delta.arguments)
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
