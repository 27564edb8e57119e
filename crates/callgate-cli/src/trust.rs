//! `callgate trust`: what the configuration of a folder asks for, and the user's answer to it.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use callgate_agent::config::{
    ConfigBuilder, ConfigErrorCode, ConfigErrors, FILE, FolderFile, KeyChange, Origin, Remembered,
    StateFolder, TrustAnswer, TrustStore, Wish,
};
use serde_json::{Value, json};

use crate::args::{TrustAction, TrustArgs};
use crate::config::{Sources, places, stop};
use crate::exit::{Outcome, Stop};
use crate::paint::{Breaks, Paint, Tone, columns_of, visible};

/// How many keys a rejection names.
const NAMED: usize = 4;
/// What stands before each further line of a setting.
const GUTTER: &str = "    │ ";

/// Whom a command may ask.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Asking {
    /// Whoever is at the terminal, if it is one.
    Terminal(Paint),
    #[default]
    Nobody,
}

/// What becomes of the file of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// It asks for nothing that needs a yes.
    Plain,
    /// There is a yes to it as it is.
    Agreed,
    /// There is a no to it as it is.
    LeftOut,
}

pub(crate) fn run(args: &TrustArgs, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    match args.action {
        TrustAction::List => return list(args.json, paint, out),
        TrustAction::Show => return show(args.json, paint, out),
        TrustAction::Allow | TrustAction::Deny => {}
    }
    let (file, builder) = here()?;
    let wishes = builder.wishes();
    let answer = match args.action {
        TrustAction::Allow => {
            // Allowing a file that is rejected anyway would promise something that cannot hold.
            builder.agreed().build().map_err(|errors| stop(&errors))?;
            TrustAnswer::Allow
        }
        _ => TrustAnswer::Deny,
    };
    store()?.remember(&file, answer, &wishes).map_err(|error| unusable(&error))?;
    if args.json {
        writeln!(out, "{}", json!({"path": file.path, "sha256": file.sha256, "answer": answer}))?;
        return Ok(Outcome::Fine);
    }
    let path = shown(&file.path.display().to_string());
    match answer {
        TrustAnswer::Allow => {
            writeln!(out, "{} {path} as it is now, with", paint.tone(Tone::Good, "allowed:"))?;
            wishes.iter().filter(|wish| wish.is_trusting()).try_for_each(|wish| tell(wish, paint, out))?;
        }
        TrustAnswer::Deny => {
            writeln!(out, "{} {path} is left out as it is now", paint.tone(Tone::Bad, "denied:"))?
        }
    }
    Ok(Outcome::Fine)
}

/// Decides about the file of a folder before anything is connected, started or written. `builder` holds it and everything
/// else that is given.
pub(crate) fn settle(file: &FolderFile, builder: &ConfigBuilder, asking: Asking) -> Result<Settled, Stop> {
    let remembered = match places().state {
        Some(_) => store()?.about(file).map_err(|error| unusable(&error))?,
        None => None,
    };
    let answer =
        remembered.as_ref().filter(|remembered| remembered.is_for(file)).map(|remembered| remembered.answer);
    if answer == Some(TrustAnswer::Deny) {
        // Only a remark: the user said no to this file before.
        let _ = writeln!(io::stderr(), "callgate: {FILE} is left out, as you said (`callgate trust show`)");
        return Ok(Settled::LeftOut);
    }
    // A file that is rejected whatever the user answers is not asked about.
    builder.clone().agreed().build().map_err(|errors| stop(&errors))?;
    if answer == Some(TrustAnswer::Allow) {
        return Ok(Settled::Agreed);
    }
    let wishes = builder.wishes();
    let wanted: Vec<&Wish> = wishes.iter().filter(|wish| wish.is_trusting()).collect();
    if wanted.is_empty() {
        return Ok(Settled::Plain);
    }
    let changes = remembered.map(|remembered| remembered.changes(&wishes));
    let is_there = io::stdin().is_terminal() && io::stdout().is_terminal();
    if let Asking::Terminal(paint) = asking
        && is_there
        && ask(file, &wanted, changes.as_deref(), paint)?
    {
        store()?.remember(file, TrustAnswer::Allow, &wishes).map_err(|error| unusable(&error))?;
        return Ok(Settled::Agreed);
    }
    Err(rejection(&wanted, changes.as_deref()))
}

