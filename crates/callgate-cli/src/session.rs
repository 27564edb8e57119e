//! `callgate session`: a sidecar for programs in any language; requests in JSON lines come in, an answer goes out for each.

use std::io::{BufRead, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use callgate::internal::batch::{Desk, Gates, unusable};
use serde_json::{Value, json};

use crate::args::{SessionArgs, ToolLoading};
use crate::exit::{Outcome, Stop, panic_message};
use crate::input::{self, About};

pub(crate) fn run(args: &SessionArgs, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let gates = gates(args)?;
    let desk = Desk::new(gates, args.max_sessions);
    serve(desk, args.max_line, &mut std::io::stdin().lock(), out)?;
    Ok(Outcome::Fine)
}

/// What holds for conversations that do not say otherwise: the flags.
fn gates(args: &SessionArgs) -> Result<Gates, Stop> {
    // A mistake in the flags is reported before the first request.
    let gate = input::gate(&args.gate, About::default(), ToolLoading::Strict)?;
    input::note_unknown_model(&args.gate);
    let mut gates = input::gates(&args.gate, &gate)?;
    if args.gate.tool_loading != Some(ToolLoading::Tolerant) {
        gates = gates.with_strict_tools();
    }
    // The flags were checked before.
    let _ = gates.prepare();
    Ok(gates)
}

/// Answers each line until there are no more. Nothing that a line holds ends this: only the end of the input does, or an
/// output that cannot be written.
fn serve(
    mut desk: Desk,
    longest: usize,
    requests: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<(), Stop> {
    let mut line = Vec::new();
    loop {
        let answer = match next(requests, longest, &mut line)? {
            Next::End => return Ok(()),
            Next::Blank => continue,
            Next::TooLong => unread(&format!("the line is longer than {longest} bytes"), TOO_LONG),
            Next::Line => match std::str::from_utf8(&line) {
                Ok(text) => answer(&mut desk, text),
                Err(error) => {
                    let place = error.valid_up_to() + 1;
                    unread(&format!("byte {place} of the line is not UTF-8"), "Write JSON in UTF-8.")
                }
            },
        };
        out.write_all(answer.as_bytes())?;
        out.write_all(b"\n")?;
        // Whoever asked waits for it.
        out.flush()?;
    }
}

const TOO_LONG: &str = "Send the text in smaller pieces, or give --max-line.";

/// A fault of this program ends the conversation in which it showed, and no other.
fn answer(desk: &mut Desk, line: &str) -> String {
    catch_unwind(AssertUnwindSafe(|| desk.answer(line))).unwrap_or_else(|panic| {
        let id = desk.forget(line);
        let message = format!("internal error: {}", panic_message(&*panic));
        let finding = unusable(message).help("The conversation is closed. Report this, please.");
        json!({"id": id, "op": Value::Null, "error": finding}).to_string()
    })
}

/// The answer to a line that is no request.
fn unread(message: &str, help: &'static str) -> String {
    let finding = unusable(message.to_owned()).help(help);
    json!({"id": Value::Null, "op": Value::Null, "error": finding}).to_string()
}

/// What was read.
enum Next {
    Line,
    Blank,
    TooLong,
    End,
}

/// Reads a line of at most so many bytes; of a longer one nothing is kept.
fn next(requests: &mut dyn BufRead, longest: usize, line: &mut Vec<u8>) -> Result<Next, Stop> {
    let failed = |error: std::io::Error| Stop::Internal(format!("cannot read standard input: {error}"));
    line.clear();
    let limit = longest as u64 + 2;
    let read = requests.take(limit).read_until(b'\n', line).map_err(failed)?;
    if read == 0 {
        return Ok(Next::End);
    }
    let is_whole = line.ends_with(b"\n");
    while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
        line.pop();
    }
    if line.len() > longest {
        *line = Vec::new();
        if !is_whole {
            skip(requests).map_err(failed)?;
        }
        return Ok(Next::TooLong);
    }
    Ok(if line.trim_ascii().is_empty() { Next::Blank } else { Next::Line })
}

/// Passes over the rest of a line.
fn skip(requests: &mut dyn BufRead) -> std::io::Result<()> {
    loop {
        let bytes = requests.fill_buf()?;
        let (passed, is_end) = match memchr::memchr(b'\n', bytes) {
            Some(at) => (at + 1, true),
            None => (bytes.len(), bytes.is_empty()),
        };
        requests.consume(passed);
        if is_end {
            return Ok(());
        }
    }
}
