//! Repair: any broken text as JSON, whole, in part, many values of it, or held against a schema.

mod many;
mod schema;

use crate::event::Coercion;
use crate::finding::{Code, Finding, Span};
use crate::json::{End, Failure, Reader, Repair, RepairCode, SEVERAL, Safety, Syntax};

pub use many::repair_many;
pub use schema::Schema;

/// A value that was read from broken text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// The value as valid JSON text: the input's own bytes where they were valid.
    pub text: String,
    /// What was changed to read it, in the order of the input; empty if nothing was.
    pub repairs: Vec<Repair>,
    /// What was changed to fit it to a schema ([`Schema::repair`]), in the order of the text.
    pub coercions: Vec<Coercion>,
    /// What a schema decided, in one sentence, where the text has several readings and validity told them apart.
    pub decided: Option<String>,
}

impl Repaired {
    fn new(text: String, repairs: Vec<Repair>) -> Self {
        Repaired { text, repairs, coercions: Vec::new(), decided: None }
    }

    fn is_guessed(&self) -> bool {
        self.repairs.iter().any(|repair| repair.safety == Safety::Guess)
    }
}

/// Reads a whole text as one JSON value with every repair allowed, guesses included. Of a key that stands twice in one
/// object the last value is kept.
///
/// ```
/// let repaired = callgate::repair("{path: 'n.md',}", 64)?;
/// assert_eq!(repaired.text, r#"{"path": "n.md"}"#);
/// assert_eq!(repaired.repairs.len(), 3);
/// # Ok::<(), callgate::Finding>(())
/// ```
pub fn repair(text: &str, depth: usize) -> Result<Repaired, Finding> {
    read(Reader::new(Syntax::Json).document().restoring().with_depth(depth), text)
}

/// Reads the start of a text, of which the rest is still to come, as one JSON value. What is given is in the whole value
/// too: a half member is left out, and so is a number that may go on; a string is given as far as it goes. A longer
/// start takes nothing back.
///
/// ```
/// let repaired = callgate::repair_partial(r#"{"path": "n.md", "lines": [10, 2"#, 64)?;
/// assert_eq!(repaired.text, r#"{"path": "n.md", "lines": [10]}"#);
/// # Ok::<(), callgate::Finding>(())
/// ```
pub fn repair_partial(text: &str, depth: usize) -> Result<Repaired, Finding> {
    let repaired = read(Reader::new(Syntax::Json).document().restoring().partial().with_depth(depth), text)?;
    // A number by itself may go on.
    let is_number = repaired.text.trim_start().starts_with(|c: char| c == '-' || c.is_ascii_digit());
    match is_number && !text.ends_with(|c: char| c.is_ascii_whitespace()) {
        true => Err(Finding::new(Code::Truncated).at(Span::new(text.len(), text.len()))),
        false => Ok(repaired),
    }
}

/// Reads the whole text with this reader. Of a key that stands twice the last value is kept.
fn read(mut reader: Reader, text: &str) -> Result<Repaired, Finding> {
    reader.push(text);
    finish(reader, text.len())
}

/// Ends the reader after so many bytes of input.
fn finish(mut reader: Reader, input: usize) -> Result<Repaired, Finding> {
    let end = Span::new(input, input);
    let rejected = |code, message: &'static str| Finding::new(code).at(end).message(message).help(BY_HAND);
    match reader.finish() {
        End::Blank => return Err(rejected(Code::BadJson, "there is nothing to read").help(NO_VALUE)),
        End::Failed => {
            let unexplained = || rejected(Code::BadJson, "the text is not JSON");
            return Err(reader.failure().map_or_else(unexplained, finding));
        }
        End::Closable | End::CutOff if !reader.close() => {
            let cut = match reader.failure() {
                Some(failure) => finding(failure),
                None => rejected(Code::Truncated, "the text ends where a value is needed").help(CUT_OFF),
            };
            return Err(cut);
        }
        End::Whole | End::Closable | End::CutOff => {}
    }
    let (text, tape, mut repairs) = reader.into_parts();
    if tape.duplicate(&text).is_none() {
        return Ok(Repaired::new(text, repairs));
    }
    let span = Span::new(0, input);
    repairs.push(Repair {
        code: RepairCode::DuplicateKey,
        safety: Safety::Guess,
        span,
        late: true,
        count: 1,
    });
    Ok(Repaired::new(tape.without_duplicates(&text), repairs))
}

/// What to do about a text that holds no value.
const NO_VALUE: &str = "Give a text that holds a JSON value.";

/// What to do about a text that ends too early.
const CUT_OFF: &str = "Give the rest of the text, or read it as a start: `repair_partial` in the library, --partial on the command line.";

/// What to do about a place that no repair reads.
const BY_HAND: &str = "Correct the text at this place.";

fn finding(failure: &Failure) -> Finding {
    let finding =
        Finding::new(failure.code).at(Span::new(failure.at, failure.at)).message(failure.message.clone());
    match failure.code {
        _ if failure.message == SEVERAL => {
            finding.help("Read them as a list: `repair_many` in the library, --many on the command line.")
        }
        Code::BadJson => finding.help(NO_VALUE),
        Code::RepairRefused => finding.help(BY_HAND),
        Code::Truncated => finding.help(CUT_OFF),
        _ => finding,
    }
}
