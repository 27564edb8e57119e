//! The log of `callgate serve`: lines to standard error by a thread of their own, so that no request waits for a terminal.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

/// How many lines may wait to be written.
const WAITING: usize = 4096;

/// How long the last lines may take.
const LAST: Duration = Duration::from_secs(2);

/// The lines on their way.
pub(crate) struct ServeLog {
    to: SyncSender<Told>,
    lost: AtomicU64,
}

enum Told {
    Line(String),
    /// Everything before it is written when this is answered.
    End(SyncSender<()>),
}

impl ServeLog {
    /// Begins to write.
    pub(crate) fn begin() -> io::Result<Self> {
        let (to, from) = sync_channel(WAITING);
        std::thread::Builder::new().name("log".to_owned()).spawn(move || write(&from))?;
        Ok(ServeLog { to, lost: AtomicU64::new(0) })
    }

    /// Takes a line; if too many wait, it is lost and counted.
    pub(crate) fn say(&self, line: &str) {
        let lost = self.lost.swap(0, Ordering::Relaxed);
        let line = match lost {
            0 => line.to_owned(),
            _ => format!("{line}\n# {lost} lines before this one were lost"),
        };
        if let Err(TrySendError::Full(_)) = self.to.try_send(Told::Line(line)) {
            self.lost.fetch_add(lost + 1, Ordering::Relaxed);
        }
    }

    /// Waits until everything is written, or nobody reads it.
    pub(crate) fn end(&self) {
        let (done, ended) = sync_channel(1);
        if self.to.try_send(Told::End(done)).is_ok() {
            let _ = ended.recv_timeout(LAST);
        }
    }
}

fn write(from: &Receiver<Told>) {
    while let Ok(told) = from.recv() {
        match told {
            // If nobody reads standard error any more, the server still serves.
            Told::Line(line) => drop(writeln!(io::stderr().lock(), "{line}")),
            Told::End(done) => drop(done.send(())),
        }
    }
}
