//! `callgate dialects`: the formats in which models write calls, as a table, as data, and tried on a sample.

use std::io::Write;
use std::path::Path;

use callgate::Record;
use callgate::dialect::{self, RenderCall, Slot, Template};
use callgate::json::Syntax;
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
        let all: Vec<Value> = dialect::builtin().iter().map(summary).collect();
        writeln!(out, "{}", paint.json(&format!("{:#}", Value::Array(all))))?;
        return Ok(Outcome::Fine);
    }
    let row = |name: &str, family: &str, auto: &str, opener: &str, models: &str| {
        let line = format!("{}{}{}", padded(family, 8), padded(auto, 6), padded(opener, 42));
        (padded(name, 24), line, models.to_owned())
    };
    let (name, middle, models) = row("dialect", "family", "auto", "opener", "models");
    writeln!(out, "{}", paint.tone(Tone::Strong, format!("{name}{middle}{models}")))?;
    let room = paint.columns().saturating_sub(24 + 8 + 6 + 42).clamp(12, 60);
    for record in dialect::builtin() {
        let auto = if record.auto { "yes" } else { "-" };
        let opener = one_line(&first_opener(record), 40);
        let models = one_line(&record.models.join(", "), room);
        let (name, middle, models) = row(&record.name, &record.family.to_string(), auto, &opener, &models);
        writeln!(out, "{}{middle}{}", paint.tone(Tone::Accent, name), paint.tone(Tone::Grey, models))?;
    }
    writeln!(
        out,
        "\n{} dialects. `auto` listens without being named; `callgate dialects show NAME` explains one.",
        dialect::builtin().len()
    )?;
    Ok(Outcome::Fine)
}

fn summary(record: &Record) -> Value {
    json!({
        "name": &*record.name,
        "family": record.family.to_string(),
        "auto": record.auto,
        "opener": first_opener(record),
        "models": record.models,
    })
}

/// What a reader recognises the dialect by: the text up to the first slot, or the first slot itself.
fn first_opener(record: &Record) -> String {
    let openers = record.openers();
    let Some(opener) = openers.first() else { return String::new() };
    match opener.head().trim() {
        "" => opener.to_string(),
        head => head.to_owned(),
    }
}

fn show(record: &Record, as_json: bool, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let example = example(record);
    if as_json {
        let mut object = summary(record);
        object["source"] = json!(record.source);
        object["notes"] = json!(record.notes);
        object["example"] = json!(example);
        object["record"] = keys(record).into_iter().map(|key| (key.name.to_owned(), key.value)).collect();
        writeln!(out, "{}", paint.json(&format!("{object:#}")))?;
        return Ok(Outcome::Fine);
    }
    for remark in [&record.source, &record.notes].into_iter().filter(|remark| !remark.is_empty()) {
        for line in visible(remark.trim(), Breaks::Keep).lines() {
            writeln!(out, "{}", paint.tone(Tone::Grey, format!("# {line}")))?;
        }
    }
    writeln!(out, "{}", paint.tone(Tone::Strong, format!("[{}]", record.name)))?;
    for key in keys(record) {
        writeln!(out, "{}", paint.tone(Tone::Grey, format!("# {}", key.meaning)))?;
        let value = key.value.to_string();
        writeln!(out, "{} = {}", paint.tone(Tone::Accent, key.name), visible(&value, Breaks::Show))?;
    }
    if let Some(example) = example {
        writeln!(out, "\n{}", paint.tone(Tone::Grey, "# A call written in it:"))?;
        writeln!(out, "{}", visible(&example, Breaks::Keep))?;
    }
    Ok(Outcome::Fine)
}

