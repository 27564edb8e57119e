//! Calls: the field of a response template that holds calls, turned into the keys that write and read them.

use serde_json::Value;

use super::ImportError;
use super::field::{Field, FieldContent, written, wrong_type};
use super::pattern::{Pattern, PatternPiece};
use super::transform::Transform;

/// The keys of a record that make up its calls.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pub(super) open: Vec<String>,
    pub(super) call: Vec<String>,
    pub(super) join: String,
    pub(super) close: Vec<String>,
    pub(super) object: Vec<String>,
    pub(super) param: Vec<String>,
    pub(super) syntax: String,
    pub(super) quote: String,
    pub(super) trim: bool,
    /// Rows for `also`.
    pub(super) also: Vec<Vec<String>>,
    /// Whether the model writes an id.
    pub(super) has_id: bool,
    /// What is to be said about calls and about parameters.
    pub(super) call_remarks: Vec<String>,
    pub(super) param_remarks: Vec<String>,
}

const TEXT_ARGUMENTS: &str = "Arguments are JSON (`json`) or tags (`xml-inline`).";
const WHOLE: &str =
    "Let `arguments` be \"{content}\" and take the name from a named group of `open_pattern`.";

impl Calls {
    /// Reads the field; `closer` is what closes it, as text.
    pub(super) fn read(field: &Field<'_>, closer: &str) -> Result<Calls, ImportError> {
        let mut calls = Calls::default();
        let transform = Transform::read(field)?;
        if let Some(Transform { name, id, .. }) = &transform {
            calls.has_id = id.is_some();
            if let Some(group) =
                [Some(name), id.as_ref()].into_iter().flatten().flatten().find(|step| is_fixed(field, step))
            {
                let why =
                    format!("the group `{group}` takes fixed words, so no placeholder can stand for it");
                return Err(field.bad_pattern("open_pattern", &why));
            }
        }
        match field.content {
            FieldContent::Json => calls.json(field, transform.as_ref(), closer)?,
            FieldContent::XmlInline => calls.tags(field, transform.as_ref(), closer)?,
            FieldContent::KvLines => {
                let message =
                    "`kv-lines` cannot be a template: a line break ends a value, and a value may hold one";
                return Err(field.reject("content", "content", message, TEXT_ARGUMENTS));
            }
            FieldContent::Text | FieldContent::Scalar => {
                let message = "a call whose arguments are plain text has no names for them";
                return Err(field.reject("content", "content", message, TEXT_ARGUMENTS));
            }
        }
        if !field.repeats && calls.join.is_empty() {
            let remark = "The template reads one call; here any number is read, and the policy limits it.";
            calls.call_remarks.push(remark.to_owned());
        }
        Ok(calls)
    }

    fn json(
        &mut self,
        field: &Field<'_>,
        transform: Option<&Transform>,
        closer: &str,
    ) -> Result<(), ImportError> {
        field.known_args(&["unquoted_keys", "string_delims", "allow_non_json", "strip"])?;
        if field.is_set("allow_non_json")? {
            let remark = "The template passes on content that is no JSON; here such a call is rejected.";
            self.call_remarks.push(remark.to_owned());
        }
        self.quoting(field)?;
        let is_list = field.transform_each || (field.transform.is_none() && !field.repeats);
        let openers = |transform| openers(field, transform);
        let body = match transform {
            _ if is_list => {
                // White space inside of a literal is any amount, also none.
                self.open = openers(None)?
                    .iter()
                    .map(|opener| format!("{opener} [").trim_start().to_owned())
                    .collect();
                self.close = vec![format!("] {closer}").trim_end().to_owned(); self.open.len()];
                self.call = vec!["{object}".to_owned()];
                self.join = ", ".to_owned();
                match transform {
                    Some(transform) => self.object = vec![shape(field, transform, 0)?],
                    None if field.transform.is_none() => self.untransformed(),
                    None => {
                        let message = "`transform_each` does not say which members are the call";
                        let help = "Write \"{name}\" and \"{arguments}\", the members of an element.";
                        return Err(field.reject("transform", "transform", message, help));
                    }
                }
                return self.check_quoting(field);
            }
            None => {
                self.untransformed();
                "{object}"
            }
            Some(Transform { name, arguments, .. }) if is_group(field, name) => {
                if arguments != &["content"] {
                    let message = "the name stands outside of the content, the arguments are a part of it";
                    return Err(field.reject("transform", "transform", message, WHOLE));
                }
                "{arguments}"
            }
            Some(transform) => {
                self.object = vec![shape(field, transform, 1)?];
                "{object}"
            }
        };
        self.call = openers(transform)?.iter().map(|opener| format!("{opener}{body}{closer}")).collect();
        if body == "{object}" { self.check_quoting(field) } else { Ok(()) }
    }

