//! `callgate serve`: the gateway, from the command line.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use callgate_gateway::config::{
    CallsBy, LogFormat, LogLevel, ModelSettings, RecordSettings, ReleaseAt, TraceSettings, UpstreamSettings,
};
use callgate_gateway::{Found, Gateway, Settings, SettingsError, probe};

use crate::args::{LogForm, LogWorth, ServeArgs, Way};
use crate::exit::{Outcome, Stop};
use crate::input;
use crate::paint::{Breaks, Paint, Tone, visible};
use crate::serve_lines::Lines;
use crate::serve_log::ServeLog;

/// How long open answers may go on after the end was asked for.
const GRACE: Duration = Duration::from_secs(30);

/// How many models are shown with how they come by their tools.
const SHOWN: usize = 20;

/// How long the start may wait for that in all.
const PROBING: Duration = Duration::from_secs(6);

/// How often a file of settings is looked at.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &ServeArgs, paint: Paint) -> Result<Outcome, Stop> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Stop::Internal(format!("no runtime: {error}")))?;
    let log = ServeLog::begin().map_err(|error| Stop::Internal(format!("no thread: {error}")))?;
    let log = Arc::new(log);
    let outcome = runtime.block_on(serve(args, paint, &log));
    runtime.shutdown_timeout(Duration::from_secs(1));
    log.end();
    outcome
}

async fn serve(args: &ServeArgs, paint: Paint, log: &Arc<ServeLog>) -> Result<Outcome, Stop> {
    let gateway = match &args.config {
        Some(path) => Gateway::from_file(path.clone()).await,
        None => Gateway::new(settings(args)?).await,
    };
    let gateway = gateway.map_err(|error| stop(&error))?;
    let to = log.clone();
    let format = args.log.map(|form| match form {
        LogForm::Text => LogFormat::Text,
        LogForm::Json => LogFormat::Json,
    });
    let level = args.log_level.map(|worth| match worth {
        LogWorth::Error => LogLevel::Error,
        LogWorth::Warn => LogLevel::Warn,
        LogWorth::Info => LogLevel::Info,
    });
    gateway.log_to(format, level, move |line| to.say(line));
    for url in &args.upstream {
        let found = probe(&upstream(args, url))
            .await
            .map_err(|why| Stop::usage(format!("{url}: {why}"), "give the address of a model's server"))?;
        let models = match found.models.len() {
            0 => "it lists no models; is it running?".to_owned(),
            1 => format!("1 model: {}", shortened(&found.models)),
            number => format!("{number} models: {}", shortened(&found.models)),
        };
        say(&format!("{url} speaks {}; {models}", found.api))?;
        if args.calls.is_none() {
            say_situations(&gateway, args, &found).await?;
        }
    }
    let serving = gateway.listen().await.map_err(|error| {
        Stop::usage(
            format!("cannot listen: {error}"),
            "is another server there? `--listen 127.0.0.1:0` takes any free port",
        )
    })?;
    let model = match &args.model {
        Some(model) => model.clone(),
        // A server that lists none may still have some.
        None => gateway.models().await.into_iter().next().unwrap_or_else(|| "MODEL".to_owned()),
    };
    let lines = Lines::new(serving.address(), &model, gateway.needs_key());
    say(&format!("callgate serves {}", paint.tone(Tone::Strong, lines.url())))?;
    say(&match args.client {
        Some(client) => lines.of_client(client),
        None => lines.curl(),
    })?;
    if let Some(path) = &args.config {
        tokio::spawn(reload(gateway, path.clone()));
    }
    serving.until(ended(), GRACE).await;
    Ok(Outcome::Fine)
}

