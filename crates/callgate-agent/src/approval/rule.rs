//! Rules: the name of a tool or the permission that it needs, and patterns that its arguments have to fit.

use std::fmt;

use callgate::Tool;
use serde_json::Value;

/// What stands before a permission in a rule.
const PERMISSION: char = '@';
/// How many calls pass between two questions where an `every_n` rule does not say, and the most that can be said.
const EVERY: u64 = 5;
const MOST: u64 = 100;

/// Files and folders that decide what runs later; a dangerous tool that names one always asks.
const PROTECTED: &[&str] = &[
    "**/.git",
    "**/.git/**",
    "**/.agent",
    "**/.agent/**",
    "**/.gitattributes",
    "**/.gitconfig",
    "**/.gitmodules",
    "**/.husky/**",
    "**/.pre-commit-config.yaml",
    "**/.ssh/**",
    "**/*.code-workspace",
    "**/.vscode/**",
    "**/.idea/**",
    "**/.devcontainer/**",
    "**/.claude/**",
    "**/.cursor/**",
    "**/.mcp.json",
    "**/.bashrc",
    "**/.bash_profile",
    "**/.profile",
    "**/.zshrc",
    "**/.zshenv",
    "**/.zprofile",
    "**/.envrc",
    "**/.npmrc",
    "**/.cargo/config",
    "**/.cargo/config.toml",
    "**/.github/workflows/**",
    "**/.gitlab-ci.yml",
    "**/crontab",
    "/etc/**",
];

/// A rule such as `fs.write path=docs/**`, or `@FS_WRITE` for every tool that needs this permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    tool: String,
    patterns: Vec<(String, String)>,
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RuleError {}

/// How a rule treats a value that could be read in several ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// For rules that allow: the value must fit as it stands, and one that climbs or hides something does not.
    Plain,
    /// For rules that forbid: the value fits if any way of writing it does, in any case of letters.
    Strict,
}

impl Rule {
    /// Reads a rule.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let mut words = text.split_whitespace();
        let tool = words.next().ok_or_else(|| RuleError { message: "the rule is empty".to_owned() })?;
        if tool.contains('=') {
            return Err(RuleError {
                message: format!("the rule `{text}` must start with the name of a tool"),
            });
        }
        if tool == PERMISSION.to_string() {
            return Err(RuleError { message: format!("the rule `{text}` names no permission behind `@`") });
        }
        let mut patterns = Vec::new();
        for word in words {
            let parts = word.split_once('=').filter(|(key, pattern)| !key.is_empty() && !pattern.is_empty());
            let Some((key, pattern)) = parts else {
                return Err(RuleError {
                    message: format!("`{word}` in the rule `{text}` is no `argument=pattern`"),
                });
            };
            patterns.push((key.to_owned(), pattern.to_owned()));
        }
        Ok(Rule { tool: tool.to_owned(), patterns })
    }

    /// Whether a call fits. A rule with several patterns fits if all of them do.
    pub fn fits(&self, tool: &Tool, arguments: &Value, fit: Fit) -> bool {
        let is_meant = match self.tool.strip_prefix(PERMISSION) {
            Some(permission) => tool.permission.as_ref().is_some_and(|needed| glob(permission, needed, fit)),
            None => glob(&self.tool, &tool.name, fit),
        };
        is_meant
            && self.patterns.iter().all(|(key, pattern)| match arguments.get(key) {
                None => false,
                Some(Value::Array(items)) => match fit {
                    Fit::Plain => {
                        !items.is_empty() && items.iter().all(|item| value_fits(pattern, item, fit))
                    }
                    Fit::Strict => items.iter().any(|item| value_fits(pattern, item, fit)),
                },
                Some(value) => value_fits(pattern, value, fit),
            })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tool)?;
        self.patterns.iter().try_for_each(|(key, pattern)| write!(f, " {key}={pattern}"))
    }
}

/// A rule by which not every call asks, but every n-th: `5 fs.read`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EveryNth {
    /// Which call asks, counted from the last yes.
    pub n: u64,
    /// Which calls count.
    pub rule: Rule,
}

impl EveryNth {
    /// Reads a number and a rule; without a number every fifth call asks.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let (first, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        let is_number = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number {
            return Ok(EveryNth { n: EVERY, rule: Rule::parse(text)? });
        }
        match first.parse() {
            Ok(n) if (1..=MOST).contains(&n) => Ok(EveryNth { n, rule: Rule::parse(rest)? }),
            _ => Err(RuleError { message: format!("the number of `{text}` must be 1 to {MOST}") }),
        }
    }
}

impl fmt::Display for EveryNth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.n, self.rule)
    }
}

