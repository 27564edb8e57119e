//! Shapes: the `object` and `error` templates, read as the members that make a JSON object a call, an answer or an error.

use super::template::{Slot, Template};

/// What one JSON (or Python) object must look like, by its members.
///
/// Members may stand in any order and unknown ones are allowed. A [`Content::Id`], [`Content::Index`],
/// [`Content::Reason`] or [`Content::After`] may be absent; every other member must be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The template as written in the record, for rendering.
    pub template: Template,
    /// The leaves, in written order.
    pub members: Vec<Member>,
}

/// One leaf of a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The way to it: per level the accepted spellings of the key, the written one first.
    ///
    /// For [`Content::NamedArguments`] it is the way to the object whose key is the name.
    pub path: Vec<Vec<String>>,
    /// What stands there.
    pub content: Content,
}

/// What a member of a shape holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The name of the tool, a string.
    Name,
    /// The arguments, an object.
    Arguments,
    /// A member whose key is the name of the tool and whose value is its arguments: the only member of its object.
    NamedArguments,
    /// The id of the call, a string.
    Id,
    /// A number or id that says nothing about the call.
    Index,
    /// Visible text, a string: the object is an answer or an error, not a call.
    Text,
    /// The code of an error, a string.
    Reason,
    /// The ids of the calls that must be done first, a list of strings.
    After,
    /// Exactly this JSON value.
    Constant(String),
}

impl Member {
    /// The key and the value of a member that is always the same.
    pub(crate) fn constant(&self) -> Option<(&str, &str)> {
        match &self.content {
            Content::Constant(value) => Some((self.path.last()?.first()?, value)),
            _ => None,
        }
    }
}

impl Content {
    /// Whether an object without this member can still have the shape.
    pub fn is_optional(&self) -> bool {
        matches!(self, Content::Id | Content::Index | Content::Reason | Content::After)
    }
}

impl Shape {
    /// Reads a shape. `spellings` gives what else is read for a key, as the record's `also` says.
    ///
    /// The error says what is wrong with the source, which is JSON (or a Python literal) with placeholders.
    pub fn parse(source: &str, spellings: impl Fn(&str) -> Vec<String>) -> Result<Shape, String> {
        let mut walk = ShapeWalk { rest: source, path: Vec::new(), members: Vec::new() };
        walk.open()?;
        while !walk.path.is_empty() {
            walk.member(&spellings)?;
        }
        if !walk.rest.trim().is_empty() {
            return Err(format!("`{}` follows the object", walk.rest.trim()));
        }
        Ok(Shape { template: Template::parse(source), members: walk.members })
    }

    /// Whether a member holds this.
    pub fn has(&self, content: &Content) -> bool {
        self.members.iter().any(|member| member.content == *content)
    }

    /// Whether an object of this shape is a call; otherwise it is an answer or an error.
    pub fn is_call(&self) -> bool {
        self.has(&Content::Arguments) || self.has(&Content::NamedArguments)
    }
}

/// The state of reading a shape: what is left, and per open object the key that led to it.
struct ShapeWalk<'s> {
    rest: &'s str,
    path: Vec<Option<Vec<String>>>,
    members: Vec<Member>,
}

impl<'s> ShapeWalk<'s> {
    fn open(&mut self) -> Result<(), String> {
        self.eat('{')?;
        self.path.push(None);
        Ok(())
    }

