//! `callgate verify`: which promises about tool calls an endpoint keeps, whoever serves it.

use std::io::Write;
use std::time::Duration;

use callgate_agent::model::Address;
use callgate_gateway::verify::{EndpointApi, Inquiry, PROPERTIES, Report, verify};

use crate::args::{ApiKind, VerifyArgs};
use crate::exit::{Outcome, Stop};
use crate::paint::{Breaks, Paint, Tone, padded, visible};

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
    let inquiry = Inquiry {
        endpoint,
        api,
        model: args.model.clone(),
        key,
        times: args.times,
        patience: Duration::from_secs(args.patience),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::Internal(format!("no runtime: {error}")))?;
    let report = runtime.block_on(verify(&inquiry)).map_err(Stop::Internal)?;
    if args.json {
        let text = serde_json::to_string(&report).map_err(|error| Stop::Internal(error.to_string()))?;
        writeln!(out, "{text}")?;
    } else {
        table(&report, paint, out)?;
    }
    let failed = report.scores.iter().any(|(_, score)| score.held < score.of);
    Ok(Outcome::rejected_if(failed))
}

fn table(report: &Report, paint: Paint, out: &mut impl Write) -> Result<(), Stop> {
    writeln!(out, "{} at {}\n", visible(&report.model, Breaks::Show), report.endpoint)?;
    for (name, score) in &report.scores {
        let about = PROPERTIES.iter().find(|(known, _)| known == name).map_or("", |(_, about)| *about);
        let (tone, held) = match score.of {
            0 => (Tone::Dim, "-".to_owned()),
            of if score.held == of => (Tone::Good, format!("{of} of {of}")),
            of => (Tone::Bad, format!("{} of {of}", score.held)),
        };
        writeln!(out, "{}  {}  {about}", padded(name, 16), paint.tone(tone, padded(&held, 9)))?;
        for failure in &score.failures {
            writeln!(out, "{}  {}", padded("", 16), paint.tone(Tone::Dim, visible(failure, Breaks::Show)))?;
        }
    }
    if let Some(millis) = report.first_call_ms {
        writeln!(out, "\nA streamed call begins after {millis} ms (median).")?;
    }
    Ok(())
}
