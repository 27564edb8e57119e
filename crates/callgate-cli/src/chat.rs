//! `callgate chat`: a conversation with a model whose calls go through the gate before they run.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use callgate::{Registry, Tool};
use callgate_agent::approval::{Answer, Approver, Grants, NobodyThere, Request};
use callgate_agent::audit::{AuditError, AuditLog, own_path};
use callgate_agent::cancel::Cancel;
use callgate_agent::chat::{Answered, Chat, ChatEvent, End, Setting};
use callgate_agent::config::{Config, ConfigBuilder, FILE, Places, StateFolder, check_way};
use callgate_agent::id::random_id;
use callgate_agent::model::BoxFuture;
use callgate_agent::tools::files::{FS_READ, FS_WRITE, FileNames, Root, file_tools};
use callgate_agent::tools::mcp::{Mcp, McpServer};
use callgate_agent::tools::{Completion, ListedTool, RunTool, ToolError, ToolErrorCode, Toolbox};
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use serde_json::{Value, json};

use crate::args::ChatArgs;
use crate::chat_view::View;
use crate::config::{Sources, places, stop};
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::paint::{Breaks, Paint, Tone, visible};
use crate::trust::Asking;

/// The file of the state folder where lines that were typed are kept, each as JSON.
const TYPED: &str = "chat_history";
/// How many of them.
const MOST_TYPED: usize = 1_000;
/// How many tools are named at the beginning.
const NAMED: usize = 8;
/// The exit code of a program that Ctrl-C ended, as shells give it.
const INTERRUPTED: i32 = 130;

pub(crate) fn run(args: &ChatArgs, paint: Paint) -> Result<Outcome, Stop> {
    let config = config(args, paint)?;
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
    // The thread of the line editor may still wait for a line; the program ends without it.
    runtime.shutdown_background();
    outcome
}

/// The configuration, decided about before anything is connected, started or written.
fn config(args: &ChatArgs, paint: Paint) -> Result<Config, Stop> {
    let mut flags: Vec<(&str, &str, &str)> = Vec::new();
    flags.extend(args.profile.as_deref().map(|name| ("--profile", "profile", name)));
    flags.extend(args.provider.as_deref().map(|name| ("--provider", "provider", name)));
    let dialects = args.dialect.join(",");
    flags.extend((!dialects.is_empty()).then_some(("--dialect", "dialects", dialects.as_str())));
    let asking = if args.once.is_some() { Asking::Nobody } else { Asking::Terminal(paint) };
    let (file, root) = (args.config.as_deref(), Some(args.root.as_path()));
    let builder = Sources { file, root, flags: &flags, sets: &args.set, asking }.builder()?;
    let build = |builder: ConfigBuilder| builder.build().map_err(|errors| stop(&errors));
    let config = match &args.model {
        // `--model` names a key of the chosen provider, which is known only after everything else was read.
        Some(model) => {
            let key = format!("providers.{}.model", build(builder.clone())?.provider());
            build(builder.flag("--model", &key, model))?
        }
        None => build(builder)?,
    };
    if let Some(audit) = config.audit() {
        check_way(Path::new("."), &audit.folder).map_err(|error| stop(&error.into()))?;
    }
    Ok(config)
}

