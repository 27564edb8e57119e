//! Turns: what ends the turn of a model, how others begin to speak, which other tokens a prompt is made of, and the names
//! of thoughts, for all dialects alike.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::LazyLock;

use super::record::Record;
use super::spelling::markers;
use super::template::{Part, Slot, Template, is_word_character};

/// A marker after which nothing that comes is said by the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// How it is written.
    pub(crate) marker: String,
    /// What ends it; otherwise the response does.
    pub(crate) closer: Option<String>,
}

/// The tokens that end a turn.
pub(crate) const ENDS: &[&str] = &[
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|end_of_turn|>",
    "<end_of_turn>",
    "<｜end▁of▁sentence｜>",
    "<|end▁of▁sentence|>",
    "<|end_of_sentence|>",
    "<|END_OF_TURN_TOKEN|>",
    "<|role_end|>",
    "<|eot|>",
    "<eos>",
    "<turn|>",
    "<|return|>",
    "<seed:eos>",
    "[|endofturn|]",
    "[e~[",
    "[EOS]",
    "<|end_of_msg|>",
    "<|end_of_message|>",
    "<|endofturn|>",
    "<|stop|>",
    "<|assistant_end|>",
    "<|EOT|>",
    "<|eos|>",
    "</longcat_s>",
    "[unused10]",
    STRUCK.1,
];

/// Who speaks in a conversation and is not the model.
pub(crate) const ROLES: &[&str] = &[
    "user",
    "human",
    "system",
    "developer",
    "tool",
    "function",
    "observation",
    "ipython",
    "python",
    "browser",
    "environment",
];

/// How prompts begin the message of somebody: what stands before a role, and behind it.
pub(crate) const HEADERS: &[(&str, &str)] = &[
    ("<|im_start|>", ""),
    ("<|start_header_id|>", ""),
    ("<|header_start|>", ""),
    ("<|start_of_role|>", ""),
    ("<start_of_turn>", ""),
    ("<|turn>", ""),
    ("<|start|>", ""),
    ("<|begin|>", ""),
    ("<seed:bos>", ""),
    ("<|START_OF_TURN_TOKEN|><|", "_TOKEN|>"),
    ("<|open|>message role=\"", "\""),
    ("<|im_", "|>"),
    ("<|message_", "|>"),
    ("<|message_sep|>", "<|role_sep|>"),
    ("<extra_id_1>", ""),
    ("<|BOT|>", ""),
    ("<|from|>", ""),
    ("<SPECIAL_11>", ""),
    ("<｜hy_", "｜>"),
    ("<|", "|>"),
    ("<｜", "｜>"),
    ("[|", "|]"),
];

/// Other markers with which prompts let others speak. Tags with the role between them are written in capitals there; in other
/// letters, any document has them.
pub(crate) const OTHERS: &[&str] = &[
    "<|user_start|>",
    "<|system_start|>",
    "<|developer_start|>",
    "<role>HUMAN</role>",
    "<role>SYSTEM</role>",
    "<role>OBSERVATION</role>",
    "<role>TOOL</role>",
    "[SYSTEM_PROMPT]",
    "[INST]",
];

/// Tokens around the results of tools, and around their list.
pub(crate) const RESULTS: &[(&str, &str)] = &[
    ("[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
    ("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    ("<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>"),
    ("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"),
    ("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),
    ("<|tool_outputs_begin|>", "<|tool_outputs_end|>"),
    ("<|tool_output_begin|>", "<|tool_output_end|>"),
    ("<|tool_response>", "<tool_response|>"),
    ("<|tool_response_start|>", "<|tool_response_end|>"),
    ("<start_function_response>", "<end_function_response>"),
];

/// The names of tags around the results of tools. Models write them in any letter case, and with attributes.
const RESULT_TAGS: &[&str] = &[
    "tool_response",
    "tool_responses",
    "tool_result",
    "tool_results",
    "tool_output",
    "tool_outputs",
    "function_response",
    "function_result",
    "function_results",
    "toolresponse",
];

/// What a tag of results has in place of the words for calls, in the families whose tags have a namespace or a prefix.
const RESULT_WORDS: &[&str] = &["tool_response", "tool_result"];

/// The names of tags around the results of tools, in every family.
pub(crate) fn result_tags() -> &'static [String] {
    static TAGS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let mut tags: Vec<String> = RESULT_TAGS.iter().map(|tag| (*tag).to_owned()).collect();
        let templates = Record::builtin().iter().flat_map(|record| record.open.iter().chain(&record.call));
        for tag in templates.flat_map(|template| template.literals()).flat_map(|literal| markers(literal)) {
            let name = tag.trim_start_matches('<').trim_end_matches('>');
            let prefix = CALL_WORDS.iter().find_map(|word| name.strip_suffix(word)).unwrap_or_default();
            let is_plain = |c: char| c.is_alphanumeric() || "_:".contains(c);
            let found = RESULT_WORDS.iter().map(|word| format!("{prefix}{word}"));
            let is_new =
                |tag: &String| !prefix.is_empty() && prefix.chars().all(is_plain) && !tags.contains(tag);
            let found: Vec<String> = found.filter(is_new).collect();
            tags.extend(found);
        }
        tags
    });
    &TAGS
}

