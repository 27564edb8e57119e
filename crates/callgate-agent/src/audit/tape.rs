//! What a log writes to: bytes appended in order, and forced to the disk with each record or by a thread of its own
//! before an interval is over; and after each time the head goes to its second place.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{Head, Heads, Medium, Sync};

/// A medium that somebody watches over.
pub(super) struct Tape {
    shared: Arc<Shared>,
    /// Who forces records to the disk where that is not done with each; nobody otherwise.
    watcher: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    medium: Box<dyn Medium>,
    heads: Option<Arc<Heads>>,
    /// The last record that was appended, until its head is kept.
    head: Option<Head>,
    /// Whether something was appended since everything was forced to the disk.
    is_open: bool,
    /// Why nothing more can be written, once something could not.
    broken: Option<String>,
    is_over: bool,
}

/// Why nothing was written.
pub(super) enum TapeFault {
    /// This could not be written.
    Failed(io::Error),
    /// Something before it could not, so it was not tried.
    Broken(String),
}

impl Tape {
    pub(super) fn new(medium: Box<dyn Medium>, sync: Sync, heads: Option<Arc<Heads>>) -> Self {
        let state = State { medium, heads, head: None, is_open: false, broken: None, is_over: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() });
        let watcher = match sync {
            Sync::Decision => None,
            Sync::Interval(time) => {
                let shared = Arc::clone(&shared);
                // Without a thread every record is forced to the disk: slower, and nothing is lost.
                std::thread::Builder::new().name("audit".to_owned()).spawn(move || shared.watch(time)).ok()
            }
        };
        Tape { shared, watcher }
    }

    /// Appends a record, and forces it to the disk unless a thread does that.
    pub(super) fn append(&self, bytes: &[u8], head: Head) -> Result<(), TapeFault> {
        let mut state = self.shared.lock();
        if let Some(why) = &state.broken {
            return Err(TapeFault::Broken(why.clone()));
        }
        let appended = state.medium.append(bytes);
        state.taken(appended)?;
        state.is_open = true;
        state.head = Some(head);
        if self.watcher.is_none() {
            return state.sync();
        }
        self.shared.changed.notify_all();
        Ok(())
    }

    /// Forces everything to the disk.
    pub(super) fn sync(&self) -> Result<(), TapeFault> {
        self.shared.lock().sync()
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_all();
        if let Some(watcher) = self.watcher.take() {
            // A panic of the thread needs no report of its own: what it left is forced to the disk below.
            let _ = watcher.join();
        }
        let mut state = self.shared.lock();
        if state.is_open && state.broken.is_none() {
            // Errors are lost here; a caller that needs them flushes before dropping the log.
            let _ = state.sync();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forces records to the disk at most this long after the first of them.
    fn watch(&self, time: Duration) {
        let mut state = self.lock();
        loop {
            let waits = |state: &mut State| !state.is_over && (!state.is_open || state.broken.is_some());
            state = self.changed.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
            if state.is_over {
                return;
            }
            let waited = self.changed.wait_timeout_while(state, time, |state| !state.is_over);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.is_over {
                return;
            }
            // A failure is kept and reported by the next write.
            let _ = state.sync();
        }
    }
}

impl State {
    fn sync(&mut self) -> Result<(), TapeFault> {
        if let Some(why) = &self.broken {
            return Err(TapeFault::Broken(why.clone()));
        }
        let synced = self.medium.sync();
        self.taken(synced)?;
        self.is_open = false;
        let kept = match (&self.heads, self.head.take()) {
            (Some(heads), Some(head)) => heads.put(&head).map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", heads.place().display()))
            }),
            _ => Ok(()),
        };
        self.taken(kept)
    }

    /// After a failed write nobody knows what is on the disk, so nothing is tried again.
    fn taken(&mut self, result: io::Result<()>) -> Result<(), TapeFault> {
        result.map_err(|error| {
            self.broken = Some(format!("an earlier record could not be written: {error}"));
            TapeFault::Failed(error)
        })
    }
}
