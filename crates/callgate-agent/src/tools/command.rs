//! Tools that are programs of the user: a call starts the program, hands it the arguments as JSON on its standard
//! input, and takes its standard output for the result. No shell takes part.

use std::process::Stdio;

use callgate::Tool;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use super::{Prepared, RunTool, ToolError, ToolErrorCode, clipped};
use crate::model::Pending;

/// The most bytes of a result that a model reads.
const RESULT: usize = 256 << 10;
/// The most bytes of what a program says about its failure.
const COMPLAINT: usize = 4 << 10;

/// A tool that is described in a list; it runs where the list names its program.
#[derive(Clone, Debug)]
pub struct ListedTool {
    tool: Tool,
    command: Vec<String>,
    secrets: Vec<String>,
}

impl ListedTool {
    /// Reads what a list says about running a tool: `command`, a list of the program and its arguments. A tool with a
    /// program asks before it runs, unless its entry says `"dangerous": false`. `secrets` are the environment variables
    /// that the program does not get.
    pub fn from_entry(tool: Tool, entry: &Value, secrets: &[String]) -> Result<Self, ToolError> {
        let own = |field: &str| match &entry["function"][field] {
            Value::Null => &entry[field],
            inner => inner,
        };
        let words = |items: &Vec<Value>| {
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
        };
        let command = match own("command") {
            Value::Null => Vec::new(),
            Value::Array(items) => words(items)
                .filter(|words| words.first().is_some_and(|word| !word.is_empty()))
                .ok_or_else(|| {
                    let message = "`command` must be a list of strings: the program and its arguments";
                    ToolError::new(ToolErrorCode::BadArguments, tool.name.as_str(), message)
                })?,
            _ => {
                let message =
                    "`command` must be a list, as in [\"python3\", \"tool.py\"]; no shell takes part";
                return Err(ToolError::new(ToolErrorCode::BadArguments, tool.name.as_str(), message));
            }
        };
        let asks = !command.is_empty() && own("dangerous") != &Value::Bool(false);
        let tool = if asks { tool.dangerous() } else { tool };
        Ok(ListedTool { tool, command, secrets: secrets.to_vec() })
    }
}

impl RunTool for ListedTool {
    fn tool(&self) -> &Tool {
        &self.tool
    }

    fn prepare<'a>(&'a self, arguments: &'a Value) -> Pending<'a, Result<Prepared, ToolError>> {
        let name = self.tool.name.clone();
        let Some((program, rest)) = self.command.split_first() else {
            let message = format!("`{name}` is only described: nothing here runs it");
            let error = ToolError::new(ToolErrorCode::NoRunner, "", message);
            return Box::pin(std::future::ready(Err(error)));
        };
        let preview = format!("starts: {}", self.command.join(" "));
        let mut command = Command::new(program);
        command.args(rest).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        for secret in &self.secrets {
            command.env_remove(secret);
        }
        let input = arguments.to_string();
        let prepared = Prepared::new(move || run(name, command, input)).showing(preview);
        Box::pin(std::future::ready(Ok(prepared)))
    }
}

async fn run(name: String, mut command: Command, input: String) -> Result<String, ToolError> {
    let failed = |message: String| ToolError::new(ToolErrorCode::Failed, name.as_str(), message);
    let mut child =
        Group(command.spawn().map_err(|error| failed(format!("the program cannot be started: {error}")))?);
    let (stdin, stdout, stderr) = (child.0.stdin.take(), child.0.stdout.take(), child.0.stderr.take());
    let feed = async {
        if let Some(mut stdin) = stdin {
            // A program that does not read its input may still do its work.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    };
    let ((), given, complaint) = tokio::join!(feed, bounded(stdout, RESULT), bounded(stderr, COMPLAINT));
    let status = child.0.wait().await.map_err(|error| failed(format!("the program was lost: {error}")))?;
    let (given, whole) = given.map_err(|error| failed(format!("its output cannot be read: {error}")))?;
    if !status.success() {
        let (said, _) = complaint.unwrap_or_default();
        let said = if said.is_empty() { given } else { said };
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        return Err(failed(format!("the program ended with {status}: {}", clipped(said, COMPLAINT))));
    }
    let is_cut = whole > given.len();
    let mut text = match String::from_utf8(given) {
        Ok(text) => text,
        // A character that the limit cut in two is no fault of the program.
        Err(error) if is_cut && error.utf8_error().error_len().is_none() => {
            let end = error.utf8_error().valid_up_to();
            String::from_utf8_lossy(&error.into_bytes()[..end]).into_owned()
        }
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            return Err(failed(format!("its output is no UTF-8 text from byte {at} on")));
        }
    };
    if is_cut {
        text.push_str(&format!("\n[truncated: {} of {whole} bytes]", text.len()));
    }
    Ok(text)
}

/// The first bytes of a stream and how many there were. It is read to its end, so that the writer never waits.
async fn bounded(stream: Option<impl AsyncRead + Unpin>, most: usize) -> std::io::Result<(Vec<u8>, usize)> {
    let (mut kept, mut whole) = (Vec::new(), 0);
    let Some(mut stream) = stream else { return Ok((kept, whole)) };
    let mut piece = [0; 8192];
    loop {
        let count = stream.read(&mut piece).await?;
        if count == 0 {
            return Ok((kept, whole));
        }
        whole += count;
        let room = most.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(&piece[..room]);
    }
}

/// A program and whatever it started. If nobody waits for it any more, all of them end.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        // A program that has ended has no number any more that could be somebody else's.
        #[cfg(unix)]
        if let Some(leader) = self.0.id().and_then(|id| i32::try_from(id).ok())
            && let Some(leader) = rustix::process::Pid::from_raw(leader)
        {
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}
