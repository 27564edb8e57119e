//! Traces: to which trace of its client an exchange belongs, by the W3C's `traceparent`, and what a server is told.

use axum::http::HeaderMap;
use callgate_agent::id::random_id;

/// The header that names a trace.
const PARENT: &str = "traceparent";
/// What other systems add to it.
const STATE: &str = "tracestate";

/// The longest `tracestate` that is passed on.
const STATE_BYTES: usize = 512;

/// The place of an exchange in a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Trace {
    /// The trace, in 32 hexadecimal digits.
    pub(crate) id: String,
    /// The span of the client, in 16; nothing where the trace begins here.
    pub(crate) parent: Option<String>,
    /// The span of this exchange; nothing where none is recorded.
    pub(crate) span: Option<String>,
    flags: u8,
    state: Option<String>,
}

impl Trace {
    /// The trace of a request. Where spans are recorded, one begins with the request if the client has none, unless the
    /// client says that this one is not sampled.
    pub(crate) fn of(headers: &HeaderMap, records: bool) -> Option<Self> {
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let mut trace = match text(PARENT).and_then(read) {
            Some(trace) => {
                let state = text(STATE).filter(|state| state.len() <= STATE_BYTES).map(str::to_owned);
                Trace { state, ..trace }
            }
            None if records => {
                Trace { id: format!("{}{}", random_id(), random_id()), flags: 1, ..Trace::default() }
            }
            None => return None,
        };
        if records && trace.flags & 1 == 1 {
            trace.span = Some(random_id());
        }
        Some(trace)
    }

    /// The headers that a server is sent: the span of this exchange is the parent of what it does, or the client's, if
    /// none is recorded here.
    pub(crate) fn headers(&self) -> Vec<(&'static str, String)> {
        let Some(parent) = self.span.as_ref().or(self.parent.as_ref()) else { return Vec::new() };
        let mut headers = vec![(PARENT, format!("00-{}-{parent}-{:02x}", self.id, self.flags))];
        headers.extend(self.state.clone().map(|state| (STATE, state)));
        headers
    }
}

/// Reads a `traceparent`. Later versions may have more behind it; what is not well-formed is no trace.
fn read(text: &str) -> Option<Trace> {
    let mut parts = text.trim().split('-');
    let (version, id, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |text: &str, length: usize| {
        text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_some = |text: &str| text.bytes().any(|byte| byte != b'0');
    let fits =
        is_hex(version, 2) && version != "ff" && is_hex(id, 32) && is_hex(parent, 16) && is_hex(flags, 2);
    if !fits || !is_some(id) || !is_some(parent) || (version == "00" && parts.next().is_some()) {
        return None;
    }
    let flags = u8::from_str_radix(flags, 16).ok()?;
    Some(Trace { id: id.to_owned(), parent: Some(parent.to_owned()), flags, ..Trace::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn headers(parent: &str) -> HeaderMap {
        let pairs = [("traceparent", parent), ("tracestate", "vendor=1")];
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn a_trace_is_passed_on_and_gets_a_span_where_spans_are_recorded() {
        let passed = Trace::of(&headers(GOOD), false).unwrap();
        assert_eq!(
            passed.headers(),
            [("traceparent", GOOD.to_owned()), ("tracestate", "vendor=1".to_owned())]
        );
        let recorded = Trace::of(&headers(GOOD), true).unwrap();
        let span = recorded.span.clone().unwrap();
        assert_eq!(recorded.headers()[0].1, format!("00-4bf92f3577b34da6a3ce929d0e0e4736-{span}-01"));
        assert_eq!(recorded.parent.as_deref(), Some("00f067aa0ba902b7"));
        // What the client does not sample is not sampled here.
        let unsampled = Trace::of(&headers(&GOOD.replace("-01", "-00")), true).unwrap();
        assert_eq!(unsampled.span, None);
        assert_eq!(Trace::of(&HeaderMap::new(), false), None);
        let own = Trace::of(&HeaderMap::new(), true).unwrap();
        assert!(own.id.len() == 32 && own.span.is_some() && own.parent.is_none());
    }

    #[test]
    fn what_is_no_traceparent_is_none() {
        for text in [
            "",
            "00",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert!(read("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more").is_some());
    }
}