async fn once(question: &str, args: &ChatArgs, config: &Config, paint: Paint) -> Result<Outcome, Stop> {
    let interrupts = Interrupts::listen().await;
    let (mut chat, servers) = begin(args, config, Box::new(NobodyThere)).await?;
    let mut view = if args.json { View::silent(paint) } else { View::split(paint) };
    let mut responses: Vec<Value> = Vec::new();
    let mut tell = |event: ChatEvent<'_>| {
        if let ChatEvent::Judged { response, asked_again, served, is_interrupted } = &event {
            responses.push(json!({
                "response": response,
                "asked_again": asked_again,
                "served": served,
                "interrupted": is_interrupted,
            }));
        }
        view.show(&event);
    };
    let answered = interrupts.ask(&mut chat, question, &mut tell).await;
    let ended = chat.end();
    for server in servers {
        server.close().await;
    }
    if args.json {
        let mut all = json!(answered);
        all["responses"] = json!(responses);
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

async fn converse(args: &ChatArgs, config: &Config, paint: Paint) -> Result<Outcome, Stop> {
    let interrupts = Interrupts::listen().await;
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let keyboard = Keyboard::new()?;
    let approver: Box<dyn Approver> = match is_terminal {
        true => Box::new(AtTerminal { keyboard: keyboard.clone(), paint }),
        false => Box::new(NobodyThere),
    };
    let (mut chat, servers) = begin(args, config, approver).await?;
    greet(config, &chat, paint)?;
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
        let answered = interrupts.ask(&mut chat, &line, &mut |event| view.show(&event)).await;
        view.end(&answered)?;
        all_fine &= answered.end.is_fine();
        if let End::Unrecorded { error } = &answered.end {
            return Err(unrecorded(error));
        }
    }
    if is_terminal {
        keyboard.keep();
    }
    chat.end().map_err(|error| unrecorded(&error))?;
    for server in servers {
        server.close().await;
    }
    Ok(Outcome::rejected_if(!all_fine && !is_terminal))
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
    lines.push("Ctrl-C stops an answer, Ctrl-D ends the conversation.".to_owned());
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
                    None => std::process::exit(INTERRUPTED),
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

/// The conversation that flags and configuration describe, and its MCP servers, which have to be kept for as long.
async fn begin(
    args: &ChatArgs,
    config: &Config,
    approver: Box<dyn Approver>,
) -> Result<(Chat, Vec<Mcp>), Stop> {
    let mut grants = Grants::new();
    let mut tools = Toolbox::new();
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
        for tool in listed(path, config)? {
            if let Some(permission) = &tool.tool().permission {
                grants.grant(permission, "the command was given the tool");
            }
            add(&mut tools, Arc::new(tool))?;
        }
    }
    let servers = servers(args, config, &tools).await?;
    for tool in servers.iter().flat_map(Mcp::tools) {
        add(&mut tools, Arc::clone(tool))?;
    }
    if config.needs_completion() {
        add(&mut tools, Arc::new(Completion::new()))?;
    }
    let unfit = |error: &dyn std::fmt::Display| Stop::usage(error, "see `callgate config show`");
    let (builder, dialect) = crate::config::gate(config, &args.dialect_file)?;
    let gate = builder.tools(tools.registry().clone()).build().map_err(|error| unfit(&error))?;
    let model =
        config.model(tools.registry(), |name| std::env::var(name).ok()).map_err(|fault| unfit(&fault))?;
    // The log is opened last: a conversation that fails to begin would leave one without the record of its end.
    let audit = match config.audit() {
        Some(settings) => Some(AuditLog::create(settings, &random_id()).map_err(|error| unrecorded(&error))?),
        None => None,
    };
    let mut setting = Setting::with_gate(model, gate, tools);
    setting.dialect = dialect;
    setting.parameters = config.parameters();
    setting.retry = config.retry();
    setting.approval = config.approval();
    setting.approver = approver;
    setting.grants = grants;
    setting.audit = audit;
    setting.spending = config.spending();
    setting.max_strikes = config.max_strikes();
    setting.strike_mode = config.strike_mode();
    setting.stop_after_call = config.stop_after_call();
    setting.context = config.context();
    setting.endless = config.endless();
    setting.examples = config.examples();
    let chat = Chat::begin(setting, config.instructions()).map_err(|error| unrecorded(&error))?;
    Ok((chat, servers))
}

