//! Repair: broken JSON alone.

use callgate::{Repair, Repaired};
use serde::Serialize;
use wasm_bindgen::prelude::*;

use crate::errors::Told;
use crate::units::{Pair, Units};
use crate::wire;

/// Deeper than that is deeper than anybody's reader goes.
const DEPTH: usize = 500;

#[derive(Serialize)]
struct Written<'a> {
    text: &'a str,
    repairs: &'a [Repair],
    units: Vec<Pair>,
}

fn written(value: &Repaired, units: &Units) -> String {
    let pairs = value.repairs.iter().map(|repair| units.pair(repair.span)).collect();
    wire::text(&Written { text: &value.text, repairs: &value.repairs, units: pairs })
}

/// Reads a text as JSON with every repair allowed: one value, the start of one, or each of several. Always a list.
#[wasm_bindgen]
pub fn repair(text: &str, is_partial: bool, is_many: bool, depth: f64) -> Result<String, JsValue> {
    // What is no number or negative becomes 0.
    let depth = (depth as usize).min(DEPTH);
    let units = Units::of(text);
    let values: Result<Vec<Repaired>, callgate::Finding> = match (is_many, is_partial) {
        (true, _) => callgate::repair_many(text, depth).collect(),
        (false, true) => callgate::repair_partial(text, depth).map(|value| vec![value]),
        (false, false) => callgate::repair(text, depth).map(|value| vec![value]),
    };
    let values = values.map_err(|finding| Told::from(&finding).thrown())?;
    let list: Vec<String> = values.iter().map(|value| written(value, &units)).collect();
    Ok(format!("[{}]", list.join(",")))
}
