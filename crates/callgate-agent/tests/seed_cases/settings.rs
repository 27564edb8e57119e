//! Cases about configuration: what a file sets, and what is rejected.

use callgate_agent::config::{Config, Value as Setting};
use serde_json::{Value, json};

use super::{missing, profile, text};

/// What a case may ask of a configuration.
const CHECKED: &[&str] = &["config", "config_error_has"];

pub(crate) fn faults(case: &Value) -> Vec<String> {
    let (input, expect) = (&case["input"], &case["expect"]);
    let unknown =
        expect.as_object().into_iter().flatten().filter(|(key, _)| !CHECKED.contains(&key.as_str()));
    let mut faults: Vec<String> = unknown.map(|(key, _)| format!("nothing checks `{key}`")).collect();
    let file = text(&input["config_yaml"]).to_owned() + text(&input["settings_json"]);
    let mut builder =
        Config::builder().text(".agent/config.yml", &file).flag("--provider", "provider", "ollama");
    if input.get("config_yaml").is_some() {
        builder = builder.flag("--profile", "profile", profile(case).name());
    }
    match builder.build() {
        Ok(config) => {
            if expect.get("config_error_has").is_some() {
                faults.push("the file was taken".to_owned());
            }
            for (key, wanted) in expect["config"].as_object().into_iter().flatten() {
                let found = match key.as_str() {
                    "strict_xml" => json!(config.value("profile") == &Setting::Text("strict-xml".to_owned())),
                    key => config.value(&format!("providers.ollama.tool_call_retry.{key}")).to_json(),
                };
                faults.extend((found != *wanted).then(|| format!("{key} is {found}, not {wanted}")));
            }
        }
        Err(errors) if expect.get("config").is_some() => {
            faults.push(format!("the file was rejected: {errors}"))
        }
        Err(errors) => faults.extend(missing("the error", &errors.to_string(), &expect["config_error_has"])),
    }
    faults
}
