//! `callgate verify`: which promises about tool calls an endpoint keeps, whoever serves it.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use callgate_agent::model::Address;
use callgate_gateway::verify::{
    Baseline, Change, Compared, EndpointApi, FIRST_ARGUMENT, Inquiry, Report, Task, meaning, verify,
};
use serde::Serialize;

use crate::args::{ApiKind, VerifyArgs};
use crate::exit::{Outcome, Stop};
use crate::paint::{Breaks, Paint, Tone, padded, visible};
use crate::{input, lines, verify_page};

pub(crate) fn run(args: &VerifyArgs, paint: Paint, out: &mut impl Write) -> Result<Outcome, Stop> {
    let endpoint = Address::parse(&args.endpoint)
        .map_err(|why| Stop::usage(format!("--endpoint: {why}"), "as in http://localhost:8080"))?;
    let key = match &args.key_env {
        None => None,
        Some(name) => Some(std::env::var(name).map_err(|_| {
            Stop::usage(format!("--key-env: the variable {name} is not set"), "set it, or leave the flag out")
        })?),
    };
    let api = match args.api {
        ApiKind::Chat => EndpointApi::Chat,
        ApiKind::Responses => EndpointApi::Responses,
        ApiKind::Messages => EndpointApi::Messages,
        ApiKind::Ollama => EndpointApi::Ollama,
    };
    // Whatever can be wrong with a file is found before anybody is asked.
    let inquiry = Inquiry {
        endpoint,
        api,
        model: args.model.clone(),
        key,
        tasks: tasks(args)?,
        times: args.times,
        patience: Duration::from_secs(args.patience),
    };
    let baseline = args.baseline.as_deref().map(baseline).transpose()?;
    let page = args.report.as_deref().filter(|path| path.as_os_str() != "-");
    let read = [&args.requests, &args.tools, &args.baseline].into_iter().flatten();
    let read: Vec<&Path> = read.map(std::path::PathBuf::as_path).collect();
    let page = page.map(|path| lines::create(path, &read)).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::Internal(format!("no runtime: {error}")))?;
    let report = runtime.block_on(verify(&inquiry)).map_err(Stop::Internal)?;
    let then = baseline.as_ref().map(|baseline| Then::new(baseline, &report));
    if args.json {
        let baseline = then.as_ref().map(|then| OnBaseline {
            endpoint: &then.baseline.endpoint,
            model: &then.baseline.model,
            other_tasks: then.is_about_other_tasks,
            compared: &then.compared,
        });
        let text = serde_json::to_string(&Printed { report: &report, baseline });
        writeln!(out, "{}", text.map_err(|error| Stop::Internal(error.to_string()))?)?;
    } else {
        table(&report, then.as_ref(), paint, out)?;
    }
    if let Some(mut file) = page {
        file.write_all(verify_page::page(&report, then.as_ref()).as_bytes())?;
    }
    let failed = match &then {
        Some(then) => Baseline::is_worse(&then.compared),
        None => report.scores.iter().any(|score| score.held < score.of),
    };
    Ok(Outcome::rejected_if(failed))
}

/// The report as `--json` prints it.
#[derive(Serialize)]
struct Printed<'a> {
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline: Option<OnBaseline<'a>>,
}

/// What it says about an earlier one.
#[derive(Serialize)]
struct OnBaseline<'a> {
    endpoint: &'a str,
    model: &'a str,
    other_tasks: bool,
    compared: &'a [Compared],
}

/// An earlier report, beside this one.
pub(crate) struct Then<'a> {
    pub(crate) baseline: &'a Baseline,
    pub(crate) compared: Vec<Compared>,
    pub(crate) is_about_other_tasks: bool,
}

impl<'a> Then<'a> {
    fn new(baseline: &'a Baseline, report: &Report) -> Self {
        let is_about_other_tasks = baseline.is_about_other_tasks(report);
        Then { baseline, compared: baseline.compare(report), is_about_other_tasks }
    }

    /// What became of a measure.
    pub(crate) fn of(&self, measure: &str) -> Option<&Compared> {
        self.compared.iter().find(|compared| compared.measure == measure)
    }

