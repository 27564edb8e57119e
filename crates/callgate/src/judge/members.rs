//! Members that a format does not have, beside name and arguments: they may have been meant to change what the call does.

use crate::attempt::{ARGUING, Arguments, Attempt};
use crate::finding::{Code, Finding};
use crate::policy::Members;
use crate::rules::Rules;

/// Says what such members mean for the call.
pub(super) fn judge_members(
    rules: &Rules,
    attempt: &Attempt,
    name: Option<&str>,
    findings: &mut Vec<Finding>,
    notes: &mut Vec<Finding>,
) {
    if attempt.strangers.is_empty() {
        return;
    }
    let names: Vec<String> = attempt.strangers.iter().map(|member| format!("`{member}`")).collect();
    let say = |code: Code, what: &str| {
        let mut finding = Finding::new(code).message(format!("the call has {}, {what}", names.join(", ")));
        finding.span = attempt.span;
        finding
    };
    let is_dangerous = name.is_some_and(|name| rules.is_dangerous(name));
    if rules.policy.members == Members::Reject || is_dangerous {
        findings.push(say(Code::UnknownMember, "which its format does not have"));
    } else if defines_tool(attempt) {
        findings.push(say(Code::Ambiguous, "as the definition of a tool has, which is no call"));
    } else if attempt.strangers.iter().any(|member| may_be_argument(rules, attempt, name, member)) {
        findings.push(say(Code::Ambiguous, "which may belong to its arguments"));
    } else {
        notes.push(say(Code::IgnoredMember, "which its format does not have; the call is read without"));
    }
}

/// Whether the object looks like the definition of a tool, of which its list has many: it says what the tool does, and in the
/// place of arguments stands nothing, or a schema.
fn defines_tool(attempt: &Attempt) -> bool {
    let is_schema = || match &attempt.arguments {
        Arguments::Json(text) => {
            let mut keys =
                attempt.tape.children(0).filter_map(|child| attempt.tape.key(text, child)).peekable();
            keys.peek().is_none() || keys.any(|key| key == "properties")
        }
        Arguments::Blank | Arguments::Broken => true,
    };
    attempt.strangers.iter().any(|member| member == "description") && is_schema()
}

/// Whether a member beside the arguments may be one of them, or all of them: its name is that of an argument that was not
/// given, as where a bracket was closed too early, or another word for arguments.
fn may_be_argument(rules: &Rules, attempt: &Attempt, name: Option<&str>, member: &str) -> bool {
    let is_given = match &attempt.arguments {
        Arguments::Json(text) => attempt.tape.member(text, 0, member).is_some(),
        Arguments::Blank | Arguments::Broken => false,
    };
    let tool = name.and_then(|name| rules.tool(name));
    ARGUING.contains(&member) || tool.is_some_and(|tool| tool.has_key(member)) && !is_given
}
