//! Permissions that tools need and a session grants: none at the start, none taken back, none left for the next one.

use std::time::SystemTime;

use callgate::Tool;
use serde::Serialize;

use super::{Denial, DenialReason};
use crate::clock::timestamp;

/// The permission that starting programs needs: listed tools, shells, MCP servers of this machine.
pub const EXECUTE: &str = "EXECUTE";
/// The permission that tools of MCP servers elsewhere need.
pub const NETWORK: &str = "NETWORK";

/// The permissions of one session.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    given: Vec<Grant>,
}

/// One permission that was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Grant {
    /// Its number in the session, counted from one.
    pub id: usize,
    /// What is permitted, such as `FS_READ`.
    pub permission: String,
    /// Why it was given.
    pub reason: String,
    /// When it was given.
    pub at: String,
}

impl Grants {
    /// A session without any.
    pub fn new() -> Self {
        Grants::default()
    }

    /// Gives a permission until the session ends.
    pub fn grant(&mut self, permission: &str, reason: &str) -> &Grant {
        let at = self.given.iter().position(|grant| grant.permission == permission).unwrap_or_else(|| {
            self.given.push(Grant {
                id: self.given.len() + 1,
                permission: permission.to_owned(),
                reason: reason.to_owned(),
                at: timestamp(SystemTime::now()),
            });
            self.given.len() - 1
        });
        &self.given[at]
    }

    /// All that were given, in order.
    pub fn given(&self) -> &[Grant] {
        &self.given
    }

    /// Whether a tool has what it needs.
    pub fn check(&self, tool: &Tool) -> Result<(), Denial> {
        let Some(needed) = &tool.permission else { return Ok(()) };
        if self.given.iter().any(|grant| grant.permission == *needed) {
            return Ok(());
        }
        let detail = format!("permission denied for tool: {} (it needs {needed})", tool.name);
        Err(Denial::new(DenialReason::Permission, detail))
    }
}
