//! `callgate dialects`: the formats in which models write calls, as a table, as data, and tried on a sample.

use std::io::Write;
use std::path::Path;

use callgate::internal::dialect::{self, Slot};
use callgate::{Record, RenderCall};
use serde_json::{Value, json};

use crate::args::{DialectsAction, DialectsArgs};
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::lines;
use crate::paint::{Breaks, Paint, Tone, one_line, padded, visible};
use crate::trial;

pub(crate) fn run(args: &DialectsArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    match &args.action {
        None | Some(DialectsAction::List) => list(args.json, paint, out),
        Some(DialectsAction::Show { name }) => show(input::dialect(name)?, args.json, paint, out),
        Some(DialectsAction::Test { file, sample, tools }) => {
            trial::run(file, sample.as_deref(), tools.as_deref(), paint, out)
        }
        Some(DialectsAction::Import { file, name, output }) => {
            import(file, name, output.as_deref(), paint, out)
        }
    }
}

fn list(as_json: bool, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    if as_json {
        let all: Vec<Value> = Record::builtin().iter().map(summary).collect();
        writeln!(out, "{}", paint.json(&format!("{:#}", Value::Array(all))))?;
        return Ok(Outcome::Fine);
    }
    let row = |name: &str, family: &str, listens: &str, opener: &str, models: &str| {
        let line = format!("{}{}{}", padded(family, 8), padded(listens, 9), padded(opener, 42));
        (padded(name, 24), line, models.to_owned())
    };
    let (name, middle, models) = row("dialect", "family", "listens", "opener", "models");
    writeln!(out, "{}", paint.tone(Tone::Strong, format!("{name}{middle}{models}")))?;
    let room = paint.columns().saturating_sub(24 + 8 + 9 + 42).clamp(12, 60);
    for record in Record::builtin() {
        let openers = record.heads();
        let shown = openers.iter().find(|(_, listens)| *listens).or(openers.first());
        let opener = shown.map_or_else(String::new, |(opener, _)| one_line(opener, 40));
        let models = one_line(&record.models.join(", "), room);
        let listens = listens(&openers);
        let (name, middle, models) = row(&record.name, &record.family.to_string(), listens, &opener, &models);
        writeln!(out, "{}{middle}{}", paint.tone(Tone::Accent, name), paint.tone(Tone::Grey, models))?;
    }
    writeln!(
        out,
        "\n{} dialects. `listens`: whether its openers are heard without being named: yes, some of them (the one that is \
         shown), or by name only. `callgate dialects show NAME` explains one, `callgate detect FILE` finds the right one.",
        Record::builtin().len()
    )?;
    Ok(Outcome::Fine)
}

/// How a dialect is heard by default.
fn listens(openers: &[(String, bool)]) -> &'static str {
    match openers.iter().filter(|(_, listens)| *listens).count() {
        0 => "by name",
        count if count == openers.len() => "yes",
        _ => "some",
    }
}

fn summary(record: &Record) -> Value {
    json!({
        "name": &*record.name,
        "family": record.family.to_string(),
        "auto": record.auto,
        "listens": listens(&record.heads()),
        "openers": record.heads().iter().map(|(opener, listens)| json!({"opener": opener, "listens": listens})).collect::<Vec<_>>(),
        "models": record.models,
    })
}

