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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_ids_are_equal() {
        let ids: std::collections::BTreeSet<String> = (0..1000).map(|_| random_id()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
    }
}
