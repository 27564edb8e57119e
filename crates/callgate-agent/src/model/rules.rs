//! A model made of a few rules, so that everything around a model can be tried with nothing installed.
//!
//! It lists, reads and writes files by simple words. It calls what it is told to call, as it is told to: `call look {"q": "cats",}` sends just these arguments, broken or
//! not. Told that a call was rejected, it sends arguments that the tool's schema accepts. Given a result, it repeats it.

use callgate::{FinishReason, Registry, RenderCall};
use serde_json::{Value, json};

use super::scripted::Playing;
use super::{BoxFuture, ChatRequest, Model, ModelChunk, ModelChunks, ModelFault, ScriptedChunk, Usage};
use crate::history::{CallStyle, Message};
use crate::tools::COMPLETION;

/// How much of a result is repeated.
const REPEATED: usize = 400;

/// The model of rules. It has no state: what it says depends on the conversation alone.
#[derive(Clone, Debug, Default)]
pub struct RuleModel {
    tools: Registry,
}

impl RuleModel {
    /// A model that knows these tools.
    pub fn new(tools: Registry) -> Self {
        RuleModel { tools }
    }

    fn answer(&self, request: &ChatRequest) -> ModelChunk {
        match request.messages.last() {
            Some(Message::ToolResult { name, content, .. }) => {
                let said: String = content.chars().take(REPEATED).collect();
                self.words(request, format!("{name} says: {said}"))
            }
            Some(Message::ToolError { name, content, .. }) => {
                self.words(request, format!("{name} did not work: {content}"))
            }
            Some(Message::User { text }) => {
                match self.wanted(text).or_else(|| self.rejected(text, request)) {
                    Some((name, arguments)) => written(&request.style, &name, &arguments),
                    None => self.words(request, self.introduction()),
                }
            }
            _ => self.words(request, self.introduction()),
        }
    }

    /// An answer in words, or by a call where there is a tool for that.
    fn words(&self, request: &ChatRequest, text: String) -> ModelChunk {
        match self.tools.get(COMPLETION) {
            Some(_) => written(&request.style, COMPLETION, &json!({"result": text}).to_string()),
            None => ModelChunk::Text(text),
        }
    }

