//! A model made of a few rules, so that everything around a model can be tried with nothing installed.
//!
//! It calls what it is told to call, as it is told to: `call look {"q": "cats",}` sends just these arguments, broken or
//! not. Told that a call was refused, it sends arguments that the tool's schema accepts. Given a result, it repeats it.

use callgate::dialect::{self, RenderCall};
use callgate::{FinishReason, Registry};
use serde_json::{Value, json};

use super::scripted::Playing;
use super::{ChatRequest, Model, ModelFault, Pending, Piece, Pieces, ScriptedPiece, Usage};
use crate::history::{CallStyle, Message};

/// How much of a result is repeated.
const REPEATED: usize = 400;

/// The model of rules. It has no state: what it says depends on the conversation alone.
#[derive(Clone, Debug, Default)]
pub struct Rehearsed {
    tools: Registry,
}

impl Rehearsed {
    /// A model that knows these tools.
    pub fn new(tools: Registry) -> Self {
        Rehearsed { tools }
    }

    fn answer(&self, request: &ChatRequest) -> Piece {
        match request.messages.last() {
            Some(Message::ToolResult { name, content, .. }) => {
                let said: String = content.chars().take(REPEATED).collect();
                Piece::Text(format!("{name} says: {said}"))
            }
            Some(Message::ToolError { name, content, .. }) => {
                Piece::Text(format!("{name} did not work: {content}"))
            }
            Some(Message::User { text }) => match self.wanted(text) {
                Some((name, arguments)) => written(request.style, name, arguments),
                None => match self.refused(text) {
                    Some((name, arguments)) => written(request.style, name, &arguments),
                    None => Piece::Text(self.introduction()),
                },
            },
            _ => Piece::Text(self.introduction()),
        }
    }

    /// The call that a message asks for.
    fn wanted<'a>(&self, text: &'a str) -> Option<(&'a str, &'a str)> {
        let rest = text.trim().strip_prefix("call ")?.trim_start();
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, "{}"));
        (!name.is_empty()).then_some((name, arguments.trim()))
    }

    /// The correction of a call that the message says was refused: the first tool it names.
    fn refused(&self, text: &str) -> Option<(&str, String)> {
        if !text.contains("refused") {
            return None;
        }
        let named = self.tools.tools().filter_map(|tool| Some((text.find(&tool.tool.name)?, tool)));
        let (_, tool) = named.min_by_key(|(at, _)| *at)?;
        Some((&tool.tool.name, tool.example().to_string()))
    }

    fn introduction(&self) -> String {
        let names: Vec<&str> = self.tools.names().collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!(
            "I am no language model, only a few rules that stand in for one. Write `call NAME ARGUMENTS` and I call \
             that tool with just these arguments. The tools are: {known}."
        )
    }
}

/// A call in the style of the request. Arguments that are no JSON go out as they are, as a model would send them.
fn written(style: CallStyle, name: &str, arguments: &str) -> Piece {
    let CallStyle::Text(profile) = style else {
        return Piece::Calls(json!([{"function": {"name": name, "arguments": arguments}}]));
    };
    let dialect = profile.dialects().iter().copied().find(|name| *name != "auto").unwrap_or("hermes");
    let call = RenderCall { id: None, name, arguments };
    let is_object = serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object());
    let record = dialect::named(dialect).filter(|_| is_object);
    let text = record.and_then(|record| record.render(&[call], None, None).ok());
    Piece::Text(text.unwrap_or_else(|| {
        format!("<tool_call>{{\"name\": \"{name}\", \"arguments\": {arguments}}}</tool_call>")
    }))
}

impl Model for Rehearsed {
    fn chat<'a>(&'a self, request: &'a ChatRequest) -> Pending<'a, Result<Box<dyn Pieces>, ModelFault>> {
        let mut pieces = Vec::new();
        match self.answer(request) {
            // Words come one by one, as those of a model do.
            Piece::Text(text) if request.stream => {
                let words = text.split_inclusive(' ').map(|word| Piece::Text(word.to_owned()));
                pieces.extend(words.map(ScriptedPiece::Send));
            }
            other => pieces.push(ScriptedPiece::Send(other)),
        }
        let end = Piece::End { reason: FinishReason::Stop, usage: Usage::default() };
        pieces.push(ScriptedPiece::Send(end));
        let answer: Box<dyn Pieces> = Box::new(Playing(pieces.into()));
        Box::pin(std::future::ready(Ok(answer)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cancel::Cancel;
    use crate::model::{Parameters, Turn, respond};
    use crate::retry::{RetrySettings, ask_until_settled};
    use callgate::{Gate, Profile};

    fn tools() -> Registry {
        let tools = json!([{"name": "look", "description": "Looks.", "parameters":
            {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}]);
        Registry::from_value(&tools).unwrap()
    }

    fn request(style: CallStyle, message: Message) -> ChatRequest {
        ChatRequest {
            messages: vec![message],
            tools: None,
            style,
            parameters: Parameters::default(),
            stream: true,
        }
    }

    fn user(text: &str) -> Message {
        Message::User { text: text.to_owned() }
    }

    async fn ask(gate: &Gate, request: &ChatRequest) -> Turn {
        respond(&Rehearsed::new(tools()), request, gate, "t_", &mut |_| {}).await.unwrap()
    }

    #[tokio::test]
    async fn it_calls_what_it_is_told_to_in_every_profile() {
        for name in Profile::NAMES {
            let profile = Profile::named(name).unwrap();
            let gate = Gate::builder().profile(profile).tools(tools()).build().unwrap();
            let style = if *name == "structured" { CallStyle::Native } else { CallStyle::Text(profile) };
            let turn = ask(&gate, &request(style, user("call look {\"q\": \"two cats\"}"))).await;
            assert_eq!(turn.response.calls.len(), 1, "{name}: {:?}", turn.response);
            assert_eq!(turn.response.calls[0].value(), json!({"q": "two cats"}), "{name}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_corrects_itself_when_it_is_told_what_was_wrong() {
        for style in [CallStyle::Native, CallStyle::Text(Profile::standard())] {
            let gate = Gate::builder().tools(tools()).build().unwrap();
            let request = request(style, user("call look {\"n\": 1}"));
            let turn = ask(&gate, &request).await;
            assert_eq!(turn.response.rejected.len(), 1, "{:?}", turn.response);
            let model = Rehearsed::new(tools());
            let settled = ask_until_settled(
                &model,
                &request,
                &gate,
                RetrySettings::default(),
                "c",
                turn,
                &Cancel::new(),
            )
            .await;
            assert_eq!(settled.unwrap().response.calls.len(), 1);
        }
    }

    #[tokio::test]
    async fn it_repeats_results_and_otherwise_says_what_it_is() {
        let gate = Gate::builder().tools(tools()).build().unwrap();
        let result = Message::ToolResult {
            call_id: "a".to_owned(),
            name: "look".to_owned(),
            content: "cats".to_owned(),
        };
        let model = Rehearsed::new(tools());
        assert_eq!(
            model.answer(&request(CallStyle::Native, result)),
            Piece::Text("look says: cats".to_owned())
        );
        let turn = ask(&gate, &request(CallStyle::Native, user("hello"))).await;
        assert!(turn.response.text.contains("The tools are: look."), "{}", turn.response.text);
        assert!(turn.response.calls.is_empty());
    }
}
