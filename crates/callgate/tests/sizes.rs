//! Work and memory by doubling sizes: whatever is repeated, wherever it stands, twice the input costs about twice, on
//! a stack that leaves no room for recursion.
//!
//! The shapes are read in a process of their own, so that one that ends the process is named and the rest goes on, and
//! so that nothing else allocates meanwhile. Longer runs: `CALLGATE_SHAPES` says how many shapes are drawn,
//! `CALLGATE_LARGEST` up to how many bytes they are doubled, `SIZES_ENDLESS` at how many bytes they are read to their
//! end, `CALLGATE_SEED` which ones; with `CALLGATE_TIMED` time is measured as well, the best of three, on a machine that
//! has nothing else to do.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use callgate::internal::dialect::Template;
use callgate::{FinishReason, Gate, Profile, Record, repair};
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use support::calls::{remove, tools, written};
use support::dice::{Dice, from_environment};
use support::guard::watched;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// By how much a measure may grow when the input doubles: two, and room for what is counted in steps.
const GROWTH: f64 = 2.3;

/// How often a byte may be read, whatever the size: work that is bounded by a limit per byte is linear too, and endless.
const TIMES: f64 = 64.0;

/// The smallest input of each shape, in bytes, and the largest that every shape is measured at.
const SMALLEST: usize = 8 << 10;
const LARGEST: usize = 32 << 10;

/// The size at which work that nobody counts and that is quadratic with a large constant does not come to its end while
/// anybody waits. CI reads four times as much, where every quadratic work shows.
const ENDLESS: usize = 64 << 10;

/// After so many shapes that are not read to their end a test gives up: each takes all the patience there is.
const GIVE_UP: usize = 3;

// ---- shapes ----

/// How the unit of a shape fills its size.
#[derive(Clone, Copy, Debug)]
enum Layout {
    /// `abcabcabc…`
    Repeated,
    /// `aaa…ccc…`: all of the first piece, then all of the last.
    Nested,
}

/// One text of any size, and the gate that reads it.
#[derive(Clone, Debug)]
struct Shape {
    profile: &'static str,
    dialect: String,
    before: String,
    unit: Vec<String>,
    layout: Layout,
    after: String,
    /// The size of the chunks; nothing means that the text comes whole.
    chunk: Option<usize>,
    finish: FinishReason,
    /// Whether it is JSON to repair and not a response.
    is_json: bool,
    /// Whether it is also read at a size where quadratic work would not end.
    endures: bool,
}

impl Shape {
    /// What is repeated, in `standard` with all dialects, in one piece and with nothing around.
    fn of(unit: &str) -> Self {
        Shape {
            profile: "standard",
            dialect: "auto".to_owned(),
            before: String::new(),
            unit: vec![unit.to_owned()],
            layout: Layout::Repeated,
            after: String::new(),
            chunk: None,
            finish: FinishReason::Stop,
            is_json: false,
            endures: false,
        }
    }

    fn text(&self, size: usize) -> String {
        let room = size.saturating_sub(self.before.len() + self.after.len());
        let body = match (self.layout, self.unit.as_slice()) {
            (Layout::Nested, [first, .., last]) => {
                let count = room / (first.len() + last.len()).max(1);
                first.repeat(count) + &last.repeat(count)
            }
            (_, unit) => {
                let unit = unit.concat();
                unit.repeat(room / unit.len().max(1))
            }
        };
        format!("{}{body}{}", self.before, self.after)
    }

    /// Reads the text: the work that was counted, and the most that was live at any moment that can be seen.
    fn read(&self, gate: &Gate, text: &str, live: impl Fn() -> f64) -> (f64, f64) {
        if self.is_json {
            let repaired = repair(text, 64);
            let held = live();
            drop(repaired);
            return (0.0, held);
        }
        let mut peak: f64 = 0.0;
        let mut session = gate.session();
        for piece in text.as_bytes().chunks(self.chunk.unwrap_or(text.len()).max(1)) {
            session.push_bytes(piece, &mut |_| peak = peak.max(live()));
            peak = peak.max(live());
        }
        let work = session.finish_counted(self.finish, &mut |_| peak = peak.max(live()));
        (work.reading as f64, peak.max(live()))
    }

