//! Approval: which calls run unasked, which ask, which never run; and a yes that is good for one call, once.
//!
//! Nothing that a model writes makes a call safer: rules come from the configuration, the tool list says which tools are
//! dangerous, and a field such as `requires_approval` can only raise.

mod approver;
mod cadence;
mod command;
mod grants;
mod hunks;
mod request;
mod rule;

use std::fmt;
use std::path::Path;
use std::time::Duration;

use callgate::{Call, Code, Tool};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

pub use approver::{Answer, Approver, NobodyThere, Remembering};
pub use cadence::Cadence;
pub use command::{CommandLine, Harm, judge_command};
pub use grants::{EXECUTE, Grant, Grants, NETWORK};
pub use hunks::Hunks;
pub use request::{Field, Preview, Request, Starts};
pub use rule::{EveryNth, Fit, Rule, RuleError};

use crate::visible::quoted;

/// How a call stands before anybody is asked: it runs, asks, or never runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// It runs unasked.
    Safe,
    /// It runs after a yes.
    Ask,
    /// It never runs.
    Deny,
}

impl Standing {
    /// The word of the configuration.
    pub fn word(self) -> &'static str {
        match self {
            Standing::Safe => "safe",
            Standing::Ask => "ask",
            Standing::Deny => "deny",
        }
    }
}

/// What a call is that no rule names: the key `approval.default`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DefaultStanding {
    /// Dangerous tools ask, others are safe.
    #[default]
    Auto,
    /// This, whatever the tool.
    Always(Standing),
}

/// The rules of approval.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalPolicy {
    /// Calls that never run.
    pub deny: Vec<Rule>,
    /// Calls that ask.
    pub ask: Vec<Rule>,
    /// Calls of which every n-th asks, whatever allows it. Who runs calls counts them with a [`Cadence`].
    pub every_n: Vec<EveryNth>,
    /// Calls that run unasked.
    pub safe: Vec<Rule>,
    /// How calls stand that no rule names.
    pub default: DefaultStanding,
    /// Whether safe calls run unasked.
    pub auto_approve: bool,
    /// Tools whose `command` argument is a command line.
    pub command_tools: Vec<String>,
    /// How long a question waits for its answer.
    pub timeout: Duration,
}

impl Default for ApprovalPolicy {
    fn default() -> Self {
        ApprovalPolicy {
            deny: Vec::new(),
            ask: Vec::new(),
            every_n: Vec::new(),
            safe: Vec::new(),
            default: DefaultStanding::Auto,
            auto_approve: true,
            command_tools: vec!["bash_command".to_owned(), "run_command".to_owned()],
            timeout: Duration::from_secs(300),
        }
    }
}

impl ApprovalPolicy {
    /// What a call is, and why. A dangerous one that may repeat what somebody else wrote asks, whatever allows it.
    pub fn standing(&self, call: &Call, tool: &Tool) -> (Standing, String) {
        let echo =
            call.findings.iter().find(|finding| matches!(finding.code, Code::Echo | Code::EchoUnchecked));
        match (self.standing_alone(call, tool), echo) {
            ((Standing::Safe | Standing::Ask, _), Some(echo)) if tool.dangerous => {
                (Standing::Ask, echo.message.to_string())
            }
            (standing, _) => standing,
        }
    }

    /// How a call stands by rules and tool alone, before it is compared with what tools returned.
    fn standing_alone(&self, call: &Call, tool: &Tool) -> (Standing, String) {
        let arguments = call.value();
        if !call.checked {
            return (Standing::Deny, "the call was never checked against a tool list".to_owned());
        }
        let denying = self.deny.iter().find(|rule| rule.fits(tool, &arguments, Fit::Strict));
        if let Some(rule) = denying {
            return (Standing::Deny, format!("the rule `{rule}` forbids it"));
        }
        let asking = self.ask.iter().find(|rule| rule.fits(tool, &arguments, Fit::Strict));
        if let Some(rule) = asking {
            return (Standing::Ask, format!("the rule `{rule}` asks"));
        }
        if arguments["requires_approval"] == true {
            return (Standing::Ask, "the model itself asks for approval".to_owned());
        }
        let (standing, why) = self.unless_named(call, tool, &arguments);
        if standing == Standing::Safe && !self.auto_approve {
            return (Standing::Ask, "`approval.auto_approve` is off, so every call asks".to_owned());
        }
        (standing, why)
    }

    /// Whether a rule that names the tool would let the call run unasked.
    fn would_allow(&self, call: &Call, tool: &Tool) -> bool {
        let mut policy = self.clone();
        policy.safe.extend(Rule::parse(&call.name));
        policy.standing(call, tool).0 == Standing::Safe
    }

