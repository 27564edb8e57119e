//! Why a tool gave nothing: a value with a code, a place and a way out, fit to be told to a model.

use std::fmt;

use serde::Serialize;

/// Why a tool gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolError {
    /// What kind of error.
    pub code: ToolErrorCode,
    /// The file, server or argument it is about; empty where there is none.
    pub place: String,
    /// What happened.
    pub message: String,
}

/// The kinds of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolErrorCode {
    /// No folder was given to work in.
    NoWorkspace,
    /// The path leads out of the workspace.
    PathOutsideRoot,
    /// The path cannot be used as it is written.
    BadPath,
    /// There is no such file or folder.
    NotFound,
    /// It is no regular file.
    NotAFile,
    /// It is no folder.
    NotAFolder,
    /// The file holds no UTF-8 text.
    NotText,
    /// It is larger than the limit.
    TooLarge,
    /// The file is the host's own, or may not be touched by a tool.
    Forbidden,
    /// The file was changed after the change to it was shown.
    Changed,
    /// No such tool can be run here.
    UnknownTool,
    /// Another tool or server has the name.
    NameTaken,
    /// The tool is known by its description only.
    NoRunner,
    /// The arguments do not fit.
    BadArguments,
    /// The tool took too long.
    Timeout,
    /// What the tool needs cannot be reached.
    Unreachable,
    /// Somebody stopped it.
    Cancelled,
    /// The budget is spent.
    OverBudget,
    /// The same call was made too often.
    Repeated,
    /// A call that it waits for did not work.
    Blocked,
    /// The tool itself failed.
    Failed,
}

impl ToolErrorCode {
    /// The stable word.
    pub fn word(self) -> &'static str {
        match self {
            ToolErrorCode::NoWorkspace => "no_workspace",
            ToolErrorCode::PathOutsideRoot => "path_outside_root",
            ToolErrorCode::BadPath => "bad_path",
            ToolErrorCode::NotFound => "not_found",
            ToolErrorCode::NotAFile => "not_a_file",
            ToolErrorCode::NotAFolder => "not_a_folder",
            ToolErrorCode::NotText => "not_text",
            ToolErrorCode::TooLarge => "too_large",
            ToolErrorCode::Forbidden => "forbidden",
            ToolErrorCode::Changed => "changed",
            ToolErrorCode::UnknownTool => "unknown_tool",
            ToolErrorCode::NameTaken => "name_taken",
            ToolErrorCode::NoRunner => "no_runner",
            ToolErrorCode::BadArguments => "bad_arguments",
            ToolErrorCode::Timeout => "timeout",
            ToolErrorCode::Unreachable => "unreachable",
            ToolErrorCode::Cancelled => "cancelled",
            ToolErrorCode::OverBudget => "over_budget",
            ToolErrorCode::Repeated => "repeated",
            ToolErrorCode::Blocked => "blocked",
            ToolErrorCode::Failed => "failed",
        }
    }

    /// The way out.
    pub fn help(self) -> &'static str {
        match self {
            ToolErrorCode::NoWorkspace => "start with the folder that holds the files",
            ToolErrorCode::PathOutsideRoot => "use a relative path inside the workspace, such as src/main.rs",
            ToolErrorCode::BadPath => "use a plain relative path with / between the names",
            ToolErrorCode::NotFound => "list the folder to see what is there",
            ToolErrorCode::NotAFile => "name a regular file",
            ToolErrorCode::NotAFolder => "name a folder",
            ToolErrorCode::NotText => "only text files can be read; leave this one alone",
            ToolErrorCode::TooLarge => "work with a smaller part",
            ToolErrorCode::Forbidden => "leave this file alone",
            ToolErrorCode::Changed => "read the file again and propose the change anew",
            ToolErrorCode::UnknownTool => "call one of the tools that are listed",
            ToolErrorCode::NameTaken => "give each server and each tool a name of its own",
            ToolErrorCode::NoRunner => "its entry in the tool list needs a `command`; do not call it again",
            ToolErrorCode::BadArguments => "look at the tool's description",
            ToolErrorCode::Timeout => "ask for less at a time",
            ToolErrorCode::Unreachable => "do without it, or say that it does not answer",
            ToolErrorCode::Cancelled => "wait for the user",
            ToolErrorCode::OverBudget => "say what you know so far",
            ToolErrorCode::Repeated => "do something else, or say what you know",
            ToolErrorCode::Blocked => "look at the result of the other call first",
            ToolErrorCode::Failed => "try another way, or say that it does not work",
        }
    }
}

impl ToolError {
    /// An error at a place.
    pub fn new(code: ToolErrorCode, place: impl Into<String>, message: impl Into<String>) -> Self {
        ToolError { code, place: place.into(), message: message.into() }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => write!(f, "{} ({}; {})", self.message, self.code.word(), self.code.help()),
            place => write!(f, "{place}: {} ({}; {})", self.message, self.code.word(), self.code.help()),
        }
    }
}

impl std::error::Error for ToolError {}
