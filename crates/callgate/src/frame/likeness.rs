//! Likeness: whether a word stands in text as the name of a tool stands in a call, by the punctuation beside it.

use super::labels::{before_label, is_labelled, speaks_of_arguments, speaks_of_calls};
use crate::attempt::ARGUING;
use crate::bytes::LEFT_OVER;
use crate::dialect::turn::is_token;
use crate::draft::members::{ENVELOPE, NAMING};
use crate::registry::{NAMESPACES, Registry};

/// How much text before a name is looked at.
pub(super) const LOOK_BACK: usize = 128;

/// How much text after a name is looked at.
pub(super) const LOOK_AHEAD: usize = 96;

/// The members that name a tool in JSON bodies.
const NAME_KEYS: &[&str] = &[
    "name",
    "tool",
    "tool_name",
    "function",
    "function_name",
    "action",
    "func",
    "recipient_name",
    "type",
    "op",
];

/// Words of which one stands in a tag around a tool's name.
pub(super) const NAME_WORDS: &[&str] = &["tool", "call", "func", "invoke", "name", "action", "plugin", "tag"];

/// The quotes of attributes, typographic ones included.
const QUOTES: [char; 4] = ['"', '\'', '“', '”'];

/// What stands before a name where a function is declared or something else is done with it.
const DECLARING: &[&str] = &["def", "fn", "func", "function", "return", "class", "await", "async", "import"];

/// Whether a character can be a part of a tool's name.
pub(super) fn is_name_character(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// The tool that a word names, by itself, behind a namespace or before a method; what belongs to it; and whether it is by
/// itself, or in a namespace that every tool is in. A name may be in other letters if it has several words, since one word
/// is a word of any text; or any if names are the markers.
pub(super) fn named<'w>(
    registry: &Registry,
    word: &'w str,
    are_markers: bool,
) -> Option<(&'w str, &'w str, bool)> {
    let whole = word;
    let word = word.trim_matches(['.', '-']);
    if registry.get(word).is_some() {
        return Some((word, word, true));
    }
    let last = word.rsplit_once('.').map(|(outer, last)| {
        let is_shared = NAMESPACES.iter().any(|namespace| namespace.strip_suffix('.') == Some(outer));
        (last, is_shared.then_some(word), is_shared)
    });
    // Text in a script without spaces may touch the name.
    let ascii = word.rfind(|c: char| !c.is_ascii()).and_then(|at| {
        let next = word[at..].chars().next()?.len_utf8();
        Some((&word[at + next..], None, true))
    });
    let first = word.rsplit_once('.').map(|(first, _)| (first, None, false));
    let part = last.into_iter().chain(ascii).chain(first).find(|(name, ..)| registry.get(name).is_some());
    // A namespace belongs to the name, not to what stands before it.
    let part =
        part.map(|(name, outer, alone)| (name, outer.unwrap_or(if alone { name } else { whole }), alone));
    part.or_else(|| {
        let meant = registry.respelled(word)?;
        (are_markers || has_several_words(&meant.tool.name)).then_some((word, word, true))
    })
}

/// Whether a name is more than one word: `get_weather`, `getWeather`.
pub(super) fn has_several_words(name: &str) -> bool {
    let mut inner = name.chars().skip(1);
    name.contains(['_', '-', '.', ' ']) || inner.any(char::is_uppercase) && name.contains(char::is_lowercase)
}

/// Whether a tag in which the first tag is a parameter begins here, as in a format whose tags are the names of tools.
pub(super) fn is_call_element(registry: &Registry, text: &str) -> bool {
    let tag = |text: &str| {
        let inside = text.strip_prefix('<')?;
        let rest = inside.trim_start_matches(is_name_character);
        let word = &inside[..inside.len() - rest.len()];
        Some((word.to_owned(), rest.strip_prefix('>')?.trim_start().to_owned()))
    };
    let Some((name, rest)) = tag(text) else { return false };
    let Some((key, _)) = tag(&rest) else { return false };
    !name.is_empty() && registry.all_compiled().any(|tool| tool.has_key(&key))
}

