//! JSON lines in, JSON lines out: what `scan` and `repair --jsonl` share around the pipeline.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use callgate::internal::batch;
use callgate::{Code, Finding};
use serde_json::{Value, json};

use crate::args::LineArgs;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::paint::Paint;
use crate::pipeline::{self, Broken, Line, LineWork, MAX_LINE};
use crate::progress::{Counting, Progress, Tally};

/// Works on all lines of a file, shows progress and a summary, and says how it went. `others` are the files that were
/// read besides; none of them is written over either.
pub(crate) fn run<W: LineWork<Tally = Tally>>(
    file: &Path,
    others: &[&Path],
    args: &LineArgs,
    counting: Counting,
    work: W,
    paint: Paint,
    stdout: &mut dyn Write,
) -> Result<Outcome, Stop> {
    let (reader, size) = input::open(file)?;
    let mut output_file =
        args.output.as_deref().map(|path| create(path, &[&[file], others].concat())).transpose()?;
    let jobs = match args.jobs {
        Some(jobs) => jobs as usize,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let mut progress = Progress::start(counting, size, args.quiet);
    let mut total = Tally::default();
    let result = pipeline::run(reader, work, jobs, pipeline::Limits::default(), |output, tally, bytes| {
        match &mut output_file {
            Some(file) => file.write_all(output)?,
            None if paint.is_terminal() => {
                stdout.write_all(paint.json(&String::from_utf8_lossy(output)).as_bytes())?;
            }
            None => stdout.write_all(output)?,
        }
        stdout.flush()?;
        total.add(tally);
        progress.advance(bytes, &total);
        Ok(())
    });
    match result {
        Ok(()) => {}
        Err(broken) => {
            progress.clear();
            return Err(match broken {
                Broken::Write(stop) => stop,
                Broken::Read(error) => input::unreadable(file, &error),
                Broken::Work(message) => Stop::Internal(message),
            });
        }
    }
    progress.summary(&total);
    Ok(Outcome::rejected_if(total.errors > 0))
}

/// Judges a line, if it is text at all.
pub(crate) fn judge(line: &Line<'_>, judge: impl FnOnce(&str) -> batch::Outcome) -> batch::Outcome {
    let problem = match line {
        Line::Whole(bytes) => match str::from_utf8(bytes) {
            Ok(text) => return judge(text),
            Err(error) => {
                format!("the line is not UTF-8: byte {} is part of no character", error.valid_up_to() + 1)
            }
        },
        Line::TooLong => format!("the line is longer than {} MiB", MAX_LINE >> 20),
    };
    rejected(&Value::Null, &Finding::new(Code::BadLine).message(problem))
}

/// A line that gives no result.
pub(crate) fn rejected(id: &Value, finding: &Finding) -> batch::Outcome {
    let line = json!({ "id": id, "error": finding }).to_string();
    batch::Outcome { line, failed: true, response: None }
}

/// Writes what became of a line; where it failed, with its number in front.
pub(crate) fn write(number: u64, outcome: &batch::Outcome, out: &mut Vec<u8>, tally: &mut Tally) {
    tally.lines += 1;
    if outcome.failed {
        tally.errors += 1;
        out.extend_from_slice(format!("{{\"line\":{number},").as_bytes());
        out.extend_from_slice(outcome.line.trim_start_matches('{').as_bytes());
    } else {
        out.extend_from_slice(outcome.line.as_bytes());
    }
    out.push(b'\n');
}

/// Opens the output file, unless that would destroy an input. It is emptied only after it was compared: two names may be one
/// file.
pub(crate) fn create(path: &Path, inputs: &[&Path]) -> Result<File, Stop> {
    let failed = |error: std::io::Error| {
        Stop::usage(
            format!("cannot create {}: {error}", path.display()),
            "check the directory and its permissions",
        )
    };
    let file = File::options().write(true).create(true).truncate(false).open(path).map_err(failed)?;
    if inputs.iter().any(|input| is_same(&file, path, input)) {
        return Err(Stop::usage(
            format!("{} is both the input and the output", path.display()),
            "write to another file",
        ));
    }
    // Only a file has a length; a pipe or a device takes what comes.
    if file.metadata().map_err(failed)?.is_file() {
        file.set_len(0).map_err(failed)?;
    }
    Ok(file)
}

/// Whether the output is the file that the input is read from, under whatever name, also as standard input.
#[cfg(unix)]
fn is_same(output: &File, _: &Path, input: &Path) -> bool {
    use std::os::fd::AsFd;
    use std::os::unix::fs::MetadataExt;
    let input = match input::is_stdin(input) {
        true => std::io::stdin().as_fd().try_clone_to_owned().and_then(|stdin| File::from(stdin).metadata()),
        false => input.metadata(),
    };
    let both = input.and_then(|input| Ok((input, output.metadata()?)));
    both.is_ok_and(|(input, output)| {
        input.is_file() && (input.dev(), input.ino()) == (output.dev(), output.ino())
    })
}

#[cfg(not(unix))]
fn is_same(_: &File, output: &Path, input: &Path) -> bool {
    let both = output.canonicalize().and_then(|output| Ok((output, input.canonicalize()?)));
    both.is_ok_and(|(output, input)| output == input)
}
