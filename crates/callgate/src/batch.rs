//! Batch: one line of JSON in, one line of JSON out.
