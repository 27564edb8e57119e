//! Dead regions against an oracle: a call that CommonMark shows as code or as a quotation does not run, on generated
//! documents and on tables of forms.

// What fails outside of a test function fails the test that called it.
#![allow(clippy::panic)]

mod documents;
mod oracle;
#[path = "../support/mod.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::LazyLock;

use callgate::{Gate, Profile, Record, Response, Span};
use documents::{CALLS, Document, document, slot};
use oracle::{Region, marker, regions};
use support::calls::{remove, tools};
use support::dice::{Dice, from_environment};
use support::guard::in_parallel;
use support::{Feed, difference, response};

/// The profiles whose dialects are all of the unmistakable ones.
const PROFILES: [&str; 3] = ["strict", "standard", "lenient"];

static GATES: LazyLock<Vec<Gate>> =
    LazyLock::new(|| PROFILES.iter().map(|name| support::gate(name, &tools())).collect());

// ---- the calls ----

/// Formats that listen unasked: between tags in one line and in several, after a bracket, between special tokens.
const FORMATS: [&str; 9] = [
    "hermes",
    "mistral",
    "qwen3-coder",
    "kimi-k2",
    "deepseek-v31",
    "glm45",
    "minimax-m2",
    "seed-oss",
    "in one line",
];

fn call(format: usize, path: &str) -> String {
    let name = FORMATS[format % FORMATS.len()];
    let Some(record) = Record::named(name) else {
        return format!("<tool_call>{{\"name\":\"rm\",\"arguments\":{{\"path\":\"{path}\"}}}}</tool_call>");
    };
    remove(record, path).unwrap_or_else(|| panic!("{name} cannot write the call"))
}

#[test]
fn every_planted_format_runs_where_nothing_is_around_it() {
    for (gate, profile) in GATES.iter().zip(PROFILES) {
        for (format, name) in FORMATS.iter().enumerate() {
            let calls = gate.parse(&format!("So:\n\n{}\n\nDone.\n", call(format, "p"))).calls;
            assert_eq!(calls.len(), 1, "{name} in {profile}");
        }
    }
}

// ---- one document ----

/// A document with the format of each of its calls.
#[derive(Clone)]
struct Case {
    document: Document,
    formats: [usize; CALLS],
}

impl Case {
    fn numbered(seed: u64, number: usize) -> (Case, Dice) {
        let mut dice = Dice::new(seed, number as u64);
        let formats = std::array::from_fn(|_| dice.below(FORMATS.len()));
        (Case { document: document(&mut dice), formats }, dice)
    }

    /// What the gate reads, and where each call stands.
    fn text(&self) -> (String, Vec<(usize, usize, usize)>) {
        self.document.filled(|number| self.call(number))
    }

    fn call(&self, number: usize) -> String {
        call(self.formats[number], &marker(number))
    }

    /// The document with a letter for each call, for people.
    fn shown(&self) -> String {
        format!("{:?}", self.document.filled(|_| "K".to_owned()).0)
    }

    /// The formats of the calls that are left.
    fn formats(&self) -> impl Iterator<Item = &'static str> {
        let slots = self.document.lines.iter().flat_map(|line| line.chars()).filter_map(slot);
        slots.map(|number| FORMATS[self.formats[number]])
    }
}

/// What became of one call of a document.
struct Fate {
    region: Region,
    ran: bool,
    /// The codes of what was said about the place of the call.
    said: BTreeSet<&'static str>,
}

fn fates(case: &Case, profile: usize) -> Vec<Fate> {
    let gate = &GATES[profile];
    let (text, places) = case.text();
    let response = response(&Feed::new(gate).whole(text.as_bytes()));
    regions(&case.document, |number| case.call(number), |region| is_dead(PROFILES[profile], region))
        .into_iter()
        .zip(places)
        .filter_map(|(region, place)| Some((region?, place)))
        .map(|(region, (number, start, end))| Fate {
            region,
            ran: ran(&response).contains(&number),
            said: said(&response, Span::new(start, end)),
        })
        .collect()
}

