//! A server on threads of its own, for programs that are not asynchronous.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use super::server::{Config, Server, runtime};
use super::shutdown::{Stopper, shutdown};
use crate::call::Handler;

/// What a handler that does not return may delay the end.
const LAST_CALLS: Duration = Duration::from_secs(1);

pub struct Running {
    address: SocketAddr,
    stopper: Stopper,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Running {
    pub fn start(config: Config, handler: Arc<dyn Handler>) -> io::Result<Self> {
        let runtime = runtime(&config.limits)?;
        let server = runtime.block_on(Server::bind(config))?;
        let address = server.local_addr()?;
        let (stopper, shutdown) = shutdown();
        let run = move || {
            let ended = runtime.block_on(server.run(handler, shutdown));
            runtime.shutdown_timeout(LAST_CALLS);
            ended
        };
        let thread = std::thread::Builder::new().name("http".into()).spawn(run)?;
        Ok(Self { address, stopper, thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers what is in flight and returns when it is done.
    pub fn stop(mut self) -> io::Result<()> {
        self.stopper.stop();
        self.join()
    }

    fn join(&mut self) -> io::Result<()> {
        let ended = self.thread.take().map(JoinHandle::join);
        ended.unwrap_or(Ok(Ok(()))).unwrap_or_else(|_| Err(io::Error::other("the server panicked")))
    }
}

impl Drop for Running {
    /// Waits for nobody.
    fn drop(&mut self) {
        self.stopper.abort();
        // `stop` reports how it ended.
        let _ = self.join();
    }
}
