//! Profiles: named bundles of dialects, policy, prompt and error rendering.

use crate::policy::Policy;

/// A named bundle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    name: &'static str,
}

impl Profile {
    /// Every name.
    pub const NAMES: &'static [&'static str] =
        &["standard", "strict", "lenient", "action", "structured", "fenced", "labelled", "strict-xml"];

    /// The default.
    pub fn standard() -> Self {
        Profile { name: "standard" }
    }

    /// The profile of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|known| **known == name).map(|name| Profile { name })
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its policy.
    pub fn policy(&self) -> Policy {
        Policy::default()
    }

    /// The dialects it switches on.
    pub fn dialects(&self) -> &'static [&'static str] {
        &["auto"]
    }

    /// Whether unmistakable markers of other dialects are listened for.
    pub(crate) fn listens(&self) -> bool {
        true
    }

    pub(crate) fn refuses_empty(&self) -> bool {
        self.name == "action"
    }
}
