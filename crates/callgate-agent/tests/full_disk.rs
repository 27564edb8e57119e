//! A disk that fills up at any byte: what is said afterwards is what ran.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so by panicking")]

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use callgate::{Gate, Tool};
use callgate_agent::approval::Rule;
use callgate_agent::audit::{AuditError, AuditLog, AuditSettings, Medium, Sync};
use callgate_agent::cancel::Cancel;
use callgate_agent::chat::{Answered, Chat, End, Setting};
use callgate_agent::model::{BoxFuture, Scripted, ScriptedTurn};
use callgate_agent::tools::{Prepared, RunTool, ToolError, ToolReport, Toolbox};
use serde_json::{Value, json};

/// A disk with this many bytes left. What fits of a record is written before it fails, as on a real one.
#[derive(Clone)]
struct Disk {
    left: usize,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl Medium for Disk {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let fits = bytes.len().min(self.left);
        self.left -= fits;
        self.bytes.lock().unwrap().extend_from_slice(&bytes[..fits]);
        if fits < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A tool that counts how often it ran.
struct Counter(Tool, Arc<AtomicUsize>);

impl RunTool for Counter {
    fn tool(&self) -> &Tool {
        &self.0
    }

    fn prepare<'a>(&'a self, _: &'a Value) -> BoxFuture<'a, Result<Prepared, ToolError>> {
        let ran = Arc::clone(&self.1);
        Box::pin(std::future::ready(Ok(Prepared::new(move || async move {
            ran.fetch_add(1, Ordering::SeqCst);
            Ok("seen".to_owned())
        }))))
    }
}

fn look() -> Tool {
    Tool::new("look", "Looks.", json!({"type": "object", "properties": {"n": {"type": "integer"}}}))
}

fn gate() -> Gate {
    let mut tools = Toolbox::new();
    tools.add(Arc::new(Counter(look(), Arc::default()))).unwrap();
    Gate::builder().tools(tools.registry().clone()).build().unwrap()
}

/// What came of a conversation of two calls on a disk with this many bytes.
struct Came {
    ran: usize,
    /// The whole records on the disk, by type.
    records: Vec<Value>,
    bytes: usize,
    answered: Result<Answered, AuditError>,
    ended: Result<(), AuditError>,
}

async fn converse(gate: &Gate, space: usize, sync: Sync) -> Came {
    let ran = Arc::new(AtomicUsize::new(0));
    let mut tools = Toolbox::new();
    tools.add(Arc::new(Counter(look(), Arc::clone(&ran)))).unwrap();
    let call =
        |n: usize| format!("<tool_call>{{\"name\": \"look\", \"arguments\": {{\"n\": {n}}}}}</tool_call>");
    let turns = vec![ScriptedTurn::text(&(call(1) + "\n" + &call(2))), ScriptedTurn::text("Done.")];
    let settings = AuditSettings { sync, ..AuditSettings::new("unused") };
    let disk = Disk { left: space, bytes: Arc::default() };
    let log = AuditLog::on(Box::new(disk.clone()), settings, "s", "disk", || SystemTime::UNIX_EPOCH);
    let mut setting = Setting::with_gate(Box::new(Scripted::new(turns)), gate.clone(), tools);
    setting.retry.max_attempts = 0;
    setting.approval.safe = vec![Rule::parse("look").unwrap()];
    setting.audit = Some(log);
    let (answered, ended) = match Chat::begin(setting, "") {
        Err(error) => (Err(error), Ok(())),
        Ok(mut chat) => {
            let answered = chat.ask("Look.", &Cancel::new(), &mut |_| {}).await;
            (Ok(answered), chat.end())
        }
    };
    let bytes = disk.bytes.lock().unwrap().clone();
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
    let records = lines.map(|line| serde_json::from_slice(line).unwrap()).collect();
    Came { ran: ran.load(Ordering::SeqCst), records, bytes: bytes.len(), answered, ended }
}

impl Came {
    fn count(&self, kind: &str) -> usize {
        self.records.iter().filter(|record| record["type"] == kind).count()
    }

    /// Checks that what is said is what ran.
    fn check(&self, space: usize) {
        let at = format!("with {space} bytes");
        assert!(self.count("permission") >= self.ran, "{at}: what ran was permitted on record");
        let unrecorded = self.ran - self.count("tool");
        assert!(unrecorded <= 1, "{at}: nothing runs after a record failed");
        let error = match &self.answered {
            Err(error) => Some(error),
            Ok(Answered { end: End::Unrecorded { error }, .. }) => Some(error),
            Ok(_) => self.ended.as_ref().err(),
        };
        let said = error.map(ToString::to_string).unwrap_or_default();
        assert!(!said.contains("nothing was run"), "{at}: {said}");
        assert_eq!(
            said.contains("`look` has run, and what it gave is not on record"),
            unrecorded == 1,
            "{at}: {said}"
        );
        assert_eq!(said.contains("nothing more is run"), error.is_some(), "{at}: {said}");
        if let Ok(answered) = &self.answered {
            let told = answered.tools.iter().filter(|report| ToolReport::ran(report)).count();
            assert_eq!(told, self.ran, "{at}: every call that ran is told");
        }
    }
}

#[tokio::test]
async fn a_full_disk_at_any_byte_says_what_ran() {
    let gate = gate();
    let whole = converse(&gate, usize::MAX, Sync::Decision).await;
    assert_eq!((whole.ran, whole.count("tool"), whole.ended.is_ok()), (2, 2, true));
    let mut unrecorded = 0;
    for space in 0..=whole.bytes {
        let came = converse(&gate, space, Sync::Decision).await;
        came.check(space);
        unrecorded += came.ran - came.count("tool");
        assert_eq!(came.ended.is_ok() && came.answered.is_ok(), space == whole.bytes, "with {space} bytes");
    }
    assert!(unrecorded > 100, "the case that was told wrongly is among them: {unrecorded}");
}

#[tokio::test]
async fn a_full_disk_says_what_ran_where_records_wait_for_an_interval_too() {
    let sync = Sync::Interval(Duration::from_secs(3_600));
    let gate = gate();
    let whole = converse(&gate, usize::MAX, sync).await;
    for space in (0..=whole.bytes).step_by(61) {
        converse(&gate, space, sync).await.check(space);
    }
}
