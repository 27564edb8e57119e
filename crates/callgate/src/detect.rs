//! Detection: which dialects read a text, those included that listen only by name, the best first. Nothing that is read
//! here is a call: it only says which dialect to ask for.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock, OnceLock};

use serde::Serialize;

use crate::dialect::Record;
use crate::ending::FinishReason;
use crate::event::{Call, Event};
use crate::finding::Span;
use crate::gate::Gate;
use crate::profile::Profile;
use crate::registry::Registry;
use crate::response::Response;
use crate::rules::ActiveDialect;
use crate::trial::{Quality, Trial, claimed, left, rank, trials};

/// Tries all built-in dialects, each by itself, compiled once for all texts and all tools. Cheap to make.
#[derive(Clone, Debug)]
pub struct Detector {
    tools: Option<Registry>,
}

/// The gate of every dialect that is asked for by name, once it has been tried.
static NAMED: LazyLock<Vec<NamedGate>> =
    LazyLock::new(|| Record::builtin().iter().map(|record| (record, OnceLock::new())).collect());

/// A dialect, and the gate that listens to it, if there can be one.
type NamedGate = (&'static Record, OnceLock<Option<Gate>>);

/// What one dialect reads in a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Candidate {
    /// The dialect.
    pub dialect: String,
    /// The dialects that read the same.
    pub also: Vec<String>,
    /// How many calls it reads.
    pub calls: usize,
    /// How many of their names, and of those of rejected calls, are in the tool list.
    pub known: usize,
    /// How many calls have valid arguments; nobody can say without a tool list.
    pub valid: usize,
    /// How many calls it rejects.
    pub rejected: usize,
    /// Whether its calls are read as well where no dialect is named.
    pub heard: bool,
    /// How many bytes that another dialect reads as a call stay text in this one.
    pub left: usize,
    /// Why it stands where it stands, in words.
    pub why: String,
    #[serde(skip)]
    quality: Option<Quality>,
    #[serde(skip)]
    claimed: BTreeSet<Span>,
    #[serde(skip)]
    read: Vec<(String, String, Option<Span>)>,
}

impl Detector {
    /// Holds calls against these tools, if there are any.
    pub fn new(tools: Option<Registry>) -> Self {
        Detector { tools }
    }

    /// What each dialect reads in a text that ended like this, the best first. Dialects that find neither a call nor a
    /// rejection are left out, and of those that read the same the first stands for all.
    pub fn detect_ended(&self, text: &str, reason: FinishReason) -> Vec<Candidate> {
        let mut candidates = self.ranked(text, reason, |_| true);
        candidates.retain(|one| one.calls == 0 || one.heard || self.holds(one, text, reason));
        candidates
    }

    /// The same of a text of which nobody says how it ended.
    pub fn detect(&self, text: &str) -> Vec<Candidate> {
        self.detect_ended(text, FinishReason::Unknown)
    }

    /// Whether a dialect that is asked for reads its calls: it is never alone, since unmistakable markers of others count
    /// beside it.
    fn holds(&self, candidate: &Candidate, text: &str, reason: FinishReason) -> bool {
        let named = NAMED.iter().find(|(record, _)| *record.name == *candidate.dialect);
        let gate = named.and_then(|(record, gate)| gate.get_or_init(|| named_gate(record)).as_ref());
        gate.is_some_and(|gate| calls(&self.listening(gate), text, reason).len() >= candidate.calls)
    }

    /// A gate that knows the tools.
    fn listening(&self, gate: &Gate) -> Gate {
        self.tools.as_ref().map_or_else(|| gate.clone(), |tools| gate.with_tools(tools.clone()))
    }