/// Whether the name of a tool between these texts is that of a call. The texts may be cut at their far ends.
pub(super) fn is_called(before: &str, after: &str, alone: bool) -> bool {
    // White space as a tokenizer shows it is still that.
    let before = before.trim_end_matches(LEFT_OVER);
    if before.ends_with('\\') || before.ends_with("\\\"") {
        // JSON that was escaped once too often.
        return is_member(&before.replace('\\', ""), &after.replace('\\', ""));
    }
    is_member(before, after)
        || is_key(before, after)
        || is_tag(before, after)
        || is_recipient(before, after)
        || is_shown_object(before, after)
        || is_behind_marker(before, after)
        || is_labelled(before, after)
        || before_label(before, after)
        || before_object(before, after)
        || before_markup(before, after)
        || before_token(before, after)
        || alone && is_applied(before, after)
}

/// Whether an object of a call begins like this, whoever it calls: a name, and then arguments.
pub(super) fn is_call_object(text: &str) -> bool {
    let plain = if text.starts_with("{\\") { text.replace('\\', "") } else { text.to_owned() };
    let Some(mut rest) = plain.strip_prefix('{') else { return false };
    let mut is_named = false;
    while let Some((key, value)) = member(rest) {
        let key = key.to_ascii_lowercase();
        if is_named && ARGUING.contains(&&*key) {
            return is_arguments(value);
        }
        let Some((word, next)) = quoted(value) else { return false };
        let is_name = !word.is_empty() && word.len() <= 64 && word.chars().all(is_name_character);
        if !is_named && NAMING.contains(&&*key) && is_name {
            is_named = true;
        } else if !ENVELOPE.contains(&&*key) {
            return false;
        }
        let Some(next) = next.trim_start().strip_prefix(',') else { return false };
        rest = next;
    }
    false
}

/// Whether the first member of an object here is one for arguments.
pub(super) fn begins_with_arguments(text: &str) -> bool {
    let first = text.strip_prefix('{').and_then(member);
    first.is_some_and(|(key, value)| ARGUING.contains(&&*key.to_ascii_lowercase()) && is_arguments(value))
}

/// Whether the last member of an object that ends here is one that names a tool.
pub(super) fn ends_with_name(text: &str) -> bool {
    let last = text.trim_end_matches(['}', ' ', '\n', '\r']).rsplit_once(',').map(|(_, last)| last);
    last.and_then(member).is_some_and(|(key, value)| {
        let name = quoted(value).filter(|(_, rest)| rest.is_empty()).map(|(name, _)| name.trim());
        let is_name = |name: &str| name.contains(is_name_character) && !name.contains(' ');
        NAMING.contains(&&*key.to_ascii_lowercase()) && name.is_some_and(is_name)
    })
}

/// Whether arguments begin here, and not the schema that describes them.
fn is_arguments(value: &str) -> bool {
    let value = value.strip_prefix(['"', '\'']).unwrap_or(value);
    value.starts_with('{') && !value[1..].trim_start().starts_with("\"type\"")
}

/// The key of the member that comes next, and its value with what follows.
fn member(text: &str) -> Option<(&str, &str)> {
    let (key, rest) = quoted(text.trim_start())?;
    Some((key, after_colon(rest)?))
}

/// What stands in quotes, and what follows them.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    text[1..].split_once(quote)
}

/// What follows a colon.
fn after_colon(text: &str) -> Option<&str> {
    text.trim_start().strip_prefix(':').map(str::trim_start)
}

/// `{"name": "X"`: a member whose key names tools. One with a description beside it is a definition. Where arguments are the
/// next member, the key and the brace before it may be lost or bent.
pub(super) fn is_member(before: &str, after: &str) -> bool {
    let begins = before.ends_with(QUOTES) || before.trim_end().ends_with(':');
    if begins && before_member_of_arguments(after) {
        return true;
    }
    let after = without_suffix(after);
    let (Some(quote), Some(end)) = (before.chars().next_back(), after.chars().next()) else { return false };
    if !matches!(quote, '"' | '\'') || quote != end {
        return false;
    }
    let key = before[..before.len() - 1].trim_end().strip_suffix(':').map(str::trim_end);
    let Some(key) = key.and_then(|key| key.strip_suffix(['"', '\''])) else { return false };
    let Some((outer, key)) = key.rsplit_once(['"', '\'']) else { return false };
    let is_defined = after[1..]
        .trim_start()
        .strip_prefix(',')
        .is_some_and(|next| next.trim_start().trim_start_matches(['"', '\'']).starts_with("description"))
        && !after.contains("\"arguments\"");
    NAME_KEYS.contains(&&*key.to_ascii_lowercase()) && outer.trim_end().ends_with(['{', ',']) && !is_defined
}

