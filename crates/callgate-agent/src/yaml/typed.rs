//! Typed settings: a tree of YAML read into a type, with the line and the key of whatever does not fit.

use std::fmt::Display;

use serde::de::value::BorrowedStrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;

use super::{Member, Node, Shape, YamlFault, is_nothing, tree};

/// Reads a file into a type. A key without a value sets nothing; a file without values is an empty mapping.
pub fn from_yaml<T: DeserializeOwned>(text: &str) -> Result<T, YamlFault> {
    let root = tree(text)?.unwrap_or(Node { line: 1, shape: Shape::Map(Vec::new()) });
    T::deserialize(Typed(&root)).map_err(|misfit| YamlFault {
        line: misfit.line.unwrap_or(root.line),
        key: misfit.key,
        message: misfit.message,
        help: "look the key up in the table of settings",
    })
}

/// A value that does not fit its type.
#[derive(Debug)]
struct Misfit {
    line: Option<usize>,
    key: String,
    message: String,
}

impl Misfit {
    /// The same, seen from the outside: the innermost line counts, the keys add up.
    fn within(mut self, key: &str, line: usize) -> Self {
        self.line.get_or_insert(line);
        self.key = match self.key.as_str() {
            "" => key.to_owned(),
            inner if inner.starts_with('[') => format!("{key}{inner}"),
            inner => format!("{key}.{inner}"),
        };
        self
    }
}

impl Display for Misfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Misfit {}

impl Error for Misfit {
    fn custom<T: Display>(message: T) -> Self {
        Misfit { line: None, key: String::new(), message: message.to_string() }
    }
}

/// A value on its way into a type.
#[derive(Clone, Copy)]
struct Typed<'t>(&'t Node);

impl<'de> Deserializer<'de> for Typed<'de> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let read = match &self.0.shape {
            Shape::Scalar { text, quoted: true } => visitor.visit_borrowed_str(text),
            Shape::Scalar { text, .. } => match text.as_str() {
                nothing if is_nothing(nothing) => visitor.visit_unit(),
                "true" | "True" | "TRUE" => visitor.visit_bool(true),
                "false" | "False" | "FALSE" => visitor.visit_bool(false),
                text => match (text.parse::<u64>(), text.parse::<i64>(), text.parse::<f64>()) {
                    (Ok(number), ..) => visitor.visit_u64(number),
                    (_, Ok(number), _) => visitor.visit_i64(number),
                    (_, _, Ok(number)) if number.is_finite() => visitor.visit_f64(number),
                    _ => visitor.visit_borrowed_str(text),
                },
            },
            Shape::List(items) => visitor.visit_seq(Items(items.iter().enumerate())),
            Shape::Map(members) => visitor.visit_map(Members { rest: members.iter(), member: None }),
        };
        read.map_err(|mut misfit| {
            misfit.line.get_or_insert(self.0.line);
            misfit
        })
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match &self.0.shape {
            // A name may be all digits.
            Shape::Scalar { text, quoted } if *quoted || !is_nothing(text) => {
                visitor.visit_borrowed_str(text)
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        if self.0.is_nothing() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match &self.0.shape {
            Shape::Scalar { text, .. } => {
                BorrowedStrDeserializer::<Misfit>::new(text).deserialize_enum(name, variants, visitor)
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match &self.0.shape {
            // Values without their keys would mean what their order says.
            Shape::List(_) => Err(Misfit::invalid_type(Unexpected::Seq, &visitor)),
            _ => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct newtype_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

/// The values of a list, each named by its place.
struct Items<'t>(std::iter::Enumerate<std::slice::Iter<'t, Node>>);

impl<'de> SeqAccess<'de> for Items<'de> {
    type Error = Misfit;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Misfit> {
        let Some((at, node)) = self.0.next() else { return Ok(None) };
        let read = seed.deserialize(Typed(node));
        read.map(Some).map_err(|misfit| misfit.within(&format!("[{at}]"), node.line))
    }
}

/// The members of a mapping that have a value.
struct Members<'t> {
    rest: std::slice::Iter<'t, Member>,
    /// The one whose key has been read.
    member: Option<&'t Member>,
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Misfit;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Misfit> {
        self.member = self.rest.find(|member| !member.node.is_nothing());
        let Some(member) = self.member else { return Ok(None) };
        let read = seed.deserialize(BorrowedStrDeserializer::<Misfit>::new(&member.key));
        read.map(Some).map_err(|misfit| misfit.within(&member.key, member.line))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Misfit> {
        let Some(member) = self.member.take() else { return Err(Misfit::custom("a value has no key")) };
        let read = seed.deserialize(Typed(&member.node));
        read.map_err(|misfit| misfit.within(&member.key, member.line))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Sample {
        name: String,
        port: u16,
        share: f64,
        on: bool,
        file: Option<PathBuf>,
        mode: Mode,
        rows: Vec<Row>,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Mode {
        #[default]
        OneByOne,
        AllAtOnce,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Row {
        key: String,
        #[serde(default)]
        words: Vec<String>,
    }

    #[test]
    fn values_are_read_as_their_types_ask() {
        let text = "name: 007\nport: 8642\nshare: 2\non: true\nfile: ~\nmode: all-at-once\nrows:\n  - key: \"true\"\n    \
                    words: [yes, 2]\n  - {key: b}\n";
        let read: Sample = from_yaml(text).unwrap();
        let row = |key: &str, words: &[&str]| Row {
            key: key.to_owned(),
            words: words.iter().map(|word| (*word).to_owned()).collect(),
        };
        let wanted = Sample {
            name: "007".to_owned(),
            port: 8642,
            share: 2.0,
            on: true,
            file: None,
            mode: Mode::AllAtOnce,
            rows: vec![row("true", &["yes", "2"]), row("b", &[])],
        };
        assert_eq!(read, wanted);
        for empty in ["", "# nothing\n", "---\n", "rows:\n"] {
            assert_eq!(from_yaml::<Sample>(empty), Ok(Sample::default()), "{empty:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_named_with_its_key_and_its_line() {
        for (text, line, key, said) in [
            ("name: a\nport: many\n", 2, "port", "u16"),
            ("port: 70000\n", 1, "port", "70000"),
            ("on: \"true\"\n", 1, "on", "boolean"),
            ("rows:\n  - key: a\n  - words: []\n", 3, "rows[1]", "missing field `key`"),
            ("rows:\n  - key: a\n    colour: red\n", 3, "rows[0].colour", "unknown field `colour`"),
            ("mode: never\n", 1, "mode", "unknown variant `never`"),
            ("rows: 1\n", 1, "rows", "sequence"),
            ("- a\n", 1, "", "expected struct"),
        ] {
            let fault = from_yaml::<Sample>(text).unwrap_err();
            assert_eq!((fault.line, fault.key.as_str()), (line, key), "{text:?}: {fault}");
            assert!(fault.message.contains(said), "{text:?}: {fault}");
        }
    }
}