/// The numbers of the calls that ran.
fn ran(response: &Response) -> BTreeSet<usize> {
    let paths = response.calls.iter().filter_map(|call| call.value()["path"].as_str().map(str::to_owned));
    paths.filter_map(|path| path.strip_prefix('k')?.parse().ok()).collect()
}

/// The codes of all findings and rejections that touch a span.
fn said(response: &Response, place: Span) -> BTreeSet<&'static str> {
    let touches = |span: Option<Span>| span.is_some_and(|s| s.start <= place.end && place.start <= s.end);
    let rejected = response.rejected.iter().filter(|rejected| touches(rejected.span));
    let rejected = rejected.flat_map(|rejected| &rejected.findings);
    let remarks = response.findings.iter().filter(|finding| touches(finding.span));
    rejected.chain(remarks).map(|finding| finding.code.word()).collect()
}

/// What is wrong, by class. The order is the order of the report.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Fault {
    /// A call that is shown, not made, runs.
    Runs(Region),
    /// A call in indented code runs and nothing is said about it.
    Unsaid,
    /// The events depend on how the text is cut.
    Chunks,
    /// A call in running text does not run, for this reason. No danger, but a loss.
    Lost(String),
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Fault::Runs(region) => write!(f, "a call runs out of: {region:?}"),
            Fault::Unsaid => write!(f, "a call in indented code runs, and nothing is said"),
            Fault::Chunks => write!(f, "the chunks matter"),
            Fault::Lost(why) => write!(f, "a call in running text does not run: {why}"),
        }
    }
}

/// Whether no call may run in a region under a profile.
fn is_dead(profile: &str, region: Region) -> bool {
    match region {
        Region::Text => false,
        Region::Indented => profile == "strict",
        // In `lenient`, a fence around an unmistakable marker is live.
        Region::Fence => profile != "lenient",
        Region::Info | Region::Span | Region::Quote => true,
    }
}

/// What is wrong with the fate of a call under a profile, if anything is.
fn fault(profile: &str, fate: &Fate) -> Option<Fault> {
    match (is_dead(profile, fate.region), fate.ran) {
        (true, true) => Some(Fault::Runs(fate.region)),
        (false, true) if fate.region == Region::Indented && fate.said.is_empty() => Some(Fault::Unsaid),
        (false, false) if matches!(fate.region, Region::Text | Region::Indented) => {
            let why: Vec<&str> = fate.said.iter().copied().collect();
            Some(Fault::Lost(if why.is_empty() { "in silence".to_owned() } else { why.join(", ") }))
        }
        _ => None,
    }
}

/// Whether the document shows this fault.
fn shows(case: &Case, profile: usize, class: &Fault) -> bool {
    let gate = &GATES[profile];
    if *class == Fault::Chunks {
        let (feed, text) = (Feed::new(gate), case.text().0);
        let whole = feed.whole(text.as_bytes());
        return [1, 2, 3, 5, 8].iter().any(|size| feed.pieces(text.as_bytes().chunks(*size)) != whole);
    }
    fates(case, profile).iter().any(|fate| fault(PROFILES[profile], fate).as_ref() == Some(class))
}

// ---- smaller documents ----

/// The smallest document that shows the same fault: lines are taken out, then characters. Line breaks stay, or every
/// fence would shrink to its opening line.
fn shrunk(mut case: Case, shows: impl Fn(&Case) -> bool) -> Case {
    loop {
        let before = case.document.clone();
        let mut at = 0;
        while at < case.document.lines.len() {
            let mut smaller = case.clone();
            smaller.document.lines.remove(at);
            if shows(&smaller) { case = smaller } else { at += 1 }
        }
        let mut characters: Vec<char> = case.document.lines.concat().chars().collect();
        let mut at = 0;
        while at < characters.len() {
            let mut fewer = characters.clone();
            fewer.remove(at);
            let document = Document::of(&fewer.iter().collect::<String>());
            let smaller = Case { document, formats: case.formats };
            if !matches!(characters[at], '\n' | '\r') && shows(&smaller) {
                (case, characters) = (smaller, fewer);
            } else {
                at += 1;
            }
        }
        if case.document == before {
            return case;
        }
    }
}

