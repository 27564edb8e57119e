//! Arguments beside a name: the name of a tool in text stands there as in a call if arguments of this tool stand beside it, whatever
//! is written between them.

use crate::attempt::ARGUING;
use crate::schema::CompiledTool;

use super::likeness::is_name_character;

/// How far behind a name its arguments may begin.
const LONGEST_GAP: usize = 24;

/// The words behind which a function is declared.
const DECLARING: [&str; 8] = ["def", "fn", "func", "fun", "function", "class", "struct", "import"];

/// Whether arguments of the tool stand right behind its name. The texts may be cut at their far ends.
pub(super) fn is_argued(tool: &CompiledTool, before: &str, after: &str) -> bool {
    let word = before.trim_end().rsplit(|c: char| !is_name_character(c)).next().unwrap_or_default();
    if DECLARING.contains(&word) {
        return false;
    }
    let keyword = after.strip_prefix('(').map(str::trim_start).and_then(key_before('='));
    if let Some((key, value)) = keyword {
        return !value.starts_with('=') && tool.has_key(key);
    }
    let Some((gap, inside)) = after.split_once('{').filter(|(gap, _)| gap.len() <= LONGEST_GAP) else {
        return false;
    };
    let is_sign = |c: char| c.is_ascii_whitespace() || ":=->*`\"',([{}".contains(c);
    let mut words = gap.split(is_sign).filter(|word| !word.is_empty());
    let member = key_before(':')(inside.trim_start());
    // An object under the key of an argument describes it, as in a list of tools.
    let is_given =
        member.is_some_and(|(key, value)| tool.has_key(key) && !value.trim_start().starts_with('{'));
    is_given && words.all(|word| word == "json" || ARGUING.contains(&word))
}

/// The key that a text begins with, in quotes or without, if this sign follows it, and what follows that.
fn key_before(sign: char) -> impl Fn(&str) -> Option<(&str, &str)> {
    move |text: &str| {
        let bare = text.trim_start_matches(['"', '\'']);
        let rest = bare.trim_start_matches(is_name_character);
        let key = &bare[..bare.len() - rest.len()];
        let value = rest.trim_start_matches(['"', '\'']).trim_start().strip_prefix(sign)?;
        (!key.is_empty()).then_some((key, value))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::Registry;

    #[test]
    fn arguments_of_a_tool_tell_that_it_is_called() {
        let properties = json!({"q": {"type": "string"}});
        let tools = json!([{"name": "look", "parameters": {"type": "object", "properties": properties}}]);
        let tools = Registry::from_value(&tools).unwrap();
        let tool = tools.compiled("look").unwrap();
        for (text, expected) in [
            ("x = look(q=\"a\")", true),
            ("await look(q=\"a\")", true),
            ("tools.look(q=\"a\")", true),
            ("client.call_tool(\"look\", {\"q\": 1})", true),
            ("[\"look\", {\"q\": 1}]", true),
            ("{tool: \"look\", args: {q: 1}}", true),
            ("{\"look\": {\"q\": 1}}", true),
            ("look: {\"q\": 1}", true),
            ("look\n\n{\"q\": 1}", true),
            ("**look**\n```json\n{\"q\": 1}", true),
            ("look -> {\"q\": 1}", true),
            ("[look: {\"q\": 1}]", true),
            ("def look(q=1):", false),
            ("look(q == 1)", false),
            ("look(path=1)", false),
            ("look: {\"path\": 1}", false),
            ("look: {\"q\": {\"type\": \"string\"}}", false),
            ("look into the box {\"q\": 1}", false),
        ] {
            let (before, after) = text.split_once("look").unwrap();
            assert_eq!(is_argued(tool, before, after), expected, "{text}");
        }
    }
}
