//! Marks: the way to the next byte in a text at which a scan has to look closer.

use crate::bytes::ByteSet;

/// How far a search for one group of bytes goes at least, and farther the farther the scan has come: so that little is
/// looked at in vain if it ends early.
const BLOCK: usize = 512;

/// With more groups than this, looking at each byte is as fast as looking for each group.
const MOST_GROUPS: usize = 4;

/// Below so many bytes a search by vectors is not worth its while.
const SHORT: usize = 16;

/// A mark.
const MARK: u8 = 1;

/// A lead, and a mark that may follow one.
const LEAD: u8 = 2;
const FOLLOWER: u8 = 4;

/// What ends a line or escapes what follows.
const BREAK: u8 = 8;

/// White space, which may stand between a lead and what follows it.
const SPACE: u8 = 16;

/// Bytes at which a scan has to look closer.
#[derive(Clone, Debug)]
pub(crate) struct Marks {
    /// Per byte, what it is to the scan.
    kinds: [u8; 256],
    /// All marks in groups of three, for a vector search.
    groups: [[u8; 3]; MOST_GROUPS],
    /// How many groups there are: none if there would be too many.
    count: usize,
    has_leads: bool,
}

/// Bytes at which a scan has to look closer only right before certain others, white space aside, or where the text ends with
/// them. So they need no search of their own.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Leads {
    pub(crate) bytes: ByteSet,
    /// The others, which are marks.
    pub(crate) followers: ByteSet,
}

impl Marks {
    pub(crate) fn new(bytes: impl IntoIterator<Item = u8>) -> Self {
        let set: ByteSet = bytes.into_iter().collect();
        let list: Vec<u8> = set.iter().collect();
        let mut groups = [[0; 3]; MOST_GROUPS];
        let mut count = 0;
        if list.len() <= groups.as_flattened().len() {
            for (group, few) in groups.iter_mut().zip(list.chunks(3)) {
                *group = std::array::from_fn(|i| few[i.min(few.len() - 1)]);
                count += 1;
            }
        }
        let mut kinds = [0; 256];
        list.iter().for_each(|byte| kinds[usize::from(*byte)] |= MARK);
        b"\n\r\\".iter().for_each(|byte| kinds[usize::from(*byte)] |= BREAK);
        (0..=u8::MAX).filter(u8::is_ascii_whitespace).for_each(|byte| kinds[usize::from(byte)] |= SPACE);
        Marks { kinds, groups, count, has_leads: false }
    }

    /// The same bytes, of which these are leads.
    pub(crate) fn with_leads(&self, leads: Leads) -> Self {
        let mut marks = Marks::new(self.iter().filter(|byte| !leads.bytes.has(*byte)));
        leads.bytes.iter().for_each(|byte| marks.kinds[usize::from(byte)] |= LEAD);
        leads.followers.iter().for_each(|byte| marks.kinds[usize::from(byte)] |= FOLLOWER);
        marks.has_leads = !leads.bytes.is_empty();
        marks
    }

    pub(crate) fn has(&self, byte: u8) -> bool {
        self.is(byte, MARK | LEAD)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u8> {
        (0..=u8::MAX).filter(|byte| self.has(*byte))
    }

    /// Whether these bytes, which are few, are the middle of a line and no mark is among them.
    #[inline]
    pub(crate) fn are_missing_in_few(&self, bytes: &[u8]) -> bool {
        bytes.len() < SHORT && !bytes.iter().any(|byte| self.is(*byte, MARK | LEAD | BREAK))
    }

    #[inline]
    fn is(&self, byte: u8, kinds: u8) -> bool {
        self.kinds[usize::from(byte)] & kinds != 0
    }

    /// A search for them in these bytes.
    pub(crate) fn search<'a>(&'a self, bytes: &'a [u8]) -> MarkSearch<'a> {
        MarkSearch { marks: self, bytes, next: [0; MOST_GROUPS] }
    }
}

/// A search that goes on from each place where it was asked before. Every group looks at every byte at most once.
pub(crate) struct MarkSearch<'a> {
    marks: &'a Marks,
    bytes: &'a [u8],
    /// Before which place no byte of each group stands that has not been found already.
    next: [usize; MOST_GROUPS],
}

