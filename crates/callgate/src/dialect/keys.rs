//! Keys: a record as its file would say it, and the literals that a reader recognises it by.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::record::Record;
use super::shape::Shape;
use super::template::Template;
use crate::json::Syntax;

/// A record that says only what it must: what the others have from it is so by default.
static PLAIN: LazyLock<Option<Record>> =
    LazyLock::new(|| Record::parse("[plain]\ncall = \"<call>{object}</call>\"").ok()?.pop());

impl Record {
    /// The keys of the record that say something, in the order of the documentation, each with its value as in the file:
    /// what is so anyway is left out.
    ///
    /// ```
    /// let hermes = callgate::Record::named("hermes").unwrap();
    /// let call = hermes.keys().into_iter().find(|(key, _)| *key == "call").unwrap();
    /// assert_eq!(call.1, "<tool_call>\n{object}\n</tool_call>");
    /// ```
    pub fn keys(&self) -> Vec<(&'static str, Value)> {
        let plain = PLAIN.as_ref().map(Record::all_keys);
        let is_plain = |index: usize, key: &str, value: &Value| match (&*PLAIN, &plain) {
            // What else is read for a member does not stand in its template.
            (Some(record), _) if key == "object" => self.object == record.object,
            (_, Some(keys)) => key != "call" && keys[index].1 == *value,
            _ => false,
        };
        let keys = self.all_keys().into_iter().enumerate();
        keys.filter(|(index, (key, value))| !is_plain(*index, key, value)).map(|(_, row)| row).collect()
    }

    /// The literals of its templates: whatever is written in this dialect is held together by some of them.
    ///
    /// ```
    /// let hermes = callgate::Record::named("hermes").unwrap();
    /// assert!(hermes.markers().any(|marker| marker.contains("<tool_call>")));
    /// ```
    pub fn markers(&self) -> impl Iterator<Item = &str> {
        let lists =
            [&self.open, &self.close, &self.call, &self.param, &self.text, &self.reasoning, &self.noise];
        let literals = lists.into_iter().flatten().flat_map(Template::literals);
        literals.chain(self.bare.iter().map(String::as_str))
    }

    fn all_keys(&self) -> [(&'static str, Value); 31] {
        let templates = |list: &[Template]| match list {
            [one] => json!(one.to_string()),
            many => many.iter().map(|template| json!(template.to_string())).collect(),
        };
        let shapes =
            |list: &[Shape]| templates(&list.iter().map(|shape| shape.template.clone()).collect::<Vec<_>>());
        let syntax = match self.syntax {
            Syntax::Json => "json",
            Syntax::Python => "python",
            Syntax::Kwargs => "kwargs",
            Syntax::Bare => "bare",
            Syntax::Lines => "lines",
        };
        let escape: Vec<&str> = self.escape.iter().map(|slot| slot.word()).collect();
        let row = |(literal, others): &(String, Vec<String>)| -> Value {
            std::iter::once(literal).chain(others).map(String::as_str).collect()
        };
        let also: Vec<Value> = self.also.iter().map(row).collect();
        let types: Value =
            self.types.iter().map(|(name, spelling)| (name.clone(), json!(spelling))).collect();
        [
            ("family", json!(self.family.to_string())),
            ("models", json!(self.models)),
            ("source", json!(self.source)),
            ("notes", json!(self.notes)),
            ("auto", json!(self.auto)),
            ("prompt", json!(self.prompt)),
            ("open", templates(&self.open)),
            ("close", templates(&self.close)),
            ("call", templates(&self.call)),
            ("join", json!(self.join.to_string())),
            ("before", json!(self.before)),
            ("lines", json!(self.lines)),
            ("object", shapes(&self.object)),
            ("error", shapes(&self.error)),
            ("param", templates(&self.param)),
            ("item", json!(self.item.as_ref().map(ToString::to_string))),
            ("types", types),
            ("syntax", json!(syntax)),
            ("quote", json!(self.quote.as_deref())),
            ("code_tool", json!(&*self.code_tool)),
            ("trim", json!(self.trim)),
            ("escape", json!(escape)),
            ("suffix", json!(self.suffix)),
            ("known", json!(self.known)),
            ("also", json!(also)),
            ("text", templates(&self.text)),
            ("reasoning", templates(&self.reasoning)),
            ("ends_thought", json!(self.ends_thought)),
            ("noise", templates(&self.noise)),
            ("bare", json!(self.bare)),
            ("special", json!(self.special)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::Record;
    use crate::dialect::load::KEYS;

    /// JSON strings, lists and words are TOML as well; only tables are written otherwise.
    fn toml(value: &Value) -> String {
        match value {
            Value::Object(members) => {
                let rows: Vec<String> = members
                    .iter()
                    .map(|(key, value)| format!("{} = {value}", Value::from(key.as_str())))
                    .collect();
                format!("{{ {} }}", rows.join(", "))
            }
            other => other.to_string().replace('\u{7f}', "\\u007f"),
        }
    }

    #[test]
    fn a_record_written_by_its_keys_is_the_record() {
        for record in Record::builtin() {
            let rows: String =
                record.keys().iter().map(|(key, value)| format!("{key} = {}\n", toml(value))).collect();
            let file = format!("[{}]\n{rows}", record.name);
            let back = Record::parse(&file).unwrap_or_else(|error| panic!("{file}\n{error}"));
            assert_eq!(format!("{:?}", back[0]), format!("{record:?}"), "{file}");
        }
    }

    #[test]
    fn every_key_of_a_file_is_among_them() {
        let names = Record::builtin()[0].all_keys().map(|(key, _)| key);
        assert_eq!(names, KEYS);
    }
}
