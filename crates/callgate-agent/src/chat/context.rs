//! Context: a conversation that has grown too long is sent without its oldest parts, the results of tools first, and
//! says so.

use crate::history::Message;
use crate::model::Usage;

/// How many characters a token has, until a server has counted.
const CHARACTERS_PER_TOKEN: f64 = 4.0;

/// How much of a conversation a request may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextBudget {
    /// The most of it.
    pub most: usize,
    /// In what that is counted.
    pub unit: ContextUnit,
}

/// In what a conversation is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContextUnit {
    /// Characters.
    #[default]
    Characters,
    /// Tokens, as the server counted them in its last answer; four characters each until there was one.
    Tokens,
}

impl Default for ContextBudget {
    fn default() -> Self {
        ContextBudget { most: 400_000, unit: ContextUnit::Characters }
    }
}

/// What was left out of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// How many results of tools stand there without their content.
    pub results: usize,
    /// How many messages are not there at all.
    pub messages: usize,
    /// Whether it is still more than the budget, since the last question and its results are never left out.
    pub is_over: bool,
}

impl LeftOut {
    /// Whether everything is there.
    pub fn is_nothing(&self) -> bool {
        *self == LeftOut::default()
    }
}

/// Measures conversations, by what the server counted where it did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ruler {
    characters_per_token: f64,
}

impl Default for Ruler {
    fn default() -> Self {
        Ruler { characters_per_token: CHARACTERS_PER_TOKEN }
    }
}

impl Ruler {
    /// Learns from the count of a request that was sent.
    pub(super) fn learn(&mut self, sent: &[Message], usage: Usage) {
        let characters = sent.iter().map(size).sum::<usize>();
        if usage.prompt > 0 && characters > 0 {
            // A server that counts only what it had not read before would make tokens look huge.
            self.characters_per_token = (characters as f64 / usage.prompt as f64).clamp(0.5, 8.0);
        }
    }

    /// The conversation within the budget, the results of tools that were left out of it, and how much that is.
    pub(super) fn fit(
        &self,
        messages: &[Message],
        budget: ContextBudget,
    ) -> (Vec<Message>, Vec<String>, LeftOut) {
        let most = match budget.unit {
            ContextUnit::Characters => budget.most,
            ContextUnit::Tokens => (budget.most as f64 * self.characters_per_token) as usize,
        };
        let mut total: usize = messages.iter().map(size).sum();
        let mut kept = messages.to_vec();
        let mut left = LeftOut::default();
        if total <= most {
            return (kept, Vec::new(), left);
        }
        // What came since the model last spoke is what it is to answer.
        let newest = kept.iter().rposition(is_models).map_or(0, |at| at + 1);
        for message in &mut kept[..newest] {
            if total <= most {
                break;
            }
            total -= emptied(message, &mut left);
        }
        let question = kept.iter().rposition(|message| matches!(message, Message::User { .. })).unwrap_or(0);
        let start = kept.iter().position(|message| !matches!(message, Message::SystemContext { .. }));
        let start = start.unwrap_or(kept.len()).min(question);
        let mut end = start;
        while total > most && end < question {
            total -= size(&kept[end]);
            end += 1;
            // A whole exchange goes, so that no result loses its call.
            while end < question && !matches!(kept[end], Message::User { .. }) {
                total -= size(&kept[end]);
                end += 1;
            }
        }
        left.messages = end - start;
        left.is_over = total > most;
        if left.messages > 0 {
            let text = format!("({} earlier messages of this conversation are left out.)", left.messages);
            kept.splice(start..end, [Message::User { text }]);
        }
        let is_sent = |text: &&String| kept.iter().filter_map(result).any(|sent| sent == *text);
        let gone = messages.iter().filter_map(result).filter(|text| !is_sent(text)).cloned().collect();
        (kept, gone, left)
    }
}

/// What a tool gave.
fn result(message: &Message) -> Option<&String> {
    match message {
        Message::ToolResult { content, .. } | Message::ToolError { content, .. } => Some(content),
        _ => None,
    }
}

/// Whether the model said it.
fn is_models(message: &Message) -> bool {
    matches!(message, Message::AssistantText { .. } | Message::AssistantAction { .. } | Message::Error { .. })
}

