//! The file tools from outside: what they do, and every way out of the folder that does not lead out.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic, clippy::unwrap_used)]
#![cfg(unix)]

#[path = "support/scratch.rs"]
mod scratch;

use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use callgate_agent::tools::files::{FileLimits, FileNames, Root, file_tools};
use callgate_agent::tools::{Prepared, RunTool, ToolError, ToolErrorCode};
use scratch::Scratch;
use serde_json::{Value, json};

struct Tools(Vec<Arc<dyn RunTool>>, tokio::runtime::Runtime);

impl Tools {
    fn of(root: Root) -> Self {
        Tools::with(root, FileLimits::default())
    }

    fn with(root: Root, limits: FileLimits) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        Tools(file_tools(Some(root), FileNames::Dotted, limits), runtime)
    }

    fn prepare(&self, name: &str, arguments: &Value) -> Result<Prepared, ToolError> {
        let tool = self.0.iter().find(|tool| tool.tool().name == name).unwrap();
        self.1.block_on(tool.prepare(arguments))
    }

    fn run(&self, name: &str, arguments: &Value) -> Result<String, ToolError> {
        let prepared = self.prepare(name, arguments)?;
        self.1.block_on(prepared.run(None))
    }

    fn read(&self, path: &str) -> Result<String, ToolError> {
        self.run("fs.read", &json!({"path": path}))
    }

    fn list(&self, path: &str) -> Result<String, ToolError> {
        self.run("fs.list", &json!({"path": path, "hidden": true}))
    }

    fn write(&self, path: &str, content: &str) -> Result<String, ToolError> {
        self.run("fs.write", &json!({"path": path, "content": content}))
    }

    /// The codes of the three tools for one path.
    fn codes(&self, path: &str) -> [ToolErrorCode; 3] {
        [self.read(path), self.list(path), self.write(path, "x")]
            .map(|result| result.map_or_else(|error| error.code, |done| panic!("{path:?}: {done}")))
    }
}

fn tools(scratch: &Scratch, root: &str) -> Tools {
    std::fs::create_dir_all(scratch.path(root)).unwrap();
    Tools::of(Root::open(&scratch.path(root)).unwrap())
}

fn unfinished(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_string_lossy().starts_with(".callgate-")).count()
}

/// G-36: the three tools and their arguments.
#[test]
fn files_are_read_listed_and_written() {
    let scratch = Scratch::new("files");
    let tools = tools(&scratch, "root");
    assert_eq!(
        tools.write("a/b/new.txt", "größe\n").unwrap().split(',').next().unwrap(),
        "a/b/new.txt created: 8 bytes"
    );
    assert_eq!(tools.read("a/b/new.txt").unwrap(), "größe\n");
    assert_eq!(tools.read("./a//b/../b/new.txt").unwrap(), "größe\n");
    assert!(tools.write("a/b/new.txt", "").unwrap().contains("replaced: 0 bytes"));
    assert_eq!(tools.read("a/b/new.txt").unwrap(), "");
    scratch.file("root/z.txt", "12345");
    symlink("z.txt", scratch.path("root/link")).unwrap();
    assert_eq!(tools.list(".").unwrap(), "a/\nlink (link)\nz.txt (5 bytes)");
    assert_eq!(tools.read("link").unwrap(), "12345", "a link that stays inside is followed");
    assert_eq!(tools.read("a").unwrap_err().code, ToolErrorCode::NotAFile);
    assert_eq!(tools.read("none").unwrap_err().code, ToolErrorCode::NotFound);
    assert_eq!(tools.read("z.txt/x").unwrap_err().code, ToolErrorCode::NotFound);
    assert_eq!(tools.list("z.txt").unwrap_err().code, ToolErrorCode::NotAFolder);
    assert_eq!(tools.write("a", "x").unwrap_err().code, ToolErrorCode::NotAFile);
    assert_eq!(tools.write("a/", "x").unwrap_err().code, ToolErrorCode::NotAFile);
    assert_eq!(tools.write(".", "x").unwrap_err().code, ToolErrorCode::NotAFile);
}

