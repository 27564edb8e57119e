//! Chunks that have to be waited for, and the events of a stream of them.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use callgate::{Chunk, Event, Gate};
use futures_core::Stream;

/// Chunks of which each is waited for once.
struct Slow<'a> {
    chunks: std::vec::IntoIter<Chunk<'a>>,
    was_pending: bool,
}

impl<'a> Stream for Slow<'a> {
    type Item = Chunk<'a>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Chunk<'a>>> {
        self.was_pending = !self.was_pending;
        if self.was_pending { Poll::Pending } else { Poll::Ready(self.chunks.next()) }
    }
}

/// The events of a stream of these chunks. It waits for them and for nothing else.
pub(crate) fn events(gate: &Gate, chunks: Vec<Chunk<'_>>) -> Vec<Event<'static>> {
    let count = chunks.len();
    let slow = Slow { chunks: chunks.into_iter(), was_pending: false };
    let mut stream = Box::pin(gate.session().event_stream(slow));
    let mut context = Context::from_waker(Waker::noop());
    let (mut events, mut waits) = (Vec::new(), 0);
    loop {
        match stream.as_mut().poll_next(&mut context) {
            Poll::Ready(Some(event)) => events.push(event),
            Poll::Ready(None) => break,
            Poll::Pending => waits += 1,
        }
    }
    assert_eq!(waits, count + 1, "it waits for chunks and for nothing else");
    assert_eq!(stream.as_mut().poll_next(&mut context), Poll::Ready(None), "what is over stays over");
    events
}