    /// What a call is that is neither denied nor asked about by a rule.
    fn unless_named(&self, call: &Call, tool: &Tool, arguments: &Value) -> (Standing, String) {
        let named = self.safe.iter().find(|rule| rule.fits(tool, arguments, Fit::Plain));
        if named.is_none()
            && let DefaultStanding::Always(standing @ (Standing::Ask | Standing::Deny)) = self.default
        {
            return (standing, by_default(standing));
        }
        if tool.dangerous
            && let Some(path) = rule::protected(arguments)
        {
            return (Standing::Ask, format!("{} can change what runs later", quoted(&path)));
        }
        if self.command_tools.contains(&call.name) {
            return judge_line(arguments, named);
        }
        if let Some(rule) = named {
            return (Standing::Safe, format!("the rule `{rule}` allows it"));
        }
        match self.default {
            DefaultStanding::Always(standing) => (standing, by_default(standing)),
            DefaultStanding::Auto if tool.dangerous => (Standing::Ask, "the tool is dangerous".to_owned()),
            DefaultStanding::Auto => (Standing::Safe, "the tool is not dangerous".to_owned()),
        }
    }

    /// Decides about a call, asking where that is needed. Whoever is asked also sees what it will do. Deny, silence and a
    /// closed terminal all mean no.
    pub async fn decide(&self, case: &Case<'_>, approver: &dyn Approver) -> Decision {
        let Case { call, tool, preview, .. } = case;
        let (standing, why) = match (self.standing(call, tool), &preview.always_asks) {
            ((Standing::Safe, _), Some(why)) => (Standing::Ask, why.clone()),
            (standing, _) => standing,
        };
        match standing {
            Standing::Safe => Decision::Permitted(Permit { hash: hash(call), asked: false, hunks: None }),
            Standing::Deny => Decision::Denied(Denial::new(DenialReason::Rule, why)),
            Standing::Ask => {
                let request = Request::new(call, &why).about(case.id, preview);
                let answer = tokio::time::timeout(self.timeout, approver.ask(&request)).await;
                let rule_helps = preview.always_asks.is_none() && self.would_allow(call, tool);
                let denied =
                    |reason| Decision::Denied(Denial { rule_helps, ..Denial::new(reason, why.clone()) });
                let permitted = |hunks| Decision::Permitted(Permit { hash: hash(call), asked: true, hunks });
                match answer {
                    // The hash differs: the user agreed to another request than this one.
                    Ok(answer) if answer.hash().is_some_and(|hash| hash != request.hash) => {
                        denied(DenialReason::OtherCall)
                    }
                    Ok(Answer::Approve { .. } | Answer::ApproveAlways { .. }) => permitted(None),
                    Ok(Answer::ApproveHunks { hunks, .. }) if hunks.is_empty() => denied(DenialReason::User),
                    Ok(Answer::ApproveHunks { hunks, .. }) => match Hunks::choose(preview.hunks, hunks) {
                        Some(hunks) if hunks.refused().is_empty() => permitted(None),
                        Some(hunks) => permitted(Some(hunks)),
                        None => denied(DenialReason::OtherCall),
                    },
                    Ok(Answer::Deny) => denied(DenialReason::User),
                    Ok(Answer::Closed) => denied(DenialReason::Closed),
                    Ok(Answer::Nobody) => denied(DenialReason::Nobody),
                    Err(_) => denied(DenialReason::Timeout),
                }
            }
        }
    }
}

/// A call that is to be decided about.
#[derive(Clone, Copy, Debug)]
pub struct Case<'c> {
    /// The id of the request, by which whoever is asked finds it again.
    pub id: &'c str,
    /// The call.
    pub call: &'c Call,
    /// Its tool.
    pub tool: &'c Tool,
    /// What it will do.
    pub preview: &'c Preview,
}

/// Why a call stands as the configuration says for calls that no rule names.
fn by_default(standing: Standing) -> String {
    format!("no rule names it, and `approval.default` is `{}`", standing.word())
}

