//! The registry: the tools a model may call, one source for validation, prompts, messages and examples.

mod forms;
mod tolerant;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::schema::CompiledTool;

use crate::bytes::ByteSet;
use crate::json::Tape;
use crate::nearest::letters;
pub use crate::nearest::nearest;
pub(crate) use tolerant::meant_type;

/// The namespaces in which models put tools that have none.
pub(crate) const NAMESPACES: &[&str] = &["functions.", "default.", "default_api."];

/// A tool as its author describes it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Tool {
    /// The name the model calls it by.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments; describes an object.
    pub parameters: Value,
    /// Whether it can do harm, so that nothing about a call of it may be guessed.
    pub dangerous: bool,
    /// The permission a host asks for before it runs the tool.
    pub permission: Option<String>,
}

impl Tool {
    /// A harmless tool that needs no permission.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Tool {
            name: name.into(),
            description: description.into(),
            parameters,
            dangerous: false,
            permission: None,
        }
    }

    /// A tool whose arguments are a Rust type, as `serde` reads it. Its schema says nothing of `$schema` and `title`, which
    /// are no help to a model.
    #[cfg(feature = "schemars")]
    pub fn from_type<T: schemars::JsonSchema>(
        name: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        let mut settings = schemars::generate::SchemaSettings::default().for_deserialize();
        settings.meta_schema = None;
        let mut schema = settings.into_generator().into_root_schema_for::<T>();
        schema.remove("title");
        Tool::new(name, description, schema.to_value())
    }

    /// Says that the tool can do harm.
    pub fn dangerous(mut self) -> Self {
        self.dangerous = true;
        self
    }

    /// Says which permission the tool needs.
    pub fn permission(mut self, permission: impl Into<String>) -> Self {
        self.permission = Some(permission.into());
        self
    }

    /// A tool from one entry of a tool list: OpenAI (chat or Responses), Anthropic, MCP, or plain.
    ///
    /// The forms differ only in where the fields stand and what the schema is called, so one reading serves all.
    pub fn from_value(entry: &Value) -> Result<Self, RegistryError> {
        let (tool, doubt) = Tool::read(entry)?;
        match doubt {
            Some(doubt) => Err(RegistryError::new(RegistryErrorCode::BadShape, doubt).named(&tool.name)),
            None => Ok(tool),
        }
    }

    /// A tool, and what is doubtful about where its schema stands.
    fn read(entry: &Value) -> Result<(Self, Option<Cow<'static, str>>), RegistryError> {
        let outer = entry
            .as_object()
            .ok_or_else(|| RegistryError::new(RegistryErrorCode::BadShape, "a tool must be an object"))?;
        let (at, fields) = forms::fields(outer)?;
        let name = text_field(fields, at, "name")?.unwrap_or_default();
        if name.is_empty() {
            return Err(RegistryError::new(RegistryErrorCode::MissingName, "a tool must have a name").at(at));
        }
        let named = |error: RegistryError| error.named(&name);
        let description = text_field(fields, at, "description").map_err(named)?.unwrap_or_default();
        // A list may mark its own fields beside or inside `function`.
        let own = |field: &str| fields.get(field).or_else(|| outer.get(field)).filter(|v| !v.is_null());
        let dangerous = match own("dangerous") {
            None => false,
            Some(Value::Bool(dangerous)) => *dangerous,
            Some(_) => {
                return Err(named(wrong_field(at, "dangerous", "true or false")));
            }
        };
        let permission = match own("permission") {
            None => None,
            Some(Value::String(permission)) => Some(permission.clone()),
            Some(_) => return Err(named(wrong_field(at, "permission", "a string"))),
        };
        let (parameters, doubt) = forms::schema(fields);
        Ok((Tool { name, description, parameters, dangerous, permission }, doubt))
    }
}

fn text_field(fields: &Map<String, Value>, at: &str, field: &str) -> Result<Option<String>, RegistryError> {
    match fields.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wrong_field(at, field, "a string")),
    }
}