/// The words for calls at the end of tags.
const CALL_WORDS: &[&str] = &["tool_calls", "tool_call", "function_calls"];

/// Tokens that neither end a turn nor let others speak: the start of a prompt, of the model's own turn, of a message.
pub(crate) const TOKENS: &[&str] = &[
    "<|im_start|>assistant",
    "<|start_header_id|>assistant<|end_header_id|>",
    "<|header_start|>assistant<|header_end|>",
    "<|start_of_role|>assistant<|end_of_role|>",
    "<start_of_turn>model",
    "<|turn>model",
    "<|im_assistant|>assistant<|im_middle|>",
    "<seed:bos>assistant",
    "[|assistant|]",
    "<|assistant|>",
    "<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
    "<|CHATBOT_TOKEN|>",
    "<｜Assistant｜>",
    "<｜begin▁of▁sentence｜>",
    "<|begin_of_text|>",
    "<|startoftext|>",
    "<bos>",
    "[/INST]",
    "<|end|>",
    STRUCK.0,
];

/// Two tokens that are also tags of HTML, around text that is struck out.
pub(crate) const STRUCK: (&str, &str) = ("<s>", "</s>");

/// The names of tags around a thought, in lower case. Models write them in any letter case.
pub(crate) const THOUGHTS: &[&str] = &[
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reasoning",
    "reflection",
    "scratchpad",
    "scratch_pad",
    "inner_monologue",
    "internal_monologue",
    "internal_thoughts",
    "thought_process",
    "chain_of_thought",
    "cot",
    "deliberation",
    "antthinking",
    "longcat_think",
    "think_fast",
    "think_faster",
];

/// Thoughts between special tokens, which models of any format of calls may write.
pub(crate) const MARKED_THOUGHTS: &[&str] = &[
    "<|begin_of_thought|>\n{text}\n<|end_of_thought|>\n\n",
    "<|thought_start|>{text}<|thought_end|>",
    "<|thinking|>{text}<|/thinking|>",
    "◁think▷{text}◁/think▷",
];

/// The names of tags around calls and their parts, in lower case, without the namespaces that some formats put before them.
const CALLS: &[&str] = &[
    "tool_call",
    "tool_calls",
    "toolcall",
    "toolcalls",
    "tool_use",
    "use_mcp_tool",
    "tool",
    "tools",
    "function",
    "functions",
    "function_call",
    "function_calls",
    "dots_function_call",
    "iquest_tool_call",
    "longcat_tool_call",
    "invoke",
    "call",
    "calls",
    "parameter",
    "parameters",
    "param",
    "arguments",
    "args",
    "arg_value",
];

/// The most bytes of a closing tag of calls.
const LONGEST_CLOSER: usize = 48;

/// The marker that is written like this, in whatever white space and letters.
pub(crate) fn marked(text: &str) -> Option<&'static Turn> {
    static TURNS: LazyLock<HashMap<String, Turn>> = LazyLock::new(|| {
        let turn = |marker: String, closer: Option<&str>| Turn { marker, closer: closer.map(str::to_owned) };
        let plain = ENDS.iter().chain(OTHERS).map(|marker| turn((*marker).to_owned(), None));
        let headers = headers().map(|header| turn(header, None));
        let results = RESULTS.iter().map(|(opener, closer)| turn((*opener).to_owned(), Some(closer)));
        let tags = result_tags().iter().map(|name| turn(format!("<{name}>"), Some(&format!("</{name}>"))));
        let turns = plain.chain(headers).chain(results).chain(tags);
        turns.map(|turn| (folded(&turn.marker), turn)).collect()
    });
    TURNS.get(&folded(text))
}

