//! What the commands read: files and standard input, tool lists, dialect files, and the gate they make together.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;

use callgate::{Gate, Profile, Record, Registry, dialect};

use crate::args::GateArgs;
use crate::exit::Stop;
use crate::source::Source;

/// The path that means standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// How a path is called in messages.
pub(crate) fn name_of(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Opens a file or standard input; the size where it is known.
pub(crate) fn open(path: &Path) -> Result<(Box<dyn Read + Send>, Option<u64>), Stop> {
    if is_stdin(path) {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            // A hint only: nothing is lost if it cannot be written.
            let _ = writeln!(io::stderr(), "callgate: reading standard input; end it with Ctrl-D");
        }
        return Ok((Box::new(stdin), None));
    }
    let file = File::open(path).map_err(|error| unreadable(path, &error))?;
    let metadata = file.metadata().map_err(|error| unreadable(path, &error))?;
    if metadata.is_dir() {
        return Err(Stop::usage(format!("{} is a directory", path.display()), "give a file"));
    }
    let size = metadata.is_file().then_some(metadata.len());
    Ok((Box::new(file), size))
}

pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, Stop> {
    let (mut reader, _) = open(path)?;
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    Ok(bytes)
}

/// Reads a file that has to be text; `what` says what it should be.
pub(crate) fn read_text(path: &Path, what: &str) -> Result<String, Stop> {
    String::from_utf8(read_bytes(path)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let place = Source::new(error.as_bytes()).place(at);
        let byte = error.as_bytes()[at];
        Stop::usage(
            format!("{}:{place}: the byte 0x{byte:02x} is not UTF-8", name_of(path)),
            format!("give {what}"),
        )
    })
}

pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Stop {
    let name = name_of(path);
    match error.kind() {
        io::ErrorKind::NotFound => {
            Stop::usage(format!("there is no file {name}"), "check the path, or give - for standard input")
        }
        io::ErrorKind::PermissionDenied => {
            Stop::usage(format!("{name} may not be read by this user"), "check its permissions")
        }
        _ => Stop::usage(format!("cannot read {name}: {error}"), ""),
    }
}

/// Reads a tool list.
pub(crate) fn tools(path: &Path) -> Result<Registry, Stop> {
    let text = read_text(path, "a JSON list of tools")?;
    Registry::from_json(&text).map_err(|error| Stop::usage(format!("{}: {error}", name_of(path)), ""))
}

/// Reads a file with one or more dialects.
pub(crate) fn records(path: &Path) -> Result<Vec<Record>, Stop> {
    let text = read_text(path, "a TOML file with dialects")?;
    Record::parse(&text).map_err(|error| Stop::usage(format!("{}: {error}", name_of(path)), ""))
}

pub(crate) fn profile(name: &str) -> Result<Profile, Stop> {
    Profile::named(name).ok_or_else(|| unknown("profile", name, Profile::NAMES.iter().copied(), ""))
}

pub(crate) fn dialect(name: &str) -> Result<&'static Record, Stop> {
    let names = dialect::builtin().iter().map(|record| &*record.name);
    dialect::named(name).ok_or_else(|| unknown("dialect", name, names, "see `callgate dialects`"))
}

/// A name that is not in a list: the nearest ones are the way out, or the whole list where it is short.
pub(crate) fn unknown<'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str>,
    otherwise: &str,
) -> Stop {
    let known: Vec<&str> = known.collect();
    let nearest = callgate::nearest(name, known.iter().copied());
    let help = match nearest.as_slice() {
        [] if otherwise.is_empty() => format!("choose one of {}", known.join(", ")),
        [] => otherwise.to_owned(),
        names => format!("did you mean {}?", names.join(" or ")),
    };
    Stop::usage(format!("there is no {what} `{name}`"), help)
}

/// The gate that the flags describe.
pub(crate) fn gate(args: &GateArgs, model: Option<&str>) -> Result<Gate, Stop> {
    let mut builder = Gate::builder();
    if let Some(name) = &args.profile {
        builder = builder.profile(profile(name)?);
    }
    if let Some(path) = &args.tools {
        builder = builder.tools(tools(path)?);
    }
    for name in &args.dialect {
        builder = builder.dialect(name);
    }
    if let Some(model) = model {
        let record = dialect::for_model(model).ok_or_else(|| {
            Stop::usage(
                format!("no dialect is known for the model `{model}`"),
                "name one with --dialect (see `callgate dialects`), or leave --model out to listen for all",
            )
        })?;
        builder = builder.dialect(&record.name);
    }
    for path in &args.dialect_file {
        for record in records(path)? {
            builder = builder.record(record);
        }
    }
    builder.build().map_err(|error| Stop::usage(error.message, error.help))
}
