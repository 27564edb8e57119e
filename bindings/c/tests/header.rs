//! The header says what the border says, function by function. cbindgen writes it; this needs no cbindgen.

/// A function: what is said about it, and its declaration in C, with white space made plain.
type Declared = (String, String);

fn plain(text: &str) -> String {
    text.replace('*', " * ")
        .replace('(', " ( ")
        .replace(')', " ) ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// What stands in front of a line as its comment.
fn said(lines: &[&str], at: usize, sign: &str) -> String {
    let before = lines[..at].iter().rev().skip_while(|line| line.starts_with("#["));
    let mut about: Vec<&str> = before.map_while(|line| line.strip_prefix(sign)).map(str::trim).collect();
    about.reverse();
    about.join("\n")
}

fn in_c(kind: &str) -> String {
    match kind.trim() {
        "usize" => "size_t".to_owned(),
        "callgate_status" => "enum callgate_status".to_owned(),
        "*const c_char" => "const char *".to_owned(),
        kind => {
            kind.strip_prefix("*mut ").map_or(kind.to_owned(), |inner| match inner.strip_prefix("*mut ") {
                Some(inner) => format!("struct {inner} **"),
                None => format!("struct {inner} *"),
            })
        }
    }
}

/// The functions of the border, as C has to declare them.
fn of_border() -> Vec<Declared> {
    let source = include_str!("../src/border.rs");
    let lines: Vec<&str> = source.lines().collect();
    let starts = lines.iter().enumerate().filter(|(_, line)| line.contains("extern \"C\" fn callgate_"));
    starts
        .map(|(at, _)| {
            let rest = lines[at..].join(" ");
            let (_, rest) = rest.split_once(" fn ").unwrap_or_default();
            let (signature, _) = rest.split_once(" {").unwrap_or_default();
            let (name, rest) = signature.split_once('(').unwrap_or_default();
            let (given, back) = rest.rsplit_once(')').unwrap_or_default();
            let given: Vec<String> = given
                .split(',')
                .filter_map(|one| one.split_once(':'))
                .map(|(name, kind)| format!("{} {}", in_c(kind), name.trim()))
                .collect();
            let given = if given.is_empty() { "void".to_owned() } else { given.join(", ") };
            let back = back.trim().strip_prefix("->").map_or("void".to_owned(), in_c);
            (said(&lines, at, "///"), plain(&format!("{back} {name}({given})")))
        })
        .collect()
}

/// The functions that the header declares.
fn of_header() -> Vec<Declared> {
    let header = include_str!("../include/callgate.h");
    let lines: Vec<&str> = header.lines().collect();
    let is_declared =
        |line: &str| !line.starts_with([' ', '/']) && line.contains('(') && line.contains("callgate_");
    lines
        .iter()
        .enumerate()
        .filter(|(_, line)| is_declared(line))
        .map(|(at, _)| {
            let rest = lines[at..].join(" ");
            let (declaration, _) = rest.split_once(';').unwrap_or_default();
            (said(&lines, at, "//"), plain(declaration))
        })
        .collect()
}

#[test]
fn the_header_declares_the_functions_of_the_border() {
    let (border, header) = (of_border(), of_header());
    assert!(border.len() >= 13, "only {} functions were found", border.len());
    for (said, declared) in &border {
        assert!(!said.is_empty(), "{declared} says nothing");
    }
    assert_eq!(border, header, "UPDATE=1 scripts/c writes the header anew");
}
