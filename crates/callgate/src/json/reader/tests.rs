//! Tests of the reader that need its inside.
