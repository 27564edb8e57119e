//! Sets of JSON types: what a schema allows a value to be, small enough to copy.

use std::fmt;

use serde_json::Value;

/// The JSON types a value may have. A number may always be an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeSet(u8);

impl TypeSet {
    /// No type at all.
    pub const NONE: TypeSet = TypeSet(0);
    /// Null.
    pub const NULL: TypeSet = TypeSet(1);
    /// True and false.
    pub const BOOLEAN: TypeSet = TypeSet(2);
    /// Whole numbers.
    pub const INTEGER: TypeSet = TypeSet(4);
    /// Numbers, whole or not.
    pub const NUMBER: TypeSet = TypeSet(8 | 4);
    /// Strings.
    pub const STRING: TypeSet = TypeSet(16);
    /// Arrays.
    pub const ARRAY: TypeSet = TypeSet(32);
    /// Objects.
    pub const OBJECT: TypeSet = TypeSet(64);
    /// Every type.
    pub const ANY: TypeSet = TypeSet(127);

    /// The set of the types that either has.
    pub const fn or(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 | other.0)
    }

    /// The set of the types that both have.
    pub const fn and(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 & other.0)
    }

    /// Whether it has all the types of the other.
    pub fn contains(self, other: TypeSet) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether a value must be a string.
    pub fn only_string(self) -> bool {
        self == TypeSet::STRING
    }

    /// Whether a value may be anything.
    pub fn any(self) -> bool {
        self == TypeSet::ANY
    }

    /// Whether no value fits.
    pub fn is_empty(self) -> bool {
        self == TypeSet::NONE
    }

    /// The type of a value, a whole number counting as an integer.
    pub fn of(value: &Value) -> TypeSet {
        match value {
            Value::Null => TypeSet::NULL,
            Value::Bool(_) => TypeSet::BOOLEAN,
            Value::Number(number) if number.is_f64() => TypeSet::NUMBER,
            Value::Number(_) => TypeSet::INTEGER,
            Value::String(_) => TypeSet::STRING,
            Value::Array(_) => TypeSet::ARRAY,
            Value::Object(_) => TypeSet::OBJECT,
        }
    }

    /// What the keyword `type` says: one name or a list of names. Unknown names are left to the validator.
    pub(super) fn of_keyword(keyword: &Value) -> TypeSet {
        match keyword {
            Value::String(name) => TypeSet::named(name),
            Value::Array(names) => names
                .iter()
                .filter_map(Value::as_str)
                .fold(TypeSet::NONE, |types, name| types.or(TypeSet::named(name))),
            _ => TypeSet::ANY,
        }
    }

    fn named(name: &str) -> TypeSet {
        NAMES.iter().find(|(_, word)| *word == name).map_or(TypeSet::NONE, |(types, _)| *types)
    }
}

// Number stands before integer, so that a set with both is shown by the wider word.
const NAMES: [(TypeSet, &str); 7] = [
    (TypeSet::STRING, "string"),
    (TypeSet::NUMBER, "number"),
    (TypeSet::INTEGER, "integer"),
    (TypeSet::BOOLEAN, "boolean"),
    (TypeSet::ARRAY, "array"),
    (TypeSet::OBJECT, "object"),
    (TypeSet::NULL, "null"),
];

impl fmt::Display for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("no value");
        }
        let mut rest = *self;
        let mut written = false;
        for (types, word) in NAMES {
            if rest.contains(types) {
                if written {
                    f.write_str(" or ")?;
                }
                f.write_str(word)?;
                written = true;
                rest = TypeSet(rest.0 & !types.0);
            }
        }
        Ok(())
    }
}

/// The word for the type of a value, as messages use it.
pub(super) fn type_word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_number_may_be_an_integer_but_not_the_other_way_round() {
        assert!(TypeSet::NUMBER.contains(TypeSet::INTEGER));
        assert!(!TypeSet::INTEGER.contains(TypeSet::NUMBER));
        assert_eq!(TypeSet::NUMBER.and(TypeSet::INTEGER), TypeSet::INTEGER);
    }

    #[test]
    fn sets_read_like_words() {
        assert_eq!(TypeSet::of_keyword(&json!(["null", "integer"])).to_string(), "integer or null");
        assert_eq!(TypeSet::NUMBER.to_string(), "number");
        assert_eq!(TypeSet::of(&json!(1.5)), TypeSet::NUMBER);
        assert!(TypeSet::of_keyword(&json!("string")).only_string());
    }
}