/// The MCP servers of the configuration and the command line, connected. A server of the command line stands in place
/// of a configured one of the same name. A name that stands before that of another tool is rejected before anything starts.
async fn servers(args: &ChatArgs, config: &Config, tools: &Toolbox) -> Result<Vec<Mcp>, Stop> {
    let unfit = |error: ToolError| {
        let help = match error.code {
            ToolErrorCode::NameTaken => error.code.help(),
            _ => "see `callgate chat --help`",
        };
        Stop::usage(format!("{}: {} ({})", error.place, error.message, error.code.word()), help)
    };
    let flags: Vec<McpServer> =
        args.mcp.iter().map(|text| McpServer::parse(text)).collect::<Result<_, _>>().map_err(unfit)?;
    let mut configured = config
        .mcp_servers(|name| std::env::var(name).ok())
        .map_err(|error| Stop::usage(&error, "see `callgate config show`"))?;
    configured.retain(|server| flags.iter().all(|flag| flag.name != server.name));
    let between = if config.file_names() == FileNames::Dotted { "." } else { "__" };
    let all: Vec<&McpServer> = configured.iter().chain(&flags).collect();
    for (number, server) in all.iter().enumerate() {
        tools.admit(&server.name, between).map_err(unfit)?;
        let front = |server: &McpServer| format!("{}{between}", server.name);
        let others = all.iter().enumerate().filter(|(other, _)| *other != number);
        if others.into_iter().any(|(_, other)| front(other).starts_with(&front(server))) {
            let message = "tools of another server begin with this name; give one of them another";
            return Err(unfit(ToolError::new(ToolErrorCode::NameTaken, server.name.as_str(), message)));
        }
    }
    let mut servers = Vec::new();
    for server in configured.iter().chain(&flags) {
        let mcp = Mcp::connect(server, between, &config.secret_variables()).await.map_err(unfit)?;
        for why in mcp.left_out() {
            // Only a remark: the server's other tools can be used, and standard error may be closed.
            let why = visible(why, Breaks::Show).into_owned();
            let _ = writeln!(io::stderr(), "callgate: a tool of {} is left out: {why}", server.name);
        }
        servers.push(mcp);
    }
    Ok(servers)
}

/// The tools of a list, each with its program where the list names one.
fn listed(path: &Path, config: &Config) -> Result<Vec<ListedTool>, Stop> {
    let text = input::read_text(path, "a JSON list of tools")?;
    let unfit = |error: &dyn std::fmt::Display| Stop::usage(format!("{}: {error}", input::name_of(path)), "");
    // The whole list has to hold together: no name stands in it twice.
    Registry::from_json(&text).map_err(|error| unfit(&error))?;
    let list: Value = serde_json::from_str(&text).map_err(|error| unfit(&error))?;
    let entries = list["tools"].as_array().or_else(|| list.as_array());
    let secrets = config.secret_variables();
    let listed = |entry: &Value| {
        let tool = Tool::from_value(entry).map_err(|error| unfit(&error))?;
        ListedTool::from_entry(tool, entry, &secrets).map_err(|error| unfit(&error))
    };
    entries.into_iter().flatten().map(listed).collect()
}

fn add(tools: &mut Toolbox, tool: Arc<dyn RunTool>) -> Result<(), Stop> {
    tools.add(tool).map_err(|error| Stop::usage(error, "give each tool a name of its own"))
}

