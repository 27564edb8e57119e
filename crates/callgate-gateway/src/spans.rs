//! Spans: where traces of exchanges go, if the program was built with a way to send them.

use serde::Deserialize;

#[cfg(feature = "otlp")]
pub(crate) use crate::otlp::Spans;

/// Where traces go.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct TraceSettings {
    /// The address of a collector that takes OTLP over HTTP; `/v1/traces` is added.
    pub endpoint: String,
    /// What this server is called in traces.
    #[serde(default = "service")]
    pub service: String,
    /// The environment variable that holds the collector's key, which is sent as `Authorization: Bearer`.
    #[serde(default)]
    pub key_env: Option<String>,
}

fn service() -> String {
    "callgate".to_owned()
}

impl TraceSettings {
    /// A collector at this address.
    pub fn at(endpoint: impl Into<String>) -> Self {
        TraceSettings { endpoint: endpoint.into(), service: service(), key_env: None }
    }

    /// What is wrong with them.
    pub(crate) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if let Err(why) = callgate_agent::model::Address::parse(&self.endpoint) {
            faults.push(format!("traces.endpoint: {why}: {:?}", self.endpoint));
        }
        if let Some(name) = &self.key_env
            && std::env::var(name).is_err()
        {
            faults.push(format!("traces.key_env: the variable {name} is not set"));
        }
        if cfg!(not(feature = "otlp")) {
            faults.push("traces: this program was built without the feature `otlp`".to_owned());
        }
        faults
    }
}

/// There is no way to send spans.
#[cfg(not(feature = "otlp"))]
pub(crate) enum Spans {}

#[cfg(not(feature = "otlp"))]
impl Spans {
    pub(crate) fn begin(_: &TraceSettings, _: std::sync::Arc<crate::log::Log>) -> Result<Self, String> {
        Err("traces: this program was built without the feature `otlp`".to_owned())
    }

    pub(crate) fn add(&self, _: &crate::recent::Exchange) {
        match *self {}
    }

    pub(crate) async fn end(&self) {
        match *self {}
    }
}
