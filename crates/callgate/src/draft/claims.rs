//! Claims: which shape of its dialect an object has, and so what its name and arguments are.

use std::borrow::Cow;

use crate::attempt::{Attempt, Meaning, Name, shortened};
use crate::dialect::{Content, Member, Record, Shape};
use crate::event::ModelError;
use crate::finding::{Code, Finding, Span};
use crate::json::{Kind, Repair, RepairCode, Safety, Tape};
use crate::shortcuts::Shortcut;

use super::members::{at_path, misplaced, second_arguments, second_name, strangers};
use super::synonyms::{Synonyms, synonyms};

/// Leaves nothing of a text but one of the values in it. False if that has not ended.
pub(super) fn cut_out(node: usize, text: &mut String, tape: &mut Tape) -> bool {
    let Some((start, end)) = tape.cut_out(node) else { return false };
    text.truncate(end);
    text.drain(..start);
    true
}

/// Decides what an object is and takes name and id out of it; most often they are what was seen while it came. The node
/// is that of its arguments.
pub(super) fn resolve(
    attempt: &mut Attempt,
    record: &Record,
    (seen, parts): (Option<String>, Option<(usize, usize)>),
    text: &str,
    tape: &Tape,
) -> Option<usize> {
    if tape.nodes().first().is_none_or(|root| root.kind != Kind::Object) {
        attempt.meaning = if attempt.unmarked { Meaning::Data } else { Meaning::Call };
        attempt.findings.push(Finding::new(Code::Malformed).message("the call is not an object"));
        return None;
    }
    if let Some((name, arguments)) = parts.or_else(|| only_name_and_arguments(record, text, tape))
        && let Some(name) = tape.string(text, name)
    {
        attempt.name = written_name(seen, name);
        return Some(begin_arguments(attempt, tape, arguments));
    }
    if let Some(node) = tape.repeated_member(text, 0) {
        // Keys of the arguments are judged with the arguments; here it is about the call itself.
        let key = tape.key(text, node).unwrap_or_default();
        let message = format!("the key `{}` stands twice in one object", shortened(&key));
        let mut finding = Finding::new(Code::DuplicateKey).path(tape.pointer(text, node)).message(message);
        finding.span = attempt.place_of_second(&key);
        attempt.findings.push(finding);
    }
    let calls = record.object.iter().filter(|shape| shape.is_call());
    let mut claiming = calls.filter_map(|shape| Some((shape, claim(shape, text, tape)?)));
    for shape in &record.error {
        if claims_constants(shape, text, tape) {
            let get = |content: &Content| find(shape, content, text, tape).and_then(|n| tape.string(text, n));
            attempt.meaning = Meaning::Error {
                code: get(&Content::Reason)
                    .map_or_else(|| ModelError::UNSPECIFIED.to_owned(), |c| c.into_owned()),
                message: get(&Content::Text).map_or_else(String::new, |c| c.into_owned()),
            };
            return None;
        }
    }
    let claim = claiming.next();
    // A claim without arguments may have them under another word.
    let is_whole = claim.as_ref().is_some_and(|(shape, claimed)| {
        claimed.named_arguments.is_some() || misplaced(shape, text, tape).is_none()
    });
    if !is_whole
        && !attempt.unmarked
        && let Some(found) = synonyms(record, text, tape)
    {
        return take_synonyms(attempt, found, seen, text, tape);
    }
    let Some((shape, claimed)) = claim else {
        for shape in record.object.iter().filter(|shape| !shape.is_call()) {
            if claims_constants(shape, text, tape)
                && let Some(node) = find(shape, &Content::Text, text, tape)
                && let Some(answer) = tape.string(text, node)
            {
                attempt.meaning = Meaning::Answer(answer.into_owned());
                return None;
            }
        }
        unclaimed(attempt, record, text, tape);
        return None;
    };
    if claiming.any(|(_, other)| other.name != claimed.name) {
        attempt.findings.push(
            Finding::new(Code::Ambiguous).message("the object names two calls at once, so neither was run"),
        );
    }
    let is_named = claimed.named_arguments.is_some();
    let (name, arguments) = match claimed.named_arguments {
        Some((name, node)) => (Name::Written(name), Some(node)),
        None => {
            let name = match claimed.name {
                Some(node) => match tape.string(text, node) {
                    Some(name) => written_name(seen, name),
                    None if tape.nodes()[node].kind == Kind::Null => Name::Missing,
                    None => Name::Other(tape.raw(text, node).to_owned()),
                },
                None => Name::Missing,
            };
            (name, find(shape, &Content::Arguments, text, tape))
        }
    };
    attempt.name = name;
    if let Some(id) = find(shape, &Content::Id, text, tape).and_then(|node| tape.string(text, node)) {
        attempt.id = Some(id.into_owned()).filter(|id| !id.trim().is_empty());
    }
    match awaited(record, text, tape) {
        Ok(after) => attempt.after = after,
        Err(finding) => attempt.findings.push(finding),
    }
    match misplaced(shape, text, tape) {
        Some(finding) => attempt.findings.push(finding),
        None if !is_named => {
            attempt.strangers = strangers(record, text, tape);
            attempt.findings.extend(claimed.name.and_then(|name| second_name(shape, name, text, tape)));
            attempt.findings.extend(second_arguments(shape, text, tape));
        }
        None => {}
    }
    if attempt.unmarked && arguments.is_none() {
        attempt.meaning = Meaning::Data;
    }
    let node = arguments.filter(|node| tape.nodes()[*node].kind != Kind::Null)?;
    Some(begin_arguments(attempt, tape, node))
}

