//! The gate: tools, dialects and policy from JSON. What was compiled once is shared by all gates of the same dialects and policy.

use std::cell::RefCell;
use std::collections::BTreeMap;

use callgate::internal::nearest;
use callgate::{Gate as CoreGate, Profile, Record, Registry, Response, Session as CoreSession};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

use crate::dialect::{self, Named};
use crate::errors::Told;
use crate::session::Session;
use crate::units::Units;
use crate::wire;

/// How many compiled gates are kept for the next one like them.
const KEPT: usize = 8;

thread_local! {
    static COMPILED: RefCell<BTreeMap<String, CoreGate>> = const { RefCell::new(BTreeMap::new()) };
}

/// A compiled gate.
#[wasm_bindgen]
pub struct Gate {
    inner: CoreGate,
    spec: Spec,
}

/// What a gate is made from, besides its tools.
#[derive(Clone, Serialize, Deserialize)]
struct Spec {
    strict_tools: bool,
    model: Option<String>,
    dialects: Vec<Named>,
    profile: Option<String>,
    knobs: Value,
}

/// What comes with a response besides its text.
#[derive(Default, Deserialize)]
struct Given {
    prompt_tail: Option<String>,
    finish_reason: Option<String>,
    #[serde(default)]
    untrusted: Vec<String>,
    tool_calls: Option<String>,
    reasoning: Option<String>,
    id_prefix: Option<String>,
}

impl Given {
    fn read(given: Option<String>) -> Result<Self, Told> {
        let Some(given) = given else { return Ok(Given::default()) };
        serde_json::from_str(&given).map_err(|error| Told::not_json("set of options", &error))
    }

    /// A session that knows what stood before.
    fn prepare(&self, mut session: CoreSession) -> CoreSession {
        if let Some(prefix) = &self.id_prefix {
            session = session.with_id_prefix(prefix);
        }
        if let Some(tail) = &self.prompt_tail {
            session = session.with_prompt_tail(tail);
        }
        self.untrusted.iter().for_each(|text| session.untrusted(text));
        session
    }
}

impl Spec {
    fn registry(&self, tools: &str) -> Result<Registry, Told> {
        let read = if self.strict_tools { Registry::from_json } else { Registry::tolerant_json };
        Ok(read(tools)?)
    }

    fn build(self, tools: Option<&str>) -> Result<Gate, Told> {
        let registry = tools.map(|tools| self.registry(tools)).transpose()?;
        let key = format!("{}{}", registry.is_some(), wire::text(&self));
        let kept = COMPILED.with_borrow(|kept| kept.get(&key).cloned());
        let inner = match (kept, registry) {
            (Some(gate), None) => gate,
            (Some(gate), Some(registry)) => gate.with_tools(registry),
            (None, registry) => {
                let gate = self.compile(registry)?;
                COMPILED.with_borrow_mut(|kept| {
                    if kept.len() >= KEPT {
                        kept.clear();
                    }
                    kept.insert(key, gate.clone());
                });
                gate
            }
        };
        Ok(Gate { inner, spec: self })
    }

    fn compile(&self, registry: Option<Registry>) -> Result<CoreGate, Told> {
        let name = self.profile.as_deref().unwrap_or(Profile::standard().name());
        let profile = Profile::named(name).ok_or_else(|| {
            let help = match nearest(name, Profile::NAMES.iter().copied()).as_slice() {
                [] => format!("there are {}", Profile::NAMES.join(", ")),
                near => format!("did you mean {}?", near.join(" or ")),
            };
            Told::new("unknown-profile", format!("there is no profile `{name}`"), help)
        })?;
        let mut policy = profile.policy();
        policy.set_all(&self.knobs).map_err(|said| Told::setting("unknown-knob", &said))?;
        let mut builder = CoreGate::builder().profile(profile).policy(policy);
        for named in &self.dialects {
            builder = match named.source {
                None => builder.dialect(&named.name),
                Some(_) => builder.record(named.record()?),
            };
        }
        let of_model = self.model.as_deref().filter(|_| self.dialects.is_empty()).and_then(Record::for_model);
        if let Some(record) = of_model {
            builder = builder.dialect(&record.name);
        }
        if let Some(registry) = registry {
            builder = builder.tools(registry);
        }
        Ok(builder.build()?)
    }
}

impl Gate {
    /// The dialect that this gate writes and teaches: the one that is asked for, or the first that was chosen.
    fn record(&self, dialect: Option<String>) -> Result<Option<Record>, Told> {
        let asked: Option<Named> = dialect
            .map(|named| serde_json::from_str(&named).map_err(|error| Told::not_json("dialect", &error)))
            .transpose()?;
        let chosen = asked.or_else(|| {
            let mut own =
                self.spec.dialects.iter().filter(|named| named.name != "auto" && named.name != "native");
            own.next().cloned().or_else(|| {
                let record = Record::for_model(self.spec.model.as_deref()?)?;
                Some(Named { name: record.name.to_string(), source: None })
            })
        });
        let Some(named) = chosen else { return Ok(None) };
        match self.inner.live().find(|record| *record.name == *named.name) {
            Some(record) => Ok(Some(record.clone())),
            None => named.record().map(Some),
        }
    }

