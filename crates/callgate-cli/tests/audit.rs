//! `callgate audit verify` as a user runs it, on logs that `callgate chat` wrote and somebody changed.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder to talk in with a state folder beside it, removed at the end.
struct Desk(PathBuf);

impl Desk {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("callgate-verify-{}-{name}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(path.join("work")).unwrap();
        Desk(path)
    }

    /// Runs a command with this state folder.
    fn run(&self, state: &str, args: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_callgate"));
        command.args(args).current_dir(self.0.join("work")).env("XDG_STATE_HOME", self.0.join(state));
        command.env_remove("CLICOLOR_FORCE").output().unwrap()
    }

    /// A whole session; its file.
    fn session(&self, args: &[&str]) -> PathBuf {
        let before = self.files();
        let question = ["chat", "--once", "call fs.list {\"path\": \".\"}"];
        let output = self.run("state", &[&question, args].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let new: Vec<PathBuf> = self.files().into_iter().filter(|file| !before.contains(file)).collect();
        assert_eq!(new.len(), 1);
        new.into_iter().next().unwrap()
    }

    fn files(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.0.join("work/.agent/audit")) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// The exit code and the words of `verify`, where the log was written.
    fn verify(&self, args: &[&str]) -> (i32, String) {
        said(&self.run("state", &[&["audit", "verify"], args].concat()))
    }

    /// And on a machine that has no heads.
    fn verify_elsewhere(&self, args: &[&str]) -> (i32, String) {
        said(&self.run("other", &[&["audit", "verify"], args].concat()))
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn said(output: &Output) -> (i32, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout) + &text(&output.stderr))
}

fn without_last_line(path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    let end = text.trim_end().rfind('\n').unwrap();
    fs::write(path, &text[..=end]).unwrap();
}

#[test]
fn a10_a_whole_log_is_sound_here_and_elsewhere() {
    let desk = Desk::new("whole");
    desk.session(&[]);
    desk.session(&[]);
    let (code, words) = desk.verify(&[]);
    assert_eq!(code, 0, "{words}");
    assert_eq!(words.matches("whole and sound").count(), 2, "{words}");
    assert!(words.contains("it agrees with its head in") && words.contains("unkeyed"), "{words}");
    let (code, words) = desk.verify_elsewhere(&[]);
    assert_eq!(code, 0, "{words}");
    assert!(words.contains("unkeyed: a rewrite cannot be seen; this machine has no head of it"), "{words}");
    assert!(words.contains("records, whole\n") && !words.contains("sound"), "{words}");
}

#[test]
fn a10_without_its_end_a_log_has_an_exit_code_of_its_own_and_is_never_called_sound() {
    let desk = Desk::new("unfinished");
    let path = desk.session(&[]);
    without_last_line(&path);
    let (code, words) = desk.verify_elsewhere(&[]);
    assert_eq!(code, 4, "{words}");
    assert!(words.contains("unfinished") && !words.contains("sound"), "{words}");
    let (code, words) = desk.verify(&[]);
    assert_eq!(code, 1, "{words}");
    assert!(words.contains("the log ends at record") && !words.contains("sound"), "{words}");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, &text[..text.len() - 20]).unwrap();
    let (code, words) = desk.verify_elsewhere(&["--latest"]);
    assert_eq!(code, 4, "{words}");
    assert!(words.contains("cannot tell a crash from a cut") && !words.contains("sound"), "{words}");
    let (_, json) = desk.verify_elsewhere(&["--json"]);
    let line: serde_json::Value = serde_json::from_str(json.trim()).unwrap();
    assert_eq!((&line["report"]["end"], &line["report"]["sealed"]), (&"torn".into(), &"unkeyed".into()));
}

#[test]
fn a10_an_empty_a_renamed_and_a_removed_log_are_no_sound_logs() {
    let desk = Desk::new("files");
    let (first, second) = (desk.session(&[]), desk.session(&[]));
    let whole = fs::read(&second).unwrap();
    for (content, wanted) in
        [(Vec::new(), "the file is empty"), (fs::read(&first).unwrap(), "of another session")]
    {
        fs::write(&second, content).unwrap();
        let (code, words) = desk.verify_elsewhere(&[]);
        assert!(code == 1 && words.contains(wanted), "{code}: {words}");
    }
    fs::write(&second, whole).unwrap();
    fs::remove_file(&first).unwrap();
    let (code, words) = desk.verify_elsewhere(&[]);
    assert!(code == 1 && words.contains("missing, and no rule removed it"), "{code}: {words}");
    fs::remove_file(&second).unwrap();
    let (code, words) = desk.verify(&[]);
    assert!(code == 1 && words.matches("missing, and no rule removed it").count() == 2, "{code}: {words}");
    assert!(words.contains("remove its head too"), "{words}");
    let (code, words) = desk.verify_elsewhere(&[]);
    assert!(code == 2 && words.contains("there are no records"), "{code}: {words}");
    let latest = desk.verify(&["--latest"]);
    assert_eq!(latest.0, 1, "{}", latest.1);
}

#[test]
fn a10_what_goes_by_rule_is_no_fault() {
    let desk = Desk::new("pruned");
    for _ in 0..4 {
        let rule = ["--set", "audit.max_sessions=2"];
        let output = desk.run("state", &[&["chat", "--once", "list"], &rule[..]].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(desk.verify(&[]).0, 0, "{}", desk.verify(&[]).1);
        assert_eq!(desk.verify_elsewhere(&[]).0, 0, "{}", desk.verify_elsewhere(&[]).1);
    }
    assert_eq!(desk.files().len(), 2);
}

#[test]
fn a10_a_key_is_checked_and_a_false_one_is_told() {
    let desk = Desk::new("key");
    let key = |name: &str, text: &str| {
        let path = desk.0.join(name);
        fs::write(&path, text).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        }
        path.to_str().unwrap().to_owned()
    };
    let (good, bad, short) =
        (key("good", "0123456789abcdef0123"), key("bad", "another key, long enough"), key("short", "x"));
    desk.session(&["--set", &format!("audit.key_file={good}")]);
    let (code, words) = desk.verify(&["--key", &good]);
    assert!(code == 0 && words.contains("every record is sealed with the key"), "{code}: {words}");
    let (code, words) = desk.verify(&["--key", &bad]);
    assert!(code == 1 && words.contains("the key did not seal this record"), "{code}: {words}");
    let (code, words) = desk.verify(&[]);
    assert!(code == 0 && words.contains("sealed, but no --key was given"), "{code}: {words}");
    let (code, words) = desk.verify(&["--key", &short]);
    assert!(code == 2 && words.contains("16 to 4096 bytes"), "{code}: {words}");
}

#[test]
fn a10_what_cannot_begin_leaves_no_log() {
    let desk = Desk::new("no-begin");
    let output = desk.run("state", &["chat", "--once", "list", "--tools", "/nonexistent/tools.json"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(desk.files().is_empty());
}
