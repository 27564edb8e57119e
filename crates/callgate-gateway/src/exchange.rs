//! Exchanges: one request of a client, from the first question to the model to the last word to the client.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use callgate::{Call, Code, Event, Finding, FinishReason, Rejected, Response, Session};
use callgate_agent::id::random_id;
use callgate_agent::model::{Collected, ModelChunk, ModelFault, Usage};
use callgate_agent::report::Part;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::answer::{Ending, Out, OutCall};
use crate::asked::{Asked, ToolChoice};
use crate::config::{CallsBy, OnFailure, ReleaseAt, Settings};
use crate::fault::Fault;
use crate::form::{Form, Waiting};
use crate::metrics::{Added, Metrics};
use crate::plan::Plan;
use crate::recent::Exchange;
use crate::records::Records;
use crate::settle::{self, Outcome};
use crate::shown::Shown;
use crate::upstream::{Chunks, Upstream, is_another_worth};
use crate::wire::{self, Manner, Wire};

/// The most parts of an answer that wait for others which came with them.
const TOGETHER: usize = 16;

/// Where the answer goes. Sending fails when the client is gone.
pub(crate) type ToClient = mpsc::Sender<Out>;

/// What one exchange needs.
pub(crate) struct Means<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) metrics: &'a Metrics,
    pub(crate) records: &'a Records,
    pub(crate) plan: &'a Plan,
    /// The servers of the model in the order in which they are tried.
    pub(crate) upstreams: Vec<&'a Upstream>,
    /// When the request came.
    pub(crate) started: std::time::Instant,
}

/// Why an exchange ended before its end.
pub(crate) enum Broken {
    /// The client is gone.
    Gone,
    Fault(Fault),
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        Broken::Fault(fault)
    }
}

impl From<mpsc::error::SendError<Out>> for Broken {
    fn from(_: mpsc::error::SendError<Out>) -> Self {
        Broken::Gone
    }
}

/// One answer of a model, judged.
pub(crate) struct Judged {
    pub(crate) response: Response,
    pub(crate) usage: Usage,
    /// How long the server, and the client, were waited for.
    pub(crate) waited: Duration,
    /// Why it was cut off, if it was, whatever stands of it.
    pub(crate) cut: Option<FinishReason>,
}

/// Answers a request. What happened is noted in `seen`.
pub(crate) async fn run(
    means: &Means<'_>,
    asked: &Asked,
    to: &ToClient,
    seen: &mut Exchange,
) -> Result<(), Broken> {
    means.metrics.added(Added::Before, means.started.elapsed());
    if asked.is_load && means.upstreams.first().is_none_or(|upstream| upstream.wire() != Wire::Ollama) {
        // Only Ollama's servers load a model without a question.
        to.send(Out::End(Box::default())).await?;
        return Ok(());
    }
    let since = Instant::now();
    let (chunks, upstream) = tokio::select! {
        biased;
        () = to.closed() => return Err(Broken::Gone),
        asked = ask(means, asked) => asked?,
    };
    let asking = since.elapsed();
    seen.answered_by(upstream);
    let mut noted = None;
    let lost = wire::lost(asked, upstream.wire());
    let asked = match lost.is_empty() {
        true => asked,
        false => {
            let noted = noted.insert(asked.clone());
            noted.notes.extend(lost);
            noted
        }
    };
    let release = match means.settings.release {
        // Nobody sees a part of an answer that is sent whole.
        _ if !asked.stream => ReleaseAt::Verified,
        // Whether a document is the answer or a call is known when it is over.
        _ if Form::of(asked).is_some() => ReleaseAt::Verified,
        ReleaseAt::Settled if means.records.has_audit() => ReleaseAt::Verified,
        release => release,
    };
    let mut shown = Shown::new(release);
    let judged = read(means.plan, asked, chunks, Some((to, &mut shown)), Some(seen)).await?;
    means.metrics.judged(&asked.model, &judged.response);
    means.records.first(means.plan, &judged.response, seen);
    let outcome = match shown.is_void() {
        // What was shown cannot be taken back: a correction would come beside it.
        true => {
            let Judged { response, usage, waited, cut } = judged;
            let failure = response.rejected.first().map(sentence);
            Outcome { response, usage, retries: 0, failure, waited, cut }
        }
        false => settle::settle(means, asked, upstream, judged, to).await?,
    };
    means.records.judged(means.plan, &outcome, seen).await?;
    means.metrics.added(Added::Answer, since.elapsed().saturating_sub(asking + outcome.waited));
    finish(means, asked, outcome, &shown, to, seen).await
}