/// The first text among the arguments that names a protected file.
pub(super) fn protected(arguments: &Value) -> Option<String> {
    let mut open = vec![arguments];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => open.extend(members.values()),
            Value::Array(items) => open.extend(items),
            // Contents of files are long or have several lines; paths are neither.
            Value::String(text) if is_protected(text) => return Some(text.clone()),
            _ => {}
        }
    }
    None
}

/// Contents of files are long or have several lines; paths are neither.
fn is_protected(text: &str) -> bool {
    let is_path = text.len() <= 4096 && !text.contains('\n');
    is_path && PROTECTED.iter().any(|pattern| text_fits(pattern, text, Fit::Strict))
}

fn value_fits(pattern: &str, value: &Value, fit: Fit) -> bool {
    match value {
        Value::String(text) => text_fits(pattern, text, fit),
        other => glob(pattern, &other.to_string(), fit),
    }
}

fn text_fits(pattern: &str, text: &str, fit: Fit) -> bool {
    match fit {
        Fit::Plain => {
            let climbs = text.split(['/', '\\']).any(|part| part == "..");
            let hides = text.chars().any(crate::visible::is_hidden);
            !climbs && !hides && glob(pattern, text, fit)
        }
        Fit::Strict => {
            let plain = resolved(text);
            glob(pattern, text, fit)
                || glob(pattern, &plain, fit)
                // `**/x` is also meant for an `x` at the top.
                || pattern.strip_prefix("**/").is_some_and(|rest| glob(rest, &plain, fit))
        }
    }
}

/// A path without detours: `./a//b/../c` is `a/c`. Both kinds of slash count, and hidden characters do not.
fn resolved(path: &str) -> String {
    let path: String = path.chars().filter(|c| !crate::visible::is_hidden(*c)).collect();
    let is_absolute = path.starts_with(['/', '\\']);
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split(['/', '\\']) {
        // Windows ignores dots and spaces at the end of a name.
        match part.trim_end_matches([' ', '.']) {
            _ if part == ".." => {
                parts.pop();
            }
            "" => {}
            part => parts.push(part),
        }
    }
    format!("{}{}", if is_absolute { "/" } else { "" }, parts.join("/"))
}

/// Whether a text fits a pattern: `*` is anything but a slash, `**` anything, `?` one character.
///
/// Each star remembers one place to go on from, so the work is at most the product of both lengths.
fn glob(pattern: &str, text: &str, fit: Fit) -> bool {
    let fold = |text: &str| -> Vec<char> {
        match fit {
            Fit::Plain => text.chars().collect(),
            Fit::Strict => text.chars().flat_map(char::to_lowercase).collect(),
        }
    };
    let (pattern, text) = (fold(pattern), fold(text));
    // The positions of the pattern that the text so far can have reached.
    let mut places = vec![false; pattern.len() + 1];
    places[0] = true;
    pass_stars(&pattern, &mut places);
    for c in text {
        let mut next = vec![false; pattern.len() + 1];
        for at in (0..pattern.len()).filter(|at| places[*at]) {
            match pattern[at] {
                '*' if c != '/' || is_double(&pattern, at) => next[at] = true,
                '*' => {}
                '?' if c != '/' => next[at + 1] = true,
                literal if literal == c => next[at + 1] = true,
                _ => {}
            }
        }
        pass_stars(&pattern, &mut next);
        places = next;
    }
    places[pattern.len()]
}

/// A star may match nothing, so a position before it also reaches the one behind it.
fn pass_stars(pattern: &[char], places: &mut [bool]) {
    for at in 0..pattern.len() {
        if places[at] && pattern[at] == '*' {
            places[at + 1] = true;
        }
    }
}

