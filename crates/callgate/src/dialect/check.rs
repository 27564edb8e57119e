//! Checks: what a record must satisfy so that reading it needs no backtracking and whatever it writes reads back.

use super::record::Record;
use super::shape::{Content, Shape};
use super::spelling::tokens;
use super::steps::{Unit, units};
use super::template::{Part, Slot, Template, is_word_character};
use crate::json::Syntax;

/// A rule that a record breaks, and at which entry of which key.
pub(super) struct Problem {
    pub(super) key: &'static str,
    pub(super) entry: usize,
    pub(super) message: String,
    pub(super) help: String,
}

fn problem(key: &'static str, entry: usize, message: impl Into<String>, help: impl Into<String>) -> Problem {
    Problem { key, entry, message: message.into(), help: help.into() }
}

/// The most entries of one key. Every entry is compared with every other, and no format has a tenth of them.
const MOST_ENTRIES: usize = 256;

/// Checks a whole record; the first broken rule is the answer.
pub(super) fn check(record: &Record) -> Result<(), Problem> {
    lists_are_short(record)?;
    for (key, templates) in record.templates() {
        for (entry, template) in templates.iter().enumerate() {
            slots_belong(key, entry, template)?;
            slots_are_apart(key, entry, template)?;
            words_have_each_slot_once(key, entry, template)?;
        }
    }
    calls_are_complete(record)?;
    keys_agree(record)?;
    texts_hold_text(record)?;
    spellings_are_clear(record)?;
    prompt_is_outside_reasoning(record)?;
    alternatives_differ(record)
}

fn lists_are_short(record: &Record) -> Result<(), Problem> {
    let templates = record.templates().into_iter().map(|(key, list)| (key, list.len()));
    let others = [
        ("object", record.object.len()),
        ("error", record.error.len()),
        ("also", record.also.iter().map(|(_, others)| 1 + others.len()).sum()),
        ("bare", record.bare.len()),
        ("special", record.special.len()),
        ("types", record.types.len()),
    ];
    match templates.chain(others).find(|(_, length)| *length > MOST_ENTRIES) {
        None => Ok(()),
        Some((key, length)) => {
            let message = format!("`{key}` has {length} entries, and at most {MOST_ENTRIES} are read");
            Err(problem(key, MOST_ENTRIES, message, "Make dialects of their own of some of them."))
        }
    }
}

fn slots_of(key: &str) -> &'static [Slot] {
    match key {
        "call" => &[
            Slot::Name,
            Slot::Id,
            Slot::Index,
            Slot::Arguments,
            Slot::Object,
            Slot::Params,
            Slot::Code,
            Slot::Suffix,
        ],
        "param" => &[Slot::Key, Slot::Type, Slot::Value, Slot::Suffix],
        "item" => &[Slot::Type, Slot::Value, Slot::Suffix],
        "text" => &[Slot::Text, Slot::Skip, Slot::Index, Slot::Suffix],
        "reasoning" => &[Slot::Text, Slot::Suffix],
        "noise" => &[Slot::Skip, Slot::Suffix],
        _ => &[Slot::Suffix],
    }
}

fn slots_belong(key: &'static str, entry: usize, template: &Template) -> Result<(), Problem> {
    let allowed = slots_of(key);
    match template.slots().find(|slot| !allowed.contains(slot)) {
        None => Ok(()),
        Some(slot) => {
            let words: Vec<String> = allowed.iter().map(|slot| format!("{{{}}}", slot.word())).collect();
            let message = format!("`{{{}}}` has no place in `{key}`", slot.word());
            Err(problem(key, entry, message, format!("Use only {}.", words.join(", "))))
        }
    }
}

