//! Units: where the bytes of a response stand when it is counted in UTF-16 code units, as JavaScript counts.

#[path = "../../counts.rs"]
mod counts;

pub(crate) use counts::Pair;

pub(crate) type Units = counts::Counts<true>;
