//! The gate: tools, dialects and policy from Python values, compiled once and shared by all threads.

use callgate::internal::nearest;
use callgate::{Gate as CoreGate, Profile, Record, Registry, Response as CoreResponse};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString};
use serde::{Deserialize, Serialize};

use crate::chars::Chars;
use crate::dialect::{self, Dialect};
use crate::errors::{self, Problem, optional_text, text, wrong_type};
use crate::json;
use crate::many;
use crate::pickle::{Reduced, reduced};
use crate::response::{AllMarks, Response, all_marks};
use crate::session::{Fed, LARGE, Session, prepared, reason};

static TOOL_LIST: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static STREAM: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// A compiled gate: tools, dialects and policy. Share it; make one session for each response.
#[pyclass(frozen, module = "callgate")]
pub(crate) struct Gate {
    pub(crate) inner: CoreGate,
    spec: Spec,
}

/// What a gate was made from, so that it can be made again elsewhere.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Spec {
    /// The tool list as JSON text.
    tools: Option<String>,
    strict_tools: bool,
    model: Option<String>,
    /// The dialects by name, each with the file that has it if it is not built in.
    dialects: Vec<(String, Option<String>)>,
    profile: String,
    /// The knobs, as JSON text.
    knobs: String,
}

/// The tools of an argument: a list of any form, functions and models included, or its JSON text.
pub(crate) fn registry(
    py: Python<'_>,
    tools: &Option<Bound<'_, PyAny>>,
    is_strict: bool,
) -> PyResult<Option<Registry>> {
    let json = tools_json(py, tools)?;
    json.map(|json| registry_of(py, &json, is_strict)).transpose()
}

fn tools_json(py: Python<'_>, tools: &Option<Bound<'_, PyAny>>) -> PyResult<Option<String>> {
    let Some(tools) = tools else { return Ok(None) };
    if tools.is_instance_of::<PyString>() {
        return Ok(Some(text(tools, "tools")?.to_owned()));
    }
    let list = TOOL_LIST.import(py, "callgate._tools", "tool_list")?.call1((tools,))?;
    json::encode(&list, "tools").map(Some)
}

fn registry_of(py: Python<'_>, json: &str, is_strict: bool) -> PyResult<Registry> {
    let read = if is_strict { Registry::from_json } else { Registry::tolerant_json };
    py.detach(|| read(json)).map_err(|error| errors::registry(py, &error))
}

impl Spec {
    fn build(self, py: Python<'_>) -> PyResult<Gate> {
        let profile = Profile::named(&self.profile).ok_or_else(|| {
            let help = match nearest(&self.profile, Profile::NAMES.iter().copied()).as_slice() {
                [] => format!("there are {}", Profile::NAMES.join(", ")),
                near => format!("did you mean {}?", near.join(" or ")),
            };
            Problem::new("unknown-profile", format!("there is no profile `{}`", self.profile), help).raise(py)
        })?;
        let mut policy = profile.policy();
        let knobs = json::read(py, &self.knobs, "policy")?;
        policy.set_all(&knobs).map_err(|said| errors::setting(py, "unknown-knob", &said))?;
        let mut builder = CoreGate::builder().profile(profile).policy(policy);
        for (name, source) in &self.dialects {
            builder = match source {
                None => builder.dialect(name),
                Some(_) => builder.record(dialect::load_dialect(py, name, source.as_deref())?.record),
            };
        }
        let of_model = self.model.as_deref().filter(|_| self.dialects.is_empty()).and_then(Record::for_model);
        if let Some(record) = of_model {
            builder = builder.dialect(&record.name);
        }
        if let Some(tools) = &self.tools {
            builder = builder.tools(registry_of(py, tools, self.strict_tools)?);
        }
        let inner = py.detach(|| builder.build()).map_err(|error| errors::gate(py, &error))?;
        Ok(Gate { inner, spec: self })
    }
}

