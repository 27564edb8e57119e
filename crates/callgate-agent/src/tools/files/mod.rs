//! Files of one folder: read, list, search, write, edit. Each tool is confined to the folder by a capability.

mod edit;
mod lines;
mod list;
mod read;
mod root;
mod search;
mod walk;
mod write;

use std::sync::Arc;

use callgate::Tool;
use serde_json::{Value, json};

use edit::Edit;
use list::Listing;
pub use root::Root;
use search::Search;
pub use write::Proposal;

use super::{Prepared, RunTool, ToolError, ToolErrorCode, blocking};
use crate::approval::Hunks;
use crate::model::BoxFuture;

/// The permission that reading and listing need.
pub const FS_READ: &str = "FS_READ";
/// The permission that writing needs.
pub const FS_WRITE: &str = "FS_WRITE";

/// What the tools are called. One name per thing: the tool list, prompts, examples and errors all have these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileNames {
    /// `fs.read`, `fs.list`, `fs.search`, `fs.write`, `fs.edit`, each with a `path`; files are read by bytes.
    Dotted,
    /// `read_file`, `list_directory`, `grep_search`, `write_file`, `edit_file`, for formats whose names have no dots; files
    /// are a `file_path`, and read by lines.
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
    [Work::Read, Work::List, Work::Search, Work::Write, Work::Edit].map(make).into()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Read,
    List,
    Search,
    Write,
    Edit,
}

impl Work {
    /// The name of the tool and of the argument that is the path.
    fn named(self, names: FileNames) -> (&'static str, &'static str) {
        match (names, self) {
            (FileNames::Dotted, Work::Read) => ("fs.read", "path"),
            (FileNames::Dotted, Work::List) => ("fs.list", "path"),
            (FileNames::Dotted, Work::Search) => ("fs.search", "path"),
            (FileNames::Dotted, Work::Write) => ("fs.write", "path"),
            (FileNames::Dotted, Work::Edit) => ("fs.edit", "path"),
            (FileNames::Underscored, Work::Read) => ("read_file", "file_path"),
            (FileNames::Underscored, Work::List) => ("list_directory", "path"),
            (FileNames::Underscored, Work::Search) => ("grep_search", "path"),
            (FileNames::Underscored, Work::Write) => ("write_file", "file_path"),
            (FileNames::Underscored, Work::Edit) => ("edit_file", "file_path"),
        }
    }