/// How many documents of one class of faults are made small, and how many of these are shown.
const SHRUNK: usize = 64;
const SHOWN: usize = 16;

/// The smallest documents of a class, the most frequent first, each with the formats of its calls.
fn minimal(profile: usize, class: &Fault, cases: &[Case]) -> Vec<String> {
    let mut seen: BTreeMap<String, (usize, BTreeSet<&str>)> = BTreeMap::new();
    for case in cases.iter().take(SHRUNK) {
        let smallest = shrunk(case.clone(), |case| shows(case, profile, class));
        let (count, formats) = seen.entry(smallest.shown()).or_default();
        *count += 1;
        formats.extend(smallest.formats());
    }
    let mut seen: Vec<(String, (usize, BTreeSet<&str>))> = seen.into_iter().collect();
    seen.sort_by_key(|(shown, (count, _))| (std::cmp::Reverse(*count), shown.len()));
    let line = |(shown, (count, formats)): (String, (usize, BTreeSet<&str>))| {
        format!("{count:3} x {shown}  ({})", formats.into_iter().collect::<Vec<_>>().join(", "))
    };
    seen.into_iter().map(line).collect()
}

// ---- many documents ----

/// The largest share of calls in running text that may be lost, of a thousand. Where Markdown cannot be decided as it
/// streams, losing a call is the safe side.
const MOST_LOST: usize = 65;

#[test]
fn c06_no_call_runs_out_of_code_or_a_quotation_in_any_document() {
    let count = from_environment("CALLGATE_DOCUMENTS", 8000);
    let seed = from_environment("CALLGATE_SEED", 1) as u64;
    let numbers: Vec<usize> = (0..count).collect();
    let results = in_parallel(&numbers, |&number| {
        let (case, mut dice) = Case::numbered(seed, number);
        let (text, _) = case.text();
        let cuts = dice.cuts(text.len(), 12);
        let mut found = Vec::new();
        let mut tally = BTreeMap::new();
        for (profile, gate) in GATES.iter().enumerate() {
            let feed = Feed::new(gate);
            let whole = feed.whole(text.as_bytes());
            if difference(&feed.cut(text.as_bytes(), &cuts), &whole).is_some() {
                found.push((profile, Fault::Chunks));
            }
            for fate in fates(&case, profile) {
                *tally.entry((profile, fate.region, fate.ran)).or_insert(0) += 1;
                found.extend(fault(PROFILES[profile], &fate).map(|fault| (profile, fault)));
            }
        }
        (found, tally)
    });
    let mut classes: BTreeMap<(usize, Fault), Vec<usize>> = BTreeMap::new();
    let mut tally: BTreeMap<(usize, Region, bool), usize> = BTreeMap::new();
    for (number, (found, counts)) in results.into_iter().enumerate() {
        for class in found {
            classes.entry(class).or_default().push(number);
        }
        for (what, many) in counts {
            *tally.entry(what).or_default() += many;
        }
    }
    let report = report(seed, &tally, &classes);
    println!("{report}");
    let dangerous = classes.keys().filter(|(_, fault)| !matches!(fault, Fault::Lost(_))).count();
    assert_eq!(
        dangerous, 0,
        "{dangerous} classes of calls run that must not, of {count} documents:\n{report}"
    );
    for (profile, name) in PROFILES.iter().enumerate() {
        let in_text = |ran| tally.get(&(profile, Region::Text, ran)).copied().unwrap_or(0);
        let (lost, live) = (in_text(false), in_text(true));
        assert!(live > 0, "{name}: nothing ran at all");
        assert!(
            lost * 1000 <= (lost + live) * MOST_LOST,
            "{name}: {lost} of {} calls in running text are lost:\n{report}",
            lost + live
        );
    }
}

