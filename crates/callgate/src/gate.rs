//! The gate: tools, dialects and policy, compiled once and shared by all sessions.

use std::fmt;
use std::sync::Arc;

use crate::dialect::Record;
use crate::ending::FinishReason;
use crate::frame::Compiled;
use crate::frame::openers::Openers;
use crate::frame::program::compile_with;
use crate::policy::{Endings, Excess, Partial, Policy, Position, Release};
use crate::profile::Profile;
use crate::registry::{Registry, nearest};
use crate::response::Response;
use crate::rules::{ActiveDialect, Rules};
use crate::session::Session;
use crate::trial;

/// A compiled gate. Cheap to clone; make one session per response.
///
/// ```
/// use callgate::{Gate, Registry};
///
/// let tools = Registry::from_json(
///     r#"[{"name": "look", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}]"#,
/// )?;
/// let gate = Gate::builder().tools(tools).build()?;
/// let response = gate.parse("On it.\n<tool_call>{\"name\": \"look\", \"arguments\": {\"q\": \"cats\",}}</tool_call>");
/// assert_eq!(response.text, "On it.");
/// assert_eq!(response.calls[0].arguments, r#"{"q": "cats"}"#);
/// assert_eq!(response.calls[0].repairs[0].code.word(), "trailing-comma");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Gate {
    inner: Arc<Compiled>,
    profile: Profile,
}

impl Gate {
    /// Starts with the profile `standard` and no tool list.
    pub fn builder() -> GateBuilder {
        GateBuilder {
            profile: Profile::standard(),
            policy: None,
            registry: None,
            dialects: None,
            records: Vec::new(),
        }
    }

    /// The gate of these records, and of no others.
    pub(crate) fn of(
        profile: Profile,
        policy: Policy,
        registry: Option<Registry>,
        records: Vec<ActiveDialect>,
    ) -> Gate {
        let program = Arc::new(compile_with(&records, policy.special));
        let openers = Arc::new(Openers::new(&program));
        let rules = Rules {
            registry,
            policy,
            dialects: records.into(),
            error_codes: profile.reasons(),
            rejects_empty: profile.rejects_empty(),
        };
        Gate { inner: Arc::new(Compiled { program, openers, rules }), profile }
    }

    /// The same gate for another tool list. The compiled dialects are shared, so this costs no more than the tools do.
    pub fn with_tools(&self, registry: Registry) -> Gate {
        let rules = Rules { registry: Some(registry), ..self.inner.rules.clone() };
        Gate { inner: Arc::new(Compiled { rules, ..(*self.inner).clone() }), profile: self.profile }
    }

    /// A session for one response.
    pub fn session(&self) -> Session {
        Session::new(self.inner.clone())
    }

    /// Reads a whole response: a stream of one chunk. Nobody says how it ended, so a call that is not closed is cut off.
    pub fn parse(&self, text: &str) -> Response {
        let mut collector = Response::collector();
        let mut session = self.session();
        session.push(text, &mut |event| collector.push(event));
        session.finish(FinishReason::Unknown, &mut |event| collector.push(event));
        collector.finish(FinishReason::Unknown)
    }

    /// What it allows.
    pub fn policy(&self) -> &Policy {
        &self.inner.rules.policy
    }

    /// The profile it was built with.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// The tools, if a list was given.
    pub fn registry(&self) -> Option<&Registry> {
        self.inner.rules.registry.as_ref()
    }

    /// Whether nothing may be guessed about calls of this tool, and a host should ask before it runs one: it says that it
    /// is dangerous, or the policy says so of all.
    pub fn is_dangerous(&self, name: &str) -> bool {
        self.inner.rules.is_dangerous(name)
    }

    /// The dialects whose calls are live.
    pub fn live(&self) -> impl Iterator<Item = &Record> {
        self.inner
            .rules
            .dialects
            .iter()
            .filter(|listening| listening.live)
            .map(|listening| &*listening.record)
    }
}

/// Builds a [`Gate`].
#[derive(Clone, Debug)]
pub struct GateBuilder {
    profile: Profile,
    policy: Option<Policy>,
    registry: Option<Registry>,
    dialects: Option<Vec<String>>,
    records: Vec<Record>,
}

impl GateBuilder {
    /// Sets policy and dialects to those of a profile.
    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Gives the tool list: names and arguments are then checked.
    pub fn tools(mut self, registry: Registry) -> Self {
        self.registry = Some(registry);
        self
    }

    /// Switches on one dialect by name (or `auto`: all whose markers are unmistakable), instead of the profile's.
    /// The name may be that of a record that was added.
    pub fn dialect(mut self, name: &str) -> Self {
        self.dialects.get_or_insert_default().push(name.to_owned());
        self
    }

