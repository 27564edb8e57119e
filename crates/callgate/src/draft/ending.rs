//! The ends of a draft: what it means for a call that the output or its frame ends before it does, and how it becomes an
//! attempt. Calls in the text and structured ones end here, by the same rules.

use std::sync::Arc;

use crate::attempt::{Arguments, Attempt, Meaning, Name};
use crate::dialect::{Record, Repeats};
use crate::ending::{FinishReason, Lacks, closing};
use crate::finding::{Code, Finding, Span};
use crate::json::{End, Kind, Reader, Repair, RepairCode, Safety, Tape};
use crate::rules::Rules;

use super::claims::{cut_out, resolve};
use super::{Draft, DraftBody};

/// Where an attempt was written.
#[derive(Clone, Copy)]
pub(crate) enum Source<'r> {
    /// In a frame of the text, in this dialect.
    Frame {
        record: &'r Record,
        end: usize,
        /// Whether its end was seen.
        closed: bool,
        /// Whether nothing but its shape says that this is a call.
        unmarked: bool,
    },
    /// In a structured call of the provider.
    Provider {
        /// Whether all of it has come.
        closed: bool,
    },
}

impl Draft {
    /// The output ends at `end`, with the JSON of this call unfinished as far as anybody knows. A value that was never
    /// begun lacks `unwritten`. True if nothing was missing.
    pub(crate) fn end_json(
        &mut self,
        rules: &Rules,
        reason: FinishReason,
        end: usize,
        unwritten: Option<Lacks>,
    ) -> bool {
        let DraftBody::Json { reader, object, arguments } = &mut self.body else { return true };
        // An object that ends before its arguments may have been going to have some.
        let has_arguments = !*object || arguments.is_some();
        let ended = reader.finish();
        let lacks = match ended {
            // The end of the frame may be missing, but that is for the judge to see.
            End::Whole => None,
            // What could not be read says why by itself, unless the rest of a string may never have been written.
            End::Failed if reason.is_good() || !reader.in_string() => None,
            End::Blank => unwritten,
            End::Closable => Some(Lacks::Closers),
            End::CutOff | End::Failed => Some(Lacks::Rest),
        };
        let Some(lacks) = lacks else { return true };
        // Nothing is closed that would be empty then.
        let is_begun = ended == End::Blank || !reader.ends_in_nothing();
        let has_arguments = has_arguments && is_begun;
        let may_close = closing(rules, reason, self.name.as_deref(), lacks).filter(|_| has_arguments);
        // Nothing is closed by leaving it away, if only closers were missing.
        let is_closed = |reader: &mut Reader| match ended {
            End::Blank => lacks == Lacks::Closers,
            _ => reader.close(),
        };
        let may_close = may_close.filter(|_| is_closed(reader));
        self.end_with(may_close, end);
        false
    }

    /// The output ends inside of the call: it is closed with this certainty, or cut off.
    pub(crate) fn end_with(&mut self, may_close: Option<Safety>, end: usize) {
        match may_close {
            Some(Safety::Lossless) => {}
            Some(Safety::Guess) => self.guessed_end = Some(end),
            // What is too large was not read to its end, whether it was written or not.
            None if self.findings.iter().any(|finding| finding.code == Code::TooLarge) => {}
            None => self.findings.push(Finding::new(Code::Truncated).at(Span::new(end, end))),
        }
    }

    /// Says which marker was expected where the output ended inside of the call.
    pub(crate) fn expected_at_end(&mut self, marker: &str, repeats: Repeats<'_>) {
        let marker = self.filled(marker, repeats);
        if let Some(finding) = self.findings.last_mut().filter(|finding| finding.code == Code::Truncated) {
            finding.message =
                format!("the output ends inside the call, where `{marker}` was expected").into();
        }
    }

    /// The frame ends at `at`, with its JSON unfinished: it is closed there, or broken. Before the end of the call itself,
    /// arguments may have been left out; where only another call shows that it ends, more of them may have been coming.
    pub(crate) fn close_json(&mut self, at: usize, is_own_end: bool, is_given_up: bool) {
        let DraftBody::Json { reader, object, .. } = &mut self.body else { return };
        let ended = reader.finish();
        let is_blank = ended == End::Blank && !*object && is_own_end;
        if matches!(ended, End::Whole | End::Failed) || is_blank {
            return;
        }
        if reader.close() {
            self.guessed_end = is_given_up.then_some(at).or(self.guessed_end);
            return;
        }
        let code = if ended == End::CutOff { Code::Truncated } else { Code::BadJson };
        self.findings.push(Finding::new(code).at(Span::new(at, at)));
    }