    fn read(
        &self,
        given: Option<String>,
        feed: impl FnOnce(&mut CoreSession, &mut Units, &mut dyn FnMut(callgate::Event<'_>)),
    ) -> Result<String, Told> {
        let given = Given::read(given)?;
        let word = given.finish_reason.as_deref().unwrap_or_default();
        let reason = wire::reason(word)?;
        let mut session = given.prepare(self.inner.session());
        let mut collector = Response::collector();
        collector.said(word);
        let mut sink = |event: callgate::Event<'_>| collector.push(event);
        let mut units = Units::default();
        if let Some(thought) = &given.reasoning {
            session.reasoning(thought, &mut sink);
        }
        feed(&mut session, &mut units, &mut sink);
        if let Some(calls) = &given.tool_calls {
            session.native_calls_text(calls, &mut sink);
        }
        session.finish(reason, &mut sink);
        units.finish();
        Ok(wire::response(&collector.finish(reason), &units))
    }

    fn write(
        &self,
        calls: &str,
        dialect: Option<String>,
        text: Option<&str>,
        reasoning: Option<&str>,
    ) -> Result<String, Told> {
        let record = match self.record(dialect)? {
            Some(record) => record,
            None => self.inner.profile().teaches().cloned().ok_or_else(|| {
                let help = "name one: gate.render(calls, 'hermes')";
                Told::new("needs-dialect", "nobody said in which dialect to write", help)
            })?,
        };
        dialect::render_calls(&record, calls, text, reasoning)
    }

    fn teach(&self, dialect: Option<String>) -> Result<String, Told> {
        let tools = self.inner.registry().ok_or_else(|| {
            let help = "give the tool list: new Gate(tools)";
            Told::new("needs-tools", "there is nothing to teach without tools", help)
        })?;
        Ok(match self.record(dialect)? {
            Some(record) => record.prompt_section(tools),
            None => self.inner.profile().prompt(tools),
        })
    }
}

#[wasm_bindgen]
impl Gate {
    /// Compiles a gate.
    #[wasm_bindgen(constructor)]
    pub fn new(spec: &str, tools: Option<String>) -> Result<Gate, JsValue> {
        let spec: Result<Spec, Told> =
            serde_json::from_str(spec).map_err(|error| Told::not_json("set of options", &error));
        spec.and_then(|spec| spec.build(tools.as_deref())).map_err(Told::thrown)
    }

    /// Reads a whole response.
    pub fn parse(&self, text: &str, given: Option<String>) -> Result<String, JsValue> {
        let read = self.read(given, |session, units, sink| {
            units.push(text);
            session.push(text, sink);
        });
        read.map_err(Told::thrown)
    }

    /// Reads a whole response that is given as bytes.
    pub fn parse_bytes(&self, bytes: &[u8], given: Option<String>) -> Result<String, JsValue> {
        let read = self.read(given, |session, units, sink| {
            units.push_bytes(bytes);
            session.push_bytes(bytes, sink);
        });
        read.map_err(Told::thrown)
    }

    /// A session for one response.
    pub fn session(&self, given: Option<String>) -> Result<Session, JsValue> {
        let given = Given::read(given).map_err(Told::thrown)?;
        Ok(Session::new(given.prepare(self.inner.session())))
    }

    /// The message that tells the model what to correct.
    pub fn feedback(&self, response: &str, is_known: bool) -> Result<Option<String>, JsValue> {
        let response = wire::read_response(response, is_known).map_err(Told::thrown)?;
        Ok(self.inner.profile().feedback(&response, self.inner.registry()))
    }

    /// Whether the model says that it is done.
    pub fn is_done(&self, response: &str, is_known: bool) -> Result<bool, JsValue> {
        let response = wire::read_response(response, is_known).map_err(Told::thrown)?;
        Ok(self.inner.profile().is_done(&response))
    }

    /// Writes calls as a model would.
    pub fn render(
        &self,
        calls: &str,
        dialect: Option<String>,
        text: Option<String>,
        reasoning: Option<String>,
    ) -> Result<String, JsValue> {
        self.write(calls, dialect, text.as_deref(), reasoning.as_deref()).map_err(Told::thrown)
    }

    /// The section of a system prompt that teaches a model these tools.
    pub fn prompt(&self, dialect: Option<String>) -> Result<String, JsValue> {
        self.teach(dialect).map_err(Told::thrown)
    }

    /// What the gate is made of, as JSON.
    pub fn info(&self) -> String {
        let registry = self.inner.registry();
        let info = json!({
            "tools": registry.map(Registry::to_openai),
            "notes": registry.map_or(&[][..], Registry::notes),
            "dialects": self.inner.live().map(|record| &*record.name).collect::<Vec<_>>(),
            "profile": self.inner.profile().name(),
            "policy": self.inner.policy(),
        });
        info.to_string()
    }

    /// Whether nothing may be guessed about calls of this tool.
    pub fn is_dangerous(&self, name: &str) -> bool {
        self.inner.is_dangerous(name)
    }
}
