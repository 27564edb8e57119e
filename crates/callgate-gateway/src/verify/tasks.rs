//! Tasks: what an endpoint is asked, built in or out of a file, in the form of a chat completion's request.

use callgate::Registry;
use callgate::internal::nearest;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// The tasks that are asked without a file, in the form of one.
const BUILT_IN: &str = include_str!("tasks.json");

/// How long an answer may get, where a task does not say.
const MAX_TOKENS: u64 = 512;

/// The members of a task.
const MEMBERS: &[&str] = &[
    "name",
    "question",
    "messages",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "max_tokens",
    "max_completion_tokens",
    "expect",
];

/// What a recorded request may hold besides; it is set anew for every question.
const SET_ANEW: &[&str] = &["model", "stream", "stream_options", "temperature"];

const ROLES: &[&str] = &["system", "developer", "user", "assistant", "tool"];

/// One thing that an endpoint is asked.
#[derive(Clone, Debug)]
pub struct Task {
    /// What it is called in the report.
    pub name: String,
    /// The conversation so far, in the form of chat completions.
    pub messages: Vec<Value>,
    /// The tools that may be called.
    pub tools: Registry,
    /// Which of them, if that is not left to the model.
    pub choice: Option<TaskChoice>,
    /// Whether several may be called at once.
    pub parallel: bool,
    /// How long the answer may get.
    pub max_tokens: u64,
    /// What the answer should hold, if anything is known of it.
    pub expects: Option<Expectation>,
}

/// Which tools must be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskChoice {
    /// None.
    None,
    /// Any.
    Required,
    /// This one.
    Named(String),
}

/// What the answer to a task should hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Expectation {
    /// A call, whichever.
    Call,
    /// The beginning of something that is too long for the answer.
    CutOff,
    /// These calls, in any order, and no other: names, and the arguments that matter.
    Calls(Vec<(String, Map<String, Value>)>),
}

/// What is wrong with a file of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskFault {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
    /// A way out.
    pub help: String,
}

/// A file whose tasks share their tools.
#[derive(Deserialize)]
struct TaskFile<'t> {
    #[serde(default)]
    tools: Option<Value>,
    #[serde(borrow)]
    tasks: Vec<&'t RawValue>,
}

impl Task {
    /// The tasks that are asked without a file.
    pub fn built_in() -> Result<Vec<Task>, TaskFault> {
        Task::read_all(BUILT_IN, None)
    }

    /// The tasks of a file: a list, an object with `tasks` and the `tools` that they share, or a task per line. `tools`
    /// are those of tasks that bring none.
    pub fn read_all(text: &str, tools: Option<&Registry>) -> Result<Vec<Task>, TaskFault> {
        let text = text.trim_start_matches('\u{feff}');
        let is_list = text.trim_start().starts_with('[');
        let broken = |error: &serde_json::Error, line: usize| {
            let said = error.to_string();
            let what = said.split(" at line ").next().unwrap_or_default();
            let problem = format!("this is no JSON: {what} in column {}", error.column());
            TaskFault::new(line, problem, "write a list of tasks, or one per line")
        };
        let mut shared = tools.cloned();
        let found: Vec<(usize, &str)> = if is_list {
            let list: Vec<&RawValue> =
                serde_json::from_str(text).map_err(|error| broken(&error, error.line()))?;
            list.into_iter().map(|task| (line_of(text, task.get()), task.get())).collect()
        } else {
            match serde_json::from_str::<Map<String, Value>>(text) {
                Ok(whole) if whole.contains_key("tasks") => {
                    let file: TaskFile<'_> =
                        serde_json::from_str(text).map_err(|error| broken(&error, error.line()))?;
                    if let Some(tools) = &file.tools {
                        shared = Some(tools_of(tools, 1)?);
                    }
                    file.tasks.into_iter().map(|task| (line_of(text, task.get()), task.get())).collect()
                }
                Ok(_) => vec![(1, text)],
                // The first line by itself tells whether there is a task on each.
                Err(error) => match text.lines().find(|line| !line.trim().is_empty()) {
                    Some(first) if serde_json::from_str::<Value>(first).is_err() => {
                        return Err(broken(&error, error.line()));
                    }
                    _ => (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()).collect(),
                },
            }
        };
        if found.is_empty() {
            return Err(TaskFault::new(
                1,
                "there is no task in it",
                "write at least one, with `question` and `tools`",
            ));
        }
        let mut tasks = Vec::with_capacity(found.len());
        for (number, (line, text)) in found.into_iter().enumerate() {
            let task: Value =
                serde_json::from_str(text).map_err(|error| broken(&error, line + error.line() - 1))?;
            tasks.push(Task::read(&task, number + 1, shared.as_ref(), line)?);
        }
        Ok(tasks)
    }

