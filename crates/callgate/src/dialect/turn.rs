//! Turns: what ends the turn of a model, how others begin to speak, and the names of thoughts, for all dialects alike.

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
    end("</s>"),
];

/// How a prompt lets others speak: the user, the system, tools.
pub(crate) const OTHERS: &[Turn] = &[
    end("<|im_start|>user"),
    end("<|im_start|>system"),
    end("<|im_start|>tool"),
    end("<|start_header_id|>user"),
    end("<|start_header_id|>system"),
    end("<|start_header_id|>ipython"),
    end("<|start_header_id|>tool"),
    end("<start_of_turn>user"),
    end("<|user|>"),
    end("<|system|>"),
    end("<｜User｜>"),
    block("<tool_response>", "</tool_response>"),
    block("<tool_result>", "</tool_result>"),
    block("<tool_results>", "</tool_results>"),
    block("<function_results>", "</function_results>"),
    block("<function_response>", "</function_response>"),
];

/// The names of tags around a thought, in lower case. Models write them in any letter case.
pub(crate) const THOUGHTS: &[&str] =
    &["think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad"];

/// The marker with this text.
pub(crate) fn marked(text: &str) -> Option<&'static Turn> {
    ENDS.iter().chain(OTHERS).find(|turn| turn.marker == text)
}