/// Between two slots stands a literal, unless the second shows by its first character that the first has ended; and
/// a slot that takes any text is followed by a literal that is more than white space, or by the end.
fn slots_are_apart(key: &'static str, entry: usize, template: &Template) -> Result<(), Problem> {
    for pair in template.parts.windows(2) {
        match (&pair[0], &pair[1]) {
            (Part::Slot(first), Part::Slot(second)) => {
                let second_is_marked =
                    matches!(second, Slot::Arguments | Slot::Object | Slot::Params | Slot::Suffix);
                if first.is_raw() || !second_is_marked {
                    let message = format!(
                        "nothing tells where `{{{}}}` ends and `{{{}}}` begins",
                        first.word(),
                        second.word()
                    );
                    return Err(problem(key, entry, message, "Put a literal between them."));
                }
            }
            (Part::Slot(slot), Part::Literal(literal)) if slot.is_raw() && literal.trim().is_empty() => {
                let message = format!("the closer after `{{{}}}` is white space only", slot.word());
                let help = "Text is full of white space: write a closer with a visible character, or none.";
                return Err(problem(key, entry, message, help));
            }
            _ => {}
        }
    }
    Ok(())
}

/// A run of word characters is taken apart when it has ended, and the same slot cannot be two parts of it.
fn words_have_each_slot_once(key: &'static str, entry: usize, template: &Template) -> Result<(), Problem> {
    let mut in_word: Vec<Slot> = Vec::new();
    for part in &template.parts {
        match part {
            Part::Slot(slot) if slot.is_word() => {
                if in_word.contains(slot) {
                    let message = format!("`{{{}}}` stands twice in one word", slot.word());
                    let help = "Put a character between them that no name has, such as a space or a quote.";
                    return Err(problem(key, entry, message, help));
                }
                in_word.push(*slot);
            }
            Part::Literal(literal) if literal.chars().all(is_word_character) => {}
            _ => in_word.clear(),
        }
    }
    Ok(())
}

fn calls_are_complete(record: &Record) -> Result<(), Problem> {
    let bodies = [Slot::Arguments, Slot::Object, Slot::Params, Slot::Code];
    if record.call.is_empty() {
        return Err(problem("call", 0, "`call` is an empty list", "Give at least one template."));
    }
    for (entry, call) in record.call.iter().enumerate() {
        let found = call.slots().filter(|slot| bodies.contains(slot)).count();
        if found > 1 {
            let help = "Use one of `{arguments}`, `{object}`, `{params}` and `{code}`.";
            return Err(problem("call", entry, "the arguments have more than one place", help));
        }
        // The first template is the one that is written: without a place for them, arguments would be lost unseen.
        if found == 0 && entry == 0 {
            let help = "Add `{arguments}`, `{object}`, `{params}` or `{code}`; mind the spelling between the braces.";
            return Err(problem("call", entry, "the arguments have no place", help));
        }
        let says_name = call.has(Slot::Name) || call.has(Slot::Object);
        if call.has(Slot::Code) && !says_name && record.code_tool.is_empty() {
            let help = "Add `code_tool`, the name of the tool that runs the code.";
            return Err(problem("call", entry, "`{code}` needs the key `code_tool`", help));
        }
        if !says_name && !call.has(Slot::Code) {
            let help = "Add `{name}`, or `{object}`, whose shape holds the name.";
            return Err(problem("call", entry, "nothing says which tool is called", help));
        }
        if call.has(Slot::Params) && record.param.is_empty() {
            let help = "Add `param`, the template of one parameter, with `{key}` and `{value}`.";
            return Err(problem("call", entry, "`{params}` needs the key `param`", help));
        }
    }
    for (entry, param) in record.param.iter().enumerate() {
        for slot in [Slot::Key, Slot::Value] {
            if !param.has(slot) {
                let message = format!("a parameter needs `{{{}}}`", slot.word());
                return Err(problem("param", entry, message, "Write both `{key}` and `{value}`."));
            }
        }
        if param.slots().filter(|slot| *slot == Slot::Value).count() > 1 {
            let help = "Write `{value}` once; what is repeated around it is `{key}`.";
            return Err(problem("param", entry, "a parameter has `{value}` twice", help));
        }
        if !matches!(param.parts.last(), Some(Part::Literal(_))) {
            let help = "End the template with a closing literal.";
            return Err(problem("param", entry, "nothing closes the parameter", help));
        }
    }
    match &record.item {
        Some(item) if !item.has(Slot::Value) => {
            Err(problem("item", 0, "a list element needs `{value}`", "Write `{value}` into `item`."))
        }
        _ => Ok(()),
    }
}

