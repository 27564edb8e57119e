//! Files of one folder: read, list, write. Each tool is confined to the folder by a capability.

mod list;
mod read;
mod root;
mod write;

use std::sync::Arc;

use callgate::Tool;
use serde_json::{Value, json};

pub use root::Root;
pub use write::Proposal;

use super::{Prepared, RunTool, ToolError, ToolErrorCode, blocking};
use crate::model::BoxFuture;

/// The permission that reading and listing need.
pub const FS_READ: &str = "FS_READ";
/// The permission that writing needs.
pub const FS_WRITE: &str = "FS_WRITE";

/// What the tools are called. One name per thing: the tool list, prompts, examples and errors all have these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileNames {
    /// `fs.read`, `fs.list`, `fs.write`, each with a `path`.
    Dotted,
    /// `read_file`, `list_directory`, `write_file`, for formats whose names have no dots; files are a `file_path`.
    Underscored,
}

/// How much one call may read, list or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLimits {
    /// The most bytes that one call reads.
    pub read: usize,
    /// The most entries that one call lists.
    pub list: usize,
    /// The largest file that is written or replaced, in bytes.
    pub write: usize,
}

impl Default for FileLimits {
    fn default() -> Self {
        FileLimits { read: 64 << 10, list: 1_000, write: 4 << 20 }
    }
}

/// The tools of one folder. Without a folder they are there, and each call says that it is missing.
pub fn file_tools(root: Option<Root>, names: FileNames, limits: FileLimits) -> Vec<Arc<dyn RunTool>> {
    let root = root.map(Arc::new);
    let make = |work: Work| -> Arc<dyn RunTool> {
        Arc::new(FileTool { tool: work.described(names, limits), work, root: root.clone(), names, limits })
    };
    vec![make(Work::Read), make(Work::List), make(Work::Write)]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Read,
    List,
    Write,
}

impl Work {
    /// The name of the tool and of the argument that is the path.
    fn named(self, names: FileNames) -> (&'static str, &'static str) {
        match (names, self) {
            (FileNames::Dotted, Work::Read) => ("fs.read", "path"),
            (FileNames::Dotted, Work::List) => ("fs.list", "path"),
            (FileNames::Dotted, Work::Write) => ("fs.write", "path"),
            (FileNames::Underscored, Work::Read) => ("read_file", "file_path"),
            (FileNames::Underscored, Work::List) => ("list_directory", "path"),
            (FileNames::Underscored, Work::Write) => ("write_file", "file_path"),
        }
    }

    fn described(self, names: FileNames, limits: FileLimits) -> Tool {
        let (name, path) = self.named(names);
        let schema = |what: &str, mut others: Value, required: &[&str]| {
            others[path] = json!({"type": "string", "minLength": 1, "description": what});
            json!({"type": "object", "properties": others, "required": required, "additionalProperties": false})
        };
        match self {
            Work::Read => {
                let others = json!({
                    "offset": {"type": "integer", "minimum": 0, "description": "The first byte to read; 0 if left out."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": limits.read, "description": "The most bytes to read."},
                });
                let what = "A text file, relative to the workspace, such as src/main.rs.";
                Tool::new(name, "Reads a text file of the workspace.", schema(what, others, &[path]))
                    .permission(FS_READ)
            }
            Work::List => {
                let what = "A folder, relative to the workspace; . is the workspace itself.";
                Tool::new(name, "Lists a folder of the workspace.", schema(what, json!({}), &[path]))
                    .permission(FS_READ)
            }
            Work::Write => {
                let others =
                    json!({"content": {"type": "string", "description": "The whole new text of the file."}});
                let what = "The file, relative to the workspace; missing folders are made.";
                let schema = schema(what, others, &[path, "content"]);
                Tool::new(
                    name,
                    "Creates or replaces a file of the workspace. The user sees the change first.",
                    schema,
                )
                .dangerous()
                .permission(FS_WRITE)
            }
        }
    }
}

#[derive(Debug)]
struct FileTool {
    work: Work,
    tool: Tool,
    root: Option<Arc<Root>>,
    names: FileNames,
    limits: FileLimits,
}

impl FileTool {
    async fn prepared(&self, arguments: &Value) -> Result<Prepared, ToolError> {
        let Some(root) = self.root.clone() else {
            let message = "there is no workspace to find files in";
            return Err(ToolError::new(ToolErrorCode::NoWorkspace, "", message));
        };
        let text = |key: &str| {
            arguments[key].as_str().map(str::to_owned).ok_or_else(|| {
                ToolError::new(ToolErrorCode::BadArguments, format!("/{key}"), "a string is missing")
            })
        };
        let path = text(self.work.named(self.names).1)?;
        let limits = self.limits;
        match self.work {
            Work::Read => {
                let offset = arguments["offset"].as_u64().unwrap_or(0);
                let asked = arguments["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok());
                let limit = asked.unwrap_or(limits.read).min(limits.read);
                blocking(move || {
                    let file = root.open_file(&path)?;
                    let preview = root.preview("reads a file and changes nothing", &path);
                    let read = move || blocking(move || read::read(file, &path, offset, limit));
                    Ok(Prepared::new(read).showing(preview))
                })
                .await
            }
            Work::List => {
                blocking(move || {
                    let folder = root.open_folder(&path)?;
                    let preview = root.preview("lists a folder and changes nothing", &path);
                    let list = move || blocking(move || list::list(&folder, &path, limits.list));
                    Ok(Prepared::new(list).showing(preview))
                })
                .await
            }
            Work::Write => {
                let content = text("content")?;
                blocking(move || {
                    let proposal = write::propose(&root, &path, &content, limits.write)?;
                    let effect = match proposal.is_new_file {
                        true => "creates a file",
                        false => "replaces a file",
                    };
                    let mut preview = root.preview(effect, &path);
                    preview.change.clone_from(&proposal.diff);
                    let apply =
                        move || blocking(move || write::apply(&root, &proposal, &content, limits.write));
                    Ok(Prepared::new(apply).showing(preview))
                })
                .await
            }
        }
    }
}

impl RunTool for FileTool {
    fn tool(&self) -> &Tool {
        &self.tool
    }

    fn prepare<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Result<Prepared, ToolError>> {
        Box::pin(self.prepared(arguments))
    }
}
