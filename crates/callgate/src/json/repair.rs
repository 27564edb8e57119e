//! Repairs: the closed list of changes that the reader may make.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserializer};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

use crate::finding::{Span, is_once, once};

/// Whether a repair had to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Safety {
    /// The input has one possible reading.
    Lossless,
    /// A choice was made between readings.
    Guess,
}

impl fmt::Display for Safety {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Safety::Lossless => "lossless",
            Safety::Guess => "guess",
        })
    }
}

/// One named change that was made to read a broken value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Repair {
    /// What was changed.
    pub code: RepairCode,
    /// Whether a choice was made.
    pub safety: Safety,
    /// The bytes of the input it is about; empty where something was missing.
    pub span: Span,
    /// Whether it replaces text that the reader had already shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
    /// How often it was made, where repeats are counted instead of listed.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub count: usize,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.code, self.safety)
    }
}

/// One row of the table: what a repair is wherever it appears.
#[derive(Debug)]
pub struct RepairEntry {
    /// The stable word, as it stands in JSON and on the command line.
    pub word: &'static str,
    /// The usual safety; single repairs may be less safe than this, never safer.
    pub safety: Safety,
    /// What it does.
    pub message: &'static str,
    /// A text that needs it.
    pub input: &'static str,
    /// What that text is read as.
    pub output: &'static str,
}

macro_rules! repairs {
    ($($name:ident $word:literal $safety:ident $message:literal $input:literal $output:literal;)*) => {
        /// What a repair changes. The list is closed, and the word of a code never changes its meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum RepairCode {
            $(#[doc = $message] $name,)*
        }

        impl RepairCode {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [RepairCode] = &[$(RepairCode::$name,)*];

            /// The row of the table.
            #[doc(hidden)]
            pub fn entry(self) -> &'static RepairEntry {
                match self {
                    $(RepairCode::$name => &RepairEntry {
                        word: $word,
                        safety: Safety::$safety,
                        message: $message,
                        input: $input,
                        output: $output,
                    },)*
                }
            }
        }
    };
}

impl RepairCode {
    /// The stable word.
    pub fn word(self) -> &'static str {
        self.entry().word
    }

    /// The usual safety; a single repair may be less safe than this, never safer.
    pub fn safety(self) -> Safety {
        self.entry().safety
    }

    /// What it does.
    pub fn message(self) -> &'static str {
        self.entry().message
    }

    /// Whether it decides where a string ends, or what stands behind one: then a guess may have made a member out of a text, or
    /// a text out of a member.
    pub(crate) fn bounds_strings(self) -> bool {
        matches!(
            self,
            RepairCode::UnescapedQuote
                | RepairCode::MissingQuote
                | RepairCode::UnclosedString
                | RepairCode::SwappedQuote
                | RepairCode::DoubledQuote
                | RepairCode::UnquotedKey
                | RepairCode::UnquotedString
                | RepairCode::MissingComma
                | RepairCode::MissingColon
        )
    }

    /// The code with this word, if there is one.
    pub fn from_word(word: &str) -> Option<RepairCode> {
        RepairCode::ALL.iter().copied().find(|code| code.word() == word)
    }
}

impl fmt::Display for RepairCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Serialize for RepairCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for RepairCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = Cow::<str>::deserialize(deserializer)?;
        RepairCode::from_word(&word)
            .ok_or_else(|| de::Error::custom(format!("there is no repair with the code `{word}`")))
    }
}

