//! Messages over a pipe: one line each, and none longer than an answer may be.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rmcp::RoleClient;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;

use super::ANSWER;

/// A transport over what a server writes and reads. It keeps no more of a line than an answer may have; whoever holds the
/// receiver hears of each line that was longer, because nobody will answer for it.
pub(super) fn transport<R, W>(
    read: R,
    write: W,
) -> (AsyncRwTransport<RoleClient, Measured<R>, W>, watch::Receiver<()>)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (too_long, heard) = watch::channel(());
    let read = Measured { read, length: 0, too_long };
    (AsyncRwTransport::new(read, write).with_max_line_length(ANSWER), heard)
}

/// What a server writes, with the length of each line counted as it goes by.
pub(super) struct Measured<R> {
    read: R,
    length: usize,
    too_long: watch::Sender<()>,
}

impl<R: AsyncRead + Unpin> AsyncRead for Measured<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.read).poll_read(context, buffer))?;
        for piece in buffer.filled()[before..].split_inclusive(|byte| *byte == b'\n') {
            let was_long = self.length > ANSWER;
            self.length = self.length.saturating_add(piece.len());
            if self.length > ANSWER && !was_long {
                self.too_long.send_replace(());
            }
            if piece.ends_with(b"\n") {
                self.length = 0;
            }
        }
        Poll::Ready(Ok(()))
    }
}