/// What follows a name in quotes, without the brackets or the index that belong to the call.
fn without_suffix(after: &str) -> &str {
    let rest = after.strip_prefix("()").unwrap_or(after);
    let rest =
        rest.strip_prefix(':').map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    if rest.starts_with(['"', '\'']) { rest } else { after }
}

/// `", "arguments": {`: the end of a value, whatever its quotes are and wherever the comma stands, and arguments as the next
/// member.
fn before_member_of_arguments(after: &str) -> bool {
    let rest = after.trim_start_matches(QUOTES).trim_start_matches([' ', '[', ']']);
    let next = rest
        .strip_prefix(',')
        .and_then(|rest| member(rest).or_else(|| rest.strip_prefix('"').and_then(member)));
    next.is_some_and(|(key, value)| {
        let value = value.strip_prefix(['"', '\'']).unwrap_or(value);
        // A schema is described there, not called.
        let is_schema = value.get(1..).is_some_and(|value| value.trim_start().starts_with("\"type\""));
        ARGUING.contains(&&*key.to_ascii_lowercase()) && value.starts_with('{') && !is_schema
    })
}

/// `<X>`, `<function=X>`, `<invoke name="X">`, `[Calling tool="X"]`: a tag that is the name, or has it as a value. Any document
/// has attributes, so that the tag has to speak of calls there, or the attribute and the tag behind it.
fn is_tag(before: &str, after: &str) -> bool {
    let ends = |after: &str| after.starts_with(|c: char| c == '>' || c == '/' || c.is_whitespace());
    if before.ends_with('<') || before.ends_with("</") {
        return ends(after);
    }
    let inner = before.trim_end_matches(QUOTES);
    let is_value = inner.trim_end().ends_with(['=', ':']);
    let rest = after.trim_start_matches(QUOTES);
    let tag = inner.rfind('<').map(|open| inner[open + 1..].trim_end_matches([' ', '=', ':']));
    let tag = tag.filter(|tag| !tag.contains(['>', '\n']));
    let in_tag = tag.is_some_and(|tag| {
        let tag = tag.trim_start().to_ascii_lowercase();
        let Some((head, key)) = tag.rsplit_once(char::is_whitespace) else { return true };
        // A name of two words is that of a tag with a prefix: what has a value is an attribute.
        let is_of_calls = head.split_whitespace().take_while(|word| !word.contains('=')).any(speaks_of_calls);
        let next = || rest.split_once('<').map_or("", |(_, next)| next.split('>').next().unwrap_or(next));
        let goes_on = || speaks_of_arguments(&next().to_ascii_lowercase());
        is_of_calls || NAME_WORDS.iter().any(|word| key.ends_with(word)) && goes_on()
    });
    // Any text has brackets, so that the word before the name must speak of tools.
    let in_brackets = inner.rfind('[').is_some_and(|open| !inner[open..].contains([']', '\n']));
    let says_tool = inner.len() < before.len()
        && inner.strip_suffix('=').is_some_and(|key| {
            let key = key.rsplit(|c: char| !is_name_character(c)).next().unwrap_or(key);
            NAME_WORDS.contains(&key)
        });
    // The start of the tag may be lost, where it goes on as one.
    let is_headless = tag.is_none() && says_tool && rest.len() < after.len() && rest.starts_with('>');
    is_value
        && (in_tag && ends(rest)
            || is_headless
            || in_brackets && says_tool && (ends(rest) || rest.starts_with(']')))
}

