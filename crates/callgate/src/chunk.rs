//! Chunks: a response as the chunks that a provider sends, read by a session as an iterator or a stream of events.

use std::borrow::Cow;
use std::collections::VecDeque;

use crate::ending::FinishReason;
use crate::event::Event;
use crate::native::NativeDelta;
use crate::session::Session;

/// A chunk of a response, cut anywhere. Text, bytes, deltas of structured calls and the reason of the end become one by
/// `into()`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Chunk<'a> {
    /// Text.
    Text(Cow<'a, str>),
    /// Text that came as special tokens of the model's vocabulary; see [`Session::push_special`].
    Special(Cow<'a, str>),
    /// Text as bytes, cut even inside of characters.
    Bytes(Cow<'a, [u8]>),
    /// Reasoning that the provider sends apart from the text.
    Reasoning(Cow<'a, str>),
    /// A delta of a structured call; see [`NativeDelta`].
    Native {
        /// Which call of the response, as the provider counts.
        index: Option<usize>,
        /// The id, usually in the first delta only.
        id: Option<Cow<'a, str>>,
        /// The name or a part of it.
        name: Option<Cow<'a, str>>,
        /// A part of the arguments.
        arguments: Option<Cow<'a, str>>,
        /// Whether this is the last delta.
        done: bool,
    },
    /// Why the response ends, which the end of the chunks alone does not say. A connection that breaks is
    /// [`FinishReason::Failed`].
    End(FinishReason),
}

impl<'a> From<&'a str> for Chunk<'a> {
    fn from(text: &'a str) -> Self {
        Chunk::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Chunk<'_> {
    fn from(text: String) -> Self {
        Chunk::Text(Cow::Owned(text))
    }
}

impl<'a> From<&'a [u8]> for Chunk<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Chunk::Bytes(Cow::Borrowed(bytes))
    }
}

impl From<Vec<u8>> for Chunk<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Chunk::Bytes(Cow::Owned(bytes))
    }
}

impl<'a> From<NativeDelta<'a>> for Chunk<'a> {
    fn from(delta: NativeDelta<'a>) -> Self {
        Chunk::Native {
            index: delta.index,
            id: delta.id.map(Cow::Borrowed),
            name: delta.name.map(Cow::Borrowed),
            arguments: delta.arguments.map(Cow::Borrowed),
            done: delta.done,
        }
    }
}

impl From<FinishReason> for Chunk<'_> {
    fn from(reason: FinishReason) -> Self {
        Chunk::End(reason)
    }
}

impl Session {
    /// Reads chunks as they are asked for, and gives the events that each causes; when the chunks end, so does the
    /// response. An iterator that is dropped before its end has lost the calls.
    ///
    /// ```
    /// use callgate::{Chunk, Event, FinishReason, Gate};
    ///
    /// let gate = Gate::builder().build()?;
    /// let chunks: [Chunk; 3] = [
    ///     "On it. <tool_call>{\"name\": \"lo".into(),
    ///     "ok\", \"arguments\": {}}</tool_call>".into(),
    ///     FinishReason::Stop.into(),
    /// ];
    /// let mut names = Vec::new();
    /// for event in gate.session().events(chunks) {
    ///     if let Event::Call(call) = event {
    ///         names.push(call.name);
    ///     }
    /// }
    /// assert_eq!(names, ["look"]);
    /// # Ok::<(), callgate::GateError>(())
    /// ```
    pub fn events<'c, I>(self, chunks: I) -> impl Iterator<Item = Event<'static>> + use<'c, I>
    where
        I: IntoIterator,
        I::Item: Into<Chunk<'c>>,
    {
        let mut reading = Pump::new(self);
        let mut chunks = chunks.into_iter().fuse();
        std::iter::from_fn(move || {
            while reading.events.is_empty() && !reading.is_over() {
                reading.take(chunks.next().map(Into::into));
            }
            reading.events.pop_front()
        })
    }

