//! Arrow: columns in and out through its C data interface, without any package of Arrow. The only place with `unsafe`.

mod abi;
mod column;
mod export;
mod import;

pub(crate) use column::{Column, rows};
pub(crate) use export::ResponseArray;
pub(crate) use import::{Source, Strings};
