//! Counts the instructions of four small workloads and compares them with the committed numbers.
//!
//! Time on a shared machine lies; the number of instructions does not. Without arguments this program runs itself under
//! callgrind, once for each workload, and counts only inside `Workload::counted`: what building a gate costs depends on
//! the seeds of hash tables and would drown small differences. `UPDATE=1` writes the numbers down instead of comparing them.

mod workload;

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use workload::Workload;

/// How far a number may be from the committed one.
const TOLERANCE: f64 = 0.03;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [] => guard(),
        [name, rounds] => {
            let workload = workload::all()?.into_iter().find(|workload| workload.name == name);
            let workload = workload.ok_or("there is no such workload")?;
            // The first reading fills what later ones use again.
            let calls = workload.read();
            for _ in 0..rounds.parse::<u32>()? {
                black_box(workload.counted());
            }
            if calls != workload.calls {
                return Err(format!("{name} has {calls} calls instead of {}", workload.calls).into());
            }
            Ok(ExitCode::SUCCESS)
        }
        _ => Err("usage: callgate-guard [WORKLOAD ROUNDS]".into()),
    }
}

fn guard() -> Result<ExitCode, Box<dyn Error>> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("SKIPPED: valgrind is not installed, so no instructions were counted");
        return Ok(ExitCode::SUCCESS);
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.txt");
    let compiler = Command::new("rustc").arg("--version").output()?;
    let compiler = String::from_utf8_lossy(&compiler.stdout).trim().to_owned();
    let update = std::env::var_os("UPDATE").is_some();
    let committed = Committed::read(&path)?;
    let mut fresh = format!(
        "# Instructions of one reading. Made by `UPDATE=1 cargo run --release --manifest-path benches/guard/Cargo.toml`.\n\
         compiler {compiler}\n"
    );
    let mut failed = false;
    for workload in workload::all()? {
        let counted = instructions(&workload)?;
        fresh.push_str(&format!("{} {counted}\n", workload.name));
        let Some(before) = committed.of(workload.name) else {
            println!("{:12} {counted:>10}  new", workload.name);
            failed = true;
            continue;
        };
        let change = counted as f64 / before as f64 - 1.0;
        let is_off = change.abs() > TOLERANCE;
        failed |= is_off;
        let verdict = if is_off { "  OFF" } else { "" };
        println!("{:12} {counted:>10}  {:+.1} % of {before}{verdict}", workload.name, change * 100.0);
    }
    if update {
        std::fs::write(&path, fresh)?;
        println!("written");
        return Ok(ExitCode::SUCCESS);
    }
    if failed && committed.compiler != compiler {
        // Another compiler makes other instructions of the same code: that is no change of the code.
        eprintln!("NOT COMPARED: the numbers are those of {}, this is {compiler}", committed.compiler);
        return Ok(ExitCode::SUCCESS);
    }
    if failed {
        eprintln!(
            "more than {} % from the committed numbers; if that is meant, or better:\n  \
             UPDATE=1 cargo run --release --manifest-path benches/guard/Cargo.toml",
            TOLERANCE * 100.0
        );
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// The instructions of one reading.
fn instructions(workload: &Workload) -> Result<u64, Box<dyn Error>> {
    let program: PathBuf = std::env::current_exe()?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=*Workload*counted*"])
        .arg(program)
        .args([workload.name, &workload.rounds.to_string()])
        // What the environment holds lies on the stack, and where the stack begins could count.
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(said.into_owned().into());
    }
    let number =
        said.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, number)| number.trim());
    match number.ok_or("callgrind says no number")?.parse::<u64>()? {
        0 => Err("callgrind did not find the function to count in; were the symbols stripped?".into()),
        number => Ok(number / u64::from(workload.rounds)),
    }
}

/// The committed numbers.
#[derive(Default)]
struct Committed {
    compiler: String,
    numbers: Vec<(String, u64)>,
}

impl Committed {
    fn read(path: &Path) -> Result<Self, Box<dyn Error>> {
        let mut committed = Committed::default();
        let text = std::fs::read_to_string(path).unwrap_or_default();
        for (word, rest) in text.lines().filter_map(|line| line.split_once(' ')) {
            match word {
                "#" => {}
                "compiler" => committed.compiler = rest.to_owned(),
                name => committed.numbers.push((name.to_owned(), rest.parse()?)),
            }
        }
        Ok(committed)
    }

    fn of(&self, name: &str) -> Option<u64> {
        self.numbers.iter().find(|(there, _)| there == name).map(|(_, number)| *number)
    }
}