    /// The same for a stream of chunks: a stream of events. It needs no runtime, and waits for nothing but the chunks.
    ///
    /// ```
    /// use std::pin::{Pin, pin};
    /// use std::task::{Context, Poll, Waker};
    /// use callgate::{Event, Gate};
    /// use futures_core::Stream;
    ///
    /// /// Chunks that are all there. Those of a model's server come as they are made.
    /// struct Ready(std::vec::IntoIter<&'static str>);
    ///
    /// impl Stream for Ready {
    ///     type Item = &'static str;
    ///
    ///     fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
    ///         Poll::Ready(self.0.next())
    ///     }
    /// }
    ///
    /// let gate = Gate::builder().build()?;
    /// let chunks = Ready(vec!["<tool_call>{\"name\": \"look\", ", "\"arguments\": {}}</tool_call>"].into_iter());
    /// let mut events = pin!(gate.session().event_stream(chunks));
    /// let mut names = Vec::new();
    /// # let mut context = Context::from_waker(Waker::noop());
    /// # macro_rules! next { () => { match events.as_mut().poll_next(&mut context) {
    /// #     Poll::Ready(event) => event, Poll::Pending => None } } }
    /// while let Some(event) = next!() { // `events.next().await` with `futures::StreamExt`
    ///     if let Event::Call(call) = event {
    ///         names.push(call.name);
    ///     }
    /// }
    /// assert_eq!(names, ["look"]);
    /// # Ok::<(), callgate::GateError>(())
    /// ```
    #[cfg(feature = "stream")]
    pub fn event_stream<'c, S>(
        self,
        chunks: S,
    ) -> impl futures_core::Stream<Item = Event<'static>> + use<'c, S>
    where
        S: futures_core::Stream,
        S::Item: Into<Chunk<'c>>,
    {
        stream::Events::new(Pump::new(self), chunks)
    }
}

/// A session on its way from chunks to events.
#[derive(Debug)]
struct Pump {
    /// Absent once the response is over.
    session: Option<Session>,
    reason: FinishReason,
    /// What was caused and not yet asked for.
    events: VecDeque<Event<'static>>,
}

impl Pump {
    fn new(session: Session) -> Self {
        Pump { session: Some(session), reason: FinishReason::default(), events: VecDeque::new() }
    }

    fn is_over(&self) -> bool {
        self.session.is_none()
    }

    /// Reads the next chunk; after the last one the response is over.
    fn take(&mut self, chunk: Option<Chunk<'_>>) {
        let Some(mut session) = self.session.take() else { return };
        let events = &mut self.events;
        let sink = &mut |event: Event<'_>| events.push_back(event.into_owned());
        match chunk {
            Some(Chunk::Text(text)) => session.push(&text, sink),
            Some(Chunk::Special(text)) => session.push_special(&text, sink),
            Some(Chunk::Bytes(bytes)) => session.push_bytes(&bytes, sink),
            Some(Chunk::Reasoning(text)) => session.reasoning(&text, sink),
            Some(Chunk::Native { index, id, name, arguments, done }) => {
                let (id, name, arguments) = (id.as_deref(), name.as_deref(), arguments.as_deref());
                session.native(NativeDelta { index, id, name, arguments, done }, sink);
            }
            Some(Chunk::End(reason)) => self.reason = reason,
            None => return session.finish(self.reason, sink),
        }
        self.session = Some(session);
    }
}

#[cfg(feature = "stream")]
mod stream {
    use std::marker::PhantomData;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use futures_core::Stream;

    use super::{Chunk, Event, Pump};

    /// The events of a stream of chunks. The chunks are boxed, so that this can be moved while they must not be.
    pub(super) struct Events<'c, S> {
        reading: Pump,
        chunks: Pin<Box<S>>,
        chunk: PhantomData<fn(Chunk<'c>)>,
    }

    impl<S> Events<'_, S> {
        pub(super) fn new(reading: Pump, chunks: S) -> Self {
            Events { reading, chunks: Box::pin(chunks), chunk: PhantomData }
        }
    }

    impl<'c, S> Stream for Events<'c, S>
    where
        S: Stream,
        S::Item: Into<Chunk<'c>>,
    {
        type Item = Event<'static>;

        fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            let Events { reading, chunks, .. } = self.get_mut();
            while reading.events.is_empty() && !reading.is_over() {
                match chunks.as_mut().poll_next(context) {
                    Poll::Ready(chunk) => reading.take(chunk.map(Into::into)),
                    Poll::Pending => return Poll::Pending,
                }
            }
            Poll::Ready(reading.events.pop_front())
        }
    }
}