    /// A call that no transform takes apart may be the object itself or wrapped as providers do.
    fn untransformed(&mut self) {
        self.object = vec![
            r#"{"name": "{name}", "arguments": {arguments}}"#.to_owned(),
            r#"{"type": "function", "function": {"name": "{name}", "arguments": {arguments}}}"#.to_owned(),
        ];
        let remark = "The template does not say where name and arguments are; two usual shapes are read.";
        self.call_remarks.push(remark.to_owned());
    }

    /// Private quotes and bare keys.
    fn quoting(&mut self, field: &Field<'_>) -> Result<(), ImportError> {
        let Some(delimiters) = field.arg("string_delims") else {
            if field.is_set("unquoted_keys")? {
                let remark = "Keys without quotes are read as a repair, and listed as such.";
                self.call_remarks.push(remark.to_owned());
            }
            return Ok(());
        };
        let key = "content_args/string_delims";
        let pairs = delimiters.as_array().map_or(&[][..], Vec::as_slice);
        let sides = |pair: &Value| -> Option<(String, String)> {
            match pair.as_array()?.as_slice() {
                [open, close] => Some((open.as_str()?.to_owned(), close.as_str()?.to_owned())),
                _ => None,
            }
        };
        match pairs {
            [pair] => match sides(pair) {
                Some((open, close)) if open == close => {
                    self.syntax = "bare".to_owned();
                    self.quote = open;
                    Ok(())
                }
                Some(_) => {
                    let message = "strings open and close with different marks";
                    Err(field.reject(key, "content", message, "A dialect has one quote for both sides."))
                }
                None => Err(wrong_type(&format!("{}/{key}", field.place), pair, "a list of two strings")),
            },
            [] => Err(wrong_type(&format!("{}/{key}", field.place), delimiters, "a list of one pair")),
            _ => {
                let help = "A dialect has one private quote.";
                Err(field.reject(key, "content", "strings have several kinds of marks", help))
            }
        }
    }

    /// A private quote is read where the arguments stand alone, not around a whole object.
    fn check_quoting(&self, field: &Field<'_>) -> Result<(), ImportError> {
        if self.quote.is_empty() {
            return Ok(());
        }
        let message = "private quotes are read in arguments only, and here the whole call is one object";
        Err(field.reject("content_args/string_delims", "content", message, WHOLE))
    }

    fn tags(
        &mut self,
        field: &Field<'_>,
        transform: Option<&Transform>,
        closer: &str,
    ) -> Result<(), ImportError> {
        field.known_args(&["tag_pattern", "value_parser", "merge_duplicates"])?;
        match transform {
            Some(Transform { name, arguments, .. }) if is_group(field, name) && arguments == &["content"] => {
            }
            _ => {
                let message = "tags hold arguments only, so the name has to come from the opener";
                return Err(field.reject("transform", "transform", message, WHOLE));
            }
        }
        let place = format!("{}/content_args/tag_pattern", field.place);
        let source = match field.arg("tag_pattern") {
            Some(Value::String(source)) => source,
            Some(other) => return Err(wrong_type(&place, other, "a string")),
            None => {
                let help = "Add it, with the groups `key` and `value`.";
                return Err(ImportError::new("content", place, "`xml-inline` needs `tag_pattern`", help));
            }
        };
        let pattern =
            Pattern::parse(source).map_err(|why| field.bad_pattern("content_args/tag_pattern", &why))?;
        self.parameters(field, &pattern)?;
        self.values(field)?;
        if field.is_set("merge_duplicates")? {
            let remark = "The template collects a repeated key in a list; here a repeated key is rejected.";
            self.param_remarks.push(remark.to_owned());
        }
        self.call =
            openers(field, transform)?.iter().map(|opener| format!("{opener}{{params}}{closer}")).collect();
        Ok(())
    }