    /// Gives the attempt over to be judged. The reader, if one was needed, comes back to be used again.
    pub(crate) fn finish(&mut self, source: Source<'_>) -> (Attempt, Option<Box<Reader>>) {
        let guessed_end = self.guessed_end.take();
        let (mut attempt, reader) = self.gather(source);
        if let Some(end) = guessed_end {
            // Whatever was put there to close it is a guess, and if nothing was, the end itself is.
            let mut last = attempt.repairs.iter_mut().filter(|repair| repair.span.end >= end).peekable();
            if last.peek().is_none() {
                attempt.repairs.push(Repair {
                    code: RepairCode::MissingTag,
                    safety: Safety::Guess,
                    span: Span::new(end, end),
                    late: false,
                    count: 1,
                });
            } else {
                last.for_each(|repair| repair.safety = Safety::Guess);
            }
        }
        (attempt, reader)
    }

    fn gather(&mut self, source: Source<'_>) -> (Attempt, Option<Box<Reader>>) {
        let (dialect, span, closed, unmarked) = match source {
            Source::Frame { record, end, closed, unmarked } => {
                (record.name.clone(), Some(Span::new(self.start, end)), closed, unmarked)
            }
            Source::Provider { closed } => (Arc::from("native"), None, closed, false),
        };
        let mut attempt = Attempt {
            number: self.number,
            dialect,
            span,
            name: Name::Missing,
            id: self.id.take(),
            after: Vec::new(),
            arguments: Arguments::Blank,
            tape: Tape::default(),
            repairs: std::mem::take(&mut self.repairs),
            findings: std::mem::take(&mut self.findings),
            notes: std::mem::take(&mut self.notes),
            strangers: Vec::new(),
            raw: std::mem::take(&mut self.raw),
            raw_len: self.raw_len,
            untyped: false,
            closed,
            shown_openers: None,
            unmarked,
            meaning: Meaning::Call,
            body_start: self.body_start,
        };
        // The name of an object is what stands in it when it is whole.
        let mut seen = self.name.take();
        if !matches!(self.body, DraftBody::Json { object: true, .. }) {
            attempt.name = seen.take().map_or(Name::Missing, Name::Written);
        }
        match std::mem::replace(&mut self.body, DraftBody::None) {
            DraftBody::None => {}
            DraftBody::Params(params) => {
                attempt.untyped = true;
                attempt.arguments = Arguments::Broken;
                if let Some((text, tape)) = params.finish() {
                    attempt.arguments = Arguments::Json(text);
                    attempt.tape = tape;
                }
            }
            // The call's end has turned it into parameters.
            DraftBody::Code(_) => attempt.arguments = Arguments::Broken,
            DraftBody::Json { mut reader, object, .. } => {
                let base = self.body_start.unwrap_or(0);
                attempt.repairs.extend(reader.repairs().iter().cloned().map(|mut repair| {
                    repair.span = Span::new(repair.span.start + base, repair.span.end + base);
                    repair
                }));
                if let Some(failure) = reader.failure() {
                    let at = base + failure.at;
                    attempt.findings.push(
                        Finding::new(failure.code).at(Span::new(at, at)).message(failure.message.clone()),
                    );
                    attempt.arguments = Arguments::Broken;
                } else {
                    let (mut text, mut tape) = reader.take_output();
                    let node = match source {
                        Source::Frame { record, .. } if object => {
                            resolve(&mut attempt, record, (seen, self.members), &text, &tape)
                        }
                        // Nothing and null are no arguments, whether or not they stand in an object.
                        _ => tape.nodes().first().filter(|root| root.kind != Kind::Null).map(|_| 0),
                    };
                    if let Some(node) = node {
                        let is_whole = cut_out(node, &mut text, &mut tape);
                        attempt.arguments = if is_whole { Arguments::Json(text) } else { Arguments::Broken };
                    }
                    attempt.tape = tape;
                }
                return (attempt, Some(reader));
            }
        }
        (attempt, None)
    }
}