#[test]
fn f_01_a_folder_whose_name_begins_alike_is_another_folder() {
    let scratch = Scratch::new("f01");
    let tools = tools(&scratch, "app");
    let secret = scratch.file("app-evil/secret", "s");
    for path in [secret.to_str().unwrap(), "../app-evil/secret"] {
        assert_eq!(tools.codes(path), [ToolErrorCode::PathOutsideRoot; 3], "{path}");
    }
}

#[test]
fn f_02_links_out_are_neither_read_nor_written() {
    let scratch = Scratch::new("f02");
    let tools = tools(&scratch, "root");
    let secret = scratch.file("outside/secret", "s");
    symlink(&secret, scratch.path("root/absolute")).unwrap();
    symlink("../outside/secret", scratch.path("root/relative")).unwrap();
    symlink("../outside", scratch.path("root/folder")).unwrap();
    symlink("/proc/self/root/etc", scratch.path("root/magic")).unwrap();
    symlink("loop", scratch.path("root/loop")).unwrap();
    for path in ["absolute", "relative", "folder/secret", "folder/new", "magic/hosts"] {
        assert_eq!(tools.read(path).unwrap_err().code, ToolErrorCode::PathOutsideRoot, "{path}");
        assert_eq!(tools.write(path, "x").unwrap_err().code, ToolErrorCode::PathOutsideRoot, "{path}");
    }
    assert_eq!(tools.list("folder").unwrap_err().code, ToolErrorCode::PathOutsideRoot);
    assert!(tools.read("loop").is_err() && tools.write("loop", "x").is_err());
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "s");
    assert!(!scratch.path("outside/new").exists());
    // A link inside is no place to write through either: the path that was shown is the place that is written.
    scratch.file("root/real/a", "a");
    symlink("real", scratch.path("root/inner")).unwrap();
    assert_eq!(tools.read("inner/a").unwrap(), "a");
    assert_eq!(tools.write("inner/a", "x").unwrap_err().code, ToolErrorCode::PathOutsideRoot);
}

#[test]
fn f_03_no_race_between_a_folder_and_a_link_leads_out() {
    let scratch = Scratch::new("f03");
    let tools = tools(&scratch, "root");
    scratch.file("root/here/f", "inside");
    scratch.file("outside/f", "outside");
    symlink("../outside", scratch.path("root/swap")).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (stop, root) = (Arc::clone(&stop), std::fs::File::open(scratch.path("root")).unwrap());
        move || {
            let mut swaps = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                let exchange = rustix::fs::RenameFlags::EXCHANGE;
                rustix::fs::renameat_with(&root, "here", &root, "swap", exchange).unwrap();
                swaps += 1;
            }
            swaps
        }
    });
    let tries = std::env::var("CALLGATE_RACES").ok().and_then(|text| text.parse().ok()).unwrap_or(20_000);
    let mut read = 0;
    for number in 0..tries {
        match tools.read("swap/f") {
            Ok(text) => {
                assert!(text.starts_with("inside"), "try {number} read {text:?}");
                read += 1;
            }
            Err(error) => assert_ne!(error.code, ToolErrorCode::NotText, "{error}"),
        }
        if let Ok(listed) = tools.list("swap") {
            assert!(!listed.contains("canary"), "try {number} listed {listed}");
        }
        // Whether it is rejected or written inside does not matter here. A writing waits for the disk, so it is rarer.
        if number % 10 == 0 {
            let _ = tools.write("swap/f", &format!("inside {number}"));
            let _ = tools.write("swap/made/new", "x");
        }
        if number == 0 {
            std::fs::write(scratch.path("outside/canary"), "c").unwrap();
        }
    }
    stop.store(true, Ordering::Relaxed);
    let swaps = swapper.join().unwrap();
    assert!(read > 0 && swaps > 1_000, "{read} reads and {swaps} swaps make no race");
    println!("{tries} tries, {read} reads inside, {swaps} swaps");
    assert_eq!(std::fs::read_to_string(scratch.path("outside/f")).unwrap(), "outside");
    let mut left: Vec<_> =
        std::fs::read_dir(scratch.path("outside")).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["canary", "f"], "something was made outside");
}