    /// The templates of a parameter: one for each way it can open, with the spellings of its closer in `also`.
    fn parameters(&mut self, field: &Field<'_>, pattern: &Pattern) -> Result<(), ImportError> {
        const KEY: &str = "content_args/tag_pattern";
        let slot = |group: &str| match group {
            "key" => Some("key"),
            "value" => Some("value"),
            _ => None,
        };
        let mut closer: Option<String> = None;
        let mut others: Vec<String> = Vec::new();
        for pieces in &pattern.alternatives {
            let is_value = |piece: &PatternPiece| *piece == PatternPiece::Capture("value".to_owned());
            let Some(at) = pieces.iter().position(is_value) else {
                return Err(field.bad_pattern(KEY, "no group `value` takes the value"));
            };
            if !pieces[..at].contains(&PatternPiece::Capture("key".to_owned())) {
                return Err(field.bad_pattern(KEY, "no group `key` stands before the value"));
            }
            if pieces[at + 1..].iter().any(is_value) {
                return Err(field.bad_pattern(KEY, "the value stands twice"));
            }
            let drops = |side: Option<&PatternPiece>| side == Some(&PatternPiece::Space);
            let sides = (drops(at.checked_sub(1).and_then(|at| pieces.get(at))), drops(pieces.get(at + 1)));
            if sides.0 != sides.1 {
                let why = "white space is dropped on one side of the value only";
                return Err(field.bad_pattern(KEY, why));
            }
            self.trim |= sides.0;
            let write = |pieces| written(pieces, slot).map_err(|why| field.bad_pattern(KEY, &why));
            let (head, tail) = (write(&pieces[..at])?, write(&pieces[at + 1..])?);
            let mark = tail.trim().to_owned();
            match &closer {
                None if mark.is_empty() => {
                    return Err(field.bad_pattern(KEY, "nothing visible closes the value"));
                }
                None => closer = Some(mark),
                Some(first) if *first == mark || others.contains(&mark) => {}
                Some(_) => others.push(mark),
            }
            // Heads that differ in white space alone are one: layout is optional when it is read.
            let same =
                |known: &String| known.split("{value}").next().map(str::trim_end) == Some(head.trim_end());
            if !self.param.iter().any(same) {
                self.param.push(format!("{head}{{value}}{}", tail.trim_end()));
            }
        }
        if let Some(closer) = closer
            && !others.is_empty()
        {
            self.also.push(std::iter::once(closer).chain(others).collect());
        }
        Ok(())
    }

    /// What the template says about values: a dialect leaves their type to the schema.
    fn values(&mut self, field: &Field<'_>) -> Result<(), ImportError> {
        let place = format!("{}/content_args/value_parser", field.place);
        let parser = match field.arg("value_parser") {
            None => None,
            Some(Value::Object(parser)) => Some(parser),
            Some(other) => return Err(wrong_type(&place, other, "an object with `name` and `args`")),
        };
        let name = parser.and_then(|parser| parser.get("name"));
        match name.map_or(Some("text"), Value::as_str) {
            Some("text" | "json" | "int" | "float" | "bool") => {}
            _ => {
                let message = "values that hold tags or lines of their own cannot be read";
                let help = "Use `text` or `json`; the tool's schema gives the type.";
                return Err(ImportError::new("content", place, message, help));
            }
        }
        let strips = parser.and_then(|parser| parser.get("args")).and_then(|args| args.get("strip"));
        self.trim |= parser.is_some() && strips != Some(&Value::Bool(false));
        let remark = "The type of each value is what the tool's schema says; the template does not know it.";
        self.param_remarks.push(remark.to_owned());
        Ok(())
    }
}

