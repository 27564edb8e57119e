//! Scan: the command `callgate scan` on a large file of JSON lines, against the speed of the core in one thread.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use callgate::internal::batch::{self, Gates};
use callgate::{Profile, Registry};
use serde_json::{Value, json};

use crate::pages;
use crate::stopwatch::time;
use crate::workload::{self, Task, tools};

/// How much the core reads to show its speed.
const SAMPLE: usize = 24 << 20;

pub struct Options {
    pub megabytes: usize,
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { megabytes: 1000, threads: std::thread::available_parallelism().map_or(1, usize::from) }
    }
}

/// What one run of the command took.
struct Run {
    threads: usize,
    bytes: usize,
    wall: Duration,
    cpu: Duration,
    /// Kilobytes.
    peak: i64,
    in_order: bool,
}

/// Makes the file, runs the command on it, and gives the table.
pub fn run(options: &Options) -> Result<String, Box<dyn Error>> {
    let command = build()?;
    let folder = std::env::temp_dir().join(format!("callgate-scan-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let result = measure(options, &command, &folder);
    std::fs::remove_dir_all(&folder)?;
    result
}

fn measure(options: &Options, command: &Path, folder: &Path) -> Result<String, Box<dyn Error>> {
    let tools_file = folder.join("tools.json");
    std::fs::write(&tools_file, tools().to_string())?;
    let (small, large) = (folder.join("small.jsonl"), folder.join("large.jsonl"));
    eprintln!("making {} MB", options.megabytes);
    let small_lines = make(&small, options.megabytes * 100_000)?;
    let large_lines = make(&large, options.megabytes * 1_000_000)?;
    let mut runs = Vec::new();
    let mut core = Duration::MAX;
    let mut sampled = 0;
    // The core is measured before, between and after, since the machine may be busier at one time than at another.
    for (file, lines, threads) in [
        (&small, small_lines, options.threads),
        (&large, large_lines, 1),
        (&large, large_lines, options.threads),
    ] {
        let (bytes, took) = core_speed(&small)?;
        (core, sampled) = (core.min(took), bytes);
        eprintln!("scanning with {threads} threads");
        runs.push(scan(command, &tools_file, file, lines, threads)?);
        let (_, took) = core_speed(&small)?;
        core = core.min(took);
    }
    let core = sampled as f64 / core.as_secs_f64() / 1e6;
    // What the machine lets the core do on all cores at once is the most that the command can reach.
    let mut together = f64::MAX;
    for _ in 0..4 {
        together = together.min(core_together(&small, options.threads)?.as_secs_f64());
    }
    let together = (sampled * options.threads) as f64 / together / 1e6;
    let mut table = format!(
        "The core alone, one line in and one out in one thread: {core:.1} MB/s of CPU time. In {threads} threads at once, without \
         reading or writing a file: {together:.1} MB/s, {share:.0} % of {threads} times that. {} cores, {}.\n\n\
         | file | threads | MB/s | ÷ core × threads | MB/s of CPU time | ÷ core | peak memory | order |\n\
         |--:|--:|--:|--:|--:|--:|--:|---|\n",
        std::thread::available_parallelism().map_or(1, usize::from),
        pages::machine(),
        threads = options.threads,
        share = together / (core * options.threads as f64) * 100.0,
    );
    for run in runs {
        let megabytes = run.bytes as f64 / 1e6;
        let (wall, cpu) = (megabytes / run.wall.as_secs_f64(), megabytes / run.cpu.as_secs_f64());
        table.push_str(&format!(
            "| {megabytes:.0} MB | {} | {wall:.1} | {:.0} % | {cpu:.1} | {:.0} % | {:.1} MB | {} |\n",
            run.threads,
            wall / (core * run.threads as f64) * 100.0,
            cpu / core * 100.0,
            run.peak as f64 / 1024.0,
            if run.in_order { "kept" } else { "**lost**" },
        ));
    }
    Ok(table)
}

/// Builds the command as users do and says where it is.
fn build() -> Result<PathBuf, Box<dyn Error>> {
    let manifest = pages::root("Cargo.toml");
    let cargo = |words: &[&str]| {
        let mut command = Command::new("cargo");
        command.args(words).arg("--manifest-path").arg(&manifest).stderr(Stdio::inherit());
        command
    };
    if !cargo(&["build", "--profile", "dist", "-p", "callgate-cli"]).status()?.success() {
        return Err("the command cannot be built".into());
    }
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]).output()?;
    let metadata: Value = serde_json::from_slice(&metadata.stdout)?;
    let folder = metadata["target_directory"].as_str().ok_or("cargo does not say where it builds")?;
    Ok(Path::new(folder).join("dist/callgate"))
}

