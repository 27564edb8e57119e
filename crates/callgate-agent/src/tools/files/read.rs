//! `fs.read`: a part of a text file, bounded.

use std::io::{Read, Seek, SeekFrom};

use cap_std::fs::{File, Metadata};

use super::super::{ToolError, ToolErrorCode};
use super::root::{read_fault, shown};

/// Text from an open file: at most `limit` bytes from `offset`. What is left out is said in a last line.
pub(super) fn read(
    (mut file, metadata): (File, Metadata),
    path: &str,
    offset: u64,
    limit: usize,
) -> Result<String, ToolError> {
    let failed = |error: std::io::Error| read_fault(path, &error);
    file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    let mut bytes = Vec::new();
    // One byte more than is given out shows whether there is more.
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    file.take(most).read_to_end(&mut bytes).map_err(failed)?;
    let has_more = bytes.len() > limit;
    bytes.truncate(limit);
    let size = metadata.len();
    let not_text = |at: usize, what: &str| {
        let at = offset.saturating_add(at as u64);
        ToolError::new(
            ToolErrorCode::NotText,
            shown(path),
            format!("{what} at byte {at}: this is no text file ({size} bytes)"),
        )
    };
    if let Some(at) = bytes.iter().position(|byte| *byte == 0) {
        return Err(not_text(at, "a zero byte"));
    }
    let mut text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let fault = error.utf8_error();
            let end = fault.valid_up_to();
            // A character that the limit cut in two is given out with the next part.
            let is_cut = has_more && fault.error_len().is_none() && end > 0;
            if !is_cut {
                return Err(not_text(end, "bytes that are not UTF-8"));
            }
            let mut bytes = error.into_bytes();
            bytes.truncate(end);
            String::from_utf8(bytes).map_err(|_| not_text(end, "bytes that are not UTF-8"))?
        }
    };
    if has_more {
        let next = offset.saturating_add(text.len() as u64);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[truncated: bytes {offset} to {next} of {size}; go on with offset {next}]"));
    }
    Ok(text)
}
