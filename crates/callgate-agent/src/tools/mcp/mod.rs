//! Tools of MCP servers: each server's list becomes tools with names of their own, and a call reaches the server only
//! after the gate, the rules and the records.
//!
//! A server is a stranger. Its descriptions are read by the model, so control tokens in them are broken; what it says
//! about the harmlessness of its tools is not believed, so every one of them asks unless a rule says otherwise.

mod http;
mod pipe;
mod size;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use callgate::{Registry, Tool};
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, PaginatedRequestParams};
use rmcp::service::{ClientInitializeError, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport};
use rmcp::{Peer, RoleClient, ServiceError, ServiceExt};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::process::Command;
use tokio::sync::watch;

use super::{Prepared, RunTool, ToolError, ToolErrorCode, clipped, defused};
use crate::approval::{CommandLine, EXECUTE, NETWORK, Preview, Starts};
use crate::model::{Address, BoxFuture, Secret};
use crate::program::{self, Group};
use http::Client;

/// How long a server may take to come up and list its tools.
const READY: Duration = Duration::from_secs(60);
/// How long a program may take to end after its connection did.
const END: Duration = Duration::from_secs(3);
/// The most bytes of one answer, on every way to a server.
const ANSWER: usize = 64 << 20;
/// The most pages, tools and bytes of a list of tools. A list that is longer is rejected: nobody could say which part of it
/// is meant to be left out.
const PAGES: usize = 64;
const TOOLS: usize = 2_000;
const LIST: usize = 16 << 20;
/// The most characters of a description that a model reads.
const DESCRIPTION: usize = 2_000;
/// The most bytes of a result that a model reads.
const RESULT: usize = 256 << 10;

/// A server: what its tools are called after, and how it is reached.
#[derive(Clone, Debug)]
pub struct McpServer {
    /// What stands before the names of its tools.
    pub name: String,
    /// How it is reached.
    pub way: McpWay,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub enum McpWay {
    /// It is started, and spoken to over its standard input and output. No shell takes part.
    Command {
        /// The program.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// Environment variables that it gets besides the few that every program gets.
        variables: Vec<(String, Secret)>,
    },
    /// It runs elsewhere.
    Address {
        /// Its address.
        url: String,
        /// Headers of every request, by name.
        headers: Vec<(String, Secret)>,
        /// The certificates that are trusted instead of the system's.
        ca_file: Option<PathBuf>,
    },
}

/// Whether a server can be called so: its name becomes a part of those of its tools.
pub(crate) fn is_server_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl McpServer {
    /// Reads `NAME=COMMAND ARGUMENTS` or `NAME=http://ADDRESS`. Words with spaces stand in quotes; what a shell would act
    /// on is rejected outside of them, because no shell takes part.
    pub fn parse(text: &str) -> Result<Self, ToolError> {
        let unfit = |message: String| Err(ToolError::new(ToolErrorCode::BadArguments, text, message));
        let Some((name, way)) = text.split_once('=') else {
            return unfit("write NAME=COMMAND or NAME=http://ADDRESS".to_owned());
        };
        let name = name.trim().to_owned();
        if !is_server_name(&name) {
            return unfit("the name of a server is made of letters, digits and _".to_owned());
        }
        let way = way.trim();
        if way.starts_with("http://") || way.starts_with("https://") {
            if let Err(why) = Address::parse(way) {
                return unfit(why);
            }
            let way = McpWay::Address { url: way.to_owned(), headers: Vec::new(), ca_file: None };
            return Ok(McpServer { name, way });
        }
        let CommandLine(mut words) = match CommandLine::parse(way) {
            Ok(line) => line,
            Err(what) => {
                return unfit(format!("no shell takes part, so {what} has to stand in single quotes"));
            }
        };
        if words.is_empty() {
            return unfit("the command is missing".to_owned());
        }
        let program = words.remove(0);
        Ok(McpServer { name, way: McpWay::Command { program, arguments: words, variables: Vec::new() } })
    }
}

/// A server that is connected. Dropping it ends the connection, and the program if one was started.
pub struct Mcp {
    name: String,
    service: RunningService<RoleClient, ()>,
    program: Option<Group>,
    tools: Vec<Arc<dyn RunTool>>,
    left_out: Vec<String>,
}

impl std::fmt::Debug for Mcp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mcp")
            .field("name", &self.name)
            .field("tools", &self.tools.len())
            .finish_non_exhaustive()
    }
}