/// Asks at the terminal. Only a typed `y` or `yes` is a yes; what was typed before the question does not count.
fn ask(file: &FolderFile, wanted: &[&Wish], changes: Option<&[KeyChange]>, paint: Paint) -> io::Result<bool> {
    let mut out = io::stdout();
    let path = shown(&file.path.display().to_string());
    // The number stands at the end as well: a long list takes its beginning off the screen.
    let count = wanted.len();
    writeln!(out, "{path} came with this folder and asks for more than a folder gets unasked ({count}):")?;
    wanted.iter().try_for_each(|wish| tell(wish, paint, &mut out))?;
    if let Some(changes) = changes {
        tell_changes(changes, paint, &mut out)?;
    }
    // What was typed before the list was there is no answer to it; what is typed behind the question is one.
    out.flush()?;
    forget_typed();
    write!(out, "agree to all {count} as they are now? [y]es, anything else is no: ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "yes"))
}

fn rejection(wanted: &[&Wish], changes: Option<&[KeyChange]>) -> Stop {
    let code = ConfigErrorCode::Untrusted.word();
    let names = |keys: Vec<&str>| {
        let mut names = keys.iter().take(NAMED).map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
        if keys.len() > NAMED {
            names.push_str(&format!(" and {} more", keys.len() - NAMED));
        }
        names
    };
    let keys = names(wanted.iter().map(|wish| wish.key.as_str()).collect());
    let mut message =
        format!("{FILE} came with this folder and sets {keys}, and nobody agreed to that ({code})");
    if let Some(changes) = changes {
        let keys = names(changes.iter().map(|change| change.key.as_str()).collect());
        let what = if keys.is_empty() {
            "no value changed, but the file did".to_owned()
        } else {
            format!("changed: {keys}")
        };
        message.push_str(&format!("; since you last answered, {what}"));
    }
    Stop::usage(
        message,
        "look with `callgate trust show`, then say `callgate trust allow` or `callgate trust deny`",
    )
}

fn show(as_json: bool, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    let (file, builder) = here()?;
    let wishes = builder.wishes();
    let remembered = match places().state {
        Some(_) => store()?.about(&file).map_err(|error| unusable(&error))?,
        None => None,
    };
    let answer = remembered.as_ref().filter(|remembered| remembered.is_for(&file)).map(|it| it.answer);
    let changes =
        remembered.as_ref().filter(|_| answer.is_none()).map(|remembered| remembered.changes(&wishes));
    let faults = builder.agreed().build().err().unwrap_or(ConfigErrors(Vec::new()));
    let is_waiting = answer.is_none() && wishes.iter().any(Wish::is_trusting);
    let outcome =
        Outcome::rejected_if(answer == Some(TrustAnswer::Deny) || is_waiting || !faults.0.is_empty());
    let state = match (answer, &changes) {
        (Some(answer), _) => answer.word(),
        (None, Some(_)) => "changed",
        (None, None) => "none",
    };
    if as_json {
        let settings: Vec<Value> = wishes
            .iter()
            .map(|wish| {
                json!({
                    "key": wish.key,
                    "value": wish.value.to_json(),
                    "class": wish.class.word(),
                    "origin": wish.origin.to_string(),
                })
            })
            .collect();
        let faults: Vec<Value> = faults
            .0
            .iter()
            .map(|error| {
                json!({
                    "code": error.code.word(),
                    "origin": error.origin.to_string(),
                    "key": error.key,
                    "message": error.message,
                    "help": error.help,
                })
            })
            .collect();
        let all = json!({
            "path": file.path,
            "sha256": file.sha256,
            "answer": state,
            "settings": settings,
            "changes": changes.unwrap_or_default(),
            "faults": faults,
        });
        writeln!(out, "{}", paint.json(&format!("{all:#}")))?;
        return Ok(outcome);
    }
    writeln!(out, "{}", shown(&file.path.display().to_string()))?;
    writeln!(out, "{}", paint.tone(Tone::Grey, format!("sha256 {}", file.sha256)))?;
    writeln!(
        out,
        "{}",
        match state {
            "allow" => "You allowed it as it is.",
            "deny" => "You denied it as it is: it is left out.",
            "changed" => "It changed since you answered.",
            _ => "You have not been asked about it.",
        }
    )?;
    for (class, title) in [
        ("plain", "plain: holds unasked"),
        ("trusting", "trusting: holds after a yes"),
        ("own", "own: rejected, whatever you answer"),
    ] {
        let mut of_class = wishes.iter().filter(|wish| wish.class.word() == class).peekable();
        if of_class.peek().is_some() {
            writeln!(out, "\n{}", paint.tone(Tone::Strong, title))?;
            of_class.try_for_each(|wish| tell(wish, paint, out))?;
        }
    }
    if let Some(changes) = changes {
        writeln!(out)?;
        tell_changes(&changes, paint, out)?;
    }
    if !faults.0.is_empty() {
        writeln!(out, "\n{}", paint.tone(Tone::Strong, "rejected"))?;
    }
    for error in &faults.0 {
        let said = shown(&error.to_string());
        writeln!(out, "  {} {said}", paint.tone(Tone::Bad, error.code.word()))?;
    }
    Ok(outcome)
}

fn list(as_json: bool, paint: Paint, out: &mut dyn Write) -> Result<Outcome, Stop> {
    for remembered in store()?.all().map_err(|error| unusable(&error))? {
        let now = state_of(&remembered);
        if as_json {
            let Remembered { path, sha256, answer, .. } = remembered;
            let line = json!({"path": path, "sha256": sha256, "answer": answer, "now": now});
            writeln!(out, "{}", paint.json(&line.to_string()))?;
            continue;
        }
        let tone = if remembered.answer == TrustAnswer::Allow { Tone::Good } else { Tone::Bad };
        let hash: String = remembered.sha256.chars().take(12).collect();
        let answer = paint.tone(tone, format!("{:5}", remembered.answer.word())).to_string();
        writeln!(out, "{answer} {} {now:9} {}", shown(&hash), shown(&remembered.path))?;
    }
    Ok(Outcome::Fine)
}

/// Whether the answer was given to the file as it is now.
fn state_of(remembered: &Remembered) -> &'static str {
    let folder = Path::new(&remembered.path).parent().and_then(Path::parent);
    match folder.map(FolderFile::read) {
        Some(Ok(Some(file))) if remembered.is_for(&file) => "unchanged",
        Some(Ok(Some(_))) => "changed",
        _ => "gone",
    }
}

