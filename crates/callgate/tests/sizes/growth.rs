//! Growth: what reading a shape costs at doubling sizes, and which costs grow too fast.

use std::time::Instant;

use callgate::Gate;
use stats_alloc::Region;

use crate::ALLOCATOR;
use crate::shape::Shape;

/// By how much a measure may grow when the input doubles: two, and room for what is counted in steps.
const GROWTH: f64 = 2.3;

/// How often a byte may be read, whatever the size: work that is bounded by a limit per byte is linear too, and endless.
const TIMES: f64 = 64.0;

/// The smallest input of each shape, in bytes.
const SMALLEST: usize = 8 << 10;

/// What one reading cost, by name.
pub(crate) type Cost = Vec<(&'static str, f64)>;

/// Reads the shape at this size and says what that cost.
pub(crate) fn cost(shape: &Shape, gate: &Gate, size: usize) -> Cost {
    let text = shape.text(size);
    let region = Region::new(ALLOCATOR);
    let (work, peak) = shape.read(gate, &text, || {
        let change = region.change();
        change.bytes_allocated as f64 - change.bytes_deallocated as f64
    });
    let change = region.change();
    let mut cost = vec![
        ("work", work),
        ("peak of live bytes", peak),
        ("allocated bytes", change.bytes_allocated as f64),
        ("allocations", (change.allocations + change.reallocations) as f64),
    ];
    if std::env::var_os("CALLGATE_TIMED").is_some() {
        cost.push((
            "time",
            best_of_three(|| {
                shape.read(gate, &text, || 0.0);
            }),
        ));
    }
    cost
}

fn best_of_three(mut work: impl FnMut()) -> f64 {
    let mut seconds = || {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e6
    };
    seconds().min(seconds()).min(seconds())
}

/// What is too small to tell growth from noise.
fn slack(measure: &str) -> f64 {
    match measure {
        "allocations" => 64.0,
        "time" => 2000.0,
        _ => 8192.0,
    }
}

/// The measures that grow too fast, each with a tab and its values. A single step may be a buffer that happens to grow,
/// and a few may be a limit from which on rejections are written; so growth has to be plain, or to go on.
pub(crate) fn growing(largest: usize, mut measure: impl FnMut(usize) -> Cost) -> Vec<String> {
    const PLAIN: f64 = 3.5;
    let mut size = SMALLEST;
    let mut costs: Vec<Cost> = vec![measure(size)];
    loop {
        size *= 2;
        costs.push(measure(size));
        let last = costs.len() - 1;
        let faster = |which: usize, step: usize, times: f64| {
            let (name, value) = costs[step][which];
            value > times * costs[step - 1][which].1 + slack(name)
        };
        let measures = 0..costs[0].len();
        let suspects: Vec<usize> = measures.filter(|&which| faster(which, last, GROWTH)).collect();
        let plain =
            |which: &usize| last > 1 && faster(*which, last, PLAIN) && faster(*which, last - 1, PLAIN);
        let confirmed: Vec<usize> =
            suspects.iter().copied().filter(|which| plain(which) || size >= 4 * largest).collect();
        if !confirmed.is_empty() || (size >= largest && suspects.is_empty()) {
            let shown = |which: usize| {
                let values: Vec<String> = costs.iter().map(|cost| format!("{:.0}", cost[which].1)).collect();
                format!("{}\t{}", costs[0][which].0, values.join(" → "))
            };
            let mut faults: Vec<String> = confirmed.into_iter().map(shown).collect();
            let (name, work) = costs[last][0];
            if work > TIMES * size as f64 + slack(name) {
                faults.push(format!("{name} per byte\t{:.0}", work / size as f64));
            }
            return faults;
        }
    }
}