/// What the call of a tool is whose `command` is a command line. It runs in the folder where everything is started.
fn judge_line(arguments: &Value, named: Option<&Rule>) -> (Standing, String) {
    let Some(line) = arguments["command"].as_str() else {
        return (Standing::Ask, "`command` is not a line of text".to_owned());
    };
    // Other arguments (a folder, further words, variables) could change what the line does.
    let others = arguments.as_object().into_iter().flat_map(|members| members.keys());
    let is_alone = others.into_iter().all(|key| matches!(key.as_str(), "command" | "requires_approval"));
    // A pattern cannot judge a line that a shell would take apart, so rules apply only to lines of plain words.
    match (judge_command(line, Path::new(".")), named) {
        (Harm::Shell(what), _) => (Standing::Ask, format!("a shell would act on {what}")),
        (Harm::Dangerous(what), _) => (Standing::Ask, format!("the command is dangerous: {what}")),
        (_, Some(rule)) => (Standing::Safe, format!("the rule `{rule}` allows it")),
        (Harm::None, None) if is_alone => (Standing::Safe, "the command only reads".to_owned()),
        (Harm::None, None) => {
            (Standing::Ask, "an argument beside the command can change what it does".to_owned())
        }
        (Harm::Unknown, None) => (Standing::Ask, "it is not known what the command does".to_owned()),
    }
}

/// The hash of what an approval is for: the tool and its arguments in canonical form.
pub fn hash(call: &Call) -> String {
    let mut hasher = Sha256::new();
    // The length of the name goes in first, so that name and arguments cannot be shifted into each other.
    hasher.update((call.name.len() as u64).to_be_bytes());
    hasher.update(call.name.as_bytes());
    hasher.update(call.canonical_arguments().as_bytes());
    crate::hex(&hasher.finalize())
}

/// What was decided about a call.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may run, once.
    Permitted(Permit),
    /// It may not.
    Denied(Denial),
}

/// Leave to run one call once. It cannot be copied, and running uses it up.
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    hash: String,
    asked: bool,
    hunks: Option<Hunks>,
}

impl Permit {
    /// Whether somebody was asked.
    pub fn was_asked(&self) -> bool {
        self.asked
    }

    /// The hunks of the change that may be made; none: all of it.
    pub fn hunks(&self) -> Option<&Hunks> {
        self.hunks.as_ref()
    }

    /// The hash of the call that it is for.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Uses it up for the call that is about to run. Another call, or the same with other arguments, is denied.
    pub fn redeem(self, call: &Call) -> Result<(), Denial> {
        if self.hash == hash(call) {
            return Ok(());
        }
        let detail = "the call was changed after it was approved".to_owned();
        Err(Denial::new(DenialReason::OtherCall, detail))
    }
}

/// Why a call may not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Denial {
    /// Who or what said no.
    pub reason: DenialReason,
    /// Why the question came up.
    pub detail: String,
    /// Whether a rule under `approval.safe` would have let it run unasked.
    pub rule_helps: bool,
}

/// Who or what said no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DenialReason {
    /// A rule, or that the call was never checked.
    Rule,
    /// A permission that was not granted.
    Permission,
    /// The user.
    User,
    /// The user closed the question.
    Closed,
    /// The user did not answer in time.
    Timeout,
    /// There is nobody to ask.
    Nobody,
    /// The approval was for another call.
    OtherCall,
    /// Everything was stopped while the question was open.
    Cancelled,
}

impl Denial {
    /// A no that no rule could have changed.
    pub fn new(reason: DenialReason, detail: String) -> Self {
        Denial { reason, detail, rule_helps: false }
    }

    /// The stable word for the kind of error.
    pub fn kind(&self) -> &'static str {
        match self.reason {
            DenialReason::Permission => "permission_denied",
            _ => "approval_denied",
        }
    }

    /// Whether a person said no, by word or by silence.
    pub fn is_users(&self) -> bool {
        matches!(self.reason, DenialReason::User | DenialReason::Closed | DenialReason::Timeout)
    }

    /// What the model is told in place of a result.
    pub fn to_model(&self) -> String {
        match self.reason {
            DenialReason::Permission => self.detail.clone(),
            _ => format!("{}. The tool was not run.", self.said()),
        }
    }

    fn said(&self) -> &str {
        match self.reason {
            DenialReason::User | DenialReason::Closed => "User denied permission to execute this tool",
            DenialReason::Timeout => "Permission to execute this tool was denied: nobody answered in time",
            DenialReason::Nobody => "Permission to execute this tool was denied: there is nobody to ask",
            DenialReason::Rule => "A rule denied permission to execute this tool",
            DenialReason::OtherCall => "Permission was denied: the approval was for another call",
            DenialReason::Cancelled => "Permission was not given: the user stopped everything",
            DenialReason::Permission => &self.detail,
        }
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            DenialReason::Permission => f.write_str(self.said()),
            _ => write!(f, "{} ({})", self.said(), self.detail),
        }
    }
}

impl std::error::Error for Denial {}