    fn read(task: &Value, number: usize, shared: Option<&Registry>, line: usize) -> Result<Self, TaskFault> {
        let fault = |message: String, help: &str| TaskFault::new(line, message, help);
        let Value::Object(members) = task else {
            return Err(fault(
                "a task must be an object".to_owned(),
                "as in {\"question\": \"…\", \"tools\": […]}",
            ));
        };
        let is_known = |name: &&String| MEMBERS.contains(&name.as_str()) || SET_ANEW.contains(&name.as_str());
        if let Some(name) = members.keys().find(|name| !is_known(name)) {
            let near = nearest(name, MEMBERS.iter().copied());
            let help = match near.first() {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("a task has {}", MEMBERS.join(", ")),
            };
            return Err(TaskFault::new(line, format!("a task has no `{name}`"), help));
        }
        let member = |name: &str| members.get(name).filter(|value| !value.is_null());
        let name = match member("name") {
            None => format!("task {number}"),
            Some(Value::String(name)) => name.clone(),
            Some(_) => return Err(fault("`name` must be a string".to_owned(), "or leave it out")),
        };
        let messages = match (member("question"), member("messages")) {
            (Some(Value::String(question)), None) => vec![json!({"role": "user", "content": question})],
            (Some(_), None) => {
                return Err(fault(
                    "`question` must be a string".to_owned(),
                    "use `messages` for more than that",
                ));
            }
            (None, Some(Value::Array(messages))) if !messages.is_empty() => messages.clone(),
            (None, Some(_)) => {
                return Err(fault(
                    "`messages` must be a list that is not empty".to_owned(),
                    "as in a chat completion",
                ));
            }
            (Some(_), Some(_)) => {
                return Err(fault(
                    "a task has `question` or `messages`, not both".to_owned(),
                    "leave one out",
                ));
            }
            (None, None) => {
                return Err(fault("a task needs a `question` or `messages`".to_owned(), "add one of them"));
            }
        };
        for (at, message) in messages.iter().enumerate() {
            let role = message.get("role").and_then(Value::as_str);
            if role.is_none_or(|role| !ROLES.contains(&role)) {
                let problem = format!("message {} needs a `role`", at + 1);
                return Err(TaskFault::new(line, problem, format!("one of {}", ROLES.join(", "))));
            }
        }
        let tools = match (member("tools"), shared) {
            (Some(tools), _) => tools_of(tools, line)?,
            (None, Some(shared)) => shared.clone(),
            (None, None) => {
                let help = "add `tools`, or give those of all tasks with --tools";
                return Err(fault("the task has no tools".to_owned(), help));
            }
        };
        let choice = choice_of(member("tool_choice"), &tools, line)?;
        let parallel = match member("parallel_tool_calls") {
            None => true,
            Some(Value::Bool(parallel)) => *parallel,
            Some(_) => {
                return Err(fault("`parallel_tool_calls` must be true or false".to_owned(), "correct it"));
            }
        };
        let max_tokens = match member("max_tokens").or_else(|| member("max_completion_tokens")) {
            None => MAX_TOKENS,
            Some(number) => number.as_u64().filter(|number| *number > 0).ok_or_else(|| {
                fault("`max_tokens` must be a number above 0".to_owned(), "or leave it out: it is 512 then")
            })?,
        };
        let expects = expectation_of(member("expect"), &tools, line)?;
        Ok(Task { name, messages, tools, choice, parallel, max_tokens, expects })
    }
}

impl TaskFault {
    fn new(line: usize, message: impl Into<String>, help: impl Into<String>) -> Self {
        TaskFault { line, message: message.into(), help: help.into() }
    }
}

fn tools_of(list: &Value, line: usize) -> Result<Registry, TaskFault> {
    let tools = Registry::from_value(list)
        .map_err(|error| TaskFault::new(line, format!("`tools`: {error}"), error.help()))?;
    if tools.is_empty() {
        return Err(TaskFault::new(line, "`tools` is empty", "a task is about tools: name at least one"));
    }
    Ok(tools)
}

/// The name of a tool that there is.
fn known(name: &str, tools: &Registry, line: usize) -> Result<String, TaskFault> {
    if tools.get(name).is_some() {
        return Ok(name.to_owned());
    }
    let help = match tools.nearest(name).first() {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", tools.names().collect::<Vec<_>>().join(", ")),
    };
    Err(TaskFault::new(line, format!("the task has no tool `{name}`"), help))
}

fn choice_of(value: Option<&Value>, tools: &Registry, line: usize) -> Result<Option<TaskChoice>, TaskFault> {
    let Some(value) = value else { return Ok(None) };
    Ok(match (value.as_str(), value.pointer("/function/name").and_then(Value::as_str)) {
        (Some("auto"), _) => None,
        (Some("none"), _) => Some(TaskChoice::None),
        (Some("required"), _) => Some(TaskChoice::Required),
        (_, Some(name)) => Some(TaskChoice::Named(known(name, tools, line)?)),
        _ => {
            let help = "use auto, none, required, or {\"type\": \"function\", \"function\": {\"name\": …}}";
            return Err(TaskFault::new(line, format!("`tool_choice` cannot be {value}"), help));
        }
    })
}

