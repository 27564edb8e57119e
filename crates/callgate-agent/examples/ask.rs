//! Asks the configured model one question through the gate, and asks again for what was rejected.
//!
//! `cargo run -p callgate-agent --example ask -- tools.json "What is the weather in Oslo?"`, with `.agent/config.yml` or
//! `CALLGATE_…` variables to say which model. With nothing configured, a few rules stand in for one:
//!
//! ```console
//! $ cargo run -q -p callgate-agent --example ask -- <(echo '[{"name": "add", "parameters": {}}]') 'call add {"a": 1,}'
//!
//! call add {"a": 1} ["trailing-comma"]
//! asked again 0 times, Usage { prompt: 0, completion: 0 }
//! ```

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use callgate::{Event, Gate, Registry};
use callgate_agent::cancel::Cancel;
use callgate_agent::config::{Config, FILE};
use callgate_agent::history::{CallStyle, Message};
use callgate_agent::id::random_id;
use callgate_agent::model::{ChatRequest, respond};
use callgate_agent::retry::ask_until_settled;
use callgate_agent::visible::{Breaks, visible};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match ask().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", visible(&error.to_string(), Breaks::Keep));
            ExitCode::FAILURE
        }
    }
}

async fn ask() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(file), Some(question)) = (words.next(), words.next()) else {
        return Err("say which tools and what to ask: ask TOOLS.json QUESTION".into());
    };
    let mut config = Config::builder().environment(std::env::vars());
    if Path::new(FILE).exists() {
        config = config.file(Path::new(FILE));
    }
    let config = config.build()?;
    let tools = Registry::from_json(&std::fs::read_to_string(file)?)?;
    let profile = config.profile();
    let gate = Gate::builder().profile(profile).tools(tools.clone()).policy(config.policy()).build()?;
    let model = config.model(&tools, |name| std::env::var(name).ok())?;
    // The prompt teaches the profile's own format, so calls come back as text.
    let is_native = profile.is_native();
    let request = ChatRequest {
        untrusted: Vec::new(),
        messages: vec![
            Message::SystemContext { text: profile.prompt(&tools) },
            Message::User { text: question },
        ],
        tools: is_native.then(|| tools.to_openai()),
        style: if is_native { CallStyle::Native } else { CallStyle::Text(profile) },
        parameters: config.parameters(),
        stream: true,
    };
    let correlation_id = random_id();
    let mut show = |event: Event<'_>| {
        if let Event::Text { text, .. } = event {
            print!("{}", visible(&text, Breaks::Keep));
            // Whoever cannot read the text as it comes still gets the calls.
            drop(std::io::stdout().flush());
        }
    };
    let turn = respond(&*model, &request, &gate, &format!("{correlation_id}_"), &mut show).await?;
    let retry = config.retry();
    let settled =
        ask_until_settled(&*model, &request, &gate, retry, &correlation_id, turn, &Cancel::new()).await?;
    println!();
    for call in &settled.response.calls {
        let repairs: Vec<&str> = call.repairs.iter().map(|repair| repair.code.word()).collect();
        println!(
            "call {} {} {repairs:?}",
            visible(&call.name, Breaks::Show),
            visible(&call.arguments, Breaks::Show)
        );
    }
    println!("asked again {} times, {:?}", settled.retry_count, settled.usage);
    Ok(())
}
