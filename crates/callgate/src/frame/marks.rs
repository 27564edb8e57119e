//! Marks: the way to the next byte in a text at which a scan has to look closer.

use crate::bytes::ByteSet;

/// How far a search for one group of bytes goes before the other groups have their turn.
const BLOCK: usize = 512;

/// Below so many bytes a search by vectors is not worth its while.
const SHORT: usize = 16;

/// Bytes at which a scan has to look closer.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    set: ByteSet,
    /// All of them in groups of three, for a vector search.
    groups: Vec<[u8; 3]>,
}

impl Marks {
    pub(crate) fn new(bytes: impl IntoIterator<Item = u8>) -> Self {
        let set: ByteSet = bytes.into_iter().collect();
        let list: Vec<u8> = set.iter().collect();
        let group = |few: &[u8]| std::array::from_fn(|i| few[i.min(few.len() - 1)]);
        Marks { set, groups: list.chunks(3).map(group).collect() }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u8> {
        self.set.iter()
    }

    /// Where the first of them stands in these bytes, or how many there are.
    pub(crate) fn find(&self, bytes: &[u8]) -> usize {
        if bytes.len() < SHORT {
            return bytes.iter().position(|byte| self.set.has(*byte)).unwrap_or(bytes.len());
        }
        if let [[one, two, three]] = *self.groups {
            return memchr::memchr3(one, two, three, bytes).unwrap_or(bytes.len());
        }
        let mut from = 0;
        while from < bytes.len() {
            // Each group looks only as far as the one before it has found something.
            let mut block = &bytes[from..bytes.len().min(from + BLOCK)];
            let length = block.len();
            for [one, two, three] in &self.groups {
                let found = memchr::memchr3(*one, *two, *three, block);
                block = &block[..found.unwrap_or(block.len())];
            }
            from += block.len();
            if block.len() < length {
                return from;
            }
        }
        bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_any_number_of_bytes_is_found() {
        let text: Vec<u8> = (0..200u8).cycle().take(1000).collect();
        for set in [vec![], vec![7], vec![9, 130], vec![3, 50, 199], vec![11, 12, 150, 180, 199]] {
            let bytes = Marks::new(set.iter().copied());
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