// Columns: variant, word, safety; message; example input; example output.
repairs! {
    // ---- commas, colons and closers ----
    TrailingComma "trailing-comma" Lossless
        "a comma before a closer or the end is dropped"
        r#"{"path": "n.md",}"# r#"{"path": "n.md"}"#;
    ExtraComma "extra-comma" Lossless
        "a comma with no value before it is dropped; in an array this is a guess"
        r#"{"a": 1,, "b": 2}"# r#"{"a": 1, "b": 2}"#;
    MissingComma "missing-comma" Lossless
        "a comma is put between two values; between two plain values of an array this is a guess"
        r#"{"a": 1 "b": 2}"# r#"{"a": 1, "b": 2}"#;
    OddSeparator "odd-separator" Lossless
        "a semicolon or full-width punctuation is read as the plain comma, colon or bracket"
        r#"{"a": 1; "b": 2}"# r#"{"a": 1, "b": 2}"#;
    MissingColon "missing-colon" Lossless
        "a colon is put between a key and its value"
        r#"{"a" 1}"# r#"{"a": 1}"#;
    WrongColon "wrong-colon" Lossless
        "an equals sign or arrow after a key is read as a colon"
        r#"{"a" => 1}"# r#"{"a" : 1}"#;
    MissingCloser "missing-closer" Lossless
        "a closing bracket is added; after a value that runs into the end this is a guess"
        r#"{"xs": [4, 5}"# r#"{"xs": [4, 5]}"#;
    ExtraCloser "extra-closer" Lossless
        "a closing bracket that closes nothing is dropped"
        r#"{"a": "b"}}"# r#"{"a": "b"}"#;
    WrongCloser "wrong-closer" Lossless
        "a closing bracket of the wrong kind is replaced by the right one"
        r#"{"a": 1]"# r#"{"a": 1}"#;
    WrongOpener "wrong-opener" Lossless
        "bare members in parentheses are read as an object"
        r#"(q:"tide")"# r#"{"q":"tide"}"#;
    MissingOpener "missing-opener" Guess
        "an opening bracket is added before a key that nothing holds"
        r#""a": 1, "b": 2}"# r#"{"a": 1, "b": 2}"#;
    ExtraOpener "extra-opener" Guess
        "an opening bracket where none can stand is dropped"
        r#"{{"a": 1}}"# r#"{"a": 1}"#;
    ExtraColon "extra-colon" Lossless
        "a second colon after a key is dropped"
        r#"{"a":: 1}"# r#"{"a": 1}"#;
    // ---- quotes ----
    SingleQuotes "single-quotes" Lossless
        "a string in single quotes gets double quotes"
        "{'who': 'Ann'}" r#"{"who": "Ann"}"#;
    BacktickQuotes "backtick-quotes" Lossless
        "a string in backticks gets double quotes; one that an accent closes is a guess"
        "{\"text\": `one\ntwo`}" r#"{"text": "one\ntwo"}"#;
    TypographicQuotes "typographic-quotes" Lossless
        "a string in typographic quotes gets double quotes"
        "{“who”: “Ann”}" r#"{"who": "Ann"}"#;
    TripleQuotes "triple-quotes" Lossless
        "a string in triple quotes gets double quotes"
        "{\"text\": \"\"\"one\ntwo\"\"\"}" r#"{"text": "one\ntwo"}"#;
    EscapedQuotes "escaped-quotes" Lossless
        "text that was escaped once too often is unescaped; beside strings with plain quotes this is a guess"
        r#"{\"a\": \"b\"}"# r#"{"a": "b"}"#;
    EntityQuotes "entity-quotes" Guess
        "a string between the quotes of HTML gets double quotes, and the entities in it become characters"
        r#"{&quot;n&quot;: 1}"# r#"{"n": 1}"#;
    MissingQuote "missing-quote" Lossless
        "the missing one of two quotes is added; for anything but a key's opening quote this is a guess"
        r#"{harbour": "Turku"}"# r#"{"harbour": "Turku"}"#;
    StringPrefix "string-prefix" Guess
        "the letters before a Python string are dropped"
        r#"{"re": r"\d"}"# r#"{"re": "\\d"}"#;
    UnquotedKey "unquoted-key" Lossless
        "a bare key gets quotes; a key that is no identifier is a guess"
        "{max-depth: 2}" r#"{"max-depth": 2}"#;
    UnquotedString "unquoted-string" Guess
        "a bare word or text becomes a string"
        r#"{"where": here and there}"# r#"{"where": "here and there"}"#;
    UnclosedString "unclosed-string" Guess
        "a string that runs into the end is closed there"
        r#"{"m": "par"# r#"{"m": "par"}"#;
    UnescapedQuote "unescaped-quote" Lossless
        "a quote that cannot end its string is escaped; where it could, or has no partner, this is a guess"
        r#"{"m": "He said "go" twice"}"# r#"{"m": "He said \"go\" twice"}"#;
    JoinedStrings "joined-strings" Guess
        "strings that are added together or stand side by side become one"
        r#"{"m": "a" + "b"}"# r#"{"m": "ab"}"#;
    SwappedQuote "swapped-quote" Guess
        "a quote on the wrong side of a comma, colon or bracket is moved"
        r#"{"room:" "hall"}"# r#"{"room": "hall"}"#;
    DoubledQuote "doubled-quote" Guess
        "of two quotes in a row one is dropped"
        r#"{""lamp"": ""on""}"# r#"{"lamp": "on"}"#;
    // ---- inside strings ----
    InvalidEscape "invalid-escape" Lossless
        "a backslash that escapes nothing stands for itself; before `x` or a backtick, and in what looks like a path, this is a guess"
        r#"{"re": "\d"}"# r#"{"re": "\\d"}"#;
    RawControlChar "raw-control-char" Lossless
        "a raw line break or other control character in a string is escaped; beside an escaped one it is a guess"
        "{\"t\": \"one\ntwo\"}" r#"{"t": "one\ntwo"}"#;
    LoneSurrogate "lone-surrogate" Guess
        "an escape of half a surrogate pair becomes U+FFFD"
        r#"{"t": "x\ud83d"}"# r#"{"t": "x\ufffd"}"#;
    // ---- scalars ----
    PythonLiteral "python-literal" Lossless
        "True, False and None become true, false and null"
        r#"{"a": True, "b": None}"# r#"{"a": true, "b": null}"#;
    JavascriptLiteral "javascript-literal" Lossless
        "undefined becomes null, and literals in capitals become small"
        r#"{"a": undefined}"# r#"{"a": null}"#;
    NonFinite "non-finite" Guess
        "NaN or an infinity, which JSON does not have, becomes null"
        r#"{"a": NaN}"# r#"{"a": null}"#;
    NumberFormat "number-format" Lossless
        "a number in a form that JSON does not have is rewritten with the same value"
        r#"{"a": +.5, "b": 1_000, "c": 0x1F}"# r#"{"a": 0.5, "b": 1000, "c": 31}"#;
    // ---- what JSON does not have ----
    Comment "comment" Lossless
        "a comment is dropped; one that holds a quote, or ends before the rest of its line, is a guess"
        "{\"a\": 1, // one\n\"b\": 2}" "{\"a\": 1, \n\"b\": 2}";
    Ellipsis "ellipsis" Guess
        "dots that stand for more values are dropped"
        r#"{"xs": [1, 2, ...]}"# r#"{"xs": [1, 2]}"#;
    OddSpace "odd-space" Lossless
        "a space that JSON does not know is dropped"
        "{\"a\":\u{a0}1}" r#"{"a":1}"#;
    StrayText "stray-text" Guess
        "a few characters that belong to nothing are dropped"
        r#"{"a": 1, x "b": 2}"# r#"{"a": 1,  "b": 2}"#;
    HalfMember "half-member" Guess
        "a key without its value, or half a word, at the end is dropped"
        r#"{"n": 1, "roo"# r#"{"n": 1}"#;
    Tuple "tuple" Lossless
        "a tuple or a set becomes an array; a single value in parentheses is a guess"
        r#"{"size": (640, 480)}"# r#"{"size": [640, 480]}"#;
    Wrapper "wrapper" Lossless
        "a function around a value is dropped; inside a value this is a guess"
        r#"callback({"a": 1});"# r#"{"a": 1}"#;
    // ---- around the value ----
    ByteOrderMark "byte-order-mark" Lossless
        "a byte order mark before the value is dropped"
        "\u{feff}{\"a\": 1}" r#"{"a": 1}"#;
    CodeFence "code-fence" Lossless
        "the code fence around the value is dropped; inside of brackets this is a guess"
        "```json\n{\"a\": 1}\n```" "{\"a\": 1}\n";
    Prose "prose" Lossless
        "words before or after the value are dropped; words with brackets or quotes after it are a guess"
        r#"Here you are: {"a": 1}"# r#"{"a": 1}"#;
    EmptyPlaceholder "empty-placeholder" Lossless
        "an empty object beside the real one is dropped"
        r#"{}{"a": 1}"# r#"{"a": 1}"#;
    RepeatedValue "repeated-value" Lossless
        "a value that was sent twice is kept once"
        r#"{"a": 1}{"a": 1}"# r#"{"a": 1}"#;
    ArgumentsInString "arguments-in-string" Lossless
        "a string that holds the whole object is unwrapped"
        r#""{\"a\": 1}""# r#"{"a": 1}"#;
    BlankArguments "blank-arguments" Lossless
        "blank or absent arguments of a complete call are read as no arguments, and so is an empty list"
        "" "{}";
    OtherValues "other-values" Lossless
        "of several values the only one that follows the schema is kept"
        "" "";
    DuplicateKey "duplicate-key" Guess
        "of a key that stands twice, the last value is kept"
        r#"{"a": 1, "a": 2}"# r#"{"a": 2}"#;
    // ---- the frame around the value: made outside of the reader, so there is no JSON to show ----
    MissingTag "missing-tag" Lossless
        "a closing tag that is missing after a complete value is taken as written"
        "" "";
    DoubledTag "doubled-tag" Lossless
        "a tag that stands twice counts once, and a closing tag that closes nothing does not count"
        "" "";
    RespelledMarker "respelled-marker" Lossless
        "a marker in other letters, bars or low lines is read as the one it can only be"
        "" "";
    ListForm "list-form" Lossless
        "calls stand in a list where the format writes single ones, or the other way round, or a comma is too many"
        "" "";
    AttributeForm "attribute-form" Lossless
        "attributes in another order or other quotes, or unknown to the format, are read all the same"
        "" "";
    JsonParameters "json-parameters" Lossless
        "the arguments are one JSON object where the format writes each by itself"
        "" "";
    MangledName "mangled-name" Lossless
        "a name that is doubled, glued to words of its format or in a known namespace is read as the one tool it can mean"
        "" "";
    RepeatedEnvelope "repeated-envelope" Lossless
        "arguments that repeat the whole call are unwrapped"
        "" "";
    ForeignMembers "foreign-members" Lossless
        "the name or the arguments of a call stand under a word of another format"
        "" "";
    ExtraWrapper "extra-wrapper" Lossless
        "arguments that stand once more under a word for arguments are unwrapped; under another word, and in a structured call, this is a guess"
        "" "";
}

