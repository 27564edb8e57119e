//! Recent exchanges: the last ones, for whoever looks at the page; bounded in number and size.

use std::collections::VecDeque;
use std::sync::Mutex;

use serde::Serialize;
use serde_json::Value;
use tokio::sync::broadcast;

use crate::records::Notes;
use crate::upstream::Upstream;
use callgate_agent::report::Part;

/// How much of what a model wrote is kept, in bytes.
const TEXT: usize = 64 << 10;

/// The most parts of a text that are kept.
const PARTS: usize = 2_000;

/// One exchange as the page shows it.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Exchange {
    pub(crate) id: String,
    /// When it began, in RFC 3339.
    pub(crate) time: String,
    pub(crate) face: &'static str,
    pub(crate) model: String,
    pub(crate) upstream: String,
    /// Whose key it came with.
    pub(crate) client: String,
    /// What the model wrote as text, as far as it is kept.
    pub(crate) text: String,
    /// How long that was.
    pub(crate) length: usize,
    /// What became of its parts, by bytes.
    pub(crate) parts: Vec<Part>,
    /// The calls that stand.
    pub(crate) calls: Vec<Value>,
    pub(crate) verdict: Option<Value>,
    pub(crate) retries: u32,
    /// Why it failed, if it did.
    pub(crate) fault: Option<String>,
    pub(crate) millis: u64,
    /// What the log, the audit and traces are told besides.
    #[serde(skip)]
    pub(crate) notes: Notes,
}

impl Exchange {
    /// Notes which server answers, and when it began to.
    pub(crate) fn answered_by(&mut self, upstream: &Upstream) {
        self.upstream.clone_from(&upstream.name);
        let notes = &mut self.notes;
        notes.provider = upstream.api();
        notes.server = upstream.address().map(|(address, _)| (address.host.clone(), address.port));
        notes.answered = notes.began.and_then(|began| began.elapsed().ok());
    }

    /// Keeps what the model wrote.
    pub(crate) fn take_text(&mut self, text: &str) {
        self.length += text.len();
        if self.text.len() < TEXT {
            let mut end = text.len().min(TEXT - self.text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            self.text.push_str(&text[..end]);
        }
    }
}

/// The last exchanges, and who waits for the next.
pub(crate) struct Recent {
    last: Mutex<VecDeque<Exchange>>,
    most: usize,
    news: broadcast::Sender<String>,
}

impl Recent {
    pub(crate) fn new(most: usize) -> Self {
        Recent { last: Mutex::default(), most, news: broadcast::channel(64).0 }
    }

    /// Keeps one more.
    pub(crate) fn add(&self, mut exchange: Exchange) {
        exchange.parts.sort_by_key(|part| part.start);
        exchange.parts.truncate(PARTS);
        if self.most == 0 {
            return;
        }
        if self.news.receiver_count() > 0
            && let Ok(text) = serde_json::to_string(&exchange)
        {
            // Nobody may be left to hear it.
            let _ = self.news.send(text);
        }
        if let Ok(mut last) = self.last.lock() {
            while last.len() >= self.most {
                last.pop_front();
            }
            last.push_back(exchange);
        }
    }

    /// All of them as JSON, the oldest first.
    pub(crate) fn json(&self) -> String {
        let last = self.last.lock();
        last.ok().and_then(|last| serde_json::to_string(&*last).ok()).unwrap_or_else(|| "[]".to_owned())
    }

    /// The next ones, as they come.
    pub(crate) fn news(&self) -> broadcast::Receiver<String> {
        self.news.subscribe()
    }
}