/// The counts of a run, and the smallest documents of each class of faults.
fn report(
    seed: u64,
    tally: &BTreeMap<(usize, Region, bool), usize>,
    classes: &BTreeMap<(usize, Fault), Vec<usize>>,
) -> String {
    let mut report = String::new();
    for ((profile, region, ran), count) in tally {
        let fate = if *ran { "ran" } else { "did not run" };
        let _ = writeln!(report, "{:9} {:9} {count:6} {fate}", PROFILES[*profile], format!("{region:?}"));
    }
    // What is lost is made small only when somebody asks: it is no fault by itself.
    let asked = std::env::var_os("CALLGATE_SHOW").is_some();
    for ((profile, fault), numbers) in classes {
        let _ = writeln!(report, "\n{}: {fault}: {} calls", PROFILES[*profile], numbers.len());
        if matches!(fault, Fault::Lost(_)) && !asked {
            continue;
        }
        let distinct: BTreeSet<usize> = numbers.iter().copied().collect();
        let cases: Vec<Case> = distinct.into_iter().map(|number| Case::numbered(seed, number).0).collect();
        for line in minimal(*profile, fault, &cases).into_iter().take(SHOWN) {
            let _ = writeln!(report, "  {line}");
        }
    }
    report
}

// ---- tables of forms ----

/// The gates of a dialect: by name and among all, in each profile.
fn gates_of(name: &str) -> Vec<(String, Gate)> {
    let mut gates = Vec::new();
    for profile in PROFILES {
        for dialect in ["auto", name] {
            let profile_of = Profile::named(profile).unwrap_or_else(|| panic!("no profile {profile}"));
            let builder = Gate::builder().profile(profile_of).tools(support::registry(&tools()));
            let gate = builder.dialect(dialect).build().unwrap_or_else(|error| panic!("{name}: {error}"));
            gates.push((format!("{profile}, {dialect}"), gate));
        }
    }
    gates
}

/// Inline code that holds a call and nothing else that could matter, ended in every way.
const SPANS: &[&str] = &[
    "Never write `K`\nYes?",
    "Never write `K`\n",
    "Never write `K`",
    "Never write `K`\r\nYes?",
    "Never write `K`\rYes?",
    "Never write `K`.\n",
    "Never write ``K``\nYes?",
    "Never write ``` K ```\nYes?",
    "Never write `K` \nYes?",
    "Never write `K`\n\nYes?",
    "Never write `K`\n`K`\nYes?",
    "`K`\n",
    "a `b\nK`\nc",
    "a `b K\nc` d\n",
    "a `b\nK\nc` d\n",
    "a ``b ` K\n` c`` d\n",
    "- a `b\n  K` c\n",
    "# a `K`\nb",
    "| a | `K` |\n|---|---|\n",
    "[`K`](u)\n",
    "**`K`**\n",
];

#[test]
fn c01_a_call_in_inline_code_does_not_run_however_the_line_ends() {
    let mut faults: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut alive = 0;
    for record in Record::builtin() {
        // A call that is written with backticks cannot stand between single ones. One that ends with a line break is
        // taken without it: a backtick behind it would stand in the next line.
        let Some(call) = remove(record, "p").filter(|call| !call.contains('`')) else { continue };
        let call = call.trim_end();
        let gates = gates_of(&record.name);
        // In a format of lines a backtick behind the call belongs to its last line.
        let takes_all = |(_, gate): &(String, Gate)| {
            let calls = gate.parse(&format!("{call}`")).calls;
            calls.iter().any(|read| read.span.is_some_and(|span| span.end > call.len()))
        };
        if gates.iter().any(takes_all) {
            continue;
        }
        alive += usize::from(gates.iter().any(|(_, gate)| !gate.parse(call).calls.is_empty()));
        for form in SPANS {
            let text = form.replace('K', call);
            for (gate_name, gate) in &gates {
                let feed = Feed::new(gate);
                let whole = feed.whole(text.as_bytes());
                let bytewise = feed.bytewise(text.as_bytes());
                if !response(&whole).calls.is_empty() || !response(&bytewise).calls.is_empty() {
                    faults
                        .entry(format!("{form:?}"))
                        .or_default()
                        .push(format!("{} ({gate_name})", record.name));
                }
            }
        }
    }
    assert!(alive >= 60, "only {alive} dialects run where nothing is around their call");
    assert!(faults.is_empty(), "inline code runs:\n{}", listed(&faults));
}