/// Keys that mean something only together.
fn keys_agree(record: &Record) -> Result<(), Problem> {
    let uses = |slot: Slot| record.templates().iter().any(|(_, list)| list.iter().any(|one| one.has(slot)));
    if !record.param.is_empty() && !uses(Slot::Params) {
        let help = "Write `{params}` into `call`, or remove `param`.";
        return Err(problem("param", 0, "`param` is given, but no call has `{params}`", help));
    }
    if record.item.is_some() && record.param.is_empty() {
        let help = "Add `param`: `item` writes the elements of a list inside a parameter.";
        return Err(problem("item", 0, "`item` needs `param`", help));
    }
    match (&record.quote, record.syntax == Syntax::Bare) {
        (Some(_), false) => {
            let help = "Set `syntax = \"bare\"`, or remove `quote`.";
            return Err(problem("quote", 0, "`quote` belongs to the syntax `bare`", help));
        }
        (None, true) => {
            let help = "Add `quote`, what stands on both sides of a string.";
            return Err(problem("syntax", 0, "the syntax `bare` needs `quote`", help));
        }
        (Some(quote), true) if quote.trim().is_empty() => {
            return Err(problem("quote", 0, "`quote` is blank", "Give the delimiter of strings."));
        }
        _ => {}
    }
    let is_suffix = |text: &str| {
        text.strip_prefix(':').is_some_and(|word| {
            !word.is_empty() && word.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        })
    };
    if !record.suffix.is_empty() && !is_suffix(&record.suffix) {
        let help = "Write a colon and letters or digits, such as `:v2`.";
        return Err(problem("suffix", 0, format!("`{}` is no suffix", record.suffix), help));
    }
    if !record.suffix.is_empty() && !uses(Slot::Suffix) {
        let help = "Write `{suffix}` into the markers, or remove `suffix`.";
        return Err(problem("suffix", 0, "`suffix` is given, but no template has `{suffix}`", help));
    }
    if !record.types.is_empty() && !uses(Slot::Type) {
        let help = "Write `{type}` into `param`, or remove `types`.";
        return Err(problem("types", 0, "`types` is given, but no template has `{type}`", help));
    }
    if !record.code_tool.is_empty() && !uses(Slot::Code) {
        let help = "Write `{code}` into `call`, or remove `code_tool`.";
        return Err(problem("code_tool", 0, "`code_tool` is given, but no call has `{code}`", help));
    }
    if !record.code_tool.chars().all(is_word_character) {
        let help = "Name the tool as the tool list does, without quotes, brackets or white space.";
        return Err(problem("code_tool", 0, "`code_tool` is not one word", help));
    }
    if record.types.iter().any(|(_, spelling)| !spelling.chars().all(is_word_character)) {
        let help = "A spelling is one word without quotes, brackets or white space.";
        return Err(problem("types", 0, "a spelling of `types` is not one word", help));
    }
    if !record.before.trim().is_empty() {
        let help = "Put visible text into `open` or `call`.";
        return Err(problem("before", 0, "`before` is more than white space", help));
    }
    if record.syntax == Syntax::Lines {
        let is_last = |call: &Template| {
            !call.has(Slot::Arguments) || call.parts.last() == Some(&Part::Slot(Slot::Arguments))
        };
        if let Some(entry) = record.call.iter().position(|call| !is_last(call)) {
            let help = "Lines go on to the next opener or the end: write nothing after them.";
            return Err(problem("call", entry, "something follows `{arguments}` in lines", help));
        }
        if !record.lines {
            let help =
                "Set `lines = true`: only an opener at the start of a line can end the lines before it.";
            return Err(problem("syntax", 0, "the syntax `lines` needs `lines`", help));
        }
    }
    let breaks_line = |text: &str| text.contains('\n');
    if record.lines && !(breaks_line(&record.before) && breaks_line(&record.join.to_string())) {
        let help = "Put a line break into `before` and `join`.";
        return Err(problem("lines", 0, "`lines` needs every call to start a line", help));
    }
    shapes_agree(record)
}