/// The dialects of an argument: a name, a `Dialect`, or a list of those.
fn dialects(chosen: &Option<Bound<'_, PyAny>>) -> PyResult<Vec<(String, Option<String>)>> {
    let Some(chosen) = chosen else { return Ok(Vec::new()) };
    let one = |value: &Bound<'_, PyAny>| -> PyResult<(String, Option<String>)> {
        if let Ok(dialect) = value.cast::<Dialect>() {
            return Ok((dialect.get().record.name.to_string(), dialect.get().source.clone()));
        }
        if !value.is_instance_of::<PyString>() {
            return Err(wrong_type(value, "dialect", "str, Dialect or a list of those"));
        }
        Ok((text(value, "dialect")?.to_owned(), None))
    };
    if chosen.is_instance_of::<PyString>() || chosen.is_instance_of::<Dialect>() {
        return Ok(vec![one(chosen)?]);
    }
    let Ok(list) = chosen.try_iter() else {
        return Err(wrong_type(chosen, "dialect", "str, Dialect or a list of those"));
    };
    list.map(|value| one(&value?)).collect()
}

impl Gate {
    /// The dialect that this gate writes and teaches: the one that is asked for, or the first that was chosen.
    fn record(&self, py: Python<'_>, dialect: &Option<Bound<'_, PyAny>>) -> PyResult<Option<Record>> {
        let named = dialects(dialect)?;
        let of_model =
            || self.spec.model.as_deref().and_then(Record::for_model).map(|record| record.name.to_string());
        let chosen = match named.into_iter().next() {
            Some(named) => Some(named),
            None => {
                let mut own =
                    self.spec.dialects.iter().filter(|(name, _)| name != "auto" && name != "native");
                own.next().cloned().or_else(|| of_model().map(|name| (name, None)))
            }
        };
        let Some((name, source)) = chosen else { return Ok(None) };
        if let Some(record) = self.inner.live().find(|record| *record.name == *name) {
            return Ok(Some(record.clone()));
        }
        if source.is_none() && Record::named(&name).is_none() {
            let help = match nearest(&name, dialect::names()).as_slice() {
                [] => "callgate.dialects lists them all".to_owned(),
                near => format!("did you mean {}?", near.join(", ")),
            };
            return Err(
                Problem::new("unknown-dialect", format!("there is no dialect `{name}`"), help).raise(py)
            );
        }
        dialect::load_dialect(py, &name, source.as_deref()).map(|dialect| Some(dialect.record))
    }

    fn tools_or_error(&self, py: Python<'_>) -> PyResult<&Registry> {
        self.inner.registry().ok_or_else(|| {
            let help = "give the tool list: Gate(tools)";
            Problem::new("needs-tools", "there is nothing to teach without tools", help).raise(py)
        })
    }
}

#[pymethods]
impl Gate {
    /// Compiles a gate. Every knob of the policy is a keyword.
    #[new]
    #[pyo3(signature = (tools=None, *, model=None, dialect=None, profile=None, strict_tools=true, **policy))]
    fn new(
        py: Python<'_>,
        tools: Option<Bound<'_, PyAny>>,
        model: Option<Bound<'_, PyAny>>,
        dialect: Option<Bound<'_, PyAny>>,
        profile: Option<Bound<'_, PyAny>>,
        strict_tools: bool,
        policy: Option<Bound<'_, PyDict>>,
    ) -> PyResult<Gate> {
        let knobs = match &policy {
            Some(policy) => json::encode(policy, "the policy")?,
            None => "{}".to_owned(),
        };
        let profile = optional_text(&profile, "profile")?.unwrap_or(Profile::standard().name()).to_owned();
        Spec {
            tools: tools_json(py, &tools)?,
            strict_tools,
            model: optional_text(&model, "model")?.map(str::to_owned),
            dialects: dialects(&dialect)?,
            profile,
            knobs,
        }
        .build(py)
    }

