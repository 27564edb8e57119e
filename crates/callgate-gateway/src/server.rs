//! The server: what a gateway is made of, its connections and its routes.

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use axum::Router;
use axum::middleware;
use axum::routing::{any, get, post};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::config::{SCRIPTED, Settings, SettingsError, UpstreamSettings};
use crate::guard::{Keys, Places};
use crate::handlers;
use crate::log::{LogFormat, LogLevel, LogSettings};
use crate::metrics::Metrics;
use crate::models;
use crate::page;
use crate::patience::Patient;
use crate::plan::Planner;
use crate::recent::Recent;
use crate::records::Records;
use crate::situation::{Situation, Situations};
use crate::tails::Tails;
use crate::upstream::Upstream;
use crate::wire::Wire;

/// A gateway, ready to serve.
#[derive(Clone)]
pub struct Gateway {
    shared: Arc<Shared>,
}

/// What all requests share.
pub(crate) struct Shared {
    current: RwLock<Arc<Current>>,
    pub(crate) metrics: Metrics,
    pub(crate) recent: Recent,
    pub(crate) records: Records,
    pub(crate) keys: Keys,
    pub(crate) places: Places,
    pub(crate) planner: Planner,
    pub(crate) situations: Situations,
    pub(crate) tails: Tails,
    pub(crate) turn: AtomicUsize,
    /// Where the settings came from, to read them again.
    path: Option<PathBuf>,
    pub(crate) started: Instant,
}

/// The settings that count, and the servers that they name.
pub(crate) struct Current {
    pub(crate) settings: Settings,
    pub(crate) upstreams: Vec<Upstream>,
}

impl Current {
    /// Whether a server serves a model, by the client's name for it or by its own.
    pub(crate) fn is_served_by(&self, model: &str, upstream: &Upstream) -> bool {
        upstream.serves(model) || upstream.serves(self.settings.upstream_name(model))
    }

    async fn new(mut settings: Settings) -> Result<Self, SettingsError> {
        let wrong = |faults: Vec<String>| SettingsError { path: None, faults };
        settings.check().map_err(wrong)?;
        if settings.upstreams.is_empty() {
            settings.upstreams.push(UpstreamSettings::at(SCRIPTED));
        }
        let mut upstreams = Vec::new();
        let mut faults = Vec::new();
        for (at, row) in settings.upstreams.iter().enumerate() {
            match Upstream::new(row).await {
                Ok(upstream) => upstreams.push(upstream),
                Err(why) => faults.push(format!("upstreams[{at}]: {why}")),
            }
        }
        faults.extend(unfit_recipes(&settings, &upstreams));
        if faults.is_empty() { Ok(Current { settings, upstreams }) } else { Err(wrong(faults)) }
    }
}

/// Models whose requests need members that one of their servers does not know.
fn unfit_recipes(settings: &Settings, upstreams: &[Upstream]) -> Vec<String> {
    let mut faults = Vec::new();
    for (at, row) in settings.models.iter().enumerate() {
        let Some(calls) = row.calls.filter(|calls| calls.is_recipe()) else { continue };
        let is_unfit =
            |upstream: &&Upstream| upstream.wire() == Wire::Ollama && upstream.may_serve(&row.name);
        if let Some(upstream) = upstreams.iter().find(is_unfit) {
            faults.push(format!(
                "models[{at}].calls: {} is for servers with OpenAI's API, and {} may be asked in Ollama's; take native or \
                 prompt, or give that server its own `models`",
                calls.word(),
                upstream.name
            ));
        }
    }
    faults
}

impl Gateway {
    /// Whether clients have to show a key.
    pub fn needs_key(&self) -> bool {
        self.shared.current().is_some_and(|current| !current.settings.keys.is_empty())
    }

    /// A gateway with these settings; servers whose API is not named are asked for it.
    pub async fn new(settings: Settings) -> Result<Self, SettingsError> {
        Gateway::of(settings, None).await
    }

    /// A gateway with the settings of a file, which can be read again.
    pub async fn from_file(path: PathBuf) -> Result<Self, SettingsError> {
        Gateway::of(Settings::load(&path)?, Some(path)).await
    }

    async fn of(settings: Settings, path: Option<PathBuf>) -> Result<Self, SettingsError> {
        let current = Current::new(settings).await?;
        let limits = current.settings.limits;
        let records = Records::begin(&current.settings)
            .map_err(|fault| SettingsError { path: path.clone(), faults: vec![fault] })?;
        let shared = Shared {
            current: RwLock::new(Arc::new(current)),
            metrics: Metrics::new(),
            recent: Recent::new(limits.remembered),
            records,
            keys: Keys::default(),
            places: Places::new(limits.concurrent, limits.queue),
            planner: Planner::default(),
            situations: Situations::default(),
            tails: Tails::default(),
            turn: AtomicUsize::new(0),
            path,
            started: Instant::now(),
        };
        Ok(Gateway { shared: Arc::new(shared) })
    }

