//! Whole answers among lines: a file that is one body over many lines, or one recorded stream, becomes the line that it is.

use std::io::{self, BufReader, Chain, Cursor, Read};

use callgate_agent::model::{Beginning, BodyKind};
use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value, json};

use crate::pipeline::{Input, MAX_LINE};

/// How many bytes of blank lines are waited behind for a line that tells. Behind more of them each line is one by itself.
const BLANK: usize = 1 << 20;

/// What the first lines of an input say.
enum SoFar {
    /// Each line is one by itself.
    Lines,
    /// All of it may be one recorded stream.
    Stream,
    /// All of it may be one value: it begins in the first line and does not end there.
    Value,
}

/// The first lines of an input, each looked at once however many blank ones come with them.
#[derive(Default)]
struct FirstLines {
    /// Whether the first of them has come.
    has_begun: bool,
    /// Whose event the first line is, where it is one: the second tells then.
    event: Option<BodyKind>,
    /// How many bytes of blank lines have come.
    blank: usize,
}

/// An input as lines, and whether it is another one than before: a whole answer becomes one line. No more is waited for than
/// it takes to tell, so that what comes from a live pipe line by line is not held.
pub(crate) fn as_lines(mut input: Input) -> io::Result<(Input, bool)> {
    let mut start = Vec::new();
    let (mut lines, mut looked) = (FirstLines::default(), 0);
    let so_far = loop {
        let is_over = read_line(&mut input, &mut start)?;
        // The last line counts when it has ended.
        let end = if is_over { start.len() } else { memchr::memrchr(b'\n', &start).map_or(0, |end| end + 1) };
        let new = start.get(looked..end).unwrap_or_default();
        let told = new.split_inclusive(|byte| *byte == b'\n').find_map(|line| lines.take(line));
        looked = end.max(looked);
        if let Some(so_far) = told.or(is_over.then_some(SoFar::Lines)) {
            break so_far;
        }
    };
    // The mark that some programs write before text is part of no value.
    if start.starts_with("\u{feff}".as_bytes()) {
        start.drain(.."\u{feff}".len());
    }
    let mut all = Copied { start: Cursor::new(start).chain(input), copy: Vec::new() };
    let line = match so_far {
        SoFar::Lines => None,
        SoFar::Stream => {
            (&mut all).take(MAX_LINE as u64).read_to_end(&mut Vec::new())?;
            let text = str::from_utf8(&all.copy).ok().filter(|text| text.len() < MAX_LINE);
            let is_stream = |text: &&str| {
                matches!(Beginning::of(text, true), Beginning::Stream(_) | Beginning::Failed(_))
            };
            // The place of a recorded stream in a line is `body`.
            text.filter(is_stream).map(|text| json!({"body": text}).to_string())
        }
        SoFar::Value => {
            let reader = BufReader::new((&mut all).take(MAX_LINE as u64));
            let mut values = Deserializer::from_reader(reader).into_iter::<IgnoredAny>();
            let is_one = matches!((values.next(), values.next()), (Some(Ok(_)), None));
            // In strings there are no line breaks, and between values one is as good as a space.
            let text = str::from_utf8(&all.copy).ok().filter(|text| is_one && text.len() < MAX_LINE);
            text.map(|text| text.replace(['\n', '\r'], " "))
        }
    };
    Ok(match line {
        Some(line) => (Box::new(Cursor::new(line.into_bytes())), true),
        None => (Box::new(Cursor::new(all.copy).chain(all.start)), false),
    })
}

impl FirstLines {
    /// Takes the next line; what all of them say, once that is told.
    fn take(&mut self, line: &[u8]) -> Option<SoFar> {
        let Ok(line) = str::from_utf8(line) else { return Some(SoFar::Lines) };
        let line = if self.has_begun { line } else { line.trim_start_matches('\u{feff}') };
        if line.trim().is_empty() {
            self.blank += line.len();
            return (self.blank > BLANK).then_some(SoFar::Lines);
        }
        let line = line.trim_end_matches(['\n', '\r']);
        if std::mem::replace(&mut self.has_begun, true) {
            let Some(kind) = self.event else { return Some(SoFar::Lines) };
            // One event may be a line that went wrong; two of a kind are a stream. The last one of Ollama's is a whole answer
            // too.
            let value = serde_json::from_str::<Value>(line).unwrap_or_default();
            let is_last = kind == BodyKind::Ollama && BodyKind::of(&value) == Some(kind);
            return Some(if is_last || event(line) == Some(kind) { SoFar::Stream } else { SoFar::Lines });
        }
        if ["data:", "event:", "id:", "retry:", ":"].iter().any(|field| line.starts_with(field)) {
            return Some(SoFar::Stream);
        }
        match serde_json::from_str::<Value>(line) {
            Ok(value) => self.event = event(line).filter(|_| BodyKind::of(&value).is_some()),
            Err(error) if error.is_eof() && line.trim_start().starts_with(['{', '[']) => {
                return Some(SoFar::Value);
            }
            Err(_) => {}
        }
        self.event.is_none().then_some(SoFar::Lines)
    }
}

/// Whose event a line is.
fn event(line: &str) -> Option<BodyKind> {
    match Beginning::of(line, true) {
        Beginning::Stream(stream) => Some(stream.kind()),
        _ => None,
    }
}

/// Reads until another line is whole, or the end has come, or a line is too long for one; whether that is the last of it.
fn read_line(input: &mut Input, start: &mut Vec<u8>) -> io::Result<bool> {
    loop {
        let before = start.len();
        let mut some = [0; 16 << 10];
        match input.read(&mut some) {
            Ok(0) => return Ok(true),
            Ok(count) => start.extend_from_slice(&some[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if start.len() > MAX_LINE {
            return Ok(true);
        }
        // What follows the last line break is no line yet, so it is not looked at before its own has come.
        if memchr::memchr(b'\n', &start[before..]).is_some() {
            return Ok(false);
        }
    }
}

/// A reader that keeps what was read.
struct Copied {
    start: Chain<Cursor<Vec<u8>>, Input>,
    copy: Vec<u8>,
}

impl Read for Copied {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.start.read(buffer)?;
        self.copy.extend_from_slice(&buffer[..count]);
        Ok(count)
    }
}
