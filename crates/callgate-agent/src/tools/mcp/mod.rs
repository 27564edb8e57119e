//! Tools of MCP servers: each server's list becomes tools with names of their own, and a call reaches the server only
//! after the gate, the rules and the records.
//!
//! A server is a stranger. Its descriptions are read by the model, so control tokens in them are broken; what it says
//! about the harmlessness of its tools is not believed, so every one of them asks unless a rule says otherwise.

mod http;

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use callgate::{Registry, Tool};
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock};
use rmcp::service::{ClientInitializeError, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{Peer, RoleClient, ServiceExt};
use serde_json::Value;

use super::{Prepared, RunTool, ToolError, ToolErrorCode, clipped, defused};
use crate::approval::CommandLine;
use crate::model::{Address, Pending, Secret};
use http::Client;

/// How long a server may take to come up and list its tools.
const READY: Duration = Duration::from_secs(60);
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
        /// Environment variables that it gets besides those of this process.
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
    /// on is refused outside of them, because no shell takes part.
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
    /// are the environment variables that a started program does not get.
    pub async fn connect(server: &McpServer, between: &str, secrets: &[String]) -> Result<Self, ToolError> {
        let failed = |message: String| ToolError::new(ToolErrorCode::Failed, server.name.as_str(), message);
        match &server.way {
            McpWay::Command { program, arguments, variables } => {
                let mut command = tokio::process::Command::new(program);
                command.args(arguments).kill_on_drop(true);
                for name in secrets {
                    command.env_remove(name);
                }
                command.envs(variables.iter().map(|(name, value)| (name, value.expose())));
                // What it says beside the protocol could act on the terminal.
                let child = TokioChildProcess::builder(command).stderr(Stdio::null()).spawn();
                let (child, _) = child.map_err(|error| failed(format!("cannot start {program}: {error}")))?;
                Mcp::over(&server.name, between, child).await
            }
            McpWay::Address { url, headers, ca_file } => {
                let client = Client::new(url, headers, ca_file.as_deref()).map_err(failed)?;
                let config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                let transport = StreamableHttpClientTransport::with_client(client, config);
                Mcp::over(&server.name, between, transport).await
            }
        }
    }

    /// Speaks to a server over any transport.
    pub async fn over<T, E, A>(name: &str, between: &str, transport: T) -> Result<Self, ToolError>
    where
        T: IntoTransport<RoleClient, E, A>,
        E: std::error::Error + Send + Sync + 'static,
    {
        let failed = |message: String| ToolError::new(ToolErrorCode::Failed, name, message);
        let connected = async {
            let service = ().serve(transport).await;
            let service =
                service.map_err(|error| failed(format!("the server did not begin: {}", plain(&error))))?;
            let listed = service.list_all_tools().await;
            let listed = listed.map_err(|error| failed(format!("the server lists no tools: {error}")))?;
            Ok((service, listed))
        };
        let (service, listed) = tokio::time::timeout(READY, connected)
            .await
            .unwrap_or_else(|_| Err(failed("the server was not ready in time".to_owned())))?;
        let mut mcp = Mcp { name: name.to_owned(), service, tools: Vec::new(), left_out: Vec::new() };
        // One by one, so that a description that cannot be used costs no other tool.
        let mut taken = Registry::new();
        for entry in listed {
            let tool = described(name, between, &entry);
            if holds_tokens(&tool.parameters) {
                // Names and allowed values cannot be changed without changing what the server takes.
                mcp.left_out.push(format!("`{}`: its parameters hold control tokens", tool.name));
                continue;
            }
            match taken.register(tool.clone()) {
                Ok(()) => {
                    let peer = mcp.service.peer().clone();
                    mcp.tools.push(Arc::new(McpTool { tool, remote: entry.name.into_owned(), peer }));
                }
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
        // A server that is gone already is as closed as it can be.
        let _ = tokio::time::timeout(Duration::from_secs(5), self.service.cancel()).await;
    }
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
    /// What the server calls it.
    remote: String,
    peer: Peer<RoleClient>,
}

impl RunTool for McpTool {
    fn tool(&self) -> &Tool {
        &self.tool
    }

    fn prepare<'a>(&'a self, arguments: &'a Value) -> Pending<'a, Result<Prepared, ToolError>> {
        let name = self.tool.name.clone();
        let Value::Object(arguments) = arguments.clone() else {
            let error = ToolError::new(ToolErrorCode::BadArguments, name, "the arguments are no object");
            return Box::pin(std::future::ready(Err(error)));
        };
        let (peer, remote) = (self.peer.clone(), self.remote.clone());
        Box::pin(std::future::ready(Ok(Prepared::new(move || async move {
            let call = CallToolRequestParams::new(remote).with_arguments(arguments);
            match peer.call_tool(call).await {
                Ok(result) => given(&name, &result),
                Err(error) => Err(ToolError::new(ToolErrorCode::Failed, name, error.to_string())),
            }
        }))))
    }
}

/// What a server gave, as text. An error of the tool is an error here.
fn given(name: &str, result: &CallToolResult) -> Result<String, ToolError> {
    let parts: Vec<String> = result.content.iter().map(part).collect();
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

fn part(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
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
