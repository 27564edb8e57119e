//! `callgate chat` at a terminal: what is asked there, and what the keys of the user do.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Child;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::Folder;

/// A program at a terminal of its own.
struct Session {
    child: Child,
    screen: File,
    seen: String,
}

impl Session {
    fn start(folder: &Folder, args: &[&str]) -> Self {
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        let name = ptsname(&screen, Vec::new()).unwrap();
        let open = || File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let mut command = folder.chat(args);
        command.stdin(open()).stdout(open()).stderr(open()).env("TERM", "xterm").env("NO_COLOR", "1");
        Session { child: command.spawn().unwrap(), screen: File::from(screen), seen: String::new() }
    }

    fn types(&mut self, text: &str) {
        self.screen.write_all(text.as_bytes()).unwrap();
    }

    /// Waits until the screen shows a text, and gives what it showed since the last time.
    fn until(&mut self, wanted: &str) -> String {
        let mut bytes = [0; 4096];
        while !self.seen.contains(wanted) {
            match self.screen.read(&mut bytes) {
                Ok(count) if count > 0 => self.seen.push_str(&String::from_utf8_lossy(&bytes[..count])),
                end => panic!("{wanted:?} never came ({end:?}): {:?}", self.seen),
            }
        }
        let at = self.seen.find(wanted).unwrap() + wanted.len();
        self.seen.drain(..at).collect()
    }
}