/// A marker without white space, in small letters, and of a tag without its end, where attributes may stand.
fn folded(marker: &str) -> String {
    let marker: String = marker.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect();
    let is_tag =
        marker.starts_with('<') && marker[1..].chars().all(|c| c.is_alphanumeric() || "_:>".contains(c));
    if is_tag { marker.trim_end_matches('>').to_owned() } else { marker }
}

/// How others begin to speak, in every family.
fn headers() -> impl Iterator<Item = String> {
    let header = |(before, after): &'static (&str, &str)| {
        ROLES.iter().map(move |role| format!("{before}{role}{after}"))
    };
    HEADERS.iter().flat_map(header)
}

/// Whether a text begins as others begin to speak.
pub(crate) fn lets_others_speak(text: &str) -> bool {
    let begins = |marker: &&str| text.starts_with(*marker);
    let is_tag = |name: &String| {
        let inner = text.strip_prefix('<').filter(|inner| inner.is_char_boundary(name.len()));
        let (word, rest) = inner.map_or(("", ""), |inner| inner.split_at(name.len()));
        word.eq_ignore_ascii_case(name) && !rest.starts_with(is_word_character)
    };
    let is_header = |(before, after): &(&str, &str)| {
        let Some(inner) = text.strip_prefix(before) else { return false };
        let inner = if before.ends_with('>') { inner.trim_start() } else { inner };
        let is_role = |role: &&str| {
            inner.get(..role.len()).is_some_and(|word| word.eq_ignore_ascii_case(role))
                && inner[role.len()..].starts_with(after)
        };
        ROLES.iter().any(is_role)
    };
    OTHERS.iter().any(begins)
        || RESULTS.iter().any(|(opener, _)| begins(opener))
        || result_tags().iter().any(is_tag)
        || HEADERS.iter().any(is_header)
}

/// Whether a token is one that only some formats of calls have.
pub(crate) fn is_of_calls(token: &str) -> bool {
    marked(token).is_none() && !TOKENS.contains(&token) && !token.starts_with("</")
}

/// Whether the turn of the model is over somewhere in a text.
pub(crate) fn is_over_in(text: &str) -> bool {
    memchr::memchr2_iter(b'<', b'[', text.as_bytes()).any(|at| {
        let rest = &text[at..];
        ENDS.iter().any(|end| rest.starts_with(end)) || lets_others_speak(rest)
    })
}

impl Turn {
    /// Whether this token ends what the marker began.
    pub(crate) fn is_closed_by(&self, token: &str) -> bool {
        self.closer.as_ref().is_some_and(|closer| folded(closer) == folded(token))
    }
}

/// Whether this text is a token that ends a turn, and not only the start of one; nothing if it is neither.
pub(crate) fn ends_turn(text: &str) -> Option<bool> {
    let mut markers = ENDS.iter().filter(|marker| marker.starts_with(text));
    let first = markers.next()?;
    Some(*first == text || markers.any(|marker| *marker == text))
}

/// Whether this text is nothing but white space and tokens that end a turn, and does not break off in one; nothing if there is
/// anything else.
pub(crate) fn only_ends(text: &str) -> Option<bool> {
    let mut rest = text.trim_start();
    while let Some(end) = ENDS.iter().find(|end| rest.starts_with(**end)) {
        rest = rest[end.len()..].trim_start();
    }
    if rest.is_empty() { Some(true) } else { ends_turn(rest).map(|_| false) }
}

/// Whether this text is a closing tag of calls of any family, and not only the start of one; nothing if it is neither.
pub(crate) fn closes_call(text: &str) -> Option<bool> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '▁' | ':' | '|' | '｜' | ' ');
    let (head, end) = match text.chars().next()? {
        '<' => ("<|/", '>'),
        '[' => ("[/", ']'),
        _ => return None,
    };
    let inner = match text.strip_prefix("</").or_else(|| text.strip_prefix(head)) {
        Some(inner) => inner,
        None => return (head.starts_with(text) || text == "<").then_some(false),
    };
    let Some(name) = inner.strip_suffix(end) else {
        let goes_on = inner.chars().all(is_name) && text.len() < LONGEST_CLOSER;
        return goes_on.then_some(false);
    };
    names_call(name.trim_matches(['|', '｜', ' '])).then_some(true)
}

