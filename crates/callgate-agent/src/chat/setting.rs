//! The setting of a conversation: who is asked, what judges, what can be run, and within which limits.

use std::sync::Arc;

use callgate::internal::profile::{StrikeLimit, StrikeMode, Strikes};
use callgate::{Gate, GateError, Record};

use super::context::ContextBudget;
use crate::approval::{ApprovalPolicy, Approver, Grants, NobodyThere};
use crate::audit::AuditLog;
use crate::model::{Model, Parameters};
use crate::retry::RetrySettings;
use crate::tools::{Spending, Toolbox};

/// Everything that a conversation stands on. [`Setting::new`] gives one that is safe to begin with; its fields are there
/// to be changed.
#[non_exhaustive]
pub struct Setting {
    /// Who is asked.
    pub model: Box<dyn Model>,
    /// What judges. It has to know the tools that can be run.
    pub gate: Gate,
    /// The dialect that the model is taught, and in which its earlier calls are written; none: the profile's.
    pub dialect: Option<Arc<Record>>,
    /// Whether tools are sent as a list, for calls through the structured channel, and not taught in the prompt. Text
    /// dialects of the gate are listened for all the same.
    pub native_tools: bool,
    /// What can be run.
    pub tools: Toolbox,
    /// Which model, and how it answers.
    pub parameters: Parameters,
    /// How rejected responses are asked for again.
    pub retry: RetrySettings,
    /// Which calls run unasked, which ask, which never run.
    pub approval: ApprovalPolicy,
    /// Who is asked about them.
    pub approver: Box<dyn Approver>,
    /// What the session may do.
    pub grants: Grants,
    /// Where decisions are recorded, if they are.
    pub audit: Option<AuditLog>,
    /// How much one question may cost.
    pub spending: Spending,
    /// How many rejected responses in a row end a question, those that were asked for again at once included; none: as
    /// the profile says.
    pub max_strikes: Option<usize>,
    /// Whether the response that makes that number ends it, or the one after.
    pub strike_mode: StrikeMode,
    /// Whether the model is stopped once a call is complete, so that nothing after it is waited for, read or judged.
    pub stop_after_call: bool,
    /// How much of the conversation a request may hold.
    pub context: ContextBudget,
    /// Whether the model goes on by itself, so that it is never done.
    pub endless: bool,
    /// How many tools are shown in use before the first question.
    pub examples: usize,
}

impl Setting {
    /// A model and tools behind a gate of the profile `standard`. There is nobody to ask, so only calls that are safe by
    /// themselves run; nothing is granted, and nothing recorded.
    pub fn new(model: Box<dyn Model>, tools: Toolbox) -> Result<Self, GateError> {
        let gate = Gate::builder().tools(tools.registry().clone()).build()?;
        Ok(Setting::with_gate(model, gate, tools))
    }

    /// The counter of rejected responses: one budget, whether they are asked for again at once or in the next turn.
    pub(super) fn strikes(&self) -> Strikes {
        let retries = usize::try_from(self.retry.max_attempts).unwrap_or(usize::MAX);
        let limit = self.max_strikes.unwrap_or(match StrikeLimit::of(self.gate.profile()) {
            StrikeLimit::Retries => retries.saturating_add(1),
            StrikeLimit::Count(count) => count,
            StrikeLimit::Turns => usize::MAX,
        });
        Strikes::new(limit, self.strike_mode)
    }

    /// The same behind a gate of your own, which was built with the registry of the tools.
    pub fn with_gate(model: Box<dyn Model>, gate: Gate, tools: Toolbox) -> Self {
        Setting {
            model,
            dialect: None,
            native_tools: gate.profile().is_native(),
            tools,
            parameters: Parameters::default(),
            retry: RetrySettings::of(gate.profile()),
            approval: ApprovalPolicy::default(),
            approver: Box::new(NobodyThere),
            grants: Grants::new(),
            audit: None,
            spending: Spending::default(),
            max_strikes: None,
            strike_mode: StrikeMode::AtLimit,
            stop_after_call: gate.profile().interrupts(),
            context: ContextBudget::default(),
            endless: false,
            examples: 0,
            gate,
        }
    }
}