/// Writes lines of many kinds until there are this many bytes, and says how many lines.
fn make(path: &Path, bytes: usize) -> Result<usize, Box<dyn Error>> {
    let mut texts = Vec::new();
    for workload in workload::all() {
        // The long ones would be nearly all of the file.
        if workload.task != Task::Json && workload.text.len() < 10_000 {
            texts.push(workload.text);
        }
    }
    let prose = workload::prose().text;
    texts.extend(prose.lines().take(8).map(str::to_owned));
    let bodies: Vec<String> = texts.iter().map(|text| format!("\"text\": {}}}\n", json!(text))).collect();
    let mut file = BufWriter::new(File::create(path)?);
    let (mut written, mut lines) = (0, 0);
    while written < bytes {
        let line = format!("{{\"id\": {lines}, {}", bodies[lines % bodies.len()]);
        file.write_all(line.as_bytes())?;
        written += line.len();
        lines += 1;
    }
    file.flush()?;
    Ok(lines)
}

/// How many bytes the core read, and the CPU time it took.
fn core_speed(path: &Path) -> Result<(usize, Duration), Box<dyn Error>> {
    let (lines, bytes) = sample(path)?;
    let mut gates = gates()?;
    let ((), took) = time(|| read_lines(&lines, &mut gates));
    Ok((bytes, took))
}

/// The time on the wall that it takes so many threads to read the sample, each all of it.
fn core_together(path: &Path, threads: usize) -> Result<Duration, Box<dyn Error>> {
    let (lines, _) = sample(path)?;
    let start = Barrier::new(threads + 1);
    let mut all: Vec<Gates> = (0..threads).map(|_| gates()).collect::<Result<_, _>>()?;
    Ok(std::thread::scope(|scope| {
        for gates in &mut all {
            let (lines, start) = (&lines, &start);
            scope.spawn(move || {
                // The first line compiles the gate.
                read_lines(&lines[..1], gates);
                start.wait();
                read_lines(lines, gates);
            });
        }
        start.wait();
        Instant::now()
    })
    .elapsed())
}

fn gates() -> Result<Gates, Box<dyn Error>> {
    Ok(Gates::new(Profile::standard()).with_tools(Registry::from_json(&tools().to_string())?))
}

/// One line in, one line out.
fn read_lines(lines: &[String], gates: &mut Gates) {
    let mut out = Vec::new();
    for line in lines {
        out.clear();
        out.extend_from_slice(batch::scan_line(line, gates).line.as_bytes());
    }
}

/// The first lines of a file, and how many bytes they are.
fn sample(path: &Path) -> Result<(Vec<String>, usize), Box<dyn Error>> {
    let mut lines = Vec::new();
    let mut bytes = 0;
    for line in BufReader::new(File::open(path)?).lines() {
        let line = line?;
        bytes += line.len() + 1;
        lines.push(line);
        if bytes >= SAMPLE {
            break;
        }
    }
    Ok((lines, bytes))
}

fn scan(
    command: &Path,
    tools: &Path,
    file: &Path,
    lines: usize,
    threads: usize,
) -> Result<Run, Box<dyn Error>> {
    let output = file.with_extension("out");
    let start = Instant::now();
    let child = Command::new(command)
        .args(["scan", "--quiet", "--jobs", &threads.to_string(), "--tools"])
        .arg(tools)
        .arg("-o")
        .arg(&output)
        .arg(file)
        .spawn()?;
    let (status, cpu, peak) = wait(child.id())?;
    let wall = start.elapsed();
    if status != 0 {
        return Err(format!("the command ended with status {status}").into());
    }
    let in_order = in_order(&output, lines)?;
    std::fs::remove_file(output)?;
    let bytes = usize::try_from(std::fs::metadata(file)?.len())?;
    Ok(Run { threads, bytes, wall, cpu, peak, in_order })
}

/// Waits for a child and says how it ended, its CPU time, and its peak memory in kilobytes.
fn wait(child: u32) -> Result<(i32, Duration, i64), Box<dyn Error>> {
    let child = libc::pid_t::try_from(child)?;
    let mut status = 0;
    // SAFETY: all zeros is a valid value of this plain structure of numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to values that live until the call returns; the child is ours and was not waited for.
    if unsafe { libc::wait4(child, &mut status, 0, &mut usage) } != child {
        return Err(std::io::Error::last_os_error().into());
    }
    let duration = |time: libc::timeval| -> Result<Duration, Box<dyn Error>> {
        Ok(Duration::from_secs(u64::try_from(time.tv_sec)?)
            + Duration::from_micros(u64::try_from(time.tv_usec)?))
    };
    Ok((status, duration(usage.ru_utime)? + duration(usage.ru_stime)?, usage.ru_maxrss))
}

/// Whether the output has this many lines, numbered in order.
fn in_order(path: &Path, lines: usize) -> Result<bool, Box<dyn Error>> {
    let mut count = 0;
    for line in BufReader::new(File::open(path)?).lines() {
        if !line?.starts_with(&format!("{{\"id\":{count},")) {
            return Ok(false);
        }
        count += 1;
    }
    Ok(count == lines)
}
