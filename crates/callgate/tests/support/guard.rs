//! Running many texts: a panic is a fault of the text that caused it, a text that is never read to its end is named,
//! and all processors help.

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Longer than any single text takes on a machine that others use too, shorter than what never ends.
const PATIENCE: Duration = Duration::from_secs(180);

/// What is being read at this moment, by the number of the reading.
static READING: LazyLock<Mutex<Readings>> = LazyLock::new(|| {
    std::thread::spawn(|| {
        loop {
            std::thread::sleep(Duration::from_secs(1));
            if let Some(label) = readings(|readings| readings.overdue()) {
                // Straight to the error output: nobody collects what a test printed that does not end.
                let _ = writeln!(std::io::stderr(), "not read to its end in {PATIENCE:?}: {label}");
                std::process::exit(101);
            }
        }
    });
    Mutex::new(Readings::default())
});

#[derive(Default)]
struct Readings {
    next: usize,
    open: BTreeMap<usize, (String, Instant)>,
}

impl Readings {
    fn overdue(&self) -> Option<String> {
        let overdue = self.open.values().find(|(_, since)| since.elapsed() > PATIENCE);
        overdue.map(|(label, _)| label.clone())
    }
}

fn readings<T>(use_them: impl FnOnce(&mut Readings) -> T) -> T {
    use_them(&mut READING.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Does the work, and ends the process with this label where the work does not end.
pub(crate) fn watched<T>(label: String, work: impl FnOnce() -> T) -> T {
    let number = readings(|readings| {
        readings.next += 1;
        readings.open.insert(readings.next, (label, Instant::now()));
        readings.next
    });
    let done = catch_unwind(AssertUnwindSafe(work));
    readings(|readings| readings.open.remove(&number));
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Does the work that looks for a fault; a panic is one.
pub(crate) fn guarded(label: &str, work: impl FnOnce() -> Option<String>) -> Option<String> {
    watched(label.to_owned(), || catch_unwind(AssertUnwindSafe(work))).unwrap_or_else(|panic| {
        let words =
            panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Some(format!("panics: {}", words.unwrap_or("without words")))
    })
}

/// The results for all items, in order, found by as many threads as the machine has.
pub(crate) fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let run = || {
        let numbers = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let items = numbers.map_while(|number| Some((number, items.get(number)?)));
        items.map(|(number, item)| (number, work(item))).collect::<Vec<_>>()
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut results = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(run)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_default()).collect::<Vec<_>>()
    });
    assert_eq!(results.len(), items.len(), "a thread panicked");
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}
