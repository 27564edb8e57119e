//! Tools that are programs of the user: a call starts the program, hands it the arguments as JSON on its standard
//! input, and takes its standard output for the result. No shell takes part.

use std::path::Path;
use std::process::Stdio;

use callgate::Tool;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::{Prepared, RunTool, ToolError, ToolErrorCode, clipped};
use crate::approval::{EXECUTE, Preview, Starts};
use crate::model::BoxFuture;
use crate::program::{self, Group};

/// The most bytes of a result that a model reads.
const RESULT: usize = 256 << 10;
/// The most bytes of what a program says about its failure.
const COMPLAINT: usize = 4 << 10;

/// A tool that is described in a list; it runs where the list names its program.
#[derive(Clone, Debug)]
pub struct ListedTool {
    tool: Tool,
    command: Vec<String>,
    /// Environment variables that the program gets besides the few that every one gets.
    variables: Vec<String>,
    secrets: Vec<String>,
}

impl ListedTool {
    /// Reads what a list says about running a tool: `command`, a list of the program and its arguments, and `env`, a list of
    /// environment variables that it gets. A tool asks before it runs unless its entry says `"dangerous": false`. `secrets`
    /// are the environment variables that no program gets.
    pub fn from_entry(mut tool: Tool, entry: &Value, secrets: &[String]) -> Result<Self, ToolError> {
        let unfit =
            |message: String| ToolError::new(ToolErrorCode::BadArguments, tool.name.as_str(), message);
        let own = |field: &str| match &entry["function"][field] {
            Value::Null => &entry[field],
            inner => inner,
        };
        let words = |field: &str| match own(field) {
            Value::Null => Some(Vec::new()),
            Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        let is_command = |words: &Vec<String>| match words.first() {
            Some(program) => !program.is_empty(),
            None => own("command").is_null(),
        };
        let command = words("command").filter(is_command).ok_or_else(|| {
            unfit(
                "`command` must be a list of strings, as in [\"python3\", \"tool.py\"]; no shell takes part"
                    .to_owned(),
            )
        })?;
        let is_name = |name: &String| !name.is_empty() && !name.contains(['=', '\0']);
        let variables = words("env")
            .filter(|names| names.iter().all(is_name))
            .ok_or_else(|| unfit("`env` must be a list of the names of environment variables".to_owned()))?;
        if let Some(name) = variables.iter().find(|name| secrets.contains(name)) {
            return Err(unfit(format!("`env` names `{name}`, which is for a provider or a server alone")));
        }
        // A tool is dangerous unless its entry says otherwise.
        tool.dangerous = own("dangerous") != &Value::Bool(false);
        // One that starts a program needs a permission of its own or the one for programs.
        if !command.is_empty() {
            tool.permission.get_or_insert_with(|| EXECUTE.to_owned());
        }
        Ok(ListedTool { tool, command, variables, secrets: secrets.to_vec() })
    }
}

impl RunTool for ListedTool {
    fn tool(&self) -> &Tool {
        &self.tool
    }

    fn prepare<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Result<Prepared, ToolError>> {
        let name = self.tool.name.clone();
        let Some((program, rest)) = self.command.split_first() else {
            let message = format!("`{name}` is only described: nothing here runs it");
            let error = ToolError::new(ToolErrorCode::NoRunner, "", message);
            return Box::pin(std::future::ready(Err(error)));
        };
        // The program is looked up once, here, so that the one that is shown is the one that starts.
        let path = program::find(program);
        let mut command = Command::new(path.as_deref().unwrap_or(Path::new(program)));
        #[cfg(unix)]
        command.arg0(program);
        command.args(rest).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        program::confine(&mut command, &self.secrets);
        command.envs(self.variables.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        let path = path.map_or_else(|| program.clone(), |path| path.to_string_lossy().into_owned());
        let preview = Preview {
            starts: Starts::Program { path, arguments: rest.to_vec() },
            effect: "the program gets the arguments on its standard input, and your rights",
            ..Preview::default()
        };
        let input = arguments.to_string();
        let prepared = Prepared::new(move || run(name, command, input)).showing(preview);
        Box::pin(std::future::ready(Ok(prepared)))
    }
}

/// Runs a program to its end: its output is the result.
pub(super) async fn run(name: String, command: Command, input: String) -> Result<String, ToolError> {
    let failed = |message: String| ToolError::new(ToolErrorCode::Failed, name.as_str(), message);
    let child = Group::start(command);
    let mut child = child.map_err(|error| failed(format!("the program cannot be started: {error}")))?;
    let (stdin, stdout, stderr) = (child.0.stdin.take(), child.0.stdout.take(), child.0.stderr.take());
    let feed = async {
        if let Some(mut stdin) = stdin {
            // A program that does not read its input may still do its work.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    };
    let ((), given, complaint) = tokio::join!(feed, bounded(stdout, RESULT), bounded(stderr, COMPLAINT));
    let status =
        child.0.wait().await.map_err(|error| failed(format!("waiting for the program failed: {error}")))?;
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
        // The limit may cut a character in two; only other invalid UTF-8 is the program's fault.
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
    let mut chunk = [0; 8192];
    loop {
        let count = stream.read(&mut chunk).await?;
        if count == 0 {
            return Ok((kept, whole));
        }
        whole += count;
        let room = most.saturating_sub(kept.len()).min(count);
        kept.extend_from_slice(&chunk[..room]);
    }
}