/// A call of a tool that everybody can imagine.
pub(crate) fn example(record: &Record) -> Option<String> {
    let call = RenderCall { id: None, name: "get_weather", arguments: r#"{"city": "Oslo", "days": 3}"# };
    let with_id = RenderCall { id: Some("call_1"), ..call };
    record.render(&[call], None, None).or_else(|_| record.render(&[with_id], None, None)).ok()
}

struct Key {
    name: &'static str,
    meaning: &'static str,
    value: Value,
}

/// The keys of the record that say something, as in its file. A JSON string or list of strings is TOML as well.
fn keys(record: &Record) -> Vec<Key> {
    let list = |templates: &[&Template]| match templates {
        [one] => json!(one.to_string()),
        many => many.iter().map(|template| json!(template.to_string())).collect(),
    };
    let shapes =
        |shapes: &[dialect::Shape]| list(&shapes.iter().map(|shape| &shape.template).collect::<Vec<_>>());
    let written = record.templates();
    let templates = |key: &str| {
        written.iter().find(|(own, _)| *own == key).map_or(Value::Null, |(_, templates)| list(templates))
    };
    let writes_objects = record.call.iter().any(|call| call.has(Slot::Object));
    let object = if writes_objects { shapes(&record.object) } else { Value::Null };
    let syntax = match record.syntax {
        Syntax::Json => "json",
        Syntax::Python => "python",
        Syntax::Kwargs => "kwargs",
        Syntax::Bare => "bare",
        Syntax::Lines => "lines",
    };
    let escape: Vec<&str> = record.escape.iter().map(|slot: &Slot| slot.word()).collect();
    let also: Vec<Vec<&str>> = record
        .also
        .iter()
        .map(|(literal, others)| std::iter::once(literal).chain(others).map(String::as_str).collect())
        .collect();
    let types: Value = record.types.iter().map(|(name, spelling)| (name.clone(), json!(spelling))).collect();
    let all = [
        ("models", "models that write it", json!(record.models)),
        ("auto", "whether it listens without being asked for", json!(record.auto)),
        ("prompt", "what the prompt always ends with", json!(record.prompt)),
        ("open", "what opens a section of calls", templates("open")),
        ("call", "one call; the first form is written, all are read", templates("call")),
        ("join", "what stands between two calls", templates("join")),
        ("close", "what closes a section of calls", templates("close")),
        ("before", "the white space between text and the first call", json!(record.before)),
        ("object", "the members of {object}, in any order", object),
        ("error", "how the model reports an error", shapes(&record.error)),
        ("param", "one parameter of {params}", templates("param")),
        ("item", "one element of a list", templates("item")),
        ("types", "how {type} is spelled", types),
        ("syntax", "how {arguments} is written", json!(syntax)),
        ("quote", "the private string delimiter", json!(record.quote.as_deref())),
        ("code_tool", "the tool that {code} is for", json!(&*record.code_tool)),
        ("trim", "white space around {value} is dropped", json!(record.trim)),
        ("escape", "placeholders whose text is XML-escaped", json!(escape)),
        ("suffix", "what {suffix} is written as", json!(record.suffix)),
        ("known", "only names of the tool list open a call", json!(record.known)),
        ("also", "what else is read in place of a literal; never written", json!(also)),
        ("text", "frames of visible text", templates("text")),
        ("reasoning", "spans of reasoning", templates("reasoning")),
        ("ends_thought", "a call may end the reasoning", json!(record.ends_thought)),
        ("noise", "what is swallowed outside of calls", templates("noise")),
        ("bare", "inner openers that are unmistakable without their wrapper", json!(record.bare)),
    ];
    // A key that holds nothing, or what is so by default, would not stand in the file.
    let is_default = |name: &str, value: &Value| match value {
        Value::Null => true,
        Value::Bool(set) => *set == (name == "auto"),
        Value::String(text) => text.is_empty() || (name, text.as_str()) == ("syntax", "json"),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Number(_) => false,
    };
    all.into_iter()
        .filter(|(name, _, value)| !is_default(name, value))
        .map(|(name, meaning, value)| Key { name, meaning, value })
        .collect()
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