    /// The dialect to ask for by name, for a response in which nothing was read.
    pub fn hint(&self, response: &Response) -> Option<Candidate> {
        let is_silent =
            response.calls.is_empty() && response.rejected.is_empty() && response.model_error.is_none();
        // Every call has the name of a tool beside its punctuation, so a text without that needs no reading.
        let may_call =
            |tools: &Registry| tools.names().any(|name| is_beside_punctuation(&response.text, name));
        if !is_silent || !self.tools.as_ref().is_none_or(may_call) {
            return None;
        }
        let (text, reason) = (&response.text, FinishReason::Unknown);
        // What is heard without being asked for may be ignored by a policy, so that all are tried.
        let candidates = self.ranked(text, reason, |_| true).into_iter();
        candidates.filter(|one| one.calls > 0).find(|one| self.holds(one, text, reason))
    }

    fn ranked(&self, text: &str, reason: FinishReason, may_try: impl Fn(&Record) -> bool) -> Vec<Candidate> {
        let trials = trials(self.tools.as_ref(), text, reason, may_try);
        let mut candidates: Vec<Candidate> = Vec::new();
        for trial in trials {
            let Some(candidate) = self.candidate(&trial, text) else { continue };
            match candidates.iter_mut().find(|other| other.reads_the_same(&candidate)) {
                Some(other) => other.add(candidate),
                None => candidates.push(candidate),
            }
        }
        if candidates.is_empty() {
            return candidates;
        }
        let claims =
            candidates.iter().filter(|one| one.calls > 0).flat_map(|one| one.claimed.iter().copied());
        let claims: BTreeSet<Span> = claims.collect();
        let heard = calls(&self.auto(), text, reason).into_iter();
        let heard: Vec<_> = heard.map(|call| (call.name, call.arguments, call.span)).collect();
        for candidate in &mut candidates {
            candidate.heard = candidate.calls > 0 && candidate.read.iter().all(|read| heard.contains(read));
            candidate.left = left(&claims, &candidate.claimed);
            candidate.why = candidate.in_words(self.tools.is_some());
        }
        // The sort is stable, so equals keep the order of the dialects, which is their rank.
        candidates.sort_by_key(|one| {
            one.quality.map_or((true, None), |quality| (false, Some(rank(quality, one.left))))
        });
        candidates
    }

    /// The gate that listens to what is heard where no dialect is named.
    fn auto(&self) -> Gate {
        static AUTO: OnceLock<Gate> = OnceLock::new();
        let gate = AUTO.get_or_init(|| {
            let auto = Record::builtin().iter().filter(|record| record.auto);
            let active = |record: &Record| ActiveDialect {
                record: Arc::new(record.clone()),
                chosen: false,
                live: true,
            };
            let profile = Profile::standard();
            Gate::of(profile, profile.policy(), None, auto.map(active).collect())
        });
        self.listening(gate)
    }

    fn candidate(&self, trial: &Trial, text: &str) -> Option<Candidate> {
        let Trial { record, response } = trial;
        let dialect = record.name.to_string();
        let read = |name: &str| name == dialect;
        let calls: Vec<_> = response.calls.iter().filter(|call| read(&call.dialect)).collect();
        let rejected: Vec<_> = response.rejected.iter().filter(|one| read(&one.dialect)).collect();
        if calls.is_empty() && rejected.is_empty() {
            return None;
        }
        let is_known = |name: &str| self.tools.as_ref().is_some_and(|tools| tools.get(name).is_some());
        let names = calls.iter().map(|call| call.name.as_str());
        let names = names.chain(rejected.iter().filter_map(|one| one.name.as_deref()));
        Some(Candidate {
            also: Vec::new(),
            calls: calls.len(),
            known: names.filter(|name| is_known(name)).count(),
            valid: calls.iter().filter(|call| call.checked).count(),
            rejected: rejected.len(),
            heard: false,
            left: 0,
            why: String::new(),
            quality: trial.quality(text),
            claimed: claimed(response),
            read: calls
                .iter()
                .map(|call| (call.name.clone(), call.arguments.clone(), call.span))
                .chain(rejected.iter().map(|one| (String::new(), String::new(), one.span)))
                .collect(),
            dialect,
        })
    }
}

