//! `callgate chat`: a conversation with a model whose calls go through the gate before they run.

mod begin;
mod keyboard;
mod slash;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use callgate_agent::approval::{Approver, NobodyThere, Remembering};
use callgate_agent::cancel::Cancel;
use callgate_agent::chat::{Answered, Chat, ChatEvent, End};
use callgate_agent::config::{Config, ConfigBuilder, check_way};
use callgate_agent::tools::files::FileNames;
use serde_json::{Value, json};

use crate::args::ChatArgs;
use crate::chat_view::View;
use crate::config::{Sources, stop};
use crate::exit::{Outcome, Stop};
use crate::paint::{Breaks, Paint, Tone, visible};
use crate::trust::Asking;
use begin::{begin, unrecorded};
use keyboard::{AtTerminal, Keyboard, Typed};
use slash::Slash;

/// How many tools are named at the beginning.
const NAMED: usize = 8;

pub(crate) fn run(args: &ChatArgs, paint: Paint) -> Result<Outcome, Stop> {
    let config = config(args, paint)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::Internal(error.to_string()))?;
    let outcome = runtime.block_on(async {
        match args.once.as_ref().or(args.question.as_ref()) {
            Some(question) => once(question, args, &config, paint).await,
            None => converse(args, &config, paint).await,
        }
    });
    // The thread of the line editor may still wait for a line; the program ends without it.
    runtime.shutdown_background();
    outcome
}

/// The configuration, decided about before anything is connected, started or written.
fn config(args: &ChatArgs, paint: Paint) -> Result<Config, Stop> {
    let mut flags: Vec<(&str, &str, &str)> = Vec::new();
    flags.extend(args.profile.as_deref().map(|name| ("--profile", "profile", name)));
    flags.extend(args.provider.as_deref().map(|name| ("--provider", "provider", name)));
    // Whoever names an address and no provider means one of the kind that listens there.
    let is_ollama = |address: &str| address.trim_end_matches('/').ends_with(":11434");
    let guess = args.endpoint.as_deref().map(|address| if is_ollama(address) { "ollama" } else { "openai" });
    let dialects = args.dialect.join(",");
    flags.extend((!dialects.is_empty()).then_some(("--dialect", "dialects", dialects.as_str())));
    let asking =
        if args.once.is_some() || args.question.is_some() { Asking::Nobody } else { Asking::Terminal(paint) };
    let (file, root) = (args.config.as_deref(), Some(args.root.as_path()));
    let builder = Sources { file, root, flags: &flags, sets: &args.set, asking }.builder()?;
    let build = |builder: ConfigBuilder| builder.build().map_err(|errors| stop(&errors));
    let mut config = build(builder.clone())?;
    let mut builder = builder;
    if let Some(guess) = guess.filter(|_| !config.origin("provider").is_given()) {
        builder = builder.flag("--endpoint", "provider", guess);
        config = build(builder.clone())?;
    }
    // These name keys of the chosen provider, which is known only after everything else was read.
    for (flag, key, value) in [("--model", "model", &args.model), ("--endpoint", "endpoint", &args.endpoint)]
    {
        if let Some(value) = value {
            builder = builder.flag(flag, &format!("providers.{}.{key}", config.provider()), value);
            config = build(builder.clone())?;
        }
    }
    if let Some(audit) = config.audit() {
        check_way(Path::new("."), &audit.folder).map_err(|error| stop(&error.into()))?;
    }
    Ok(config)
}

/// One question. At a terminal its user is asked about calls, unless the question was given to a script's flag.
async fn once(question: &str, args: &ChatArgs, config: &Config, paint: Paint) -> Result<Outcome, Stop> {
    let interrupts = Interrupts::listen().await;
    let is_attended = args.once.is_none() && is_terminal() && !args.json;
    let approver: Box<dyn Approver> = match is_attended {
        true => Box::new(Remembering::new(AtTerminal { keyboard: Keyboard::new()?, paint })),
        false => Box::new(NobodyThere),
    };
    let mut begun = begin(args, config, approver).await?;
    let mut view = if args.json { View::silent(paint) } else { View::split(paint) };
    let mut responses: Vec<Value> = Vec::new();
    let mut tell = |event: ChatEvent<'_>| {
        if let ChatEvent::Judged { response, asked_again, view, served, interrupted_at } = &event {
            responses.push(json!({
                "response": response,
                "view": view,
                "asked_again": asked_again,
                "served": served,
                "interrupted": interrupted_at.is_some(),
                "interrupted_at": interrupted_at,
            }));
        }
        view.show(&event);
    };
    let answered = interrupts.ask(&mut begun.chat, question, &mut tell).await;
    let (strikes, queue) = (begun.chat.strikes(), begun.chat.queue().to_vec());
    let ended = begun.end().await;
    if args.json {
        let mut all = json!(answered);
        all["responses"] = json!(responses);
        all["strikes"] = json!(strikes);
        all["queue"] = json!(queue);
        writeln!(io::stdout(), "{all}")?;
    } else {
        view.end(&answered)?;
    }
    // Report which calls ran before reporting that the log is incomplete.
    match (&answered.end, ended) {
        (End::Unrecorded { error }, _) => Err(unrecorded(error)),
        (_, Err(error)) => Err(unrecorded(&error)),
        (end, Ok(())) => Ok(Outcome::rejected_if(!end.is_fine())),
    }
}

