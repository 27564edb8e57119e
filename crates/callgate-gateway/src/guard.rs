//! Guards: who may ask, from where, how often and how many at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use axum::http::header::{AUTHORIZATION, HOST, HeaderMap, ORIGIN};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::config::{KeySettings, Settings};
use crate::fault::Fault;

/// Checks where a request comes from: a page of another site must not reach a server on this machine by a name that leads
/// here, nor at all.
pub(crate) fn check_origin(settings: &Settings, headers: &HeaderMap) -> Result<(), Fault> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let Some(host) = text(HOST) else {
        return Err(Fault::bad_request("the request has no Host header"));
    };
    let name = without_port(host);
    if !is_known(settings, name) {
        let message =
            format!("this server is not known as {name:?}; `hosts` in its settings lists its names");
        return Err(Fault::new(403, "unknown-host", message));
    }
    // `null` is what a page says that hides where it comes from.
    let Some(origin) = headers.get(ORIGIN).map(|origin| origin.to_str().unwrap_or_default()) else {
        return Ok(());
    };
    let from = origin.split_once("://").map_or(origin, |(_, rest)| rest);
    if from == host || settings.hosts.iter().any(|host| host == without_port(from)) {
        return Ok(());
    }
    Err(Fault::new(403, "foreign-origin", format!("pages of {origin:?} may not use this server")))
}

fn without_port(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => host.split(':').next().unwrap_or(host),
    }
}

fn is_known(settings: &Settings, name: &str) -> bool {
    let is_here = name.eq_ignore_ascii_case("localhost")
        || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback());
    is_here
        || settings.hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
        // The address that it listens at, where that is one and not all.
        || settings.listen.rsplit_once(':').is_some_and(|(listens, _)| listens.trim_matches(['[', ']']) == name)
}

/// The keys of clients, and what each has used.
#[derive(Default)]
pub(crate) struct Keys {
    used: Mutex<BTreeMap<String, Used>>,
}

struct Used {
    since: Instant,
    requests: u32,
    at_once: Arc<Semaphore>,
    most: Option<usize>,
}

/// A client that may ask.
pub(crate) struct Client {
    pub(crate) name: String,
    /// Held for as long as its request is worked on.
    _permit: Option<OwnedSemaphorePermit>,
}

impl Keys {
    /// Who asks, if they may.
    pub(crate) fn admit(&self, settings: &Settings, headers: &HeaderMap) -> Result<Client, Fault> {
        let Some(row) = known(settings, headers)? else {
            return Ok(Client { name: String::new(), _permit: None });
        };
        let name = row.name.clone();
        let Ok(mut used) = self.used.lock() else { return Ok(Client { name, _permit: None }) };
        let fresh = || Used {
            since: Instant::now(),
            requests: 0,
            at_once: Arc::new(Semaphore::new(
                row.concurrent.unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS),
            )),
            most: row.concurrent,
        };
        let entry = used.entry(name.clone()).or_insert_with(fresh);
        if entry.most != row.concurrent {
            *entry = fresh();
        }
        let minute = Duration::from_secs(60);
        if entry.since.elapsed() >= minute {
            (entry.since, entry.requests) = (Instant::now(), 0);
        }
        if row.requests_per_minute.is_some_and(|most| entry.requests >= most) {
            let rest = minute.saturating_sub(entry.since.elapsed()).as_secs().max(1);
            return Err(Fault::new(
                429,
                "too-many-requests",
                "this key has spent its requests of this minute",
            )
            .after(rest));
        }
        let permit = entry.at_once.clone().try_acquire_owned();
        let permit = permit.map_err(|_| {
            Fault::new(429, "too-many-at-once", "this key has too many requests open").after(1)
        })?;
        // What is turned away spends nothing.
        entry.requests += 1;
        Ok(Client { name, _permit: Some(permit) })
    }
}

