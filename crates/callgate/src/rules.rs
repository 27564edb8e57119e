//! The rules of a gate: its tools, its policy and the dialects that listen. Everything that judges needs these alone.

use std::sync::Arc;

use crate::dialect::Record;
use crate::policy::{Dangerous, Policy};
use crate::registry::Registry;
use crate::schema::CompiledTool;

/// What calls are held against.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) registry: Option<Registry>,
    pub(crate) policy: Policy,
    pub(crate) dialects: Arc<[ActiveDialect]>,
    /// The codes that a model may give an error that it reports; any if there are none.
    pub(crate) error_codes: &'static [&'static str],
    /// Whether a response with nothing in it is a fault.
    pub(crate) rejects_empty: bool,
}

/// A record that listens, and how.
#[derive(Clone, Debug)]
pub(crate) struct ActiveDialect {
    pub(crate) record: Arc<Record>,
    /// Chosen by name: every opener listens, not only the unmistakable ones.
    pub(crate) chosen: bool,
    /// Whether its calls are live, and not merely noticed.
    pub(crate) live: bool,
}

impl Rules {
    /// The tool of this name.
    pub(crate) fn tool(&self, name: &str) -> Option<&CompiledTool> {
        self.registry.as_ref()?.compiled(name)
    }

    /// The tool of this name, or else of this name in other letters.
    pub(crate) fn meant(&self, name: &str) -> Option<&CompiledTool> {
        let registry = self.registry.as_ref()?;
        registry.compiled(name).or_else(|| registry.respelled(name))
    }

    /// Whether nothing may be guessed about a call of this name.
    pub(crate) fn is_dangerous(&self, name: &str) -> bool {
        self.policy.dangerous == Dangerous::All || self.tool(name).is_some_and(|tool| tool.tool.dangerous)
    }

    /// Whether there is a tool of this name.
    pub(crate) fn knows(&self, name: &str) -> bool {
        self.tool(name).is_some()
    }
}
