//! The judge: from what was read of an attempt to a verdict.

mod as_text;
mod doubts;
mod members;

use std::borrow::Cow;

use crate::attempt::{ARGUING, Arguments, Attempt, Meaning, Name, shortened};
use crate::dialect::turn::is_word_of_format;
use crate::effort::Effort;
use crate::event::{Call, Coercion, ModelError, Rejected};
use crate::finding::{Code, Finding, Span};
use crate::json::{Kind, Repair, RepairCode, Safety, Tape};
use crate::policy::{BlankArgs, DuplicateKeys, NameRule, RepairPolicy};
use crate::registry::NAMESPACES;
use crate::rules::{Rules, without_layout, without_namespace};
use crate::schema::CompiledTool;
use crate::verdict::Verdict;

use self::as_text::read_as_text;
use self::doubts::doubt;
use self::members::judge_members;

/// Judges an attempt; the findings beside the verdict are remarks that reject nothing. What the verdict does not need
/// stays in the attempt.
pub(crate) fn judge(rules: &Rules, attempt: &mut Attempt, effort: &mut Effort) -> (Verdict, Vec<Finding>) {
    let mut notes = std::mem::take(&mut attempt.notes);
    if let Meaning::Error { code, message } = &attempt.meaning {
        let reasons = rules.error_codes;
        let is_known = code == ModelError::UNSPECIFIED || reasons.contains(&code.as_str());
        if !reasons.is_empty() && !is_known {
            let mut note = Finding::new(Code::UnknownErrorCode);
            note.help = format!("Use one of the codes {}.", reasons.join(", ")).into();
            note.span = attempt.span;
            notes.push(note);
        }
        let error = ModelError { code: code.clone(), message: message.clone(), span: attempt.span };
        return (Verdict::Error(error), notes);
    }
    let mut findings = Vec::new();
    let mut written = std::mem::replace(&mut attempt.name, Name::Missing);
    let (name, tool) = match judge_name(rules, &written, attempt, &mut findings) {
        Some((name, tool)) => (Some(name), tool),
        None => (None, None),
    };
    if rules.policy.duplicate_keys == DuplicateKeys::KeepLast {
        keep_last_members(attempt);
    }
    findings.append(&mut attempt.findings);
    judge_members(rules, attempt, name.as_deref(), &mut findings, &mut notes);
    judge_repairs(rules, attempt, 0, &mut findings);
    let read = attempt.repairs.len();
    let (mut arguments, fits) = match judge_arguments(rules, attempt, tool, &mut findings) {
        Some((text, fits)) => (Some(text), fits),
        None => (None, false),
    };
    judge_repairs(rules, attempt, read, &mut findings);
    let tape = std::mem::take(&mut attempt.tape);
    let mut coercions = Vec::new();
    match (&name, tool) {
        (Some(name), None) if rules.registry.is_some() => findings.push(unknown_tool(rules, name, effort)),
        (_, Some(tool)) => {
            if let Some(text) = arguments.as_deref().filter(|_| !fits) {
                let (changed, made) =
                    fit_arguments(rules, tool, attempt, (text, &tape), &mut findings, effort);
                arguments = changed.or(arguments);
                coercions = made;
            }
        }
        _ => {
            if arguments.as_ref().is_some_and(|text| tape.value(text, 0).is_none()) {
                findings.push(Finding::new(Code::NumberRange));
            }
        }
    }
    attempt.tape = tape;
    if let Some(arguments) = arguments.as_deref() {
        findings.extend(doubt(attempt, arguments, &coercions, tool));
    }
    let name = name.map(|name| match name {
        Cow::Owned(other) => Some(other),
        Cow::Borrowed(_) => None,
    });
    if findings.is_empty()
        && let (Some(renamed), Some(arguments)) = (name, arguments)
        && let Some(name) = renamed.or(written.take_text())
    {
        let call = Call {
            attempt: attempt.number,
            id: attempt.id.take().unwrap_or_default(),
            name,
            arguments,
            checked: tool.is_some(),
            dialect: attempt.dialect.clone(),
            span: attempt.span,
            repairs: std::mem::take(&mut attempt.repairs),
            coercions,
            findings: Vec::new(),
            after: std::mem::take(&mut attempt.after),
        };
        return (Verdict::Call(Box::new(call)), notes);
    }
    if findings.is_empty() {
        findings.push(Finding::new(Code::Malformed));
    }
    for finding in &mut findings {
        let is_of_name = matches!(finding.code, Code::UnknownTool | Code::BadName | Code::NameTooLong);
        if is_of_name && finding.span.is_none() && attempt.span.is_some() {
            finding.span = attempt.place_of_name(&written);
        }
        finding.span = finding.span.or(attempt.span);
    }
    let rejected = Rejected {
        attempt: attempt.number,
        id: attempt.id.take(),
        name: written.take_text(),
        raw: std::mem::take(&mut attempt.raw),
        raw_len: attempt.raw_len,
        dialect: attempt.dialect.clone(),
        span: attempt.span,
        findings,
    };
    (Verdict::Rejected(Box::new(rejected)), notes)
}

