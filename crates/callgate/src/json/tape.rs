//! The tape: where each value of a JSON text stands, in reading order, so that values are decoded only on demand.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::{Map, Number, Value};

use super::reader::{End, Reader, Syntax};
use super::text::{escape_into, escape_pointer, plain_length, unescape, unescape_body, unescape_pointer};
use crate::finding::Span;

/// The place of something that has not ended yet.
const OPEN: u32 = u32::MAX;

/// Room for the values of a usual call.
const USUAL: usize = 16;

/// How many keys are compared with each other instead of being hashed.
const FEW: usize = 8;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// A number.
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

/// One value. A list of numbers has a value every other byte, so its places are kept small: no reader takes a text in
/// which they would not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// The place of the key; its end is zero where there is none.
    key: (u32, u32),
    start: u32,
    end: u32,
    after: u32,
}

impl Node {
    fn new(kind: Kind, key: Option<(usize, usize)>, start: usize) -> Self {
        let key = key.map_or((0, 0), |(from, to)| (small(from), small(to)));
        Node { kind, key, start: small(start), end: OPEN, after: OPEN }
    }

    /// Where its key stands in the text, quotes included, if it is a member of an object.
    pub fn key(&self) -> Option<(usize, usize)> {
        (self.key.1 > 0).then_some((self.key.0 as usize, self.key.1 as usize))
    }

    /// Its key as it is written, without its quotes.
    pub(crate) fn written_key<'t>(&self, text: &'t str) -> Option<&'t [u8]> {
        let (start, end) = self.key()?;
        text.as_bytes().get(start + 1..end - 1)
    }

    /// Its first byte in the text.
    pub fn start(&self) -> usize {
        self.start as usize
    }

    /// One past its last byte; `usize::MAX` while it is open.
    pub fn end(&self) -> usize {
        large(self.end)
    }

    /// The index of the first node that is not inside it; `usize::MAX` while it is open.
    pub fn after(&self) -> usize {
        large(self.after)
    }

    /// The same value where the text begins this much later, and the tape with this many nodes before.
    fn moved(mut self, by: usize, nodes: usize) -> Self {
        let by = small(by);
        if self.key.1 > 0 {
            self.key = (self.key.0 + by, self.key.1 + by);
        }
        self.start += by;
        self.end += by;
        self.after += small(nodes);
        self
    }
}

/// A place that is kept small.
fn small(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(OPEN - 1)
}

fn large(place: u32) -> usize {
    if place == OPEN { usize::MAX } else { place as usize }
}

/// The values of a JSON text in reading order, each before its members. The text itself is kept beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tape {
    nodes: Vec<Node>,
}

impl Tape {
    /// The tape of a valid JSON text; `None` if the text is not valid.
    pub fn parse(json: &str) -> Option<Tape> {
        let mut reader = Reader::new(Syntax::Json).document().with_depth(usize::MAX);
        reader.push(json);
        (reader.finish() == End::Whole && reader.repairs().is_empty()).then(|| reader.into_parts().1)
    }

    /// All values; the first is the whole.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The members or elements of a value, as indices.
    pub fn children(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let end = self.nodes.get(node).map_or(0, |parent| parent.after().min(self.nodes.len()));
        let mut next = node.saturating_add(1);
        std::iter::from_fn(move || {
            let child = next;
            let after = (child < end).then(|| self.nodes.get(child))??.after();
            next = after;
            Some(child)
        })
    }

