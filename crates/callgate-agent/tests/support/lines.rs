//! An audit log whose lines stay in memory, to be looked at.
#![allow(dead_code)] // Each test uses its part.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use callgate_agent::audit::{AuditLog, AuditSettings, Medium, Style};
use serde_json::Value;

#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    /// A log that is written here.
    pub(crate) fn log(&self, style: Style) -> AuditLog {
        let settings = AuditSettings::new("nowhere").keeping(style);
        AuditLog::on(Box::new(self.clone()), settings, "s", "here", || SystemTime::UNIX_EPOCH)
    }

    /// What has been written so far.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    pub(crate) fn records(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Medium for Lines {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
