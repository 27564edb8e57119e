//! Tools: what can be run, and running it. A call is prepared, approved, recorded, run and reported, in this order.

mod command;
mod completion;
mod defuse;
mod diff;
mod error;
pub mod files;
mod function;
pub mod mcp;
mod meter;
mod queue;
mod run;
mod shell;

use std::collections::BTreeMap;
use std::sync::Arc;

use callgate::{Registry, RegistryError, Tool};
use serde_json::Value;

pub use command::ListedTool;
pub(crate) use completion::COMPLETION;
pub use completion::Completion;
pub use defuse::defused;
pub use error::{ToolError, ToolErrorCode};
pub use meter::{Meter, Rerun, Spending};
pub use queue::{CallState, Queue, QueuedCall, Step};
pub use run::{Host, Outcome, Progress, ToolReport, Unrecorded, run_calls};
pub use shell::ShellTool;

use crate::approval::{Hunks, Preview};
use crate::model::BoxFuture;

/// Something that can be run.
pub trait RunTool: Send + Sync {
    /// Its name, schema and safety.
    fn tool(&self) -> &Tool;

    /// Looks at arguments that the gate has checked, and gets ready without changing anything. What comes back shows
    /// what will change, and does it when it is told to.
    fn prepare<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Result<Prepared, ToolError>>;

    /// Whether a call of it says that the model is done. Such a tool touches nothing, so nobody is asked about it; what
    /// it gives is the model's answer.
    fn ends(&self) -> bool {
        false
    }
}

/// A call that is ready to run, once.
pub struct Prepared {
    preview: Preview,
    action: Box<dyn FnOnce(Option<Hunks>) -> Action + Send>,
}

/// What a tool does once it is told to.
type Action = BoxFuture<'static, Result<String, ToolError>>;

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("preview", &self.preview).finish_non_exhaustive()
    }
}

impl Prepared {
    /// Ready to do this.
    pub fn new<F>(action: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<String, ToolError>> + Send + 'static,
    {
        Prepared::in_hunks(|_| action())
    }

    /// Ready to do this, or only some hunks of it. How many there are is said in the preview.
    pub fn in_hunks<F>(action: impl FnOnce(Option<Hunks>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<String, ToolError>> + Send + 'static,
    {
        Prepared { preview: Preview::default(), action: Box::new(move |hunks| Box::pin(action(hunks))) }
    }

    /// Says what it will do, for whoever is asked. It is made safe to show.
    pub fn showing(mut self, preview: Preview) -> Self {
        self.preview = preview;
        self
    }

    /// What it will do.
    pub fn preview(&self) -> &Preview {
        &self.preview
    }

    /// Does it, or only these hunks of it.
    pub async fn run(self, hunks: Option<Hunks>) -> Result<String, ToolError> {
        (self.action)(hunks).await
    }
}

/// The tools that can be run, by name.
#[derive(Clone, Default)]
pub struct Toolbox {
    tools: BTreeMap<String, Arc<dyn RunTool>>,
    registry: Registry,
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Toolbox").field(&self.tools.keys()).finish()
    }
}

impl Toolbox {
    /// A box without tools.
    pub fn new() -> Self {
        Toolbox::default()
    }

    /// Adds a tool. A name that is taken or a schema that cannot be used is rejected.
    pub fn add(&mut self, tool: Arc<dyn RunTool>) -> Result<(), RegistryError> {
        self.registry.register(tool.tool().clone())?;
        self.tools.insert(tool.tool().name.clone(), tool);
        Ok(())
    }

    /// Whether a server may be called so: its tools get its name in front, and a rule for the tools of another one that
    /// is called so would reach them.
    pub fn admit(&self, server: &str, between: &str) -> Result<(), ToolError> {
        let front = format!("{server}{between}");
        let Some(taken) = self.tools.keys().find(|name| name.starts_with(&front)) else { return Ok(()) };
        let message = format!("the name of the server is taken: there is a tool `{taken}`");
        Err(ToolError::new(ToolErrorCode::NameTaken, server, message))
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn RunTool>> {
        self.tools.get(name)
    }

    /// What the gate checks calls against.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }
}

/// Does what may wait for a disk where it holds up nobody.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => {
            Err(ToolError::new(ToolErrorCode::Failed, "", format!("the tool failed unexpectedly: {error}")))
        }
    }
}

/// Text of at most so many bytes; what was left out is said in a last line.
fn clipped(mut text: String, most: usize) -> String {
    let whole = text.len();
    if whole <= most {
        return text;
    }
    let mut end = most;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text.push_str(&format!("\n[truncated: {end} of {whole} bytes]"));
    text
}
