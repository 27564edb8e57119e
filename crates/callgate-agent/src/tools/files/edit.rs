//! `fs.edit`: parts of a file replaced, each found by its whole text, proposed as a diff like any other change.

use serde_json::Value;

use super::super::{ToolError, ToolErrorCode};
use super::root::{Root, shown};
use super::write::{Proposal, propose_from};

/// One replacement.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    old: String,
    new: String,
}

impl Edit {
    /// The replacements of a call.
    pub(super) fn all(arguments: &Value) -> Result<Vec<Edit>, ToolError> {
        let unfit =
            |place: String, message: &str| ToolError::new(ToolErrorCode::BadArguments, place, message);
        let edits = arguments["edits"].as_array().filter(|edits| !edits.is_empty());
        let edits = edits.ok_or_else(|| unfit("/edits".to_owned(), "a list of edits is missing"))?;
        let one = |(number, edit): (usize, &Value)| {
            let text = |key: &str| {
                let text = edit[key].as_str().map(str::to_owned);
                text.ok_or_else(|| unfit(format!("/edits/{number}/{key}"), "a string is missing"))
            };
            let (old, new) = (text("old_string")?, text("new_string")?);
            match old.is_empty() || old == new {
                true => {
                    Err(unfit(format!("/edits/{number}"), "the old text is empty or the same as the new"))
                }
                false => Ok(Edit { old, new }),
            }
        };
        edits.iter().enumerate().map(one).collect()
    }
}

/// What would change: each edit is made to what the ones before it left, and its old text has to stand there exactly once.
pub(super) fn propose(
    root: &Root,
    path: &str,
    edits: &[Edit],
    limit: usize,
) -> Result<(Proposal, String), ToolError> {
    propose_from(root, path, limit, |old| {
        let fault = |code, message: String| ToolError::new(code, shown(path), message);
        let Some(old) = old else {
            return Err(fault(ToolErrorCode::NotFound, "there is no such file".to_owned()));
        };
        let text = std::str::from_utf8(old)
            .map_err(|_| fault(ToolErrorCode::NotText, "this is no text file".to_owned()))?;
        let mut text = text.to_owned();
        for (number, edit) in edits.iter().enumerate() {
            let mut found = text.match_indices(&edit.old).map(|(at, _)| at);
            let (first, second) = (found.next(), found.next());
            let at = match (first, second) {
                (Some(at), None) => at,
                (None, _) => {
                    let message = format!("edit {}: its old text does not stand in the file", number + 1);
                    return Err(fault(ToolErrorCode::BadArguments, message));
                }
                (Some(_), Some(_)) => {
                    let message = format!(
                        "edit {}: its old text stands in the file more than once; give more of it",
                        number + 1
                    );
                    return Err(fault(ToolErrorCode::BadArguments, message));
                }
            };
            text.replace_range(at..at + edit.old.len(), &edit.new);
        }
        Ok(text)
    })
}
