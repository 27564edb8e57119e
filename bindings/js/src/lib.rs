//! The npm package: a thin border around the crate `callgate`. Texts and JSON cross it, and it judges nothing itself;
//! `lib/` makes JavaScript objects of what comes out.

mod dialect;
mod errors;
mod gate;
mod repair;
mod session;
mod units;
mod wire;

use wasm_bindgen::prelude::*;

use crate::errors::Told;

/// The version of the package.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The names of all knobs, as JSON.
#[wasm_bindgen]
pub fn knobs() -> String {
    wire::text(&callgate::Policy::knobs())
}

/// The response that events come to, given as a list.
#[wasm_bindgen]
pub fn collect(events: &str, finish_reason: &str) -> Result<String, JsValue> {
    wire::collect(events, finish_reason).map_err(Told::thrown)
}

/// Whether a provider's word for the end of a response is known.
#[wasm_bindgen]
pub fn check_reason(word: &str) -> Result<(), JsValue> {
    wire::reason(word).map(drop).map_err(Told::thrown)
}

/// An event from its JSON.
#[wasm_bindgen]
pub fn load_event(json: &str) -> Result<String, JsValue> {
    wire::load_event(json).map_err(Told::thrown)
}

/// A response from its JSON.
#[wasm_bindgen]
pub fn load_response(json: &str) -> Result<String, JsValue> {
    wire::load_response(json).map_err(Told::thrown)
}
