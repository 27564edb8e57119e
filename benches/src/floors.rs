//! Floors: the cheapest parts of the task, which no reader can get under.

use std::hint::black_box;

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::contestant::{Contestant, Run};
use crate::workload::{Answer, Task, Workload};

/// The floors of a workload, in this way of feeding.
pub fn all(workload: &Workload, streamed: bool) -> Vec<Contestant> {
    if streamed {
        return vec![Contestant::floor("floor", Box::new(|chunks, _| stream(chunks)))];
    }
    let mut floors = Vec::new();
    if workload.right.calls.is_empty() {
        let opener = memchr::memmem::Finder::new("<tool_call>");
        floors.push(touching("memmem", move |text| opener.find_iter(text).count()));
        // What every opener of the dialects that listen by themselves begins with, or has as its second byte.
        floors.push(touching("memchr3", |text| memchr::memchr3_iter(b'<', b'[', b'`', text).count()));
        return floors;
    }
    floors.push(parsing(workload, "serde_json", |text| {
        black_box(serde_json::from_str::<Value>(text).ok());
    }));
    if workload.task == Task::Json {
        floors.push(parsing(workload, "serde_json check", |text| {
            black_box(serde_json::from_str::<IgnoredAny>(text).ok());
        }));
    }
    floors.push(parsing(workload, "sonic-rs", |text| {
        black_box(sonic_rs::from_str::<sonic_rs::Value>(text).ok());
    }));
    floors.push(parsing(workload, "simd-json", |text| {
        // It reads in place, so the copy is part of it.
        let mut bytes = text.as_bytes().to_vec();
        black_box(simd_json::to_owned_value(&mut bytes).ok());
    }));
    floors.push(parsing(workload, "jiter", |text| {
        black_box(jiter::JsonValue::parse(text.as_bytes(), false).ok());
    }));
    floors
}

/// Parses the arguments that are known to be right; for broken JSON, its valid form.
fn parsing(workload: &Workload, name: &'static str, parse: fn(&str)) -> Contestant {
    let arguments: Vec<String> = workload.right.calls.iter().map(|call| call.arguments.clone()).collect();
    let run: Run = Box::new(move |_, _| {
        for text in &arguments {
            parse(text);
        }
        Some(Answer::default())
    });
    Contestant::floor(name, run)
}

/// Looks at the bytes.
fn touching(name: &'static str, look: impl Fn(&[u8]) -> usize + 'static) -> Contestant {
    let run: Run = Box::new(move |chunks, _| {
        for chunk in chunks {
            black_box(look(chunk.as_bytes()));
        }
        Some(Answer::default())
    });
    Contestant::floor(name, run)
}

/// What every streaming reader does with a chunk: keep it, look for the end of a JSON string in it, and hand out one
/// string.
pub fn stream(chunks: &[&str]) -> Option<Answer> {
    let mut held = String::new();
    let mut escaped = false;
    for chunk in chunks {
        held.push_str(chunk);
        let mut ends = 0_usize;
        for byte in chunk.bytes() {
            if escaped {
                escaped = false;
            } else if byte == b'\\' {
                escaped = true;
            } else if byte == b'"' || byte < b' ' {
                ends += 1;
            }
        }
        black_box(ends);
        black_box((*chunk).to_owned());
    }
    black_box(&held);
    Some(Answer::default())
}