/// `{"X": {…}}` behind a special token, or first of all: an object whose only key is the name.
fn is_key(before: &str, after: &str) -> bool {
    let outer = before.strip_suffix('"').and_then(|outer| outer.trim_end().strip_suffix('{'));
    let outer = outer.map(|outer| outer.trim_end_matches(['[', ' ', '\n']));
    let marked = outer.is_some_and(|outer| outer.is_empty() || is_token_or_fence(outer));
    let value = after.strip_prefix('"').and_then(after_colon);
    marked && value.is_some_and(|value| value.starts_with('{'))
}

/// Whether a text ends with a special token, or with the line that opens a code fence.
fn is_token_or_fence(text: &str) -> bool {
    let line = text.rsplit('\n').next().unwrap_or(text);
    text.ends_with("|>") || text.ends_with("｜>") || line.trim_start().starts_with("```")
}

/// `to=X` and `tool="X"` beside special tokens, and `to=X` before an object or its type where the tokens were lost.
fn is_recipient(before: &str, after: &str) -> bool {
    let head = before.trim_end_matches(QUOTES).to_ascii_lowercase();
    let object = after.trim_start();
    let object = ["json", "code"].iter().find_map(|kind| object.strip_prefix(kind)).unwrap_or(object);
    if head.ends_with(" to=") && object.trim_start().starts_with("{\"") {
        return true;
    }
    let is_value = ["to=", "tool=", "name=", "function="].iter().any(|key| head.ends_with(key));
    is_value
        && (before.contains("|>")
            || before.contains("｜>")
            || after.trim_start_matches('"').trim_start().starts_with("<|"))
}

/// `Function(arguments='…', name='X')`: an object of a call as programs show it.
fn is_shown_object(before: &str, after: &str) -> bool {
    let head = before.trim_end_matches(QUOTES);
    head.len() < before.len()
        && head.ends_with("name=")
        && (before.contains("arguments=") || after.contains("arguments="))
}

/// `<tool_name>X</tool_name>`, `<tool_call>X`, `[TOOL_CALLS]X`: a name behind a tag or a token that speaks of calls, and
/// more markup behind it, unless the token is one that no text has.
fn is_behind_marker(before: &str, after: &str) -> bool {
    let before = before.trim_end();
    let open = match before.chars().next_back() {
        Some('>') => before.rfind('<'),
        Some(']') => before.rfind('['),
        _ => None,
    };
    let Some(marker) = open.map(|open| &before[open..]) else { return false };
    let is_token = marker.ends_with("|>") || marker.ends_with("｜>");
    let is_label = marker.starts_with('[') && marker.contains(|c: char| c.is_uppercase() || c == '_');
    // A tag is one word, with white space around it at most.
    let is_open =
        |marker: &str| marker[1..].trim_start().trim_end_matches([' ', '>']).contains(char::is_whitespace);
    if !is_token && !is_label && marker.starts_with('[') || is_open(marker) {
        return false;
    }
    let marker = marker.to_ascii_lowercase();
    let speaks = NAME_WORDS.iter().any(|word| marker.contains(word));
    let goes_on = after.trim_start_matches([':', '"']).trim_start().starts_with(['<', '>', '{', '(', '[']);
    speaks && (goes_on || is_token)
}

/// `X<|content|>{`: a name that begins a line, and a special token and an object behind it.
fn before_token(before: &str, after: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or(before);
    let token = after.trim_start();
    let end = token.find('>').map_or(0, |at| at + 1);
    line.trim().is_empty() && is_token(&token[..end]) && token[end..].trim_start().starts_with('{')
}

/// `X<arg_key>`, `X[ARGS]`, `X.call(`: a name that begins a line, and markup of arguments behind it; or anywhere `X[ARGS]{`
/// and `X.call(key=`.
fn before_markup(before: &str, after: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or(before);
    let markup = after.trim_start().to_ascii_lowercase();
    let close = markup.find(['>', ']']).unwrap_or(0);
    let speaks = ["arg", "param", "call"].iter().any(|word| markup[..close].contains(word));
    let is_object = || after.starts_with('[') && markup[close..].starts_with("]{");
    let applied = markup.strip_prefix(".call(");
    speaks && is_object()
        || applied.is_some_and(begins_with_key)
        || line.trim_end().ends_with(';') && applied.is_some_and(|inside| inside.starts_with(')'))
        || line.trim().is_empty() && (markup.starts_with(['<', '[']) && speaks || applied.is_some())
}