impl<'a> MarkSearch<'a> {
    pub(crate) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Where the first of the bytes stands from here on, or how many bytes there are. No call may ask for an earlier
    /// place than the one before it.
    #[inline]
    pub(crate) fn find(&mut self, from: usize) -> usize {
        let at = self.find_mark(from);
        let MarkSearch { marks, bytes, .. } = self;
        if !marks.has_leads || bytes.get(at).is_some_and(|byte| !marks.is(*byte, FOLLOWER)) {
            return at;
        }
        for (before, byte) in (from..at).zip(&bytes[from..at]).rev() {
            if !marks.is(*byte, SPACE) {
                return if marks.is(*byte, LEAD) { before } else { at };
            }
        }
        at
    }

    fn find_mark(&mut self, from: usize) -> usize {
        let MarkSearch { marks, bytes, next } = self;
        let mut from = from;
        if bytes.len() - from < SHORT || marks.count == 0 {
            let found = bytes[from..].iter().position(|byte| marks.is(*byte, MARK));
            return found.map_or(bytes.len(), |at| from + at);
        }
        loop {
            let mut first = bytes.len();
            for (next, [one, two, three]) in next.iter_mut().zip(&marks.groups[..marks.count]) {
                if *next < from {
                    let block = &bytes[from..bytes.len().min(from + from.max(BLOCK))];
                    let found = if one == three {
                        memchr::memchr(*one, block)
                    } else {
                        memchr::memchr3(*one, *two, *three, block)
                    };
                    *next = from + found.unwrap_or(block.len());
                }
                first = first.min(*next);
            }
            match bytes.get(first) {
                Some(byte) if !marks.is(*byte, MARK) => from = first + 1,
                _ => return first,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lead_is_found_before_its_followers_and_at_the_end() {
        for length in 0..40 {
            let text = format!("]a] \n<]{}]{{] <", "b]".repeat(length));
            let leads =
                Leads { bytes: [b']'].into_iter().collect(), followers: [b'<'].into_iter().collect() };
            let marks = Marks::new(*b"<{]").with_leads(leads);
            assert_eq!(marks.iter().collect::<Vec<_>>(), b"<]{");
            for end in 0..=text.len() {
                let bytes = &text.as_bytes()[..end];
                let mut search = marks.search(bytes);
                let mut found = Vec::new();
                let mut at = search.find(0);
                while at < bytes.len() {
                    found.push(at);
                    at = search.find(at + 1);
                }
                let is_found = |at: &usize| match bytes[*at] {
                    b']' => matches!(bytes[at + 1..].trim_ascii_start(), [] | [b'<', ..]),
                    byte => b"<{".contains(&byte),
                };
                assert_eq!(found, (0..end).filter(is_found).collect::<Vec<_>>(), "{text} to {end}");
            }
        }
    }

    #[test]
    fn few_bytes_without_marks_are_what_a_search_finds_nothing_in() {
        let leads = Leads { bytes: [b']'].into_iter().collect(), followers: [b'<'].into_iter().collect() };
        let marks = Marks::new(*b"<{]").with_leads(leads);
        for text in ["a", "a b", "so, it", "a]", "a] b", "<", "a {", "\n", "a\r", "\\", "a\\b", "é"] {
            let is_plain = !text.contains(['<', '{', ']', '\n', '\r', '\\']);
            assert_eq!(marks.are_missing_in_few(text.as_bytes()), is_plain, "{text}");
            let found = marks.search(text.as_bytes()).find(0);
            assert!(!is_plain || found == text.len(), "{text}");
            let long = text.repeat(SHORT);
            assert!(!marks.are_missing_in_few(long.as_bytes()), "{long}");
        }
    }

    #[test]
    fn the_first_of_any_number_of_bytes_is_found() {
        let text: Vec<u8> = (0..200u8).cycle().take(1000).collect();
        for set in
            [vec![], vec![7], vec![9, 130], vec![3, 50, 199], vec![11, 12, 150, 180, 199], (1..20).collect()]
        {
            let marks = Marks::new(set.iter().copied());
            assert_eq!(marks.iter().collect::<Vec<_>>(), set);
            for step in [1, 7, 40, 600] {
                let mut search = marks.search(&text);
                let mut from = 0;
                while from <= text.len() {
                    let wanted = text[from..].iter().position(|byte| set.contains(byte));
                    let wanted = wanted.map_or(text.len(), |at| from + at);
                    assert_eq!(search.find(from), wanted, "{set:?} from {from}");
                    from = if step == 1 { wanted + 1 } else { from + step };
                }
            }
        }
    }
}
