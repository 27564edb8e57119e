//! Whole answers among lines: a file that is one body over many lines, or one recorded stream, becomes the line that it is.

use std::io::{self, BufReader, Chain, Cursor, Read};

use callgate_agent::model::{Beginning, BodyKind};
use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value, json};

use crate::pipeline::{Input, MAX_LINE};

/// What the first lines of an input say.
enum SoFar {
    /// It takes another line to tell.
    Unknown,
    /// Each line is one by itself.
    Lines,
    /// All of it may be one recorded stream.
    Stream,
    /// All of it may be one value: it begins in the first line and does not end there.
    Value,
}

/// An input as lines, and whether it is another one than before: a whole answer becomes one line. No more is waited for than
/// it takes to tell, so that what comes from a live pipe line by line is not held.
pub(crate) fn as_lines(mut input: Input) -> io::Result<(Input, bool)> {
    let mut start = Vec::new();
    let mut so_far = SoFar::Unknown;
    while matches!(so_far, SoFar::Unknown) {
        let is_over = read_line(&mut input, &mut start)?;
        // The last line counts when it has ended.
        let end = if is_over { start.len() } else { memchr::memrchr(b'\n', &start).map_or(0, |end| end + 1) };
        so_far = SoFar::of(&start[..end], is_over);
    }
    // The mark that some programs write before text is part of no value.
    if start.starts_with("\u{feff}".as_bytes()) {
        start.drain(.."\u{feff}".len());
    }
    let mut all = Copied { start: Cursor::new(start).chain(input), copy: Vec::new() };
    let line = match so_far {
        SoFar::Unknown | SoFar::Lines => None,
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

impl SoFar {
    fn of(start: &[u8], is_over: bool) -> Self {
        let Ok(text) = str::from_utf8(start) else { return SoFar::Lines };
        let mut lines = text.trim_start_matches('\u{feff}').lines().filter(|line| !line.trim().is_empty());
        let undecided = if is_over { SoFar::Lines } else { SoFar::Unknown };
        let Some(first) = lines.next() else { return undecided };
        if ["data:", "event:", "id:", "retry:", ":"].iter().any(|field| first.starts_with(field)) {
            return SoFar::Stream;
        }
        let value = match serde_json::from_str::<Value>(first) {
            Ok(value) => value,
            Err(error) if error.is_eof() && first.trim_start().starts_with(['{', '[']) => {
                return SoFar::Value;
            }
            Err(_) => return SoFar::Lines,
        };
        let event = |line: &str| match Beginning::of(line, true) {
            Beginning::Stream(stream) => Some(stream.kind()),
            _ => None,
        };
        let (Some(kind), Some(_)) = (event(first), BodyKind::of(&value)) else { return SoFar::Lines };
        // One event may be a line that went wrong; two of a kind are a stream. The last one of Ollama's is a whole answer too.
        let Some(second) = lines.next() else { return undecided };
        let value = serde_json::from_str::<Value>(second).unwrap_or_default();
        let is_last = kind == BodyKind::Ollama && BodyKind::of(&value) == Some(kind);
        if is_last || event(second) == Some(kind) { SoFar::Stream } else { SoFar::Lines }
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
