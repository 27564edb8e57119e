//! The `callgate` command: which command runs, and how the process ends. A library, so that the Python wheel has it too.

// What only `chat` needs is there without it, too.
#![cfg_attr(not(feature = "chat"), allow(dead_code))]

mod answer;
mod args;
mod audit;
#[cfg(feature = "chat")]
mod chat;
#[cfg(feature = "chat")]
mod chat_view;
mod config;
mod demo;
mod detect;
mod dialects;
mod exit;
mod explain;
mod input;
mod json_text;
mod lines;
mod paint;
mod parse;
mod pipeline;
mod progress;
mod prompt;
mod render;
mod repair;
mod replay;
mod scan;
mod scan_report;
#[cfg(feature = "gateway")]
mod serve;
#[cfg(feature = "gateway")]
mod serve_lines;
#[cfg(feature = "gateway")]
mod serve_log;
mod session;
mod source;
mod trial;
mod trust;
mod unified;
mod unpack;
#[cfg(feature = "gateway")]
mod verify;
#[cfg(feature = "gateway")]
mod verify_page;
mod view;
mod whole;
#[cfg(not(feature = "chat"))]
mod without_chat;
#[cfg(not(feature = "gateway"))]
mod without_gateway;
mod write_back;

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use args::{Cli, Command, ConfigAction};
use exit::{Outcome, Stop};
use paint::{Breaks, Paint, visible};
#[cfg(not(feature = "chat"))]
use without_chat::chat;
#[cfg(not(feature = "gateway"))]
use without_gateway::{serve, verify};

/// Runs the command with these words, the name of the program first, and gives the code that the process should end with. It
/// belongs to a process of its own: it takes the standard streams, the signals and the hook of panics.
pub fn main(words: impl IntoIterator<Item = OsString>) -> u8 {
    let words: Vec<OsString> = words.into_iter().collect();
    // A panic is a fault of this program; whoever meets it needs one line to report, not a backtrace.
    std::panic::set_hook(Box::new(|_| {}));
    let result = std::panic::catch_unwind(|| run(&words))
        .unwrap_or_else(|panic| Err(Stop::Internal(exit::panic_message(&*panic))));
    if let Err(stop) = &result
        && !stop.is_closed_pipe()
    {
        // File names and messages may quote hostile text. If standard error is closed, the exit code still tells.
        for line in stop.lines() {
            let _ = writeln!(io::stderr(), "callgate: {}", visible(&line, Breaks::Show));
        }
    }
    exit::code(&result)
}

fn run(words: &[OsString]) -> Result<Outcome, Stop> {
    let cli = match Cli::try_parse_from(words) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, words),
    };
    let paint = Paint::for_stdout(cli.color);
    if let Command::Chat(args) = &cli.command {
        // `chat` prints from several threads, so standard output must not be locked here.
        return chat::run(args, paint);
    }
    if let Command::Serve(args) = &cli.command {
        // It runs until it is stopped, and nothing may wait in a buffer until then.
        return serve::run(args, paint);
    }
    let mut stdout = BufWriter::new(io::stdout().lock());
    let out = &mut stdout;
    let outcome = match &cli.command {
        Command::Demo => demo::run(paint, out),
        Command::Parse(args) => parse::run(args, paint, out),
        Command::Scan(args) => scan::run(args, paint, out),
        Command::Session(args) => session::run(args, out),
        Command::Detect(args) => detect::run(args, paint, out),
        Command::Repair(args) => repair::run(args, paint, out),
        Command::Dialects(args) => dialects::run(args, paint, out),
        Command::Render(args) => render::run(args, paint, out),
        Command::Prompt(args) => prompt::run(args, paint, out),
        Command::Explain(args) => explain::run(args.code.as_deref(), paint, out),
        Command::Chat(_) | Command::Serve(_) => Ok(Outcome::Fine),
        Command::Verify(args) => verify::run(args, paint, out),
        Command::Audit(args) => audit::run(args, paint, out),
        Command::Config(args) => match &args.action {
            ConfigAction::Show(args) => config::show(args, paint, out),
            ConfigAction::Init(args) => config::init(args, out),
        },
        Command::Trust(args) => trust::run(args, paint, out),
        Command::Completions(args) => {
            // The generator panics on a closed pipe, so it writes into memory.
            let mut script = Vec::new();
            clap_complete::generate(args.shell, &mut Cli::command(), "callgate", &mut script);
            out.write_all(&script)?;
            Ok(Outcome::Fine)
        }
    }?;
    out.flush()?;
    Ok(outcome)
}

/// Help and version go to standard output; a wrong command line becomes one line with a way out.
fn usage(error: &clap::Error, words: &[OsString]) -> Result<Outcome, Stop> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            error.print()?;
            return Ok(Outcome::Fine);
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            return Err(Stop::usage("a command is missing", "start with `callgate demo`"));
        }
        _ => {}
    }
    let text = error.render().to_string();
    let (head, rest) = text.split_once("\n\n").unwrap_or((&text, ""));
    let message = head.trim_start_matches("error: ").split_whitespace().collect::<Vec<_>>().join(" ");
    let lines = || rest.lines().map(str::trim);
    let help = match lines().find_map(|line| line.strip_prefix("tip: ")) {
        Some(tip) => tip.to_owned(),
        None => {
            // A value that is no good is said without the usage of its command, which the words name.
            let command = words.get(1).and_then(|word| word.to_str());
            let command = command.filter(|word| Cli::command().find_subcommand(word).is_some());
            let named = command.map_or_else(|| "callgate".to_owned(), |word| format!("callgate {word}"));
            let usage = lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or(&named);
            let is_command = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
            let command = usage.split(' ').take_while(is_command).collect::<Vec<_>>().join(" ");
            format!("see `{command} --help`")
        }
    };
    Err(Stop::usage(message, help))
}
