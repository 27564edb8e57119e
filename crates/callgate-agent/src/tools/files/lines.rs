//! `read_file`: lines of a text file, numbered from one and bounded.

use std::io::{BufRead, BufReader, Read};

use cap_std::fs::{File, Metadata};

use super::super::{ToolError, ToolErrorCode};
use super::root::{read_fault, shown};

/// The most lines that one call gives out.
pub(super) const LINES: usize = 2_000;
/// The most characters of a line.
const CHARACTERS: usize = 2_000;
/// How many bytes of a file are looked at: lines have to be counted from the start.
const LOOKED_AT: u64 = 64 << 20;

/// The lines of an open file from `first` on, at most `count` of them and at most `limit` bytes. What is left out is said
/// in a last line.
pub(super) fn read(
    (file, metadata): (File, Metadata),
    path: &str,
    first: usize,
    count: usize,
    limit: usize,
) -> Result<String, ToolError> {
    let not_text = |what: &str| {
        let message = format!("{what}: this is no text file ({} bytes)", metadata.len());
        ToolError::new(ToolErrorCode::NotText, shown(path), message)
    };
    let mut reader = BufReader::new(file.take(LOOKED_AT));
    let (mut text, mut number, mut given) = (String::new(), 0, 0);
    let mut looked_at = 0_u64;
    loop {
        let mut line = Vec::new();
        let read = reader.read_until(b'\n', &mut line).map_err(|error| read_fault(path, &error))?;
        if read == 0 {
            break;
        }
        looked_at += read as u64;
        number += 1;
        if number < first {
            continue;
        }
        if line.contains(&0) {
            return Err(not_text(&format!("a zero byte in line {number}")));
        }
        // The last line may have been cut inside a character by the limit on what is looked at.
        let is_cut = looked_at == LOOKED_AT;
        let line = match std::str::from_utf8(&line) {
            Ok(line) => line.trim_end_matches(['\n', '\r']),
            Err(_) if is_cut => break,
            Err(_) => return Err(not_text(&format!("bytes that are not UTF-8 in line {number}"))),
        };
        let numbered = numbered(number, line);
        if given == count || text.len() + numbered.len() > limit {
            text.push_str(&format!(
                "[truncated: lines {first} to {}; go on with offset {number}]",
                number - 1
            ));
            return Ok(text);
        }
        text.push_str(&numbered);
        given += 1;
    }
    if metadata.len() > LOOKED_AT && looked_at == LOOKED_AT {
        text.push_str(&format!("[truncated: only the first {LOOKED_AT} bytes of the file are looked at]"));
    } else if given == 0 && first > 1 {
        let message = format!("the file has {number} lines");
        return Err(ToolError::new(ToolErrorCode::BadArguments, shown(path), message));
    }
    Ok(text)
}

fn numbered(number: usize, line: &str) -> String {
    let count = line.chars().count();
    if count <= CHARACTERS {
        return format!("{number:>6}\t{line}\n");
    }
    let start: String = line.chars().take(CHARACTERS).collect();
    format!("{number:>6}\t{start} … {} more characters\n", count - CHARACTERS)
}