#[test]
fn f_04_paths_that_climb_are_rejected_and_others_are_taken_by_the_letter() {
    let scratch = Scratch::new("f04");
    let tools = tools(&scratch, "root");
    scratch.file("x", "outside");
    for path in
        ["../../etc/passwd", "a/../../x", "..", "", "/etc/hosts", "//srv/share", "./../x", "a/b/../../../x"]
    {
        assert_eq!(tools.codes(path), [ToolErrorCode::PathOutsideRoot; 3], "{path:?}");
    }
    for path in ["..\\..\\x", "\\\\?\\C:\\", "a\\b"] {
        assert_eq!(tools.codes(path), [ToolErrorCode::BadPath; 3], "{path:?}");
    }
    for path in ["%2e%2e/x", "C:x", "f", "~/x", "$HOME"] {
        assert_eq!(tools.read(path).unwrap_err().code, ToolErrorCode::NotFound, "{path:?}");
        tools.write(path, path).unwrap();
        assert_eq!(std::fs::read_to_string(scratch.path("root").join(path)).unwrap(), path);
    }
    assert_eq!(tools.read("./f/../f").unwrap_err().code, ToolErrorCode::NotFound, "as the system has it");
    assert_eq!(tools.write("./f/../f", "x").unwrap_err().code, ToolErrorCode::BadPath);
    assert_eq!(std::fs::read_to_string(scratch.path("x")).unwrap(), "outside");
}

#[test]
fn f_05_the_path_that_is_checked_is_the_path_that_is_used() {
    let scratch = Scratch::new("f05");
    let tools = tools(&scratch, "root");
    for path in ["app\"", "app ", " app", "app'"] {
        tools.write(path, path).unwrap();
        assert_eq!(tools.read(path).unwrap(), path);
        assert_eq!(std::fs::read_to_string(scratch.path("root").join(path)).unwrap(), path);
    }
    assert_eq!(tools.read("app").unwrap_err().code, ToolErrorCode::NotFound);
    assert_eq!(tools.codes("app\t"), [ToolErrorCode::BadPath; 3]);
}

#[test]
fn f_08_a_hard_link_to_a_file_outside_keeps_the_file_as_it_is() {
    let scratch = Scratch::new("f08");
    let tools = tools(&scratch, "root");
    let outside = scratch.file("outside", "old");
    std::fs::hard_link(&outside, scratch.path("root/inside")).unwrap();
    tools.write("inside", "new").unwrap();
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "old");
    assert_eq!(tools.read("inside").unwrap(), "new");
}

