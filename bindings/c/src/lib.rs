//! The C interface: conversations behind opaque handles, text in by pointer and length, JSON out.
//!
//! What crosses is in `border`, which is all the `unsafe` there is; what is asked is done in `requests`, which is safe.

pub mod border;
mod requests;