/// Whether a tag of this name stands around calls or their parts, in some family.
pub(crate) fn names_call(name: &str) -> bool {
    let name = name.rsplit([':', '|', '｜']).next().unwrap_or_default().trim();
    let same = |a: char, b: char| a.eq_ignore_ascii_case(&b) || b == '_' && matches!(a, '-' | '▁');
    let is_name = |call: &&str| {
        name.chars().count() == call.len() && name.chars().zip(call.chars()).all(|(a, b)| same(a, b))
    };
    CALLS.iter().any(is_name)
}

/// The token that a turn ends with, if this text ends in one.
pub(crate) fn last_token(text: &str) -> Option<&'static str> {
    let mut tokens = ENDS.iter().chain(TOKENS).copied();
    tokens.find(|token| text.ends_with(token))
}

/// Why the end of a value that nothing but its line ends may be no part of it, if that is so.
pub(crate) fn doubtful_end(line: &str) -> Option<&'static str> {
    if last_token(line).is_some() {
        return Some("a token of the chat template ends the line, and may be no part of the value");
    }
    let emphasized = line.strip_suffix("**")?;
    // A pattern of file names ends like that as well, behind a slash.
    let ends_words = emphasized.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '!' | '?'));
    (ends_words && !emphasized.contains("**"))
        .then_some("an emphasis ends with the line that did not begin in it, and may be no part of the value")
}

/// Why the end of code that nothing ends may be no part of it, if that is so: its last line is a closing tag of calls.
pub(crate) fn doubtful_code(code: &str) -> Option<&'static str> {
    static CLOSERS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let is_closer = |marker: &&str| marker.starts_with("</") && marker.ends_with('>');
        literals_of_calls().flat_map(markers).filter(is_closer).collect()
    });
    let (_, line) = code.trim_end().rsplit_once('\n')?;
    CLOSERS
        .contains(line.trim())
        .then_some("a closing tag of calls stands in the last line, and may be no part of the code")
}

/// Whether some format has this word between the two tokens between which others have the name of a tool.
pub(crate) fn is_word_of_format(word: &str) -> bool {
    static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let templates = || Record::builtin().iter().flat_map(|record| &record.call);
        let is_name = |before: &str, after: &str| {
            let mut threes = templates().flat_map(|template| template.parts.windows(3));
            threes.any(|three| match three {
                [Part::Literal(head), Part::Slot(Slot::Name), Part::Literal(next)] => {
                    head.ends_with(before) && next.trim_start().starts_with(after)
                }
                _ => false,
            })
        };
        let word = |pair: &'static [Part]| {
            let [Part::Literal(head), Part::Slot(Slot::Name)] = pair else { return None };
            match markers(head)[..] {
                [.., before, word, after] if is_token(before) && is_token(after) => {
                    Some(word).filter(|_| is_name(before, after))
                }
                _ => None,
            }
        };
        templates().flat_map(|template| template.parts.windows(2)).filter_map(word).collect()
    });
    WORDS.contains(word)
}

/// The fixed text around calls and in them, of all built-in formats.
fn literals_of_calls() -> impl Iterator<Item = &'static str> {
    let templates = |record: &'static Record| record.open.iter().chain(&record.call).chain(&record.close);
    Record::builtin().iter().flat_map(templates).flat_map(Template::literals)
}

/// Whether a literal is a special token of some vocabulary, which no text has.
pub(crate) fn is_token(literal: &str) -> bool {
    let inner = literal.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    let has_bar = inner.is_some_and(|inner| inner.contains(['|', '｜']));
    let label = literal.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or("");
    let is_label =
        label.len() >= 3 && label.bytes().all(|byte| byte.is_ascii_uppercase() || b"_/".contains(&byte));
    let is_one = !literal.contains(char::is_whitespace) && literal.rfind(['<', '[']) == Some(0);
    is_one && (has_bar || is_label)
}

/// Whether special tokens stand in a text, or what begins and ends turns. Tags are text, also those that are tokens of some
/// vocabularies: they end nothing.
pub(crate) fn holds_token(text: &str) -> bool {
    markers(text).into_iter().any(|marker| special_part(marker, &[]).is_some())
        || is_over_in(text)
        || TOKENS.iter().any(|token| text.contains(token))
}

