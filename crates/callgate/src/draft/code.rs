//! Code: a body that is the text of a program, and what stands in its place if it is no program.

use crate::dialect::turn::doubtful_code;
use crate::dialect::{Part, Record, Slot, Template};
use crate::finding::{Code, Finding};
use crate::json::{Kind, Tape};

/// What is wrong with a body that was read as code, if it is not what was meant: another form of its record that was not
/// written right, or code with more behind it. Where a tool is known, its schema tells more than that.
pub(super) fn fault(record: &Record, code: &str, is_known: bool) -> Option<Finding> {
    if lacks_name(record, code) {
        return Some(Finding::new(Code::EmptyName));
    }
    let is_endless = |template: &&Template| template.parts.last() == Some(&Part::Slot(Slot::Code));
    if let Some(message) = record.call.iter().find(is_endless).and_then(|_| doubtful_code(code)) {
        return Some(Finding::new(Code::SuspectValueEnd).message(message));
    }
    let is_wrapped = !is_known && takes_either(record) && wrapped(code).is_some_and(is_object);
    let message =
        "a JSON object in a code fence, in inline code or behind a sentence is neither arguments nor code";
    is_wrapped.then(|| Finding::new(Code::Malformed).message(message))
}

/// Whether code begins like a call of this record behind its name.
fn lacks_name(record: &Record, code: &str) -> bool {
    let is_bare = |template: &&Template| template.has(Slot::Code) && !template.has(Slot::Name);
    let Some(bare) = record.call.iter().find(is_bare) else { return false };
    record.call.iter().any(|template| match &template.parts[..] {
        [Part::Literal(head), Part::Slot(Slot::Name), Part::Literal(next), ..] => {
            let next = next.trim();
            bare.head() == head && !next.is_empty() && code.trim_start().starts_with(next)
        }
        _ => false,
    })
}

/// Whether a call of this record has arguments or code between the same markers.
fn takes_either(record: &Record) -> bool {
    let with_arguments = |template: &Template| -> Vec<Part> {
        let arguments = |part: &Part| match part {
            Part::Slot(Slot::Code) => Part::Slot(Slot::Arguments),
            part => part.clone(),
        };
        template.parts.iter().map(arguments).collect()
    };
    let codes = record.call.iter().filter(|template| template.has(Slot::Code));
    codes.map(with_arguments).any(|parts| record.call.iter().any(|template| template.parts == parts))
}

/// What stands in a code fence, in inline code or behind a sentence with a colon, if that is all there is.
fn wrapped(code: &str) -> Option<&str> {
    let code = code.trim();
    if let Some(inside) = code.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) {
        return inside.split_once('\n').map(|(_, lines)| lines);
    }
    if let Some(inside) = code.strip_prefix('`') {
        return inside.strip_suffix('`');
    }
    let (sentence, _) = code.split_once('{')?;
    let is_sentence = sentence.trim_end().ends_with(':') && !sentence.contains('\n');
    is_sentence.then(|| &code[sentence.len()..])
}

fn is_object(text: &str) -> bool {
    Tape::parse(text.trim()).is_some_and(|tape| tape.nodes()[0].kind == Kind::Object)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_program_is_said() {
        let load = |name: &str| Record::named(name).unwrap();
        let (named, either) = (load("llama3-builtin"), load("cwm"));
        for (record, code, expected) in [
            (named, "print(2)", None),
            (named, ".call(q=1)", Some(Code::EmptyName)),
            (named, "print(2)\n</tool_call>", Some(Code::SuspectValueEnd)),
            (named, "</tool_call>", None),
            (named, "print(2)\n</p>", None),
            (named, "```json\n{\"a\": 1}\n```", None),
            (either, "print(2)\n</tool_call>", None),
            (either, "\n```json\n{\"a\": 1}\n```\n", Some(Code::Malformed)),
            (either, "```\n{}\n```", Some(Code::Malformed)),
            (either, "`{\"a\": 1}`", Some(Code::Malformed)),
            (either, "Here it is: {\"a\": 1}", Some(Code::Malformed)),
            (either, "```python\nprint(1)\n```", None),
            (either, "x = {\"a\": 1}", None),
            (either, "while True: {1}", None),
        ] {
            let found = fault(record, code, false).map(|finding| finding.code);
            assert_eq!(found, expected, "{}: {code}", record.name);
        }
        assert!(fault(either, "`{\"a\": 1}`", true).is_none(), "a schema tells");
    }
}
