//! Metrics for Prometheus: requests, verdicts, repairs, retries and times.

use std::fmt::Write;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// The most different model names that are counted apart: clients choose them, and each costs memory for ever.
const MODELS: usize = 200;

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
struct FindingLabels {
    model: String,
    code: &'static str,
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
    findings: Family<FindingLabels, Counter>,
    retries: Family<ModelLabel, Counter>,
    faults: Family<FaultLabels, Counter>,
    situations: Family<SituationLabels, Gauge>,
    active: Gauge,
    connections: Gauge,
    seconds: Histogram,
    /// The models that are counted apart.
    models: std::sync::Mutex<Vec<String>>,
    /// How many requests there have been, for whoever has no Prometheus.
    pub(crate) served: AtomicU64,
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
        let retries = Family::default();
        let faults = Family::default();
        let situations = Family::default();
        let active = Gauge::default();
        let connections = Gauge::default();
        let seconds = Histogram::new(exponential_buckets(0.001, 2.0, 18));
        registry.register("requests", "Requests by API and status", requests.clone());
        registry.register("calls", "Calls by model, dialect and verdict", calls.clone());
        registry.register("findings", "Findings by model and code", findings.clone());
        registry.register("retries", "How often a model was asked again", retries.clone());
        registry.register("upstream_faults", "What servers of models did wrong", faults.clone());
        registry.register("model_calls", "How models come by their tools, as found out", situations.clone());
        registry.register("active_requests", "Requests that are worked on", active.clone());
        registry.register("connections", "Connections of clients", connections.clone());
        registry.register("request_seconds", "How long requests took", seconds.clone());
        Metrics {
            registry,
            requests,
            calls,
            findings,
            retries,
            faults,
            situations,
            active,
            connections,
            seconds,
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
        let labels = CallLabels { model: self.model(model), dialect: dialect.to_owned(), verdict };
        self.calls.get_or_create(&labels).inc();
    }

    pub(crate) fn finding(&self, model: &str, code: &'static str) {
        self.findings.get_or_create(&FindingLabels { model: self.model(model), code }).inc();
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
