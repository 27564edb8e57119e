//! Patience: connections of clients that do not take what they are sent are closed, and bodies that stop coming are ended.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::{Instant, Sleep};

/// A connection on which a write may take only so long. Without that, a client that asks and never reads would hold its
/// request, and the model's server, for ever.
pub(crate) struct Patient<T> {
    inner: T,
    most: Duration,
    /// Until when the write that waits has to go on.
    waits: Option<Pin<Box<Sleep>>>,
}

impl<T> Patient<T> {
    pub(crate) fn new(inner: T, most: Duration) -> Self {
        Patient { inner, most, waits: None }
    }

    /// The end of a wait that took too long, or what it came to.
    fn limited<R>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<R>>) -> Poll<io::Result<R>> {
        if written.is_ready() {
            self.waits = None;
            return written;
        }
        let most = self.most;
        let waits = self.waits.get_or_insert_with(|| Box::pin(tokio::time::sleep(most)));
        match waits.as_mut().poll(context) {
            Poll::Ready(()) => {
                Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client does not read")))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: Read + Unpin> Read for Patient<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(context, buffer)
    }
}

impl<T: Write + Unpin> Write for Patient<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(context, bytes);
        self.limited(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write_vectored(context, parts);
        self.limited(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.inner).poll_flush(context);
        self.limited(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let ended = Pin::new(&mut self.inner).poll_shutdown(context);
        self.limited(context, ended)
    }
}

/// The body of an answer that is passed through: it ends with an error if nothing comes for so long. What it holds is let
/// go with it.
pub(crate) struct Passing<H> {
    body: Incoming,
    idle: Duration,
    silence: Pin<Box<Sleep>>,
    _held: H,
}

impl<H> Passing<H> {
    pub(crate) fn new(body: Incoming, idle: Duration, held: H) -> Self {
        Passing { body, idle, silence: Box::pin(tokio::time::sleep(idle)), _held: held }
    }
}

impl<H: Unpin> Body for Passing<H> {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = &mut *self;
        match Pin::new(&mut this.body).poll_frame(context) {
            Poll::Ready(next) => {
                this.silence.as_mut().reset(Instant::now() + this.idle);
                Poll::Ready(next.map(|frame| frame.map_err(io::Error::other)))
            }
            Poll::Pending => this.silence.as_mut().poll(context).map(|()| {
                Some(Err(io::Error::new(io::ErrorKind::TimedOut, "the model's server stopped answering")))
            }),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
