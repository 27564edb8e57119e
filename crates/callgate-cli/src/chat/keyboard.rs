//! The keyboard: where questions and approvals are typed.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use callgate_agent::approval::{Answer, Approver, Request};
use callgate_agent::config::StateFolder;
use callgate_agent::model::BoxFuture;
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::Validator;
use rustyline::{Context, Editor, Helper};
use serde_json::json;

use crate::config::places;
use crate::exit::Stop;
use crate::paint::{Paint, Tone};
use crate::trust::forget_typed;

/// The file of the state folder where lines that were typed are kept, each as JSON.
const TYPED: &str = "chat_history";
/// How many of them.
const MOST_TYPED: usize = 1_000;

/// Where lines are typed: one editor for questions and approvals, so that no two wait for the same line.
#[derive(Clone)]
pub(super) struct Keyboard {
    editor: Arc<Mutex<Editor<Watched, DefaultHistory>>>,
    watched: Watched,
    /// Whether the editor still waits for a line whose question is over.
    abandoned: Arc<AtomicBool>,
    /// Where lines are kept.
    state: Option<StateFolder>,
}

/// What came of waiting for a line.
pub(super) enum Typed {
    Line(String),
    /// Ctrl-C took back what was typed.
    TakenBack,
    /// Ctrl-C on an empty line: the user wants to go.
    Left,
    Closed,
}

impl Keyboard {
    pub(super) fn new() -> Result<Self, Stop> {
        let mut editor =
            Editor::<Watched, DefaultHistory>::new().map_err(|error| Stop::Internal(error.to_string()))?;
        let watched = Watched::default();
        editor.set_helper(Some(watched.clone()));
        let state = places().state.map(StateFolder::at);
        // A missing or unreadable history is no error: only recalling earlier lines is lost.
        let typed = state.as_ref().and_then(|state| state.read(TYPED).ok().flatten()).unwrap_or_default();
        for line in typed.lines().filter_map(|line| serde_json::from_str::<String>(line).ok()) {
            let _ = editor.add_history_entry(line);
        }
        Ok(Keyboard { editor: Arc::new(Mutex::new(editor)), watched, abandoned: Arc::default(), state })
    }

    pub(super) async fn line(&self, prompt: String) -> Typed {
        if self.abandoned.swap(true, Ordering::SeqCst) {
            // The line editor cannot be interrupted: it reads one more line, which is discarded.
            let _ = writeln!(io::stdout(), "\nthe question is over; press Return to go on");
        }
        self.watched.set("");
        let editor = Arc::clone(&self.editor);
        let typed = tokio::task::spawn_blocking(move || {
            editor.lock().unwrap_or_else(PoisonError::into_inner).readline(&prompt)
        });
        let typed = typed.await;
        self.abandoned.store(false, Ordering::SeqCst);
        match typed {
            Ok(Ok(line)) => Typed::Line(line),
            Ok(Err(ReadlineError::Interrupted)) if self.watched.is_empty() => Typed::Left,
            Ok(Err(ReadlineError::Interrupted)) => Typed::TakenBack,
            _ => Typed::Closed,
        }
    }

    pub(super) fn remember(&self, line: &str) {
        // A line that cannot be added to the history still counts as typed.
        let _ = self.editor.lock().unwrap_or_else(PoisonError::into_inner).add_history_entry(line);
    }

    pub(super) fn keep(&self) {
        let Some(state) = &self.state else { return };
        let editor = self.editor.lock().unwrap_or_else(PoisonError::into_inner);
        let typed: Vec<String> =
            editor.history().into_iter().map(|line| format!("{}\n", json!(line))).collect();
        let text = typed[typed.len().saturating_sub(MOST_TYPED)..].concat();
        // Failing to save the history is no error: it only serves recall, and is no record.
        let _ = state.write(TYPED, &text);
    }
}

/// The line as it is typed: the editor does not say what Ctrl-C took back.
#[derive(Clone, Default)]
struct Watched(Arc<Mutex<String>>);

impl Watched {
    fn set(&self, line: &str) {
        line.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

impl Hinter for Watched {
    type Hint = String;

    fn hint(&self, line: &str, _: usize, _: &Context<'_>) -> Option<String> {
        self.set(line);
        None
    }
}

impl Completer for Watched {
    type Candidate = String;
}

impl Highlighter for Watched {}
impl Validator for Watched {}
impl Helper for Watched {}

/// Asks the user at the terminal. Only a typed `y` or `yes` is a yes; what was typed before the question does not count.
pub(super) struct AtTerminal {
    pub(super) keyboard: Keyboard,
    pub(super) paint: Paint,
}

impl Approver for AtTerminal {
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let mut is_short = true;
            loop {
                let mut text = String::from("\n");
                let mut tone = Tone::Plain;
                for line in request.lines(is_short, Paint::columns_now()) {
                    // A wrapped line keeps the colour of the line that it continues.
                    tone = match line.split_once("│ ") {
                        Some((label, _)) if label.starts_with("call") => Tone::Strong,
                        Some((_, text)) if text.starts_with('+') => Tone::Good,
                        Some((_, text)) if text.starts_with('-') => Tone::Bad,
                        Some(_) => Tone::Plain,
                        None => tone,
                    };
                    text.push_str(&format!("{}\n", self.paint.tone(tone, line)));
                }
                if io::stdout().write_all(text.as_bytes()).is_err() {
                    return Answer::Closed;
                }
                forget_typed();
                let hunks = match request.hunks {
                    0 | 1 => "",
                    _ => "numbers of hunks (1,3) for those alone, ",
                };
                let prompt = format!(
                    "run it? [y]es, [a]lways this very call, [v]iew all, {hunks}anything else is no: "
                );
                match self.keyboard.line(prompt).await {
                    Typed::Line(line) => match line.trim() {
                        "y" | "yes" => return Answer::Approve { hash: request.hash.clone() },
                        "a" | "always" => return Answer::ApproveAlways { hash: request.hash.clone() },
                        "v" | "view" => is_short = false,
                        other => match numbers(other).filter(|_| request.hunks > 1) {
                            Some(hunks) => {
                                return Answer::ApproveHunks { hash: request.hash.clone(), hunks };
                            }
                            None => return Answer::Deny,
                        },
                    },
                    Typed::TakenBack | Typed::Left | Typed::Closed => return Answer::Closed,
                }
            }
        })
    }
}

/// Numbers with commas or blanks between them; nothing if anything else is there.
fn numbers(line: &str) -> Option<Vec<usize>> {
    let words = line.split([',', ' ']).filter(|word| !word.is_empty());
    words.map(|word| word.parse().ok()).collect()
}
