//! `callgate chat`: a conversation with a model whose calls go through the gate before they run.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use callgate::{Gate, Tool};
use callgate_agent::approval::{Answer, Approver, Grants, NobodyThere, Request};
use callgate_agent::audit::{AuditError, AuditLog};
use callgate_agent::cancel::Cancel;
use callgate_agent::chat::{Answered, Chat, ChatEvent, Setting};
use callgate_agent::config::{Config, FILE};
use callgate_agent::id::random_id;
use callgate_agent::model::Pending;
use callgate_agent::tools::files::{FS_READ, FS_WRITE, FileNames, Root, file_tools};
use callgate_agent::tools::mcp::{Mcp, McpServer};
use callgate_agent::tools::{Prepared, RunTool, ToolError, ToolErrorCode, Toolbox};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use serde_json::{Value, json};

use crate::args::ChatArgs;
use crate::chat_view::View;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::paint::{Breaks, Paint, Tone, visible};

/// Where lines that were typed are kept, if the agent's folder is there.
const TYPED: &str = ".agent/chat_history";

pub(crate) fn run(args: &ChatArgs, paint: Paint) -> Result<Outcome, Stop> {
    let config = config(args)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::Internal(error.to_string()))?;
    let outcome = runtime.block_on(async {
        match &args.once {
            Some(question) => once(question, args, &config, paint).await,
            None => converse(args, &config, paint).await,
        }
    });
    // A line that is still being waited for must not hold up the end.
    runtime.shutdown_background();
    outcome
}

fn config(args: &ChatArgs) -> Result<Config, Stop> {
    let mut flags: Vec<(&str, &str, &str)> = Vec::new();
    flags.extend(args.profile.as_deref().map(|name| ("--profile", "profile", name)));
    flags.extend(args.provider.as_deref().map(|name| ("--provider", "provider", name)));
    let load = |flags: &[(&str, &str, &str)]| crate::config::load(args.config.as_deref(), flags, &args.set);
    let Some(model) = &args.model else { return load(&flags) };
    // Which provider's model is meant is only known when everything else has been read.
    let key = format!("providers.{}.model", load(&flags)?.provider());
    flags.push(("--model", &key, model));
    load(&flags)
}

async fn once(question: &str, args: &ChatArgs, config: &Config, paint: Paint) -> Result<Outcome, Stop> {
    let (mut chat, servers) = begin(args, config, Box::new(NobodyThere)).await?;
    let mut view = if args.json { View::silent(paint) } else { View::split(paint) };
    let mut responses: Vec<Value> = Vec::new();
    let mut tell = |event: ChatEvent<'_>| {
        if let ChatEvent::Judged { response, asked_again } = &event {
            responses.push(json!({"response": response, "asked_again": asked_again}));
        }
        view.show(&event);
    };
    let answered = interruptible(&mut chat, question, &mut tell).await;
    chat.end().map_err(|error| unrecorded(&error))?;
    for server in servers {
        server.close().await;
    }
    let outcome = Outcome::refused_if(!answered.end.is_fine());
    if args.json {
        let mut all = json!(answered);
        all["responses"] = json!(responses);
        writeln!(io::stdout(), "{all}")?;
        return Ok(outcome);
    }
    view.end(&answered)?;
    Ok(outcome)
}

async fn converse(args: &ChatArgs, config: &Config, paint: Paint) -> Result<Outcome, Stop> {
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let keyboard = Keyboard::new()?;
    let approver: Box<dyn Approver> = match is_terminal {
        true => Box::new(AtTerminal { keyboard: keyboard.clone(), paint }),
        false => Box::new(NobodyThere),
    };
    let (mut chat, servers) = begin(args, config, approver).await?;
    let model = config.parameters().model;
    let who = if model.is_empty() { config.provider().to_owned() } else { model };
    let profile = config.profile().name();
    let greeting = format!("{who}, profile {profile}. Ctrl-C stops an answer, Ctrl-D ends the conversation.");
    writeln!(io::stdout(), "{}", paint.tone(Tone::Dim, visible(&greeting, Breaks::Show)))?;
    let mut all_fine = true;
    loop {
        let line = match keyboard.line("> ".to_owned()).await {
            Typed::Line(line) => line,
            Typed::Interrupted => continue,
            Typed::Closed => break,
        };
        if line.trim().is_empty() {
            continue;
        }
        keyboard.remember(&line);
        let mut view = View::whole(paint);
        let answered = interruptible(&mut chat, &line, &mut |event| view.show(&event)).await;
        view.end(&answered)?;
        all_fine &= answered.end.is_fine();
        if let callgate_agent::chat::End::Unrecorded { error } = &answered.end {
            return Err(unrecorded(error));
        }
    }
    keyboard.keep();
    chat.end().map_err(|error| unrecorded(&error))?;
    for server in servers {
        server.close().await;
    }
    Ok(Outcome::refused_if(!all_fine && !is_terminal))
}

