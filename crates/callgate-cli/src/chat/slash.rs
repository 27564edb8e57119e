//! Slash commands: what can be typed in a conversation instead of a question.

use std::io::{self, Write};
use std::path::Path;

use callgate::Tool;
use callgate::internal::nearest;

use super::begin::Begun;
use crate::audit;
use crate::exit::Stop;
use crate::paint::{Breaks, Paint, Tone, one_line, padded, visible};

/// Every command with what it does.
const ALL: &[(&str, &str)] = &[
    ("/help", "list these commands"),
    ("/tools", "list the tools that the model may call"),
    ("/audit", "show what is on record of this conversation"),
    ("/retry", "ask the last question again, as if it had not been asked; what ran has run"),
    ("/exit", "end the conversation, as Ctrl-D does"),
];

/// A command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Slash {
    Help,
    Tools,
    Audit,
    Retry,
    Exit,
    /// A word that begins with a slash and is no command.
    Unknown(String),
}

impl Slash {
    /// The command in a line. A path, or a line with more words, is a question.
    pub(super) fn of(line: &str) -> Option<Slash> {
        let word = line.trim();
        let name = word.strip_prefix('/')?;
        let is_word = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphabetic());
        // A space before it makes anything a question.
        if !is_word || line.starts_with(' ') {
            return None;
        }
        Some(match name {
            "help" => Slash::Help,
            "tools" => Slash::Tools,
            "audit" => Slash::Audit,
            "retry" => Slash::Retry,
            "exit" | "quit" | "bye" => Slash::Exit,
            _ => Slash::Unknown(word.to_owned()),
        })
    }

    /// Shows what a command shows. Those that show nothing are the conversation's own.
    pub(super) fn show(&self, begun: &Begun, paint: Paint) -> Result<(), Stop> {
        let mut out = io::stdout().lock();
        match self {
            Slash::Help => {
                for (name, meaning) in ALL {
                    writeln!(out, "{} {meaning}", paint.tone(Tone::Accent, padded(name, 8)))?;
                }
            }
            Slash::Tools => begun.chat.tools().tools().try_for_each(|tool| line(tool, paint, &mut out))?,
            Slash::Audit => records(begun.records.as_deref(), paint, &mut out)?,
            Slash::Unknown(word) => {
                let near = nearest(word, ALL.iter().map(|(name, _)| *name));
                let hint =
                    near.first().map_or("/help lists them".to_owned(), |near| format!("perhaps {near}"));
                let word = visible(word, Breaks::Show).into_owned();
                writeln!(
                    out,
                    "there is no command {word}; {hint}; with a space before it, it is a question"
                )?;
            }
            Slash::Retry | Slash::Exit => {}
        }
        Ok(())
    }
}

fn line(tool: &Tool, paint: Paint, out: &mut dyn Write) -> io::Result<()> {
    let name = visible(&tool.name, Breaks::Show).into_owned();
    let parameters = tool.parameters["properties"].as_object();
    let parameters: Vec<String> =
        parameters.into_iter().flatten().map(|(key, _)| visible(key, Breaks::Show).into_owned()).collect();
    let head = format!("{name} {}", parameters.join(" "));
    let width = paint.columns().saturating_sub(36).max(20);
    let what = one_line(&tool.description, width);
    let needs = tool.permission.as_deref().map(|permission| visible(permission, Breaks::Show).into_owned());
    let remarks: Vec<String> =
        needs.into_iter().chain(tool.dangerous.then(|| "dangerous".to_owned())).collect();
    let asks = if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join(", ")) };
    writeln!(
        out,
        "{} {}",
        paint.tone(Tone::Accent, padded(&head, 34)),
        paint.tone(Tone::Grey, format!("{what}{asks}"))
    )
}

fn records(path: Option<&Path>, paint: Paint, out: &mut dyn Write) -> Result<(), Stop> {
    let Some(path) = path else {
        writeln!(out, "nothing is recorded: audit.enabled is false")?;
        return Ok(());
    };
    audit::tail(path, paint, out)?;
    let shown = visible(&path.display().to_string(), Breaks::Show).into_owned();
    writeln!(out, "{}", paint.tone(Tone::Grey, format!("all of it: {shown}")))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_word_behind_a_slash_is_a_command() {
        assert_eq!(Slash::of("/exit"), Some(Slash::Exit));
        assert_eq!(Slash::of("/retry \t"), Some(Slash::Retry));
        assert_eq!(Slash::of("/tols"), Some(Slash::Unknown("/tols".to_owned())));
        for question in ["exit", "/etc/passwd", "/ what", "/tools please", " /exit", "/", "1/2"] {
            assert_eq!(Slash::of(question), None, "{question}");
        }
    }

    #[test]
    fn every_command_of_the_list_is_one() {
        for (name, _) in ALL {
            assert!(!matches!(Slash::of(name), None | Some(Slash::Unknown(_))), "{name}");
        }
    }
}