/// Asks the servers of the model, one after the other, until one answers.
async fn ask<'a>(means: &Means<'a>, asked: &Asked) -> Result<(Chunks, &'a Upstream), Fault> {
    let mut last = None;
    for upstream in &means.upstreams {
        match send(means.plan, asked, upstream).await {
            Ok(chunks) => return Ok((chunks, upstream)),
            Err(fault) => {
                means.metrics.upstream_fault(&upstream.name, fault.code.word());
                let is_over = !is_another_worth(&fault);
                last = Some(fault);
                if is_over {
                    break;
                }
            }
        }
    }
    Err(last.as_ref().map_or_else(
        || {
            Fault::new(
                404,
                "no-upstream",
                format!("no server is known that serves the model {:?}", asked.model),
            )
            .at("model")
        },
        Fault::of_model,
    ))
}

/// Sends a request to one server.
pub(crate) async fn send(plan: &Plan, asked: &Asked, upstream: &Upstream) -> Result<Chunks, ModelFault> {
    let manner = Manner {
        calls: plan.calls,
        model: &plan.model,
        record: plan.record,
        registry: plan.gate.registry(),
        keeps_thoughts: plan.keeps_thoughts,
    };
    upstream.ask(&wire::body(asked, &manner, upstream.wire()), asked.trace.as_ref()).await
}

/// Reads an answer through the gate; text and thoughts go to the client as they come.
pub(crate) async fn read(
    plan: &Plan,
    asked: &Asked,
    mut chunks: Chunks,
    client: Option<(&ToClient, &mut Shown)>,
    seen: Option<&mut Exchange>,
) -> Result<Judged, Broken> {
    let mut session = plan.gate.session().with_id_prefix(&format!("call_{}_", random_id()));
    if let Some(tail) = &plan.prompt_tail {
        session = session.with_prompt_tail(tail);
    }
    for result in asked.results() {
        session.untrusted(&result);
    }
    let (to, shown) = client.unzip();
    let form = Form::of(asked).zip(plan.gate.registry());
    let waiting = form.is_some().then(Waiting::default);
    let mut raw = String::new();
    let mut reader = Reader {
        choice: &asked.choice,
        seen,
        shown,
        outs: Vec::new(),
        places: 0,
        collected: Collected::default(),
        waiting,
    };
    let (mut usage, mut ended, mut waited) = (Usage::default(), None, Duration::ZERO);
    // One wait for the whole answer: a new one for each chunk would take a lock for each.
    let mut gone = pin!(async {
        match to {
            Some(to) => to.closed().await,
            None => std::future::pending().await,
        }
    });
    loop {
        let next = match to.filter(|_| !reader.outs.is_empty()) {
            // What came together leaves together: a part of its own costs a write.
            Some(to) => {
                let has_room = reader.outs.len() < TOGETHER;
                let ready = if has_room { if_ready(chunks.next()).await } else { None };
                match ready {
                    Some(next) => next,
                    None => {
                        let since = Instant::now();
                        reader.send(to).await?;
                        waited += since.elapsed();
                        continue;
                    }
                }
            }
            None => {
                let since = Instant::now();
                let next = tokio::select! {
                    biased;
                    () = &mut gone => return Err(Broken::Gone),
                    next = chunks.next() => next,
                };
                waited += since.elapsed();
                next
            }
        };
        let chunk = match next {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(fault) => {
                if let Some(to) = to {
                    reader.send(to).await?;
                }
                return Err(Fault::of_model(&fault).into());
            }
        };
        if let (Some(seen), ModelChunk::Text(text)) = (&mut reader.seen, &chunk) {
            seen.take_text(text);
        }
        if let (Some(_), ModelChunk::Text(text)) = (&form, &chunk) {
            raw.push_str(text);
        }
        chunk.feed(&mut session, &mut |event| reader.take(event));
        if plan.calls != CallsBy::Native {
            reader.take_settled(&session);
        }
        if let ModelChunk::End { reason, usage: cost } = chunk {
            ended = Some(reason);
            usage += cost;
        }
    }
    drop(chunks);
    let reason = ended.unwrap_or(FinishReason::Failed);
    session.finish(reason, &mut |event| reader.take(event));
    let mut response = std::mem::take(&mut reader.collected).finish(reason);
    let mut waiting = reader.waiting.take().unwrap_or_default();
    let document = form.and_then(|(form, tools)| form.take(tools, &raw, &mut waiting, &mut response));
    let is_cut = matches!(reason, FinishReason::Length | FinishReason::ContentFilter);
    if let Some((words, part)) = document {
        response.finish_reason = if is_cut { reason } else { FinishReason::Stop };
        reader.outs.push(Out::Text(words));
        if let Some(seen) = &mut reader.seen {
            seen.parts.retain(|other| other.end <= part.start);
            seen.parts.push(part);
        }
    }
    let rest = waiting.rest();
    if !rest.is_empty() {
        reader.outs.push(Out::Text(rest));
    }
    if let Some(to) = to {
        reader.send(to).await?;
    }
    Ok(Judged { response, usage, waited, cut: is_cut.then_some(reason) })
}