/// The file of the folder one is in, and a configuration with it.
fn here() -> Result<(FolderFile, ConfigBuilder), Stop> {
    let file = FolderFile::read(Path::new(".")).map_err(|error| stop(&error.into()))?;
    let Some(file) = file else {
        return Err(Stop::usage(format!("there is no {FILE} here"), "go to the folder that has one"));
    };
    let builder = Sources::default().with_folder(&file)?;
    Ok((file, builder))
}

fn store() -> Result<TrustStore, Stop> {
    let state = places().state.ok_or_else(|| {
        Stop::usage(
            "there is no place to remember an answer in",
            "set HOME or XDG_STATE_HOME to a whole path",
        )
    })?;
    Ok(TrustStore::new(StateFolder::at(state)))
}

fn unusable(error: &io::Error) -> Stop {
    let place = places().state.unwrap_or_default().join("trust");
    Stop::usage(format!("{}: {error}", place.display()), "check the path and the permissions")
}

/// A wish with its line.
fn tell(wish: &Wish, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    let line = match wish.origin {
        Origin::Folder { line, .. } => line,
        _ => 0,
    };
    setting(&format!("{line:4}"), &wish.key, &wish.value.to_json(), paint, out)
}

fn tell_changes(changes: &[KeyChange], paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", paint.tone(Tone::Strong, "changed since you answered"))?;
    if changes.is_empty() {
        writeln!(out, "   no value, but the file is another one")?;
    }
    for change in changes {
        for (sign, side) in [("   -", &change.before), ("   +", &change.after)] {
            if let Some(side) = side {
                setting(sign, &change.key, side, paint, out)?;
            }
        }
    }
    Ok(())
}

/// A key and its value as JSON. What does not fit on the line goes on behind a gutter, so that no value can look like a
/// line of the program's own.
fn setting(mark: &str, key: &str, value: &Value, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    let text = shown(&format!("{key} = {value}"));
    let room = paint.columns().saturating_sub(GUTTER.len()).max(20);
    let mut start = format!("{mark}  ");
    let mut line = String::new();
    let mut taken = 0;
    for c in text.chars() {
        if taken + columns_of(c) > room {
            writeln!(out, "{start}{line}")?;
            (start, line, taken) = (GUTTER.to_owned(), String::new(), 0);
        }
        line.push(c);
        taken += columns_of(c);
    }
    writeln!(out, "{start}{line}")
}

fn shown(text: &str) -> String {
    visible(text, Breaks::Show).into_owned()
}

/// Throws away what was typed before the question was there.
pub(crate) fn forget_typed() {
    #[cfg(unix)]
    // Where pending input cannot be discarded, the question is asked all the same.
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}
