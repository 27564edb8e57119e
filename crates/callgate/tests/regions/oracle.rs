//! The oracle: where CommonMark says that a call stands, asked of a parser that is not ours.

use comrak::nodes::{AstNode, NodeValue};
use comrak::{Arena, Options, parse_document};

use super::documents::Document;

/// What a call stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Region {
    /// Running text, whatever its block: a paragraph, a heading, a list item, HTML.
    Text,
    /// A block of code made by indentation.
    Indented,
    /// A fence.
    Fence,
    /// The opening line of a fence.
    Info,
    /// Inline code.
    Span,
    /// A quotation, and everything in it.
    Quote,
}

/// A word in the place of a call: letters that mean nothing to Markdown, so that a call is opaque text.
pub(crate) fn placeholder(number: usize) -> String {
    format!("zq{}qz", ["zero", "one", "two", "three", "four"][number])
}

/// The region of each call of a document, in the order of the document. A call that is made is opaque; one that is shown
/// is text like any other, so where earlier calls are shown the document is read again with them in it as they are
/// written. Where the two readings of a call differ, it has no region.
pub(crate) fn regions(
    document: &Document,
    written: impl Fn(usize) -> String,
    is_shown: impl Fn(Region) -> bool,
) -> Vec<Option<Region>> {
    let opaque = read(document, placeholder);
    let shown: Vec<usize> =
        opaque.iter().filter(|(_, region)| is_shown(*region)).map(|(number, _)| *number).collect();
    let as_written = read(document, |number| {
        let placeholder = placeholder(number);
        if shown.contains(&number) {
            written(number).replace(&marker(number), &placeholder)
        } else {
            placeholder
        }
    });
    opaque.iter().zip(as_written).map(|((_, one), (_, two))| (*one == two).then_some(two)).collect()
}

/// What a written call is told by.
pub(crate) fn marker(number: usize) -> String {
    format!("k{number}")
}

fn read(document: &Document, fill: impl Fn(usize) -> String) -> Vec<(usize, Region)> {
    let (text, places) = document.filled(fill);
    // The mark of the byte order is no part of a document.
    let source = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let arena = Arena::new();
    let root = parse_document(&arena, source, &Options::default());
    let nodes: Vec<_> =
        root.descendants().flat_map(|node| shown(node).into_iter().map(move |shown| (shown, node))).collect();
    let region_of = |number: usize| {
        let word = placeholder(number);
        let found = nodes.iter().find(|((shown, _), _)| shown.contains(&word));
        // What is shown nowhere, as the target of a link, is text.
        found
            .map_or(Region::Text, |((_, region), node)| if is_quoted(node) { Region::Quote } else { *region })
    };
    places.iter().map(|(number, _, _)| (*number, region_of(*number))).collect()
}

/// The texts of a node that holds text, and what they are.
fn shown<'a>(node: &'a AstNode<'a>) -> Vec<(String, Region)> {
    match &node.data.borrow().value {
        NodeValue::Text(text) => vec![(text.to_string(), Region::Text)],
        NodeValue::HtmlInline(html) => vec![(html.clone(), Region::Text)],
        NodeValue::HtmlBlock(html) => vec![(html.literal.clone(), Region::Text)],
        NodeValue::Code(code) => vec![(code.literal.clone(), Region::Span)],
        NodeValue::CodeBlock(code) => {
            let region = if code.fenced { Region::Fence } else { Region::Indented };
            vec![(code.info.clone(), Region::Info), (code.literal.clone(), region)]
        }
        _ => Vec::new(),
    }
}

fn is_quoted<'a>(node: &'a AstNode<'a>) -> bool {
    node.ancestors().any(|above| matches!(above.data.borrow().value, NodeValue::BlockQuote))
}
