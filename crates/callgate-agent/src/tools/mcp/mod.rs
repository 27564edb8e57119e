//! Tools of MCP servers: each server's list becomes tools with names of their own, and a call reaches the server only
//! after the gate, the rules and the records.
//!
//! A server is a stranger. Its descriptions are read by the model, so control tokens in them are broken; what it says
//! about the harmlessness of its tools is not believed, so every one of them asks unless a rule says otherwise.

mod http;

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use callgate::{Registry, Tool};
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock};
use rmcp::service::RunningService;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{Peer, RoleClient, ServiceExt};
use serde_json::Value;

use super::{Prepared, RunTool, ToolError, ToolErrorCode, defused};
use crate::model::{Address, Pending};
use http::Client;

/// How long a server may take to come up and list its tools.
const READY: Duration = Duration::from_secs(60);
/// The most characters of a description that a model reads.
const DESCRIPTION: usize = 2_000;
/// The most bytes of a result that a model reads.
const RESULT: usize = 256 << 10;

/// A server: what its tools are called after, and how it is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpServer {
    /// What stands before the names of its tools.
    pub name: String,
    /// How it is reached.
    pub way: McpWay,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpWay {
    /// It is started, and spoken to over its standard input and output. No shell takes part.
    Command {
        /// The program.
        program: String,
        /// Its arguments.
        arguments: Vec<String>,
    },
    /// It runs elsewhere.
    Address(String),
}

impl McpServer {
    /// Reads `NAME=COMMAND ARGUMENTS` or `NAME=http://ADDRESS`.
    pub fn parse(text: &str) -> Result<Self, ToolError> {
        let unfit = |message: String| Err(ToolError::new(ToolErrorCode::BadArguments, text, message));
        let Some((name, way)) = text.split_once('=') else {
            return unfit("write NAME=COMMAND or NAME=http://ADDRESS".to_owned());
        };
        let name = name.trim();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_plain) {
            return unfit("the name of a server is made of letters, digits and _".to_owned());
        }
        let way = way.trim();
        if way.starts_with("http://") || way.starts_with("https://") {
            if let Err(why) = Address::parse(way) {
                return unfit(why);
            }
            return Ok(McpServer { name: name.to_owned(), way: McpWay::Address(way.to_owned()) });
        }
        let mut words = way.split_whitespace().map(str::to_owned);
        let Some(program) = words.next() else { return unfit("the command is missing".to_owned()) };
        let way = McpWay::Command { program, arguments: words.collect() };
        Ok(McpServer { name: name.to_owned(), way })
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
            McpWay::Command { program, arguments } => {
                let mut command = tokio::process::Command::new(program);
                command.args(arguments).kill_on_drop(true);
                for name in secrets {
                    command.env_remove(name);
                }
                // What it says beside the protocol could act on the terminal.
                let child = TokioChildProcess::builder(command).stderr(Stdio::null()).spawn();
                let (child, _) = child.map_err(|error| failed(format!("cannot start {program}: {error}")))?;
                Mcp::over(&server.name, between, child).await
            }
            McpWay::Address(address) => {
                let client = Client::new(address).map_err(failed)?;
                let config = StreamableHttpClientTransportConfig::with_uri(address.as_str());
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
            let service = service.map_err(|error| failed(format!("the server did not begin: {error}")))?;
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

/// The tool as the gate and the model know it.
fn described(server: &str, between: &str, entry: &rmcp::model::Tool) -> Tool {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = entry.name.chars().map(plain).collect();
    let description = entry.description.as_deref().or(entry.title.as_deref()).unwrap_or_default();
    let description: String = defused(description).chars().take(DESCRIPTION).collect();
    let schema = Value::Object((*entry.input_schema).clone());
    Tool::new(format!("{server}{between}{name}"), description, schema).dangerous()
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
    if text.len() > RESULT {
        let whole = text.len();
        let mut end = RESULT;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(&format!("\n[truncated: {end} of {whole} bytes]"));
    }
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
        let server = McpServer::parse("files = npx -y server /tmp/a").unwrap();
        let arguments = ["-y", "server", "/tmp/a"].map(str::to_owned).to_vec();
        assert_eq!(server.name, "files");
        assert_eq!(server.way, McpWay::Command { program: "npx".to_owned(), arguments });
        let server = McpServer::parse("far=https://example.test/mcp").unwrap();
        assert_eq!(server.way, McpWay::Address("https://example.test/mcp".to_owned()));
        for text in ["npx server", "=x", "a b=x", "a=", "a.b=x", "a=http://"] {
            assert_eq!(McpServer::parse(text).unwrap_err().code, ToolErrorCode::BadArguments, "{text}");
        }
    }
}