#[test]
fn f_09_what_is_huge_is_given_in_parts() {
    let scratch = Scratch::new("f09");
    let limits = FileLimits { read: 100, list: 3, write: 10 };
    std::fs::create_dir_all(scratch.path("root")).unwrap();
    let tools = Tools::with(Root::open(&scratch.path("root")).unwrap(), limits);
    let text = "ä".repeat(500);
    scratch.file("root/line", &text);
    let mut whole = String::new();
    let mut offset = 0;
    loop {
        let part = tools.run("fs.read", &json!({"path": "line", "offset": offset, "limit": 33})).unwrap();
        let (given, note) = part.split_once("\n[truncated: ").unwrap_or((&part, ""));
        whole.push_str(given);
        let next = note.rsplit_once("offset ").map(|(_, next)| next.trim_end_matches(']'));
        let Some(next) = next else { break };
        assert!(
            given.len() <= 33 && note.starts_with(&format!("bytes {offset} to {next} of 1000;")),
            "{note}"
        );
        offset = next.parse().unwrap();
    }
    assert_eq!(whole, text);
    let asked = tools.run("fs.read", &json!({"path": "line", "limit": 1_000_000})).unwrap();
    assert!(asked.contains("bytes 0 to 100 of 1000"), "the limit is the host's: {asked}");
    let sparse = std::fs::File::create(scratch.path("root/sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    let error = tools.read("sparse").unwrap_err();
    assert_eq!(error.code, ToolErrorCode::NotText);
    assert_eq!(tools.write("sparse", "x").unwrap_err().code, ToolErrorCode::TooLarge);
    assert_eq!(tools.write("new", "01234567890").unwrap_err().code, ToolErrorCode::TooLarge);
    for number in 0..20 {
        scratch.file(&format!("root/many/{number:02}"), "");
    }
    assert_eq!(
        tools.list("many").unwrap(),
        "00 (0 bytes)\n01 (0 bytes)\n02 (0 bytes)\n[truncated: 17 more entries]"
    );
}

#[test]
fn f_09_a_folder_of_very_many_entries_is_listed_in_bounds() {
    let scratch = Scratch::new("f09-many");
    let limits = FileLimits { list: 5, ..FileLimits::default() };
    std::fs::create_dir_all(scratch.path("root")).unwrap();
    // One file of many names is made faster than many files.
    let one = scratch.file("one", "");
    for number in 0..50_000 {
        std::fs::hard_link(&one, scratch.path(&format!("root/{number:06}"))).unwrap();
    }
    let tools = Tools::with(Root::open(&scratch.path("root")).unwrap(), limits);
    let listed = tools.list(".").unwrap();
    assert_eq!(listed.lines().next(), Some("000000 (0 bytes)"));
    assert_eq!(listed.lines().count(), 6, "{listed}");
    assert!(listed.ends_with("[truncated: 49995 more entries]"), "{listed}");
}

#[test]
fn f_11_names_that_no_file_should_have_are_a_clean_error() {
    let scratch = Scratch::new("f11");
    let tools = tools(&scratch, "root");
    for path in [
        "a\0b".to_owned(),
        "a\nb".to_owned(),
        "n".repeat(256),
        "p/".repeat(2_100),
        "a\u{1b}[2K".to_owned(),
        "invoice\u{202e}gnp.exe".to_owned(),
        "zero\u{200b}width".to_owned(),
        "tag\u{e0072}".to_owned(),
    ] {
        assert_eq!(tools.codes(&path), [ToolErrorCode::BadPath; 3], "{path:?}");
        let said = tools.read(&path).unwrap_err().to_string();
        assert!(!said.chars().any(callgate_agent::visible::is_hidden), "{said:?}");
    }
    tools.write("-rf", "x").unwrap();
    assert_eq!(tools.read("-rf").unwrap(), "x", "a dash is a letter of a name");
}

#[test]
fn f_12_the_hosts_own_files_are_never_written() {
    let scratch = Scratch::new("f12");
    std::fs::create_dir_all(scratch.path("root/.agent")).unwrap();
    symlink(".agent", scratch.path("root/other")).unwrap();
    let tools = Tools::of(Root::open(&scratch.path("root")).unwrap().keep("logs/audit"));
    for path in [
        ".agent/config.yml",
        ".agent",
        "./.agent/audit/session-a.jsonl",
        ".AGENT/config.yml",
        ".agent./config.yml",
        "logs/audit/session-a.jsonl",
        "logs/Audit",
    ] {
        assert_eq!(tools.write(path, "x").unwrap_err().code, ToolErrorCode::Forbidden, "{path}");
    }
    assert_eq!(tools.write("other/config.yml", "x").unwrap_err().code, ToolErrorCode::PathOutsideRoot);
    tools.write(".agents/config.yml", "x").unwrap();
    tools.write("logs/audits", "x").unwrap();
}

#[test]
fn devices_and_pipes_are_rejected_at_once() {
    let scratch = Scratch::new("special");
    let tools = tools(&scratch, "root");
    let made = Command::new("mkfifo").arg(scratch.path("root/pipe")).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(scratch.path("root/socket")).unwrap();
    for path in ["pipe", "socket"] {
        assert_eq!(tools.read(path).unwrap_err().code, ToolErrorCode::NotAFile, "{path}");
        assert_eq!(tools.write(path, "x").unwrap_err().code, ToolErrorCode::NotAFile, "{path}");
    }
    let devices = Tools::of(Root::open(Path::new("/dev")).unwrap());
    for path in ["null", "zero"] {
        assert_eq!(devices.read(path).unwrap_err().code, ToolErrorCode::NotAFile, "{path}");
        assert_eq!(devices.write(path, "x").unwrap_err().code, ToolErrorCode::NotAFile, "{path}");
    }
    assert!(tools.list(".").unwrap().contains("pipe (special)"));
}

#[test]
fn links_of_the_system_that_only_look_like_folders_do_not_lead_out() {
    if !Path::new("/proc/self/root").exists() {
        return;
    }
    let process = Tools::of(Root::open(Path::new("/proc/self")).unwrap());
    for path in ["root/etc/passwd", "cwd/Cargo.toml", "exe", "root"] {
        assert!(process.read(path).is_err(), "{path}");
        assert!(process.list(path).is_err(), "{path}");
        assert!(process.write(path, "x").is_err(), "{path}");
    }
}

#[test]
fn a_name_that_is_no_text_is_listed_and_harms_nobody() {
    use std::os::unix::ffi::OsStrExt;
    let scratch = Scratch::new("names");
    let tools = tools(&scratch, "root");
    std::fs::write(scratch.path("root").join(std::ffi::OsStr::from_bytes(b"a\xff\x1b[2J")), "x").unwrap();
    assert_eq!(tools.list(".").unwrap(), "a\u{fffd}\\u{1b}[2J (1 bytes)");
}

#[test]
fn what_is_no_text_is_said_to_be_none_and_where() {
    let scratch = Scratch::new("binary");
    let tools = tools(&scratch, "root");
    for (bytes, wanted) in [
        (&b"PNG\0\x01"[..], "a zero byte at byte 3"),
        (&b"ab\xff"[..], "bytes that are not UTF-8 at byte 2"),
        ("ä".as_bytes().split_at(1).0, "bytes that are not UTF-8 at byte 0"),
    ] {
        scratch.file("root/b", bytes);
        let error = tools.read("b").unwrap_err();
        assert_eq!(error.code, ToolErrorCode::NotText);
        assert!(error.message.starts_with(wanted), "{error}");
    }
}

/// G-59: a proposal changes nothing, and applying it is a step of its own.
#[test]
fn a_write_is_a_proposal_and_holds_only_for_the_file_that_was_shown() {
    let scratch = Scratch::new("proposal");
    let tools = tools(&scratch, "root");
    let file = scratch.file("root/a.txt", "one\ntwo\n");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let change = json!({"path": "a.txt", "content": "one\nTWO\n"});
    let prepared = tools.prepare("fs.write", &change).unwrap();
    assert_eq!(prepared.preview().change, "~ a.txt: changed, lines: 2 before, 2 after\n  one\n- two\n+ TWO");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\n", "a proposal changes nothing");
    std::fs::write(&file, "meanwhile").unwrap();
    let error = tools.1.block_on(prepared.run(None)).unwrap_err();
    assert_eq!(error.code, ToolErrorCode::Changed);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "meanwhile");
    let fresh = tools.prepare("fs.write", &json!({"path": "b.txt", "content": "x"})).unwrap();
    scratch.file("root/b.txt", "somebody was faster");
    assert_eq!(tools.1.block_on(fresh.run(None)).unwrap_err().code, ToolErrorCode::Changed);
    tools.1.block_on(tools.prepare("fs.write", &change).unwrap().run(None)).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\nTWO\n");
    assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o640, "its permissions stay");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o440)).unwrap();
    assert_eq!(tools.write("a.txt", "x").unwrap_err().code, ToolErrorCode::Forbidden);
    let unread = tools.prepare("fs.write", &json!({"path": "made/later/c", "content": "x"})).unwrap();
    assert!(!scratch.path("root/made").exists(), "nor does it make folders");
    drop(unread);
}

