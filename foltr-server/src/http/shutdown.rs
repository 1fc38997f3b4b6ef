//! How the server is told to stop.

use std::io;

use tokio::sync::watch;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Serving,
    Draining,
    Stopped,
}

/// Tells a server to stop. Dropping it says nothing.
#[derive(Debug)]
pub struct Stopper(watch::Sender<Stage>);

/// What a server listens to.
#[derive(Clone, Debug)]
pub struct Shutdown(watch::Receiver<Stage>);

pub fn shutdown() -> (Stopper, Shutdown) {
    let (sender, receiver) = watch::channel(Stage::Serving);
    (Stopper(sender), Shutdown(receiver))
}

impl Stopper {
    /// Takes no more connections and answers what is in flight. A second call does not wait for it.
    pub fn stop(&self) {
        self.0.send_modify(|stage| *stage = if *stage == Stage::Serving { Stage::Draining } else { Stage::Stopped });
    }

    /// Stops at once.
    pub fn abort(&self) {
        self.0.send_replace(Stage::Stopped);
    }
}

impl Shutdown {
    /// On SIGTERM or SIGINT; at once on the second. Must be called within a runtime.
    pub fn on_signals() -> io::Result<Self> {
        let (stopper, shutdown) = shutdown();
        let mut signals = Signals::new()?;
        tokio::spawn(async move {
            loop {
                signals.next().await;
                stopper.stop();
            }
        });
        Ok(shutdown)
    }

    async fn reached(&mut self, stage: Stage) {
        if self.0.wait_for(|now| *now >= stage).await.is_err() {
            // Nobody is left who could say it.
            std::future::pending::<()>().await;
        }
    }

    pub(super) fn has_begun(&self) -> bool {
        *self.0.borrow() >= Stage::Draining
    }

    pub(super) async fn begun(&mut self) {
        self.reached(Stage::Draining).await;
    }

    pub(super) async fn at_once(&mut self) {
        self.reached(Stage::Stopped).await;
    }
}

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