fn expectation_of(
    value: Option<&Value>,
    tools: &Registry,
    line: usize,
) -> Result<Option<Expectation>, TaskFault> {
    let Some(value) = value else { return Ok(None) };
    let call = |call: &Value| match (call.as_str(), call.get("name").and_then(Value::as_str)) {
        (Some(name), _) => Ok((known(name, tools, line)?, Map::new())),
        (_, Some(name)) => {
            let arguments = call.get("arguments").and_then(Value::as_object).cloned();
            Ok((known(name, tools, line)?, arguments.unwrap_or_default()))
        }
        _ => {
            let help = "name a tool, or write {\"name\": …, \"arguments\": {…}}";
            Err(TaskFault::new(line, format!("`expect` cannot hold {call}"), help))
        }
    };
    Ok(Some(match (value.as_str(), value) {
        (Some("call"), _) => Expectation::Call,
        (Some("no call"), _) => Expectation::Calls(Vec::new()),
        (Some("cut off"), _) => Expectation::CutOff,
        (_, Value::Array(calls)) => Expectation::Calls(calls.iter().map(call).collect::<Result<_, _>>()?),
        _ => {
            let help = "use \"call\", \"no call\", \"cut off\", or a list of calls";
            return Err(TaskFault::new(line, format!("`expect` cannot be {value}"), help));
        }
    }))
}

/// The line of a part of a text.
fn line_of(text: &str, part: &str) -> usize {
    let at = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOL: &str = r#"{"name": "look", "parameters": {"type": "object"}}"#;

    fn fault(text: &str) -> TaskFault {
        Task::read_all(text, None).unwrap_err()
    }

    #[test]
    fn the_built_in_tasks_can_be_read() {
        let tasks = Task::built_in().unwrap();
        assert_eq!(tasks.len(), 10);
        assert_eq!(tasks[6].choice, Some(TaskChoice::Required));
        assert_eq!(tasks[9].expects, Some(Expectation::CutOff));
        assert!(tasks.iter().all(|task| task.tools.len() == 3));
    }

    #[test]
    fn a_list_an_object_and_lines_say_the_same() {
        let task = format!(r#"{{"question": "q", "tools": [{TOOL}], "expect": ["look"]}}"#);
        let shared = format!(r#"{{"tools": [{TOOL}], "tasks": [{{"question": "q", "expect": ["look"]}}]}}"#);
        for text in [task.clone(), format!("[{task}]"), format!("\n{task}\n\n"), shared] {
            let tasks = Task::read_all(&text, None).unwrap();
            assert_eq!((tasks.len(), tasks[0].name.as_str()), (1, "task 1"), "{text}");
            assert_eq!(tasks[0].expects, Some(Expectation::Calls(vec![("look".to_owned(), Map::new())])));
        }
        let tools = Registry::from_json(&format!("[{TOOL}]")).unwrap();
        let two = Task::read_all("{\"question\": \"a\"}\n{\"question\": \"b\"}", Some(&tools)).unwrap();
        assert_eq!(two[1].messages[0]["content"], "b");
    }

    #[test]
    fn faults_have_their_line_and_a_way_out() {
        let good = format!(r#"{{"question": "q", "tools": [{TOOL}]}}"#);
        for (text, line, part, help) in [
            (format!("{good}\n{{\"question\": 1}}"), 2, "must be a string", "messages"),
            (format!("[\n{good},\n{{\"questoin\": \"q\"}}]"), 3, "no `questoin`", "`question`"),
            (format!("{good}\n\n{{\"question\": \"q\"}}"), 3, "no tools", "--tools"),
            (format!("{good}\n{{\"question\""), 2, "no JSON", "per line"),
            ("{\n\"question\": \"q\",\n]".to_owned(), 3, "no JSON", "per line"),
            ("[]".to_owned(), 1, "no task", "at least one"),
            ("3".to_owned(), 1, "an object", "question"),
            (good.replace("}]}", "}], \"expect\": [\"loook\"]}"), 1, "no tool `loook`", "`look`"),
            (good.replace("}]}", "}], \"tool_choice\": \"any\"}"), 1, "`tool_choice`", "required"),
            (good.replace("}]}", "}], \"max_tokens\": 0}"), 1, "above 0", "512"),
            (good.replace("}]}", "}], \"expect\": \"two\"}"), 1, "`expect`", "no call"),
            (good.replace("}]}", "}], \"messages\": []}"), 1, "not both", "leave"),
            ("{\"question\": \"q\", \"tools\": [{}]}".to_owned(), 1, "`tools`", ""),
        ] {
            let fault = fault(&text);
            assert_eq!(fault.line, line, "{text}: {fault:?}");
            assert!(fault.message.contains(part) && fault.help.contains(help), "{text}: {fault:?}");
            assert!(!fault.help.is_empty(), "{text}: {fault:?}");
        }
    }
}
