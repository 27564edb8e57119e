//! A conversation of a program of your own: its functions are the tools, and a person is asked before the dangerous one.
//!
//! `cargo run -p callgate-agent --example own_tools`. The model is a script, so nothing has to be installed; put
//! `model::Ollama` or `model::OpenAi` in its place.
//!
//! ```console
//! $ cargo run -q -p callgate-agent --example own_tools
//! add_to_cart: Ran { result: "2 × tea in the cart" }
//! again: schema-mismatch: invalid value for count: expected at least 1, got 0
//! add_to_cart: Ran { result: "1 × milk in the cart" }
//! ? call     │ order wants to run
//! ? why      │ the tool is dangerous
//! ? starts   │ the tool does not say what
//! ? effect   │ the tool does not say what it does
//! ? argument │ / = object {}
//! ? hash     │ 7854641fd5dab854a400897fab0414c544707eecf5f0549a7740ba5a47a2f566
//! order: Ran { result: "ordered 2 items" }
//! Tea and milk are on their way. (4 turns)
//! ```

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use callgate::Tool;
use callgate_agent::approval::{Answer, Approver, Request};
use callgate_agent::cancel::Cancel;
use callgate_agent::chat::{Answered, Chat, ChatEvent, Setting};
use callgate_agent::model::{BoxFuture, Scripted, ScriptedTurn};
use callgate_agent::tools::{ToolError, ToolErrorCode, Toolbox};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Add {
    item: String,
    count: u32,
}

#[derive(Deserialize)]
struct Nothing {}

type Cart = Arc<Mutex<Vec<(String, u32)>>>;

/// Two functions of a shop as tools. What is wrong with a call beyond its schema is told to the model.
fn tools(cart: &Cart) -> Result<Toolbox, Box<dyn Error>> {
    let mut tools = Toolbox::new();
    let schema = json!({
        "type": "object",
        "properties": {"item": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
        "required": ["item", "count"],
    });
    let add = Tool::new("add_to_cart", "Puts an item into the cart.", schema);
    let into = Arc::clone(cart);
    tools.add_function(add, move |Add { item, count }| {
        let into = Arc::clone(&into);
        async move {
            if count > 100 {
                return Err(ToolError::new(ToolErrorCode::Failed, item, "there are not so many"));
            }
            let said = format!("{count} × {item} in the cart");
            into.lock().unwrap_or_else(PoisonError::into_inner).push((item, count));
            Ok(said)
        }
    })?;
    let order = Tool::new("order", "Orders what is in the cart.", json!({"type": "object"})).dangerous();
    let from = Arc::clone(cart);
    tools.add_function(order, move |Nothing {}| {
        let from = Arc::clone(&from);
        async move {
            let count = from.lock().unwrap_or_else(PoisonError::into_inner).drain(..).count();
            Ok(format!("ordered {count} items"))
        }
    })?;
    Ok(tools)
}

/// Stands for a dialog: it shows what is asked and says yes. A yes is for one call, by its hash.
struct Dialog;

impl Approver for Dialog {
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
        for line in request.lines(true, 80) {
            println!("? {line}");
        }
        Box::pin(std::future::ready(Answer::Approve { hash: request.hash.clone() }))
    }
}

/// What a model might say. The first call has a comma too many, the second breaks a rule of the schema.
fn script() -> Scripted {
    let call = |name: &str, arguments: &str| {
        format!("<tool_call>{{\"name\": \"{name}\", \"arguments\": {arguments}}}</tool_call>")
    };
    Scripted::new([
        ScriptedTurn::text(call("add_to_cart", r#"{"item": "tea", "count": 2,}"#)),
        ScriptedTurn::text(call("add_to_cart", r#"{"item": "milk", "count": 0}"#)),
        // Asked again, it corrects itself.
        ScriptedTurn::text(call("add_to_cart", r#"{"item": "milk", "count": 1}"#)),
        ScriptedTurn::text(call("order", "{}")),
        ScriptedTurn::text("Tea and milk are on their way."),
    ])
}

/// The whole conversation, and how it ended.
pub(crate) async fn conversation() -> Result<Answered, Box<dyn Error>> {
    let cart = Cart::default();
    let mut setting = Setting::new(Box::new(script()), tools(&cart)?)?;
    setting.approver = Box::new(Dialog);
    let mut chat = Chat::begin(setting, "You run errands.")?;
    let mut tell = |event: ChatEvent<'_>| match event {
        ChatEvent::AskingAgain { response } => {
            for finding in response.all_findings() {
                println!("again: {finding}");
            }
        }
        ChatEvent::Tool(report) => println!("{}: {:?}", report.name, report.outcome),
        _ => {}
    };
    let answered = chat.ask("Get me tea and milk.", &Cancel::new(), &mut tell).await;
    chat.end()?;
    Ok(answered)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let answered = conversation().await?;
    println!("{} ({} turns)", answered.text, answered.turns);
    Ok(())
}