/// The registered name and its tool, if there is one, or what is wrong with the written name.
fn judge_name<'n, 'g>(
    rules: &'g Rules,
    written: &'n Name,
    attempt: &mut Attempt,
    findings: &mut Vec<Finding>,
) -> Option<(Cow<'n, str>, Option<&'g CompiledTool>)> {
    let written = match written {
        Name::Written(name) => name,
        Name::Missing => {
            if attempt.findings.is_empty() {
                findings.push(Finding::new(Code::EmptyName));
            }
            return None;
        }
        Name::Other(raw) => {
            let message = format!("the tool name must be a string, not {}", shortened(raw));
            findings.push(Finding::new(Code::BadName).message(message));
            return None;
        }
    };
    if let Some(tool) = rules.tool(written) {
        return Some((Cow::Borrowed(written), Some(tool)));
    }
    // A namespace with nothing in it names nothing either, and a word that a format has beside the name is none.
    let is_of_format = || rules.registry.is_none() && attempt.span.is_some() && is_word_of_format(written);
    if written.trim().is_empty() || NAMESPACES.contains(&written.trim()) || is_of_format() {
        findings.push(Finding::new(Code::EmptyName));
        return None;
    }
    if rules.policy.repair >= RepairPolicy::Lossless
        && let Some(name) = unmangled(rules, written, attempt)
        && !rules.is_dangerous(&name)
    {
        // The name of a structured call stands nowhere in its arguments.
        let place = attempt.span.map(|span| {
            let start = Span::new(span.start, span.start);
            attempt.place_of_name(&Name::Written(written.clone())).unwrap_or(start)
        });
        attempt.repairs.push(Repair {
            code: RepairCode::MangledName,
            safety: Safety::Lossless,
            span: place.unwrap_or_else(|| Span::new(0, 0)),
            late: false,
            count: 1,
        });
        let tool = rules.tool(&name);
        return Some((Cow::Owned(name), tool));
    }
    if let Some(fault) = fault(rules, written) {
        findings.push(fault);
        return None;
    }
    if rules.registry.is_none() && is_bare_word(attempt, written) {
        let name = shortened(written);
        let message = format!(
            "the tool name is the bare word `{name}`, and without a list of tools nothing says that it is one"
        );
        findings.push(Finding::new(Code::BadName).message(message));
        return None;
    }
    Some((Cow::Borrowed(written), None))
}

/// Whether a string had to be made of this word.
fn is_bare_word(attempt: &Attempt, word: &str) -> bool {
    let start = attempt.span.map_or(0, |span| span.start);
    let stands_at = |span: Span| {
        let from = span.start.checked_sub(start);
        from.and_then(|from| attempt.raw.get(from..from + span.len())).is_some_and(|text| text.trim() == word)
    };
    attempt.repairs.iter().any(|repair| repair.code == RepairCode::UnquotedString && stands_at(repair.span))
}

