//! The beginning of a conversation: the tools, servers, gate, model and log that flags and configuration describe.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callgate::{Registry, Tool};
use callgate_agent::approval::{Approver, EXECUTE, Grants};
use callgate_agent::audit::{AuditError, AuditLog, own_path, session_path};
use callgate_agent::chat::{Chat, Setting};
use callgate_agent::config::{Config, FILE, Places};
use callgate_agent::guard::SessionGuard;
use callgate_agent::id::random_id;
use callgate_agent::tools::files::{FS_READ, FS_WRITE, FileNames, Root, file_tools};
use callgate_agent::tools::mcp::{Mcp, McpServer};
use callgate_agent::tools::{Completion, ListedTool, RunTool, ShellTool, ToolError, ToolErrorCode, Toolbox};
use serde_json::Value;

use crate::args::ChatArgs;
use crate::config::places;
use crate::exit::Stop;
use crate::input;
use crate::paint::{Breaks, visible};

/// A conversation, and what has to be kept for as long.
pub(super) struct Begun {
    pub(super) chat: Chat,
    /// Its MCP servers.
    servers: Vec<Mcp>,
    /// The file of its records, if there are any.
    pub(super) records: Option<PathBuf>,
    /// The folder, which no other session works in meanwhile.
    _guard: Option<SessionGuard>,
}

impl Begun {
    /// Ends the conversation and its servers.
    pub(super) async fn end(self) -> Result<(), AuditError> {
        let ended = self.chat.end();
        for server in self.servers {
            server.close().await;
        }
        ended
    }
}

/// The conversation that flags and configuration describe.
pub(super) async fn begin(
    args: &ChatArgs,
    config: &Config,
    approver: Box<dyn Approver>,
) -> Result<Begun, Stop> {
    let guard = if config.one_session() { guard(&args.root)? } else { None };
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
    if config.has_shell() {
        let folder = std::fs::canonicalize(&args.root).map_err(|error| {
            Stop::usage(format!("{}: {error}", args.root.display()), "name a folder with --root")
        })?;
        let time = config.spending().call_time;
        grants.grant(EXECUTE, "`tools.shell` is on");
        add(&mut tools, Arc::new(ShellTool::new(folder, time, &config.secret_variables())))?;
    }
    if let Some(path) = &args.tools {
        for tool in listed(path, config)? {
            // A list of tools does not overrule the flag that permits no writing.
            let permission = tool.tool().permission.as_deref();
            if let Some(permission) = permission.filter(|needed| !(args.read_only && *needed == FS_WRITE)) {
                grants.grant(permission, "the command was given the tool");
            }
            add(&mut tools, Arc::new(tool))?;
        }
    }
    let servers = servers(args, config, &tools).await?;
    for tool in servers.iter().flat_map(Mcp::tools) {
        if let Some(permission) = &tool.tool().permission {
            grants.grant(permission, "the command was given the server");
        }
        add(&mut tools, Arc::clone(tool))?;
    }
    if config.needs_completion() {
        add(&mut tools, Arc::new(Completion::new()))?;
    }
    if let Some(stop) = without_model(config) {
        return Err(stop);
    }
    let unfit = |error: &dyn std::fmt::Display| Stop::usage(error, "see `callgate config show`");
    let (builder, dialect) = crate::config::gate(config, &args.dialect_file)?;
    let gate = builder.tools(tools.registry().clone()).build().map_err(|error| unfit(&error))?;
    let model =
        config.model(tools.registry(), |name| std::env::var(name).ok()).map_err(|fault| unfit(&fault))?;
    // The log is opened last: a conversation that fails to begin would leave one without the record of its end.
    let id = random_id();
    let records = config.audit().and_then(|audit| session_path(&audit.folder, &id).ok());
    let audit = config.audit().map(|settings| AuditLog::create(settings, &id)).transpose();
    let audit = audit.map_err(|error| unrecorded(&error))?;
    let mut setting = Setting::with_gate(model, gate, tools);
    setting.native_tools = config.native_tools(dialect.is_some());
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
    Ok(Begun { chat, servers, records, _guard: guard })
}

/// Takes the folder for this session.
fn guard(root: &Path) -> Result<Option<SessionGuard>, Stop> {
    match SessionGuard::take(root) {
        Ok(guard) => Ok(Some(guard)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            let place = own_path(root).unwrap_or_else(|_| root.to_owned());
            let help = "end that one, name another folder with --root, or let both work with --set chat.one_session=false";
            Err(Stop::usage(format!("another session works in {}", place.display()), help))
        }
        // A folder that is not there is told of by whoever needs it; where there are no locks, nobody is kept out.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::Unsupported) => {
            Ok(None)
        }
        Err(error) => {
            let why = visible(&error.to_string(), Breaks::Show).into_owned();
            let _ = writeln!(io::stderr(), "callgate: other sessions in this folder are not noticed: {why}");
            Ok(None)
        }
    }
}

/// Why a server cannot be asked: it has many models, and none is named.
fn without_model(config: &Config) -> Option<Stop> {
    let provider = config.provider();
    (provider == "ollama" && config.parameters().model.is_empty()).then(|| {
        let help = format!("name one with --model, as in --model qwen3, or set `providers.{provider}.model`; `ollama list` shows what is there");
        Stop::usage("no model is named", help)
    })
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

pub(super) fn unrecorded(error: &AuditError) -> Stop {
    Stop::usage(error, "or do without records: --set audit.enabled=false")
}
