//! Tools: functions that released calls are handed to, with their arguments as Rust values.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::DeserializeOwned;

use crate::event::Call;
use crate::finding::{Code, Finding};
use crate::json::Tape;
use crate::registry::{Registry, RegistryError, Tool};

impl Call {
    /// The arguments as a Rust value, read from their exact text: integers up to 128 bits and the digits of a
    /// `serde_json::value::RawValue` are the model's own.
    ///
    /// A gate with a tool list has checked the arguments against the schema; this fails where the type asks for more than
    /// the schema says. The finding names the place as a JSON pointer, and can be given to the model.
    ///
    /// ```
    /// #[derive(serde::Deserialize)]
    /// struct Transfer {
    ///     cents: u128,
    /// }
    ///
    /// let gate = callgate::Gate::builder().build()?;
    /// let response = gate.parse(
    ///     r#"<tool_call>{"name": "pay", "arguments": {"cents": 123456789012345678901234567890}}</tool_call>"#,
    /// );
    /// let transfer: Transfer = response.calls[0].arguments_as()?;
    /// assert_eq!(transfer.cents, 123456789012345678901234567890);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn arguments_as<T: DeserializeOwned>(&self) -> Result<T, Finding> {
        serde_json::from_str(&self.arguments).map_err(|error| self.misfit(&error))
    }

    /// Why the arguments are no value of a type, and where in them.
    fn misfit(&self, error: &serde_json::Error) -> Finding {
        let text = error.to_string();
        let what = text.rsplit_once(" at line ").map_or(&*text, |(what, _)| what);
        let mut finding = Finding::new(Code::SchemaMismatch)
            .path(place(&self.arguments, error.line(), error.column()))
            .message(format!("the arguments do not fit what {} takes: {what}", self.name))
            .help("Send arguments of the types that the tool takes.");
        finding.span = self.span;
        finding
    }
}

/// The innermost value at a line and column of a JSON text, as a JSON pointer.
fn place(json: &str, line: usize, column: usize) -> String {
    let start: usize = json.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let at = start + column;
    let Some(tape) = Tape::parse(json) else { return String::new() };
    let around = tape.nodes().iter().rposition(|node| node.start() <= at && at <= node.end());
    around.map(|node| tape.pointer(json, node)).unwrap_or_default()
}

/// What a tool does with a call.
type Handler<R> = Box<dyn Fn(&Call) -> Result<R, Finding> + Send + Sync>;

/// Functions as tools. It gives the gate its tool list, and runs the calls that the gate lets out.
///
/// `R` is what the functions return. Whatever they do about their own failures is in it; that a function never ran is a
/// [`Finding`]. A panic of a function is not caught.
///
/// ```
/// use callgate::{Gate, Tool, Tools};
/// use serde_json::json;
///
/// #[derive(serde::Deserialize)]
/// struct Add {
///     a: i64,
///     b: i64,
/// }
///
/// let schema = json!({
///     "type": "object",
///     "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
///     "required": ["a", "b"],
/// });
/// let mut tools = Tools::new();
/// tools.add(Tool::new("add", "Adds two numbers.", schema), |Add { a, b }| a.checked_add(b))?;
///
/// let gate = Gate::builder().tools(tools.registry().clone()).build()?;
/// let response = gate.parse(r#"<tool_call>{"name": "add", "arguments": {"a": 2, "b": 3}}</tool_call>"#);
/// assert_eq!(tools.run(&response.calls[0])?, Some(5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Functions that have to wait return a future: then `R` is a boxed one, and whoever runs the call waits for it.
///
/// ```
/// use std::pin::Pin;
/// use callgate::{Gate, Tool, Tools};
/// # use std::task::{Context, Poll, Waker};
///
/// #[derive(serde::Deserialize)]
/// struct Look {
///     q: String,
/// }
/// type Answer = Pin<Box<dyn Future<Output = String> + Send>>;
///
/// let mut tools: Tools<Answer> = Tools::new();
/// let look = Tool::new("look", "Looks something up.", serde_json::json!({"type": "object"}));
/// tools.add(look, |Look { q }| Box::pin(async move { format!("all about {q}") }) as Answer)?;
///
/// let gate = Gate::builder().policy(callgate::Policy::default().extra_args_allow());
/// let gate = gate.tools(tools.registry().clone()).build()?;
/// let response = gate.parse(r#"<tool_call>{"name": "look", "arguments": {"q": "cats"}}</tool_call>"#);
/// let mut answer = tools.run(&response.calls[0])?; // and `.await`
/// # let mut context = Context::from_waker(Waker::noop());
/// # assert_eq!(answer.as_mut().poll(&mut context), Poll::Ready("all about cats".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tools<R> {
    registry: Registry,
    handlers: BTreeMap<String, Handler<R>>,
}

impl<R> Tools<R> {
    /// No tools.
    pub fn new() -> Self {
        Tools { registry: Registry::new(), handlers: BTreeMap::new() }
    }

    /// Adds a function as a tool that is described by hand. The name must not be taken.
    pub fn add<A, F>(&mut self, tool: Tool, function: F) -> Result<(), RegistryError>
    where
        A: DeserializeOwned,
        F: Fn(A) -> R + Send + Sync + 'static,
    {
        let name = tool.name.clone();
        self.registry.register(tool)?;
        self.handlers.insert(name, Box::new(move |call| call.arguments_as().map(&function)));
        Ok(())
    }

    /// Adds a function as a tool whose schema is that of its argument.
    ///
    /// ```
    /// use callgate::Tools;
    ///
    /// /// What to look for.
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Look {
    ///     /// The words to look for.
    ///     q: String,
    ///     limit: Option<u8>,
    /// }
    ///
    /// let mut tools = Tools::new();
    /// tools.add_function("look", "Looks something up.", |look: Look| look.q.len())?;
    /// let schema = &tools.registry().get("look").unwrap().parameters;
    /// assert_eq!(schema["properties"]["q"]["description"], "The words to look for.");
    /// assert_eq!(schema["required"], serde_json::json!(["q"]));
    /// # Ok::<(), callgate::RegistryError>(())
    /// ```
    #[cfg(feature = "schemars")]
    pub fn add_function<A, F>(
        &mut self,
        name: impl Into<String>,
        description: impl Into<String>,
        function: F,
    ) -> Result<(), RegistryError>
    where
        A: DeserializeOwned + schemars::JsonSchema,
        F: Fn(A) -> R + Send + Sync + 'static,
    {
        self.add(Tool::from_type::<A>(name, description), function)
    }

    /// The tool list, for a gate.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Runs a call. It does not run if the gate had no tool list, if there is no such tool here, or if the arguments do
    /// not fit the function.
    pub fn run(&self, call: &Call) -> Result<R, Finding> {
        let at = |mut finding: Finding| {
            finding.span = call.span;
            finding
        };
        if !call.checked {
            return Err(at(Finding::new(Code::UncheckedCall)));
        }
        let Some(handler) = self.handlers.get(&call.name) else {
            let nearest = self.registry.nearest(&call.name);
            let hint = if nearest.is_empty() {
                String::new()
            } else {
                format!("; the nearest is {}", nearest.join(", "))
            };
            let message = format!("unknown tool: {}{hint}", call.name);
            return Err(at(Finding::new(Code::UnknownTool).message(message)));
        };
        handler(call)
    }
}

impl<R> Default for Tools<R> {
    fn default() -> Self {
        Tools::new()
    }
}

impl<R> fmt::Debug for Tools<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tools").field("registry", &self.registry).finish_non_exhaustive()
    }
}