/// What no tool name may be, if this one is. Without a list of tools, letters of any language make a name, unless the policy
/// has a rule of its own.
fn fault(rules: &Rules, name: &str) -> Option<Finding> {
    let rule = &rules.policy.name_rule;
    let any_letter = rules.registry.is_none() && *rule == NameRule::default();
    let allows = |c: char| rule.allows(c) || any_letter && c.is_alphanumeric();
    if let Some(c) = name.chars().find(|c| !allows(*c)) {
        let name = shortened(name);
        let message = format!("the tool name \"{name}\" holds {c:?}, which no tool name may have");
        return Some(Finding::new(Code::BadName).message(message));
    }
    let length = name.chars().count();
    let message = || format!("the tool name has {length} characters, at most {} are allowed", rule.max);
    (length > rule.max).then(|| Finding::new(Code::NameTooLong).message(message()))
}

/// The one registered name, or without a list of tools the plain one, that a mangled one stands for.
fn unmangled(rules: &Rules, written: &str, attempt: &Attempt) -> Option<String> {
    // The name of a structured call is a value of its own, to which nothing was added by the layout of a text.
    let name = if attempt.span.is_some() { without_layout(written) } else { written };
    if rules.registry.is_some() {
        let listening = rules.dialects.iter().find(|listening| *listening.record.name == *attempt.dialect);
        return rules.unmangled(name, listening.map(|listening| &*listening.record)).map(str::to_owned);
    }
    // Whatever the tools are, none of them is in a namespace that stands for having none.
    let bare = without_namespace(name);
    let is_name = !bare.is_empty() && fault(rules, bare).is_none();
    (is_name && bare != written).then(|| bare.to_owned())
}

/// The arguments as the text of an object, to which the tape of the attempt belongs, or what is wrong with them. Also
/// says whether they are already known to fit the tool.
fn judge_arguments(
    rules: &Rules,
    attempt: &mut Attempt,
    tool: Option<&CompiledTool>,
    findings: &mut Vec<Finding>,
) -> Option<(String, bool)> {
    let mut text = match std::mem::replace(&mut attempt.arguments, Arguments::Broken) {
        Arguments::Json(text) => text,
        Arguments::Broken => return None,
        Arguments::Blank => {
            if !findings.is_empty() {
                // What is wrong already may be why there are none, so nothing is said about their absence.
                return None;
            }
            if !attempt.untyped {
                if rules.policy.blank_args == BlankArgs::Reject {
                    let message = "the call has no arguments, not even an empty object";
                    findings.push(Finding::new(Code::ArgumentsNotObject).message(message));
                    return None;
                }
                let at = attempt.span.map_or(0, |span| span.end);
                attempt.repairs.push(Repair {
                    code: RepairCode::BlankArguments,
                    safety: Safety::Lossless,
                    span: Span::new(at, at),
                    late: true,
                    count: 1,
                });
            }
            let text = "{}".to_owned();
            attempt.tape = Tape::parse(&text)?;
            return Some((text, false));
        }
    };
    let kind = attempt.tape.nodes().first().map(|root| root.kind);
    if kind == Some(Kind::String)
        && rules.policy.repair >= RepairPolicy::Lossless
        && let Some(inner) = attempt.tape.string(&text, 0)
        && inner.trim_start().starts_with('{')
        && let Some(inner_tape) = Tape::parse(inner.trim())
    {
        let at = attempt.body_start.unwrap_or(0);
        attempt.repairs.push(Repair {
            code: RepairCode::ArgumentsInString,
            safety: Safety::Lossless,
            span: Span::new(at, at + text.len()),
            late: true,
            count: 1,
        });
        text = inner.trim().to_owned();
        attempt.tape = inner_tape;
    }
    if rules.policy.blank_args != BlankArgs::Reject
        && tool.is_some_and(CompiledTool::requires_nothing)
        && is_blank(&text, &attempt.tape)
    {
        let at = attempt.body_start.unwrap_or(0);
        attempt.repairs.push(Repair {
            code: RepairCode::BlankArguments,
            safety: Safety::Lossless,
            span: Span::new(at, at + text.len()),
            late: true,
            count: 1,
        });
        "{}".clone_into(&mut text);
        attempt.tape = Tape::parse(&text)?;
    }
    let tape = &attempt.tape;
    let kind = tape.nodes().first().map(|root| root.kind);
    if kind != Some(Kind::Object) {
        let what = match kind {
            Some(Kind::Array) => "an array",
            Some(Kind::String) => "a string",
            Some(Kind::Number) => "a number",
            _ => "a literal",
        };
        let mut finding = Finding::new(Code::ArgumentsNotObject)
            .message(format!("the arguments are {what}, not an object"));
        finding.span = attempt.place_of(&text, tape, 0, None);
        findings.push(finding);
        return None;
    }
    if tool.is_some_and(|tool| tool.fits_at_sight(&text, tape)) {
        return Some((text, true));
    }
    Some((judge_duplicate(rules, attempt, text, findings)?, false))
}

