//! Settings: knobs set by their names, as flags, lines and configurations write them, by one rule for all.

use serde_json::Value;

use super::Policy;
use super::knobs::POSITIONS;
use crate::nearest::nearest;

/// What numbers may be: the knob, the least and the most.
const BOUNDS: &[(&str, u64, u64)] = &[
    ("max_calls", 1, 10_000),
    ("name_rule.max", 1, 1_000),
    ("limits.arguments", 1, 1 << 30),
    ("limits.depth", 1, 128),
    ("limits.held", 1, 1 << 30),
    ("limits.rejections", 1, 1_000_000),
    ("limits.work", 1, 1 << 40),
    ("limits.repairs", 0, 1_000_000),
    ("limits.raw", 0, 1 << 20),
    ("limits.untrusted", 0, 1 << 30),
];

/// The knobs that count bytes: they may also be said as their tables print them, in KiB or MiB.
const IN_BYTES: &[&str] = &["limits.arguments", "limits.held", "limits.raw", "limits.untrusted"];

/// A number of bytes as the tables print it for this knob, as in `16 MiB`.
pub fn bytes(knob: &str, text: &str) -> Option<u64> {
    let text = text.trim();
    let units = [("KiB", 1_u64 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    let (count, unit) = units.iter().find_map(|(unit, size)| Some((text.strip_suffix(unit)?, size)))?;
    let count: u64 = count.trim_end().parse().ok()?;
    let knob = knob.strip_prefix("policy.").unwrap_or(knob);
    count.checked_mul(*unit).filter(|_| IN_BYTES.contains(&knob))
}

/// The knob and the value of a flag: `KNOB=VALUE`.
pub fn flag(flag: &str) -> Result<(&str, Value), String> {
    let Some((knob, value)) = flag.split_once('=') else {
        return Err(format!("`{flag}` sets nothing; write KNOB=VALUE"));
    };
    let knob = knob.trim();
    let knob = knob.strip_prefix("policy.").unwrap_or(knob);
    let is_count = BOUNDS.iter().any(|(name, ..)| *name == knob);
    let count = value.trim().parse::<u64>().ok().filter(|_| is_count).map(Value::from);
    let text = if knob == "name_rule.extra" { value } else { value.trim() };
    Ok((knob, count.unwrap_or_else(|| Value::from(text))))
}

impl Policy {
    /// The names of all knobs, those of limits and names with a dot.
    pub fn knobs() -> Vec<String> {
        let data = serde_json::to_value(Policy::default()).unwrap_or_default();
        let mut names = Vec::new();
        for (name, value) in data.as_object().into_iter().flatten() {
            match value {
                Value::Object(members) => names.extend(members.keys().map(|key| format!("{name}.{key}"))),
                _ => names.push(name.clone()),
            }
        }
        names
    }

    /// Sets a knob by its name, as in `repair` or `limits.depth`. An error says what is wrong and what there is.
    ///
    /// ```
    /// use callgate::Policy;
    ///
    /// let mut policy = Policy::default();
    /// policy.set("repair", &"off".into())?;
    /// assert_eq!(policy, Policy::default().repair_off());
    /// let error = policy.set("repiar", &"off".into()).unwrap_err();
    /// assert_eq!(error, "there is no knob `repiar`; did you mean repair?");
    /// # Ok::<(), String>(())
    /// ```
    pub fn set(&mut self, knob: &str, value: &Value) -> Result<(), String> {
        let knob = knob.strip_prefix("policy.").unwrap_or(knob);
        let names = Policy::knobs();
        if !names.iter().any(|name| name == knob) {
            let shown: String = knob.chars().take(64).flat_map(char::escape_debug).collect();
            let near = nearest(knob, names.iter().map(String::as_str));
            let help = match near.as_slice() {
                [] => format!("there are {}", names.join(", ")),
                near => format!("did you mean {}?", near.join(" or ")),
            };
            return Err(format!("there is no knob `{shown}`; {help}"));
        }
        let count = value.as_str().and_then(|text| bytes(knob, text)).map(Value::from);
        let value = count.as_ref().unwrap_or(value);
        if let Some((_, least, most)) = BOUNDS.iter().find(|(name, ..)| *name == knob)
            && !value.as_u64().is_some_and(|count| (*least..=*most).contains(&count))
        {
            let unit = if IN_BYTES.contains(&knob) { " of bytes, or of KiB or MiB as in 64KiB" } else { "" };
            return Err(format!("`{knob}` is a whole number from {least} to {most}{unit}, not {value}"));
        }
        let mut data = serde_json::to_value(&*self).map_err(|error| error.to_string())?;
        let place = knob.split('.').try_fold(&mut data, |value, key| value.get_mut(key));
        if let Some(place) = place {
            *place = value.clone();
        }
        match serde_json::from_value(data) {
            Ok(policy) => *self = policy,
            Err(_) => {
                let words = words(knob);
                let near =
                    value.as_str().map_or(Vec::new(), |said| nearest(said, words.iter().map(String::as_str)));
                let help = match (near.as_slice(), words.is_empty()) {
                    ([], true) => "it is a text".to_owned(),
                    ([], false) => format!("it is one of {}", words.join(", ")),
                    (near, _) => format!("did you mean {}?", near.join(" or ")),
                };
                return Err(format!("`{knob}` cannot be {value}; {help}"));
            }
        }
        Ok(())
    }

    /// Sets a knob as a flag does: `KNOB=VALUE`.
    pub fn set_flag(&mut self, flag: &str) -> Result<(), String> {
        let (knob, value) = self::flag(flag)?;
        self.set(knob, &value)
    }

    /// Sets the knobs of an object: by their names, or by objects for `limits` and `name_rule`.
    pub fn set_all(&mut self, knobs: &Value) -> Result<(), String> {
        let Value::Object(members) = knobs else { return Err(format!("knobs are an object, not {knobs}")) };
        for (name, value) in members {
            match value {
                Value::Object(inner) => {
                    for (key, value) in inner {
                        self.set(&format!("{name}.{key}"), value)?;
                    }
                }
                value => self.set(name, value)?,
            }
        }
        Ok(())
    }
}

/// The positions of a knob; none for numbers and texts.
fn words(knob: &str) -> Vec<String> {
    let positions = POSITIONS.iter().filter(|(_, field, _)| *field == knob);
    let word = |set: fn(Policy) -> Policy| {
        let data = serde_json::to_value(set(Policy::default())).unwrap_or_default();
        data[knob].as_str().map(str::to_owned)
    };
    positions.filter_map(|(_, _, set)| word(*set)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{BOUNDS, IN_BYTES, words};
    use crate::policy::Policy;

    #[test]
    fn every_knob_can_be_set_by_its_name_to_all_its_positions_and_to_nothing_else() {
        for knob in Policy::knobs() {
            let mut policy = Policy::default();
            match BOUNDS.iter().find(|(name, ..)| *name == knob) {
                Some((_, least, most)) => {
                    for count in [*least, *most] {
                        policy.set_flag(&format!("{knob}={count}")).unwrap();
                        policy.set(&knob, &json!(count)).unwrap();
                    }
                    for wrong in [json!(most + 1), json!(-1), json!("3"), json!(1.5), json!(null)] {
                        let error = policy.set(&knob, &wrong).unwrap_err();
                        assert!(error.contains(&format!("from {least} to {most}")), "{error}");
                    }
                }
                None if knob == "name_rule.extra" => {
                    policy.set_flag("name_rule.extra=:/").unwrap();
                    assert!(policy.name_rule.allows('/'));
                }
                None => {
                    let words = words(&knob);
                    assert!(words.len() > 1, "{knob}");
                    for word in &words {
                        policy.set_flag(&format!("policy.{knob}={word}")).unwrap();
                    }
                    let error = policy.set(&knob, &json!("zzzzz")).unwrap_err();
                    assert!(error.contains(&words.join(", ")), "{error}");
                }
            }
        }
    }

    #[test]
    fn what_counts_bytes_may_be_said_as_the_tables_print_it() {
        for knob in IN_BYTES {
            for (text, wanted) in [("1KiB", 1 << 10), ("4 KiB", 4 << 10), ("1MiB", 1 << 20)] {
                let (mut by_flag, mut by_value, mut by_count) =
                    (Policy::default(), Policy::default(), Policy::default());
                by_flag.set_flag(&format!("{knob}= {text} ")).unwrap();
                by_value.set_all(&json!({*knob: text})).unwrap();
                by_count.set(knob, &json!(wanted)).unwrap();
                assert_eq!((&by_flag, &by_value), (&by_count, &by_count), "{knob}={text}");
            }
            for wrong in ["1MB", "MiB", "-1KiB", "1.5MiB", "99999999999GiB", "1 M", "2GiB"] {
                let error = Policy::default().set_flag(&format!("{knob}={wrong}")).unwrap_err();
                assert!(error.contains("as in 64KiB"), "{error}");
            }
        }
        assert!(Policy::default().set_flag("limits.depth=1KiB").is_err());
    }

    #[test]
    fn mistakes_are_told_with_the_nearest_names() {
        let mut policy = Policy::default();
        for (flag, part) in [
            ("limit.depth=3", "did you mean limits.depth?"),
            ("repair=of", "did you mean off?"),
            ("repair", "write KNOB=VALUE"),
            ("xyzzy=1", "there are repair"),
        ] {
            let error = policy.set_flag(flag).map(|()| String::new()).unwrap_or_else(|error| error);
            assert!(
                error.contains(part) || part == "there are repair" && error.contains("there are "),
                "{flag}: {error}"
            );
        }
        assert_eq!(policy, Policy::default());
        policy.set_all(&json!({"repair": "off", "limits": {"depth": 3}, "name_rule.max": 9})).unwrap();
        let mut wanted = Policy::default().repair_off().limit_depth(3);
        wanted.name_rule.max = 9;
        assert_eq!(policy, wanted);
        assert!(policy.set_all(&json!([])).is_err());
        assert!(policy.set_all(&json!({"limits": {"deep": 3}})).unwrap_err().contains("limits.depth"));
    }
}
