//! Another process: the shapes of a test are read there, so that one that ends it is named and the rest goes on.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, ExitStatus, Stdio};

use callgate::Gate;

use crate::growth::{cost, growing};
use crate::shape::Shape;
use crate::support::dice::from_environment;
use crate::support::guard::watched;

/// The largest input, in bytes, that every shape is measured at.
const LARGEST: usize = 32 << 10;

/// The size at which work that nobody counts and that is quadratic with a large constant does not come to its end while
/// anybody waits. CI reads four times as much, where every quadratic work shows.
const ENDLESS: usize = 64 << 10;

/// After so many shapes that are not read to their end a test gives up: each takes all the patience there is.
const GIVE_UP: usize = 3;

/// What the other process does with its shapes; that this is set says that it is the other process.
const TASK: &str = "CALLGATE_TASK";

/// Measured at doubling sizes.
const MEASURE: &str = "measure";

/// Read once at a size where quadratic work would not end.
const ENDURE: &str = "endure";

/// The shapes that failed, by what they did.
#[derive(Default)]
struct Faults(BTreeMap<String, Vec<(usize, String)>>);

impl Faults {
    fn add(&mut self, class: &str, number: usize, values: &str) {
        self.0.entry(class.to_owned()).or_default().push((number, values.to_owned()));
    }

    fn concern(&self, number: usize) -> bool {
        self.0.values().flatten().any(|(failed, _)| *failed == number)
    }
}

/// Reads all shapes of a test and fails with those that cost too much or end the process.
pub(crate) fn assert_proportional(test: &str, shapes: &[Shape]) {
    let largest = from_environment("CALLGATE_LARGEST", LARGEST);
    if let Ok(task) = std::env::var(TASK) {
        return read_shapes(shapes, &task, largest);
    }
    let mut faults = Faults::default();
    let all: Vec<usize> = (0..shapes.len()).collect();
    let mut unread = in_another_process(test, MEASURE, &all, &mut faults);
    // What has failed by its counts need not be waited for.
    let lasting: Vec<usize> =
        all.into_iter().filter(|&number| shapes[number].endures && !faults.concern(number)).collect();
    unread += in_another_process(test, ENDURE, &lasting, &mut faults);
    let mut report = String::new();
    for (class, failed) in &faults.0 {
        let _ = writeln!(report, "\n{class}: {} shapes", failed.len());
        for (number, values) in failed.iter().take(from_environment("CALLGATE_SHOW", 15)) {
            let _ = writeln!(report, "  {}: {values}", shapes[*number]);
        }
    }
    if unread > 0 {
        let _ = writeln!(report, "\n{unread} more shapes were not read");
    }
    assert!(faults.0.is_empty(), "of {} shapes, up to {largest} bytes:{report}", shapes.len());
}

/// Has these shapes read by other processes, one after the other where one ends; returns how many were left over.
fn in_another_process(test: &str, task: &str, shapes: &[usize], faults: &mut Faults) -> usize {
    let mut rest = shapes;
    let mut endless = 0;
    while !rest.is_empty() && endless < GIVE_UP {
        let (output, status) = other_process(test, task, rest);
        let mut reading = None;
        for line in output.lines() {
            // Other output may stand before the first words in the same line.
            if let Some((_, number)) = line.split_once("READING ") {
                reading = number.trim().parse::<usize>().ok();
            } else if let (Some(fault), Some(number)) = (line.strip_prefix("FAULT "), reading) {
                let (measure, values) = fault.split_once('\t').unwrap_or((fault, ""));
                faults.add(measure, number, values);
            } else if line.starts_with("DONE") {
                return 0;
            }
        }
        let Some(number) = reading else { panic!("the other process read nothing: {status}\n{output}") };
        // The guard of the other process ends it with a code, a stack that overflows with a signal.
        let is_endless = status.code() == Some(101);
        endless += usize::from(is_endless);
        let class = if is_endless { "not read to its end" } else { "ends the process" };
        faults.add(class, number, &status.to_string());
        let at = rest.iter().position(|&other| other == number).unwrap_or(rest.len() - 1);
        rest = &rest[at + 1..];
    }
    rest.len()
}

fn other_process(test: &str, task: &str, shapes: &[usize]) -> (String, ExitStatus) {
    let run = || -> std::io::Result<(String, ExitStatus)> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(TASK, task)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        if let Some(mut input) = child.stdin.take() {
            let numbers: Vec<String> = shapes.iter().map(usize::to_string).collect();
            input.write_all(numbers.join(" ").as_bytes())?;
        }
        let output = child.wait_with_output()?;
        Ok((String::from_utf8_lossy(&output.stdout).into_owned(), output.status))
    };
    run().unwrap_or_else(|error| panic!("{error}"))
}

/// Reads the shapes whose numbers come on the input, and says on the output what is found.
fn read_shapes(shapes: &[Shape], task: &str, largest: usize) {
    let numbers = std::io::read_to_string(std::io::stdin()).unwrap_or_else(|error| panic!("{error}"));
    let mut gates: BTreeMap<(&str, &str), Gate> = BTreeMap::new();
    for number in numbers.split_whitespace().filter_map(|number| number.parse::<usize>().ok()) {
        let shape = &shapes[number];
        let gate = gates.entry((shape.profile, &shape.dialect)).or_insert_with(|| shape.gate());
        println!("READING {number}");
        let _ = std::io::stdout().flush();
        if task == MEASURE {
            // A thread keeps the buffers of its readings for the next, so each size has one of its own.
            let faults = growing(largest, |size| on_a_small_stack(|| cost(shape, gate, size)));
            faults.iter().for_each(|fault| println!("FAULT {fault}"));
        } else {
            let text = shape.text(from_environment("SIZES_ENDLESS", ENDLESS).max(largest));
            on_a_small_stack(|| watched(shape.to_string(), || shape.read(gate, &text, || 0.0)));
        }
    }
    println!("DONE");
}

/// Half a megabyte: any recursion on input ends the process here.
fn on_a_small_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(512 << 10).spawn_scoped(scope, work);
        let joined = thread.unwrap_or_else(|error| panic!("{error}")).join();
        joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
