//! Turns: what ends the turn of a model, how others begin to speak, which other tokens a prompt is made of, and the names
//! of thoughts, for all dialects alike.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use super::record::Record;
use super::spelling::markers;
use super::template::{Part, Slot, Template, is_word_character};

/// A marker after which nothing that comes is said by the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// How it is written.
    pub(crate) marker: &'static str,
    /// What ends it; otherwise the response does.
    pub(crate) closer: Option<&'static str>,
}

const fn end(marker: &'static str) -> Turn {
    Turn { marker, closer: None }
}

const fn block(marker: &'static str, closer: &'static str) -> Turn {
    Turn { marker, closer: Some(closer) }
}

/// The tokens that end a turn.
pub(crate) const ENDS: &[Turn] = &[
    end("<|im_end|>"),
    end("<|eot_id|>"),
    end("<|eom_id|>"),
    end("<|endoftext|>"),
    end("<|end_of_text|>"),
    end("<|end_of_turn|>"),
    end("<end_of_turn>"),
    end("<｜end▁of▁sentence｜>"),
    end("<|END_OF_TURN_TOKEN|>"),
    end("<|role_end|>"),
    end("<|eot|>"),
    end("<eos>"),
    end("<turn|>"),
    end("<|return|>"),
    end("<seed:eos>"),
    end("[|endofturn|]"),
    end("[e~["),
    end("[EOS]"),
    end("<|end_of_msg|>"),
    end("<|end_of_message|>"),
    end("<|endofturn|>"),
    end("<|stop|>"),
    end(STRUCK.1),
];

/// How a prompt lets others speak: the user, the system, tools.
pub(crate) const OTHERS: &[Turn] = &[
    end("<|im_start|>user"),
    end("<|im_start|>system"),
    end("<|im_start|>tool"),
    end("<|im_start|>observation"),
    end("<|start_header_id|>user"),
    end("<|start_header_id|>system"),
    end("<|start_header_id|>ipython"),
    end("<|start_header_id|>tool"),
    end("<start_of_turn>user"),
    end("<|start|>user"),
    end("<|start|>system"),
    end("<|start|>developer"),
    end("<|start|>functions."),
    end("<|im_user|>"),
    end("<|im_system|>"),
    end("<seed:bos>user"),
    end("<seed:bos>system"),
    end("<seed:bos>tool"),
    end("[|user|]"),
    end("[|system|]"),
    end("[|tool|]"),
    end("<|user|>"),
    end("<|system|>"),
    end("<｜User｜>"),
    end("<|turn>user"),
    end("<|header_start|>user"),
    end("<|header_start|>system"),
    end("<|start_of_role|>user"),
    end("<|start_of_role|>system"),
    end("<|start_of_role|>tool"),
    end("<role>HUMAN</role>"),
    end("<role>SYSTEM</role>"),
    end("<role>OBSERVATION</role>"),
    end("<|begin|>user"),
    end("<|begin|>tool"),
    end("<|message_user|>"),
    end("<|message_tool|>"),
    end("<|observation|>"),
    end("<|User|>"),
    end("<|System|>"),
    end("<|tool|>"),
    end("<|open|>message role=\"user\""),
    end("<|open|>message role=\"system\""),
    end("<|open|>message role=\"tool\""),
    end("[SYSTEM_PROMPT]"),
    end("[INST]"),
    block("[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
    block("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    block("<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>"),
    block("<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>"),
    block("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),
    block("<tool_response>", "</tool_response>"),
    block("<tool_result>", "</tool_result>"),
    block("<tool_results>", "</tool_results>"),
    block("<tool_responses>", "</tool_responses>"),
    block("<function_results>", "</function_results>"),
    block("<function_response>", "</function_response>"),
    block("<function_result>", "</function_result>"),
    block("<tool_output>", "</tool_output>"),
    block("<tool_outputs>", "</tool_outputs>"),
    block("<|tool_response>", "<tool_response|>"),
    block("<start_function_response>", "<end_function_response>"),
];

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

/// The marker with this text.
pub(crate) fn marked(text: &str) -> Option<&'static Turn> {
    ENDS.iter().chain(OTHERS).find(|turn| turn.marker == text)
}

/// Whether this text is a token that ends a turn, and not only the start of one; nothing if it is neither.
pub(crate) fn ends_turn(text: &str) -> Option<bool> {
    let mut markers = ENDS.iter().map(|turn| turn.marker).filter(|marker| marker.starts_with(text));
    let first = markers.next()?;
    Some(first == text || markers.any(|marker| marker == text))
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
    let mut tokens = ENDS.iter().map(|turn| turn.marker).chain(TOKENS.iter().copied());
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
    let mut of_turns = ENDS.iter().chain(OTHERS).map(|turn| turn.marker).chain(TOKENS.iter().copied());
    markers(text).into_iter().any(|marker| special_part(marker, &[]).is_some())
        || of_turns.any(|marker| text.contains(marker))
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
