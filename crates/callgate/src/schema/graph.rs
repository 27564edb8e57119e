//! The graph of a schema: which subschemas judge the same value, which judge its members, and how much work that is.
//!
//! A tool list is untrusted input. A validator follows references, so a schema of one page can ask for more work than
//! there is time (twenty definitions that each refer twice to the next) or never end (a definition that is itself).
//! The graph is walked once, when a tool is registered, and rejects such schemas.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

use super::outline::{self, Outline};
use super::types::TypeSet;
use crate::json::escape_pointer;
use crate::registry::{RegistryError, RegistryErrorCode};

/// The largest schema, counted in bytes of its keys and strings and a few for each value.
const MAX_SIZE: usize = 256 << 10;
/// The deepest nesting of a schema's own text.
const MAX_NESTING: usize = 64;
/// The most subschemas in a row that judge the same value, references included.
const MAX_CHAIN: usize = 24;
/// The most subschemas that judge one value, each counted as often as it is reached.
const MAX_JUDGES: u64 = 1024;
/// The most subschemas met on the way to one value while the reasons of a rejection are collected. Reasons multiply by
/// the alternatives on every level of a recursive schema, so for deeper values only the fact is reported.
const MAX_REASONS: u64 = 4096;
/// The deepest value that a recursive schema judges.
const DEEPEST: usize = 128;
/// The most subschemas that are inside one another while a value is judged: an unoptimised build has room for about
/// 1500 in the smallest usual stack.
const STACK: usize = 1000;

/// The subschemas that can be reached from the root, the root first.
pub(super) struct Graph<'a> {
    nodes: Vec<Subschema<'a>>,
    /// Which node a subschema is, by its address, so that one that is reached twice is one node.
    places: HashMap<*const Value, usize>,
    /// All nodes, each after those that judge the same value on its behalf.
    order: Vec<usize>,
    types: Vec<TypeSet>,
}

#[derive(Default)]
struct Subschema<'a> {
    schema: Option<&'a Value>,
    pointer: String,
    /// All of these must hold: `allOf`, references.
    all: Vec<usize>,
    /// Of each list, some must hold: `anyOf`, `oneOf`.
    alternatives: Vec<Vec<usize>>,
    /// These may be asked: `if`, `then`, `else`, `dependentSchemas`.
    conditional: Vec<usize>,
    /// This must not hold: `not`.
    negated: Vec<usize>,
    /// Members of which a value meets at most one at a time.
    exclusive: Vec<usize>,
    /// Members that may meet the same value as others.
    overlapping: Vec<usize>,
}

impl Subschema<'_> {
    fn same_value(&self) -> impl Iterator<Item = usize> {
        let alternatives = self.alternatives.iter().flatten();
        self.all.iter().chain(alternatives).chain(&self.conditional).chain(&self.negated).copied()
    }
}

/// What a schema says about the top level of the arguments.
pub(super) struct TopLevel {
    /// The argument names it mentions, each with its types.
    pub keys: BTreeMap<String, TypeSet>,
    /// The types of arguments that it does not mention, where it says anything about them.
    pub others: Option<TypeSet>,
    /// Whether other arguments are allowed, forbidden, or not spoken of.
    pub extras: Extras,
    /// The names that every value must have.
    pub required: Vec<String>,
}

/// What a schema says about arguments that it does not mention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extras {
    /// They are allowed, or there is no list of arguments.
    Allowed,
    /// There is a list of arguments, and no word about others.
    Silent,
    /// They are forbidden.
    Forbidden,
}

/// How deep a value may be nested to be judged, where the schema goes on for as long as the value does.
pub(super) struct Depths {
    /// Deeper values are rejected, since the validator recurses with the value and the stack is finite.
    pub verdict: usize,
    /// Of deeper values, the reasons of a rejection are not collected, since there may be too many.
    pub reasons: usize,
}

impl<'a> Graph<'a> {
    pub(super) fn build(root: &'a Value) -> Result<Self, RegistryError> {
        let anchors = measure(root)?;
        let mut graph =
            Graph { nodes: Vec::new(), places: HashMap::new(), order: Vec::new(), types: Vec::new() };
        graph.node(root, String::new());
        let mut next = 0;
        while next < graph.nodes.len() {
            graph.connect(&anchors, root, next)?;
            next += 1;
        }
        graph.order = graph.sort()?;
        graph.weigh_one_value()?;
        graph.types = graph.find_types();
        Ok(graph)
    }

    /// The types that the schema allows as a whole.
    pub(super) fn root_types(&self) -> TypeSet {
        self.types[0]
    }

