//! `callgate render`: calls written in a dialect, as a model would write them.

use std::borrow::Cow;
use std::io::Write;

use callgate::RenderCall;
use callgate::internal::json::{Kind, Tape};
use serde::de::IgnoredAny;

use crate::args::RenderArgs;
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::paint::Paint;

const FORM: &str = "give {\"text\"?, \"reasoning\"?, \"calls\": [{\"name\", \"arguments\", \"id\"?}]}";

pub(crate) fn run(args: &RenderArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let chosen = input::chosen_record(args.dialect.as_deref(), args.dialect_file.as_deref())?;
    let Some(record) = chosen else {
        return Err(Stop::usage("no dialect is named", "give --dialect or --dialect-file"));
    };
    let file = input::name_of(&args.file);
    let json = input::read_text(&args.file, "a JSON object with `calls`")?;
    let message = Message::read(&json).map_err(|problem| Stop::usage(format!("{file}: {problem}"), FORM))?;
    let calls: Vec<RenderCall<'_>> = message
        .calls
        .iter()
        .map(|call| RenderCall { id: call.id.as_deref(), name: &call.name, arguments: call.arguments })
        .collect();
    let rendered =
        record.render(&calls, message.text.as_deref(), message.reasoning.as_deref()).map_err(|problem| {
            Stop::usage(format!("{file}: the dialect {} cannot say this: {problem}", record.name), "")
        })?;
    // Byte for byte what a model would write: a program that reads it gets no line break more.
    write!(out, "{}{}", paint.raw_or_visible(&rendered), if paint.is_terminal() { "\n" } else { "" })?;
    Ok(Outcome::Fine)
}

/// What is to be rendered. Arguments stay the text they are, so that numbers keep their digits.
struct Message<'a> {
    text: Option<Cow<'a, str>>,
    reasoning: Option<Cow<'a, str>>,
    calls: Vec<WrittenCall<'a>>,
}

struct WrittenCall<'a> {
    id: Option<Cow<'a, str>>,
    name: Cow<'a, str>,
    arguments: &'a str,
}

impl<'a> Message<'a> {
    fn read(json: &'a str) -> Result<Self, String> {
        serde_json::from_str::<IgnoredAny>(json).map_err(|error| error.to_string())?;
        let tape = Tape::parse(json).ok_or("this JSON is nested too deeply")?;
        let object = Members { json, tape: &tape, node: 0 };
        let mut calls = Vec::new();
        match object.member("calls") {
            None => {}
            Some(list) if tape.nodes()[list].kind == Kind::Array => {
                for (index, node) in tape.children(list).enumerate() {
                    let call = Members { json, tape: &tape, node };
                    calls.push(call.call().map_err(|problem| format!("call {}: {problem}", index + 1))?);
                }
            }
            Some(_) => return Err("`calls` is not a list".to_owned()),
        }
        Ok(Message { text: object.string("text")?, reasoning: object.string("reasoning")?, calls })
    }
}

/// One object of the input.
struct Members<'a, 't> {
    json: &'a str,
    tape: &'t Tape,
    node: usize,
}

impl<'a> Members<'a, '_> {
    fn member(&self, key: &str) -> Option<usize> {
        self.tape.member(self.json, self.node, key)
    }

    /// A string member; null is the same as absent.
    fn string(&self, key: &str) -> Result<Option<Cow<'a, str>>, String> {
        let Some(node) = self.member(key) else { return Ok(None) };
        match self.tape.nodes()[node].kind {
            Kind::Null => Ok(None),
            Kind::String => Ok(self.tape.string(self.json, node)),
            _ => Err(format!("`{key}` is not a string")),
        }
    }

    fn call(&self) -> Result<WrittenCall<'a>, String> {
        let arguments = self.member("arguments").map_or("{}", |node| self.tape.raw(self.json, node));
        if !arguments.starts_with('{') {
            return Err("`arguments` is not an object".to_owned());
        }
        let name = self.string("name")?.ok_or("`name` is missing")?;
        Ok(WrittenCall { id: self.string("id")?, name, arguments })
    }
}