/// The templates of the opener, with placeholders for its groups.
fn openers(field: &Field<'_>, transform: Option<&Transform>) -> Result<Vec<String>, ImportError> {
    let Some(open) = &field.open else { return Ok(vec![String::new()]) };
    let is = |path: Option<&Vec<String>>, group: &str| {
        path.is_some_and(|path| path.len() == 1 && path.first().is_some_and(|step| step == group))
    };
    let slot = |group: &str| {
        let transform = transform?;
        Some(match group {
            _ if is(Some(&transform.name), group) => "name",
            _ if is(transform.id.as_ref(), group) => "id",
            // What the call is not made of is read as a word that means nothing.
            _ => "index",
        })
    };
    let mut openers: Vec<String> = Vec::new();
    for pieces in &open.alternatives {
        let opener = written(pieces, slot).map_err(|why| field.bad_pattern("open_pattern", &why))?;
        if opener.matches("{index}").count() > 1 {
            let why = "more than one of its groups says nothing about the call";
            return Err(field.bad_pattern("open_pattern", why));
        }
        if !openers.contains(&opener) {
            openers.push(opener);
        }
    }
    if let Some(Transform { name, .. }) = transform
        && is_group(field, name)
    {
        let group = PatternPiece::Capture(name.concat());
        if open.alternatives.iter().any(|pieces| !pieces.contains(&group)) {
            return Err(field.bad_pattern("open_pattern", "the name may be missing from it"));
        }
    }
    Ok(openers)
}

/// Whether a path is a group of the opener that takes text.
fn is_group(field: &Field<'_>, path: &[String]) -> bool {
    match (path, &field.open) {
        ([group], Some(open)) => open.captures().contains(group.as_str()),
        _ => false,
    }
}

/// Whether a group of the opener takes fixed words.
fn is_fixed(field: &Field<'_>, group: &str) -> bool {
    field.open.as_ref().is_some_and(|open| open.fixed.contains(group))
}

/// The members of the object; the first `skipped` steps of each path lead to it.
fn shape(field: &Field<'_>, transform: &Transform, skipped: usize) -> Result<String, ImportError> {
    let parts = [
        (transform.id.as_ref(), "\"{id}\""),
        (Some(&transform.name), "\"{name}\""),
        (Some(&transform.arguments), "{arguments}"),
    ];
    // A member, or an object of members: deeper shapes do not occur, and are rejected.
    let mut members: Vec<(String, Vec<String>)> = Vec::new();
    for (path, placeholder) in parts.into_iter().filter_map(|(path, word)| Some((path?, word))) {
        let in_content = skipped == 0 || path.first().is_some_and(|step| step == "content");
        match path.get(skipped..) {
            Some([key]) if in_content => {
                members.push((String::new(), vec![format!("\"{key}\": {placeholder}")]))
            }
            Some([outer, key]) if in_content => {
                let member = format!("\"{key}\": {placeholder}");
                match members.iter_mut().find(|(known, _)| known == outer) {
                    Some((_, inner)) => inner.push(member),
                    None => members.push((outer.clone(), vec![member])),
                }
            }
            _ => {
                let message = format!("`{{{}}}` is no member of the call's object", path.join("."));
                let help = "Take name, arguments and id from the object, at most two levels deep.";
                return Err(field.reject("transform", "transform", &message, help));
            }
        }
    }
    let written: Vec<String> = members
        .into_iter()
        .map(|(outer, inner)| match outer.as_str() {
            "" => inner.join(", "),
            outer => format!("\"{outer}\": {{{}}}", inner.join(", ")),
        })
        .collect();
    Ok(format!("{{{}}}", written.join(", ")))
}