    /// The same gate for another tool list. The compiled dialects are shared.
    fn with_tools(&self, py: Python<'_>, tools: Bound<'_, PyAny>) -> PyResult<Gate> {
        let tools = tools_json(py, &Some(tools).filter(|tools| !tools.is_none()))?;
        let spec = Spec { tools, ..self.spec.clone() };
        match &spec.tools {
            None => spec.build(py),
            Some(tools) => {
                let registry = registry_of(py, tools, spec.strict_tools)?;
                Ok(Gate { inner: self.inner.with_tools(registry), spec })
            }
        }
    }

    /// Reads a whole response.
    #[pyo3(signature = (text, /, *, prompt_tail=None, finish_reason=None, untrusted=None, tool_calls=None, reasoning=None))]
    #[allow(clippy::too_many_arguments)] // They are the keywords of the method.
    fn parse(
        &self,
        py: Python<'_>,
        text: &Bound<'_, PyAny>,
        prompt_tail: Option<Bound<'_, PyAny>>,
        finish_reason: Option<Bound<'_, PyAny>>,
        untrusted: Option<Bound<'_, PyAny>>,
        tool_calls: Option<Bound<'_, PyAny>>,
        reasoning: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Response> {
        let fed = Fed::of(text, "text")?;
        let (word, reason) = self::reason(py, &finish_reason)?;
        let calls = tool_calls.map(|calls| json::encode(&calls, "tool_calls")).transpose()?;
        let thought = optional_text(&reasoning, "reasoning")?;
        let mut session = prepared(self.inner.session(), &prompt_tail, &untrusted)?;
        let read = || -> (CoreResponse, AllMarks) {
            let mut collector = CoreResponse::collector();
            collector.said(&word);
            let mut sink = |event: callgate::Event<'_>| collector.push(event);
            if let Some(thought) = thought {
                session.reasoning(thought, &mut sink);
            }
            fed.feed(&mut session, &mut sink);
            if let Some(calls) = &calls {
                session.native_calls_text(calls, &mut sink);
            }
            session.finish(reason, &mut sink);
            let mut chars = Chars::default();
            fed.count(&mut chars);
            chars.finish();
            let response = collector.finish(reason);
            let marks = all_marks(&response, &chars);
            (response, marks)
        };
        let (response, marks) = if fed.len() > LARGE { py.detach(read) } else { read() };
        Ok(Response::new(response, marks))
    }

    /// Reads many whole responses at once, on all cores, while other Python threads run.
    #[pyo3(signature = (texts, /, *, prompt_tail=None, finish_reason=None, threads=None))]
    fn parse_many<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyAny>,
        prompt_tail: Option<Bound<'py, PyAny>>,
        finish_reason: Option<Bound<'py, PyAny>>,
        threads: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = many::Options::new(py, &prompt_tail, &finish_reason, threads)?;
        many::parse(py, &self.inner, texts, options)
    }

    /// A session for one response.
    #[pyo3(signature = (*, prompt_tail=None, untrusted=None, id_prefix=None))]
    fn session(
        &self,
        prompt_tail: Option<Bound<'_, PyAny>>,
        untrusted: Option<Bound<'_, PyAny>>,
        id_prefix: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Session> {
        let session = match optional_text(&id_prefix, "id_prefix")? {
            Some(prefix) => self.inner.session().with_id_prefix(prefix),
            None => self.inner.session(),
        };
        Ok(Session::new(prepared(session, &prompt_tail, &untrusted)?))
    }

    /// The events of a response whose chunks come one by one, for `async for` and, unless the chunks come
    /// asynchronously, for `for`.
    #[pyo3(signature = (chunks, /, *, prompt_tail=None, finish_reason=None, untrusted=None))]
    fn stream<'py>(
        slf: &Bound<'py, Self>,
        chunks: &Bound<'py, PyAny>,
        prompt_tail: Option<Bound<'py, PyAny>>,
        finish_reason: Option<Bound<'py, PyAny>>,
        untrusted: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        reason(slf.py(), &finish_reason)?;
        let session = slf.get().session(prompt_tail, untrusted, None)?;
        STREAM.import(slf.py(), "callgate._stream", "EventStream")?.call1((session, chunks, finish_reason))
    }