/// The folder of the file tools, with the host's own files kept out of their reach.
fn root(args: &ChatArgs, config: &Config) -> Result<Root, Stop> {
    let failed = |error: ToolError| Stop::usage(error, "name a folder with --root");
    let mut root = Root::open(&args.root).map_err(failed)?;
    let audit = config.audit();
    let records = audit.iter().flat_map(|audit| {
        let heads = audit.state.iter().map(|state| state.join("callgate"));
        [audit.folder.clone()].into_iter().chain(audit.key_file.clone()).chain(heads)
    });
    let file = args.config.clone().unwrap_or_else(|| FILE.into());
    // Tool lists and dialect files decide which programs run and how calls are read, so no file tool writes them.
    let dialects = config.dialect_files().iter().map(PathBuf::from);
    // Nor does one write the user's own configuration and the answers about trust.
    let Places { config: own, state } = places();
    let others = args.dialect_file.iter().chain(&args.tools).cloned().chain(dialects);
    // A path that does not exist yet is protected too: a tool could create it.
    let whole = |path: &Path| own_path(path).ok();
    for own in records.chain([file]).chain(others).chain(own).chain(state) {
        let inside = whole(&own)
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

/// Where lines are typed: one editor for questions and approvals, so that no two wait for the same line.
#[derive(Clone)]
struct Keyboard {
    editor: Arc<Mutex<DefaultEditor>>,
    /// Whether the editor still waits for a line whose question is over.
    abandoned: Arc<AtomicBool>,
    /// Where lines are kept.
    state: Option<StateFolder>,
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
        let state = places().state.map(StateFolder::at);
        // A missing or unreadable history is no error: only recalling earlier lines is lost.
        let typed = state.as_ref().and_then(|state| state.read(TYPED).ok().flatten()).unwrap_or_default();
        for line in typed.lines().filter_map(|line| serde_json::from_str::<String>(line).ok()) {
            let _ = editor.add_history_entry(line);
        }
        Ok(Keyboard { editor: Arc::new(Mutex::new(editor)), abandoned: Arc::default(), state })
    }

    async fn line(&self, prompt: String) -> Typed {
        if self.abandoned.swap(true, Ordering::SeqCst) {
            // The line editor cannot be interrupted: it reads one more line, which is discarded.
            let _ = writeln!(io::stdout(), "\nthe question is over; press Return to go on");
        }
        let editor = Arc::clone(&self.editor);
        let typed = tokio::task::spawn_blocking(move || {
            editor.lock().unwrap_or_else(PoisonError::into_inner).readline(&prompt)
        });
        let typed = typed.await;
        self.abandoned.store(false, Ordering::SeqCst);
        match typed {
            Ok(Ok(line)) => Typed::Line(line),
            Ok(Err(ReadlineError::Interrupted)) => Typed::Interrupted,
            _ => Typed::Closed,
        }
    }

    fn remember(&self, line: &str) {
        // A line that cannot be added to the history still counts as typed.
        let _ = self.editor.lock().unwrap_or_else(PoisonError::into_inner).add_history_entry(line);
    }

    fn keep(&self) {
        let Some(state) = &self.state else { return };
        let editor = self.editor.lock().unwrap_or_else(PoisonError::into_inner);
        let typed: Vec<String> =
            editor.history().into_iter().map(|line| format!("{}\n", json!(line))).collect();
        let text = typed[typed.len().saturating_sub(MOST_TYPED)..].concat();
        // Failing to save the history is no error: it only serves recall, and is no record.
        let _ = state.write(TYPED, &text);
    }
}

/// Asks the user at the terminal. Only a typed `y` or `yes` is a yes; what was typed before the question does not count.
struct AtTerminal {
    keyboard: Keyboard,
    paint: Paint,
}

impl Approver for AtTerminal {
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let mut is_short = true;
            loop {
                let mut text = String::from("\n");
                let mut tone = Tone::Plain;
                for line in request.lines(is_short, Paint::columns_now()) {
                    // A wrapped line keeps the colour of the line that it continues.
                    tone = match line.split_once("│ ") {
                        Some((label, _)) if label.starts_with("call") => Tone::Strong,
                        Some((_, text)) if text.starts_with('+') => Tone::Good,
                        Some((_, text)) if text.starts_with('-') => Tone::Bad,
                        Some(_) => Tone::Plain,
                        None => tone,
                    };
                    text.push_str(&format!("{}\n", self.paint.tone(tone, line)));
                }
                if io::stdout().write_all(text.as_bytes()).is_err() {
                    return Answer::Closed;
                }
                forget_typed();
                let prompt = "run it? [y]es, [v]iew all, anything else is no: ".to_owned();
                match self.keyboard.line(prompt).await {
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
pub(crate) fn forget_typed() {
    #[cfg(unix)]
    // Where pending input cannot be discarded, the question is asked all the same.
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}