/// What a key means that stands twice: the arguments without it, or a finding.
fn judge_duplicate(
    rules: &Rules,
    attempt: &mut Attempt,
    text: String,
    findings: &mut Vec<Finding>,
) -> Option<String> {
    let tape = &attempt.tape;
    let Some(node) = tape.duplicate(&text) else { return Some(text) };
    let key = tape.key(&text, node).map_or_else(String::new, Cow::into_owned);
    let place = attempt.place_of(&text, tape, node, Some(&key));
    if rules.policy.duplicate_keys == DuplicateKeys::Reject {
        let path = tape.pointer(&text, node);
        let is_same = |told: &&mut Finding| told.code == Code::DuplicateKey && told.path == path;
        // A parameter that was given twice has been told of where it was read.
        if let Some(told) = findings.iter_mut().find(is_same) {
            told.span = place.or(told.span);
            return None;
        }
        let message = format!("the key `{}` stands twice in one object", shortened(&key));
        let mut finding = Finding::new(Code::DuplicateKey).path(path).message(message);
        finding.span = place;
        findings.push(finding);
        return None;
    }
    let text = tape.without_duplicates(&text);
    attempt.tape = Tape::parse(&text)?;
    attempt.repairs.push(Repair {
        code: RepairCode::DuplicateKey,
        safety: Safety::Guess,
        span: place.or(attempt.span).unwrap_or_else(|| Span::new(0, 0)),
        late: true,
        count: 1,
    });
    Some(text)
}

/// Lets the last of the members count that stand twice in the call itself, as a guess. Those in its arguments have a place
/// of their own, and are decided on where the arguments are judged.
fn keep_last_members(attempt: &mut Attempt) {
    let is_repeated = |finding: &Finding| finding.code == Code::DuplicateKey;
    // Members of a frame that is an object or none at all: where parameters are read one by one, only they are repeated.
    let in_frame = attempt.findings.iter().filter(|one| is_repeated(one) && !attempt.untyped).count();
    attempt.findings.retain(|finding| !is_repeated(finding));
    if in_frame > 0 {
        attempt.repairs.push(Repair {
            code: RepairCode::DuplicateKey,
            safety: Safety::Guess,
            span: attempt.span.unwrap_or_else(|| Span::new(0, 0)),
            late: true,
            count: in_frame,
        });
    }
}

/// Whether arguments are written as nothing: an empty string or an empty list.
fn is_blank(text: &str, tape: &Tape) -> bool {
    match tape.nodes().first().map(|root| root.kind) {
        Some(Kind::String) => tape.string(text, 0).is_some_and(|text| text.trim().is_empty()),
        Some(Kind::Array) => tape.children(0).next().is_none(),
        _ => false,
    }
}

