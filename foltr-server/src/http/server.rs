//! Listens, and gives every connection a task.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::body::UNIT;
use super::connection::serve;
use super::connections::{Connections, NoRoom};
use super::exchange::Shared;
use super::limits::Limits;
use super::metrics::Metrics;
use super::queue::Queue;
use super::shutdown::Shutdown;
use super::tls::{Certificate, TlsOptions};
use crate::call::Handler;
use crate::rate_limit::RateLimit;

/// Connections that the system holds until they are accepted: a second of a flood.
const BACKLOG: u32 = 4_096;
/// After an error such as too many open files, which the next moment may not change.
const PAUSE: Duration = Duration::from_millis(100);
/// Refusals of one name that are logged: so many at once, and so many a minute.
const LOGGED: (u32, u32) = (60, 60);
/// Readiness and metrics at a time.
const MONITORING: usize = 4;

#[derive(Clone, Debug)]
pub struct Config {
    pub addresses: Vec<SocketAddr>,
    pub tls: Option<TlsOptions>,
    /// Without TLS, devices are read and changed by whoever is on the way. It is allowed on loopback, and elsewhere for
    /// a proxy in front that has TLS.
    pub allow_plain_http: bool,
    pub limits: Limits,
    /// Whether `/metrics` is served.
    pub metrics: bool,
    /// Whether the log names the addresses of clients.
    pub log_addresses: bool,
}

impl Config {
    pub fn new(address: SocketAddr) -> Self {
        Self {
            addresses: vec![address],
            tls: None,
            allow_plain_http: false,
            limits: Limits::default(),
            metrics: true,
            log_addresses: false,
        }
    }
}

pub struct Server {
    config: Config,
    listeners: Vec<TcpListener>,
    certificate: Option<Arc<Certificate>>,
}

impl Server {
    /// Reads the certificate and binds the addresses, so that every mistake of the configuration shows here.
    pub async fn bind(config: Config) -> io::Result<Self> {
        let invalid = |text: String| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        if config.addresses.is_empty() {
            return invalid("there is no address to listen on".into());
        }
        let exposed = config.addresses.iter().find(|address| !address.ip().is_loopback());
        if let (Some(address), None, false) = (exposed, &config.tls, config.allow_plain_http) {
            return invalid(format!(
                "{address} is not a loopback address: set a certificate and its key, or allow plain HTTP behind a proxy \
                 that has TLS"
            ));
        }
        let certificate = config.tls.clone().map(Certificate::read).transpose()?;
        let listeners = config.addresses.iter().map(|address| listen(*address)).collect::<io::Result<_>>()?;
        Ok(Self { config, listeners, certificate })
    }

    /// The first address, with the port that the system chose for port 0.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listeners[0].local_addr()
    }

    /// Serves until it is told to stop and has answered what is in flight.
    ///
    /// Needs a runtime with as many blocking threads as calls at a time; [`runtime`] builds one.
    pub async fn run(self, handler: Arc<dyn Handler>, shutdown: Shutdown) -> io::Result<()> {
        let acceptor = self.certificate.as_ref().map(Certificate::acceptor).transpose()?;
        let shared = Arc::new(shared(&self.config, handler, shutdown));
        let connections = Connections::new(&self.config.limits, shared.metrics.connections.clone());
        let renewal = self.certificate.map(|certificate| tokio::spawn(certificate.keep_renewed()));
        let mut listening = JoinSet::new();
        for listener in self.listeners {
            listening.spawn(accept(listener, acceptor.clone(), Arc::clone(&connections), Arc::clone(&shared)));
        }
        while listening.join_next().await.is_some() {}
        if let Some(renewal) = renewal {
            renewal.abort();
        }
        Ok(())
    }
}

/// A runtime with threads for as many calls at a time as the limits allow.
pub fn runtime(limits: &Limits) -> io::Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.enable_all().thread_name("http").max_blocking_threads(limits.blocking_threads()).build()
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"));
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }.map_err(named)?;
    // A restart does not wait for the connections of its predecessor to time out.
    #[cfg(unix)]
    socket.set_reuseaddr(true).map_err(named)?;
    socket.bind(address).map_err(named)?;
    socket.listen(BACKLOG).map_err(named)
}

fn shared(config: &Config, handler: Arc<dyn Handler>, shutdown: Shutdown) -> Shared {
    let metrics = Metrics::new();
    Shared {
        handler,
        limits: config.limits.clone(),
        queue: Queue::new(&config.limits, &metrics),
        body_memory: Arc::new(Semaphore::new(config.limits.body_memory / UNIT)),
        monitoring: Arc::new(Semaphore::new(MONITORING)),
        metrics,
        serves_metrics: config.metrics,
        is_tls: config.tls.is_some(),
        log_addresses: config.log_addresses,
        logged: RateLimit::new(LOGGED.0, LOGGED.1),
        began: Instant::now(),
        description: crate::openapi::description(),
        shutdown,
    }
}

async fn accept(listener: TcpListener, tls: Option<TlsAcceptor>, connections: Arc<Connections>, shared: Arc<Shared>) {
    let mut shutdown = shared.shutdown.clone();
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            () = shutdown.begun() => break,
            Some(ended) = tasks.join_next(), if !tasks.is_empty() => {
                if ended.is_err() {
                    tracing::error!("a connection failed");
                }
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, remote)) => match connections.place(remote.ip()) {
                Ok(place) => drop(tasks.spawn(serve(stream, remote, tls.clone(), place, Arc::clone(&shared)))),
                Err(NoRoom::Full) => shared.metrics.refused_connection("too many connections"),
                Err(NoRoom::Address) => shared.metrics.refused_connection("too many of one address"),
            },
            Err(error) => {
                shared.metrics.refused_connection("not accepted");
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
    drop(listener);
    drain(tasks, &shared).await;
}

/// Waits for what is in flight, as long as it may take. The rest is cut off.
async fn drain(mut tasks: JoinSet<()>, shared: &Shared) {
    let mut shutdown = shared.shutdown.clone();
    let drained = tokio::time::timeout(shared.limits.drain_time, async { while tasks.join_next().await.is_some() {} });
    tokio::select! {
        drained = drained => if drained.is_err() {
            tracing::warn!(connections = tasks.len(), "stopped before every request was answered");
        },
        () = shutdown.at_once() => {}
    }
}