    pub(crate) fn count(&self, change: Change) -> usize {
        self.compared.iter().filter(|compared| compared.change == change).count()
    }
}

/// What is asked.
fn tasks(args: &VerifyArgs) -> Result<Vec<Task>, Stop> {
    let Some(path) = &args.requests else {
        return Task::built_in().map_err(|fault| Stop::Internal(fault.message));
    };
    let tools = args.tools.as_deref().map(input::tools).transpose()?;
    let text = input::read_text(path, "tasks in JSON, or one per line")?;
    Task::read_all(&text, tools.as_ref()).map_err(|fault| {
        let place = format!("{}:{}", input::name_of(path), fault.line);
        Stop::usage(format!("{place}: {}", visible(&fault.message, Breaks::Show)), fault.help)
    })
}

fn baseline(path: &Path) -> Result<Baseline, Stop> {
    let text = input::read_text(path, "what `callgate verify --json` printed")?;
    Baseline::read(&text).map_err(|error| {
        let place = format!("{}:{}:{}", input::name_of(path), error.line(), error.column());
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default();
        Stop::usage(
            format!("{place}: this is no report of `callgate verify --json`: {what}"),
            "write one with --json > other.json",
        )
    })
}

fn table(report: &Report, then: Option<&Then<'_>>, paint: Paint, out: &mut impl Write) -> Result<(), Stop> {
    writeln!(out, "{} at {}", visible(&report.model, Breaks::Show), report.endpoint)?;
    if let Some(then) = then {
        let model = visible(&then.baseline.model, Breaks::Show);
        let endpoint = visible(&then.baseline.endpoint, Breaks::Show);
        writeln!(out, "{}", paint.tone(Tone::Dim, format!("beside {model} at {endpoint}")))?;
        if then.is_about_other_tasks {
            writeln!(out, "{}", paint.tone(Tone::Changed, "the baseline is about other tasks"))?;
        }
    }
    writeln!(out)?;
    for score in &report.scores {
        let (tone, held) = match score.of {
            0 => (Tone::Dim, "-".to_owned()),
            of if score.held == of => (Tone::Good, format!("{of} of {of}")),
            of => (Tone::Bad, format!("{} of {of}", score.held)),
        };
        let name = padded(score.measure, 16);
        let change = changed(then, score.measure, |(held, of)| format!("{held} of {of}"), paint);
        let about = meaning(score.measure);
        writeln!(out, "{name}  {}  {change}{about}", paint.tone(tone, padded(&held, 9)))?;
        for failure in &score.failures {
            writeln!(out, "{}  {}", padded("", 16), paint.tone(Tone::Dim, visible(failure, Breaks::Show)))?;
        }
    }
    if let Some(waits) = report.first_argument {
        let change = changed(then, FIRST_ARGUMENT, |(time, _)| format!("{time} ms"), paint);
        let said =
            format!("{} ms (median of {}, at most {} ms)", waits.median_ms, waits.of, waits.longest_ms);
        writeln!(out, "\nThe first argument of a streamed call comes after {said}.")?;
        if !change.is_empty() {
            writeln!(out, "{}  {change}", padded(FIRST_ARGUMENT, 16))?;
        }
    }
    if let Some(then) = then {
        let said = [Change::Better, Change::Worse, Change::Same]
            .map(|change| format!("{} {}", then.count(change), change.word()));
        writeln!(out, "\n{}", said.join(", "))?;
    }
    Ok(())
}

/// What a measure was before, and what became of it, as a column.
fn changed(
    then: Option<&Then<'_>>,
    measure: &str,
    shown: impl Fn((u64, u64)) -> String,
    paint: Paint,
) -> String {
    let Some(then) = then else { return String::new() };
    let Some(compared) = then.of(measure) else { return padded("", 30) };
    let was = compared.was.map_or_else(|| "-".to_owned(), shown);
    let tone = match compared.change {
        Change::Better => Tone::Good,
        Change::Worse => Tone::Bad,
        Change::Same | Change::Unknown => Tone::Dim,
    };
    let change = paint.tone(tone, padded(compared.change.word(), 12));
    format!("{}{change}  ", padded(&format!("was {was}"), 16))
}