/// Takes name, id and arguments from where another format would have them.
fn take_synonyms(
    attempt: &mut Attempt,
    found: Synonyms,
    seen: Option<String>,
    text: &str,
    tape: &Tape,
) -> Option<usize> {
    attempt.name = tape.string(text, found.name).map_or(Name::Missing, |name| written_name(seen, name));
    attempt.id = found.id.and_then(|node| tape.string(text, node)).map(Cow::into_owned);
    attempt.id.take_if(|id| id.trim().is_empty());
    attempt.strangers = found.strangers;
    let start = tape.nodes()[found.name].start() + attempt.body_start.unwrap_or(0);
    let place = attempt.place_of(text, tape, found.name, None);
    attempt.repairs.push(Repair {
        code: RepairCode::ForeignMembers,
        safety: Safety::Lossless,
        span: place.unwrap_or_else(|| Span::new(start, start)),
        late: false,
        count: 1,
    });
    let arguments = found.arguments.filter(|node| tape.nodes()[*node].kind != Kind::Null)?;
    Some(begin_arguments(attempt, tape, arguments))
}

/// The name that stands in an object; most often it is what was seen first.
fn written_name(seen: Option<String>, name: Cow<'_, str>) -> Name {
    Name::Written(seen.filter(|seen| *seen == name).unwrap_or_else(|| name.into_owned()))
}

/// Notes where the arguments begin.
fn begin_arguments(attempt: &mut Attempt, tape: &Tape, node: usize) -> usize {
    let start = tape.nodes()[node].start();
    attempt.body_start = attempt.body_start.map(|base| base + start);
    node
}

/// Name and arguments of an object that has no other members, in a dialect whose objects have no others. Most calls are
/// like that, and nothing in them can be missing, misplaced or there twice.
pub(super) fn only_name_and_arguments(record: &Record, text: &str, tape: &Tape) -> Option<(usize, usize)> {
    if !Shortcut::Claims.is_on() {
        return None;
    }
    let ([shape], []) = (&record.object[..], &record.error[..]) else { return None };
    let [name, arguments] = &shape.members[..] else { return None };
    let ([names], [others]) = (&name.path[..], &arguments.path[..]) else { return None };
    if name.content != Content::Name || arguments.content != Content::Arguments {
        return None;
    }
    let mut children = tape.children(0);
    let (first, second) = (children.next()?, children.next()?);
    let is = |node: usize, keys: &[String]| tape.key_among(text, node, keys).is_some();
    let is_whole = children.next().is_none() && is(first, names) && is(second, others);
    (is_whole && tape.nodes()[second].kind != Kind::Null).then_some((first, second))
}

/// The ids that an object waits for; a finding where they are no list of strings.
fn awaited(record: &Record, text: &str, tape: &Tape) -> Result<Vec<String>, Finding> {
    let found = record.object.iter().find_map(|shape| find(shape, &Content::After, text, tape));
    let Some(node) = found.filter(|node| tape.nodes()[*node].kind != Kind::Null) else {
        return Ok(Vec::new());
    };
    let ids: Option<Vec<String>> = match tape.nodes()[node].kind {
        Kind::Array => {
            tape.children(node).map(|id| tape.string(text, id).map(|id| id.into_owned())).collect()
        }
        _ => None,
    };
    ids.ok_or_else(|| {
        let shown: String = tape.raw(text, node).chars().take(40).collect();
        let message = format!("what a call waits for is a list of ids, not `{shown}`");
        Finding::new(Code::Malformed).path(tape.pointer(text, node)).message(message)
    })
}