impl Mcp {
    /// Connects to a server and asks for its tools. `between` stands between the server's name and the tool's; `secrets`
    /// are the environment variables that a started program does not get, even if every program gets them.
    pub async fn connect(server: &McpServer, between: &str, secrets: &[String]) -> Result<Self, ToolError> {
        let failed = |message: String| ToolError::new(ToolErrorCode::Failed, server.name.as_str(), message);
        match &server.way {
            McpWay::Command { program, arguments, variables } => {
                let mut command = Command::new(program);
                // Standard error of the server is dropped: it could act on the terminal.
                command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
                program::confine(&mut command, secrets);
                command.envs(variables.iter().map(|(name, value)| (name, value.expose())));
                let group = Group::start(command);
                let mut group = group.map_err(|error| failed(format!("cannot start {program}: {error}")))?;
                let pipes = group.0.stdout.take().zip(group.0.stdin.take());
                let (read, write) = pipes.ok_or_else(|| failed(format!("{program} has no pipes")))?;
                let mut mcp = Mcp::over_pipe(&server.name, between, read, write).await?;
                mcp.program = Some(group);
                Ok(mcp)
            }
            McpWay::Address { url, headers, ca_file } => {
                let (tell, too_long) = watch::channel(());
                let client = Client::new(url, headers, ca_file.as_deref(), tell).map_err(failed)?;
                let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                let transport = StreamableHttpClientTransport::with_client(client, config);
                Mcp::begin(&server.name, between, NETWORK, transport, too_long).await
            }
        }
    }

    /// Speaks to a server over a pair of pipes.
    pub async fn over_pipe(
        name: &str,
        between: &str,
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<Self, ToolError> {
        let (transport, too_long) = pipe::transport(read, write);
        Mcp::begin(name, between, EXECUTE, transport, too_long).await
    }

    /// Speaks to a server over any transport; its tools need this permission. `too_long` hears of each answer that is larger than is taken, and that
    /// therefore never comes.
    async fn begin<T, E, A>(
        name: &str,
        between: &str,
        permission: &str,
        transport: T,
        too_long: watch::Receiver<()>,
    ) -> Result<Self, ToolError>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let failed = |message: String| ToolError::new(ToolErrorCode::Failed, name, message);
        let connected = async {
            let service = ().serve(transport).await;
            let service = service.map_err(|error| {
                failed(format!("the server did not complete its start: {}", plain(&error)))
            })?;
            let listed = list(name, service.peer()).await?;
            Ok((service, listed))
        };
        let in_time = async {
            let connected = tokio::time::timeout(READY, connected).await;
            connected.unwrap_or_else(|_| Err(failed("the server was not ready in time".to_owned())))
        };
        let (service, listed) = unless_too_long(name, too_long.clone(), in_time).await?;
        let mut mcp =
            Mcp { name: name.to_owned(), service, program: None, tools: Vec::new(), left_out: Vec::new() };
        // Registered one by one: a tool that cannot be used leaves out no other.
        let mut taken = Registry::new();
        for (tool, remote) in described_all(name, between, listed)? {
            if holds_tokens(&tool.parameters) {
                // Names and allowed values cannot be changed without changing what the server takes.
                mcp.left_out.push(format!("`{}`: its parameters hold control tokens", tool.name));
                continue;
            }
            let tool = tool.permission(permission);
            match taken.register(tool.clone()) {
                Ok(()) => mcp.tools.push(Arc::new(McpTool {
                    tool,
                    server: name.to_owned(),
                    remote,
                    peer: mcp.service.peer().clone(),
                    too_long: too_long.clone(),
                })),
                Err(error) => mcp.left_out.push(error.to_string()),
            }
        }
        Ok(mcp)
    }

    /// Its tools.
    pub fn tools(&self) -> &[Arc<dyn RunTool>] {
        &self.tools
    }

    /// Why tools of its list cannot be used, one sentence for each.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Ends the connection in good order.
    pub async fn close(self) {
        // A failure or time-out means that the server is gone or silent; its program is ended below.
        let _ = tokio::time::timeout(Duration::from_secs(5), self.service.cancel()).await;
        if let Some(mut group) = self.program {
            // One that does not end by itself is ended.
            let _ = tokio::time::timeout(END, group.0.wait()).await;
        }
    }
}