/// `X{"key": …`, `[X] {"key": …`, or the object in the next line, where the name begins a line or follows a sign of markup.
pub(super) fn before_object(before: &str, after: &str) -> bool {
    let (before, after) = match (before.strip_suffix('['), after.strip_prefix(']')) {
        (Some(before), Some(after)) => (before, after),
        _ => (before, after.strip_prefix('>').unwrap_or(after)),
    };
    // The number of the call, as one format writes it behind the name.
    let number =
        after.strip_prefix(':').map(|number| number.trim_start_matches(|c: char| c.is_ascii_digit()));
    let after = number.filter(|rest| rest.len() + 1 < after.len()).unwrap_or(after);
    let object = after.trim_start();
    let gap = &after[..after.len() - object.len()];
    let Some(inside) = object.strip_prefix('{').filter(|_| gap.len() <= 2) else { return false };
    let line = before.rsplit('\n').next().unwrap_or(before);
    let inside = inside.trim_start();
    // No text has a quoted key and a brace right behind a word.
    let is_glued = gap.is_empty() && member(inside).is_some();
    let begins = is_glued || line.trim().is_empty() || line.ends_with(['>', ':', ']', '|', '=']);
    let key = inside.trim_start_matches(is_name_character);
    let has_key = key.len() < inside.len() && key.starts_with(':');
    let is_empty = inside.starts_with('}') && (gap.is_empty() || line.trim().is_empty());
    begins && (inside.starts_with('"') || is_empty || gap.is_empty() && has_key)
}

/// `X(key=…`, `X("…`, `X({…`, and `X()` alone in its line; and `"X"(key=…` where it begins.
fn is_applied(before: &str, after: &str) -> bool {
    let quoted = before.strip_suffix('"').zip(after.strip_prefix("\"("));
    if let Some((line, inside)) = quoted {
        return (line.is_empty() || line.ends_with(['[', '\n'])) && begins_with_key(inside.trim_start());
    }
    let Some(inside) = after.strip_prefix('(') else { return false };
    let line = before.rsplit('\n').next().unwrap_or(before);
    // A call is printed where its result is wanted.
    let line = if line.trim_start() == "print(" { "" } else { line };
    if line.ends_with(['.', '(', '!', '&', '$', '@', '#', '-', '/', '"', '\'']) {
        return false;
    }
    let line = line.trim_end();
    if line.ends_with(['=', '+', '&']) {
        return false;
    }
    let word = line.rsplit(|c: char| !is_name_character(c)).next().unwrap_or(line);
    // A path of Rust or C++ leads to a function of its own.
    if DECLARING.contains(&word) || line.ends_with("::") {
        return false;
    }
    let inside = inside.trim_start();
    let has_key = begins_with_key(inside);
    let rest = inside.strip_prefix(')');
    let begins =
        line.trim_start_matches(['[', ' ']).is_empty() || line.ends_with(['[', '>', '.', ':', '-', '*']);
    let stands_alone = begins
        && rest.is_some_and(|rest| {
            let rest = rest.trim_start_matches([' ', ']', ';', '*']);
            rest.is_empty() || rest.starts_with(['\n', '\r', '<', ','])
        });
    let is_open = line.is_empty() || line.ends_with(['[', '>', ',', ';', '|', ']', ')', ':']);
    has_key || stands_alone || is_open && inside.starts_with(['"', '\'', '{'])
}