    fn described(self, names: FileNames, limits: FileLimits) -> Tool {
        let (name, path) = self.named(names);
        let schema = |what: &str, mut others: Value, required: &[&str]| {
            others[path] = json!({"type": "string", "minLength": 1, "description": what});
            json!({"type": "object", "properties": others, "required": required, "additionalProperties": false})
        };
        let flag = |what: &str| json!({"type": "boolean", "description": what});
        match self {
            Work::Read => {
                let others = match names {
                    FileNames::Dotted => json!({
                        "offset": {"type": "integer", "minimum": 0, "description": "The first byte to read; 0 if left out."},
                        "limit": {"type": "integer", "minimum": 1, "maximum": limits.read, "description": "The most bytes to read."},
                    }),
                    FileNames::Underscored => json!({
                        "offset": {"type": "integer", "minimum": 1, "description": "The first line to read; 1 if left out."},
                        "limit": {"type": "integer", "minimum": 1, "maximum": lines::LINES, "description": "The most lines to read."},
                    }),
                };
                let what = "A text file, relative to the workspace, such as src/main.rs.";
                Tool::new(name, "Reads a text file of the workspace.", schema(what, others, &[path]))
                    .permission(FS_READ)
            }
            Work::List => {
                let what = "A folder, relative to the workspace; . is the workspace itself.";
                let others = json!({
                    "recursive": flag("Whether to list what is in its folders, too."),
                    "hidden": flag("Whether to list names that begin with a dot."),
                });
                Tool::new(name, "Lists a folder of the workspace.", schema(what, others, &[path]))
                    .permission(FS_READ)
            }
            Work::Search => {
                let what = "The folder to search, relative to the workspace; . is the workspace itself.";
                let others = json!({
                    "pattern": {"type": "string", "minLength": 1, "description": "A regular expression that a line has to fit."},
                    "file_pattern": {"type": "string", "minLength": 1, "description": "Which files, such as *.rs; all if left out."},
                });
                let schema = schema(what, others, &[path, "pattern"]);
                Tool::new(name, "Searches the text files of the workspace by lines.", schema)
                    .permission(FS_READ)
            }
            Work::Edit => {
                let text = |what: &str| json!({"type": "string", "description": what});
                let edit = json!({
                    "type": "object",
                    "properties": {
                        "old_string": text("Text that stands in the file exactly once."),
                        "new_string": text("What takes its place."),
                    },
                    "required": ["old_string", "new_string"],
                    "additionalProperties": false,
                });
                let others = json!({"edits": {"type": "array", "minItems": 1, "items": edit}});
                let what = "The file, relative to the workspace.";
                let schema = schema(what, others, &[path, "edits"]);
                Tool::new(
                    name,
                    "Replaces parts of a file of the workspace. The user sees the change first.",
                    schema,
                )
                .dangerous()
                .permission(FS_WRITE)
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
                let names = self.names;
                let count = |key: &str| arguments[key].as_u64().and_then(|count| usize::try_from(count).ok());
                let (offset, limit) = (count("offset"), count("limit"));
                blocking(move || {
                    let file = root.open_file(&path)?;
                    let preview = root.preview("reads a file and changes nothing", &path);
                    let read = move || {
                        blocking(move || match names {
                            FileNames::Dotted => {
                                let limit = limit.unwrap_or(limits.read).min(limits.read);
                                read::read(file, &path, offset.unwrap_or(0) as u64, limit)
                            }
                            FileNames::Underscored => {
                                let limit = limit.unwrap_or(lines::LINES).min(lines::LINES);
                                lines::read(file, &path, offset.unwrap_or(1).max(1), limit, limits.read)
                            }
                        })
                    };
                    Ok(Prepared::new(read).showing(preview))
                })
                .await
            }
            Work::List => {
                let is = |key: &str| arguments[key] == true;
                let listing = Listing { recursive: is("recursive"), hidden: is("hidden") };
                blocking(move || {
                    let start = root.start(&path)?;
                    let preview = root.preview("lists a folder and changes nothing", &path);
                    let list = move || blocking(move || list::list(start, listing, limits.list));
                    Ok(Prepared::new(list).showing(preview))
                })
                .await
            }
            Work::Search => {
                let search = Search::new(&text("pattern")?, arguments["file_pattern"].as_str())?;
                blocking(move || {
                    let start = root.start(&path)?;
                    let preview = root.preview("searches files and changes nothing", &path);
                    let run = move || blocking(move || search.run(start, limits.list, limits.read));
                    Ok(Prepared::new(run).showing(preview))
                })
                .await
            }
            Work::Edit => {
                let edits = Edit::all(arguments)?;
                blocking(move || {
                    let (proposal, content) = edit::propose(&root, &path, &edits, limits.write)?;
                    Ok(proposed(root, "changes parts of a file", proposal, content, limits))
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
                    Ok(proposed(root, effect, proposal, content, limits))
                })
                .await
            }
        }
    }
}

/// A change that is shown and, after a yes, made.
fn proposed(
    root: Arc<Root>,
    effect: &'static str,
    proposal: Proposal,
    content: String,
    limits: FileLimits,
) -> Prepared {
    let mut preview = root.preview(effect, &proposal.path);
    preview.change.clone_from(&proposal.diff);
    preview.hunks = proposal.hunks;
    let apply = move |hunks: Option<Hunks>| {
        blocking(move || write::apply(&root, &proposal, &content, hunks.as_ref(), limits.write))
    };
    Prepared::in_hunks(apply).showing(preview)
}

impl RunTool for FileTool {
    fn tool(&self) -> &Tool {
        &self.tool
    }

    fn prepare<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Result<Prepared, ToolError>> {
        Box::pin(self.prepared(arguments))
    }
}