/// The tools that a server lists, page by page, up to the limits.
async fn list(name: &str, peer: &Peer<RoleClient>) -> Result<Vec<rmcp::model::Tool>, ToolError> {
    let endless = |what: String| {
        let message = format!("the server's list of tools does not end: {what}; leave the server out");
        ToolError::new(ToolErrorCode::TooLarge, name, message)
    };
    let (mut tools, mut bytes, mut cursors) = (Vec::new(), 0, Vec::new());
    for _ in 0..PAGES {
        let asked = PaginatedRequestParams::default().with_cursor(cursors.last().cloned());
        let page = peer.list_tools(Some(asked)).await.map_err(|error| {
            ToolError::new(ToolErrorCode::Failed, name, format!("the server lists no tools: {error}"))
        })?;
        bytes += serde_json::to_vec(&page).map_or(usize::MAX, |page| page.len()).min(LIST + 1);
        if bytes > LIST {
            return Err(endless(format!("more than {LIST} bytes came")));
        }
        tools.extend(page.tools);
        if tools.len() > TOOLS {
            return Err(endless(format!("more than {TOOLS} tools came")));
        }
        match page.next_cursor {
            None => return Ok(tools),
            Some(cursor) if cursors.contains(&cursor) => {
                return Err(endless("a page led back to an earlier one".to_owned()));
            }
            Some(cursor) => cursors.push(cursor),
        }
    }
    Err(endless(format!("more than {PAGES} pages came")))
}

/// What comes of some work, unless the server sends an answer that is larger than is taken.
async fn unless_too_long<T>(
    name: &str,
    mut too_long: watch::Receiver<()>,
    work: impl Future<Output = Result<T, ToolError>>,
) -> Result<T, ToolError> {
    too_long.mark_unchanged();
    let told = async {
        if too_long.changed().await.is_err() {
            // The sender is gone with the connection; the work itself reports that.
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        () = told => {
            let message = format!("the server's answer is larger than {ANSWER} bytes, or has too many values");
            Err(ToolError::new(ToolErrorCode::TooLarge, name, message))
        }
        done = work => done,
    }
}

/// The tools of a list under their names here, each with what the server calls it. Two of one name are rejected: nobody
/// could say which of them a call means.
fn described_all(
    server: &str,
    between: &str,
    listed: Vec<rmcp::model::Tool>,
) -> Result<Vec<(Tool, String)>, ToolError> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut tools = Vec::new();
    for (place, entry) in listed.into_iter().enumerate() {
        let tool = described(server, between, &entry);
        if let Some(first) = places.insert(tool.name.clone(), place) {
            let name = &tool.name;
            let message = format!("tools {first} and {place} of the server's list would both be `{name}`");
            return Err(ToolError::new(ToolErrorCode::NameTaken, server, message));
        }
        tools.push((tool, entry.name.into_owned()));
    }
    Ok(tools)
}

/// What went wrong, without the names of types that carried it here.
fn plain(error: &ClientInitializeError) -> String {
    match error {
        ClientInitializeError::TransportError { error, .. } => error.error.to_string(),
        other => other.to_string(),
    }
}

/// The tool as the gate and the model know it.
fn described(server: &str, between: &str, entry: &rmcp::model::Tool) -> Tool {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = entry.name.chars().map(plain).collect();
    let description = entry.description.as_deref().or(entry.title.as_deref()).unwrap_or_default();
    let description: String = defused(description).chars().take(DESCRIPTION).collect();
    let mut schema = Value::Object((*entry.input_schema).clone());
    defuse_descriptions(&mut schema);
    Tool::new(format!("{server}{between}{name}"), description, schema).dangerous()
}

/// Breaks control tokens in what a schema says about itself; what it checks stays as it is.
fn defuse_descriptions(schema: &mut Value) {
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    match value {
                        Value::String(text)
                            if matches!(key.as_str(), "description" | "title" | "$comment") =>
                        {
                            *text = defused(text).chars().take(DESCRIPTION).collect();
                        }
                        other => open.push(other),
                    }
                }
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
}

