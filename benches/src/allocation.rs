//! Memory: an allocator that counts while it is asked to, and what streaming costs by its count.

use std::alloc::{GlobalAlloc, Layout, System};
use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use callgate::{FinishReason, Session};
use serde_json::json;

use crate::contestant::gate;
use crate::growth::written_in;
use crate::workload::{self, chunks};

/// The system's allocator with counters. They rest during races, so that they cost a race next to nothing.
pub struct Counting;

static ON: AtomicBool = AtomicBool::new(false);
static CALLS: AtomicUsize = AtomicUsize::new(0);
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn gained(bytes: usize) {
    CALLS.fetch_add(1, Relaxed);
    let live = LIVE.fetch_add(bytes, Relaxed).wrapping_add(bytes);
    // What was allocated before counting began may be freed during it: below the start counts as nothing.
    if live < usize::MAX / 2 {
        PEAK.fetch_max(live, Relaxed);
    }
}

// SAFETY: every request goes to the system's allocator unchanged; the counters do not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if ON.load(Relaxed) {
            gained(layout.size());
        }
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if ON.load(Relaxed) {
            LIVE.fetch_sub(layout.size(), Relaxed);
        }
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if ON.load(Relaxed) {
            LIVE.fetch_sub(layout.size(), Relaxed);
            gained(new_size);
        }
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

/// What was allocated during something.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// Allocations and growths.
    pub calls: usize,
    /// The most bytes alive at one time.
    pub peak: usize,
}

/// Does something while counting.
pub fn counted<T>(work: impl FnOnce() -> T) -> (T, Count) {
    for counter in [&CALLS, &LIVE, &PEAK] {
        counter.store(0, Relaxed);
    }
    ON.store(true, Relaxed);
    let result = work();
    ON.store(false, Relaxed);
    (result, Count { calls: CALLS.load(Relaxed), peak: PEAK.load(Relaxed) })
}

/// What streaming one text took.
pub struct Cost {
    pub name: String,
    pub bytes: usize,
    /// Allocations and growths per chunk, over the middle half of the chunks.
    pub per_chunk: f64,
    /// The most bytes alive before the end of the response, the session itself included.
    pub peak_feeding: usize,
    /// The most bytes alive, the end of the response included.
    pub peak: usize,
}

/// Streams one long text per kind and counts.
pub fn costs(size: usize) -> Result<Vec<Cost>, Box<dyn Error>> {
    let mut costs = Vec::new();
    for dialect in ["hermes", "deepseek-v31", "qwen3-coder", "glm45", "pythonic"] {
        costs.push(cost(dialect, dialect, &written_in(dialect, size)?)?);
    }
    let prose = workload::prose().text;
    costs.push(cost("text", "auto", &prose.repeat(size / prose.len() + 1))?);
    Ok(costs)
}

fn cost(name: &str, dialect: &str, text: &str) -> Result<Cost, Box<dyn Error>> {
    let gate = gate(dialect)?;
    let pieces = chunks(text);
    let middle = pieces.len() / 4..pieces.len() * 3 / 4;
    let mut before = 0;
    let mut in_middle = 0;
    let mut peak_feeding = 0;
    let ((), count) = counted(|| {
        let mut session = gate.session();
        for (at, chunk) in pieces.iter().enumerate() {
            if at == middle.start {
                before = CALLS.load(Relaxed);
            }
            session.push(chunk, &mut |event| drop(event));
            if at + 1 == middle.end {
                in_middle = CALLS.load(Relaxed) - before;
            }
        }
        peak_feeding = PEAK.load(Relaxed);
        session.finish(FinishReason::Stop, &mut |event| drop(event));
    });
    Ok(Cost {
        name: name.to_owned(),
        bytes: text.len(),
        per_chunk: in_middle as f64 / middle.len() as f64,
        peak_feeding: peak_feeding + size_of::<Session>(),
        peak: count.peak + size_of::<Session>(),
    })
}

/// The costs as JSON.
pub fn to_json(costs: &[Cost]) -> serde_json::Value {
    let row = |cost: &Cost| {
        json!({"name": cost.name, "bytes": cost.bytes, "allocations_per_chunk": cost.per_chunk,
            "peak_feeding": cost.peak_feeding, "peak": cost.peak})
    };
    costs.iter().map(row).collect()
}

/// The costs as a table.
pub fn to_markdown(costs: &[Cost]) -> String {
    let mut table = String::from(
        "| text | bytes | allocations per chunk | peak while feeding | peak at the end |\n|---|--:|--:|--:|--:|\n",
    );
    let times = |part: usize, cost: &Cost| {
        format!("{} KB = {:.3} × input", part.div_ceil(1024), part as f64 / cost.bytes as f64)
    };
    for cost in costs {
        table.push_str(&format!(
            "| {} | {} | {:.4} | {} | {} |\n",
            cost.name,
            cost.bytes,
            cost.per_chunk,
            times(cost.peak_feeding, cost),
            times(cost.peak, cost)
        ));
    }
    table
}
