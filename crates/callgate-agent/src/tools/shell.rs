//! `bash_command`: a command line for a shell. It is there only where the user switched it on, and asks every time.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use callgate::Tool;
use serde_json::{Value, json};
use tokio::process::Command;

use super::command::run;
use super::{Prepared, RunTool, ToolError, ToolErrorCode};
use crate::approval::{EXECUTE, Preview, Starts};
use crate::model::BoxFuture;
use crate::program;

/// The name of the tool.
const NAME: &str = "bash_command";
/// The shells, the better first.
const SHELLS: &[&str] = &["bash", "sh"];
/// Why it asks, whatever rules allow.
const ASKS: &str = "a shell can do whatever you can, so every command asks";

/// A shell that a model may ask for.
#[derive(Clone, Debug)]
pub struct ShellTool {
    tool: Tool,
    folder: PathBuf,
    time: Duration,
    secrets: Vec<String>,
}

impl ShellTool {
    /// Commands start in this folder and end after this time, or earlier if the call says so. `secrets` are the environment
    /// variables that no program gets.
    pub fn new(folder: PathBuf, time: Duration, secrets: &[String]) -> Self {
        let most = u64::try_from(time.as_millis()).unwrap_or(u64::MAX).max(1);
        let schema = json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "minLength": 1, "description": "The command line, as typed in a shell."},
                "timeout_ms": {"type": "integer", "minimum": 1, "maximum": most, "description": "How long it may run."},
                "requires_approval": {"type": "boolean", "description": "Every command is approved by the user."},
            },
            "required": ["command"],
            "additionalProperties": false,
        });
        let what = "Runs a command line in the workspace. The user is asked every time.";
        let tool = Tool::new(NAME, what, schema).dangerous().permission(EXECUTE);
        ShellTool { tool, folder, time, secrets: secrets.to_vec() }
    }

    fn prepared(&self, arguments: &Value) -> Result<Prepared, ToolError> {
        let unfit = |code, message: &str| ToolError::new(code, NAME, message);
        let line = arguments["command"].as_str().filter(|line| !line.contains('\0'));
        let line = line.ok_or_else(|| unfit(ToolErrorCode::BadArguments, "`command` is no command line"))?;
        // The shell is looked up once, here, so that the one that is shown is the one that starts.
        let shell = SHELLS.iter().find_map(|name| program::find(name));
        let shell = shell.ok_or_else(|| unfit(ToolErrorCode::NoRunner, "there is no shell on the path"))?;
        let mut command = Command::new(&shell);
        command.arg("-c").arg(line).current_dir(&self.folder);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        program::confine(&mut command, &self.secrets);
        // Files that a shell reads first, wherever they are, are not part of the command that is shown.
        for name in ["BASH_ENV", "ENV"] {
            command.env_remove(name);
        }
        let asked = arguments["timeout_ms"].as_u64().map_or(self.time, Duration::from_millis).min(self.time);
        let preview = Preview {
            starts: Starts::Program {
                path: shell.to_string_lossy().into_owned(),
                arguments: vec!["-c".to_owned(), line.to_owned()],
            },
            effect: "a shell runs the line in this folder, with your rights: it can reach everything that you can",
            place: Some(self.folder.to_string_lossy().into_owned()),
            always_asks: Some(ASKS.to_owned()),
            ..Preview::default()
        };
        let work = move || async move {
            let run = run(NAME.to_owned(), command, String::new());
            tokio::time::timeout(asked, run).await.unwrap_or_else(|_| {
                let message = format!("the command was stopped after {} ms", asked.as_millis());
                Err(ToolError::new(ToolErrorCode::Timeout, NAME, message))
            })
        };
        Ok(Prepared::new(work).showing(preview))
    }
}

impl RunTool for ShellTool {
    fn tool(&self) -> &Tool {
        &self.tool
    }

    fn prepare<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Result<Prepared, ToolError>> {
        Box::pin(std::future::ready(self.prepared(arguments)))
    }
}