/// Where the writing child writes.
const FOLDER: &str = "CALLGATE_TEST_WRITE_FOLDER";

/// What the test of killing does in the process that it kills: replaces one file by turns, and says so each time.
fn replace_until_killed(root: &Path) {
    let tools = Tools::of(Root::open(root).unwrap());
    let texts = ["a".repeat(300_000), "b".repeat(200_000)];
    for number in 0.. {
        tools.write("deep/f", &texts[number % 2]).unwrap();
        println!("\nwritten");
    }
}

#[test]
fn f_13_killing_the_writer_leaves_the_old_file_or_the_new_one() {
    if let Some(root) = std::env::var_os(FOLDER) {
        return replace_until_killed(Path::new(&root));
    }
    let scratch = Scratch::new("f13");
    let tools = tools(&scratch, "root");
    let file = scratch.file("root/deep/f", "a".repeat(300_000));
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let mut left_behind = 0;
    for round in 0..150_u64 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "f_13_killing_the_writer_leaves_the_old_file_or_the_new_one", "--nocapture"])
            .env(FOLDER, scratch.path("root"))
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
        assert!(lines.by_ref().any(|line| line.unwrap() == "written"), "the child of round {round} wrote");
        // Each round another place of the writing is hit.
        std::thread::sleep(std::time::Duration::from_micros(round * 173 % 5_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = std::fs::read(&file).unwrap();
        let is_whole = found == "a".repeat(300_000).as_bytes() || found == "b".repeat(200_000).as_bytes();
        assert!(is_whole, "round {round}: {} bytes", found.len());
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600, "round {round}");
        left_behind += unfinished(&scratch.path("root/deep"));
        assert!(!tools.list("deep").unwrap().contains(".callgate-"), "what is unfinished is not shown");
        tools.write("deep/other", "x").unwrap();
        assert_eq!(unfinished(&scratch.path("root/deep")), 0, "the next writing sweeps, round {round}");
    }
    assert!(left_behind > 0, "no round hit a writing");
}

