//! `callgate explain`: what a code means, what to do about it, and its example run live.

use std::io::Write;

use callgate::{
    Code, CoercionCode, FinishReason, Gate, Profile, Registry, RegistryErrorCode, RepairCode, repair,
};
use callgate_agent::config::ConfigErrorCode;
use callgate_agent::model::FaultCode;

use crate::exit::{Outcome, Stop};
use crate::input;
use crate::paint::{Breaks, Paint, Tone, padded, visible};
use crate::repair::DEPTH;
use crate::source::{Mark, Source, draw};
use crate::view::{self, Observer, Reading};

/// The tools that the examples of the codes call.
const TOOLS: &str = r#"[
  {"name": "look", "description": "Looks something up.", "parameters": {"type": "object", "required": ["q"], "properties": {
    "q": {"type": "string"}, "mode": {"enum": ["exact", "near"]}, "n": {"type": "integer", "maximum": 100}}}},
  {"name": "put", "description": "Stores a text.", "parameters": {"type": "object", "required": ["text"], "properties": {
    "text": {"type": "string"}}}}
]"#;

/// What can be wrong with a list of tools.
const OF_TOOLS: &[(RegistryErrorCode, &str)] = &[
    (RegistryErrorCode::BadJson, "the list of tools is not JSON"),
    (RegistryErrorCode::BadShape, "the list, or a tool in it, has another shape than any known form"),
    (RegistryErrorCode::MissingName, "a tool has no name"),
    (RegistryErrorCode::NameTaken, "a tool has the name of another one"),
    (RegistryErrorCode::MissingDescription, "a tool has no description"),
    (RegistryErrorCode::BadSchema, "the schema of a tool is not a JSON Schema of an object"),
    (RegistryErrorCode::BadPattern, "a pattern of a schema cannot run in linear time, or is no pattern"),
    (RegistryErrorCode::BadReference, "a schema refers to something outside itself, or to nothing"),
    (
        RegistryErrorCode::TooComplex,
        "a schema is too large, too deep or too entangled to be checked in bounded time",
    ),
];

/// What can be wrong with a configuration; the way out depends on the key, and is printed with the fault.
const OF_SETTINGS: &[(ConfigErrorCode, &str)] = &[
    (ConfigErrorCode::Unreadable, "the file cannot be opened, or is no YAML of the shape that is expected"),
    (ConfigErrorCode::UnknownKey, "there is no such key"),
    (ConfigErrorCode::WrongType, "the value is of another type than its key"),
    (ConfigErrorCode::OutOfRange, "the value is of the right type and not allowed"),
    (ConfigErrorCode::Conflict, "two spellings of one key disagree"),
    (
        ConfigErrorCode::OwnKey,
        "the key is for the user alone, and stands in a file that came with the folder",
    ),
    (ConfigErrorCode::Untrusted, "the key needs a yes of the user, and there is none for this file as it is"),
    (ConfigErrorCode::UnboundSecret, "a secret would go where the user did not send it"),
    (ConfigErrorCode::NotYours, "the folder or a file in it belongs to somebody else, or is a link"),
];

/// What can go wrong between here and the server of a model.
const OF_SERVERS: &[(FaultCode, &str)] = &[
    (FaultCode::BadRequest, "the request cannot be sent as it is"),
    (FaultCode::ConnectFailed, "nobody answers at the address"),
    (FaultCode::ConnectTimeout, "connecting took too long"),
    (FaultCode::FirstByteTimeout, "the answer did not begin in time"),
    (FaultCode::IdleTimeout, "the answer stopped coming"),
    (FaultCode::TotalTimeout, "the answer took too long as a whole"),
    (FaultCode::Disconnected, "the connection broke inside the answer"),
    (FaultCode::EndedEarly, "the answer stopped without saying that it was over"),
    (FaultCode::Rejected, "the server rejected the request"),
    (FaultCode::ServerError, "the server reported an error instead of an answer, or inside it"),
];

/// Words that begin what a model is told.
const TOLD: &[(&str, &str)] = &[(
    "TOOL_CALL_PARSE_ERROR",
    "the profile labelled begins its message to the model with it: a call was rejected and not executed; the findings follow",
)];

/// What is changed to fit a value to its schema.
const COERCIONS: &[(CoercionCode, &str)] = &[
    (CoercionCode::StringToNumber, "a string that is a number becomes that number"),
    (CoercionCode::StringToBoolean, "a string that is `true` or `false` becomes that"),
    (CoercionCode::StringToNull, "a string that is `null` becomes null"),
    (CoercionCode::StringToStructure, "a string that is an array or an object in JSON becomes that"),
    (CoercionCode::UnwrappedList, "an object that is only a wrapper around a list becomes the list"),
    (CoercionCode::QuotedMember, "a member of an enumeration loses the quotes inside of its string"),
    (CoercionCode::NumberToString, "a number becomes a string, with its digits as written"),
    (
        CoercionCode::ReadAsText,
        "a text that reads as null, a boolean or a number stays text, since the schema wants text",
    ),
    (
        CoercionCode::DroppedArgument,
        "an argument that the schema does not have is dropped, where the policy says so",
    ),
];

