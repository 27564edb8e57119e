//! What the commands read: files and standard input, tool lists, dialect files, and the gate they make together.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;

use callgate::internal::batch::Gates;
use callgate::{FinishReason, Gate, Profile, Record, Registry, Schema};
use serde_json::Value;

use crate::args::{GateArgs, ToolLoading};
use crate::exit::Stop;
use crate::paint::{Breaks, visible};
use crate::source::Source;
use crate::unpack::unpacked;

/// The path that means standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// How a path is called in messages.
pub(crate) fn name_of(path: &Path) -> String {
    if is_stdin(path) { "standard input".to_owned() } else { path.display().to_string() }
}

/// Opens a file or standard input and unpacks what is packed; the size of what can be read, where it is known.
pub(crate) fn open(path: &Path) -> Result<(Box<dyn Read + Send>, Option<u64>), Stop> {
    let (packed, size) = open_packed(path)?;
    let (reader, was_packed) = unpacked(packed).map_err(|error| unreadable(path, &error))?;
    Ok((reader, size.filter(|_| !was_packed)))
}

fn open_packed(path: &Path) -> Result<(Box<dyn Read + Send>, Option<u64>), Stop> {
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

/// Whether there is something to open. It is not opened: a pipe can be read only once.
pub(crate) fn check(path: &Path) -> Result<(), Stop> {
    match path.metadata() {
        Err(error) if !is_stdin(path) => Err(unreadable(path, &error)),
        _ => Ok(()),
    }
}

pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, Stop> {
    let (mut reader, _) = open(path)?;
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    Ok(bytes)
}

/// Reads a file that has to be text; `what` says what it should be.
pub(crate) fn read_text(path: &Path, what: &str) -> Result<String, Stop> {
    let text = String::from_utf8(read_bytes(path)?).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let place = Source::new(error.as_bytes()).place(at);
        let byte = error.as_bytes()[at];
        Stop::usage(
            format!("{}:{place}: the byte 0x{byte:02x} is not UTF-8", name_of(path)),
            format!("give {what}"),
        )
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
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
        _ => Stop::usage(
            format!("cannot read {name}: {error}"),
            "check that the file is whole; one that is packed may have been cut off or spoilt",
        ),
    }
}

/// Reads a tool list strictly.
pub(crate) fn tools(path: &Path) -> Result<Registry, Stop> {
    tools_as(path, ToolLoading::Strict)
}

/// Reads a tool list, and says what was forgiven.
fn tools_as(path: &Path, loading: ToolLoading) -> Result<Registry, Stop> {
    let text = read_text(path, "a JSON list of tools")?;
    let read = match loading {
        ToolLoading::Strict => Registry::from_json(&text),
        ToolLoading::Tolerant => Registry::tolerant_json(&text),
    };
    let name = name_of(path);
    let tools = read.map_err(|error| Stop::usage(format!("{name}: {error}"), ""))?;
    for note in tools.notes() {
        // A remark only: nothing is lost if it cannot be written.
        let _ = writeln!(io::stderr(), "callgate: {name}: {}", visible(note, Breaks::Show));
    }
    Ok(tools)
}

/// Reads and compiles a JSON Schema.
pub(crate) fn schema(path: &Path) -> Result<Schema, Stop> {
    let text = read_text(path, "a JSON Schema")?;
    Schema::from_json(&text).map_err(|error| Stop::usage(format!("{}: {error}", name_of(path)), ""))
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
    let names = Record::builtin().iter().map(|record| &*record.name);
    Record::named(name).ok_or_else(|| unknown("dialect", name, names, "see `callgate dialects`"))
}

/// The dialect to write in: the first of the file or the one that is named, in the file if there is one. `None` if
/// neither was given.
pub(crate) fn chosen_record(
    name: Option<&str>,
    file: Option<&Path>,
) -> Result<Option<Cow<'static, Record>>, Stop> {
    let Some(path) = file else {
        return name.map(|name| dialect(name).map(Cow::Borrowed)).transpose();
    };
    let records = records(path)?;
    let Some(name) = name else { return Ok(records.into_iter().next().map(Cow::Owned)) };
    match records.iter().find(|record| &*record.name == name) {
        Some(record) => Ok(Some(Cow::Owned(record.clone()))),
        None => Err(unknown("dialect", name, records.iter().map(|record| &*record.name), "")),
    }
}