/// Whether the policy allows the repairs that were made, from the one at `from` on.
fn judge_repairs(rules: &Rules, attempt: &Attempt, from: usize, findings: &mut Vec<Finding>) {
    let policy = rules.policy.repair;
    // Whether blank arguments are none, and which of two members counts, has been decided by knobs of their own.
    let has_knob = |code: RepairCode| matches!(code, RepairCode::BlankArguments | RepairCode::DuplicateKey);
    let made = attempt.repairs.iter().skip(from).filter(|repair| !has_knob(repair.code));
    let total: usize = made.clone().map(|repair| repair.count).sum();
    if total > rules.policy.limits.repairs {
        let message = format!("{total} repairs would be needed, {} are allowed", rules.policy.limits.repairs);
        findings.push(Finding::new(Code::RepairBudget).message(message));
        return;
    }
    for repair in made {
        let allowed = match policy {
            RepairPolicy::Full => true,
            RepairPolicy::Lossless => repair.safety == Safety::Lossless,
            RepairPolicy::Backtick => repair.code == RepairCode::BacktickQuotes,
            RepairPolicy::Off => false,
        };
        if allowed {
            continue;
        }
        let at_end = !attempt.closed
            && matches!(
                repair.code,
                RepairCode::MissingCloser | RepairCode::UnclosedString | RepairCode::MissingTag
            );
        let code = if at_end {
            Code::Truncated
        } else if repair.code == RepairCode::LoneSurrogate {
            Code::LoneSurrogate
        } else if policy == RepairPolicy::Lossless {
            Code::RepairRefused
        } else if repair.code == RepairCode::MissingTag {
            Code::Malformed
        } else {
            Code::BadJson
        };
        // Where the output ended has been said by what read it.
        let is_said = findings.iter().any(|finding| finding.code == Code::Truncated);
        if !(at_end && is_said) {
            let entry = repair.code.entry();
            // Said so that nobody takes it for something that was done.
            let message =
                format!("{} (not repaired, {}: {})", code.entry().message, repair.code.word(), entry.message);
            findings.push(Finding::new(code).at(repair.span).message(message));
        }
        return;
    }
}

/// The rejection of a name that nobody registered, with the names that it may stand for while suggestions are made.
fn unknown_tool(rules: &Rules, name: &str, effort: &mut Effort) -> Finding {
    let mut message = format!("unknown tool: {name}");
    let mut help = Code::UnknownTool.entry().help.to_owned();
    if let Some(registry) = &rules.registry
        && let Some(nearest) = effort.nearest(name, registry)
    {
        if !nearest.is_empty() {
            message.push_str(&format!("; the nearest is {}", nearest.join(", ")));
        }
        let names: Vec<&str> = registry.names().take(24).collect();
        match names.is_empty() {
            true => help = "Call no tool: the list of tools is empty.".to_owned(),
            false => help.push_str(&format!(" Available tools: {}.", names.join(", "))),
        }
    }
    Finding::new(Code::UnknownTool).message(message).help(help)
}

/// Holds arguments against the schema of their tool. What they are changed to, if they are, and by which coercions.
fn fit_arguments(
    rules: &Rules,
    tool: &CompiledTool,
    attempt: &mut Attempt,
    outer: (&str, &Tape),
    findings: &mut Vec<Finding>,
    effort: &mut Effort,
) -> (Option<String>, Vec<Coercion>) {
    let knobs = (rules.policy.coerce, rules.policy.extra_args, attempt.untyped);
    let fit = tool.fit_within(outer.0, outer.1, knobs, effort);
    if findings.is_empty()
        && !fit.findings.is_empty()
        && let Some(unwrapped) = unwrapped(rules, tool, attempt, outer, effort)
    {
        return unwrapped;
    }
    if findings.is_empty()
        && let Some(fit) = read_as_text(tool, attempt, outer, &fit, knobs, effort)
    {
        return (fit.arguments, fit.coercions);
    }
    if findings.is_empty()
        && !fit.findings.is_empty()
        && let Some(inner) = repeated_call(tool, outer)
    {
        let repair = (RepairCode::RepeatedEnvelope, Safety::Lossless);
        if let Some(unwrapped) = inner_arguments(rules, tool, attempt, outer, (inner, repair), effort) {
            return unwrapped;
        }
    }
    for mut finding in fit.findings {
        let place = attempt.place(outer.0, outer.1, &finding.path);
        finding.span = place.or(finding.span);
        let is_same = |told: &&mut Finding| told.code == finding.code && told.path == finding.path;
        // A value that could not be typed while it was read is not told of twice.
        match findings.iter_mut().find(is_same) {
            Some(told) => told.span = place.or(told.span),
            None => findings.push(finding),
        }
    }
    (fit.arguments, fit.coercions)
}

