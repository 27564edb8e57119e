//! HTML that is written safely: markup is part of this program, and everything else goes in as text.

use crate::visible::{Breaks, visible};

use super::STYLE;

/// Nothing from elsewhere, no script at all.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// A page being written. Names of elements and attributes are constants; whatever else there is, is escaped.
#[derive(Debug, Default)]
pub struct Html {
    out: String,
}

/// A part of a bar: how much, in which colour, and what it is called.
#[derive(Clone, Copy, Debug)]
pub struct Shade<'a> {
    /// The class of its colour.
    pub class: &'static str,
    /// What it counts.
    pub name: &'a str,
    /// How much of it there is.
    pub count: u64,
}

/// A whole page with this title and body.
pub fn document(title: &str, body: impl FnOnce(&mut Html)) -> String {
    let mut html = Html::default();
    html.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    html.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", POLICY)]);
    html.raw("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.raw("<meta name=\"referrer\" content=\"no-referrer\">\n");
    html.element("title", &[], title);
    html.raw("\n<style>\n");
    html.raw(STYLE);
    html.raw("</style>\n</head>\n<body class=\"report\">\n");
    body(&mut html);
    html.raw("\n</body>\n</html>\n");
    html.out
}

impl Html {
    /// Begins an element.
    pub fn open(&mut self, tag: &'static str, attributes: &[(&'static str, &str)]) {
        self.out.push('<');
        self.out.push_str(tag);
        for (name, value) in attributes {
            self.out.push(' ');
            self.out.push_str(name);
            self.out.push_str("=\"");
            self.escaped(&visible(value, Breaks::Keep));
            self.out.push('"');
        }
        self.out.push('>');
    }

    /// Ends an element.
    pub fn close(&mut self, tag: &'static str) {
        self.out.push_str("</");
        self.out.push_str(tag);
        self.out.push('>');
    }

    /// Text. Characters that nobody sees, or that turn the text around, are written out.
    pub fn text(&mut self, text: &str) {
        self.escaped(&visible(text, Breaks::Keep));
    }

    /// An element that holds only text.
    pub fn element(&mut self, tag: &'static str, attributes: &[(&'static str, &str)], text: &str) {
        self.open(tag, attributes);
        self.text(text);
        self.close(tag);
    }

    /// An element with others inside.
    pub fn within(
        &mut self,
        tag: &'static str,
        attributes: &[(&'static str, &str)],
        inside: impl FnOnce(&mut Html),
    ) {
        self.open(tag, attributes);
        inside(self);
        self.close(tag);
        self.out.push('\n');
    }

    /// A bar whose parts are as wide as their counts. It says its counts to those who do not see it.
    pub fn bar(&mut self, shades: &[Shade<'_>], most: u64) {
        let total: u64 = shades.iter().map(|shade| shade.count).sum();
        let said = shades.iter().filter(|shade| shade.count > 0);
        let said: Vec<String> = said.map(|shade| format!("{} {}", shade.count, shade.name)).collect();
        let said = said.join(", ");
        let size = format!("width: {:.2}%", share(total, most) * 100.0);
        self.within(
            "div",
            &[("class", "bar"), ("role", "img"), ("aria-label", &said), ("title", &said)],
            |html| {
                html.open("div", &[("style", &size)]);
                for shade in shades.iter().filter(|shade| shade.count > 0) {
                    let grow = format!("flex: {} 1 0", shade.count);
                    html.element("i", &[("class", shade.class), ("style", &grow)], "");
                }
                html.close("div");
            },
        );
    }

    /// What has been written.
    pub fn into_string(self) -> String {
        self.out
    }

    fn escaped(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' => self.out.push_str("&quot;"),
                '\'' => self.out.push_str("&#39;"),
                c => self.out.push(c),
            }
        }
    }

    fn raw(&mut self, markup: &'static str) {
        self.out.push_str(markup);
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