fn shapes_agree(record: &Record) -> Result<(), Problem> {
    let is_answer = |shape: &Shape| shape.has(&Content::Text);
    for (entry, shape) in record.object.iter().enumerate() {
        let names = shape.has(&Content::Name) || shape.has(&Content::NamedArguments);
        if shape.has(&Content::Reason) {
            let help = "Put the shape of an error under `error`.";
            return Err(problem("object", entry, "`{reason}` has no place in `object`", help));
        }
        if is_answer(shape) == shape.is_call() || names != shape.is_call() {
            let help = "Hold `{name}` and `{arguments}` for a call, or `{text}` alone for an answer.";
            return Err(problem("object", entry, "the object is neither a call nor an answer", help));
        }
    }
    if !record.object.first().is_some_and(Shape::is_call) {
        let help = "Put a shape with `{name}` and `{arguments}` first: it is the one that is written.";
        return Err(problem("object", 0, "the first shape is not a call", help));
    }
    for (entry, shape) in record.error.iter().enumerate() {
        if !is_answer(shape) || shape.is_call() {
            let help = "Hold `{text}`, the message, and if you like `{reason}`, the code.";
            return Err(problem("error", entry, "the object says no error", help));
        }
    }
    Ok(())
}

fn texts_hold_text(record: &Record) -> Result<(), Problem> {
    for (key, templates) in [("text", &record.text), ("reasoning", &record.reasoning)] {
        for (entry, template) in templates.iter().enumerate() {
            if template.slots().filter(|slot| *slot == Slot::Text).count() != 1 {
                let message = format!("`{key}` needs `{{text}}` once");
                return Err(problem(key, entry, message, "Write `{text}` where the text stands."));
            }
            if key == "reasoning" && template.head().trim().is_empty() {
                let help = "Start it with a literal: all output would be reasoning.";
                return Err(problem(key, entry, "reasoning has no opener", help));
            }
        }
    }
    for (entry, noise) in record.noise.iter().enumerate() {
        if noise.head().trim().is_empty() {
            let help = "Start it with a visible literal: everything would be noise.";
            return Err(problem("noise", entry, "noise has no opener", help));
        }
    }
    let inner_heads = |opener: &String| {
        record.templates().iter().any(|(_, list)| {
            list.iter().any(|template| template.literals().any(|literal| literal.contains(opener.as_str())))
        })
    };
    if let Some(entry) = record.bare.iter().position(|opener| opener.len() < 4 || !inner_heads(opener)) {
        let message = format!("`{}` is no inner opener of this dialect", record.bare[entry]);
        let help = "Copy at least four bytes of a literal that opens a call inside its wrapper.";
        return Err(problem("bare", entry, message, help));
    }
    let is_tag = |tag: &String| tag.starts_with('<') && tag.ends_with('>') && tokens(tag).len() <= 2;
    match record.special.iter().position(|tag| !is_tag(tag) || !inner_heads(tag)) {
        None => Ok(()),
        Some(entry) => {
            let message = format!("`{}` is no tag of this dialect", record.special[entry]);
            Err(problem("special", entry, message, "Copy a whole tag, as in `<tool_call>`."))
        }
    }
}