fn wrong_field(at: &str, field: &str, expected: &str) -> RegistryError {
    RegistryError::new(RegistryErrorCode::BadShape, format!("`{field}` must be {expected}"))
        .at(format!("{at}/{field}"))
}

/// The tools a model may call, in the order they were registered. Cloning shares them.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    shared: Arc<Shelf>,
}

#[derive(Clone, Debug, Default)]
struct Shelf {
    tools: Vec<Arc<CompiledTool>>,
    places: BTreeMap<String, usize>,
    /// The letters of the names, sorted, each with the first tool that has them.
    letters: Vec<(String, usize)>,
    /// The bytes with which names end, in either case.
    name_ends: ByteSet,
    /// The outlines of the letters of the names, one bit for each.
    outlines: Vec<u64>,
    /// Whether a name has white space in it.
    has_spaces: bool,
    /// What was forgiven when they were loaded.
    notes: Vec<String>,
}

impl Registry {
    /// A registry without tools.
    pub fn new() -> Self {
        Registry::default()
    }

    /// Adds a tool, which must have a name that is not taken, a description and a schema that compiles.
    pub fn register(&mut self, tool: Tool) -> Result<(), RegistryError> {
        if tool.name.trim().is_empty() {
            return Err(RegistryError::new(RegistryErrorCode::MissingName, "a tool must have a name"));
        }
        if tool.description.trim().is_empty() {
            return Err(RegistryError::new(
                RegistryErrorCode::MissingDescription,
                "a tool must have a description",
            )
            .named(&tool.name));
        }
        self.put(tool)
    }

    /// The tools of a list in JSON text; see [`Registry::from_value`].
    pub fn from_json(text: &str) -> Result<Self, RegistryError> {
        let list = parse(text)?;
        match repeated_key(text) {
            Some(error) => Err(error),
            None => Registry::from_value(&list),
        }
    }

    /// The tools of a list: an array, or an object with the array `tools`, as a request or an answer of a server may have it.
    /// The entries may be in the form of OpenAI (chat or Responses), Anthropic, Gemini, Bedrock, MCP, or plain `{name, description?, parameters, dangerous?, permission?}`.
    ///
    /// Descriptions may be missing, since lists of others often lack them and the gate does not need them. A name that
    /// stands twice is an error: whoever reads the list could take either entry for the tool.
    pub fn from_value(list: &Value) -> Result<Self, RegistryError> {
        let entries = forms::entries(list)?;
        let mut registry = Registry::new();
        for (index, entry) in entries.into_iter().enumerate() {
            Tool::from_value(entry).and_then(|tool| registry.put(tool)).map_err(|mut error| {
                error.index = Some(index);
                error
            })?;
        }
        Ok(registry)
    }

