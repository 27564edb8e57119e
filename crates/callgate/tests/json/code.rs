//! Values as Python writes them: each is what Python says, and whatever computes one is refused where it stands.

use callgate::internal::json::{End, Reader, Syntax};
use serde_json::{Value, json};

use crate::read;

/// The same value in a list, a dictionary and a call, alone and before others.
fn places(value: &str) -> [(Syntax, String); 5] {
    [
        (Syntax::Kwargs, format!("a={value})")),
        (Syntax::Kwargs, format!("a={value}, b=\"x\", c=1)")),
        (Syntax::Kwargs, format!("a=[{value}, 2], b={{'k': 1}})")),
        (Syntax::Python, format!("[{value}, \"y\"]")),
        (Syntax::Python, format!("{{'k': {value}, 'l': 'z'}}")),
    ]
}

fn is_refused(value: &str) {
    for (syntax, text) in places(value) {
        let seen = read(&Reader::new(syntax), &text);
        assert_eq!(seen.end, End::Failed, "{text:?} {seen:?}");
    }
}

const STRINGS: [&str; 7] = ["\"a\"", "'a b '", "\"\"", "'''a\n'''", "r\"\\d\"", "u'é'", "\"a # b, c=\""];

const PREFIXES: [&str; 8] = ["f", "F", "rf", "fR", "r", "b", "u", "Rb"];

const OPERATORS: [&str; 24] = [
    "-",
    "*",
    "/ ",
    "//",
    "%",
    "**",
    "@",
    "&",
    "|",
    "^",
    "<<",
    "<",
    ">=",
    "==",
    "!=",
    " or ",
    " and ",
    " in ",
    " not in ",
    " is ",
    " is not ",
    " if x else ",
    "or ",
    "in ",
];

/// White space between two tokens.
const SPACES: [&str; 4] = ["", " ", " \\\n", " # c\n"];

#[test]
fn whatever_computes_a_value_is_refused() {
    let operands = ["x", "\"b\"", "f\"{x}\"", "r'b'", "3", "[1]", "{'k': 1}", "(x)", "-x", "x.y", "not x"];
    let others = ["3", "1.5", "[1, 2]", "{'k': 1}", "True"];
    for (index, first) in STRINGS.iter().chain(&others).enumerate() {
        for (turn, operator) in OPERATORS.iter().enumerate() {
            for (step, space) in SPACES.iter().enumerate() {
                if *first == "True" && space.is_empty() && operator.starts_with(char::is_alphabetic) {
                    // Another name.
                    continue;
                }
                // Each operand meets each operator, but not with each of the spaces.
                let operand = operands[(index + turn + step) % operands.len()];
                is_refused(&format!("{first}{space}{operator}{space}{operand}"));
            }
        }
        for behind in [".upper()", " [0]", "[1:2]", "[::2]", " for x in y", " + x", " + f\"{x}\""] {
            is_refused(&format!("{first}{behind}"));
        }
        for before in ["-x + ", "not ", "x + ", "f(", "x or ", "~", "lambda: ", "await ", "str("] {
            let closer = if before.ends_with('(') { ")" } else { "" };
            is_refused(&format!("{before}{first}{closer}"));
        }
    }
    for value in
        ["3j", "1+2j", "--1", "~1", "x if y else z", "x1>> 0", "a+b", "a & b", "x[0]", "1if x else 2"]
    {
        is_refused(value);
    }
}

#[test]
fn a_string_beside_one_with_letters_is_refused() {
    for first in STRINGS {
        for prefix in PREFIXES {
            for space in ["", " ", "\n", "\\\n", "  # c\n"] {
                is_refused(&format!("{first}{space}{prefix}\"{{x}}\""));
                is_refused(&format!("{first}{space}{prefix}'b' \"c\""));
            }
        }
        // Python joins what touches, and a writer may have meant one string with quotes in it.
        for touching in ["'b'", "\"b\"", "'b' 'c'", "#c\n"] {
            let joins = format!("{first}{touching}");
            // Three quotes in a row are another kind of string.
            if !joins.contains("\"\"\"") && !joins.contains("''''") {
                is_refused(&joins);
            }
        }
    }
    for (text, is_text) in [("{x}", false), ("}}", false), ("{{", false), ("ab", true)] {
        let seen = read(&Reader::new(Syntax::Kwargs), &format!("a=f\"{text}\")"));
        assert_eq!(seen.end != End::Failed, is_text, "{text} {seen:?}");
    }
}

