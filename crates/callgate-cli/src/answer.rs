//! Answers: what `parse` is given, the model's own text or the body of a server that holds it, chunk by chunk.

use std::io::{self, Read, Write};
use std::path::Path;

use callgate::FinishReason;
use callgate_agent::model::{Beginning, Body, BodyKind, BodyStream, FaultCode, ModelChunk, ModelFault};
use serde_json::Value;

use crate::args::ParseArgs;
use crate::exit::Stop;
use crate::input::{self, About};

/// How much is read at a time where the cuts do not matter.
const READ: usize = 64 << 10;
/// Small enough to see markers being cut, large enough to read along.
const STREAM_CHUNK: usize = 16;

/// An answer that is being read.
pub(crate) enum Answer {
    /// The model's own text, whole.
    Text(Vec<u8>),
    /// A body, whole or as it was recorded.
    Body(Box<Body>),
    /// What arrives, as the model's own text or as the stream of a body, with what has come already.
    Live(Box<Live>),
}

/// Something that is still coming.
pub(crate) struct Live {
    reader: Box<dyn Read + Send>,
    start: Vec<u8>,
    stream: Option<BodyStream>,
}

/// One chunk of an answer.
pub(crate) enum Given<'a> {
    /// Bytes of the model's text.
    Bytes(&'a [u8]),
    /// Something that a server sent beside it.
    Chunk(&'a ModelChunk),
}

/// How an answer ended, if it says so.
#[derive(Default)]
pub(crate) struct Ending {
    pub(crate) reason: FinishReason,
    pub(crate) word: Option<String>,
}

impl Answer {
    /// Opens an answer, and reads it if nobody wants to watch it come.
    pub(crate) fn open(args: &ParseArgs, file: &Path) -> Result<Self, Stop> {
        let (mut reader, _) = input::open(file)?;
        let is_live =
            args.stream && input::is_stdin(file) && args.chunk.is_none() && args.input.field.is_none();
        let mut bytes = Vec::new();
        if is_live {
            let mut so_far = if args.text { SoFar::Text } else { SoFar::Unknown };
            while matches!(so_far, SoFar::Unknown) && read_some(&mut reader, &mut bytes, file)? > 0 {
                so_far = SoFar::of(&bytes);
            }
            match so_far {
                SoFar::Text => {
                    if !args.text {
                        note_likeness(&String::from_utf8_lossy(&bytes));
                    }
                    return Ok(Answer::Live(Box::new(Live { reader, start: bytes, stream: None })));
                }
                SoFar::Stream(stream) => {
                    let stream = Some(*stream);
                    return Ok(Answer::Live(Box::new(Live { reader, start: bytes, stream })));
                }
                SoFar::Whole | SoFar::Unknown => {}
            }
        }
        reader.read_to_end(&mut bytes).map_err(|error| input::unreadable(file, &error))?;
        Answer::whole(args, file, bytes)
    }

    fn whole(args: &ParseArgs, file: &Path, bytes: Vec<u8>) -> Result<Self, Stop> {
        let name = input::name_of(file);
        let bodies = match (&args.input.field, str::from_utf8(&bytes)) {
            (None, Ok(text)) if !args.text => Body::read(text).map_err(|fault| broken(&name, &fault))?,
            (None, _) => None,
            (Some(path), text) => {
                let value =
                    text.ok().and_then(|text| Some((serde_json::from_str::<Value>(text).ok()?, text)));
                let Some((value, text)) = value else {
                    return Err(no_json(&name, path));
                };
                Some(Body::at_path(&value, text, path).map_err(|fault| broken(&name, &fault))?)
            }
        };
        let Some(bodies) = bodies else {
            if !args.text {
                note_likeness(&String::from_utf8_lossy(&bytes));
            }
            return Ok(Answer::Text(bytes));
        };
        note_choices(bodies.len());
        let first = bodies.into_iter().next();
        Ok(first.map_or(Answer::Text(bytes), |body| Answer::Body(Box::new(body))))
    }

    /// Whose form it has, if it is a body.
    pub(crate) fn kind(&self) -> Option<BodyKind> {
        match self {
            Answer::Text(_) => None,
            Answer::Body(body) => Some(body.kind),
            Answer::Live(live) => live.stream.as_ref().map(BodyStream::kind),
        }
    }

    /// What it says of itself.
    pub(crate) fn about(&self) -> About<'_> {
        match self {
            Answer::Text(_) => About::default(),
            Answer::Body(body) => About { model: body.model.as_deref(), tools: body.tools.as_ref() },
            Answer::Live(live) => live
                .stream
                .as_ref()
                .map_or_else(About::default, |stream| About { model: stream.model(), tools: stream.tools() }),
        }
    }

    /// What tools gave in the conversation before it.
    pub(crate) fn untrusted(&self) -> &[String] {
        match self {
            Answer::Body(body) => &body.untrusted,
            _ => &[],
        }
    }

    /// Hands out its chunks, and says how it ended.
    pub(crate) fn feed(
        self,
        args: &ParseArgs,
        file: &Path,
        mut each: impl FnMut(Given<'_>) -> Result<(), Stop>,
    ) -> Result<Ending, Stop> {
        let size = args.chunk.map(|size| size as usize);
        match self {
            Answer::Text(bytes) => {
                let default = if args.stream { STREAM_CHUNK } else { bytes.len().max(1) };
                for chunk in bytes.chunks(size.unwrap_or(default)) {
                    each(Given::Bytes(chunk))?;
                }
                Ok(Ending::default())
            }
            Answer::Body(body) => {
                for chunk in &body.chunks {
                    hand_out(chunk, size, &mut each)?;
                }
                Ok(Ending::of(*body))
            }
            Answer::Live(live) => live.feed(file, &mut each),
        }
    }
}

impl Live {
    fn feed(
        mut self,
        file: &Path,
        each: &mut dyn FnMut(Given<'_>) -> Result<(), Stop>,
    ) -> Result<Ending, Stop> {
        let name = input::name_of(file);
        let mut bytes = std::mem::take(&mut self.start);
        loop {
            match &mut self.stream {
                None => each(Given::Bytes(&bytes))?,
                Some(stream) => {
                    let chunks = stream.take(&bytes).map_err(|fault| broken(&name, &fault))?;
                    chunks.iter().try_for_each(|chunk| hand_out(chunk, None, each))?;
                }
            }
            bytes.clear();
            if read_some(&mut self.reader, &mut bytes, file)? == 0 {
                break;
            }
        }
        let Some(mut stream) = self.stream else { return Ok(Ending::default()) };
        let (rest, body) = stream.close().map_err(|fault| broken(&name, &fault))?;
        rest.iter().try_for_each(|chunk| hand_out(chunk, None, each))?;
        note_choices(stream.choices().count());
        Ok(Ending::of(body))
    }
}

impl Ending {
    fn of(body: Body) -> Self {
        if body.reason == FinishReason::Failed && body.word.is_none() {
            // A remark only: the result shows what it led to.
            let _ = writeln!(io::stderr(), "callgate: the stream stops without saying that it is over");
        }
        Ending { reason: body.reason, word: body.word }
    }
}

/// Hands out a chunk, its text in pieces of this size.
fn hand_out(
    chunk: &ModelChunk,
    size: Option<usize>,
    each: &mut dyn FnMut(Given<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    match chunk {
        ModelChunk::Text(text) => {
            let mut pieces = text.as_bytes().chunks(size.unwrap_or(text.len().max(1)));
            pieces.try_for_each(|piece| each(Given::Bytes(piece)))
        }
        chunk => each(Given::Chunk(chunk)),
    }
}

/// The mark that some programs write before text.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// How much of a stream is held until an event says whose it is.
const HELD: usize = 1 << 20;

/// What of something that is still coming has come says about it.
enum SoFar {
    /// Too little has come.
    Unknown,
    Text,
    Stream(Box<BodyStream>),
    /// What only its end tells from text: a value that goes over lines, a stream that begins with an error.
    Whole,
}

impl SoFar {
    fn of(bytes: &[u8]) -> Self {
        if MARK.starts_with(bytes) {
            return SoFar::Unknown;
        }
        let text = String::from_utf8_lossy(bytes.strip_prefix(MARK).unwrap_or(bytes));
        let (lines, rest) = text.split_at(text.rfind('\n').map_or(0, |end| end + 1));
        if lines.trim().is_empty() {
            let rest = rest.trim_start();
            let may_begin = |field: &&str| field.starts_with(rest) || rest.starts_with(*field);
            let may_be_stream = ["data:", "event:", "id:", "retry:", ":", "{", "HTTP/"].iter().any(may_begin);
            return match may_be_stream {
                true if bytes.len() < HELD => SoFar::Unknown,
                // What it is, its end tells.
                true => SoFar::Whole,
                false => SoFar::Text,
            };
        }
        match Beginning::of(lines, false) {
            Beginning::Stream(stream) => SoFar::Stream(stream),
            Beginning::Failed(_) => SoFar::Whole,
            Beginning::Open if bytes.len() < HELD => SoFar::Unknown,
            Beginning::Text if lines.trim_start().starts_with('{') => SoFar::Whole,
            Beginning::Open | Beginning::Text => SoFar::Text,
        }
    }
}

fn read_some(reader: &mut dyn Read, bytes: &mut Vec<u8>, file: &Path) -> Result<usize, Stop> {
    let start = bytes.len();
    bytes.resize(start + READ, 0);
    loop {
        match reader.read(&mut bytes[start..]) {
            Ok(count) => {
                bytes.truncate(start + count);
                return Ok(count);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(input::unreadable(file, &error)),
        }
    }
}

fn note_choices(choices: usize) {
    if choices > 1 {
        // A remark only: nothing is lost if it cannot be written.
        let _ = writeln!(
            io::stderr(),
            "callgate: the body has {choices} choices, of which the first is shown; `callgate scan` judges all"
        );
    }
}

/// The members of which bodies and records of answers have at least one, with more in it than a text: a model may write
/// objects with a message of its own.
const LIKENESS: &[&str] = &[
    "choices",
    "messages",
    "message",
    "conversations",
    "content",
    "response",
    "output",
    "candidates",
    "generations",
    "results",
    "body",
];

/// Says of what looks like a body and was read as the model's own text that it was, and what else can be done.
fn note_likeness(text: &str) {
    if let Some(note) = likeness(text) {
        // A remark only: nothing is lost if it cannot be written.
        let _ = writeln!(io::stderr(), "callgate: {note} (--text says that it is)");
    }
}

/// What there is to say of text that looks like what a server sent, in no known form.
pub(crate) fn likeness(text: &str) -> Option<&'static str> {
    let text = text.trim_start_matches('\u{feff}').trim();
    let start: String = text.chars().take(4096).collect();
    let has = |value: &Value, keys: &[&str]| keys.iter().any(|key| value.get(key).is_some());
    let first = text.lines().next().unwrap_or_default();
    let is_like = |value: &Value| {
        let holds = |key: &&str| matches!(value.get(*key), Some(Value::Object(_) | Value::Array(_)));
        let is_message = value.get("role").is_some_and(Value::is_string) && has(value, &["content", "parts"]);
        is_message || LIKENESS.iter().any(holds) || value.get("generated_text").is_some()
    };
    Some(match serde_json::from_str::<Value>(text).or_else(|_| serde_json::from_str(first)) {
        Ok(value) if has(&value, &["text", "chunks", "tool_calls"]) => {
            "lines of JSON are read by `callgate scan`; here they are the model's own text"
        }
        Ok(value) if is_like(value.get(0).unwrap_or(&value)) => {
            "this looks like the body of a server, and is read as the model's own text; say with --field where the answer is"
        }
        Err(_) if text.starts_with(['{', '[']) && start.contains("\"role\"") => {
            "this looks like the body of a server that cannot be read as JSON, and is read as the model's own text"
        }
        _ if ["HTTP/1.0 ", "HTTP/1.1 ", "HTTP/2 ", "HTTP/3 "]
            .iter()
            .any(|version| text.starts_with(version)) =>
        {
            "this begins with the headers of an HTTP answer, and is read as the model's own text; keep the body alone, as curl does without -i"
        }
        _ if is_like_stream(text) => {
            "this looks like the stream of a server whose form is not known, and is read as the model's own text"
        }
        _ => return None,
    })
}

/// The members of which values of a stream have at least one, whoever sends it.
const EVENTS: &[&str] =
    &["delta", "event", "done", "object", "finish_reason", "is_finished", "token", "chunk", "error"];

/// Whether a text is a stream of no known form: events of which none says whose they are, or values in lines that look like
/// parts of an answer. A model may write values in lines too.
fn is_like_stream(text: &str) -> bool {
    let is_event = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap_or_default();
        EVENTS.iter().any(|key| value.get(key).is_some())
    };
    let mut lines = text.lines().filter(|line| !line.trim().is_empty()).take(2).map(is_event);
    matches!(Beginning::of(text, true), Beginning::Open)
        || lines.next() == Some(true) && lines.next() == Some(true)
}

/// What `--field` asks for where there are no fields.
pub(crate) fn no_json(name: &str, path: &str) -> Stop {
    Stop::usage(
        format!("{name} is not JSON, so it has no `{path}`"),
        "leave --field out, or give lines to `callgate scan`",
    )
}

/// A body that cannot be read.
pub(crate) fn broken(name: &str, fault: &ModelFault) -> Stop {
    match fault.code {
        FaultCode::ServerError => Stop::usage(
            format!("{name}: no answer but an error of the server: {}", fault.message),
            "nothing was judged; ask the server again, or read the input as it is with --text",
        ),
        _ => Stop::usage(format!("{name}: {}", fault.message), "--text reads the input as it is"),
    }
}