fn is_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal()
}

async fn converse(args: &ChatArgs, config: &Config, paint: Paint) -> Result<Outcome, Stop> {
    let interrupts = Interrupts::listen().await;
    let is_terminal = is_terminal();
    let keyboard = Keyboard::new()?;
    let approver: Box<dyn Approver> = match is_terminal {
        true => Box::new(Remembering::new(AtTerminal { keyboard: keyboard.clone(), paint })),
        false => Box::new(NobodyThere),
    };
    let mut begun = begin(args, config, approver).await?;
    greet(config, &begun.chat, paint)?;
    let mut outcome = Outcome::Fine;
    loop {
        let line = match keyboard.line("> ".to_owned()).await {
            Typed::Line(line) if line.trim().is_empty() => continue,
            Typed::Line(line) => line,
            Typed::TakenBack => continue,
            Typed::Left => {
                outcome = Outcome::Interrupted;
                break;
            }
            Typed::Closed => break,
        };
        keyboard.remember(&line);
        let question = match Slash::of(&line) {
            None => line,
            Some(Slash::Exit) => break,
            Some(Slash::Retry) => match begun.chat.take_back() {
                Some(question) => question,
                None => {
                    writeln!(io::stdout(), "nothing was asked yet")?;
                    continue;
                }
            },
            Some(other) => {
                other.show(&begun, paint)?;
                continue;
            }
        };
        let mut view = View::whole(paint);
        let answered = interrupts.ask(&mut begun.chat, &question, &mut |event| view.show(&event)).await;
        view.end(&answered)?;
        if let End::Unrecorded { error } = &answered.end {
            return Err(unrecorded(error));
        }
        if !answered.end.is_fine() && !is_terminal {
            outcome = Outcome::Rejected;
        }
    }
    if is_terminal {
        keyboard.keep();
    }
    begun.end().await.map_err(|error| unrecorded(&error))?;
    Ok(outcome)
}

/// Who is there, what it may call, and how to begin.
fn greet(config: &Config, chat: &Chat, paint: Paint) -> io::Result<()> {
    let model = config.parameters().model;
    let who = if model.is_empty() { config.provider().to_owned() } else { model };
    let names: Vec<&str> = chat.tools().names().collect();
    let mut tools = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        tools.push_str(&format!(" and {} more", names.len() - NAMED));
    }
    let mut lines = vec![format!("{who}, profile {}; tools: {tools}", config.profile().name())];
    if config.provider() == "rules" {
        let read = match config.file_names() {
            FileNames::Dotted => ("fs.read", "path"),
            FileNames::Underscored => ("read_file", "file_path"),
        };
        let hint = match names.contains(&read.0) {
            true => format!(
                "Try: list · read FILE · write FILE TEXT · call {} {{\"{}\": \"FILE\",}} with its broken comma",
                read.0, read.1
            ),
            false => "Try: call NAME ARGUMENTS".to_owned(),
        };
        lines.push(format!("A few rules stand in for a model. {hint}"));
    }
    lines.push("Ctrl-C stops an answer, Ctrl-D or /exit ends the conversation, /help lists more.".to_owned());
    for line in lines {
        writeln!(io::stdout(), "{}", paint.tone(Tone::Dim, visible(&line, Breaks::Show)))?;
    }
    Ok(())
}

/// What Ctrl-C stops: the question that is being answered, or else the program.
#[derive(Clone, Default)]
struct Interrupts {
    asked: Arc<Mutex<Option<Cancel>>>,
}

impl Interrupts {
    /// Registers for Ctrl-C at once, so that one pressed before the first question is not missed.
    async fn listen() -> Self {
        let interrupts = Interrupts::default();
        let asked = Arc::clone(&interrupts.asked);
        tokio::spawn(async move {
            // Where signals cannot be registered, Ctrl-C ends the program as usual.
            while tokio::signal::ctrl_c().await.is_ok() {
                let asked = asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
                match asked.filter(|cancel| !cancel.is_cancelled()) {
                    Some(cancel) => cancel.cancel(),
                    // Nothing is being answered, or Ctrl-C comes again because something does not stop: end the program.
                    None => std::process::exit(crate::exit::INTERRUPTED.into()),
                }
            }
        });
        tokio::task::yield_now().await;
        interrupts
    }

    /// Asks, and stops when the user presses Ctrl-C. The conversation can go on afterwards.
    async fn ask(
        &self,
        chat: &mut Chat,
        question: &str,
        tell: &mut (dyn FnMut(ChatEvent<'_>) + Send),
    ) -> Answered {
        let set = |cancel| *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = cancel;
        let cancel = Cancel::new();
        set(Some(cancel.clone()));
        let answered = chat.ask(question, &cancel, tell).await;
        set(None);
        answered
    }
}