impl Candidate {
    /// Another dialect reads the same. The one that reads it best stands for all, the first of equals.
    fn add(&mut self, mut other: Candidate) {
        if other.quality > self.quality {
            std::mem::swap(self, &mut other);
            self.also = std::mem::take(&mut other.also);
        }
        self.also.push(other.dialect);
    }

    fn reads_the_same(&self, other: &Candidate) -> bool {
        self.read == other.read && self.claimed == other.claimed
    }

    fn in_words(&self, has_tools: bool) -> String {
        let counted = |count: usize, one: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {one}s"),
        };
        let mut parts = vec![counted(self.calls, "call")];
        if has_tools {
            parts.push(match self.known {
                0 => "no name is in the tool list".to_owned(),
                known => format!("{} in the tool list", counted(known, "name")),
            });
            if self.calls > 0 {
                parts.push("arguments valid".to_owned());
            }
        }
        if self.rejected > 0 {
            parts.push(format!("{} rejected", self.rejected));
        }
        if self.left > 0 {
            parts.push(format!("leaves {} of other calls as text", counted(self.left, "byte")));
        }
        parts.join(", ")
    }
}

/// Whether a name stands in a text as a word beside what calls have around names: quotes, brackets, tags, labels.
fn is_beside_punctuation(text: &str, name: &str) -> bool {
    // More white space stands beside no name, and names in nothing else cost no more than this.
    const NEAR: usize = 16;
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_sign = |c: Option<char>, also: &str| {
        c.is_some_and(|c| "\"'“”`<>[{:=|｜▁#*✿◁▷".contains(c) || also.contains(c))
    };
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let ends = |c: Option<char>| !c.is_some_and(is_word);
        ends(before.chars().next_back())
            && ends(after.chars().next())
            && (is_sign(before.chars().rev().take(NEAR).find(|c| !c.is_whitespace()), "")
                || is_sign(after.chars().take(NEAR).find(|c| !c.is_whitespace()), "("))
    })
}

/// The gate of a dialect that is asked for. Where the names of tools are the markers, there is none without a list, which
/// takes the place of an empty one.
fn named_gate(record: &Record) -> Option<Gate> {
    let builder = Gate::builder().dialect(&record.name);
    let builder = if record.known { builder.tools(Registry::default()) } else { builder };
    builder.build().ok()
}

/// The calls that a gate reads in a text that ended like this.
fn calls(gate: &Gate, text: &str, reason: FinishReason) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut sink = |event: Event<'_>| {
        if let Event::Call(call) = event {
            calls.push(*call);
        }
    };
    let mut session = gate.session();
    session.push(text, &mut sink);
    session.finish(reason, &mut sink);
    calls
}

#[cfg(test)]
mod tests {
    use super::{Detector, Profile};
    use crate::registry::Registry;

