//! Functions of the program as tools: arguments come as a Rust value, results go as text.

use std::marker::PhantomData;
use std::sync::Arc;

use callgate::{RegistryError, Tool};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Prepared, RunTool, ToolError, ToolErrorCode, Toolbox};
use crate::model::BoxFuture;

impl Toolbox {
    /// Adds a function as a tool. A tool that is marked as dangerous asks before it runs, any other runs by itself, unless
    /// a rule says otherwise.
    ///
    /// ```
    /// use callgate::Tool;
    /// use callgate_agent::tools::Toolbox;
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Weather {
    ///     city: String,
    /// }
    ///
    /// let schema = serde_json::json!({
    ///     "type": "object",
    ///     "properties": {"city": {"type": "string"}},
    ///     "required": ["city"],
    /// });
    /// let mut tools = Toolbox::new();
    /// let weather = Tool::new("weather", "Says what the weather is.", schema);
    /// tools.add_function(weather, |Weather { city }| async move { Ok(format!("It rains in {city}.")) })?;
    /// assert!(tools.get("weather").is_some());
    /// # Ok::<(), callgate::RegistryError>(())
    /// ```
    pub fn add_function<A, F, R>(&mut self, tool: Tool, function: F) -> Result<(), RegistryError>
    where
        A: DeserializeOwned + Send + 'static,
        F: Fn(A) -> R + Send + Sync + 'static,
        R: Future<Output = Result<String, ToolError>> + Send + 'static,
    {
        self.add(Arc::new(Function { tool, function: Arc::new(function), arguments: PhantomData }))
    }
}

/// A function with what is said about it.
struct Function<A, F> {
    tool: Tool,
    function: Arc<F>,
    arguments: PhantomData<fn(A)>,
}

impl<A, F, R> RunTool for Function<A, F>
where
    A: DeserializeOwned + Send + 'static,
    F: Fn(A) -> R + Send + Sync + 'static,
    R: Future<Output = Result<String, ToolError>> + Send + 'static,
{
    fn tool(&self) -> &Tool {
        &self.tool
    }

    fn prepare<'a>(&'a self, arguments: &'a Value) -> BoxFuture<'a, Result<Prepared, ToolError>> {
        let misfit = |error: serde_json::Error| {
            ToolError::new(ToolErrorCode::BadArguments, &*self.tool.name, error.to_string())
        };
        let prepared = A::deserialize(arguments).map_err(misfit).map(|arguments| {
            let function = Arc::clone(&self.function);
            Prepared::new(move || function(arguments))
        });
        Box::pin(std::future::ready(prepared))
    }
}