/// An object that has none of the shapes: data if nothing marks it as a call, otherwise a call without a name.
fn unclaimed(attempt: &mut Attempt, record: &Record, text: &str, tape: &Tape) {
    let named = record.object.iter().filter(|shape| shape.is_call()).find_map(|shape| {
        find(shape, &Content::Name, text, tape)
            .filter(|_| shape.members.iter().any(|m| matches!(m.content, Content::Constant(_))))
            .map(|node| (shape, node))
    });
    match named {
        Some((shape, node)) => {
            attempt.name = tape.string(text, node).map_or(Name::Missing, |n| Name::Written(n.into_owned()));
            let constant = shape.members.iter().find(|m| matches!(m.content, Content::Constant(_)));
            let written = constant
                .and_then(|member| at_path(&member.path, text, tape))
                .map_or_else(|| "none".to_owned(), |n| tape.raw(text, n).trim_matches('"').to_owned());
            let mut finding =
                Finding::new(Code::UnknownType).message(format!("unknown response type: {written}"));
            if let Some((key, value)) = constant.and_then(Member::constant) {
                finding = finding.help(format!("Say `\"{key}\": {value}` to call a tool."));
            }
            attempt.findings.push(finding);
        }
        None if attempt.unmarked => attempt.meaning = Meaning::Data,
        None => attempt.name = Name::Missing,
    }
}

/// What says that an object is a call of some shape.
pub(super) struct Claim {
    /// Where the name stands.
    pub(super) name: Option<usize>,
    /// Name and arguments, where the one is the key of the other.
    pub(super) named_arguments: Option<(String, usize)>,
}

/// The claim of a shape to an object that has everything a call of it needs but, perhaps, its arguments.
pub(super) fn claim(shape: &Shape, text: &str, tape: &Tape) -> Option<Claim> {
    let named_arguments = named_arguments(shape, text, tape);
    let name = find(shape, &Content::Name, text, tape);
    let is_claimed = named_arguments.is_some() || name.is_some() && claims_constants(shape, text, tape);
    is_claimed.then_some(Claim { name, named_arguments })
}

pub(super) fn claims_constants(shape: &Shape, text: &str, tape: &Tape) -> bool {
    shape.members.iter().all(|member| match &member.content {
        Content::Constant(wanted) => {
            at_path(&member.path, text, tape).is_some_and(|node| tape.raw(text, node) == wanted)
        }
        _ => true,
    })
}

/// The member of a shape that holds this, where the object has it.
pub(super) fn find(shape: &Shape, content: &Content, text: &str, tape: &Tape) -> Option<usize> {
    let member = shape.members.iter().find(|member| member.content == *content)?;
    at_path(&member.path, text, tape)
}

/// The first member of a shape that holds this: what comes later must not change what is already shown.
pub(super) fn find_first(shape: &Shape, content: &Content, text: &str, tape: &Tape) -> Option<usize> {
    let member = shape.members.iter().find(|member| member.content == *content)?;
    let mut node = 0;
    for spellings in &member.path {
        if tape.nodes().get(node)?.kind != Kind::Object {
            return None;
        }
        node = tape.children(node).find(|child| tape.key_among(text, *child, spellings).is_some())?;
    }
    Some(node)
}

/// Name and arguments of an object whose only key is the name.
fn named_arguments(shape: &Shape, text: &str, tape: &Tape) -> Option<(String, usize)> {
    shape.members.iter().find(|member| member.content == Content::NamedArguments)?;
    let root = tape.nodes().first().filter(|root| root.kind == Kind::Object)?;
    let mut children = tape.children(0);
    let only = children.next()?;
    if children.next().is_some() && root.end() <= text.len() {
        return None;
    }
    Some((tape.key(text, only)?.into_owned(), only))
}

/// Name and arguments of an object whose first key is the name, as far as it has been read.
pub(super) fn first_named(shape: &Shape, text: &str, tape: &Tape) -> Option<(String, usize)> {
    shape.members.iter().find(|member| member.content == Content::NamedArguments)?;
    tape.nodes().first().filter(|root| root.kind == Kind::Object)?;
    let first = tape.children(0).next()?;
    Some((tape.key(text, first)?.into_owned(), first))
}
