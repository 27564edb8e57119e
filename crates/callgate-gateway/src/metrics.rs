//! Metrics for Prometheus: requests, verdicts, repairs, retries and times.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use callgate::Response;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// The most different model names that are counted apart: clients choose them, and each costs memory for ever.
const MODELS: usize = 200;

/// The most rows by model, dialect and something else; further ones are counted without the model.
const ROWS: usize = 5000;

/// The label of all other models.
const OTHERS: &str = "(others)";

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    api: &'static str,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CallLabels {
    model: String,
    dialect: String,
    verdict: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct CodeLabels {
    model: String,
    dialect: String,
    code: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct AddedLabel {
    part: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ModelLabel {
    model: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct SituationLabels {
    model: String,
    upstream: String,
    calls: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct FaultLabels {
    upstream: String,
    code: &'static str,
}

/// All metrics.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    calls: Family<CallLabels, Counter>,
    findings: Family<CodeLabels, Counter>,
    repairs: Family<CodeLabels, Counter>,
    retries: Family<ModelLabel, Counter>,
    faults: Family<FaultLabels, Counter>,
    situations: Family<SituationLabels, Gauge>,
    active: Gauge,
    connections: Gauge,
    seconds: Histogram,
    added: Family<AddedLabel, Histogram>,
    /// How many rows there are by model, dialect and something else.
    rows: AtomicUsize,
    /// The models that are counted apart.
    models: std::sync::Mutex<Vec<String>>,
    /// How many requests there have been, for whoever has no Prometheus.
    pub(crate) served: AtomicU64,
}

/// When the gateway takes time of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Added {
    /// From the request to the question to the model's server: reading it, waiting for a place, planning.
    Before,
    /// Judging the answer, recording the verdict; not waiting for the server or the client.
    Answer,
}

/// A connection that is counted.
pub(crate) struct OneConnection(Gauge);

impl Drop for OneConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("callgate");
        let requests = Family::default();
        let calls = Family::default();
        let findings = Family::default();
        let repairs = Family::default();
        let retries = Family::default();
        let faults = Family::default();
        let situations = Family::default();
        let active = Gauge::default();
        let connections = Gauge::default();
        let seconds = Histogram::new(exponential_buckets(0.001, 2.0, 18));
        let added = Family::<AddedLabel, Histogram>::new_with_constructor(|| {
            Histogram::new(exponential_buckets(0.000_02, 2.0, 18))
        });
        registry.register("requests", "Requests by API and status", requests.clone());
        registry.register("calls", "Calls by model, dialect and verdict", calls.clone());
        registry.register("findings", "Findings by model, dialect and code", findings.clone());
        registry.register("repairs", "Repairs and fittings by model, dialect and code", repairs.clone());
        registry.register("retries", "How often a model was asked again", retries.clone());
        registry.register("upstream_faults", "What servers of models did wrong", faults.clone());
        registry.register("model_calls", "How models come by their tools, as found out", situations.clone());
        registry.register("active_requests", "Requests that are worked on", active.clone());
        registry.register("connections", "Connections of clients", connections.clone());
        registry.register("request_seconds", "How long requests took", seconds.clone());
        registry.register(
            "added_seconds",
            "What the gateway added: before the model's server was asked, and while its answer was judged",
            added.clone(),
        );
        Metrics {
            registry,
            requests,
            calls,
            findings,
            repairs,
            retries,
            faults,
            situations,
            active,
            connections,
            seconds,
            added,
            rows: AtomicUsize::new(0),
            models: std::sync::Mutex::default(),
            served: AtomicU64::new(0),
        }
    }

    pub(crate) fn request(&self, api: &'static str, status: u16, seconds: f64) {
        self.requests.get_or_create(&RequestLabels { api, status }).inc();
        self.seconds.observe(seconds);
    }

    pub(crate) fn begin(&self) {
        self.active.inc();
    }

    pub(crate) fn end(&self) {
        self.active.dec();
    }

    /// Counts a connection for as long as what this gives is kept.
    pub(crate) fn connection(&self) -> OneConnection {
        self.connections.inc();
        OneConnection(self.connections.clone())
    }

    pub(crate) fn call(&self, model: &str, dialect: &str, is_repaired: bool) {
        let verdict = if is_repaired { "repaired" } else { "accepted" };
        self.count(model, dialect, verdict);
    }

    pub(crate) fn rejection(&self, model: &str, dialect: &str) {
        self.count(model, dialect, "rejected");
    }

    fn count(&self, model: &str, dialect: &str, verdict: &'static str) {
        let mut labels = CallLabels { model: self.model(model), dialect: dialect.to_owned(), verdict };
        if self.is_too_many(self.calls.get(&labels).is_none()) {
            OTHERS.clone_into(&mut labels.model);
        }
        self.calls.get_or_create(&labels).inc();
    }

    /// Counts what was found in a response and what was repaired in it; what is not about a call has no dialect.
    pub(crate) fn judged(&self, model: &str, response: &Response) {
        let model = self.model(model);
        for call in &response.calls {
            let repairs = call.repairs.iter().map(|repair| repair.code.word().to_owned());
            let coercions = call.coercions.iter().map(|coercion| coercion.code.to_string());
            repairs.chain(coercions).for_each(|code| self.code(&self.repairs, &model, &call.dialect, code));
        }
        let calls = response.calls.iter().map(|call| (&*call.dialect, &call.findings));
        let rejected = response.rejected.iter().map(|rejected| (&*rejected.dialect, &rejected.findings));
        for (dialect, findings) in calls.chain(rejected).chain([("", &response.findings)]) {
            for finding in findings {
                self.code(&self.findings, &model, dialect, finding.code.word().to_owned());
            }
        }
    }

    fn code(&self, to: &Family<CodeLabels, Counter>, model: &str, dialect: &str, code: String) {
        let mut labels = CodeLabels { model: model.to_owned(), dialect: dialect.to_owned(), code };
        if self.is_too_many(to.get(&labels).is_none()) {
            OTHERS.clone_into(&mut labels.model);
        }
        to.get_or_create(&labels).inc();
    }

    /// Whether a row would be one too many.
    fn is_too_many(&self, is_new: bool) -> bool {
        is_new && self.rows.fetch_add(1, Ordering::Relaxed) >= ROWS
    }

    /// Counts what the gateway added to the time of an answer.
    pub(crate) fn added(&self, part: Added, time: Duration) {
        let part = match part {
            Added::Before => "before",
            Added::Answer => "answer",
        };
        self.added.get_or_create(&AddedLabel { part }).observe(time.as_secs_f64());
    }

    pub(crate) fn retries(&self, model: &str, number: u32) {
        if number > 0 {
            self.retries.get_or_create(&ModelLabel { model: self.model(model) }).inc_by(u64::from(number));
        }
    }

    pub(crate) fn upstream_fault(&self, upstream: &str, code: &'static str) {
        self.faults.get_or_create(&FaultLabels { upstream: upstream.to_owned(), code }).inc();
    }

    pub(crate) fn situation(&self, model: &str, upstream: &str, calls: &'static str) {
        let labels = SituationLabels { model: self.model(model), upstream: upstream.to_owned(), calls };
        self.situations.get_or_create(&labels).set(1);
    }

    /// The label of a model.
    fn model(&self, name: &str) -> String {
        let Ok(mut models) = self.models.lock() else { return OTHERS.to_owned() };
        if models.iter().any(|known| known == name) {
            return name.to_owned();
        }
        if models.len() >= MODELS || name.len() > 200 {
            return OTHERS.to_owned();
        }
        models.push(name.to_owned());
        name.to_owned()
    }

    /// All of them, as Prometheus reads them.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            let _ = writeln!(text, "# the metrics could not be written");
        }
        text
    }
}
