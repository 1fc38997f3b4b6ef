//! Connections, each bounded in number, size and time.

use std::io;
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

/// How much a client may take, however it behaves.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    /// A browser opens up to six, a command one.
    pub connections: usize,
    /// From the end of an answer to the end of the next request's headers.
    pub header_time: Duration,
    /// Browsers send less than 2 KiB.
    pub header_bytes: usize,
    pub headers: usize,
    /// From the headers to the answer: visits to the server of a federation take longest.
    pub request_time: Duration,
    /// A browser connects anew after that. It also ends clients that do not read their answer.
    pub connection_time: Duration,
    /// For what is in flight at the end.
    pub drain_time: Duration,
    /// Calls of the agent at a time.
    pub threads: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            header_time: Duration::from_secs(10),
            header_bytes: 16 << 10,
            headers: 64,
            request_time: Duration::from_secs(60),
            connection_time: Duration::from_secs(180),
            drain_time: Duration::from_secs(3),
            threads: 8,
        }
    }
}

/// How soon it notices that it is to stop.
const ATTENTION: Duration = Duration::from_millis(50);
/// After an error such as too many open files, which the next moment may not change.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until it is to stop and has answered what is in flight.
pub(super) fn serve(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<()> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().max_blocking_threads(limits.threads).build()?;
    let drain_time = limits.drain_time;
    let served = runtime.block_on(accept(listener, router, limits, is_stopped));
    // A call that waits for the network is not waited for.
    runtime.shutdown_timeout(drain_time);
    served
}

async fn accept(
    listener: TcpListener,
    router: Router,
    limits: Limits,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let places = Arc::new(Semaphore::new(limits.connections));
    let (stop, stopping) = watch::channel(());
    let mut tasks = JoinSet::new();
    while !is_stopped() {
        while tasks.try_join_next().is_some() {}
        // Without a place, clients wait in the queue of the system.
        let Ok(Ok(place)) = timeout(ATTENTION, Arc::clone(&places).acquire_owned()).await else { continue };
        let stream = match timeout(ATTENTION, listener.accept()).await {
            Ok(Ok((stream, _))) => stream,
            Ok(Err(_)) => {
                sleep(PAUSE).await;
                continue;
            }
            Err(_) => continue,
        };
        let (router, limits, stopping) = (router.clone(), limits.clone(), stopping.clone());
        tasks.spawn(async move {
            serve_connection(stream, router, &limits, stopping).await;
            drop(place);
        });
    }
    drop((listener, stop));
    let _ = timeout(limits.drain_time, async { while tasks.join_next().await.is_some() {} }).await;
    Ok(())
}

async fn serve_connection(stream: TcpStream, router: Router, limits: &Limits, mut stopping: watch::Receiver<()>) {
    // Answers are written at once. Without it nothing breaks.
    let _ = stream.set_nodelay(true);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.header_time);
    builder.max_header_size(limits.header_bytes).max_headers(limits.headers);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = stopping.changed() => {}
        () = sleep(limits.connection_time) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(limits.drain_time, connection).await;
}
