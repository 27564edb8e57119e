//! Processes: the parts that are measured apart, and what the system says about them.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::Failure;

/// How many ticks of the kernel's accounts are a second, on every Linux.
const TICKS: u64 = 100;

/// A process of this run, which ends with it.
pub(crate) struct Process {
    pub(crate) address: SocketAddr,
    child: Child,
}

impl Process {
    /// This program in another role; it says where it listens.
    pub(crate) fn start(arguments: &[&str]) -> Result<Self, Failure> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let mut line = String::new();
        let output = child.stdout.take().ok_or("a process without an output")?;
        BufReader::new(output).read_line(&mut line)?;
        Ok(Process { address: line.trim().parse()?, child })
    }

    /// A process that listens at a known address.
    pub(crate) fn at(address: SocketAddr, child: Child) -> Self {
        Process { address, child }
    }

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// The CPU time it has had, the system's on its behalf included.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        cpu_time(self.child.id())
    }

    /// Its memory in KiB.
    pub(crate) fn resident(&self) -> Option<usize> {
        self.status("VmRSS:")
    }

    /// How many threads it has.
    pub(crate) fn threads(&self) -> Option<usize> {
        self.status("Threads:")
    }

    /// How many files and connections it has open.
    pub(crate) fn open_files(&self) -> Option<usize> {
        Some(std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).ok()?.count())
    }

    fn status(&self, key: &str) -> Option<usize> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse().ok()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The CPU time that a process has had, where the system says so in `/proc`.
pub(crate) fn cpu_time(id: u32) -> Option<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name of the command may hold anything, and ends with the last bracket.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(Duration::from_millis((user + system) * 1000 / TICKS))
}