/// Every row of `also` changes something, and no two rows fight over the same characters of a template.
fn spellings_are_clear(record: &Record) -> Result<(), Problem> {
    let lists = record.templates();
    let shapes = record.object.iter().chain(&record.error);
    let shape_literals: Vec<&str> = shapes.flat_map(|shape| shape.template.literals()).collect();
    let template_literals: Vec<&str> =
        lists.iter().flat_map(|(_, list)| list.iter()).flat_map(|template| template.literals()).collect();
    for (entry, (literal, others)) in record.also.iter().enumerate() {
        let is_used =
            template_literals.iter().chain(&shape_literals).any(|text| text.contains(literal.as_str()));
        if !is_used {
            let help = "Copy the literal exactly as a template of this record writes it.";
            return Err(problem("also", entry, format!("`{literal}` occurs in no template"), help));
        }
        if others.contains(literal) {
            let message = format!("`{literal}` is listed as another spelling of itself");
            return Err(problem("also", entry, message, "Remove the repeat."));
        }
        if record.also[..entry].iter().any(|(earlier, _)| earlier == literal) {
            let message = format!("`{literal}` has two rows");
            return Err(problem("also", entry, message, "Put all spellings into one row."));
        }
    }
    for text in &template_literals {
        let mut taken: Vec<(usize, usize)> = Vec::new();
        for (entry, (literal, _)) in record.also.iter().enumerate() {
            for (start, found) in text.match_indices(literal.as_str()) {
                let end = start + found.len();
                if taken.iter().any(|(from, to)| start < *to && *from < end) {
                    let message = format!("`{literal}` overlaps another row of `also` in `{text}`");
                    let help = "Choose literals that do not share characters in any template.";
                    return Err(problem("also", entry, message, help));
                }
                taken.push((start, end));
            }
        }
    }
    Ok(())
}

fn prompt_is_outside_reasoning(record: &Record) -> Result<(), Problem> {
    let prompt = record.prompt.trim_end();
    let opens = |template: &Template| prompt.ends_with(template.head().trim_end());
    if !prompt.is_empty() && record.reasoning.iter().any(opens) {
        let help = "Leave the opener of reasoning out; a caller says so with `prompt_tail`.";
        return Err(problem("prompt", 0, "`prompt` ends inside reasoning", help));
    }
    Ok(())
}

/// Two alternatives must differ at a literal, at a literal against a slot, or at two slots that start differently.
///
/// This is what makes backtracking unnecessary: readers of all alternatives run in step, and the first difference
/// leaves one. White space does not count, because it is free at most seams. `open` is compared as a whole with its
/// `close`, since a pair decides only together with its end.
fn alternatives_differ(record: &Record) -> Result<(), Problem> {
    for (key, templates) in record.templates() {
        if matches!(key, "open" | "close") {
            continue;
        }
        for (entry, template) in templates.iter().enumerate() {
            if let Some(earlier) = templates[..entry].iter().position(|other| !differ(other, template)) {
                let message =
                    format!("entries {} and {} of `{key}` cannot be told apart", earlier + 1, entry + 1);
                let help = "Make them differ at a literal, or join them with `also`.";
                return Err(problem(key, entry, message, help));
            }
        }
    }
    let sections: Vec<(String, String)> = record
        .open
        .iter()
        .zip(&record.close)
        .map(|(open, close)| (without_space(&open.to_string()), without_space(&close.to_string())))
        .collect();
    if let Some(entry) = (1..sections.len()).find(|entry| sections[..*entry].contains(&sections[*entry])) {
        let help = "Remove the repeated pair.";
        return Err(problem("open", entry, "two sections are the same", help));
    }
    for (key, shapes) in [("object", &record.object), ("error", &record.error)] {
        for (entry, shape) in shapes.iter().enumerate() {
            if shapes[..entry].iter().any(|other| other.members == shape.members) {
                let help = "Give one of them a member that the other does not have.";
                return Err(problem(
                    key,
                    entry,
                    format!("two shapes of `{key}` have the same members"),
                    help,
                ));
            }
        }
    }
    Ok(())
}

fn differ(left: &Template, right: &Template) -> bool {
    let (left, right) = (units(left), units(right));
    let shared = left.iter().zip(&right).take_while(|(one, other)| one == other).count();
    match (left.get(shared), right.get(shared)) {
        // The same up to white space: nothing differs.
        (None, None) => false,
        // One goes on where the other ends: it wins if its continuation is there.
        (None, Some(_)) | (Some(_), None) => true,
        (Some(Unit::Slot(one)), Some(Unit::Slot(other))) => {
            let both = |test: fn(Slot) -> bool| test(*one) && test(*other);
            let is_object = |slot: Slot| matches!(slot, Slot::Arguments | Slot::Object);
            !(both(Slot::is_raw) || both(Slot::is_word) || both(is_object))
        }
        _ => true,
    }
}

fn without_space(text: &str) -> String {
    text.split_whitespace().collect()
}