/// Whether a text or a key anywhere in a value holds a control token.
fn holds_tokens(value: &Value) -> bool {
    let is_token = |text: &String| defused(text) != *text;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) if is_token(text) => return true,
            Value::Object(members) if members.keys().any(is_token) => return true,
            Value::Object(members) => open.extend(members.values()),
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    false
}

struct McpTool {
    tool: Tool,
    server: String,
    /// What the server calls it.
    remote: String,
    peer: Peer<RoleClient>,
    too_long: watch::Receiver<()>,
}

impl RunTool for McpTool {
    fn tool(&self) -> &Tool {
        &self.tool
    }

    fn prepare<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Result<Prepared, ToolError>> {
        let name = self.tool.name.clone();
        let Value::Object(arguments) = arguments.clone() else {
            let error = ToolError::new(ToolErrorCode::BadArguments, name, "the arguments are no object");
            return Box::pin(std::future::ready(Err(error)));
        };
        let (peer, remote, too_long) = (self.peer.clone(), self.remote.clone(), self.too_long.clone());
        let preview = Preview {
            starts: Starts::Server { server: self.server.clone(), tool: self.remote.clone() },
            effect: "the server gets the arguments; what it does with them is its own matter",
            ..Preview::default()
        };
        let call = move || async move {
            let call = CallToolRequestParams::new(remote).with_arguments(arguments);
            let answer = async {
                let answer = peer.call_tool(call).await;
                answer.map_err(|error| ToolError::new(fault(&error), name.as_str(), error.to_string()))
            };
            given(&name, unless_too_long(&name, too_long, answer).await?)
        };
        Box::pin(std::future::ready(Ok(Prepared::new(call).showing(preview))))
    }
}

/// What kind of error it is that a server gave no answer.
fn fault(error: &ServiceError) -> ToolErrorCode {
    match error {
        ServiceError::TransportSend(_) | ServiceError::TransportClosed => ToolErrorCode::Unreachable,
        ServiceError::Timeout { .. } => ToolErrorCode::Timeout,
        _ => ToolErrorCode::Failed,
    }
}

/// What a server gave, as text. An error of the tool is an error here.
fn given(name: &str, result: CallToolResult) -> Result<String, ToolError> {
    let parts: Vec<String> = result.content.into_iter().map(part).collect();
    let mut text = parts.join("\n");
    if text.is_empty()
        && let Some(value) = &result.structured_content
    {
        text = value.to_string();
    }
    let text = clipped(text, RESULT);
    match result.is_error {
        Some(true) => Err(ToolError::new(ToolErrorCode::Failed, name, text)),
        _ => Ok(text),
    }
}

fn part(block: ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text,
        // What is no text is described, not sent on.
        other => {
            let value = serde_json::to_value(other).unwrap_or_default();
            let kind = value["type"].as_str().unwrap_or("something").to_owned();
            let place = value["uri"].as_str().or_else(|| value["resource"]["uri"].as_str());
            match (value["resource"]["text"].as_str(), place) {
                (Some(text), _) => text.to_owned(),
                (None, Some(place)) => format!("[{kind}: {place}]"),
                (None, None) => format!("[{kind}: not shown]"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_named_and_reached_as_they_are_written() {
        let command = |text: &str| match McpServer::parse(text).unwrap() {
            McpServer { name, way: McpWay::Command { program, arguments, .. } } => (name, program, arguments),
            other => unreachable!("{other:?}"),
        };
        let (name, program, arguments) = command("files = npx -y server '/tmp/a b' \"c's\"");
        assert_eq!((name.as_str(), program.as_str()), ("files", "npx"));
        assert_eq!(arguments, ["-y", "server", "/tmp/a b", "c's"]);
        assert_eq!(command("a='/opt/my server/run' '$HOME'").1, "/opt/my server/run");
        assert_eq!(command("a=run '$HOME' x=1").2, ["$HOME", "x=1"]);
        let server = McpServer::parse("far=https://example.test/mcp").unwrap();
        assert!(matches!(server.way, McpWay::Address { url, .. } if url == "https://example.test/mcp"));
        for text in [
            "npx server",
            "=x",
            "a b=x",
            "a=",
            "a.b=x",
            "a=http://",
            "a=run ~/x",
            "a=run 'open",
            "a=run | sh",
            "a=X=1 run",
        ] {
            assert_eq!(McpServer::parse(text).unwrap_err().code, ToolErrorCode::BadArguments, "{text}");
        }
    }
}