    /// Reads the file of settings again. If it is wrong, the old ones go on counting. Where it listens, how many requests it
    /// works on at once, and where it writes records to, stay as they are.
    pub async fn reload(&self) -> Result<(), SettingsError> {
        let Some(path) = &self.shared.path else { return Ok(()) };
        let fresh = async { Current::new(Settings::load(path)?).await }
            .await
            .map_err(|error| SettingsError { path: Some(path.clone()), faults: error.faults });
        let log = &self.shared.records.log;
        let file = path.display().to_string();
        let fresh = fresh.inspect_err(|error| {
            let told = "the file is wrong; the old settings go on counting";
            log.say(LogLevel::Error, "settings", || {
                vec![
                    ("file", file.clone().into()),
                    ("message", told.into()),
                    ("faults", error.faults.clone().into()),
                ]
            });
        })?;
        if let Ok(mut current) = self.shared.current.write() {
            *current = Arc::new(fresh);
        }
        log.say(LogLevel::Info, "settings", || vec![("file", file.into()), ("message", "read again".into())]);
        Ok(())
    }

    /// How a model comes by its tools, as its server shows; nothing if that takes too long.
    pub async fn situation(&self, model: &str) -> Option<Situation> {
        let current = self.shared.current()?;
        self.shared.situations.find(&self.shared, &current, model).await
    }

    /// Sends the lines of the log there, in the form that the settings name or in this one. The first listener stays.
    pub fn log_to(
        &self,
        format: Option<LogFormat>,
        level: Option<LogLevel>,
        listener: impl Fn(&str) + Send + Sync + 'static,
    ) {
        let set = self.shared.current().map(|current| current.settings.log).unwrap_or_default();
        let settings =
            LogSettings { format: format.unwrap_or(set.format), level: level.unwrap_or(set.level) };
        self.shared.records.listen(settings, Box::new(listener));
    }

    /// The models of all servers.
    pub async fn models(&self) -> Vec<String> {
        match self.shared.current() {
            Some(current) => models::names(&current).await,
            None => Vec::new(),
        }
    }

    /// Listens where the settings say.
    pub async fn listen(&self) -> std::io::Result<Serving> {
        let listen = self.shared.current().map(|current| current.settings.listen.clone()).unwrap_or_default();
        let listener = TcpListener::bind(&listen).await?;
        let address = listener.local_addr()?;
        Ok(Serving { gateway: self.clone(), listener, address })
    }

    fn router(&self) -> Router {
        Router::new()
            .route("/v1/messages/count_tokens", post(handlers::count_tokens))
            .route("/api/tags", get(handlers::tags))
            .route("/api/show", post(handlers::show))
            .route("/api/version", get(handlers::version))
            .route("/v1/models", get(handlers::list_models))
            .route("/models", get(handlers::list_models))
            .route("/v1/models/{*name}", get(handlers::one_model))
            .route("/callgate/exchanges", get(handlers::exchanges))
            .route("/callgate/live", get(handlers::live))
            .route("/callgate/parse", post(page::parse))
            .route("/metrics", get(handlers::metrics))
            .route("/", get(handlers::root))
            .fallback(any(handlers::by_path))
            .layer(middleware::from_fn_with_state(self.shared.clone(), handlers::guarded))
            // Whoever only asks whether it lives needs no key.
            .route("/healthz", get(handlers::health))
            .route("/readyz", get(handlers::ready))
            .with_state(self.shared.clone())
    }
}

/// A gateway that listens.
pub struct Serving {
    gateway: Gateway,
    listener: TcpListener,
    address: SocketAddr,
}

impl Serving {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is done, then lets open answers come to their end, for at most this long.
    pub async fn until(self, stop: impl Future<Output = ()>, grace: Duration) {
        let Some(limits) = self.gateway.shared.current().map(|current| current.settings.limits) else {
            return;
        };
        let router = self.gateway.router();
        let mut builder = hyper::server::conn::http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            .header_read_timeout(Duration::from_millis(limits.head_ms))
            .max_buf_size(limits.head.max(8 << 10));
        let connections = Arc::new(Semaphore::new(limits.connections));
        let graceful = GracefulShutdown::new();
        tokio::pin!(stop);
        loop {
            let place = tokio::select! {
                biased;
                () = &mut stop => break,
                place = connections.clone().acquire_owned() => place,
            };
            let accepted = tokio::select! {
                biased;
                () = &mut stop => break,
                accepted = self.listener.accept() => accepted,
            };
            let (Ok(place), Ok((stream, _))) = (place, accepted) else {
                // No more files may be open: wait until some are closed.
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            // A stream of small parts is what this server is for.
            let _ = stream.set_nodelay(true);
            let service = TowerToHyperService::new(router.clone());
            let io = Patient::new(TokioIo::new(stream), Duration::from_millis(limits.write_ms));
            let connection = graceful.watch(builder.serve_connection(io, service));
            let counted = self.gateway.shared.metrics.connection();
            tokio::spawn(async move {
                // Its errors are the client's: it is gone, or it did not speak HTTP.
                let _ = connection.await;
                drop((place, counted));
            });
        }
        drop(self.listener);
        let _ = tokio::time::timeout(grace, graceful.shutdown()).await;
        self.gateway.shared.records.end().await;
    }
}

impl Shared {
    /// The settings that count now.
    pub(crate) fn current(&self) -> Option<Arc<Current>> {
        self.current.read().ok().map(|current| current.clone())
    }
}