/// Whether a star is one of two.
fn is_double(pattern: &[char], at: usize) -> bool {
    pattern.get(at + 1) == Some(&'*') || (at > 0 && pattern[at - 1] == '*')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str) -> Tool {
        Tool::new(name, "A tool.", json!({}))
    }

    #[test]
    fn patterns_mean_what_the_page_says() {
        for (pattern, text, wanted) in [
            ("docs/*", "docs/a.md", true),
            ("docs/*", "docs/a/b.md", false),
            ("docs/**", "docs/a/b.md", true),
            ("docs/**", "docsx/a", false),
            ("**/a", "x/y/a", true),
            ("*.rs", "main.rs", true),
            ("*.rs", "src/main.rs", false),
            ("**.rs", "src/main.rs", true),
            ("a?c", "abc", true),
            ("a?c", "a/c", false),
            ("", "", true),
            ("*", "", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b", false),
        ] {
            assert_eq!(glob(pattern, text, Fit::Plain), wanted, "{pattern} {text}");
        }
    }

    #[test]
    fn a_pattern_of_stars_is_no_trap() {
        let text = "a".repeat(20_000);
        assert!(!glob(&"*a".repeat(40), &format!("{text}b"), Fit::Plain));
    }

    #[test]
    fn what_allows_needs_the_plain_path_and_what_forbids_takes_any_spelling() {
        let rule = Rule::parse("fs.write path=docs/**").unwrap();
        let fits = |path: &str, fit| rule.fits(&tool("fs.write"), &json!({"path": path}), fit);
        assert!(fits("docs/a", Fit::Plain));
        for path in
            ["docs/../src/a", "docs/a/../../x", "docs/a\u{202e}b", "docs\\..\\x", "Docs/a", "./docs/a"]
        {
            assert!(!fits(path, Fit::Plain), "{path:?}");
        }
        let rule = Rule::parse("fs.write path=.git/**").unwrap();
        for path in [
            ".git/config",
            "./.git/config",
            "a/../.git/config",
            ".GIT/config",
            ".git//config",
            ".git\\config",
            ".git/./config",
            ".g\u{200b}it/config",
            ".git /config",
        ] {
            assert!(rule.fits(&tool("fs.write"), &json!({"path": path}), Fit::Strict), "{path:?}");
        }
    }

    #[test]
    fn every_pattern_must_fit_and_lists_count_by_their_worst() {
        let rule = Rule::parse("mail.* to=*@here.test cc=*@here.test").unwrap();
        let with =
            |to: Value, cc: Value| rule.fits(&tool("mail.send"), &json!({"to": to, "cc": cc}), Fit::Plain);
        assert!(with(json!("a@here.test"), json!(["b@here.test"])));
        assert!(!with(json!("a@here.test"), json!(["b@here.test", "c@there.test"])));
        assert!(!with(json!("a@here.test"), json!([])));
        assert!(!with(json!("a@here.test"), Value::Null));
        assert!(!rule.fits(&tool("mail.send"), &json!({"to": "a@here.test"}), Fit::Plain));
        assert!(!rule.fits(
            &tool("post.send"),
            &json!({"to": "a@here.test", "cc": "a@here.test"}),
            Fit::Plain
        ));
        let rule = Rule::parse("mail.send to=*@there.test").unwrap();
        assert!(rule.fits(&tool("mail.send"), &json!({"to": ["a@here.test", "c@there.test"]}), Fit::Strict));
    }

    #[test]
    fn rules_read_back_as_they_were_written_and_others_are_rejected() {
        for text in ["fs.read", "fs.write path=docs/** content=*", "*"] {
            assert_eq!(Rule::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "  ", "path=docs/**", "fs.write docs/**", "fs.write path=", "fs.write =x"] {
            assert!(Rule::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_permission_stands_for_every_tool_that_needs_it() {
        let fits = |rule: &str, tool: &Tool| {
            Rule::parse(rule).unwrap().fits(tool, &json!({"path": "docs/a"}), Fit::Strict)
        };
        let write = tool("put").permission("FS_WRITE");
        for (rule, wanted) in [
            ("@FS_WRITE", true),
            ("@fs_write", true),
            ("@FS_*", true),
            ("@FS_WRITE path=docs/**", true),
            ("@FS_WRITE path=src/**", false),
            ("@FS_READ", false),
            ("FS_WRITE", false),
        ] {
            assert_eq!(fits(rule, &write), wanted, "{rule}");
            assert!(!fits(rule, &tool("put")), "{rule} fits a tool that needs none");
        }
        assert!(fits("*", &write) && Rule::parse("@").is_err());
        let exact = Rule::parse("@fs_write").unwrap();
        assert!(!exact.fits(&write, &json!({}), Fit::Plain), "what allows is meant as it is written");
    }

    #[test]
    fn every_nth_call_is_a_number_and_a_rule() {
        for (text, shown) in [
            ("3 fs.read", "3 fs.read"),
            (" 100  @FS_WRITE path=a ", "100 @FS_WRITE path=a"),
            ("fs.*", "5 fs.*"),
        ] {
            assert_eq!(EveryNth::parse(text).unwrap().to_string(), shown);
        }
        for text in ["", "3", "0 fs.read", "101 fs.read", "99999999999999999999 x", "3 path=a", "3 4 x"] {
            assert!(EveryNth::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn protected_files_are_seen_wherever_they_stand() {
        for arguments in [
            json!({"path": "src/.git/hooks/pre-commit"}),
            json!({"edits": [{"file": "./x.code-workspace"}]}),
            json!({"path": "a/../.agent/config.yml"}),
            json!({"path": "/etc/cron.d/x"}),
            json!({"path": ".Git/config"}),
        ] {
            assert!(protected(&arguments).is_some(), "{arguments}");
        }
        for arguments in
            [json!({"path": "src/git.rs"}), json!({"content": "see .git/config\nand more"}), json!({"n": 1})]
        {
            assert_eq!(protected(&arguments), None, "{arguments}");
        }
    }
}