pub(crate) fn run(code: Option<&str>, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let Some(word) = code else { return list(paint, out) };
    // A few defects are both: repaired where the policy allows it, a finding where it does not.
    let (found, repaired) = (Code::from_word(word), RepairCode::from_word(word));
    let aliased = aliased(word);
    if found.is_none() && !aliased.is_empty() {
        return alias(word, &aliased, paint, out);
    }
    if found.is_none() && repaired.is_none() && other(word, paint, out)? {
        return Ok(Outcome::Fine);
    }
    if found.is_none() && repaired.is_none() {
        let coercions: Vec<String> = COERCIONS.iter().map(|(code, _)| code.to_string()).collect();
        let all =
            Code::ALL.iter().map(|code| code.word()).chain(RepairCode::ALL.iter().map(|code| code.word()));
        let all = all.chain(OF_TOOLS.iter().map(|(code, _)| code.word()));
        let all = all.chain(coercions.iter().map(String::as_str)).chain(TOLD.iter().map(|(word, _)| *word));
        let all = all.chain(OF_SETTINGS.iter().map(|(code, _)| code.word()));
        let all = all.chain(OF_SERVERS.iter().map(|(code, _)| code.word()));
        return Err(input::unknown("code", word, all, "`callgate explain` lists all codes"));
    }
    if let Some(code) = found {
        finding(code, paint, out)?;
    }
    if found.is_some() && repaired.is_some() {
        writeln!(out)?;
    }
    if let Some(code) = repaired {
        repair_code(code, paint, out)?;
    }
    Ok(Outcome::Fine)
}

/// Explains the code of a tool list or of a coercion; whether the word is one.
fn other(word: &str, paint: Paint, out: &mut dyn Write) -> Result<bool, Stop> {
    if let Some((code, message)) = OF_TOOLS.iter().find(|(code, _)| code.word() == word) {
        writeln!(out, "{}  error of a list of tools", paint.tone(Tone::Strong, word))?;
        writeln!(out, "  {message}\n  {}", code.help())?;
        return Ok(true);
    }
    if let Some((_, message)) = OF_SETTINGS.iter().find(|(code, _)| code.word() == word) {
        let strong = paint.tone(Tone::Strong, word);
        writeln!(out, "{strong}  error of a configuration\n  {message}")?;
        writeln!(out, "  `callgate config show --all` lists every key with what may stand there.")?;
        return Ok(true);
    }
    if let Some((code, message)) = OF_SERVERS.iter().find(|(code, _)| code.word() == word) {
        let strong = paint.tone(Tone::Strong, word);
        writeln!(out, "{strong}  error of the server of a model\n  {message}\n  {}", code.help())?;
        return Ok(true);
    }
    if let Some((word, message)) = TOLD.iter().find(|(told, _)| told.eq_ignore_ascii_case(word)) {
        writeln!(out, "{}  told to the model\n  {message}", paint.tone(Tone::Strong, word))?;
        return Ok(true);
    }
    let coercion = COERCIONS.iter().find(|(code, _)| code.to_string() == word);
    if let Some((_, message)) = coercion {
        writeln!(out, "{}  coercion", paint.tone(Tone::Strong, word))?;
        writeln!(out, "  {message}\n  The knob `coerce` says whether this is done (docs/policy.md).")?;
    }
    Ok(coercion.is_some())
}

/// The codes that a profile calls by this word, with the name of the profile.
fn aliased(word: &str) -> Vec<(Code, &'static str)> {
    let profiles = Profile::NAMES.iter().filter_map(|name| Profile::named(name));
    let codes = |profile: Profile| {
        let is_it =
            move |code: &Code| profile.code(*code).is_some_and(|other| other.eq_ignore_ascii_case(word));
        Code::ALL.iter().copied().filter(is_it).map(move |code| (code, profile.name()))
    };
    profiles.flat_map(codes).collect()
}

/// A word of a profile: the codes that it stands for, and the whole explanation where it is one.
fn alias(word: &str, codes: &[(Code, &str)], paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let word = visible(word, Breaks::Show);
    if let [(code, profile)] = codes {
        writeln!(out, "{word} is what the profile {profile} calls this:\n")?;
        finding(*code, paint, out)?;
        return Ok(Outcome::Fine);
    }
    writeln!(out, "{word} stands for these findings; `callgate explain CODE` explains each:\n")?;
    for (code, profile) in codes {
        let name = paint.tone(Tone::Accent, padded(code.word(), 24));
        writeln!(out, "  {name}{}  {}", padded(profile, 12), code.entry().message)?;
    }
    Ok(Outcome::Fine)
}