    /// The key of a member, unescaped.
    pub fn key<'t>(&self, text: &'t str, node: usize) -> Option<Cow<'t, str>> {
        let (start, end) = self.nodes.get(node)?.key()?;
        Some(unescape(text.get(start..end)?))
    }

    /// The text of a value, as far as it has been read.
    pub fn raw<'t>(&self, text: &'t str, node: usize) -> &'t str {
        let slice = self.nodes.get(node).and_then(|node| text.get(node.start()..node.end().min(text.len())));
        slice.unwrap_or_default()
    }

    /// The content of a string.
    pub fn string<'t>(&self, text: &'t str, node: usize) -> Option<Cow<'t, str>> {
        let is_string = self.nodes.get(node)?.kind == Kind::String;
        is_string.then(|| unescape(self.raw(text, node)))
    }

    /// The member of an object with this key; the last one if there are several.
    pub fn member(&self, text: &str, node: usize, key: &str) -> Option<usize> {
        self.children(node).filter(|child| self.has_key(text, *child, key)).last()
    }

    /// Whether a member has this key.
    fn has_key(&self, text: &str, node: usize, key: &str) -> bool {
        let Some(written) = self.written_key(text, node) else { return false };
        // An escape is longer than what it stands for, so most keys are told apart by their length.
        if written.len() == key.len() {
            written == key.as_bytes() && !written.contains(&b'\\')
        } else {
            written.len() > key.len()
                && written.contains(&b'\\')
                && self.key(text, node).is_some_and(|unescaped| unescaped == key)
        }
    }

    /// The key of a member as it is written, without its quotes.
    fn written_key<'t>(&self, text: &'t str, node: usize) -> Option<&'t [u8]> {
        self.nodes.get(node)?.written_key(text)
    }

    /// Whether a member has one of these keys, and which.
    pub(crate) fn key_among(&self, text: &str, node: usize, keys: &[String]) -> Option<usize> {
        keys.iter().position(|key| self.has_key(text, node, key))
    }

    /// The value as `serde_json` holds it; `None` if a number in it is too large for a 64-bit float, or if the value
    /// is not complete. Integers beyond 64 bits are rounded: the exact digits are in the text.
    pub fn value(&self, text: &str, node: usize) -> Option<Value> {
        let end = self.nodes.get(node).filter(|root| root.after != OPEN)?.after();
        // The containers around the value at hand, innermost last.
        let mut around: Vec<ValueInMaking> = Vec::new();
        for index in node..end {
            let here = &self.nodes[index];
            let mut value = match here.kind {
                Kind::Object | Kind::Array => {
                    let after = here.after();
                    let value = match here.kind {
                        // Few maps have use for it, so their members are not counted.
                        Kind::Object => Value::Object(Map::with_capacity(FEW.min(after - index - 1))),
                        _ => Value::Array(Vec::with_capacity(self.children(index).count())),
                    };
                    if after != index + 1 {
                        around.push(ValueInMaking { node: index, after, value });
                        continue;
                    }
                    value
                }
                Kind::String => Value::String(content(text, here.start(), here.end())?),
                Kind::Number => Value::Number(number(self.raw(text, index))?),
                Kind::Bool => Value::Bool(self.raw(text, index) == "true"),
                Kind::Null => Value::Null,
            };
            // A value may be the last of its container, and that of the next.
            let mut inner = index;
            loop {
                let Some(container) = around.last_mut() else { return Some(value) };
                match &mut container.value {
                    Value::Object(members) => {
                        let (start, end) = self.nodes[inner].key()?;
                        members.insert(content(text, start, end)?, value);
                    }
                    Value::Array(items) => items.push(value),
                    _ => return None,
                }
                if container.after != index + 1 {
                    break;
                }
                inner = container.node;
                value = around.pop()?.value;
            }
        }
        None
    }

    /// A member whose key, unescaped, repeats the key of a member before it, at any depth.
    pub fn duplicate(&self, text: &str) -> Option<usize> {
        // Where no backslash stands in the text, none stands in a key.
        let is_plain = memchr::memchr(b'\\', text.as_bytes()).is_none();
        let objects = self.nodes.iter().enumerate().filter(|(_, node)| node.kind == Kind::Object);
        objects.map(|(object, _)| object).find_map(|object| self.repeated_key(text, object, is_plain))
    }

    /// A member of this object whose key, unescaped, repeats the key of a member before it.
    pub(crate) fn repeated_member(&self, text: &str, object: usize) -> Option<usize> {
        let is_object = self.nodes.get(object)?.kind == Kind::Object;
        if is_object { self.repeated_key(text, object, false) } else { None }
    }

    /// The same for what is an object; `is_plain` says that no key holds an escape.
    fn repeated_key(&self, text: &str, object: usize, is_plain: bool) -> Option<usize> {
        let mut few: [&[u8]; FEW] = [&[]; FEW];
        let is_escaped = |key: &[u8]| !is_plain && key.contains(&b'\\');
        for (count, child) in self.children(object).enumerate() {
            // Few keys without escapes are compared sooner than hashed.
            let written = self.written_key(text, child);
            let Some(key) = written.filter(|key| count < FEW && !is_escaped(key)) else {
                return self.repeated_among_many(text, object);
            };
            if few[..count].contains(&key) {
                return Some(child);
            }
            few[count] = key;
        }
        None
    }

    fn repeated_among_many(&self, text: &str, object: usize) -> Option<usize> {
        let mut seen: HashSet<Cow<'_, str>> = HashSet::new();
        self.children(object).find(|child| self.key(text, *child).is_some_and(|key| !seen.insert(key)))
    }

    /// Leaves nothing but one value, as its text has it when it stands alone, and says from where to where in the
    /// text that is; nothing if it has not ended.
    pub(crate) fn cut_out(&mut self, node: usize) -> Option<(usize, usize)> {
        let root = self.nodes.get_mut(node).filter(|root| root.after != OPEN)?;
        let place = (root.start(), root.end());
        let (start, before) = (root.start, small(node));
        // The key of the value itself stands outside of it.
        root.key = (0, 0);
        let after = root.after();
        self.nodes.truncate(after);
        if start > 0 || node > 0 {
            self.nodes.drain(..node);
            for inner in &mut self.nodes {
                if inner.key.1 > 0 {
                    inner.key = (inner.key.0 - start, inner.key.1 - start);
                }
                inner.start -= start;
                inner.end -= start;
                inner.after -= before;
            }
        }
        Some(place)
    }

    /// The text without members whose key comes again later in the same object.
    pub(crate) fn without_duplicates(&self, text: &str) -> String {
        let mut cuts: Vec<(usize, usize)> = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            if node.kind != Kind::Object {
                continue;
            }
            let children: Vec<usize> = self.children(index).collect();
            let mut later: HashSet<Cow<'_, str>> = HashSet::new();
            for (position, child) in children.iter().enumerate().rev() {
                let (Some(key), Some((start, _))) = (self.key(text, *child), self.nodes[*child].key()) else {
                    continue;
                };
                // A member with a later namesake is never the last, so it ends where the next one begins.
                if !later.insert(key)
                    && let Some((next, _)) =
                        children.get(position + 1).and_then(|next| self.nodes[*next].key())
                {
                    cuts.push((start, next));
                }
            }
        }
        cuts.sort_unstable();
        let mut clean = String::with_capacity(text.len());
        let mut from = 0;
        for (start, end) in cuts {
            // What stands inside a member that was cut goes with it.
            if start >= from {
                clean.push_str(&text[from..start]);
            }
            from = from.max(end);
        }
        clean.push_str(&text[from..]);
        clean
    }

    /// Where a value stands, as a JSON pointer.
    pub fn pointer(&self, text: &str, node: usize) -> String {
        let mut pointer = String::new();
        let mut container = 0;
        while container < node {
            let inside =
                |(_, child): &(usize, usize)| self.nodes.get(*child).is_some_and(|c| node < c.after());
            let Some((position, child)) = self.children(container).enumerate().find(inside) else { break };
            pointer.push('/');
            match self.key(text, child) {
                Some(key) => pointer.push_str(&escape_pointer(&key)),
                None => pointer.push_str(&position.to_string()),
            }
            container = child;
        }
        pointer
    }

    /// The value at a JSON pointer, or what should have held it, with its key.
    pub(crate) fn resolve(&self, text: &str, pointer: &str) -> Option<(usize, Option<String>)> {
        let (mut node, mut key) = (0, None);
        for step in pointer.split('/').skip(1) {
            let step = unescape_pointer(step);
            let next = match self.nodes.get(node)?.kind {
                Kind::Array => step.parse().ok().and_then(|place| self.children(node).nth(place)),
                _ => self.member(text, node, &step),
            };
            let Some(next) = next else { break };
            (node, key) = (next, Some(step));
        }
        Some((node, key))
    }

    /// Where a value with this key stands in what was written, from which the text was read beginning at `body`, if that
    /// can be told: it may have been repaired, or put together from values that stand apart.
    pub(crate) fn find_written(
        &self,
        text: &str,
        (node, key): (usize, Option<&str>),
        written: &str,
        body: Option<usize>,
    ) -> Option<Span> {
        let value = self.nodes.get(node)?;
        if let Some(body) = body
            && let Some(same) = written.get(body..body + value.end())
            && text.get(..value.end()) == Some(same)
        {
            return Some(Span::new(body + value.start(), body + value.end()));
        }
        // The one place behind its key where the same text stands.
        let behind = written.find(key?)? + key?.len();
        let rest = written.get(behind..)?;
        let content = self.string(text, node);
        let spellings = [Some(self.raw(text, node)), content.as_deref()];
        spellings.into_iter().flatten().filter(|spelling| !spelling.is_empty()).find_map(|spelling| {
            let at = rest.find(spelling)?;
            let is_only = !rest.get(at + spelling.len()..)?.contains(spelling);
            is_only.then_some(Span::new(behind + at, behind + at + spelling.len()))
        })
    }

    /// Adds the value that stands in the text from `start` to its end, with this key. False if it is no valid value.
    pub(crate) fn add(&mut self, text: &str, start: usize, key: Option<(usize, usize)>) -> bool {
        let value = &text[start..];
        if value.starts_with('"') {
            let node = self.open(Kind::String, key, start);
            self.close(node, text.len());
            return true;
        }
        let Some(tape) = Tape::parse(value) else { return false };
        let base = self.nodes.len();
        self.nodes.extend(tape.nodes.into_iter().map(|node| node.moved(start, base)));
        if let (Some(root), Some((from, to))) = (self.nodes.get_mut(base), key) {
            root.key = (small(from), small(to));
        }
        true
    }

    /// Starts a value; its end comes with [`Tape::close`].
    pub(crate) fn open(&mut self, kind: Kind, key: Option<(usize, usize)>, start: usize) -> usize {
        if self.nodes.is_empty() {
            self.nodes.reserve(USUAL);
        }
        self.nodes.push(Node::new(kind, key, start));
        self.nodes.len() - 1
    }

    /// Adds a value that has nothing inside it, in an object or array. Only the reader does, and it takes no text in
    /// which a place would not fit.
    #[inline]
    pub(super) fn add_leaf(&mut self, kind: Kind, key: Option<(usize, usize)>, start: usize, end: usize) {
        let key = key.map_or((0, 0), |(from, to)| (from as u32, to as u32));
        let after = self.nodes.len() as u32 + 1;
        self.nodes.push(Node { kind, key, start: start as u32, end: end as u32, after });
    }

    /// Takes back the last value, and says what its key was.
    pub(super) fn take_back(&mut self) -> Option<(usize, usize)> {
        self.nodes.pop()?.key()
    }

    /// Ends a value, with everything that was started since being inside it.
    pub(crate) fn close(&mut self, node: usize, end: usize) {
        let after = small(self.nodes.len());
        if let Some(node) = self.nodes.get_mut(node) {
            node.end = small(end);
            node.after = after;
        }
    }

    pub(super) fn clear(&mut self) {
        self.nodes.clear();
    }

    /// Makes room for the values of a text that has so many bytes.
    pub(super) fn expect(&mut self, bytes: usize) {
        /// How many bytes a value has in a text that has many.
        const SHORT: usize = 16;
        self.nodes.reserve(bytes / SHORT);
    }

    /// How many bytes it has room for.
    pub(super) fn room(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
    }
}