/// What comes of a future that needs not wait.
async fn if_ready<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Where the events of an answer go.
struct Reader<'a> {
    choice: &'a ToolChoice,
    seen: Option<&'a mut Exchange>,
    shown: Option<&'a mut Shown>,
    /// What may leave and has not yet.
    outs: Vec<Out>,
    /// How many calls and rejections have come out.
    places: usize,
    collected: Collected,
    /// Words that may belong to a document, where one was asked for.
    waiting: Option<Waiting>,
}

impl Reader<'_> {
    fn take(&mut self, event: Event<'_>) {
        let is_judged = matches!(event, Event::Call(_) | Event::Rejected(_));
        let words = self.waiting.as_mut().and_then(|waiting| waiting.take(&event));
        if let Some(words) = words {
            if !words.is_empty() {
                self.outs.push(Out::Text(words));
            }
        } else if let Some(shown) = &mut self.shown {
            match is_judged {
                true => shown.judged(&event, self.places, &mut self.outs),
                false => shown.take(&event, self.choice, &mut self.outs),
            }
        }
        self.places += usize::from(is_judged);
        if let Some(seen) = &mut self.seen {
            Part::note(&mut seen.parts, &event);
        }
        self.collected.push(event);
    }

    /// Lets out the calls that stand whatever comes next.
    fn take_settled(&mut self, session: &Session) {
        if let Some(shown) = &mut self.shown
            && *self.choice != ToolChoice::None
        {
            shown.settle(session.settled(), &mut self.outs);
        }
    }

    async fn send(&mut self, to: &ToClient) -> Result<(), Broken> {
        for out in self.outs.drain(..) {
            to.send(out).await?;
        }
        Ok(())
    }
}

/// Tells the client what stands, and how the answer ends.
async fn finish(
    means: &Means<'_>,
    asked: &Asked,
    outcome: Outcome,
    shown: &Shown,
    to: &ToClient,
    seen: &mut Exchange,
) -> Result<(), Broken> {
    let Outcome { mut response, usage, retries, mut failure, cut, .. } = outcome;
    // The same id in the stream and at the end.
    for call in &mut response.calls {
        if let Some((_, id, _)) = shown.at(call.attempt) {
            id.clone_into(&mut call.id);
        }
    }
    let is_silent = asked.choice == ToolChoice::None;
    let calls: &[Call] = if is_silent { &[] } else { &response.calls };
    if is_silent && response.text.trim().is_empty() {
        failure = failure.or_else(|| unwanted(&response));
    }
    let verdict = verdict(asked, &response, is_silent, retries, failure.as_deref());
    seen.verdict.clone_from(&verdict);
    seen.retries = retries;
    seen.calls = calls
        .iter()
        .map(|call| json!({"name": call.name, "arguments": call.arguments, "dialect": &*call.dialect}))
        .collect();
    for call in calls {
        means.metrics.call(
            &asked.model,
            &call.dialect,
            !call.repairs.is_empty() || !call.coercions.is_empty(),
        );
    }
    for rejected in &response.rejected {
        means.metrics.rejection(&asked.model, &rejected.dialect);
    }
    means.metrics.retries(&asked.model, retries);
    // What was shown and does not stand cannot be taken back: the client is told that the answer is void.
    if let Some(place) = shown.void(calls) {
        let why = response.rejected.iter().find(|rejected| Some(rejected.attempt) == place).map(sentence);
        let why = why.unwrap_or_else(|| "a call that was shown does not stand".to_owned());
        return Err(Fault::new(422, "call-rejected", why).into());
    }
    if let Some(failure) = failure {
        match means.settings.on_failure {
            OnFailure::Explain => {
                let gap = if response.text.trim().is_empty() { "" } else { "\n\n" };
                to.send(Out::Text(format!("{gap}{failure}"))).await?;
            }
            OnFailure::Error if calls.is_empty() => {
                return Err(Fault::new(422, "call-rejected", failure).into());
            }
            OnFailure::Error | OnFailure::Quiet => {}
        }
    }
    let mut place = shown.len();
    for call in calls {
        let at = match shown.at(call.attempt) {
            Some((_, _, true)) => continue,
            Some((at, ..)) => at,
            None => {
                place += 1;
                place - 1
            }
        };
        let out = OutCall {
            place: at,
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            begun: shown.at(call.attempt).is_some(),
        };
        to.send(Out::Call(out)).await?;
    }
    let mut verdict = verdict.filter(|_| means.settings.marks);
    if let Some(cut) = cut.filter(|_| !calls.is_empty()) {
        // Some APIs have one word for how an answer ended, and that says that tools were called. It is no mark: what was
        // cut off would be lost without it.
        verdict.get_or_insert_with(|| json!({}))["finish_reason"] = cut.word().into();
    }
    let reason = cut.unwrap_or(response.finish_reason);
    to.send(Out::End(Box::new(Ending { reason, usage, verdict }))).await?;
    Ok(())
}

