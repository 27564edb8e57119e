//! Blocks of HTML: how they begin and how they end. Nothing in them is Markdown, so a fence in one is none.

/// The elements that begin a block which ends at an empty line.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "base",
    "basefont",
    "blockquote",
    "body",
    "caption",
    "center",
    "col",
    "colgroup",
    "dd",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "frame",
    "frameset",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "iframe",
    "legend",
    "li",
    "link",
    "main",
    "menu",
    "menuitem",
    "nav",
    "noframes",
    "ol",
    "optgroup",
    "option",
    "p",
    "param",
    "search",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "title",
    "tr",
    "track",
    "ul",
];

/// The elements whose text is no Markdown up to the end of any of them.
const RAW: &[&str] = &["pre", "script", "style", "textarea"];

/// The longest start of a line that is kept to see whether it is a tag, in bytes.
const LONGEST: usize = 4096;

/// Whether something that matters can begin with `<` and this byte.
pub(super) fn may_begin(next: u8) -> bool {
    next.is_ascii_alphabetic() || matches!(next, b'/' | b'!' | b'?')
}

/// How a block of HTML ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Html {
    /// With the line that holds an end.
    Until(HtmlEnd),
    /// At an empty line.
    Blank,
}

/// What ends a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The closing tag of an element of raw text.
    RawTag,
    /// This literal.
    Literal(&'static str),
}

/// The search for the end of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HtmlEnd {
    ending: Ending,
    /// The last bytes, in lower case.
    recent: [u8; 11],
    come: bool,
}

impl HtmlEnd {
    fn new(ending: Ending, start: &str) -> Self {
        let mut end = HtmlEnd { ending, recent: [0; 11], come: false };
        for c in start.chars() {
            end.read(c);
        }
        end
    }

    /// Whether it has come.
    pub(super) fn has_come(&self) -> bool {
        self.come
    }

    pub(super) fn read(&mut self, c: char) {
        self.recent.rotate_left(1);
        self.recent[10] = if c.is_ascii() { (c as u8).to_ascii_lowercase() } else { 0 };
        self.come |= match self.ending {
            Ending::Literal(literal) => self.recent.ends_with(literal.as_bytes()),
            Ending::RawTag => {
                let tag = self.recent.strip_suffix(b">").unwrap_or_default();
                RAW.iter().any(|name| {
                    tag.strip_suffix(name.as_bytes()).is_some_and(|before| before.ends_with(b"</"))
                })
            }
        };
    }
}

/// The start of a line that begins with `<`.
#[derive(Clone, Debug)]
pub(super) struct Head {
    text: String,
    /// Whether the line does not go on with a paragraph, so that any tag alone on it begins a block.
    alone: bool,
    /// Whether its name has been looked at.
    named: bool,
}

impl Head {
    pub(super) fn new(alone: bool) -> Self {
        Head { text: String::new(), alone, named: false }
    }

    /// Reads a character. Says, once that is clear, whether the line begins a block by how it starts.
    pub(super) fn read(&mut self, c: char) -> Option<Option<Html>> {
        self.text.push(c);
        if self.named {
            return (self.text.len() > LONGEST).then_some(None);
        }
        let found = start(&self.text);
        self.named = found.is_some();
        found
    }

    /// Whether a tag that is alone on its line would begin a block.
    pub(super) fn may_be_tag(&self) -> bool {
        self.alone && self.text.len() <= LONGEST
    }

    /// The line is over: how the block ends that it begins.
    pub(super) fn end(&self) -> Option<Html> {
        if !self.named
            && let Some(found) = start(&format!("{}\n", self.text))
        {
            return found;
        }
        let is_alone = self.alone && is_tag(self.text.trim_end_matches([' ', '\t']));
        is_alone.then_some(Html::Blank)
    }
}