/// Says how models come by their tools. Ollama says it of all; other servers are asked about one model, since a question to
/// each could load them all.
async fn say_situations(gateway: &Gateway, args: &ServeArgs, found: &Found) -> Result<(), Stop> {
    let named = args.model.as_ref().filter(|model| found.models.contains(model));
    let models: Vec<&String> = match named {
        Some(model) => vec![model],
        None if found.api == "ollama" => found.models.iter().take(SHOWN).collect(),
        None if found.models.len() == 1 => found.models.iter().collect(),
        None => Vec::new(),
    };
    let until = tokio::time::Instant::now() + PROBING;
    for model in models {
        let told = match tokio::time::timeout_at(until, gateway.situation(model)).await {
            Ok(Some(situation)) => format!("{}: {}", way(situation.calls), situation.why),
            _ => "not known yet; it is found out meanwhile".to_owned(),
        };
        say(&format!("  {}: {}", visible(model, Breaks::Show), visible(&told, Breaks::Show)))?;
    }
    if found.models.len() > 1 && found.api != "ollama" && named.is_none() {
        say("  how a model comes by its tools is found out when it is first asked; `--model` asks now")?;
    }
    Ok(())
}

fn way(calls: CallsBy) -> &'static str {
    match calls {
        CallsBy::Native => "structured calls",
        CallsBy::TextLlamaServer | CallsBy::TextVllm | CallsBy::TextSglang => "calls as text",
        CallsBy::Prompt => "tools in the prompt",
    }
}

/// The settings of the flags.
fn settings(args: &ServeArgs) -> Result<Settings, Stop> {
    let mut settings = Settings::default();
    settings.upstreams = args.upstream.iter().map(|url| upstream(args, url)).collect();
    if let Some(listen) = &args.listen {
        settings.listen.clone_from(listen);
    }
    if args.eager {
        settings.release = ReleaseAt::Eager;
    }
    settings.probe = !args.upstream.is_empty();
    settings.audit = args.audit.as_ref().map(RecordSettings::new);
    settings.traces = args.traces.as_ref().map(TraceSettings::at);
    if args.calls.is_some() || args.dialect.is_some() || !args.set.is_empty() {
        let mut every = ModelSettings::named("*");
        every.calls = args.calls.map(|way| match way {
            Way::Native => CallsBy::Native,
            Way::Prompt => CallsBy::Prompt,
            Way::TextLlamaServer => CallsBy::TextLlamaServer,
            Way::TextVllm => CallsBy::TextVllm,
            Way::TextSglang => CallsBy::TextSglang,
        });
        every.dialect.clone_from(&args.dialect);
        for flag in &args.set {
            every.set(flag).map_err(input::no_knob)?;
        }
        settings.models.push(every);
    }
    Ok(settings)
}

fn upstream(args: &ServeArgs, url: &str) -> UpstreamSettings {
    let mut upstream = UpstreamSettings::at(url);
    upstream.key_env.clone_from(&args.key_env);
    upstream
}

fn stop(error: &SettingsError) -> Stop {
    let place = error.path.as_ref().map_or_else(String::new, |path| format!("{}: ", path.display()));
    Stop::Faults(error.faults.iter().map(|fault| (format!("{place}{fault}"), String::new())).collect())
}

/// Reads the settings again when their file changes. What is wrong is said, and the old ones go on counting.
async fn reload(gateway: Gateway, path: std::path::PathBuf) {
    let mut last = changed(&path);
    loop {
        tokio::time::sleep(LOOK).await;
        let now = changed(&path);
        if now == last {
            continue;
        }
        last = now;
        // What is wrong stands in the log.
        let _ = gateway.reload().await;
    }
}

fn changed(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|data| data.modified()).ok()
}

/// Waits for Ctrl-C, or for what asks services to end.
async fn ended() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    if let Ok(mut asked) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = interrupted => {}
            _ = asked.recv() => {}
        }
        return;
    }
    let _ = interrupted.await;
}

fn say(text: &str) -> Result<(), Stop> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()?;
    Ok(())
}

fn shortened(models: &[String]) -> String {
    let mut shown: Vec<String> =
        models.iter().take(5).map(|model| visible(model, Breaks::Show).to_string()).collect();
    if models.len() > shown.len() {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}