/// Asks, and stops when the user presses Ctrl-C. The conversation can go on afterwards.
async fn interruptible(
    chat: &mut Chat,
    question: &str,
    tell: &mut (dyn FnMut(ChatEvent<'_>) + Send),
) -> Answered {
    let cancel = Cancel::new();
    let asked = chat.ask(question, &cancel, tell);
    tokio::pin!(asked);
    loop {
        tokio::select! {
            answered = &mut asked => return answered,
            pressed = tokio::signal::ctrl_c(), if !cancel.is_cancelled() => match pressed {
                Ok(()) => cancel.cancel(),
                // Without signals there is nothing to wait for but the answer.
                Err(_) => return asked.await,
            },
        }
    }
}

/// Everything that a conversation stands on, and the servers that have to stay for as long.
async fn begin(
    args: &ChatArgs,
    config: &Config,
    approver: Box<dyn Approver>,
) -> Result<(Chat, Vec<Mcp>), Stop> {
    let servers = servers(args, config).await?;
    let mut grants = Grants::new();
    let mut tools = Toolbox::new();
    let audit = match config.audit() {
        Some(settings) => Some(AuditLog::create(settings, &random_id()).map_err(|error| unrecorded(&error))?),
        None => None,
    };
    if !args.no_files {
        let root = root(args, config)?;
        for tool in file_tools(Some(root), config.file_names(), config.file_limits()) {
            add(&mut tools, tool)?;
        }
        grants.grant(FS_READ, "the command was given a folder");
        if !args.read_only {
            grants.grant(FS_WRITE, "the command was given a folder");
        }
    }
    if let Some(path) = &args.tools {
        for entry in input::tools(path)?.tools() {
            if let Some(permission) = &entry.tool.permission {
                grants.grant(permission, "the command was given the tool");
            }
            add(&mut tools, Arc::new(Declared(entry.tool.clone())))?;
        }
    }
    for tool in servers.iter().flat_map(Mcp::tools) {
        add(&mut tools, Arc::clone(tool))?;
    }
    let unfit = |error: &dyn std::fmt::Display| Stop::usage(error, "see `callgate config show`");
    let gate = Gate::builder()
        .profile(config.profile())
        .policy(config.policy())
        .tools(tools.registry().clone())
        .build()
        .map_err(|error| unfit(&error))?;
    let model =
        config.model(tools.registry(), |name| std::env::var(name).ok()).map_err(|fault| unfit(&fault))?;
    let setting = Setting {
        model,
        gate,
        tools,
        parameters: config.parameters(),
        retry: config.retry(),
        approval: config.approval(),
        approver,
        grants,
        audit,
        spending: config.spending(),
        strikes: config.strikes(),
        endless: config.endless(),
    };
    let chat = Chat::begin(setting, config.instructions()).map_err(|error| unrecorded(&error))?;
    Ok((chat, servers))
}

/// The MCP servers of the configuration and the command line, connected.
async fn servers(args: &ChatArgs, config: &Config) -> Result<Vec<Mcp>, Stop> {
    let between = if config.file_names() == FileNames::Dotted { "." } else { "__" };
    let mut servers = Vec::new();
    for text in config.mcp_servers().iter().chain(&args.mcp) {
        let unfit = |error: ToolError| Stop::usage(error, "see `callgate chat --help`");
        let server = McpServer::parse(text).map_err(unfit)?;
        let mcp = Mcp::connect(&server, between, &config.key_variables()).await.map_err(unfit)?;
        for why in mcp.left_out() {
            // A remark: the other tools are there.
            let why = visible(why, Breaks::Show).into_owned();
            let _ = writeln!(io::stderr(), "callgate: a tool of {} is left out: {why}", server.name);
        }
        servers.push(mcp);
    }
    Ok(servers)
}

fn add(tools: &mut Toolbox, tool: Arc<dyn RunTool>) -> Result<(), Stop> {
    tools.add(tool).map_err(|error| Stop::usage(error, "give each tool a name of its own"))
}

/// The folder of the file tools, with the host's own files kept out of their reach.
fn root(args: &ChatArgs, config: &Config) -> Result<Root, Stop> {
    let failed = |error: ToolError| Stop::usage(error, "name a folder with --root");
    let mut root = Root::open(&args.root).map_err(failed)?;
    let audit = config.audit().map(|audit| audit.folder);
    let file = args.config.clone().unwrap_or_else(|| FILE.into());
    let whole = |path: &Path| std::fs::canonicalize(path).ok();
    for own in audit.iter().chain([&file]) {
        let inside = whole(own)
            .zip(whole(&args.root))
            .and_then(|(own, root)| own.strip_prefix(root).ok().and_then(Path::to_str).map(str::to_owned));
        if let Some(inside) = inside {
            root = root.keep(&inside);
        }
    }
    Ok(root)
}

fn unrecorded(error: &AuditError) -> Stop {
    Stop::usage(error, "or do without records: --set audit.enabled=false")
}

/// A tool that is known by its description only.
struct Declared(Tool);

impl RunTool for Declared {
    fn tool(&self) -> &Tool {
        &self.0
    }

    fn prepare<'a>(&'a self, _: &'a Value) -> Pending<'a, Result<Prepared, ToolError>> {
        let message = format!("nothing here runs `{}`; the call is handed on", self.0.name);
        let error = ToolError::new(ToolErrorCode::UnknownTool, "", message);
        Box::pin(std::future::ready(Err(error)))
    }
}

/// Where lines are typed: one editor for questions and approvals, so that no two wait for the same line.
#[derive(Clone)]
struct Keyboard {
    editor: Arc<Mutex<DefaultEditor>>,
}

/// What came of waiting for a line.
enum Typed {
    Line(String),
    Interrupted,
    Closed,
}

impl Keyboard {
    fn new() -> Result<Self, Stop> {
        let mut editor = DefaultEditor::new().map_err(|error| Stop::Internal(error.to_string()))?;
        // Nobody has to have typed before.
        let _ = editor.load_history(TYPED);
        Ok(Keyboard { editor: Arc::new(Mutex::new(editor)) })
    }

    async fn line(&self, prompt: String) -> Typed {
        let editor = Arc::clone(&self.editor);
        let typed = tokio::task::spawn_blocking(move || {
            editor.lock().unwrap_or_else(PoisonError::into_inner).readline(&prompt)
        });
        match typed.await {
            Ok(Ok(line)) => Typed::Line(line),
            Ok(Err(ReadlineError::Interrupted)) => Typed::Interrupted,
            _ => Typed::Closed,
        }
    }

    fn remember(&self, line: &str) {
        // A line that is not remembered was still typed.
        let _ = self.editor.lock().unwrap_or_else(PoisonError::into_inner).add_history_entry(line);
    }

    fn keep(&self) {
        if Path::new(TYPED).parent().is_some_and(Path::is_dir) {
            // What was typed is a comfort, not a record.
            let _ = self.editor.lock().unwrap_or_else(PoisonError::into_inner).save_history(TYPED);
        }
    }
}

/// Asks the user at the terminal. Only a typed `y` or `yes` is a yes; what was typed before the question does not count.
struct AtTerminal {
    keyboard: Keyboard,
    paint: Paint,
}

impl Approver for AtTerminal {
    fn ask<'a>(&'a self, request: &'a Request) -> Pending<'a, Answer> {
        Box::pin(async move {
            let mut is_short = true;
            loop {
                let mut text = String::from("\n");
                for (number, line) in request.lines(is_short).iter().enumerate() {
                    let tone = match line.trim_start().chars().next() {
                        _ if number == 0 => Tone::Strong,
                        Some('+') => Tone::Good,
                        Some('-') => Tone::Bad,
                        _ => Tone::Plain,
                    };
                    text.push_str(&format!("{}\n", self.paint.tone(tone, line)));
                }
                if io::stdout().write_all(text.as_bytes()).is_err() {
                    return Answer::Closed;
                }
                forget_typed();
                match self.keyboard.line("run it? [y]es, [v]iew all, anything else is no: ".to_owned()).await
                {
                    Typed::Line(line) => match line.trim() {
                        "y" | "yes" => return Answer::Approve { hash: request.hash.clone() },
                        "v" | "view" => is_short = false,
                        _ => return Answer::Deny,
                    },
                    Typed::Interrupted | Typed::Closed => return Answer::Closed,
                }
            }
        })
    }
}

/// Throws away what was typed before the question was there.
fn forget_typed() {
    #[cfg(unix)]
    // A terminal that cannot forget still asks.
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}
