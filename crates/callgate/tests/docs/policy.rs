//! The page of the policy: every knob with its values, read from the source's own comments, and its value per profile.

use callgate::Profile;
use serde_json::Value;

use super::{MADE, profile, sentence};

const SOURCE: &str = include_str!("../../src/policy.rs");
const METHODS: &str = include_str!("../../src/policy/knobs.rs");

const HEAD: &str = "\
# Policy

What the gate allows is data. A profile has a policy; change single knobs by building on it:

```rust
use callgate::{Gate, Profile};

let policy = Profile::standard().policy().repair_off().max_calls(4);
let gate = Gate::builder().policy(policy).build()?;
```

Each value of a knob has a method, named by both: `repair` = `off` is `repair_off()`, and a limit is `limit_depth(16)`. As data, a policy is an object
of those knobs that differ from `standard`; a key that is no knob is an error.

By name, a knob is set wherever a profile can be chosen, by the same rule: `Policy::set`, `--set KNOB=VALUE` on `callgate parse`, `scan`, `chat` and `serve`, `policy` in a line of
`scan` and beside `profile` in the [settings of the gateway](gateway.md#settings), and `policy.KNOB` in the [configuration](configuration.md). A name or a word that there is not is an error with the nearest ones.
A number of bytes may be said as the table below prints it: `64KiB`, `1 MiB`.

`callgate config show --profile NAME` prints the same values at the terminal.

## The profile for tools that can do harm

`guarded` is what should stand in front of a tool that deletes, pays or sends. It wants exactly one dialect, by name (`native` for structured calls
alone): a gate that listens for every format has a caller for each of them, and building one without is an error. A call counts only at the start
of a line, only in that format, only if the provider said in a known word that the response is complete, and only if it has no member that the
format does not have. Every tool is dangerous, an echo of untrusted text is rejected, and one rejection rejects the response.

Nothing is repaired, not even what has one reading only. A lossless repair is safe for what it reads, but a call that needs one is not what the format
writes: it is a call that something else may have written, or that was hurt on its way. Asking again costs one turn; a model that often needs
repair is better served by `standard` with fewer tools.

";

/// What a knob's comment does not say.
const REMARKS: &[(&str, &str)] = &[
    (
        "truncated",
        "How a response ended is read from the provider's word, in any spelling (`FinishReason::WORDS` has all that are known: `stop`, `end_turn`, `tool_use`, … are good; `length`, `max_tokens`, `content_filter`, `error`, … are not). Only a good ending lets a repair close a call. After a bad one, what is not closed is cut off in every profile; where nobody said, or in a word that nobody knows, it is cut off unless this knob is `complete`. A call that was closed stands.",
    ),
    (
        "endings",
        "`good` is for a host that always knows how the response ended: a call of a response that nobody said is complete does not come out, closed or not.",
    ),
    (
        "members",
        "Known are the members that the dialect's own objects have, and a few that providers add: `id`, `type`, `index`, `call_id`, `tool_call_id`, `object`, `status`, `extra_content`, `thought_signature`. A second name that differs from the first rejects the call under every policy.",
    ),
    (
        "dangerous",
        "For calls of dangerous tools nothing is guessed: names are not repaired, unknown members reject, and what is cut off is not closed without a good ending. With `all` a host should also ask before every call (`Gate::is_dangerous`).",
    ),
    (
        "limits.rejections",
        "The spans still account for every byte: the last rejection, `too-many-refusals`, covers all that follows. Calls in it do not come out. The reasons of all rejections together hold about 1 MiB; after that each keeps the one that decides, and no raw text.",
    ),
    (
        "limits.work",
        "The work of judging counts where the call ends that was judged, so it makes no difference how the text was cut. When it is spent, the rest is one rejection, `work-limit`; calls before it stand, as after the word `length`. Comparing names is bounded by itself: a response gets at most 16 suggestions of what was meant.",
    ),
    (
        "reasoning",
        "Dialects in which a call may end the thought (`ends_thought`) decide at the end of the response.",
    ),
    (
        "release",
        "A gate with `early` cannot be built beside `partial = all-or-nothing`, `on_excess = reject`, `position = trailing` or `endings = good`: these can still revoke a call.",
    ),
    (
        "limits.untrusted",
        "What is over the limit is not compared: then every call that is no echo of the rest is `echo-unchecked`, and rejected where `echo` is `reject`.",
    ),
    (
        "echo",
        "A call is an echo if one text given as `untrusted` (`Session::untrusted`, the batch field, all results of tools in `callgate chat`) holds its frame word by word, or holds its tool's name, every key and every line of every value, each word by word, within as many words as they have and a few for each that a format writes beside them. \
Words are runs of letters, digits and `_-/~$%+`, compared after escapes of JSON, entities of HTML, wide and hidden characters are undone; white space, quotes and brackets only separate them, so a broken control token is no difference, and letter case is one. \
A call none of whose values has a word must stand there as some dialect writes it. Using a path or a word that a result gave is no echo; the same call in other words is not recognised.",
    ),
];

/// The page.
pub(crate) fn page() -> String {
    let items = items();
    let policies: Vec<Value> = Profile::NAMES
        .iter()
        .map(|name| serde_json::to_value(profile(name).policy()).unwrap_or_else(|error| panic!("{error}")))
        .collect();
    let mut page = format!(
        "{MADE}{HEAD}## By profile\n\n{}\nThe last five are [systems that people come from](systems.md), each with a page of its own. What differs from `standard` is bold.\n\n",
        profiles()
    );
    page.push_str(&format!(
        "| knob | {} |\n|---|{}\n",
        Profile::NAMES.join(" | "),
        "---|".repeat(policies.len())
    ));
    let mut sections = String::new();
    for knob in knobs(&items) {
        let values: Vec<String> = policies.iter().map(|policy| knob.value(policy)).collect();
        let cells = values
            .iter()
            .map(|value| if *value == values[0] { value.clone() } else { format!("**{value}**") });
        let cells: Vec<String> = cells.collect();
        page.push_str(&format!("| [`{}`](#{}) | {} |\n", knob.path, knob.anchor(), cells.join(" | ")));
        sections.push_str(&section(&knob, &items, &values[0]));
    }
    page + "\n## The knobs\n" + &sections
}

/// What each profile is, in its own words.
fn profiles() -> String {
    let mut table = String::from("| profile | what it is |\n|---|---|\n");
    for name in Profile::NAMES {
        let summary = profile(name)
            .summary()
            .replace('|', "\\|")
            .replace("```json", "fenced `json`")
            .replace('<', "&lt;");
        table.push_str(&format!("| `{name}` | {summary} |\n"));
    }
    table
}

fn section(knob: &Knob, items: &[Item], standard: &str) -> String {
    let mut section = format!("\n### `{}`\n\n{} Default: {standard}.\n", knob.path, sentence(knob.words));
    if let Some(choice) = items.iter().find(|item| item.name == knob.kind && item.is_enum) {
        section.push_str("\n| value | meaning |\n|---|---|\n");
        for variant in &choice.members {
            section.push_str(&format!("| `{}` | {} |\n", kebab(&variant.name), variant.words));
        }
        let built = |variant: &Member| {
            let method = format!("    {}_{} ", knob.path, kebab(&variant.name).replace('-', "_"));
            METHODS.contains(&method)
        };
        let missing = choice.members.iter().find(|variant| !built(variant)).map(|variant| &variant.name);
        assert!(missing.is_none(), "the policy has no method for {} = {missing:?}", knob.path);
        let listed = choice.members.iter().any(|variant| kebab(&variant.name) == standard);
        assert!(listed, "{} = {standard} is none of the variants of {}", knob.path, knob.kind);
    }
    if let Some((_, remark)) = REMARKS.iter().find(|(path, _)| *path == knob.path) {
        section.push_str(&format!("\n{remark}\n"));
    }
    section
}

/// One value of the policy.
struct Knob<'a> {
    /// Where it stands, as in `limits.depth`.
    path: String,
    words: &'a str,
    /// The name of its Rust type.
    kind: &'a str,
}

