//! Keys: a log whose records are sealed with a key that is replaced by its own hash after each of them.
//!
//! Whoever takes over the writer in the middle of a session has the key of the records to come, not of those before, so
//! what is on record stays as it is. The first key is kept outside; with it everything can be checked, and rewritten.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

use super::{AuditError, AuditErrorCode};
use crate::hex;

/// The fewest bytes of a first key.
const LEAST: usize = 16;
/// The most bytes of a first key.
const MOST: usize = 4096;

/// The first key, from which those of all sessions and records follow.
#[derive(Clone)]
pub struct AuditKey(Vec<u8>);

impl fmt::Debug for AuditKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuditKey(…)")
    }
}

impl AuditKey {
    /// A key of these bytes; none if they are too few or too many.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (LEAST..=MOST).contains(&bytes.len()).then(|| AuditKey(bytes.to_vec()))
    }

    /// Reads a key file: its bytes without the line break at their end. A pipe will do (`/dev/fd/3`), so that the key
    /// need not be on the disk; a file that others can read will not.
    pub fn read(path: &Path) -> Result<Self, AuditError> {
        let failed = |message: String| AuditError::new(AuditErrorCode::NoKey, path, message);
        let file = File::open(path).map_err(|error| failed(error.to_string()))?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let metadata = file.metadata().map_err(|error| failed(error.to_string()))?;
            if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
                return Err(failed("others can read or change it; `chmod 600` helps".to_owned()));
            }
        }
        let mut bytes = Vec::new();
        let most = u64::try_from(MOST).unwrap_or(u64::MAX) + 3;
        file.take(most).read_to_end(&mut bytes).map_err(|error| failed(error.to_string()))?;
        let key = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let key = key.strip_suffix(b"\r").unwrap_or(key);
        AuditKey::new(key).ok_or_else(|| failed(format!("a key has {LEAST} to {MOST} bytes")))
    }

    /// The key of the first record of a session.
    pub(super) fn of_session(&self, session_id: &str) -> RecordKey {
        RecordKey(mac(&self.0, &[b"callgate audit 1 key ", session_id.as_bytes()]))
    }
}

/// The key of one record.
pub(super) struct RecordKey([u8; 32]);

impl RecordKey {
    /// The seal of a record behind another, in hexadecimal digits.
    pub(super) fn seal(&self, previous: &str, open: &str) -> String {
        hex(&mac(&self.0, &[previous.as_bytes(), open.as_bytes()]))
    }

    /// Becomes the key of the next record, from which this one cannot be had.
    pub(super) fn advance(&mut self) {
        self.0 = Sha256::digest(self.0).into();
    }
}

/// HMAC-SHA-256 of a text in parts.
fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // HMAC takes a key of any length, so this never fails.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return [0; 32] };
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_rfc_4231_hold() {
        for (key, data, wanted) in [
            (
                vec![0x0b; 20],
                b"Hi There".to_vec(),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?".to_vec(),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First".to_vec(),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(hex(&mac(&key, &[&data])), wanted);
            let (left, right) = data.split_at(3);
            assert_eq!(hex(&mac(&key, &[left, right])), wanted, "parts do not matter");
        }
    }

    #[test]
    fn each_session_and_each_record_has_a_key_of_its_own() {
        let first = AuditKey::new(b"0123456789abcdef").unwrap();
        let mut key = first.of_session("a");
        let seals: Vec<String> = (0..3)
            .map(|_| {
                let seal = key.seal("p", "o");
                key.advance();
                seal
            })
            .collect();
        assert!(seals[0] != seals[1] && seals[1] != seals[2]);
        assert_ne!(first.of_session("b").seal("p", "o"), seals[0]);
        assert!(AuditKey::new(b"short").is_none() && AuditKey::new(&[0; 5000]).is_none());
        assert_eq!(format!("{first:?}"), "AuditKey(…)");
    }
}