/// What the gate has to say about an answer; nothing if the model did everything right.
fn verdict(
    asked: &Asked,
    response: &Response,
    is_silent: bool,
    retries: u32,
    failure: Option<&str>,
) -> Option<Value> {
    let mended = |call: &&Call| !call.repairs.is_empty() || !call.coercions.is_empty();
    let repaired: Vec<Value> = response
        .calls
        .iter()
        .filter(mended)
        .map(|call| json!({"id": call.id, "name": call.name, "repairs": call.repairs, "coercions": call.coercions}))
        .collect();
    let stripped: Vec<&str> =
        response.calls.iter().filter(|_| is_silent).map(|call| call.name.as_str()).collect();
    let told = |finding: &Finding| json!({"code": finding.code.word(), "message": finding.message, "help": help(finding)});
    let of_calls =
        response.calls.iter().flat_map(|call| call.findings.iter().map(move |finding| (call, finding)));
    let of_calls = of_calls.map(|(call, finding)| {
        let mut said = told(finding);
        said["id"] = call.id.as_str().into();
        said["name"] = call.name.as_str().into();
        said
    });
    let findings: Vec<Value> = response.findings.iter().map(told).chain(of_calls).collect();
    let mut verdict = serde_json::Map::new();
    for (key, value) in [
        ("repaired", Value::from(repaired)),
        ("rejected", response.rejected.iter().map(|rejected| json!(rejected)).collect()),
        ("stripped", stripped.into()),
        ("findings", findings.into()),
        ("notes", asked.notes.clone().into()),
    ] {
        if value.as_array().is_some_and(|list| !list.is_empty()) {
            verdict.insert(key.to_owned(), value);
        }
    }
    if retries > 0 {
        verdict.insert("retries".to_owned(), retries.into());
    }
    if let Some(failure) = failure {
        verdict.insert("failure".to_owned(), failure.into());
    }
    (!verdict.is_empty()).then(|| verdict.into())
}

/// What to do about a finding, with the setting of the gateway that it is about.
fn help(finding: &Finding) -> String {
    let setting = match finding.code {
        Code::LooksLikeACall | Code::ForeignDialect | Code::BareCall => "dialect",
        Code::LateReasoningEnd => "prompt_tail",
        _ => return finding.help.to_string(),
    };
    format!("{} In the gateway's settings that is `{setting}` of the model, under `models`.", finding.help)
}

/// Why an attempt was rejected, in one sentence.
pub(crate) fn sentence(rejected: &Rejected) -> String {
    let name = rejected.name.as_deref().unwrap_or("a tool");
    let why = rejected
        .findings
        .first()
        .map_or_else(String::new, |finding| format!(": {} ({})", finding.message, finding.code.word()));
    format!("The model tried to call {name}, and the call was rejected{why}.")
}

/// What is to be said where nothing but calls was written, and none may be made.
fn unwanted(response: &Response) -> Option<String> {
    let calls = response.calls.iter().map(|call| call.name.as_str());
    let rejected = response.rejected.iter().map(|rejected| rejected.name.as_deref().unwrap_or("a tool"));
    let names: Vec<&str> = calls.chain(rejected).collect();
    let names = (!names.is_empty()).then(|| names.join(", "))?;
    Some(format!("The model said nothing but tried to call {names}, and `tool_choice` allows no call here."))
}

/// Whether a rejection is one that asking again may mend.
pub(crate) fn is_worth_asking(rejected: &Rejected) -> bool {
    rejected.findings.first().is_none_or(|finding| finding.code != Code::TooManyCalls)
}

/// Until when everything that is asked again has to be over.
pub(crate) fn deadline(settings: &Settings) -> Instant {
    Instant::now() + Duration::from_secs(settings.retries.seconds)
}