    /// The tool of exactly this name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.compiled(name).map(|compiled| &compiled.tool)
    }

    /// All tools, in order.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &Tool> {
        self.all_compiled().map(|compiled| &compiled.tool)
    }

    /// All names, in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tools().map(|tool| tool.name.as_str())
    }

    /// The tool of exactly this name, with its compiled schema.
    #[doc(hidden)]
    pub fn compiled(&self, name: &str) -> Option<&CompiledTool> {
        let place = *self.shared.places.get(name)?;
        self.shared.tools.get(place).map(Arc::as_ref)
    }

    /// The tool of this name in whatever letters: case and separators aside. It is what was meant, but not what was said.
    pub(crate) fn respelled(&self, name: &str) -> Option<&CompiledTool> {
        let found = self.shared.letters.binary_search_by(|(other, _)| other.chars().cmp(letters(name)));
        let (_, place) = self.shared.letters.get(found.ok()?)?;
        self.shared.tools.get(*place).map(Arc::as_ref)
    }

    /// Whether a name ends with this byte, in either case.
    pub(crate) fn has_name_end(&self, byte: u8) -> bool {
        self.shared.name_ends.has(byte)
    }

    /// Whether a name may have these letters, in either case, by their number and those at the ends. Of ASCII letters and
    /// digits only.
    pub(crate) fn has_outline(&self, word: &[u8]) -> bool {
        let bit = outline(word);
        let bits = self.shared.outlines.get(bit / 64).copied().unwrap_or_default();
        word.len() > LONGEST_OUTLINE || bits >> (bit % 64) & 1 == 1
    }

    /// Whether a name has white space in it.
    pub(crate) fn has_spaces(&self) -> bool {
        self.shared.has_spaces
    }

    /// All tools with their compiled schemas, in order.
    #[doc(hidden)]
    pub fn all_compiled(&self) -> impl ExactSizeIterator<Item = &CompiledTool> {
        self.shared.tools.iter().map(Arc::as_ref)
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.shared.tools.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.shared.tools.is_empty()
    }

    /// The names closest to one that is not registered, best first, at most three.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        nearest(name, self.names())
    }

    /// The list in the form of OpenAI's chat requests.
    pub fn to_openai(&self) -> Value {
        let form = |tool: &Tool| {
            json!({
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            })
        };
        Value::Array(self.tools().map(form).collect())
    }

    fn put(&mut self, tool: Tool) -> Result<(), RegistryError> {
        let name = tool.name.clone();
        if let Some(place) = self.shared.places.get(&name) {
            let message = format!("the name is taken by tool {place}");
            return Err(RegistryError::new(RegistryErrorCode::NameTaken, message).named(&name));
        }
        self.shelve(CompiledTool::compile(tool).map_err(|error| error.named(&name))?);
        Ok(())
    }

    fn shelve(&mut self, tool: CompiledTool) {
        let shelf = Arc::make_mut(&mut self.shared);
        shelf.places.insert(tool.tool.name.clone(), shelf.tools.len());
        if let Some(end) = tool.tool.name.bytes().next_back() {
            shelf.name_ends.insert(end.to_ascii_lowercase());
            shelf.name_ends.insert(end.to_ascii_uppercase());
        }
        shelf.has_spaces |= tool.tool.name.contains(char::is_whitespace);
        let name: String = letters(&tool.tool.name).collect();
        let bit = outline(name.as_bytes());
        shelf.outlines.resize(OUTLINES / 64, 0);
        shelf.outlines[bit / 64] |= 1 << (bit % 64);
        let place = shelf.letters.binary_search_by(|(other, _)| other.cmp(&name)).err();
        if let Some(at) = place.filter(|_| !name.is_empty()) {
            shelf.letters.insert(at, (name, shelf.tools.len()));
        }
        shelf.tools.push(Arc::new(tool));
    }
}

/// How many outlines there are.
const OUTLINES: usize = 1 << 13;

/// Of longer words the outline says nothing: only the first letters of names are compared.
const LONGEST_OUTLINE: usize = 60;

/// The outline of a word: five bits of its first byte and of its last, in which cases are alike, and three of its length.
fn outline(word: &[u8]) -> usize {
    let bits = |byte: Option<&u8>| byte.map_or(0, |byte| usize::from(*byte & 31));
    bits(word.first()) << 8 | bits(word.last()) << 3 | word.len() & 7
}

/// The JSON of a tool list.
fn parse(text: &str) -> Result<Value, RegistryError> {
    serde_json::from_str(text).map_err(|error| {
        let mut rejection = RegistryError::new(RegistryErrorCode::BadJson, "the tool list is not valid JSON");
        rejection.line_column = Some((error.line(), error.column()));
        rejection
    })
}

/// The rejection of a list in which a key stands twice in one object: readers differ in which of the two counts.
fn repeated_key(text: &str) -> Option<RegistryError> {
    let tape = Tape::parse(text)?;
    let node = tape.duplicate(text)?;
    let key: String = tape.key(text, node)?.chars().take(64).flat_map(char::escape_debug).collect();
    let message = format!("the key `{key}` stands twice in one object");
    Some(RegistryError::new(RegistryErrorCode::BadShape, message).at(tape.pointer(text, node)))
}

