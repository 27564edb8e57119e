//! Exact numbers: which numbers of the arguments a validator would judge by a rounded value, so that they are rejected.
//!
//! The validator holds a number in 64 bits. Rounding keeps the order, so a number that was rounded is still judged right
//! against every number of the schema that it did not fall together with. What it may lose is that difference, whether it
//! is whole, and what it is a multiple of.

use serde_json::{Number, Value};

use crate::json::{Kind, Tape};

/// The most characters of a number without an exponent that certainly survives, and the most digits of one that does.
const SHORT: usize = 15;

/// From here on not all whole numbers have a float of their own.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// How far from a number in the schema's text its float may be, in floats: the one that reads schemas is quick, not exact.
const NEAR: u64 = 4;

/// What a schema says about numbers.
#[derive(Debug, Default)]
pub(super) struct Exact {
    /// Every number that stands in the schema, as a float; sorted.
    numbers: Vec<f64>,
    /// Those whose text may have had more digits than were kept.
    vague: Vec<f64>,
    /// Whether it asks for whole numbers anywhere.
    whole: bool,
    /// Whether it compares elements with each other, or asks for multiples, and for those of a fraction.
    compares: bool,
    fractions: bool,
}

impl Exact {
    pub(super) fn new(schema: &Value) -> Self {
        let mut exact = Exact::default();
        let mut pending = vec![schema];
        while let Some(value) = pending.pop() {
            match value {
                Value::Number(number) => exact.note(number),
                Value::Array(items) => pending.extend(items),
                Value::Object(members) => {
                    let names_whole = |types: &Value| match types {
                        Value::Array(names) => names.iter().any(|name| name == "integer"),
                        name => name == "integer",
                    };
                    exact.whole |= members.get("type").is_some_and(names_whole);
                    exact.compares |=
                        members.contains_key("uniqueItems") || members.contains_key("multipleOf");
                    exact.fractions |= members.get("multipleOf").is_some_and(Value::is_f64);
                    pending.extend(members.values());
                }
                _ => {}
            }
        }
        exact.numbers.sort_by(f64::total_cmp);
        exact
    }

    fn note(&mut self, number: &Number) {
        let Some(float) = number.as_f64() else { return };
        self.numbers.push(float);
        if number.is_f64() && (float.abs() >= WHOLE || Decimal::of_float(float).digits.len() > SHORT) {
            self.vague.push(float);
        }
    }

    /// The numbers of the arguments that cannot be judged, as nodes of the tape.
    pub(super) fn unjudged<'t>(&'t self, text: &'t str, tape: &'t Tape) -> impl Iterator<Item = usize> + 't {
        let numbers = tape.nodes().iter().enumerate().filter(|(_, node)| node.kind == Kind::Number);
        numbers.map(|(index, _)| index).filter(move |index| !self.judges(tape.raw(text, *index)))
    }

    /// Whether the validator judges the number of this spelling as its digits say.
    fn judges(&self, spelling: &str) -> bool {
        let has_exponent = spelling.contains(['e', 'E']);
        if spelling.len() <= SHORT && !has_exponent {
            return true;
        }
        let Ok(float) = spelling.parse::<f64>() else { return false };
        let is_plain = spelling.bytes().all(|byte| matches!(byte, b'-' | b'0'..=b'9'));
        let is_held = is_plain && (spelling.parse::<i64>().is_ok() || spelling.parse::<u64>().is_ok());
        if self.fractions && float.abs() >= WHOLE || self.compares && !is_held && float.abs() >= WHOLE {
            return false;
        }
        let is_near = |vague: &f64| {
            vague.is_sign_negative() == float.is_sign_negative()
                && vague.to_bits().abs_diff(float.to_bits()) <= NEAR
        };
        if self.vague.iter().any(is_near) {
            return false;
        }
        if is_held {
            return true;
        }
        let decimal = Decimal::of(spelling);
        // The shortest spelling of a large float is not its value, and whole numbers of the schema are held as they are.
        if float.abs() < WHOLE && decimal == Decimal::of_float(float) {
            return true;
        }
        let falls_together = self.numbers.binary_search_by(|number| number.total_cmp(&float)).is_ok()
            // The two zeros are one number.
            || float == 0.0 && self.numbers.contains(&0.0);
        let seems_whole = float.fract() == 0.0 && !decimal.is_whole();
        !(falls_together || self.compares || self.whole && seems_whole)
    }
}

/// A number as its digits say: no zeros at either end of them, times a power of ten.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// The number of a JSON spelling.
    fn of(spelling: &str) -> Self {
        let (mantissa, exponent) = spelling.split_once(['e', 'E']).unwrap_or((spelling, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        // An exponent that does not fit is that of zero or of no number that anybody holds.
        let sign = if exponent.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
        let exponent = exponent.parse::<i64>().unwrap_or(sign).clamp(i64::MIN / 2, i64::MAX / 2);
        let mut digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit).collect();
        let mut exponent = exponent - fraction.len() as i64;
        while digits.last() == Some(&b'0') {
            digits.pop();
            exponent += 1;
        }
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        digits.drain(..zeros);
        if digits.is_empty() {
            return Decimal { negative: false, digits, exponent: 0 };
        }
        Decimal { negative: spelling.starts_with('-'), digits, exponent }
    }

    /// The shortest number that a float is read from.
    fn of_float(float: f64) -> Self {
        Decimal::of(&format!("{float:e}"))
    }

    fn is_whole(&self) -> bool {
        self.exponent >= 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_number_are_one_decimal() {
        for spelling in ["1500", "1.5e3", "1500.00", "15e+2", "0.15E4"] {
            assert_eq!(Decimal::of(spelling), Decimal::of("1500"), "{spelling}");
        }
        for zero in ["0", "-0", "0.00", "0e99999999999999999999"] {
            assert_eq!(Decimal::of(zero), Decimal::of("0"), "{zero}");
        }
        assert!(Decimal::of("1.50e1").is_whole() && !Decimal::of("1.55e1").is_whole());
        assert_ne!(Decimal::of("1e99999999999999999999"), Decimal::of("1"));
    }
}