fn list(paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    writeln!(out, "{}", paint.tone(Tone::Strong, "findings"))?;
    for code in Code::ALL {
        let entry = code.entry();
        let severity = padded(&entry.severity.to_string(), 9);
        writeln!(out, "  {}{severity}{}", paint.tone(Tone::Accent, padded(entry.word, 24)), entry.message)?;
    }
    writeln!(out, "\n{}", paint.tone(Tone::Strong, "repairs"))?;
    for code in RepairCode::ALL {
        let entry = code.entry();
        let safety = padded(&entry.safety.to_string(), 9);
        writeln!(out, "  {}{safety}{}", paint.tone(Tone::Accent, padded(entry.word, 24)), entry.message)?;
    }
    writeln!(out, "\n{}", paint.tone(Tone::Strong, "coercions"))?;
    for (code, message) in COERCIONS {
        writeln!(out, "  {}{message}", paint.tone(Tone::Accent, padded(&code.to_string(), 33)))?;
    }
    writeln!(out, "\n{}", paint.tone(Tone::Strong, "lists of tools"))?;
    for (code, message) in OF_TOOLS {
        writeln!(out, "  {}{message}", paint.tone(Tone::Accent, padded(code.word(), 33)))?;
    }
    writeln!(out, "\n{}", paint.tone(Tone::Strong, "configurations"))?;
    for (code, message) in OF_SETTINGS {
        writeln!(out, "  {}{message}", paint.tone(Tone::Accent, padded(code.word(), 33)))?;
    }
    writeln!(out, "\n{}", paint.tone(Tone::Strong, "servers of models"))?;
    for (code, message) in OF_SERVERS {
        writeln!(out, "  {}{message}", paint.tone(Tone::Accent, padded(code.word(), 33)))?;
    }
    Ok(Outcome::Fine)
}

fn finding(code: Code, paint: Paint, out: &mut dyn Write) -> Result<(), Stop> {
    let entry = code.entry();
    writeln!(out, "{}  {}, kind {}", paint.tone(Tone::Strong, entry.word), entry.severity, entry.kind)?;
    writeln!(out, "  {}", entry.message)?;
    writeln!(out, "  {}", entry.help)?;
    let renderings: Vec<String> = Profile::NAMES
        .iter()
        .filter_map(|name| {
            let rendering = Profile::named(name)?.code(code)?;
            Some(format!("{rendering} ({name})"))
        })
        .collect();
    if !renderings.is_empty() {
        writeln!(out, "  also known as {}", renderings.join(", "))?;
    }
    let Some(reading) = example(code)? else {
        writeln!(
            out,
            "\n{}",
            paint.tone(Tone::Grey, "It takes more than one text to show this, so there is no example.")
        )?;
        return Ok(());
    };
    let about = format!("example, read just now with the profile {}:", entry.example.profile);
    writeln!(out, "\n{}", paint.tone(Tone::Grey, about))?;
    let source = Source::new(entry.example.text.as_bytes());
    view::text(out, paint, &source, &reading)?;
    view::report(out, paint, &source, &reading.response)?;
    Ok(())
}

/// Runs the example of a code, if it has one.
fn example(code: Code) -> Result<Option<Reading>, Stop> {
    let example = &code.entry().example;
    if example.profile.is_empty() {
        return Ok(None);
    }
    let tools = Registry::from_json(TOOLS).map_err(|error| Stop::Internal(error.to_string()))?;
    let gate = Gate::builder()
        .profile(input::profile(example.profile)?)
        .tools(tools)
        .build()
        .map_err(|error| Stop::Internal(error.to_string()))?;
    let mut observer = Observer::new();
    let mut session = gate.session();
    session.push(example.text, &mut |event| observer.see(event));
    session.finish(FinishReason::Stop, &mut |event| observer.see(event));
    Ok(Some(observer.finish(FinishReason::Stop)))
}

fn repair_code(code: RepairCode, paint: Paint, out: &mut dyn Write) -> Result<(), Stop> {
    let entry = code.entry();
    writeln!(out, "{}  repair, {}", paint.tone(Tone::Strong, entry.word), entry.safety)?;
    writeln!(out, "  {}", entry.message)?;
    if entry.input.is_empty() {
        return Ok(());
    }
    // Some repairs are made by whoever knows what the value is for, so repairing it alone does not show them.
    let live = repair(entry.input, DEPTH)
        .ok()
        .filter(|repaired| repaired.repairs.iter().any(|repair| repair.code == code));
    let about = if live.is_some() { "example, repaired just now:" } else { "example:" };
    writeln!(out, "\n{}", paint.tone(Tone::Grey, about))?;
    let repairs = live.iter().flat_map(|repaired| &repaired.repairs);
    let mut marks: Vec<Mark> = repairs
        .map(|repair| Mark { span: repair.span, sign: '^', tone: Tone::Changed, label: repair.to_string() })
        .collect();
    draw(out, paint, &Source::new(entry.input.as_bytes()), &mut [], &mut marks)?;
    let output = live.as_ref().map_or(entry.output, |repaired| &repaired.text);
    writeln!(out, "  {} {}", paint.tone(Tone::Good, "→"), visible(output, Breaks::Show))?;
    Ok(())
}