    /// Switches on these dialects, instead of the profile's.
    pub fn dialects(mut self, names: &[&str]) -> Self {
        self.dialects.get_or_insert_default().extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    /// Adds a dialect of your own. It is live, and stands in place of a built-in one of the same name.
    pub fn record(mut self, record: Record) -> Self {
        self.records.push(record);
        self
    }

    /// Sets the policy, instead of the profile's.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Compiles the gate.
    pub fn build(self) -> Result<Gate, GateError> {
        let policy = self.policy.unwrap_or_else(|| self.profile.policy());
        check(&policy)?;
        let chosen = self.records.len() + self.dialects.as_ref().map_or(0, Vec::len);
        let is_open = self.dialects.iter().flatten().any(|name| name == "auto");
        if self.profile.needs_dialect() && (chosen != 1 || is_open) {
            return Err(GateError {
                code: "needs-dialect",
                message: format!("the profile `{}` needs one dialect by name", self.profile.name()),
                help: "name the one that the model writes, or `native` for structured calls alone".to_owned(),
            });
        }
        let mut records: Vec<ActiveDialect> = Vec::new();
        for record in self.records {
            if records.iter().any(|listening| listening.record.name == record.name) {
                return Err(GateError {
                    code: "repeated-dialect",
                    message: format!("the dialect `{}` was added twice", record.name),
                    help: "give each dialect of your own another name".to_owned(),
                });
            }
            needs_tools(&record, self.registry.as_ref())?;
            reads_back(&record)?;
            records.push(ActiveDialect { record: Arc::new(record), chosen: true, live: true });
        }
        let names: Vec<String> = self
            .dialects
            .unwrap_or_else(|| self.profile.dialects().iter().map(|name| (*name).to_owned()).collect());
        let mut auto = false;
        for name in &names {
            if name == "auto" {
                auto = true;
                continue;
            }
            if name == "native" {
                continue;
            }
            if records.iter().any(|listening| &*listening.record.name == name) {
                continue;
            }
            let record = Record::named(name).ok_or_else(|| unknown_dialect(name, &records))?;
            needs_tools(record, self.registry.as_ref())?;
            records.push(ActiveDialect { record: Arc::new(record.clone()), chosen: true, live: true });
        }
        if auto || self.profile.listens() {
            for record in Record::builtin().iter().filter(|record| record.auto) {
                if records.iter().all(|listening| listening.record.name != record.name) {
                    records.push(ActiveDialect {
                        record: Arc::new(record.clone()),
                        chosen: false,
                        live: auto,
                    });
                }
            }
        }
        Ok(Gate::of(self.profile, policy, self.registry, records))
    }
}

/// A dialect whose markers are the tools' names listens for nothing without them.
fn needs_tools(record: &Record, registry: Option<&Registry>) -> Result<(), GateError> {
    if !record.known || registry.is_some() {
        return Ok(());
    }
    Err(GateError {
        code: "needs-tools",
        message: format!("the dialect `{}` needs a tool list: the tools' names are its markers", record.name),
        help: "give the tool list, or choose another dialect".to_owned(),
    })
}

/// A dialect that does not read what it writes would lose calls.
fn reads_back(record: &Record) -> Result<(), GateError> {
    let Some(written) = trial::unread_writing(record) else { return Ok(()) };
    Err(GateError {
        code: "unread-writing",
        message: format!("the dialect `{}` does not read what it writes: {written:?}", record.name),
        help: "`callgate dialects test FILE` shows how far it is read".to_owned(),
    })
}

fn unknown_dialect(name: &str, added: &[ActiveDialect]) -> GateError {
    let builtin = Record::builtin().iter().map(|record| &*record.name);
    let known = builtin.chain(added.iter().map(|listening| &*listening.record.name)).chain(["auto"]);
    let near = nearest(name, known);
    GateError {
        code: "unknown-dialect",
        message: format!("there is no dialect `{name}`"),
        help: if near.is_empty() {
            "`callgate dialects` lists them all".to_owned()
        } else {
            format!("did you mean {}?", near.join(", "))
        },
    }
}

/// Rejects policies that contradict themselves.
fn check(policy: &Policy) -> Result<(), GateError> {
    let revokes = [
        (policy.partial == Partial::AllOrNothing, "partial = all-or-nothing"),
        (policy.on_excess == Excess::Reject, "on_excess = reject"),
        (policy.position == Position::Trailing, "position = trailing"),
        (policy.endings == Endings::Good, "endings = good"),
    ];
    let conflict = revokes.iter().find(|(holds, _)| *holds);
    match conflict {
        Some((_, rule)) if policy.release == Release::Early => Err(GateError {
            code: "early-release",
            message: format!("calls cannot be released early while `{rule}` can still revoke them"),
            help: "use release = at-end, or change the rule".to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Why a gate could not be built.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GateError {
    /// The stable word.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// The way out.
    pub help: String,
}

impl fmt::Display for GateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.help)
    }
}

impl std::error::Error for GateError {}
