//! The page of findings: every code with what it means, what to do, and an input that shows it.

use callgate::{Code, Profile, Severity};

use super::{MADE, block, gate, said, sentence, situations};

const HEAD: &str = "\
# Findings

Everything the gate has to say about a response is a *finding*: a stable code, a severity, the bytes it is about, the
place in the arguments, a message, and what to do. `callgate explain CODE` shows any of them at the terminal.

- **error**: a call was rejected because of this, or the response as a whole is wrong.
- **warning**: something was read differently from how it was written, or left alone on purpose.
- **info**: worth knowing; nothing was rejected.

A code never changes its meaning. Messages may: they are for people and models. *Kind* is the group for hosts that only
branch on groups. The examples are run by the tests, with two tools: `look` (`q`: string, required; `n`: integer up to
100; `mode`: `exact` or `near`) and `put` (`text`: string). What the gate says about each is copied from that run.

";

/// The page.
pub(crate) fn page() -> String {
    let mut page = format!("{MADE}{HEAD}| code | severity | what it says |\n|---|---|---|\n");
    for code in Code::ALL {
        let entry = code.entry();
        page.push_str(&format!("| [`{code}`](#{code}) | {} | {} |\n", entry.severity, entry.message));
    }
    for code in Code::ALL {
        page.push_str(&section(*code));
    }
    page
}

fn section(code: Code) -> String {
    let entry = code.entry();
    let severity = match entry.severity {
        Severity::Info => "Info",
        Severity::Warning => "Warning",
        Severity::Error => "Error",
    };
    let mut section = format!(
        "\n## {code}\n\n{severity}, kind `{}`. {}\n\n*What to do:* {}\n",
        entry.kind,
        sentence(entry.message),
        entry.help
    );
    let names: Vec<String> = Profile::NAMES
        .iter()
        .filter_map(|name| Some(format!("`{}` in the profile `{name}`", Profile::named(name)?.code(code)?)))
        .collect();
    if !names.is_empty() {
        section.push_str(&format!("\n*Also called:* {}.\n", names.join(", ")));
    }
    if let Some(situation) = situations::of(code) {
        section.push_str(&format!("\n*Shown by:* {}.\n", situation.words));
        return section;
    }
    let example = &entry.example;
    if example.text.is_empty() {
        section.push_str(&format!(
            "\n*Example*, profile `{}`: an output of no bytes at all.\n",
            example.profile
        ));
    } else {
        let text = block("text", example.text);
        section.push_str(&format!("\n*Example*, profile `{}`:\n\n{text}", example.profile));
    }
    let response = gate(example.profile).parse(example.text);
    if let Some(finding) = said(&response).into_iter().find(|finding| finding.code == code) {
        let place = match finding.span {
            None => "about the whole response",
            Some(span) if span.is_empty() => &format!("at byte {}", span.start),
            Some(span) => &format!("bytes {} to {}", span.start, span.end),
        };
        section.push_str(&format!("\nThe gate says, {place}: {}\n", finding.message));
    }
    section
}

/// Why the example of a code does not show it, if it does not.
pub(crate) fn example_fault(code: Code) -> Option<String> {
    let example = &code.entry().example;
    if example.profile.is_empty() {
        return None;
    }
    let response = gate(example.profile).parse(example.text);
    let found: Vec<Code> = said(&response).iter().map(|finding| finding.code).collect();
    (!found.contains(&code))
        .then(|| format!("the example of {code} gives {found:?}, calls {:?}", response.calls))
}