    /// The message that tells the model what to correct; `None` if there is nothing.
    #[pyo3(signature = (response, /))]
    fn feedback(&self, response: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
        let Ok(response) = response.cast::<Response>() else {
            return Err(wrong_type(response, "response", "Response"));
        };
        Ok(self.inner.profile().feedback(&response.get().inner, self.inner.registry()))
    }

    /// Writes calls as a model would: in this dialect, else in the one that the gate was given, else in the profile's.
    #[pyo3(signature = (calls, /, dialect=None, *, text=None, reasoning=None))]
    fn render(
        &self,
        py: Python<'_>,
        calls: &Bound<'_, PyAny>,
        dialect: Option<Bound<'_, PyAny>>,
        text: Option<Bound<'_, PyAny>>,
        reasoning: Option<Bound<'_, PyAny>>,
    ) -> PyResult<String> {
        let record = match self.record(py, &dialect)? {
            Some(record) => record,
            None => self.inner.profile().teaches().cloned().ok_or_else(|| {
                let help = "name one: gate.render(calls, 'hermes')";
                Problem::new("needs-dialect", "nobody said in which dialect to write", help).raise(py)
            })?,
        };
        dialect::render(py, &record, calls, &text, &reasoning)
    }

    /// The section of a system prompt that teaches a model these tools: in this dialect, else in the one that the gate
    /// was given, else in the profile's.
    #[pyo3(signature = (dialect=None))]
    fn prompt(&self, py: Python<'_>, dialect: Option<Bound<'_, PyAny>>) -> PyResult<String> {
        let tools = self.tools_or_error(py)?;
        Ok(match self.record(py, &dialect)? {
            Some(record) => record.prompt_section(tools),
            None => self.inner.profile().prompt(tools),
        })
    }

    /// The tool list in OpenAI's form; `None` without one.
    #[getter]
    fn tools<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let list = self.inner.registry().map(|registry| registry.to_openai().to_string());
        list.map(|list| json::decode(py, &list)).transpose()
    }

    /// What was forgiven in the tool list, where `strict_tools` is off.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.inner.registry().map_or_else(Vec::new, |registry| registry.notes().to_vec())
    }

    /// The names of the dialects whose calls are live.
    #[getter]
    fn dialects(&self) -> Vec<String> {
        self.inner.live().map(|record| record.name.to_string()).collect()
    }

    /// The name of the profile.
    #[getter]
    fn profile(&self) -> &'static str {
        self.inner.profile().name()
    }

    /// Every knob with its position.
    #[getter]
    fn policy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json::decode(py, &serde_json::to_string(self.inner.policy()).unwrap_or_default())
    }

    /// Whether nothing may be guessed about calls of this tool, and a host should ask before it runs one.
    fn is_dangerous(&self, name: &str) -> bool {
        self.inner.is_dangerous(name)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Reduced<'py, (String,)> {
        reduced(slf.py(), "_load_gate", (serde_json::to_string(&slf.get().spec).unwrap_or_default(),))
    }

    fn __repr__(&self) -> String {
        let tools = self.inner.registry().map_or_else(
            || "no tools".to_owned(),
            |tools| match tools.len() {
                1 => "1 tool".to_owned(),
                count => format!("{count} tools"),
            },
        );
        let live = self.inner.live().count();
        format!("<callgate.Gate {}, {tools}, {live} dialects>", self.inner.profile().name())
    }
}

/// Makes a gate that was pickled.
#[pyfunction(name = "_load_gate")]
pub(crate) fn load_gate(py: Python<'_>, spec: &str) -> PyResult<Gate> {
    json::read::<Spec>(py, spec, "gate")?.build(py)
}

/// The names of all knobs.
#[pyfunction(name = "_knobs")]
pub(crate) fn knobs() -> Vec<String> {
    callgate::Policy::knobs()
}
