//! Settling: what was rejected is asked for again, within a budget; what was good keeps its place.

use std::time::{Duration, Instant};

use callgate::{Code, FinishReason, Rejected, Response};
use callgate_agent::history::Message;
use callgate_agent::id::random_id;
use callgate_agent::model::Usage;
use callgate_agent::retry::{Retry, RetrySettings, Step, said};

use crate::asked::{Asked, ToolChoice, message};
use crate::exchange::{Broken, Judged, Means, ToClient, deadline, is_worth_asking, read, send, sentence};
use crate::fault::Fault;
use crate::upstream::Upstream;

/// What came of an answer.
pub(crate) struct Outcome {
    /// What stands and what is rejected.
    pub(crate) response: Response,
    /// What all answers cost together.
    pub(crate) usage: Usage,
    /// How often the model was asked again.
    pub(crate) retries: u32,
    /// What is to be said about calls that were not corrected.
    pub(crate) failure: Option<String>,
    /// How long the server, and the client, were waited for.
    pub(crate) waited: Duration,
    /// Why the answer was cut off, unless what was cut off was corrected.
    pub(crate) cut: Option<FinishReason>,
}

/// Asks again until every call stands, or the budget is spent.
pub(crate) async fn settle(
    means: &Means<'_>,
    asked: &Asked,
    upstream: &Upstream,
    judged: Judged,
    to: &ToClient,
) -> Result<Outcome, Broken> {
    let Judged { mut response, usage, mut waited, cut } = judged;
    if asked.choice == ToolChoice::None {
        return Ok(Outcome { response, usage, retries: 0, failure: None, waited, cut });
    }
    // More calls than were asked for are left out, and not asked for again.
    let (mut worth, mut surplus): (Vec<_>, Vec<_>) = response.rejected.drain(..).partition(is_worth_asking);
    if !asked.parallel {
        // One call is all that may come: where one stands nothing is asked for, else the first that was tried.
        surplus.extend(worth.drain(usize::from(response.calls.is_empty()).min(worth.len())..));
    }
    response.rejected = worth;
    let is_truncated = |rejected: &Rejected| rejected.findings.iter().any(|it| it.code == Code::Truncated);
    let asks_for_cut = response.rejected.iter().any(is_truncated);
    let budget = means.settings.retries;
    let settings =
        RetrySettings { max_attempts: budget.attempts, delay: Duration::ZERO, ..RetrySettings::default() };
    let mut retry = Retry::new(&means.plan.gate, settings, random_id());
    let mut again = asked.clone();
    let mut answer_said = said(&response);
    let until = deadline(means.settings);
    let mut step = retry.first(response, usage);
    let mut spent = 0;
    let mut was_asked = false;
    let (mut response, usage, retries, unsettled) = loop {
        let ask = match step {
            Step::Settled(settled) => break (settled.response, settled.usage, settled.retry_count, None),
            Step::Failed(error) => {
                let words = error.last_words().filter(|words| !words.is_empty());
                let said = words.map_or_else(String::new, |words| format!("; it said: {}", excerpt(words)));
                let why = error.summary() + &said;
                break (error.response, error.usage, error.attempts, Some(why));
            }
            Step::Ask(ask) => ask,
        };
        let interrupted = |retry: &Retry, why: String| {
            let error = retry.interrupt();
            (error.response, error.usage, error.attempts.saturating_sub(1), Some(why))
        };
        if spent > budget.tokens {
            break interrupted(
                &retry,
                format!("{spent} tokens were spent on corrections, {} are allowed", budget.tokens),
            );
        }
        again.messages.extend(answer_said.take().map(|said| message("assistant", text_of(&said))));
        again.messages.push(message("user", ask.prompt));
        was_asked = true;
        let since = Instant::now();
        let answer = async {
            let chunks = send(means.plan, &again, upstream).await.map_err(|fault| Fault::of_model(&fault))?;
            read(means.plan, &again, chunks, None, None).await
        };
        let answer = tokio::select! {
            biased;
            () = to.closed() => return Err(Broken::Gone),
            answer = tokio::time::timeout_at(until, answer) => answer,
        };
        // Whatever another answer costs is its server's time.
        waited += since.elapsed();
        match answer {
            Ok(Ok(judged)) => {
                spent = spent.saturating_add(judged.usage.completion);
                answer_said = said(&judged.response);
                step = retry.reply(judged.response, judged.usage);
            }
            Ok(Err(Broken::Gone)) => return Err(Broken::Gone),
            Ok(Err(Broken::Fault(fault))) => break interrupted(&retry, fault.message),
            Err(_) => {
                break interrupted(
                    &retry,
                    format!("corrections took longer than {} seconds", budget.seconds),
                );
            }
        }
    };
    let failure = unsettled.map(|why| {
        let rejected: Vec<String> = response.rejected.iter().map(sentence).collect();
        let reasons = match rejected.is_empty() {
            true => "A tool call was required, and the model made none.".to_owned(),
            false => rejected.join(" "),
        };
        match retries {
            0 if !was_asked => reasons,
            _ => format!("{reasons} ({why}.)"),
        }
    });
    response.rejected.extend(surplus);
    // Once the call that was cut off has come whole, nothing is missing that anybody knows of.
    let cut = cut.filter(|_| !asks_for_cut || failure.is_some());
    Ok(Outcome { response, usage, retries, failure, waited, cut })
}

/// The start of what a model said, which may be long.
fn excerpt(words: &str) -> String {
    let mut start: String = words.chars().take(500).collect();
    if start.len() < words.len() {
        start.push('…');
    }
    start
}

fn text_of(message: &Message) -> String {
    match message {
        Message::AssistantText { text } | Message::AssistantAction { text, .. } => text.clone(),
        Message::Error { message, .. } => message.clone(),
        _ => String::new(),
    }
}
