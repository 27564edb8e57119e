//! The page on the gateway: its tasks are asked, and it names every measure.

use serde_json::Value;

use super::{Folder, blocks, docs};

#[test]
fn the_tasks_of_the_page_are_asked_and_every_measure_is_on_it() {
    let page = std::fs::read_to_string(docs("gateway.md")).unwrap();
    let blocks = blocks(&page);
    let tasks = blocks.iter().find(|block| block.language == "json").unwrap();
    let folder = Folder::with_files("tasks", &[]);
    let file = folder.0.join("tasks.json");
    std::fs::write(&file, tasks.body).unwrap();
    // Nobody answers at this port: what is asked is told all the same.
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_callgate"))
        .args(["verify", "--endpoint", "http://127.0.0.1:9", "--model", "m", "--json", "--requests"])
        .arg(&file)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let list = |value: &Value, name: &str| -> Vec<String> {
        value.as_array().unwrap().iter().map(|one| one[name].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(list(&report["tasks"], "name"), ["by number", "small talk", "forced"]);
    for measure in list(&report["scores"], "measure") {
        assert!(page.contains(&format!("| `{measure}` |")), "{measure}");
    }
}