    /// What the schema says about the top level, through references, alternatives and conditions.
    pub(super) fn top_level(&self) -> TopLevel {
        let mut top =
            TopLevel { keys: BTreeMap::new(), others: None, extras: Extras::Allowed, required: Vec::new() };
        let (mut mentioned, mut listed, mut allowed, mut forbidden) = (false, false, false, false);
        let mut seen = BTreeSet::from([0]);
        // The flag says whether the subschema always holds, so that what it requires is required.
        let mut pending = vec![(0, true)];
        while let Some((index, always)) = pending.pop() {
            let node = &self.nodes[index];
            let always_next = node.all.iter().map(|next| (*next, always));
            let sometimes = node.alternatives.iter().flatten().chain(&node.conditional);
            for (next, always) in always_next.chain(sometimes.map(|next| (*next, false))) {
                if seen.insert(next) {
                    pending.push((next, always));
                }
            }
            let Some(fields) = node.schema.and_then(Value::as_object) else { continue };
            if let Some(Value::Object(properties)) = fields.get("properties") {
                listed = true;
                for (key, schema) in properties {
                    let known = top.keys.entry(key.clone()).or_insert(TypeSet::NONE);
                    *known = known.or(self.types_of(schema));
                }
            }
            if always {
                let names = fields.get("required").and_then(Value::as_array).into_iter().flatten();
                for name in names.filter_map(Value::as_str) {
                    if !top.required.iter().any(|known| known == name) {
                        top.required.push(name.to_owned());
                    }
                }
            }
            mentioned |= fields.contains_key("patternProperties");
            for keyword in ["additionalProperties", "unevaluatedProperties"] {
                match fields.get(keyword) {
                    None => {}
                    Some(Value::Bool(false)) => forbidden = true,
                    Some(schema) => {
                        allowed = true;
                        top.others = Some(self.types_of(schema));
                    }
                }
            }
        }
        // A pattern mentions names that cannot be listed, so only the validator knows which are extra.
        if listed && !mentioned && forbidden {
            top.extras = Extras::Forbidden;
        } else if listed && !mentioned && !allowed {
            top.extras = Extras::Silent;
        }
        top
    }

    /// Which types are allowed at each place inside the arguments.
    pub(super) fn outline(&self) -> Outline {
        let index_of = |schema: &Value| self.places.get(&std::ptr::from_ref(schema)).copied();
        let node = |(index, node): (usize, &Subschema<'_>)| {
            let fields = node.schema.and_then(Value::as_object);
            let field = |keyword: &str| fields.and_then(|fields| fields.get(keyword));
            let list = |keyword: &str| field(keyword).and_then(Value::as_array);
            let members = field("properties").and_then(Value::as_object).into_iter().flatten();
            let others = field("additionalProperties").or_else(|| field("unevaluatedProperties"));
            let first_items = list("prefixItems").or_else(|| list("items")).into_iter().flatten();
            let items = field("items").filter(|items| !items.is_array()).or_else(|| field("additionalItems"));
            let same = node.all.iter().chain(node.alternatives.iter().flatten()).chain(&node.conditional);
            outline::OutlineNode {
                types: self.types[index],
                same: same.copied().collect(),
                members: members.filter_map(|(key, schema)| Some((key.clone(), index_of(schema)?))).collect(),
                others: others.filter(|schema| schema.is_object()).and_then(index_of),
                first_items: first_items.filter_map(index_of).collect(),
                items: items.and_then(index_of),
            }
        };
        Outline::new(self.nodes.iter().enumerate().map(node).collect())
    }

    /// How many subschemas judge one value at most.
    pub(super) fn judges(&self) -> u64 {
        self.work(|_| 0).into_iter().max().unwrap_or(1)
    }

    /// How deep a value may be to be judged.
    pub(super) fn depths(&self) -> Depths {
        let verdict = (STACK / (1 + self.longest_chain())).min(DEEPEST);
        let mut before = self.work(|_| 0);
        for level in 1..=DEEPEST {
            let now = self.work(|index| before[index]);
            if now[0] > MAX_REASONS {
                return Depths { verdict, reasons: level - 1 };
            }
            // Nothing more is met on this level, so the schema ends before it.
            if now == before {
                return Depths { verdict: usize::MAX, reasons: usize::MAX };
            }
            before = now;
        }
        Depths { verdict, reasons: usize::MAX }
    }

    /// The work of each subschema on one path into a value, given the work of the subschemas one level deeper.
    fn work(&self, deeper: impl Fn(usize) -> u64) -> Vec<u64> {
        let mut work = vec![0u64; self.nodes.len()];
        for &index in &self.order {
            let node = &self.nodes[index];
            let same = node.same_value().fold(1u64, |sum, next| sum.saturating_add(work[next]));
            let one = node.exclusive.iter().map(|next| deeper(*next)).max().unwrap_or(0);
            let more = node.overlapping.iter().fold(one, |sum, next| sum.saturating_add(deeper(*next)));
            work[index] = same.saturating_add(more);
        }
        work
    }