    fn detector() -> Detector {
        let tools = r#"[{"name": "lend", "parameters": {"type": "object", "required": ["book"],
            "properties": {"book": {"type": "string"}, "days": {"type": "integer"}}}}]"#;
        Detector::new(Some(Registry::from_json(tools).unwrap()))
    }

    #[test]
    fn what_every_dialect_writes_is_read_by_it_or_by_one_that_reads_the_same() {
        let detector = detector();
        for record in crate::Record::builtin() {
            let call =
                |id| crate::RenderCall { id, name: "lend", arguments: r#"{"book": "Emma", "days": 3}"# };
            let written =
                [None, Some("c1")].into_iter().find_map(|id| record.render(&[call(id)], None, None).ok());
            // Some formats write only calls of one tool, or only with more than a name.
            let Some(written) = written else { continue };
            let candidates = detector.detect(&written);
            let all = || candidates.iter().flat_map(|one| [&one.dialect].into_iter().chain(&one.also));
            assert!(all().any(|name| **name == *record.name), "{}: {written}: {candidates:?}", record.name);
            let best = &candidates[0];
            assert_eq!((best.calls, best.known, best.valid), (1, 1, 1), "{}: {best:?}", record.name);
            // Whatever is not heard by itself is hinted at.
            let open = crate::Gate::builder().tools(detector.tools.clone().unwrap()).build().unwrap();
            let response = open.parse(&written);
            if response.calls.is_empty() && response.rejected.is_empty() {
                let hint = detector.hint(&response).unwrap_or_else(|| panic!("{}: {written}", record.name));
                assert_eq!((hint.calls, hint.heard), (1, false), "{}: {hint:?}", record.name);
            }
        }
    }

    #[test]
    fn the_finding_the_hint_and_the_detection_name_one_dialect() {
        let detector = detector();
        let tools = detector.tools.clone().unwrap();
        let gates: Vec<crate::Gate> =
            ["standard", "action", "structured", "fenced", "labelled", "strict-xml"]
                .into_iter()
                .filter_map(Profile::named)
                .map(|profile| {
                    let policy = profile.policy().foreign_ignore();
                    crate::Gate::builder()
                        .profile(profile)
                        .policy(policy)
                        .tools(tools.clone())
                        .build()
                        .unwrap()
                })
                .collect();
        let (mut said, mut faults) = (0, Vec::new());
        for record in crate::Record::builtin() {
            let call = |id| crate::RenderCall { id, name: "lend", arguments: r#"{"book": "Emma"}"# };
            let written =
                [None, Some("c1")].into_iter().find_map(|id| record.render(&[call(id)], None, None).ok());
            let Some(written) = written else { continue };
            let detected = &detector.detect(&written)[0];
            for gate in &gates {
                let response = gate.parse(&written);
                let mut found = response.findings.iter().filter_map(|finding| {
                    Some(finding.message.strip_prefix("looks like a call of ")?.split_once(',')?.0)
                });
                let Some(named) = found.next() else { continue };
                // A hint is for responses of which nothing came, and tags may be calls of any name to a profile.
                if !response.rejected.is_empty() {
                    continue;
                }
                let hint = detector.hint(&response).map_or_else(String::new, |hint| hint.dialect);
                let all = (named, hint.as_str(), detected.dialect.as_str());
                if all != (named, named, named) {
                    faults.push(format!("{} {:?}: {all:?}", record.name, gate.profile()));
                }
                // A marker names its dialect, or one that is read alike.
                let alike = detected.also.iter().any(|also| *also == *record.name);
                if record.auto && !alike && *named != *record.name {
                    faults.push(format!("{} is named {named}", record.name));
                }
                said += 1;
            }
        }
        assert!(faults.is_empty(), "{} of {said}:\n{}", faults.len(), faults.join("\n"));
        assert!(said > 300, "{said}");
        // The fourth gate listens to no dialect with a marker.
        let response = gates[3].parse(r#"[TOOL_CALLS][{"name": "lend", "arguments": {"book": "Emma"}}]"#);
        assert_eq!(detector.hint(&response).unwrap().dialect, "mistral");
    }

    #[test]
    fn a_hint_is_given_for_calls_that_only_a_name_would_read() {
        let detector = detector();
        let gate = crate::Gate::builder().tools(detector.tools.clone().unwrap()).build().unwrap();
        let hint = |text: &str| detector.hint(&gate.parse(text));
        let best = hint(r#"{"name": "lend", "parameters": {"book": "Emma"}}"#).unwrap();
        assert_eq!((best.calls, best.valid, best.left), (1, 1, 0));
        let read = "<tool_call>{\"name\": \"lend\", \"arguments\": {\"book\": \"Emma\"}}</tool_call>";
        for text in ["", "We lend books.", "{\"name\": \"lend\"", "lend me your ears", read] {
            assert_eq!(hint(text), None, "{text}");
        }
    }
}