/// `key=`, as the arguments of an application begin that have names.
pub(super) fn begins_with_key(inside: &str) -> bool {
    let value = inside.trim_start_matches(is_name_character);
    let is_given = |value: &str| value.starts_with('=') && !value.starts_with("==");
    value.len() < inside.len() && is_given(value.trim_start())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn punctuation_tells_a_call_from_a_word() {
        let tools = Registry::from_value(&json!([{"name": "look"}, {"name": "fs.read"}])).unwrap();
        for (text, expected) in [
            ("{\"name\": \"look\", \"arguments\": {}}", true),
            ("{'tool': 'look'}", true),
            ("{\"Name\": \"look\"}", true),
            ("{\\\"name\\\": \\\"look\\\", \\\"arguments\\\": {}}", true),
            ("look\n<arg_key>q</arg_key>", true),
            ("look<b>x</b>", false),
            ("look[ARGS]{\"q\": 1}", true),
            ("look[1]", false),
            ("look>{\"q\": 1}", true),
            ("look</tool_call>", true),
            ("< tool_call>look\n<arg_key>", true),
            ("look.call(q=1)", true),
            ("<|tag|look.call(q=1)", true),
            ("then look.call(q)", false),
            ("go.call(); look.call()", true),
            ("\"look\"(q=1)", true),
            ("[\"look\"(q=1)]", true),
            ("a \"look\" (see)", false),
            ("{\"name\": look\"\", \"arguments\": {\"q\": 1}}", true),
            ("{\"name\": \"look”, \"arguments\": {\"q\": 1}}", true),
            ("{\"name\": \"look,\" \"arguments\": {\"q\": 1}}", true),
            ("{\"name\": \"look\"[, \"arguments\": {\"q\": 1}}", true),
            ("we look, \"arguments\": {\"q\": 1}", false),
            ("<invoke name=“look”>", true),
            ("<|OPEN|>CALL TOOL=\"look\"", true),
            ("[tool_calls]look[args]{", true),
            ("Now. look(q=1)", true),
            ("{\"id\": 1, \"function\" : \"look\"}", true),
            ("{\"name\": \"look\", \"description\": \"sees\"}", false),
            ("{\"title\": \"look\"}", false),
            ("the \"name\": \"look\" is taken", false),
            ("<look>", true),
            ("<look q=\"a\"/>", true),
            ("a <looking> b", false),
            ("<function=look>", true),
            ("<function = look>", true),
            ("<invoke name=\"look\">", true),
            ("<tool_call name='look' id='1'>", true),
            ("a=look>b", false),
            ("<tool: look>ls</tool>", true),
            ("<a href=\"q\" title=\"look\">x</a>", false),
            ("<input type=\"look\" name=\"look\">", false),
            ("<testcase name=\"look\" time=\"1\"/>", false),
            ("<invke name=\"look\">\n<parameter name=\"q\">1", true),
            ("<｜DSML｜ invoke name=\"look\">", true),
            ("<tool_name>look</tool_name>", true),
            ("<some_tool_call>look\n<key>", true),
            ("<|tool_call:start|>look\n<|tool_arg:start|>q", true),
            ("<b>look</b>", false),
            ("Action: look\nAction Input: {\"q\": 1}", true),
            ("TOOL: look\nARGS:\n{}", true),
            ("Action: look\nAction Input:\n{\n  \"q\": 1\n}", true),
            ("Action: look\nAction Input: cats", true),
            ("Action: \"look\"\nAction Input: {\"q\": 1}", true),
            ("Action: [look]\nAction Input: {\"q\": 1}", true),
            ("Action: look", true),
            ("Thought: hm.\n**Action:** look\n", true),
            ("The best tool: look", false),
            ("Action: \"look\"\nThen go.", false),
            ("functions.look:0{\"q\": 1}", true),
            ("look: {\"q\": 1}", false),
            ("Action: look\nThen go.", false),
            ("Action: look[a book]", true),
            ("Note: look\n{\"q\": 1}", false),
            ("TOOL: look\nq: 1", true),
            ("TOOL: look\nThen: 1", false),
            ("<|prefix|>[{\"look\": {\"q\": 1}}]", true),
            ("[{\"look\": {\"q\": 1}}]", true),
            ("Data: {\"look\": {\"q\": 1}}", false),
            ("to=functions.look <|json|>{}", true),
            ("<|open|>call tool=\"look\" <|sep|>", true),
            ("<|tool_sep|>look\nthen", true),
            ("[TOOL_CALLS]look[ARGS]{}", true),
            ("[the tool]look[1]", false),
            ("<|python_tag|>look.call(q=1)", true),
            ("<|start|>[look()]<|end|>", true),
            ("[Calling tool=\"look\" q=\"a\"]", true),
            ("[see tool=look]", false),
            ("[a title=\"look\"]", false),
            ("[look] {\"q\": 1}", true),
            ("see [look] {\"q\": 1}", false),
            ("tool_call: look\narguments:\n  q: 1", true),
            ("look\n{}", true),
            ("look{\"q\": 1}", true),
            ("call:look{q:1}", true),
            ("look\n{\"q\": 1}", true),
            ("I look {\"q\": 1}", false),
            ("I look{\"q\": 1}", true),
            ("I look{1}", false),
            ("<use look>{\"q\": 1}", true),
            ("\"name\": \"look\", \"arguments\": {\"q\": 1}}", true),
            ("{\"nme\": \"look\", \"args\": {}}", true),
            ("{\"name\": \"look, \"arguments\": {}}", true),
            ("[\"look\", \"parameters\": {\"type\": \"object\"}]", false),
            ("call name=\"look\"><q>1</q>", true),
            ("title=\"look\">", false),
            ("TOOL_CALLS]look[ARGS]{\"q\": 1}", true),
            (", look[args] = 1", false),
            ("ction: look\nAction Input: {\"q\": 1}", true),
            ("Action look\nInput: {}", true),
            ("✿ look\n✿ARGS✿ {\"q\": 1}", true),
            ("We look\nand input { a }", false),
            ("look {braces}", false),
            ("look(q=\"a\")", true),
            ("[look(q=1), look()]", true),
            ("Sure: look(q = 'a')", true),
            ("look()", true),
            ("[CallingĠtool:Ġlook({\"q\": 1})]", true),
            ("functions.look(q=1)", true),
            ("print(default_api.look(q=1))", true),
            ("print(look(q=\"a\"))", true),
            ("x = print(look(q=\"a\"))", false),
            ("sprint(look(q=\"a\"))", false),
            ("commentary to=functions.look json{\"q\": 1}", true),
            ("commentary to=look {\"q\": 1}", true),
            ("go to=look and {\"q\": 1}", false),
            ("set goto=look {q}", false),
            ("I do that now. look()", true),
            ("- **look()**\n", true),
            ("</look>", true),
            ("I could call look() next.", false),
            ("I could call look next.", false),
            ("look(q) is a function", false),
            ("x = look(\"a\")", false),
            ("a.look(q=1)", false),
            ("File::look(\"a\")", false),
            ("a < call => look(t)", false),
            ("def look(q=1):", false),
            ("we look (see below)", false),
            ("fs.read(path=\"a\")", true),
            ("{\"name\": \"functions.look\"}", true),
            ("好的look(q=1)", true),
        ] {
            let words = text.split(|c: char| !is_name_character(c)).filter(|word| !word.is_empty());
            let found = words.into_iter().any(|word| {
                named(&tools, word, false).is_some_and(|(name, outer, alone)| {
                    let place = |part: &str| part.as_ptr() as usize - text.as_ptr() as usize;
                    is_called(&text[..place(outer)], &text[place(name) + name.len()..], alone)
                })
            });
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn an_object_with_name_and_arguments_is_a_call_whoever_it_calls() {
        for (text, expected) in [
            ("{\"name\": \"fly\", \"arguments\": {\"q\": 1}}", true),
            ("{ \"name\" : \"fly\",\n \"parameters\" : {}}", true),
            ("{'tool': 'fly', 'args': {}}", true),
            ("{\\\"name\\\": \\\"fly\\\", \\\"input\\\": {}}", true),
            ("{\"id\": \"1\", \"Name\": \"fly\", \"Arguments\": \"{\\\"q\\\": 1}\"}", true),
            ("{\"name\": \"fly\"}", false),
            ("{\"title\": \"fly\", \"args\": {}}", false),
            ("{\"name\": \"fly\", \"parameters\": {\"type\": \"object\"}}", false),
            ("{\"name\": \"Ann Smith\", \"arguments\": {}}", false),
            ("{\"name\": \"fly\", \"arguments\": \"none\"}", false),
        ] {
            assert_eq!(is_call_object(text), expected, "{text}");
        }
    }
}
