//! Shapes: what is repeated, what stands around it, and the gate that reads it.

#[cfg(feature = "careful")]
use callgate::internal::json::take_looked;
use callgate::internal::json::{Reader, Syntax};
use callgate::{FinishReason, Gate, Profile, repair};

use crate::support;
use crate::support::calls::tools;

/// Without the feature nothing is counted.
#[cfg(not(feature = "careful"))]
fn take_looked() -> u64 {
    0
}

/// How the unit of a shape fills its size.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Layout {
    /// `abcabcabc…`
    Repeated,
    /// `aaa…ccc…`: all of the first piece, then all of the last.
    Nested,
}

/// One text of any size, and the gate that reads it.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) profile: &'static str,
    pub(crate) dialect: String,
    pub(crate) before: String,
    pub(crate) unit: Vec<String>,
    pub(crate) layout: Layout,
    pub(crate) after: String,
    /// The size of the chunks; nothing means that the text comes whole.
    pub(crate) chunk: Option<usize>,
    pub(crate) finish: FinishReason,
    /// Whether it is JSON to repair and not a response.
    pub(crate) is_json: bool,
    /// Whether it is also read at a size where quadratic work would not end.
    pub(crate) endures: bool,
}

impl Shape {
    /// What is repeated, in `standard` with all dialects, in one piece and with nothing around.
    pub(crate) fn of(unit: &str) -> Self {
        Shape {
            profile: "standard",
            dialect: "auto".to_owned(),
            before: String::new(),
            unit: vec![unit.to_owned()],
            layout: Layout::Repeated,
            after: String::new(),
            chunk: None,
            finish: FinishReason::Stop,
            is_json: false,
            endures: false,
        }
    }

    pub(crate) fn text(&self, size: usize) -> String {
        let room = size.saturating_sub(self.before.len() + self.after.len());
        let body = match (self.layout, self.unit.as_slice()) {
            (Layout::Nested, [first, .., last]) => {
                let count = self.alike(room / (first.len() + last.len()).max(1));
                first.repeat(count) + &last.repeat(count)
            }
            (_, unit) => {
                let unit = unit.concat();
                unit.repeat(self.alike(room / unit.len().max(1)))
            }
        };
        format!("{}{body}{}", self.before, self.after)
    }

    /// About so many repetitions, odd or even at every size alike, and where there are many also alike in threes and
    /// fours: what the last of them is read as may depend on that, and then the sizes would not be comparable. Which
    /// remainder it is differs from shape to shape.
    fn alike(&self, count: usize) -> usize {
        const MANY: usize = 240;
        let period = match count {
            0..4 => return count,
            4..MANY => 2,
            MANY.. => 12,
        };
        let drawn: usize = self.to_string().bytes().map(usize::from).sum();
        count - count % period + drawn % period
    }

    /// Reads the text: the work that was counted, and the most that was live at any moment that can be seen.
    pub(crate) fn read(&self, gate: &Gate, text: &str, live: impl Fn() -> f64) -> (f64, f64) {
        if self.is_json {
            return self.repair(text, live);
        }
        let mut peak: f64 = 0.0;
        let mut session = gate.session();
        for piece in text.as_bytes().chunks(self.chunk.unwrap_or(text.len()).max(1)) {
            session.push_bytes(piece, &mut |_| peak = peak.max(live()));
            peak = peak.max(live());
        }
        let work = session.finish_counted(self.finish, &mut |_| peak = peak.max(live()));
        (work.reading as f64, peak.max(live()))
    }

    /// Repairs the text: how many bytes were looked at, and what was held.
    fn repair(&self, text: &str, live: impl Fn() -> f64) -> (f64, f64) {
        take_looked();
        let Some(chunk) = self.chunk else {
            let repaired = repair(text, 64);
            let held = live();
            drop(repaired);
            return (take_looked() as f64, held);
        };
        let mut reader = Reader::new(Syntax::Json).document().restoring();
        let mut piece = String::new();
        for character in text.chars() {
            piece.push(character);
            if piece.len() >= chunk {
                reader.push(&piece);
                piece.clear();
            }
        }
        reader.push(&piece);
        reader.finish();
        reader.close();
        (take_looked() as f64, live())
    }

    pub(crate) fn gate(&self) -> Gate {
        let profile = Profile::named(self.profile).unwrap_or_else(|| panic!("no profile {}", self.profile));
        let builder = Gate::builder().profile(profile).tools(support::registry(&tools()));
        // A profile that has a format of its own keeps it; one that wants a format named gets one.
        let builder = match &*self.dialect {
            "" if profile.needs_dialect() => builder.dialect("hermes"),
            "" => builder,
            dialect => builder.dialect(dialect),
        };
        builder.build().unwrap_or_else(|error| panic!("{}: {error}", self.dialect))
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let dialect = if self.dialect.is_empty() { "its own" } else { &self.dialect };
        let chunk = self.chunk.map_or("whole".to_owned(), |chunk| format!("in chunks of {chunk}"));
        let unit: Vec<String> = self.unit.iter().map(|piece| format!("{piece:?}")).collect();
        write!(
            f,
            "{:?} + {:?} [{}] + {:?}  {}, {dialect}, {chunk}, {}",
            self.before,
            self.layout,
            unit.join(" "),
            self.after,
            self.profile,
            self.finish.word()
        )
    }
}