/// How the block ends that begins like this, `Some(None)` if none does, and nothing while that is open.
fn start(text: &str) -> Option<Option<Html>> {
    let until = |ending| Some(Some(Html::Until(HtmlEnd::new(ending, text))));
    let rest = &text[1..];
    if rest.is_empty() {
        return None;
    }
    if rest.starts_with('?') {
        return until(Ending::Literal("?>"));
    }
    if let Some(declared) = rest.strip_prefix('!') {
        return match declared {
            _ if declared.starts_with("--") => until(Ending::Literal("-->")),
            _ if declared.starts_with("[CDATA[") => until(Ending::Literal("]]>")),
            _ if declared.starts_with(|c: char| c.is_ascii_alphabetic()) => until(Ending::Literal(">")),
            _ if "--".starts_with(declared) || "[CDATA[".starts_with(declared) => None,
            _ => Some(None),
        };
    }
    let (name, closes) = match rest.strip_prefix('/') {
        Some(name) => (name, true),
        None => (rest, false),
    };
    let length = name.bytes().take_while(u8::is_ascii_alphanumeric).count();
    if length == name.len() {
        return (length > 10).then_some(None);
    }
    let (name, after) = name.split_at(length);
    let name = name.to_ascii_lowercase();
    let ends_name = after.starts_with([' ', '\t', '\n', '>']);
    if RAW.contains(&name.as_str()) && !closes && ends_name {
        return until(Ending::RawTag);
    }
    if BLOCKS.contains(&name.as_str()) {
        if ends_name || after.starts_with("/>") {
            return Some(Some(Html::Blank));
        }
        if after == "/" {
            return None;
        }
    }
    Some(None)
}

/// Whether a text is exactly one opening or closing tag.
fn is_tag(text: &str) -> bool {
    let Some(inner) = text.strip_prefix('<').and_then(|inner| inner.strip_suffix('>')) else { return false };
    let (inner, closes) = match inner.strip_prefix('/') {
        Some(inner) => (inner, true),
        None => (inner, false),
    };
    let length = inner.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'-').count();
    if !inner.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return false;
    }
    let mut rest = &inner[length..];
    if closes {
        return rest.trim_matches([' ', '\t']).is_empty();
    }
    loop {
        let trimmed = rest.trim_start_matches([' ', '\t']);
        if trimmed.is_empty() || trimmed == "/" {
            return true;
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':' | '.' | '-');
        if trimmed.len() == rest.len()
            || !trimmed.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | ':'))
        {
            return false;
        }
        rest = trimmed.trim_start_matches(is_name);
        let Some(value) = rest.trim_start_matches([' ', '\t']).strip_prefix('=') else { continue };
        let value = value.trim_start_matches([' ', '\t']);
        rest = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => match value[1..].find(quote) {
                Some(at) => &value[at + 2..],
                None => return false,
            },
            _ => {
                let bare = |c: char| !matches!(c, ' ' | '\t' | '"' | '\'' | '=' | '<' | '>' | '`');
                let after = value.trim_start_matches(bare);
                if after.len() == value.len() {
                    return false;
                }
                after
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_told_from_what_looks_like_them() {
        for tag in ["<a>", "</a >", "<a b>", "<a b=c>", "<a b='>' c=\"x\" />", "<a-1 _x:y.z = 1>"] {
            assert!(is_tag(tag), "{tag}");
        }
        for text in ["<a", "< a>", "<1>", "<a b='x'c>", "<a b=>", "<a =1>", "</a b>", "<a b=`>", "<a> x>"] {
            assert!(!is_tag(text), "{text}");
        }
    }

    #[test]
    fn blocks_begin_by_their_names() {
        let kind = |text: &str| start(text).map(|html| html.is_some());
        assert_eq!(kind("<d"), None);
        assert_eq!(kind("<div "), Some(true));
        assert_eq!(kind("<divx "), Some(false));
        assert_eq!(kind("<br/"), Some(false));
        assert_eq!(kind("</p>"), Some(true));
        assert_eq!(kind("</pre>"), Some(false));
        assert_eq!(kind("<!-"), None);
        assert_eq!(kind("<!--"), Some(true));
        assert_eq!(kind("<!1"), Some(false));
        assert!(matches!(start("<!-->"), Some(Some(Html::Until(end))) if end.has_come()));
    }
}