impl Knob<'_> {
    fn value(&self, policy: &Value) -> String {
        let value = self.path.split('.').fold(policy, |value, key| &value[key]);
        match (value, value.as_u64()) {
            (_, Some(bytes)) if self.words.contains("in bytes") && bytes % (1 << 20) == 0 => {
                format!("{} MiB", bytes >> 20)
            }
            (_, Some(bytes)) if self.words.contains("in bytes") && bytes % (1 << 10) == 0 => {
                format!("{} KiB", bytes >> 10)
            }
            (Value::String(text), _) if self.kind == "String" && text.is_empty() => "none".to_owned(),
            (Value::String(text), _) if self.kind == "String" => format!("`{text}`"),
            (Value::String(word), _) => word.clone(),
            (Value::Null, _) => panic!("the policy has no {}", self.path),
            (other, _) => other.to_string(),
        }
    }

    /// The anchor that a heading of the path has.
    fn anchor(&self) -> String {
        self.path.replace('.', "")
    }
}

/// The knobs in the order of the source, those of inner structs in their place.
fn knobs(items: &[Item]) -> Vec<Knob<'_>> {
    let members =
        |name: &str| items.iter().find(|item| item.name == name && !item.is_enum).map(|item| &item.members);
    let mut knobs = Vec::new();
    for member in members("Policy").into_iter().flatten() {
        match members(&member.kind) {
            None => knobs.push(Knob { path: member.name.clone(), words: &member.words, kind: &member.kind }),
            Some(inner) => knobs.extend(inner.iter().map(|inner| {
                let path = format!("{}.{}", member.name, inner.name);
                Knob { path, words: &inner.words, kind: &inner.kind }
            })),
        }
    }
    knobs
}

/// A struct or enum of the source.
struct Item {
    name: String,
    is_enum: bool,
    members: Vec<Member>,
}

/// A field or variant with its comment.
struct Member {
    name: String,
    words: String,
    kind: String,
}

/// The public structs and enums of the source. It is formatted, so a line is a field, a variant or a comment.
fn items() -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut words = String::new();
    let mut open = false;
    for line in SOURCE.lines() {
        let trimmed = line.trim();
        if let Some(comment) = trimmed.strip_prefix("/// ") {
            words = format!("{words} {comment}").trim().to_owned();
            continue;
        }
        if trimmed.starts_with("#[") {
            continue;
        }
        let words = std::mem::take(&mut words);
        let head = |keyword: &str| line.strip_prefix(keyword).and_then(|rest| rest.strip_suffix(" {"));
        if let Some(name) = head("pub enum ").or_else(|| head("pub struct ")) {
            let is_enum = line.starts_with("pub enum");
            items.push(Item { name: name.to_owned(), is_enum, members: Vec::new() });
            open = true;
        } else if line == "}" {
            open = false;
        } else if open && let Some(item) = items.last_mut() {
            let member = trimmed.trim_end_matches(',').trim_start_matches("pub ");
            let (name, kind) = member.split_once(": ").unwrap_or((member, ""));
            item.members.push(Member { name: name.to_owned(), words, kind: kind.to_owned() });
        }
    }
    items
}

/// A variant as it is written in JSON.
fn kebab(variant: &str) -> String {
    let mut word = String::new();
    for c in variant.chars() {
        if c.is_uppercase() && !word.is_empty() {
            word.push('-');
        }
        word.extend(c.to_lowercase());
    }
    word
}