    fn gate(&self) -> Gate {
        let profile = Profile::named(self.profile).unwrap_or_else(|| panic!("no profile {}", self.profile));
        let builder = Gate::builder().profile(profile).tools(support::registry(&tools()));
        // A profile that has a format of its own keeps it; one that wants a format named gets one.
        let builder = match &*self.dialect {
            "" if profile.needs_dialect() => builder.dialect("hermes"),
            "" => builder,
            dialect => builder.dialect(dialect),
        };
        builder.build().unwrap_or_else(|error| panic!("{}: {error}", self.dialect))
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dialect = if self.dialect.is_empty() { "its own" } else { &self.dialect };
        let chunk = self.chunk.map_or("whole".to_owned(), |chunk| format!("in chunks of {chunk}"));
        let unit: Vec<String> = self.unit.iter().map(|piece| format!("{piece:?}")).collect();
        write!(
            f,
            "{:?} + {:?} [{}] + {:?}  {}, {dialect}, {chunk}, {}",
            self.before,
            self.layout,
            unit.join(" "),
            self.after,
            self.profile,
            self.finish.word()
        )
    }
}

// ---- measuring ----

/// What one reading cost, by name.
type Cost = Vec<(&'static str, f64)>;

/// Reads the shape at this size and says what that cost.
fn cost(shape: &Shape, gate: &Gate, size: usize) -> Cost {
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
fn growing(largest: usize, mut measure: impl FnMut(usize) -> Cost) -> Vec<String> {
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

// ---- running in another process ----

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
fn assert_proportional(test: &str, shapes: &[Shape]) {
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
            let faults = on_a_small_stack(|| growing(largest, |size| cost(shape, gate, size)));
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

// ---- what shapes are drawn from ----

/// What JSON, Python, Markdown and tags are made of.
const ATOMS: &[&str] = &[
    "{", "}", "[", "]", "(", ")", "\"", "'", "`", "\\", "\\\"", "\\u0041", "\\u", "“", "”", "‘", ",", ":",
    ";", "=", "<", ">", "</", "/>", "|", "\n", "\r\n", " ", "a", "1", "-", "//", "/*", "*/", "#", "'''",
    "\"\"\"", "```", "~~~", "\n```\n", "\n> ", "\n- ", "\n    ", "\n\n", "<|", "|>", "<｜", "｜>", "{\"",
    "\"}", "{\"a\":", "\"a\":", "[{", "}]", "{}", "[]", "\"\"", "null", "true", "rm", "rm(", "rm(path=",
    "path", "path=", "\"path\"", "<think>", "</think>", "<a>", "</a>", "<rm>", "&amp;", "&#96;", "é",
    "\u{feff}", "\u{200b}", "\0",
];

/// Every literal that a record writes or reads.
fn literals(record: &Record) -> Vec<String> {
    let templates = [
        &record.open,
        &record.close,
        &record.call,
        &record.param,
        &record.text,
        &record.reasoning,
        &record.noise,
    ];
    let templates = templates.into_iter().flatten().chain(&record.item).chain([&record.join]);
    let mut literals: Vec<String> = templates.flat_map(Template::literals).map(str::to_owned).collect();
    for (literal, others) in &record.also {
        literals.push(literal.clone());
        literals.extend(others.iter().cloned());
    }
    literals.extend(record.bare.iter().cloned());
    literals.retain(|literal| !literal.is_empty());
    literals.sort();
    literals.dedup();
    literals
}

/// A word that stands nowhere else, to cut written calls at.
const MARK: &str = "zqmarkqz";

/// The call as this record writes it, up to the middle of its value; nothing where it cannot be written.
fn opened(record: &Record) -> Option<String> {
    let call = remove(record, MARK)?;
    Some(call[..call.find(MARK)?].to_owned())
}

/// The states that a text can be in before the repetition starts.
fn states(record: &Record) -> Vec<String> {
    let call = remove(record, "a").unwrap_or_default();
    let rejected = written(record, "no_such_tool", &json!({"path": "a"})).unwrap_or_default();
    let opener = record.openers().first().map(|opener| opener.head().to_owned()).unwrap_or_default();
    let within = opened(record).unwrap_or_default();
    vec![
        String::new(),
        "Some text ".to_owned(),
        opener.clone(),
        within.clone(),
        format!("{within}a\""),
        format!("{within}a\\"),
        format!("```\n{opener}"),
        "```\n".to_owned(),
        "a `".to_owned(),
        format!("a `{opener}"),
        format!("a `{call}"),
        "> ".to_owned(),
        "- ".to_owned(),
        "<think>\n".to_owned(),
        format!("<think>\n{opener}"),
        format!("{rejected}\n"),
        format!("{call}\n"),
        "{\"note\": \"".to_owned(),
        "['".to_owned(),
        "<tool_call>{\"name\":\"rm\",\"arguments\":{\"path\":\"a\"".to_owned(),
        "<tool_call>{\"name\":\"rm\",\"arguments\":{\"path\":\"".to_owned(),
        "<tool_call>\n<function=rm>\n<parameter=path>\n".to_owned(),
    ]
}

/// A shape by its number.
fn drawn(seed: u64, number: usize) -> Shape {
    let mut dice = Dice::new(seed, number as u64);
    let records = Record::builtin();
    // In turn, so that every dialect comes as often as every other.
    let record = &records[number % records.len()];
    let own = literals(record);
    let other = literals(&records[dice.below(records.len())]);
    let call = remove(record, "a").unwrap_or_default();
    let mut piece = || match dice.below(10) {
        0..4 if !own.is_empty() => own[dice.below(own.len())].clone(),
        4 if !other.is_empty() => other[dice.below(other.len())].clone(),
        5 if !call.is_empty() => call.clone(),
        _ => dice.one(ATOMS).to_owned(),
    };
    let mut unit = vec![piece(), piece(), piece(), piece()];
    unit.truncate(dice.one(&[1, 1, 2, 2, 2, 3, 4]));
    let states = states(record);
    let before = states[dice.below(states.len())].clone();
    // The profiles of the five systems listen to one format each, as they are.
    let alone = dice.percent(10);
    let profile = if alone {
        dice.one(Profile::NAMES)
    } else {
        dice.one(&["standard", "standard", "strict", "lenient"])
    };
    let dialect = match (alone, dice.percent(60)) {
        (true, _) => String::new(),
        (_, true) => record.name.to_string(),
        (_, false) => "auto".to_owned(),
    };
    Shape {
        profile,
        dialect,
        before,
        unit,
        layout: if dice.percent(30) { Layout::Nested } else { Layout::Repeated },
        after: dice.one(&["", "", "}", "\"", "`", "\n", "\n```\n", "</think>", "x"]).to_owned(),
        chunk: dice.one(&[None, None, Some(1), Some(7), Some(64)]),
        finish: dice.one(&[
            FinishReason::Stop,
            FinishReason::Stop,
            FinishReason::Length,
            FinishReason::Unknown,
        ]),
        is_json: false,
        endures: number.is_multiple_of(7),
    }
}

// ---- the tests ----

#[test]
fn c11_whatever_is_repeated_costs_in_proportion() {
    let count = from_environment("CALLGATE_SHAPES", 1000);
    let seed = from_environment("CALLGATE_SEED", 1) as u64;
    let shapes: Vec<Shape> = (0..count).map(|number| drawn(seed, number)).collect();
    assert_proportional("c11_whatever_is_repeated_costs_in_proportion", &shapes);
}

/// The shape by the name of every dialect, and by each profile's own.
fn for_everybody(shape: &Shape) -> Vec<Shape> {
    let dialects = Record::builtin().iter().map(|record| ("standard", record.name.to_string()));
    let profiles = Profile::NAMES.iter().map(|name| (*name, String::new()));
    profiles.chain(dialects).map(|(profile, dialect)| Shape { profile, dialect, ..shape.clone() }).collect()
}

#[test]
fn c02_brackets_that_open_without_end_neither_recurse_nor_multiply() {
    let mut shapes = Vec::new();
    for unit in ["{", "[{"] {
        shapes.extend(for_everybody(&Shape::of(unit)));
    }
    let bare =
        ["action-json", "json-bare", "llama3-json", "json-tool-calls-object", "granite", "xlam", "pythonic"];
    let units = [
        "{",
        "[",
        "[{",
        "[[{",
        "({",
        "{\"a\":{",
        "{\"name\":",
        "[{\"name\":\"rm\",",
        "{'",
        "rm({",
        "```json\n{",
    ];
    for unit in units {
        for dialect in bare {
            for chunk in [None, Some(1)] {
                shapes.push(Shape { dialect: dialect.to_owned(), chunk, ..Shape::of(unit) });
            }
        }
    }
    assert_proportional("c02_brackets_that_open_without_end_neither_recurse_nor_multiply", &shapes);
}

#[test]
fn c03_closers_after_an_open_call_cost_in_proportion() {
    const CLOSERS: [&str; 9] = ["]", ")", "\"}", "}]", "'", ">", "</", "\n", ","];
    let mut shapes = Vec::new();
    for (number, record) in Record::builtin().iter().enumerate() {
        let Some(within) = opened(record) else { continue };
        // The closer of objects for all dialects, two of the others in turn.
        let closers = ["}", CLOSERS[number % 9], CLOSERS[(number + 4) % 9]];
        for (which, closer) in closers.into_iter().enumerate() {
            let (profile, dialect) = match (number + which) % 4 {
                0 => ("strict", "auto"),
                1 => ("lenient", &*record.name),
                2 => ("standard", "auto"),
                _ => ("standard", &*record.name),
            };
            let value = if within.ends_with('"') { "a\"" } else { "a" };
            shapes.push(Shape {
                profile,
                dialect: dialect.to_owned(),
                before: format!("{within}{value}"),
                chunk: (which == 1).then_some(1),
                endures: which == 0,
                ..Shape::of(closer)
            });
        }
    }
    assert_proportional("c03_closers_after_an_open_call_cost_in_proportion", &shapes);
}

#[test]
fn c11_shapes_that_were_once_quadratic() {
    let call = "<tool_call>{\"name\":\"rm\",\"arguments\":{\"path\":\"/\"}}</tool_call>";
    let object = "<tool_call>{\"name\":\"rm\",\"arguments\":{\"path\":";
    let mut shapes = Vec::new();
    for (before, unit, after) in [
        ("", &*format!("`{call}` "), ""),
        ("", &format!("`{call}`\n"), ""),
        ("a `", call, "` b"),
        ("a `", call, ""),
        ("", "`<tool_call>{", ""),
        ("", "`<tool_call>{\n", ""),
        ("", "[TOOL_CALLS]rm[CALL_ID]x", ""),
        ("", "[TOOL_CALLS]rm", ""),
        ("", "[TOOL_CALLS]rm[ARGS]", ""),
        ("", "[TOOL_CALLS]rm{", ""),
        (object, "“", ""),
        (object, "“”", ""),
        (object, "“", "}}</tool_call>"),
        ("", "<|open|>call tool=\"", ""),
        ("", "<think>", ""),
        ("", "</think>", ""),
        ("> ", "> ", ""),
        ("", "- ", ""),
        ("", "a `b\n", ""),
        ("", "`` ` ", ""),
        ("", "<a title=\"`", ""),
        ("", "```\n```\n", ""),
    ] {
        for (profile, chunk) in
            [("standard", None), ("standard", Some(3)), ("lenient", None), ("strict", Some(64))]
        {
            let (before, after) = (before.to_owned(), after.to_owned());
            let endures = chunk.is_none();
            shapes.push(Shape { profile, before, after, chunk, endures, ..Shape::of(unit) });
        }
    }
    // A run that may still become a fence is held while it grows.
    for unit in ["~", "`", "~~~\n", "\n```"] {
        for shape in [Shape::of(unit), Shape { before: "{\"a\": \"".to_owned(), ..Shape::of(unit) }] {
            let profiles = Profile::NAMES.iter();
            shapes.extend(profiles.map(|profile| Shape {
                profile,
                dialect: String::new(),
                chunk: Some(64),
                ..shape.clone()
            }));
        }
    }
    assert_proportional("c11_shapes_that_were_once_quadratic", &shapes);
}

#[test]
fn c12_repairing_costs_in_proportion() {
    const UNITS: &[&str] = &[
        "“", "”", "“”", "‘", "'", "\"", "\"a", "{", "[", "}", "]", "\\", "\\\"", ",", ":", "//\n", "/*",
        "a ", "`", "1 ",
    ];
    let mut shapes = Vec::new();
    for unit in UNITS {
        for (before, after) in [("{", "}"), ("{\"a\":", "}"), ("[", "]"), ("{\"a\": \"", ""), ("", "")] {
            let (before, after) = (before.to_owned(), after.to_owned());
            shapes.push(Shape { before, after, is_json: true, endures: true, ..Shape::of(unit) });
        }
    }
    assert_proportional("c12_repairing_costs_in_proportion", &shapes);
}