/// Fences by the letter of CommonMark, K being a call. Nothing here may run where fences are dead.
const FENCES: &[&str] = &[
    "```\nK\n```\n",
    "~~~\nK\n~~~\n",
    "   ```\n   K\n   ```\n",
    "````\n```\nK\n````\n",
    "```\n~~~\nK\n```\n",
    "~~~ `\nK\n~~~\n",
    "```xml\nK\n",
    "```\r\nK\r\n```\r\n",
    "```\rK\r```\r",
    "\u{feff}```\nK\n```\n",
    "\u{feff}```xml\r\nK\r\n```\r\n",
    // In list items: after the marker, below it, with a tab, deeper.
    "10. Example:\n    ```xml\n    K\n    ```\n",
    "10. Example:\n\n    ```xml\n    K\n    ```\n",
    "1. Example:\n   ```xml\n   K\n   ```\n",
    "- ```\n  K\n  ```\n",
    "* ```\n  K\n  ```\n",
    "+ ```xml\n  K\n  ```\n",
    "10) ```\n    K\n    ```\n",
    "-\t```\n\tK\n\t```\n",
    "- a\n\n\t```\n\tK\n\t```\n",
    "- a\n  - b\n    - c\n      ```\n      K\n      ```\n",
    "- - ```\n    K\n    ```\n",
    "1. - ```\n     K\n     ```\n",
    "-    ```\n     K\n     ```\n",
    "- a\n     ```\n     K\n     ```\n",
    "-\n  ```\n  K\n  ```\n",
    "1.\n   ```\n   K\n   ```\n",
    "- a\n\n    ```\n    K\n    ```\n",
    // In quotations.
    "> ```\n> K\n> ```\n",
    ">```\n>K\n>```\n",
    "> - ```\n>   K\n>   ```\n",
    "- > ```\n  > K\n  > ```\n",
    "> > ```\n> > K\n",
    // Closers that close nothing.
    "````\n```\nK\n",
    "~~~\n```\nK\n",
    "```\n~~~\nK\n",
    "```\n    ```\nK\n",
    "```\n\t```\nK\n",
    "```\n``` x\nK\n",
    "```\n```\u{a0}\nK\n",
    "```\n```\u{c}\nK\n",
    "```\n```\u{b}\nK\n",
    "```\n```\u{2028}\nK\n",
    "```\n```\u{3000}\nK\n",
    "```\n```\u{85}\nK\n",
    "```\n``\nK\n",
    "```\n`` `\nK\n",
    "```\n\\```\nK\n",
    "```\n> ```\nK\n",
    "```\n- ```\nK\n",
    "- ```\n  a\n\n  ```x\n  K\n",
    "```\n\u{a0}```\nK\n",
    // A fence ends a paragraph, also one with an open backtick.
    "a\n```\nK\n```\n",
    "a `b\n```\nK\n```\n",
    "# a\n```\nK\n```\n",
    "***\n```\nK\n",
    "| a |\n```\nK\n",
    // The opening line is part of the fence.
    "``` K\nx\n```\n",
    "~~~ a `b` K\nx\n~~~\n",
    // The fence of an item is over, the next one is open.
    "- ```\n  a\n  ```\n- ```\n  K\n  ```\n",
    "- ```\n  a\n```\nK\n```\n",
    "> ```\n> a\n```\nK\n```\n",
];