/// An object or array in the making.
struct ValueInMaking {
    node: usize,
    after: usize,
    value: Value,
}

/// The content of the string or key that stands here, quotes included.
#[inline(always)]
fn content(text: &str, start: usize, end: usize) -> Option<String> {
    // Most strings hold no escape, so the first special byte in them is the quote at their end.
    let first = start + 1;
    let plain = plain_length(text.as_bytes().get(first..)?, b'"');
    let body = text.get(first..end.checked_sub(1)?)?;
    if plain == body.len() { Some(body.to_owned()) } else { Some(unescape_body(body, plain.min(body.len()))) }
}

/// The number of a JSON spelling, if a 64-bit float can hold its size.
fn number(spelling: &str) -> Option<Number> {
    /// As many digits always fit into 64 bits.
    const SHORT: usize = 18;
    let add_digit =
        |value: u64, digit: &u8| digit.is_ascii_digit().then(|| value * 10 + u64::from(digit - b'0'));
    if (1..=SHORT).contains(&spelling.len())
        && let Some(value) = spelling.as_bytes().iter().try_fold(0, add_digit)
    {
        return Some(value.into());
    }
    if !spelling.contains(['.', 'e', 'E']) {
        if let Ok(small) = spelling.parse::<i64>() {
            // A negative zero is a float, as it is for every JSON reader.
            return if spelling == "-0" { Number::from_f64(-0.0) } else { Some(small.into()) };
        }
        if let Ok(large) = spelling.parse::<u64>() {
            return Some(large.into());
        }
    }
    Number::from_f64(spelling.parse().ok()?)
}