    fn weigh_one_value(&self) -> Result<(), RegistryError> {
        let work = self.work(|_| 0);
        let chains = self.chains();
        for (index, node) in self.nodes.iter().enumerate() {
            if chains[index] > MAX_CHAIN || work[index] > MAX_JUDGES {
                return Err(RegistryError::new(
                    RegistryErrorCode::TooComplex,
                    "too many references and alternatives judge the same value",
                )
                .at(node.pointer.clone()));
            }
        }
        Ok(())
    }

    /// For each node, how many others judge the same value one inside the other.
    fn chains(&self) -> Vec<usize> {
        let mut chains = vec![0; self.nodes.len()];
        for &index in &self.order {
            chains[index] = self.nodes[index].same_value().map(|next| chains[next] + 1).max().unwrap_or(0);
        }
        chains
    }

    fn longest_chain(&self) -> usize {
        self.chains().into_iter().max().unwrap_or(0)
    }

    /// Orders the nodes so that each comes after those that judge the same value on its behalf.
    fn sort(&self) -> Result<Vec<usize>, RegistryError> {
        #[derive(Clone, Copy, PartialEq)]
        enum Visit {
            New,
            Open,
            Done,
        }
        let mut marks = vec![Visit::New; self.nodes.len()];
        let mut order = Vec::with_capacity(self.nodes.len());
        for start in 0..self.nodes.len() {
            let mut pending = vec![start];
            while let Some(&index) = pending.last() {
                match marks[index] {
                    Visit::New => {
                        marks[index] = Visit::Open;
                        for next in self.nodes[index].same_value() {
                            match marks[next] {
                                Visit::New => pending.push(next),
                                Visit::Open => {
                                    return Err(RegistryError::new(
                                        RegistryErrorCode::BadReference,
                                        "the schema refers to itself without going into a member of the value",
                                    )
                                    .at(self.nodes[next].pointer.clone()));
                                }
                                Visit::Done => {}
                            }
                        }
                    }
                    Visit::Open => {
                        marks[index] = Visit::Done;
                        order.push(index);
                        pending.pop();
                    }
                    Visit::Done => {
                        pending.pop();
                    }
                }
            }
        }
        Ok(order)
    }

    fn find_types(&self) -> Vec<TypeSet> {
        let mut types = vec![TypeSet::ANY; self.nodes.len()];
        for &index in &self.order {
            let node = &self.nodes[index];
            let mut own = node.schema.map_or(TypeSet::ANY, declared_types);
            for next in &node.all {
                own = own.and(types[*next]);
            }
            for list in &node.alternatives {
                own = own.and(list.iter().fold(TypeSet::NONE, |sum, next| sum.or(types[*next])));
            }
            types[index] = own;
        }
        types
    }

    fn types_of(&self, schema: &Value) -> TypeSet {
        self.places.get(&std::ptr::from_ref(schema)).map_or(TypeSet::ANY, |index| self.types[*index])
    }

    fn node(&mut self, schema: &'a Value, pointer: String) -> usize {
        *self.places.entry(std::ptr::from_ref(schema)).or_insert_with(|| {
            self.nodes.push(Subschema { schema: Some(schema), pointer, ..Subschema::default() });
            self.nodes.len() - 1
        })
    }

    /// Finds the subschemas of one node.
    fn connect(
        &mut self,
        anchors: &HashMap<&'a str, &'a Value>,
        root: &'a Value,
        index: usize,
    ) -> Result<(), RegistryError> {
        let Some(fields) = self.nodes[index].schema.and_then(Value::as_object) else { return Ok(()) };
        let base = self.nodes[index].pointer.clone();
        let mut node = Subschema::default();
        for (keyword, argument) in fields {
            let pointer = format!("{base}/{}", escape_pointer(keyword));
            match keyword.as_str() {
                "$ref" | "$dynamicRef" | "$recursiveRef" => {
                    let (target, place) = resolve(root, anchors, argument).map_err(|e| e.at(&*pointer))?;
                    node.all.push(self.node(target, place));
                }
                "$id" if index != 0 && names_resource(argument) => {
                    return Err(RegistryError::new(
                        RegistryErrorCode::BadReference,
                        "a schema inside the schema has its own identifier",
                    )
                    .at(pointer));
                }
                "allOf" => node.all.extend(self.children(argument, &pointer)),
                "anyOf" | "oneOf" => {
                    let list = self.children(argument, &pointer);
                    node.alternatives.push(list);
                }
                "if" | "then" | "else" => node.conditional.push(self.node(argument, pointer)),
                "dependentSchemas" | "dependencies" => {
                    node.conditional.extend(self.children(argument, &pointer));
                }
                "not" => node.negated.push(self.node(argument, pointer)),
                "properties" | "prefixItems" => {
                    node.exclusive.extend(self.children(argument, &pointer));
                }
                "patternProperties" => node.overlapping.extend(self.children(argument, &pointer)),
                "items" if argument.is_array() => {
                    node.exclusive.extend(self.children(argument, &pointer));
                }
                "items"
                | "additionalItems"
                | "unevaluatedItems"
                | "contains"
                | "additionalProperties"
                | "unevaluatedProperties"
                | "propertyNames" => {
                    node.overlapping.push(self.node(argument, pointer));
                }
                _ => {}
            }
        }
        node.schema = self.nodes[index].schema;
        node.pointer = base;
        self.nodes[index] = node;
        Ok(())
    }