/// The arguments inside of one wrapper too many, an object or a text, where those around them are not valid themselves.
fn unwrapped(
    rules: &Rules,
    tool: &CompiledTool,
    attempt: &mut Attempt,
    outer: (&str, &Tape),
    effort: &mut Effort,
) -> Option<(Option<String>, Vec<Coercion>)> {
    let repair = (RepairCode::ExtraWrapper, wrapper_safety(attempt, outer));
    if let Some(inner) = tool.wrapped(outer.0, outer.1) {
        return inner_arguments(rules, tool, attempt, outer, (inner, repair), effort);
    }
    let (inner, tape) = tool.wrapped_in_text(outer.0, outer.1)?;
    inner_arguments(rules, tool, attempt, (&inner, &tape), (0, repair), effort)
}

/// How sure it is that the only member of the arguments is a wrapper. A word that frames have for the arguments is a part of
/// the frame that stands twice, if the model writes the frame. Of a structured call it writes the arguments alone, and any
/// other word may be an argument that the schema lacks: which of two objects is meant is then a guess.
fn wrapper_safety(attempt: &Attempt, (outer, tape): (&str, &Tape)) -> Safety {
    let only = tape.children(0).next().and_then(|only| tape.key(outer, only));
    let is_of_frame = only.is_some_and(|word| ARGUING.contains(&&*word) || word == "properties");
    if is_of_frame && attempt.span.is_some() { Safety::Lossless } else { Safety::Guess }
}

/// The arguments inside of arguments that repeat the whole call: `{"name": …, "arguments": {…}}` for the same tool.
fn repeated_call(tool: &CompiledTool, (outer, tape): (&str, &Tape)) -> Option<usize> {
    let named = tape.member(outer, 0, "name").and_then(|node| tape.string(outer, node))?;
    let inner = tape.member(outer, 0, "arguments").or_else(|| tape.member(outer, 0, "parameters"))?;
    (named == tool.tool.name && tape.children(0).count() == 2).then_some(inner)
}

/// Arguments that hold the arguments at this place, if those are valid.
fn inner_arguments(
    rules: &Rules,
    tool: &CompiledTool,
    attempt: &mut Attempt,
    (outer, tape): (&str, &Tape),
    (inner, (code, safety)): (usize, (RepairCode, Safety)),
    effort: &mut Effort,
) -> Option<(Option<String>, Vec<Coercion>)> {
    let least = if safety == Safety::Guess { RepairPolicy::Full } else { RepairPolicy::Lossless };
    if rules.policy.repair < least || safety == Safety::Guess && rules.is_dangerous(&tool.tool.name) {
        return None;
    }
    let text = tape.raw(outer, inner).to_owned();
    let inner_tape = Tape::parse(&text)?;
    if inner_tape.nodes().first()?.kind != Kind::Object {
        return None;
    }
    let knobs = (rules.policy.coerce, rules.policy.extra_args, false);
    let fit = tool.fit_within(&text, &inner_tape, knobs, effort);
    if !fit.findings.is_empty() {
        return None;
    }
    let at = attempt.body_start.unwrap_or(0);
    let span = Span::new(at, at + outer.len());
    attempt.repairs.push(Repair { code, safety, span, late: true, count: 1 });
    Some((Some(fit.arguments.unwrap_or(text)), fit.coercions))
}