/// A name that is not in a list: the nearest ones are the way out, or the whole list where it is short.
pub(crate) fn unknown<'a>(
    what: &str,
    name: &str,
    known: impl Iterator<Item = &'a str>,
    otherwise: &str,
) -> Stop {
    let known: Vec<&str> = known.collect();
    let nearest = callgate::internal::nearest(name, known.iter().copied());
    let help = match nearest.as_slice() {
        [] if otherwise.is_empty() => format!("choose one of {}", known.join(", ")),
        [] => otherwise.to_owned(),
        names => format!("did you mean {}?", names.join(" or ")),
    };
    Stop::usage(format!("there is no {what} `{name}`"), help)
}

/// Says that a model is not in the tables, where that is so. The run goes on: unmistakable markers need no table.
pub(crate) fn note_unknown_model(args: &GateArgs) {
    let Some(model) = args.model.as_deref().filter(|model| Record::for_model(model).is_none()) else {
        return;
    };
    let model = visible(model, Breaks::Show);
    // A remark only: nothing is lost if it cannot be written.
    let _ = writeln!(
        io::stderr(),
        "callgate: no dialect is known for the model `{model}`; the profile's dialects listen (name one with --dialect)"
    );
}

/// What an answer says of itself. The flags stand above it.
#[derive(Clone, Copy, Default)]
pub(crate) struct About<'a> {
    pub(crate) model: Option<&'a str>,
    pub(crate) tools: Option<&'a Value>,
}

/// The gate that the flags describe, for an answer that says this of itself. `loading` is how tool lists are read where
/// no flag says so.
pub(crate) fn gate(args: &GateArgs, about: About<'_>, loading: ToolLoading) -> Result<Gate, Stop> {
    let profile = args.profile.as_deref().map_or_else(|| Ok(Profile::standard()), profile)?;
    let mut policy = profile.policy();
    for flag in &args.set {
        policy.set_flag(flag).map_err(no_knob)?;
    }
    let mut builder = Gate::builder().profile(profile).policy(policy);
    match (&args.tools, about.tools) {
        (Some(path), _) => builder = builder.tools(tools_as(path, args.tool_loading.unwrap_or(loading))?),
        (None, Some(list)) => {
            // Whoever kept the answer did not write its tools for this program.
            let list = match args.tool_loading {
                Some(ToolLoading::Strict) => Registry::from_value(list),
                _ => Registry::tolerant(list),
            };
            let list = list.map_err(|error| Stop::usage(format!("the tools of the answer: {error}"), ""))?;
            builder = builder.tools(list);
        }
        (None, None) => {}
    }
    let model = args.model.as_deref().or(about.model).filter(|_| args.dialect.is_empty());
    let of_model = model.and_then(Record::for_model).map(|record| &*record.name);
    for name in args.dialect.iter().map(String::as_str).chain(of_model) {
        builder = builder.dialect(name);
    }
    for path in &args.dialect_file {
        for record in records(path)? {
            builder = builder.record(record);
        }
    }
    builder.build().map_err(|error| Stop::usage(error.message, error.help))
}

/// A flag that sets no knob.
pub(crate) fn no_knob(problem: String) -> Stop {
    Stop::usage(problem, "docs/policy.md explains every knob")
}

/// The gates of many lines, of which this is the one that the flags describe.
pub(crate) fn gates(args: &GateArgs, gate: &Gate) -> Result<Gates, Stop> {
    let mut gates =
        Gates::new(*gate.profile()).with_dialects(args.dialect.clone()).with_knobs(args.set.clone());
    if let Some(model) = &args.model {
        gates = gates.with_model(model);
    }
    if let Some(tools) = gate.registry() {
        gates = gates.with_tools(tools.clone());
    }
    for path in &args.dialect_file {
        for record in records(path)? {
            gates = gates.with_record(record);
        }
    }
    Ok(gates)
}

/// The reason that a flag's word stands for.
pub(crate) fn finish_reason(word: &str) -> Result<FinishReason, Stop> {
    if word.trim().is_empty() {
        return Err(Stop::usage(
            "--finish-reason is empty",
            "leave it out where nobody said why the output ended",
        ));
    }
    callgate::internal::batch::finish_reason(word).map_err(|problem| Stop::usage(problem, ""))
}
