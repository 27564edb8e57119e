//! Messages over a pipe: one line each, and none larger than an answer may be.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rmcp::RoleClient;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::watch;

use super::ANSWER;
use super::size::Size;

/// A transport over what a server writes and reads. Of a line that is larger than an answer may be the rest does not pass;
/// whoever holds the receiver hears of it, because nobody will answer for it.
pub(super) fn transport<R, W>(
    read: R,
    write: W,
) -> (AsyncRwTransport<RoleClient, Measured<R>, W>, watch::Receiver<()>)
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (too_long, heard) = watch::channel(());
    let read = Measured { read, size: Size::default(), is_within: true, too_long };
    (AsyncRwTransport::new(read, write).with_max_line_length(ANSWER), heard)
}

/// What a server writes, with the size of each line counted as it goes by.
pub(super) struct Measured<R> {
    read: R,
    /// The size of the line so far, and whether it is within the limits.
    size: Size,
    is_within: bool,
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
        let end = buffer.filled().len();
        let (mut at, mut kept) = (before, before);
        while at < end {
            let rest = &buffer.filled()[at..];
            let line_end = rest.iter().position(|byte| *byte == b'\n').map(|place| at + place + 1);
            let next = line_end.unwrap_or(end);
            if self.is_within && !self.size.add(&rest[..next - at]) {
                self.is_within = false;
                self.too_long.send_replace(());
            }
            // The end of the line passes, so that the next one begins behind it.
            let passed = if self.is_within { at } else { next - usize::from(line_end.is_some()) };
            buffer.filled_mut().copy_within(passed..next, kept);
            kept += next - passed;
            if line_end.is_some() {
                (self.size, self.is_within) = (Size::default(), true);
            }
            at = next;
        }
        buffer.set_filled(kept);
        if kept == before && end > before {
            // Reading nothing would mean that the pipe is closed, so yield and read again.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }
}