/// The row of the key that a request shows; nothing where none is needed.
fn known<'s>(settings: &'s Settings, headers: &HeaderMap) -> Result<Option<&'s KeySettings>, Fault> {
    if settings.keys.is_empty() {
        return Ok(None);
    }
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text(AUTHORIZATION.as_str()).and_then(|value| value.split_once(' '));
    let bearer = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, key)| key);
    let Some(key) = bearer.or_else(|| text("x-api-key")).or_else(|| text("api-key")) else {
        return Err(Fault::new(
            401,
            "no-key",
            "this server wants a key: `Authorization: Bearer KEY` or `x-api-key: KEY`",
        ));
    };
    let shown = Sha256::digest(key.trim().as_bytes());
    let mut found = None;
    // All are compared, so that the time says nothing about which.
    for row in &settings.keys {
        if bool::from(digest(&row.sha256).ct_eq(shown.as_slice())) {
            found = Some(row);
        }
    }
    found.map(Some).ok_or_else(|| Fault::new(401, "wrong-key", "this key is not known here"))
}

/// The bytes of hexadecimal digits that have been checked.
fn digest(digits: &str) -> Vec<u8> {
    let digit =
        |byte: u8| (byte as char).to_digit(16).and_then(|digit| u8::try_from(digit).ok()).unwrap_or(0);
    digits
        .as_bytes()
        .chunks(2)
        .map(|pair| pair.iter().fold(0u8, |sum, byte| sum << 4 | digit(*byte)))
        .collect()
}

/// How many requests are worked on at once, and how many wait.
pub(crate) struct Places {
    open: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
}

impl Places {
    pub(crate) fn new(open: usize, waiting: usize) -> Self {
        Places { open: Arc::new(Semaphore::new(open)), waiting: Arc::new(Semaphore::new(waiting)) }
    }

    /// A place, as soon as there is one; none if too many wait.
    pub(crate) async fn take(&self) -> Result<OwnedSemaphorePermit, Fault> {
        let busy = || Fault::new(503, "busy", "too many requests are waiting").after(1);
        if let Ok(permit) = self.open.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let _waits = self.waiting.clone().try_acquire_owned().map_err(|_| busy())?;
        self.open.clone().acquire_owned().await.map_err(|_| busy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn only_known_names_and_own_pages_get_in() {
        let settings = Settings { hosts: vec!["gate.example".to_owned()], ..Settings::default() };
        for (pairs, wanted) in [
            (&[("host", "127.0.0.1:8642")][..], true),
            (&[("host", "localhost:1")], true),
            (&[("host", "[::1]:8642")], true),
            (&[("host", "gate.example")], true),
            (&[("host", "rebound.example:8642")], false),
            (&[], false),
            (&[("host", "localhost:8642"), ("origin", "http://localhost:8642")], true),
            (&[("host", "localhost:8642"), ("origin", "https://evil.example")], false),
            (&[("host", "localhost:8642"), ("origin", "http://localhost:9999")], false),
            (&[("host", "localhost:8642"), ("origin", "null")], false),
            (&[("host", "localhost:8642"), ("origin", "")], false),
        ] {
            assert_eq!(check_origin(&settings, &headers(pairs)).is_ok(), wanted, "{pairs:?}");
        }
    }

    #[test]
    fn a_key_is_needed_where_there_is_one_and_its_limits_hold() {
        let sha256 = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae".to_owned();
        let key =
            KeySettings { name: "a".to_owned(), sha256, requests_per_minute: Some(2), concurrent: Some(1) };
        let settings = Settings { keys: vec![key], ..Settings::default() };
        let keys = Keys::default();
        let code = |pairs| keys.admit(&settings, &headers(pairs)).err().map(|fault| fault.code);
        assert_eq!(code(&[]), Some("no-key"));
        assert_eq!(code(&[("authorization", "Bearer bar")]), Some("wrong-key"));
        let first = keys.admit(&settings, &headers(&[("x-api-key", "foo")]));
        assert!(first.is_ok());
        assert_eq!(code(&[("authorization", "Bearer foo")]), Some("too-many-at-once"));
        drop(first);
        // The one that was turned away is not counted, and the scheme is a word in any letters.
        assert_eq!(code(&[("authorization", "bearer  foo")]), None);
        assert_eq!(code(&[("authorization", "Bearer foo")]), Some("too-many-requests"));
    }
}