/// Why a tool or a tool list was rejected: what, where, and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegistryError {
    /// What kind of mistake it is.
    pub code: RegistryErrorCode,
    /// The place in the list, counted from 0, where the tool came from a list.
    pub index: Option<usize>,
    /// The name of the tool, as far as it is known.
    pub tool: Option<String>,
    /// The place as a JSON pointer: in the schema for mistakes of the schema, else in the entry of the list.
    pub pointer: String,
    /// Line and column, counted from 1, where the text is not JSON.
    pub line_column: Option<(usize, usize)>,
    /// What is wrong.
    pub message: String,
}

impl RegistryError {
    pub(crate) fn new(code: RegistryErrorCode, message: impl Into<String>) -> Self {
        RegistryError {
            code,
            index: None,
            tool: None,
            pointer: String::new(),
            line_column: None,
            message: message.into(),
        }
    }

    /// What to do.
    pub fn help(&self) -> &'static str {
        self.code.help()
    }

    pub(crate) fn at(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = pointer.into();
        self
    }

    fn named(mut self, tool: &str) -> Self {
        self.tool = Some(tool.to_owned());
        self
    }
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.tool, self.index) {
            (Some(tool), Some(index)) => write!(f, "tool {index} `{}`: ", tool.escape_debug())?,
            (Some(tool), None) => write!(f, "tool `{}`: ", tool.escape_debug())?,
            (None, Some(index)) => write!(f, "tool {index}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.message)?;
        if let Some((line, column)) = self.line_column {
            write!(f, " at line {line}, column {column}")?;
        }
        if !self.pointer.is_empty() {
            write!(f, " at {}", self.pointer)?;
        }
        write!(f, " ({}). {}", self.code, self.help())
    }
}

impl std::error::Error for RegistryError {}

/// What is wrong with a tool or a tool list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RegistryErrorCode {
    /// The list is not JSON.
    BadJson,
    /// The list or an entry has another shape than any known form.
    BadShape,
    /// A tool has no name.
    MissingName,
    /// A tool has the name of another one.
    NameTaken,
    /// A tool has no description.
    MissingDescription,
    /// The schema is not a JSON Schema of an object.
    BadSchema,
    /// A pattern of the schema cannot run in linear time, or is no pattern.
    BadPattern,
    /// The schema refers to something outside itself, or to nothing.
    BadReference,
    /// The schema is too large, too deep or too entangled to be checked in bounded time.
    TooComplex,
}

impl RegistryErrorCode {
    /// The stable word.
    pub fn word(self) -> &'static str {
        match self {
            RegistryErrorCode::BadJson => "tools-bad-json",
            RegistryErrorCode::BadShape => "tools-bad-shape",
            RegistryErrorCode::MissingName => "tool-without-name",
            RegistryErrorCode::NameTaken => "tool-name-taken",
            RegistryErrorCode::MissingDescription => "tool-without-description",
            RegistryErrorCode::BadSchema => "tool-bad-schema",
            RegistryErrorCode::BadPattern => "tool-bad-pattern",
            RegistryErrorCode::BadReference => "tool-bad-reference",
            RegistryErrorCode::TooComplex => "tool-too-complex",
        }
    }

    /// The way out.
    pub fn help(self) -> &'static str {
        match self {
            RegistryErrorCode::BadJson => "Correct the JSON.",
            RegistryErrorCode::BadShape => {
                "Give each tool as {\"name\", \"description\", \"parameters\"} or in the form of OpenAI, Anthropic or MCP."
            }
            RegistryErrorCode::MissingName => "Give the tool a name.",
            RegistryErrorCode::NameTaken => "Give each tool a name of its own.",
            RegistryErrorCode::MissingDescription => "Say in one sentence what the tool does.",
            RegistryErrorCode::BadSchema => "Correct the JSON Schema.",
            RegistryErrorCode::BadPattern => {
                "Write the pattern without look-around and back-references, and keep its repetitions small."
            }
            RegistryErrorCode::BadReference => {
                "Put the definition under `$defs` in the same schema and refer to it as `#/$defs/…`."
            }
            RegistryErrorCode::TooComplex => "Simplify the schema, or split what it describes.",
        }
    }
}

impl fmt::Display for RegistryErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