/// The same value with sorted keys, no white space, minimal escapes and numbers as written: what a hash is made of.
/// Text that is not valid JSON comes back as it is.
pub fn canonical(json: &str) -> String {
    let Some(tape) = Tape::parse(json) else { return json.to_owned() };
    let mut out = String::with_capacity(json.len());
    let mut work = vec![CanonicalPart::Value(0)];
    while let Some(next) = work.pop() {
        let index = match next {
            CanonicalPart::Write(text) => {
                out.push_str(text);
                continue;
            }
            CanonicalPart::Key(index) => {
                out.push('"');
                escape_into(&mut out, &tape.key(json, index).unwrap_or_default());
                out.push_str("\":");
                continue;
            }
            CanonicalPart::Value(index) => index,
        };
        match tape.nodes[index].kind {
            Kind::Object => {
                let mut members: Vec<_> =
                    tape.children(index).map(|child| (tape.key(json, child), child)).collect();
                members.sort();
                out.push('{');
                work.push(CanonicalPart::Write("}"));
                for (position, (_, child)) in members.iter().enumerate().rev() {
                    work.extend([CanonicalPart::Value(*child), CanonicalPart::Key(*child)]);
                    if position > 0 {
                        work.push(CanonicalPart::Write(","));
                    }
                }
            }
            Kind::Array => {
                let items: Vec<_> = tape.children(index).collect();
                out.push('[');
                work.push(CanonicalPart::Write("]"));
                for (position, child) in items.iter().enumerate().rev() {
                    work.push(CanonicalPart::Value(*child));
                    if position > 0 {
                        work.push(CanonicalPart::Write(","));
                    }
                }
            }
            Kind::String => {
                out.push('"');
                escape_into(&mut out, &tape.string(json, index).unwrap_or_default());
                out.push('"');
            }
            Kind::Number | Kind::Bool | Kind::Null => out.push_str(tape.raw(json, index)),
        }
    }
    out
}

/// What is still to be written of a canonical text.
enum CanonicalPart {
    Write(&'static str),
    Key(usize),
    Value(usize),
}
