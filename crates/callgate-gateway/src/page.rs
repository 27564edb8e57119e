//! The page: one document without any other file, and what its playground asks for.

use std::sync::{Arc, LazyLock};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{Response, StatusCode};
use callgate::{Event, FinishReason, Gate, Registry};
use callgate_agent::report::STYLE;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::faces::Face;
use crate::handlers;
use crate::server::Shared;

/// The document, with the looks that all pages share.
static PAGE: LazyLock<String> =
    LazyLock::new(|| include_str!("page.html").replacen("/* the style of all pages */", STYLE, 1));

/// Nothing from elsewhere, and nothing that a model wrote runs.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; img-src data:";

/// The largest text that the playground reads.
const MOST: usize = 256 << 10;

pub(crate) fn page() -> Response<Body> {
    let mut answer = Response::new(PAGE.as_str().into());
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff"));
    headers.insert(HeaderName::from_static("referrer-policy"), HeaderValue::from_static("no-referrer"));
    answer
}

/// What the playground sends.
#[derive(Deserialize)]
struct Tried {
    text: String,
    #[serde(default)]
    tools: Value,
    #[serde(default)]
    dialect: Option<String>,
    /// After how many characters the text is cut; not at all without.
    #[serde(default)]
    cut: usize,
}

/// Reads a text as the gate does, and says after which chunk each event came.
pub(crate) async fn parse(State(shared): State<Arc<Shared>>, request: Request) -> Response<Body> {
    let told = match handlers::request_body(&shared, request).await {
        Ok(body) => tried(&body),
        Err(fault) => return handlers::fault_answer(Face::Chat, &fault),
    };
    let (status, value) = match told {
        Ok(value) => (StatusCode::OK, value),
        Err(why) => (StatusCode::BAD_REQUEST, json!({"error": why})),
    };
    let mut answer = Response::new(value.to_string().into());
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}

fn tried(body: &[u8]) -> Result<Value, String> {
    let tried: Tried = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    if tried.text.len() > MOST {
        return Err(format!("the text is longer than {MOST} bytes"));
    }
    let mut builder = Gate::builder();
    if !tried.tools.is_null() {
        let registry =
            Registry::tolerant(&tried.tools).map_err(|error| format!("{error}; {}", error.help()))?;
        builder = builder.tools(registry);
    }
    if let Some(dialect) = tried.dialect.as_deref().filter(|dialect| !dialect.is_empty()) {
        builder = builder.dialect(dialect);
    }
    let gate = builder.build().map_err(|error| error.to_string())?;
    let mut session = gate.session();
    let mut events: Vec<Value> = Vec::new();
    let mut rest = tried.text.as_str();
    let mut number = 0;
    while !rest.is_empty() {
        let most = if tried.cut == 0 { usize::MAX } else { tried.cut };
        let at = rest.char_indices().nth(most).map_or(rest.len(), |(at, _)| at);
        let (chunk, after) = rest.split_at(at);
        session.push(chunk, &mut |event| events.extend(shown(&event, number)));
        number += 1;
        rest = after;
    }
    session.finish(FinishReason::Stop, &mut |event| events.extend(shown(&event, number)));
    Ok(json!({"events": events, "chunks": number}))
}

fn shown(event: &Event<'_>, chunk: usize) -> Option<Value> {
    let span = event.accounts_for().map(|span| [span.start, span.end]);
    let told = match event {
        Event::Text { text, .. } => json!({"kind": "text", "text": text}),
        Event::Reasoning { text, .. } => json!({"kind": "reasoning", "text": text}),
        Event::Markup { .. } => json!({"kind": "markup"}),
        Event::Call(call) => json!({"kind": "call", "call": call}),
        Event::Rejected(rejected) => json!({"kind": "rejected", "rejected": rejected}),
        Event::Finding(finding) => json!({"kind": "finding", "finding": finding}),
        Event::CallStarted { name, .. } => json!({"kind": "started", "text": name}),
        Event::ArgumentsDelta { delta, .. } => json!({"kind": "arguments", "text": delta}),
        _ => return None,
    };
    let mut told = told;
    told["chunk"] = chunk.into();
    told["span"] = json!(span);
    Some(told)
}