#[test]
fn what_another_process_is_writing_is_not_swept_away() {
    let scratch = Scratch::new("lock");
    let tools = tools(&scratch, "root");
    let busy = std::fs::File::create(scratch.path("root/.callgate-0123456789abcdef-9f9f5111.tmp")).unwrap();
    rustix::fs::flock(&busy, rustix::fs::FlockOperation::LockExclusive).unwrap();
    tools.write("a", "x").unwrap();
    assert_eq!(unfinished(&scratch.path("root")), 1);
    drop(busy);
    tools.write("a", "y").unwrap();
    assert_eq!(unfinished(&scratch.path("root")), 0);
}

#[test]
fn no_file_of_the_user_is_swept_away_or_hidden_because_of_its_name() {
    let scratch = Scratch::new("mine");
    let tools = tools(&scratch, "root");
    let names = [
        ".callgate-notes.tmp",
        ".callgate-0123456789abcdef.tmp",
        ".callgate-.tmp",
        ".callgate-0123456789abcdef-00000000.tmp",
    ];
    for name in names {
        scratch.file(&format!("root/{name}"), "mine");
    }
    tools.write("a", "x").unwrap();
    let listed = tools.list(".").unwrap();
    for name in names {
        assert_eq!(std::fs::read_to_string(scratch.path("root").join(name)).unwrap(), "mine", "{name}");
        assert!(listed.contains(name), "{listed}");
    }
}

#[test]
fn without_a_folder_each_call_says_so() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for tool in file_tools(None, FileNames::Underscored, FileLimits::default()) {
        let arguments = json!({"path": "a", "file_path": "a", "content": ""});
        let error = runtime.block_on(tool.prepare(&arguments)).unwrap_err();
        assert_eq!(error.code, ToolErrorCode::NoWorkspace);
        assert!(error.to_string().contains("workspace"), "{error}");
    }
    assert_eq!(Root::open(Path::new("/no/such/folder")).unwrap_err().code, ToolErrorCode::NoWorkspace);
}