    fn children(&mut self, container: &'a Value, pointer: &str) -> Vec<usize> {
        match container {
            Value::Array(items) => items
                .iter()
                .enumerate()
                .map(|(place, item)| self.node(item, format!("{pointer}/{place}")))
                .collect(),
            Value::Object(members) => members
                .iter()
                .map(|(key, item)| self.node(item, format!("{pointer}/{}", escape_pointer(key))))
                .collect(),
            _ => Vec::new(),
        }
    }
}

/// The schema that a reference names, with its place.
pub(super) fn resolve<'a>(
    root: &'a Value,
    anchors: &HashMap<&'a str, &'a Value>,
    reference: &Value,
) -> Result<(&'a Value, String), RegistryError> {
    let bad = |message: String| RegistryError::new(RegistryErrorCode::BadReference, message);
    let text = reference.as_str().ok_or_else(|| bad("a reference must be a string".to_owned()))?;
    let Some(fragment) = text.strip_prefix('#') else {
        return Err(bad(format!(
            "the reference {} leads outside the schema, and nothing is ever fetched",
            super::problem::shown_text(text)
        )));
    };
    let fragment = decode_percent(fragment);
    let target = if fragment.is_empty() || fragment.starts_with('/') {
        root.pointer(&fragment)
    } else {
        anchors.get(fragment.as_str()).copied()
    };
    match target {
        Some(schema) => Ok((schema, fragment)),
        None => Err(bad(format!("the reference {} leads nowhere", super::problem::shown_text(text)))),
    }
}

/// The types that the keywords of one schema allow, without its subschemas.
fn declared_types(schema: &Value) -> TypeSet {
    if *schema == Value::Bool(false) {
        return TypeSet::NONE;
    }
    let mut types = schema.get("type").map_or(TypeSet::ANY, TypeSet::of_keyword);
    if let Some(Value::Array(members)) = schema.get("enum") {
        types = types.and(members.iter().fold(TypeSet::NONE, |sum, member| sum.or(TypeSet::of(member))));
    }
    if let Some(member) = schema.get("const") {
        types = types.and(TypeSet::of(member));
    }
    types
}

/// Whether an identifier starts a new base for references, unlike a plain anchor or an argument of that name.
fn names_resource(identifier: &Value) -> bool {
    identifier.as_str().is_some_and(|text| !text.starts_with('#'))
}

/// Rejects a schema that is too large or too deep, and lists the anchors that references may name.
pub(super) fn measure(root: &Value) -> Result<HashMap<&str, &Value>, RegistryError> {
    let mut anchors = HashMap::new();
    let mut size = 0usize;
    let mut pending = vec![(root, 1usize)];
    while let Some((value, depth)) = pending.pop() {
        size += 8;
        match value {
            Value::String(text) => size += text.len(),
            Value::Array(items) => pending.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(members) => {
                for keyword in ["$anchor", "$dynamicAnchor", "$id"] {
                    if let Some(Value::String(name)) = members.get(keyword) {
                        anchors.insert(name.trim_start_matches('#'), value);
                    }
                }
                size += members.keys().map(String::len).sum::<usize>();
                pending.extend(members.values().map(|member| (member, depth + 1)));
            }
            _ => {}
        }
        let rejection = if size > MAX_SIZE {
            format!("the schema is larger than {} KiB", MAX_SIZE >> 10)
        } else if depth > MAX_NESTING {
            format!("the schema is nested deeper than {MAX_NESTING} levels")
        } else {
            continue;
        };
        return Err(RegistryError::new(RegistryErrorCode::TooComplex, rejection));
    }
    Ok(anchors)
}

/// Undoes the percent encoding of a reference; text that is no encoding stays.
fn decode_percent(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let code = tail.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match code.filter(|_| first == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