/// The part of a token of a literal that is a special token by itself: `<|call|>` and `[ARGS]` are as wholes, and in
/// `<｜DSML｜invoke` the word between the bars is. Tags are if they are among the named ones. Nothing if all of it is
/// letters that any text may have.
pub(crate) fn special_part(token: &str, named: &[String]) -> Option<Range<usize>> {
    let is_bar = |c: char| matches!(c, '|' | '｜');
    let bars = token.strip_prefix('<').and_then(|_| Some((token.find(is_bar)?, token.rfind(is_bar)?)));
    let Some((first, last)) = bars else {
        // The end of a tag is a token by itself.
        let is_named = named.iter().any(|tag| tag == token || tag.strip_suffix('>') == Some(token));
        return (is_named || is_token(token)).then_some(0..token.len());
    };
    let end = last + token[last..].chars().next().map_or(0, char::len_utf8);
    let is_inner = first < last && matches!(&token[..first], "<" | "</") && !token[end..].starts_with('>');
    Some(if is_inner { first..end } else { 0..token.len() })
}

impl Record {
    /// The words that stand for the name of a tool where this dialect writes text or a thought, such as the recipient of a
    /// message.
    pub(crate) fn reserved_names(&self) -> Vec<String> {
        let before_name = |call: &'_ Template| match &call.parts[..] {
            [Part::Literal(head), Part::Slot(Slot::Name), ..] => Some(head.clone()),
            _ => None,
        };
        let prefixes: Vec<_> = self.call.iter().filter_map(before_name).collect();
        let others = self.text.iter().chain(&self.reasoning).map(Template::head);
        let word = |(head, prefix): (&str, &String)| {
            let rest = head.strip_prefix(&**prefix)?;
            let word = rest.split(|c| !is_word_character(c)).next()?;
            (!word.is_empty() && word.len() < rest.len()).then(|| word.to_owned())
        };
        others.flat_map(|head| prefixes.iter().map(move |prefix| (head, prefix))).filter_map(word).collect()
    }

    /// The special tokens that end something in this dialect. Where nothing is open that one could end, it is no text.
    pub(crate) fn end_tokens(&self) -> impl Iterator<Item = &str> {
        let lists = [&self.close, &self.call, &self.param, &self.text, &self.reasoning];
        let last = lists.into_iter().flatten().filter_map(Template::tail);
        let tokens = last.flat_map(|literal| {
            literal.split_inclusive(['>', ']']).map(|piece| {
                let start = piece.rfind(['<', '[']).unwrap_or(0);
                &piece[start..]
            })
        });
        tokens.filter(|token| is_token(token) && !self.noise.iter().any(|noise| noise.head() == *token))
    }

    /// The special tokens inside of its calls. Where no call is open, they are no text either.
    pub(crate) fn inner_tokens(&self) -> impl Iterator<Item = &str> {
        let literals = self.call.iter().flat_map(|call| {
            let head = usize::from(!call.head().is_empty());
            call.literals().skip(head)
        });
        let is_opener = |token: &str| self.openers().iter().any(|opener| opener.head().contains(token));
        literals.flat_map(markers).filter(move |token| is_token(token) && !is_opener(token))
    }

    /// What ends a thought of this kind even where its start was in the prompt: a closing tag, or a token that ends
    /// nothing else in this dialect.
    pub(crate) fn end_of_thought(&self, thought: &Template) -> Option<String> {
        let written = thought.to_string();
        let (opener, closer) = written.split_once("{text}")?;
        let (opener, closer) = (opener.trim(), closer.trim());
        if closer.is_empty() || closer == opener {
            return None;
        }
        let is_tag = closer.len() == opener.len() + 1 && closer.replacen('/', "", 1) == opener;
        let others = [&self.open, &self.close, &self.call, &self.param, &self.text].into_iter().flatten();
        let is_shared =
            others.chain([&self.join]).flat_map(Template::literals).any(|literal| literal.contains(closer));
        let is_marked =
            closer.split_inclusive('>').any(is_token) || is_token(closer) || closer.starts_with('[');
        (is_tag || is_marked && !is_shared && Record::is_unmistakable(&Template::parse(closer)))
            .then(|| closer.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_formats_are_no_names() {
        assert!(is_word_of_format("function"));
        assert!(!["read", "assistant", ""].into_iter().any(is_word_of_format));
    }

    #[test]
    fn a_special_token_is_told_from_tags_and_words() {
        for (literal, expected) in [
            ("<|im_end|>", true),
            ("<｜tool▁calls▁end｜>", true),
            ("<tool_call|>", true),
            ("<|channel>", true),
            ("[/THINK]", true),
            ("[EOS]", true),
            ("</tool_call>", false),
            ("<s>", false),
            ("[1]", false),
            ("[a, b]", false),
            ("<|a|><|b|>", false),
            ("]", false),
        ] {
            assert_eq!(is_token(literal), expected, "{literal}");
        }
    }
}