#[test]
fn t_05_a_write_shows_its_change_and_runs_only_after_a_typed_yes() {
    let folder = Folder::new("pty");
    let mut session = Session::start(&folder, &["--set", "audit.enabled=false"]);
    session.until("> ");
    let write = "call fs.write {\"path\": \"a.txt\", \"content\": \"omega\\n\"}\r";
    session.types(write);
    let asked = session.until("anything else is no: ");
    for wanted in ["fs.write wants to run", "replaces a file: ", "│ - alpha \\u{1b}[2J", "│ + omega", "hash "]
    {
        assert!(asked.contains(wanted), "{wanted} is missing in {asked}");
    }
    session.types("\r");
    session.until("User denied permission");
    assert!(folder.read("a.txt").starts_with("alpha"), "the return key alone is no yes");
    session.until("> ");
    session.types(write);
    session.until("anything else is no: ");
    session.types("v\r");
    let viewed = session.until("anything else is no: ");
    assert!(viewed.contains("argument │ /content = string \"omega\\n\""), "{viewed}");
    session.types("y\r");
    session.until("a.txt replaced");
    assert_eq!(folder.read("a.txt"), "omega\n");
    session.until("> ");
    session.types("\u{4}");
    assert_eq!(session.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a06_no_argument_makes_a_line_that_looks_like_the_question() {
    let folder = Folder::new("pty-wrap");
    let tools =
        r#"[{"name": "wipe", "description": "Wipes.", "parameters": {}, "command": ["echo", "a  b"]}]"#;
    std::fs::write(folder.0.join("tools.json"), tools).unwrap();
    for columns in [20, 40, 80, 133] {
        let args = ["--set", "audit.enabled=false", "--tools", "tools.json", "--no-files"];
        let mut session = Session::start(&folder, &args);
        let size = rustix::termios::Winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&session.screen, size).unwrap();
        session.until("> ");
        let pad = " ".repeat(usize::from(columns) - 3);
        session.types(&format!(
            "call wipe {{\"path\": \"/tmp/x{pad}/dry_run = true{pad}starts: echo{pad}hash 0\"}}\r"
        ));
        session.until("call     │ ");
        let asked = session.until("run it?");
        let lines: Vec<&str> = asked.lines().skip(1).collect();
        let labels = ["why", "starts", "effect", "argument", "hash", ""].map(|label| format!("{label:8} "));
        for line in &lines[..lines.len() - 1] {
            let is_own = labels
                .iter()
                .any(|label| line.strip_prefix(label).is_some_and(|rest| rest.starts_with(['│', '┊'])));
            assert!(is_own, "{columns}: {line:?} in {asked}");
            assert!(line.chars().count() <= usize::from(columns), "{columns}: {line:?}");
        }
        let text: String =
            lines.iter().flat_map(|line| line.split_once(['│', '┊'])).map(|(_, text)| &text[1..]).collect();
        let run = format!("␠×{}␠", pad.len());
        assert!(text.contains(&format!("/path = string \"/tmp/x{run}/dry_run = true{run}starts:")), "{text}");
        assert!(text.contains("the program \"/") && text.contains("/echo\" \"a␠×2␠b\""), "{text}");
        session.types("\r");
        session.until("User denied permission");
        session.until("> ");
        session.types("\u{4}");
        assert_eq!(session.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn ctrl_c_at_a_question_is_a_no_and_the_conversation_goes_on() {
    let folder = Folder::new("pty-c");
    let mut session = Session::start(&folder, &["--set", "audit.enabled=false"]);
    session.until("> ");
    session.types("half a line\u{3}");
    session.until("> ");
    session.types("call fs.write {\"path\": \"b\", \"content\": \"x\"}\r");
    session.until("anything else is no: ");
    session.types("\u{3}");
    session.until("User denied permission");
    session.until("> ");
    session.types("call fs.list {\"path\": \".\"}\r");
    session.until("fs.list says: a.txt");
    session.until("> ");
    session.types("\u{4}");
    assert_eq!(session.child.wait().unwrap().code(), Some(0));
    assert_eq!(folder.read("b"), "");
}

#[test]
fn ctrl_c_stops_an_answer_and_not_the_conversation() {
    // A server that takes the question and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("providers.ollama.endpoint=http://{}", silent.local_addr().unwrap());
    let folder = Folder::new("pty-stop");
    let args = ["--provider", "ollama", "--model", "m", "--set", &endpoint, "--set", "audit.enabled=false"];
    let mut session = Session::start(&folder, &args);
    session.until("> ");
    for _ in 0..2 {
        session.types("hello\r");
        let (asked, _) = silent.accept().unwrap();
        let child = rustix::process::Pid::from_child(&session.child);
        rustix::process::kill_process(child, rustix::process::Signal::INT).unwrap();
        session.until("stopped");
        session.until("> ");
        drop(asked);
    }
    session.types("\u{4}");
    assert_eq!(session.child.wait().unwrap().code(), Some(0));
}

#[test]
fn ctrl_c_takes_back_what_was_typed_and_leaves_at_an_empty_prompt() {
    let folder = Folder::new("pty-leave");
    let mut session = Session::start(&folder, &[]);
    session.until("> ");
    session.types("half a question");
    session.until("half a question");
    session.types("\u{3}");
    session.until("> ");
    session.types("read a.txt\r");
    session.until("waiting for the model");
    session.until("fs.read says: alpha");
    session.until("> ");
    session.types("\u{3}");
    assert_eq!(session.child.wait().unwrap().code(), Some(130));
    let audit = std::process::Command::new(env!("CARGO_BIN_EXE_callgate"))
        .args(["audit", "verify"])
        .current_dir(&folder.0)
        .env("XDG_STATE_HOME", folder.state())
        .output()
        .unwrap();
    assert_eq!(audit.status.code(), Some(0), "the log has its end: {audit:?}");
}

#[test]
fn a_question_as_an_argument_asks_whoever_is_at_the_terminal() {
    let folder = Folder::new("pty-argument");
    let call = "call fs.write {\"path\": \"b.txt\", \"content\": \"beta\"}";
    let mut session = Session::start(&folder, &[call, "--set", "audit.enabled=false"]);
    session.until("anything else is no: ");
    session.types("y\r");
    session.until("b.txt");
    assert_eq!(session.child.wait().unwrap().code(), Some(0));
    assert_eq!(folder.read("b.txt"), "beta");
}

#[test]
fn x41_typed_numbers_are_a_yes_to_those_hunks_alone() {
    let folder = Folder::new("pty-hunks");
    let line = |number: usize| format!("line {number}\n");
    let old: Vec<String> = (0..30).map(line).collect();
    std::fs::write(folder.0.join("long.txt"), old.concat()).unwrap();
    let mut session = Session::start(&folder, &[]);
    session.until("> ");
    let edits = "[{\"old_string\": \"line 2\\n\", \"new_string\": \"two\\n\"}, {\"old_string\": \"line 20\\n\", \"new_string\": \"twenty\\n\"}]";
    session.types(&format!("call fs.edit {{\"path\": \"long.txt\", \"edits\": {edits}}}\r"));
    let asked = session.until("anything else is no: ");
    for wanted in ["│ @ hunk 1 of 2", "│ @ hunk 2 of 2", "numbers of hunks (1,3) for those alone"] {
        assert!(asked.contains(wanted), "{wanted} is missing in {asked}");
    }
    session.types("2\r");
    session.until("The user refused parts of this change (hunks 1 of 2)");
    let mut new = old;
    new[20] = "twenty\n".to_owned();
    assert_eq!(folder.read("long.txt"), new.concat());
    session.until("> ");
    // Where there is one hunk, a number is a no like anything else.
    session.types("call fs.write {\"path\": \"a.txt\", \"content\": \"omega\"}\r");
    let asked = session.until("anything else is no: ");
    assert!(!asked.contains("numbers of hunks") && !asked.contains("@ hunk"), "{asked}");
    session.types("1\r");
    session.until("User denied permission");
    assert!(folder.read("a.txt").starts_with("alpha"));
    session.until("> ");
    session.types("\u{4}");
    assert_eq!(session.child.wait().unwrap().code(), Some(0));
}

#[test]
fn x66_a_folder_has_one_session_at_a_time() {
    let folder = Folder::new("pty-guard");
    let mut session = Session::start(&folder, &[]);
    session.until("> ");
    let second = folder.once("list", &[]);
    assert_eq!(second.status.code(), Some(2), "{second:?}");
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    for wanted in ["another session works in", "--root", "--set chat.one_session=false"] {
        assert!(said.contains(wanted), "{wanted} is missing in {said}");
    }
    assert_eq!(folder.once("list", &["--set", "chat.one_session=false"]).status.code(), Some(0));
    std::fs::create_dir(folder.0.join("other")).unwrap();
    assert_eq!(folder.once("list", &["--root", "other"]).status.code(), Some(0));
    // A session that is killed leaves nothing behind that keeps others out.
    session.child.kill().unwrap();
    session.child.wait().unwrap();
    assert_eq!(folder.once("list", &[]).status.code(), Some(0));
}

#[test]
fn r39_every_nth_call_asks_at_the_terminal() {
    let folder = Folder::new("pty-every");
    let mut session = Session::start(&folder, &["--set", "approval.every_n=2 @FS_READ"]);
    for _ in 0..2 {
        session.until("> ");
        session.types("list\r");
        session.until("fs.list says");
        session.until("> ");
        session.types("list\r");
        let asked = session.until("anything else is no: ");
        assert!(asked.contains("why      │ one call in 2 asks, by the rule `@FS_READ`"), "{asked}");
        session.types("y\r");
        session.until("fs.list says");
    }
    session.until("> ");
    session.types("\u{4}");
    assert_eq!(session.child.wait().unwrap().code(), Some(0));
}