    /// The call that a message asks for: word for word after `call`, or by the first word for files.
    fn wanted(&self, text: &str) -> Option<(String, String)> {
        let (verb, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        let (first, last) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
        let file = |names: [&str; 2], others: Value| {
            let name = names.into_iter().find(|name| self.tools.get(name).is_some())?;
            let mut arguments = others;
            let is_folder = verb == "list";
            let path = if name.contains('.') || is_folder { "path" } else { "file_path" };
            arguments[path] = if is_folder && first.is_empty() { "." } else { first }.into();
            Some((name.to_owned(), arguments.to_string()))
        };
        match verb {
            "call" if !first.is_empty() => {
                let arguments = if last.is_empty() { "{}" } else { last.trim() };
                Some((first.to_owned(), arguments.to_owned()))
            }
            "list" => file(["fs.list", "list_directory"], json!({})),
            "read" if !first.is_empty() => file(["fs.read", "read_file"], json!({})),
            "write" if !last.is_empty() => {
                file(["fs.write", "write_file"], json!({"content": format!("{last}\n")}))
            }
            _ => None,
        }
    }

    /// The correction of a call that the message says was rejected: the first tool it names, with arguments that it takes,
    /// or with the same ones where only the name was wrong.
    fn rejected(&self, text: &str, request: &ChatRequest) -> Option<(String, String)> {
        if !["rejected", "refused"].iter().any(|word| text.contains(word)) {
            return None;
        }
        let named = self.tools.all_compiled().filter_map(|tool| Some((text.find(&tool.tool.name)?, tool)));
        let (_, tool) = named.min_by_key(|(at, _)| *at)?;
        let asked = request.messages.iter().rev().find_map(|message| match message {
            Message::User { text } => self.wanted(text),
            _ => None,
        });
        let same = asked.filter(|_| text.contains("unknown tool")).map(|(_, arguments)| arguments);
        Some((tool.tool.name.clone(), same.unwrap_or_else(|| tool.example().to_string())))
    }

    fn introduction(&self) -> String {
        let names: Vec<&str> = self.tools.names().collect();
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!(
            "I am no language model, only a few rules that stand in for one, so that you can try everything around \
             it. Say `list`, `read FILE` or `write FILE TEXT`; or `call NAME ARGUMENTS`, and I call that tool with just \
             these arguments, broken or not. The tools are: {known}."
        )
    }
}

/// A call in the style of the request. Arguments that are no JSON go out as they are, as a model would send them.
fn written(style: &CallStyle, name: &str, arguments: &str) -> ModelChunk {
    if *style == CallStyle::Native {
        return ModelChunk::Calls(json!([{"function": {"name": name, "arguments": arguments}}]).to_string());
    }
    let is_object = serde_json::from_str::<Value>(arguments).is_ok_and(|value| value.is_object());
    let render = |arguments| {
        let call = RenderCall { id: None, name, arguments };
        style.record().and_then(|record| record.render(&[call], None, None).ok())
    };
    // Arguments that are no JSON object replace a rendered stand-in, where the format writes arguments as JSON.
    let stand_in = "{\"stand_in\": 0}";
    let text = match is_object {
        true => render(arguments),
        false => render(stand_in)
            .filter(|text| text.contains(stand_in))
            .map(|text| text.replacen(stand_in, arguments, 1)),
    };
    ModelChunk::Text(text.unwrap_or_else(|| {
        format!("<tool_call>{{\"name\": \"{name}\", \"arguments\": {arguments}}}</tool_call>")
    }))
}

impl Model for RuleModel {
    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<Box<dyn ModelChunks>, ModelFault>> {
        let mut chunks = Vec::new();
        match self.answer(request) {
            // Words come one by one, as those of a model do.
            ModelChunk::Text(text) if request.stream => {
                let words = text.split_inclusive(' ').map(|word| ModelChunk::Text(word.to_owned()));
                chunks.extend(words.map(ScriptedChunk::Send));
            }
            other => chunks.push(ScriptedChunk::Send(other)),
        }
        let end = ModelChunk::End { reason: FinishReason::Stop, usage: Usage::default() };
        chunks.push(ScriptedChunk::Send(end));
        let answer: Box<dyn ModelChunks> = Box::new(Playing::new(chunks.into()));
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
            untrusted: Vec::new(),
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
        respond(&RuleModel::new(tools()), request, gate, "t_", &mut |_| {}).await.unwrap()
    }

    #[tokio::test]
    async fn it_calls_what_it_is_told_to_in_every_profile() {
        for name in Profile::NAMES {
            let profile = Profile::named(name).unwrap();
            let mut builder = Gate::builder().profile(profile).tools(tools());
            if profile.needs_dialect() {
                builder = builder.dialect("hermes");
            }
            let gate = builder.build().unwrap();
            let style = if *name == "structured" { CallStyle::Native } else { CallStyle::Text(profile) };
            let turn = ask(&gate, &request(style.clone(), user("call look {\"q\": \"two cats\"}"))).await;
            assert_eq!(turn.response.calls.len(), 1, "{name}: {:?}", turn.response);
            assert_eq!(turn.response.calls[0].value(), json!({"q": "two cats"}), "{name}");
            let turn = ask(&gate, &request(style, user("call look {\"q\": }"))).await;
            let seen = turn.response.rejected.len() + turn.response.findings.len();
            assert!(turn.response.calls.is_empty() && seen > 0, "{name}: {:?}", turn.response);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_corrects_itself_when_it_is_told_what_was_wrong() {
        for style in [CallStyle::Native, CallStyle::Text(Profile::standard())] {
            let gate = Gate::builder().tools(tools()).build().unwrap();
            let request = request(style, user("call look {\"n\": 1}"));
            let turn = ask(&gate, &request).await;
            assert_eq!(turn.response.rejected.len(), 1, "{:?}", turn.response);
            let model = RuleModel::new(tools());
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
        let model = RuleModel::new(tools());
        assert_eq!(
            model.answer(&request(CallStyle::Native, result)),
            ModelChunk::Text("look says: cats".to_owned())
        );
        let turn = ask(&gate, &request(CallStyle::Native, user("hello"))).await;
        assert!(turn.response.text.contains("The tools are: look."), "{}", turn.response.text);
        assert!(turn.response.calls.is_empty());
    }
}