/// Takes the content out of a result; returns how many characters that saves.
fn emptied(message: &mut Message, left: &mut LeftOut) -> usize {
    let before = size(message);
    let (Message::ToolResult { content, .. } | Message::ToolError { content, .. }) = message else {
        return 0;
    };
    let short = format!("({before} characters, left out because the conversation is long)");
    if short.len() >= content.len() {
        return 0;
    }
    *content = short;
    left.results += 1;
    before - size(message)
}

fn size(message: &Message) -> usize {
    let count = |text: &str| text.chars().count();
    match message {
        Message::SystemContext { text } | Message::User { text } | Message::AssistantText { text } => {
            count(text)
        }
        Message::AssistantAction { text, calls } => {
            count(text) + calls.iter().map(|call| count(&call.name) + count(&call.arguments)).sum::<usize>()
        }
        Message::ToolResult { content, .. } | Message::ToolError { content, .. } => count(content),
        Message::Error { code, message, said } => {
            said.as_ref().map_or_else(|| count(code) + count(message), |said| count(said))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{PastCall, replayable};

    fn user(text: &str) -> Message {
        Message::User { text: text.to_owned() }
    }

    /// A question, a call, its result and an answer, of this many characters in the result.
    fn exchange(number: usize, length: usize) -> Vec<Message> {
        let id = format!("c{number}");
        let call = PastCall { id: id.clone(), name: "look".to_owned(), arguments: "{}".to_owned() };
        vec![
            user(&format!("question {number}")),
            Message::AssistantAction { text: String::new(), calls: vec![call] },
            Message::ToolResult { call_id: id, name: "look".to_owned(), content: "x".repeat(length) },
            Message::AssistantText { text: format!("answer {number}") },
        ]
    }

    fn conversation(exchanges: usize, length: usize) -> Vec<Message> {
        let mut all = vec![Message::SystemContext { text: "Be brief.".to_owned() }];
        all.extend((0..exchanges).flat_map(|number| exchange(number, length)));
        all.push(user("the last question"));
        all
    }

    fn fit(messages: &[Message], most: usize) -> (Vec<Message>, LeftOut) {
        let budget = ContextBudget { most, unit: ContextUnit::Characters };
        let (kept, gone, left) = Ruler::default().fit(messages, budget);
        // Whatever was left out is still known as something that a tool gave.
        let sent: Vec<&String> = kept.iter().filter_map(result).collect();
        let is_known = |text: &String| sent.contains(&text) || gone.contains(text);
        assert!(messages.iter().filter_map(result).all(is_known), "{gone:?}");
        (kept, left)
    }

    #[test]
    fn what_fits_is_sent_as_it_is() {
        let all = conversation(3, 100);
        assert_eq!(fit(&all, 10_000), (all.clone(), LeftOut::default()));
    }

    #[test]
    fn the_oldest_results_go_first_and_then_whole_exchanges() {
        let all = conversation(4, 1_000);
        let (kept, left) = fit(&all, 2_500);
        assert_eq!((left.results, left.messages, left.is_over), (2, 0, false));
        let contents: Vec<usize> = kept.iter().filter(|m| m.kind() == "tool_result").map(size).collect();
        assert!(contents[0] < 100 && contents[1] < 100 && contents[3] == 1_000, "{contents:?}");
        let (kept, left) = fit(&all, 150);
        assert!(left.messages >= 4 && !left.is_over, "{left:?}");
        assert_eq!(kept[0].kind(), "system_context");
        assert!(matches!(&kept[1], Message::User { text } if text.contains("left out")), "{kept:?}");
        assert_eq!(kept.last(), all.last());
        assert_eq!(replayable(&kept).changes, [], "no result has lost its call");
    }

    #[test]
    fn what_the_model_is_to_answer_is_always_sent() {
        let mut all = conversation(1, 10);
        all.pop();
        all.truncate(4);
        all[3] = Message::ToolResult {
            call_id: "c0".to_owned(),
            name: "look".to_owned(),
            content: "y".repeat(5_000),
        };
        let (kept, left) = fit(&all, 100);
        assert!(left.is_over);
        assert_eq!(kept.last(), all.last());
    }

    #[test]
    fn tokens_are_counted_as_the_server_counts_them() {
        let all = conversation(4, 1_000);
        let budget = ContextBudget { most: 700, unit: ContextUnit::Tokens };
        let mut ruler = Ruler::default();
        assert_eq!(ruler.fit(&all, budget).2.results, 2, "four characters each");
        ruler.learn(&all, Usage { prompt: 4_000, completion: 1 });
        assert_eq!(ruler.fit(&all, budget).2.results, 4, "about one each");
    }
}