fn show(record: &Record, as_json: bool, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let example = example(record);
    if as_json {
        let mut object = summary(record);
        object["source"] = json!(record.source);
        object["notes"] = json!(record.notes);
        object["example"] = json!(example);
        object["record"] =
            keys(record).into_iter().map(|(name, _, value)| (name.to_owned(), value)).collect();
        writeln!(out, "{}", paint.json(&format!("{object:#}")))?;
        return Ok(Outcome::Fine);
    }
    for remark in [&record.source, &record.notes].into_iter().filter(|remark| !remark.is_empty()) {
        for line in visible(remark.trim(), Breaks::Keep).lines() {
            writeln!(out, "{}", paint.tone(Tone::Grey, format!("# {line}")))?;
        }
    }
    writeln!(out, "{}", paint.tone(Tone::Strong, format!("[{}]", record.name)))?;
    for (name, meaning, value) in keys(record) {
        writeln!(out, "{}", paint.tone(Tone::Grey, format!("# {meaning}")))?;
        writeln!(out, "{} = {}", paint.tone(Tone::Accent, name), visible(&toml(&value), Breaks::Show))?;
    }
    let is_said = keys(record).iter().any(|(name, ..)| *name == "object");
    if record.call.iter().any(|call| call.has(Slot::Object)) && !is_said {
        for shape in &record.object {
            let remark = format!("# {{object}} is {}, in any order", shape.template);
            writeln!(out, "{}", paint.tone(Tone::Grey, visible(&remark, Breaks::Show)))?;
        }
    }
    if let Some(example) = example {
        writeln!(out, "\n{}", paint.tone(Tone::Grey, "# A call written in it:"))?;
        writeln!(out, "{}", visible(&example, Breaks::Keep))?;
    }
    Ok(Outcome::Fine)
}

/// A value as it stands in a file. JSON strings, lists and words are TOML as well; only tables are written otherwise.
fn toml(value: &Value) -> String {
    let Value::Object(members) = value else { return value.to_string() };
    let rows: Vec<String> = members.iter().map(|(key, value)| format!("{key:?} = {value}")).collect();
    format!("{{ {} }}", rows.join(", "))
}

/// A call of a tool that everybody can imagine.
pub(crate) fn example(record: &Record) -> Option<String> {
    let call = RenderCall { id: None, name: "get_weather", arguments: r#"{"city": "Oslo", "days": 3}"# };
    let with_id = RenderCall { id: Some("call_1"), ..call };
    record.render(&[call], None, None).or_else(|_| record.render(&[with_id], None, None)).ok()
}

/// What the keys of a record mean, in the order in which they are shown. What a dialect is and comes from stands apart.
const MEANINGS: &[(&str, &str)] = &[
    ("models", "models that write it"),
    ("auto", "whether it listens without being asked for"),
    ("prompt", "what the prompt always ends with"),
    ("open", "what opens a section of calls"),
    ("call", "one call; the first form is written, all are read"),
    ("join", "what stands between two calls"),
    ("close", "what closes a section of calls"),
    ("before", "the white space between text and the first call"),
    ("lines", "openers stand at the start of a line"),
    ("object", "the members of {object}, in any order"),
    ("error", "how the model reports an error"),
    ("param", "one parameter of {params}"),
    ("item", "one element of a list"),
    ("types", "how {type} is spelled"),
    ("syntax", "how {arguments} is written"),
    ("quote", "the private string delimiter"),
    ("trim", "white space around {value} is dropped"),
    ("escape", "placeholders whose text is XML-escaped"),
    ("suffix", "what {suffix} is written as"),
    ("known", "only names of the tool list open a call"),
    ("also", "what else is read in place of a literal; never written"),
    ("text", "frames of visible text"),
    ("reasoning", "spans of reasoning"),
    ("ends_thought", "a call may end the reasoning"),
    ("noise", "what is swallowed outside of calls"),
    ("bare", "inner openers that are unmistakable without their wrapper"),
];

/// The keys of the record with what they mean.
fn keys(record: &Record) -> Vec<(&'static str, &'static str, Value)> {
    let mut keys = record.keys();
    let take = |(name, meaning): &(&'static str, &'static str)| {
        let at = keys.iter().position(|(key, _)| key == name)?;
        Some((*name, *meaning, keys.swap_remove(at).1))
    };
    MEANINGS.iter().filter_map(take).collect()
}

fn import(
    file: &Path,
    name: &str,
    output: Option<&Path>,
    paint: Paint,
    out: &mut dyn Write,
) -> Result<Outcome, Stop> {
    let json = input::read_text(file, "a tokenizer_config.json")?;
    let dialect = dialect::import(&json, name)
        .map_err(|error| Stop::usage(format!("{}: {error}", input::name_of(file)), ""))?;
    match output {
        Some(path) => lines::create(path, &[file])?.write_all(dialect.as_bytes())?,
        None => write!(out, "{}", paint.raw_or_visible(&dialect))?,
    }
    Ok(Outcome::Fine)
}
