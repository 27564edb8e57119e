//! Ids that nobody can guess and no two of which are equal.

/// Sixteen random hexadecimal digits: a session, a response and its attempts are known by one of these.
pub fn random_id() -> String {
    let mut bytes = [0; 8];
    if getrandom::fill(&mut bytes).is_err() {
        // A system without randomness still has a clock, and an id must not be the reason to stop.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        bytes = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX).to_be_bytes();
    }
    crate::hex(&bytes)
}

/// Whether a text is made as such an id.
pub(crate) fn is_id(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_ids_are_equal() {
        let ids: std::collections::BTreeSet<String> = (0..1000).map(|_| random_id()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| is_id(id)));
    }
}