#[test]
fn strings_are_read_as_python_does() {
    let is_value = |value: &str, expected: Value| {
        for ((syntax, text), place) in places(value).into_iter().zip(["/a", "/a", "/a/0", "/0", "/k"]) {
            let seen = read(&Reader::new(syntax), &text);
            assert!(seen.end != End::Failed && !seen.guessed(), "{text:?} {seen:?}");
            assert_eq!(seen.value().pointer(place), Some(&expected), "{text:?}");
        }
    };
    for space in [" ", "\n", "\\\n", " \\\n  ", "\\\r\n", "\n  \\\n"] {
        is_value(&format!("'a'{space}'b'"), json!("ab"));
        is_value(&format!("\"a\"{space}'b'{space}\"c\""), json!("abc"));
        is_value(&format!("r'\\n'{space}'\\n'"), json!("\\n\n"));
    }
    for (text, value) in [
        (r#"r"a\\""#, json!(r"a\\")),
        (r#"r"\\\"""#, json!(r#"\\\""#)),
        (r"r'\d\\'", json!(r"\d\\")),
        (r#""a\`b""#, json!(r"a\`b")),
        (r"'\`\$'", json!(r"\`\$")),
        ("'a\\\nb'", json!("ab")),
        ("'a\\\r\nb'", json!("ab")),
        ("[1, \\\n 2]", json!([1, 2])),
        ("{'k': \\\n 2}", json!({"k": 2})),
        ("[1 \\\n, 2 # c\n]", json!([1, 2])),
        ("-0x1F", json!(-31)),
        ("1_000", json!(1000)),
    ] {
        is_value(text, value);
    }
}

#[test]
fn keys_that_are_computed_are_refused() {
    for key in ["'a' + 'b'", "'a' 'b'", "'a' f'b'", "f'{x}'", "'a'[0]", "x + 1", "not x", "lambda", "'a' % x"]
    {
        for text in [format!("{{{key}: 1}}"), format!("{{{key}: 'x', 'k': 'y'}}")] {
            let seen = read(&Reader::new(Syntax::Python), &text);
            assert_eq!(seen.end, End::Failed, "{text:?} {seen:?}");
        }
    }
}

#[test]
fn two_slashes_divide_in_code_and_begin_a_comment_in_json() {
    for value in ["10 // 3\n", "10//3", "\"a\" // b\n", "[1] // 2\n", "x // y\n", "True // 2\n"] {
        is_refused(value);
    }
    let seen = read(&Reader::new(Syntax::Json), "{\"n\": 10 // 3\n}");
    assert!(seen.value() == json!({"n": 10}) && !seen.guessed(), "{seen:?}");
    for comment in ["# 3\n", " # it's\n"] {
        let seen = read(&Reader::new(Syntax::Kwargs), &format!("n=10 {comment})"));
        assert!(seen.value() == json!({"n": 10}) && !seen.guessed(), "{seen:?}");
    }
}

#[test]
fn text_with_quotes_is_still_text() {
    for (text, value) in [
        ("\"He said \"go\" twice\"", json!("He said \"go\" twice")),
        ("\"say \"yes\" or \"no\"\"", json!("say \"yes\" or \"no\"")),
        ("'it's'", json!("it's")),
        ("\"ls \"/\" -la\"", json!("ls \"/\" -la")),
        ("\"<a href=\"/x/\">\"", json!("<a href=\"/x/\">")),
    ] {
        let seen = read(&Reader::new(Syntax::Kwargs), &format!("a={text}, b=1)"));
        assert!(seen.end != End::Failed, "{text} {seen:?}");
        assert_eq!(seen.value(), json!({"a": value, "b": 1}), "{text}");
    }
}

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