    /// Reads `"key": value` and what follows it: a comma, or the closers of this and outer objects.
    fn member(&mut self, spellings: &impl Fn(&str) -> Vec<String>) -> Result<(), String> {
        let key = self.string()?;
        self.eat(':')?;
        let key_is_name = key == "{name}";
        if let Some(level) = self.path.last_mut() {
            let mut accepted = vec![key.to_owned()];
            accepted.extend(spellings(key));
            *level = Some(accepted);
        }
        self.skip_space();
        if let Some(rest) = self.rest.strip_prefix("{arguments}") {
            self.rest = rest;
            let content = if key_is_name { Content::NamedArguments } else { Content::Arguments };
            self.leaf(content);
        } else if let Some(rest) = self.rest.strip_prefix("{after}").filter(|_| !key_is_name) {
            self.rest = rest;
            self.leaf(Content::After);
        } else if key_is_name {
            return Err("a key that is `{name}` needs the value `{arguments}`".to_owned());
        } else if self.rest.starts_with('{') {
            return self.open();
        } else if self.rest.starts_with(['"', '\'']) {
            let text = self.string()?;
            let content = match text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
                None => Content::Constant(format!("\"{text}\"")),
                Some(word) => match Slot::from_word(word) {
                    Some(Slot::Name) => Content::Name,
                    Some(Slot::Id) => Content::Id,
                    Some(Slot::Index) => Content::Index,
                    Some(Slot::Text) => Content::Text,
                    Some(Slot::Reason) => Content::Reason,
                    _ => return Err(format!("`\"{{{word}}}\"` cannot stand as a member")),
                },
            };
            self.leaf(content);
        } else {
            let length = self.rest.find([',', '}', ' ', '\n', '\t']).unwrap_or(self.rest.len());
            let (word, rest) = self.rest.split_at(length);
            if serde_json::from_str::<serde_json::Value>(word).is_err() {
                return Err(format!(
                    "`{word}` is not a JSON value; strings and slots but {{arguments}} and {{after}} stand in quotes"
                ));
            }
            self.rest = rest;
            self.leaf(Content::Constant(word.to_owned()));
        }
        self.after_value()
    }

    fn leaf(&mut self, content: Content) {
        let mut path: Vec<Vec<String>> = self.path.iter().flatten().cloned().collect();
        if content == Content::NamedArguments {
            path.pop();
        }
        self.members.push(Member { path, content });
    }

    fn after_value(&mut self) -> Result<(), String> {
        loop {
            self.skip_space();
            if let Some(rest) = self.rest.strip_prefix(',') {
                self.rest = rest;
                return Ok(());
            }
            self.eat('}')?;
            self.path.pop();
            if self.path.is_empty() {
                return Ok(());
            }
        }
    }

    fn string(&mut self) -> Result<&'s str, String> {
        self.skip_space();
        let quote = match self.rest.chars().next() {
            Some(quote @ ('"' | '\'')) => quote,
            _ => return Err(format!("a quoted string was expected before `{}`", self.glimpse())),
        };
        match self.rest[1..].split_once(quote) {
            Some((text, rest)) if !text.contains('\\') => {
                self.rest = rest;
                Ok(text)
            }
            _ => Err(format!("the string at `{}` is not closed, or holds an escape", self.glimpse())),
        }
    }

    fn eat(&mut self, wanted: char) -> Result<(), String> {
        self.skip_space();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                Ok(())
            }
            None => Err(format!("`{wanted}` was expected before `{}`", self.glimpse())),
        }
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn glimpse(&self) -> String {
        self.rest.chars().take(12).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(source: &str) -> Vec<(String, Content)> {
        let also = |key: &str| if key == "name" { vec!["tool".to_owned()] } else { Vec::new() };
        let path =
            |member: &Member| member.path.iter().map(|keys| keys.join("|")).collect::<Vec<_>>().join("/");
        let shape = Shape::parse(source, also).unwrap();
        shape.members.iter().map(|member| (path(member), member.content.clone())).collect()
    }

    #[test]
    fn leaves_have_paths_and_spellings() {
        let source = r#"{"id": "{id}", "type": "function", "function": {"name": "{name}", "arguments": {arguments}}, "v": 1}"#;
        assert_eq!(
            members(source),
            [
                ("id".to_owned(), Content::Id),
                ("type".to_owned(), Content::Constant("\"function\"".to_owned())),
                ("function/name|tool".to_owned(), Content::Name),
                ("function/arguments".to_owned(), Content::Arguments),
                ("v".to_owned(), Content::Constant("1".to_owned())),
            ]
        );
    }

    #[test]
    fn the_name_may_be_the_key() {
        assert_eq!(members(r#"{"{name}": {arguments}}"#), [(String::new(), Content::NamedArguments)]);
        assert_eq!(members("{'name': '{name}'}"), [("name|tool".to_owned(), Content::Name)]);
    }

    #[test]
    fn broken_shapes_say_what_is_wrong() {
        for (source, part) in [
            ("", "`{` was expected"),
            (r#"{"name"}"#, "`:` was expected"),
            (r#"{"name": "{name}""#, "`}` was expected"),
            (r#"{"name": {name}}"#, "a quoted string was expected"),
            (r#"{"name": "{value}"}"#, "cannot stand as a member"),
            (r#"{"a": 1} x"#, "follows the object"),
            (r#"{"{name}": 1}"#, "needs the value"),
        ] {
            let message = Shape::parse(source, |_| Vec::new()).unwrap_err();
            assert!(message.contains(part), "{source}: {message}");
        }
    }
}
