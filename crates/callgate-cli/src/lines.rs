//! JSON lines in, JSON lines out: what `scan` and `repair --jsonl` share around the pipeline.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use callgate::Finding;
use callgate::internal::batch;
use serde_json::Value;

use crate::args::LineArgs;
use crate::exit::Stop;
use crate::input;
use crate::paint::Paint;
use crate::pipeline::{self, Broken, Line, LineWork, MAX_LINE};
use crate::progress::{Counting, Progress, Tally};

/// Works on all lines of the files, one after the other, shows progress and a summary, and gives what was counted. `others` are
/// the files that were read besides; none of them is written over either. `work` makes what is done with the lines of a
/// file, whose name it gets where there are several.
pub(crate) fn run<W: LineWork<Tally = Tally>>(
    files: &[PathBuf],
    others: &[&Path],
    args: &LineArgs,
    counting: Counting,
    work: impl Fn(Option<String>) -> W,
    paint: Paint,
    stdout: &mut dyn Write,
) -> Result<Tally, Stop> {
    // A file that is not there is found before any work is done.
    files.iter().skip(1).try_for_each(|file| input::check(file))?;
    let [first, rest @ ..] = files else { return Ok(Tally::default()) };
    let open = |file: &Path| {
        let (reader, size) = input::open(file)?;
        let (reader, is_changed) = W::lines(reader).map_err(|error| input::unreadable(file, &error))?;
        Ok::<_, Stop>((reader, size.filter(|_| !is_changed)))
    };
    let (reader, size) = open(first)?;
    let mut reader = Some(reader);
    let inputs: Vec<&Path> = files.iter().map(PathBuf::as_path).chain(others.iter().copied()).collect();
    let mut output_file = args.output.as_deref().map(|path| create(path, &inputs)).transpose()?;
    let jobs = match args.jobs {
        Some(jobs) => jobs as usize,
        None => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let mut progress = Progress::start(counting, size.filter(|_| rest.is_empty()), args.quiet);
    let mut total = Tally::default();
    for file in files {
        let reader = match reader.take() {
            Some(reader) => reader,
            None => open(file)?.0,
        };
        let work = work((files.len() > 1).then(|| input::name_of(file)));
        let write = |output: &[u8], tally: Tally, bytes: u64| {
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
        };
        if let Err(broken) = pipeline::run(reader, work, jobs, pipeline::Limits::default(), write) {
            progress.clear();
            return Err(match broken {
                Broken::Write(stop) => stop,
                Broken::Read(error) => {
                    let name = input::name_of(file);
                    Stop::usage(
                        format!("cannot read {name} to its end: {error}"),
                        "the whole lines before are done; get the file anew, since what is packed may have been cut off or spoilt",
                    )
                }
                Broken::Work(message) => Stop::Internal(message),
            });
        }
    }
    progress.summary(&total);
    Ok(total)
}

/// A line as text, or what is wrong with a line that is none.
pub(crate) fn text<'l>(line: &Line<'l>) -> Result<&'l str, Finding> {
    let problem = match line {
        Line::Whole(bytes) => match str::from_utf8(bytes) {
            Ok(text) => return Ok(text),
            Err(error) => {
                let byte = error.valid_up_to() + 1;
                format!("the line is not UTF-8: byte {byte} is part of no character; write the file as UTF-8")
            }
        },
        Line::TooLong => {
            let most = MAX_LINE >> 20;
            format!(
                "the line is longer than {most} MiB; leave out what is no answer, or give it to `callgate parse`"
            )
        }
    };
    Err(batch::bad(problem))
}

/// Where a line stands: its number, and its file where there are several.
pub(crate) struct Place<'a> {
    pub(crate) file: Option<&'a str>,
    pub(crate) line: u64,
}

/// Writes what became of a line; where it failed, with its place in front.
pub(crate) fn write(place: &Place<'_>, outcome: &batch::Outcome, out: &mut Vec<u8>, tally: &mut Tally) {
    tally.lines += 1;
    if outcome.failed {
        tally.errors += 1;
        let file = place.file.map_or_else(String::new, |name| format!("\"file\":{},", Value::from(name)));
        out.extend_from_slice(format!("{{{file}\"line\":{},", place.line).as_bytes());
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
