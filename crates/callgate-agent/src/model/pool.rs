//! Connections that stay open after an answer, for the next request to the same server.
//!
//! Nobody moves the bytes of a connection that waits, so what the server did meanwhile shows when it is taken out. It waits
//! for less than the five seconds after which many servers close theirs.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::SendRequest;
use hyper::{Request, Response};
use tokio::time::Instant;

use super::BoxFuture;

/// How long a connection waits for a next request.
const WAIT: Duration = Duration::from_secs(4);

/// The most connections that wait.
const MOST: usize = 128;

/// A connection over which requests go one after the other.
pub(super) struct Line {
    sender: SendRequest<Full<Bytes>>,
    /// What moves the bytes, until the connection is over. Without it the connection closes.
    driver: Option<BoxFuture<'static, ()>>,
}

impl Line {
    pub(super) fn new(sender: SendRequest<Full<Bytes>>, driver: BoxFuture<'static, ()>) -> Self {
        Line { sender, driver: Some(driver) }
    }

    /// Sends a request, and waits for the head of its answer.
    pub(super) async fn send(&mut self, request: Request<Full<Bytes>>) -> hyper::Result<Response<Incoming>> {
        let Line { sender, driver } = self;
        moving(driver, async {
            sender.ready().await?;
            sender.send_request(request).await
        })
        .await
    }

    /// Moves bytes until this is done.
    pub(super) async fn until<T>(&mut self, done: impl Future<Output = T>) -> T {
        moving(&mut self.driver, done).await
    }

    /// Whether the server still holds the other end, as far as can be seen now.
    fn is_open(&mut self) -> bool {
        advance(&mut self.driver, &mut Context::from_waker(Waker::noop()));
        self.driver.is_some() && !self.sender.is_closed()
    }
}

async fn moving<T>(driver: &mut Option<BoxFuture<'static, ()>>, done: impl Future<Output = T>) -> T {
    let mut done = pin!(done);
    poll_fn(|context| {
        advance(driver, context);
        done.as_mut().poll(context)
    })
    .await
}

fn advance(driver: &mut Option<BoxFuture<'static, ()>>, context: &mut Context<'_>) {
    let is_over =
        driver.as_mut().is_some_and(|moving| matches!(moving.as_mut().poll(context), Poll::Ready(())));
    if is_over {
        *driver = None;
    }
}

/// The connections to one server that wait.
#[derive(Default)]
pub(super) struct Pool {
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    /// Each with the moment at which it is closed, the latest at the end.
    lines: Vec<(Instant, Line)>,
    /// Whether somebody closes those that waited too long.
    is_swept: bool,
}

impl Pool {
    /// A connection that is still open, the one that waited shortest.
    pub(super) fn take(&self) -> Option<Line> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        while let Some((until, mut line)) = waiting.lines.pop() {
            if until > now && line.is_open() {
                return Some(line);
            }
        }
        None
    }

    /// Keeps a connection whose answer is over.
    pub(super) fn keep(self: &Arc<Self>, mut line: Line) {
        if !line.is_open() {
            return;
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.lines.len() >= MOST {
            return;
        }
        waiting.lines.push((Instant::now() + WAIT, line));
        if !std::mem::replace(&mut waiting.is_swept, true) {
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }

    /// Closes all that wait.
    pub(super) fn clear(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).lines.clear();
    }

    /// Closes those that waited too long; gives back when the next one has, if there is one.
    fn expire(&self) -> Option<Instant> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        waiting.lines.retain(|(until, _)| *until > now);
        let next = waiting.lines.first().map(|(until, _)| *until);
        waiting.is_swept = next.is_some();
        next
    }
}

/// Closes connections that waited too long, as long as there are any.
async fn sweep(pool: Weak<Pool>) {
    let mut next = Instant::now() + WAIT;
    loop {
        tokio::time::sleep_until(next).await;
        match pool.upgrade().and_then(|pool| pool.expire()) {
            Some(until) => next = until,
            None => return,
        }
    }
}