/// How many repairs are listed one by one; further ones are counted.
const LISTED: usize = 256;

/// The repairs made so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Repairs {
    list: Vec<Repair>,
}

impl Repairs {
    pub(super) fn list(&self) -> &[Repair] {
        &self.list
    }

    /// How many bytes it has room for.
    pub(super) fn room(&self) -> usize {
        self.list.capacity() * size_of::<Repair>()
    }

    pub(super) fn into_list(self) -> Vec<Repair> {
        self.list
    }

    pub(super) fn clear(&mut self) {
        self.list.clear();
    }

    /// Takes back the last repairs of this kind that are about the input from here on.
    pub(super) fn take_back(&mut self, code: RepairCode, from: usize) {
        while self.list.pop_if(|last| last.code == code && last.span.start >= from).is_some() {}
    }

    /// Lists a repair. Neighbours of one kind are one repair, and a long list only counts.
    pub(super) fn add(&mut self, code: RepairCode, safety: Safety, span: Span) {
        if let Some(last) = self.list.last_mut()
            && last.code == code
            && last.safety == safety
            && !last.late
            && last.span.end == span.start
        {
            last.span.end = span.end;
            return;
        }
        self.add_apart(Repair { code, safety, span, late: false, count: 1 });
    }

    /// Lists a repair without joining it to its neighbour.
    pub(super) fn add_apart(&mut self, repair: Repair) {
        if self.list.len() >= LISTED {
            let alike = |listed: &&mut Repair| {
                listed.code == repair.code && listed.safety == repair.safety && listed.late == repair.late
            };
            if let Some(listed) = self.list.iter_mut().rev().find(alike) {
                listed.count += repair.count;
                return;
            }
        }
        self.list.push(repair);
    }
}