/// Where CommonMark has no fence, or the fence is over: the call is live.
const NO_FENCES: &[&str] = &[
    "```\na\n```\nK\n",
    "```\na\n````\nK\n",
    "```\na\n```  \t\nK\n",
    "```\na\n   ```\nK\n",
    "~~~\na\n~~~~~\nK\n",
    "- ```\n  a\n  ```\n\nK\n",
    "- ```\n  a\n\nK\n",
    "> ```\n> a\n\nK\n",
    "``\nK\n",
    "\\```\nK\n",
    "``` a`b\nK\n",
    "# a\nK\n",
    "```\r\na\r\n```\r\nK\r\n",
];

#[test]
fn c06_every_form_of_a_fence_is_dead() {
    let mut faults: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (forms, live) in [(FENCES, false), (NO_FENCES, true)] {
        for form in forms {
            // The table against the oracle first, so that both say the same.
            let document = Document::of(&form.replace('K', &documents::slot_of(0).to_string()));
            let verdict = regions(&document, |_| call(FORMATS.len() - 1, &marker(0)), |_| true)[0];
            assert_eq!(
                verdict.is_some_and(|region| region < Region::Fence),
                live,
                "the table is wrong about {form:?}: {verdict:?}"
            );
            for (format, name) in FORMATS.iter().enumerate() {
                let text = form.replace('K', &call(format, "p"));
                for (gate, profile) in GATES.iter().zip(PROFILES).filter(|(_, profile)| *profile != "lenient")
                {
                    for events in
                        [Feed::new(gate).whole(text.as_bytes()), Feed::new(gate).bytewise(text.as_bytes())]
                    {
                        if response(&events).calls.len() != usize::from(live) {
                            let what = if live { "is lost" } else { "runs" };
                            faults
                                .entry(format!("{what}: {form:?}"))
                                .or_default()
                                .push(format!("{name} ({profile})"));
                        }
                    }
                }
            }
        }
    }
    assert!(
        faults.is_empty(),
        "{} forms are read otherwise than by CommonMark:\n{}",
        faults.len(),
        listed(&faults)
    );
}

#[test]
fn c13_inline_code_that_is_longer_than_what_is_held_is_dead() {
    let long = "x".repeat(70_000);
    let forms = [
        format!("a `K{long}` b"),
        format!("a `{long}K` b"),
        format!("a `{long}K{long}` b"),
        format!("a `K{long}`\nb"),
        format!("a ``K{long}`` b"),
        format!("a `K\n{}` b", "x\n".repeat(35_000)),
        format!("a `K {}` b", "K ".repeat(1_500)),
        format!("a `K{}` b", "`` ".repeat(25_000)),
    ];
    let mut faults = Vec::new();
    for (gate, profile) in GATES.iter().zip(PROFILES) {
        for (format, name) in FORMATS.iter().enumerate() {
            for (number, form) in forms.iter().enumerate() {
                let text = form.replace('K', &call(format, "p"));
                let feed = Feed::new(gate);
                let whole = feed.whole(text.as_bytes());
                if !response(&whole).calls.is_empty() {
                    faults.push(format!("form {number}: {name} ({profile})"));
                }
                if feed.pieces(text.as_bytes().chunks(4096)) != whole {
                    faults.push(format!("form {number}: {name} ({profile}): the chunks matter"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{} run or differ:\n{}", faults.len(), faults.join("\n"));
}

/// Faults by their form, each with how many it concerns and the first of them.
fn listed(faults: &BTreeMap<String, Vec<String>>) -> String {
    let mut lines = String::new();
    for (form, who) in faults {
        let first = who.iter().take(4).map(String::as_str).collect::<Vec<_>>().join(", ");
        let _ = writeln!(lines, "  {form}: {} times: {first}", who.len());
    }
    lines
}
