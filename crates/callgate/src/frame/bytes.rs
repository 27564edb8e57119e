//! A set of bytes, and the way to the next of them in a text.

/// Bytes at which a scan has to look closer.
#[derive(Clone, Debug)]
pub(crate) struct ByteSet {
    has: [bool; 256],
    /// All of them, if they are few enough for a vector search.
    few: Option<Few>,
}

#[derive(Clone, Copy, Debug)]
enum Few {
    One(u8),
    Two(u8, u8),
    Three(u8, u8, u8),
}

impl ByteSet {
    pub(crate) fn new(bytes: impl IntoIterator<Item = u8>) -> Self {
        let mut has = [false; 256];
        for byte in bytes {
            has[byte as usize] = true;
        }
        let list: Vec<u8> = (0..=u8::MAX).filter(|byte| has[*byte as usize]).collect();
        let few = match *list {
            [one] => Some(Few::One(one)),
            [one, two] => Some(Few::Two(one, two)),
            [one, two, three] => Some(Few::Three(one, two, three)),
            _ => None,
        };
        ByteSet { has, few }
    }

    pub(crate) fn has(&self, byte: u8) -> bool {
        self.has[byte as usize]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(|byte| self.has(*byte))
    }

    /// Where the first of them stands in these bytes, or how many there are.
    pub(crate) fn find(&self, bytes: &[u8]) -> usize {
        let found = match self.few {
            Some(Few::One(one)) => memchr::memchr(one, bytes),
            Some(Few::Two(one, two)) => memchr::memchr2(one, two, bytes),
            Some(Few::Three(one, two, three)) => memchr::memchr3(one, two, three, bytes),
            None => self.find_any(bytes),
        };
        found.unwrap_or(bytes.len())
    }

    fn find_any(&self, bytes: &[u8]) -> Option<usize> {
        let (eights, rest) = bytes.as_chunks::<8>();
        // One branch for eight bytes: most of them are none of the set.
        let eight =
            eights.iter().position(|eight| eight.iter().fold(false, |any, byte| any | self.has(*byte)));
        let from = eight.map_or(bytes.len() - rest.len(), |eight| eight * 8);
        bytes[from..].iter().position(|byte| self.has(*byte)).map(|at| from + at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_any_number_of_bytes_is_found() {
        let text: Vec<u8> = (0..200u8).cycle().take(1000).collect();
        for set in [vec![], vec![7], vec![9, 130], vec![3, 50, 199], vec![11, 12, 150, 180, 199]] {
            let bytes = ByteSet::new(set.iter().copied());
            assert_eq!(bytes.iter().collect::<Vec<_>>(), set);
            for from in 0..300 {
                let wanted = text[from..].iter().position(|byte| set.contains(byte));
                assert_eq!(
                    bytes.find(&text[from..]),
                    wanted.unwrap_or(text.len() - from),
                    "{set:?} from {from}"
                );
            }
        }
    }
}
