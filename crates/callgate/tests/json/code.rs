//! Values as Python writes them: each is what Python says, and whatever computes one is refused where it stands.

use callgate::internal::json::{Reader, Syntax};

/// What is asked for before a word is decided has a bound, so that blanks without end are not looked at with each byte.
#[test]
fn blanks_behind_a_word_are_not_waited_for_without_end() {
    let holds = |blanks: usize| {
        let text = format!("q=\"a\" b{}", " ".repeat(blanks));
        let mut reader = Reader::new(Syntax::Kwargs);
        let taken: usize = text.char_indices().map(|(at, c)| reader.push(&text[at..at + c.len_utf8()])).sum();
        assert_eq!(taken, text.len());
        reader.in_string()
    };
    assert!(!holds(10), "a word may still be the name of an argument");
    assert!(holds(200) && holds(2000), "the quote was data");
}
