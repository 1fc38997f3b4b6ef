//! The network side: connections, TLS, limits against hostile clients, and the HTTP of calls and answers.

mod activity;
mod body;
mod connection;
mod connections;
mod exchange;
mod limits;
mod metrics;
mod queue;
mod respond;
mod route;
mod running;
mod server;
mod shutdown;
mod tls;

#[cfg(test)]
mod tests;

pub use limits::Limits;
pub use route::ROUTES;
pub use running::Running;
pub use server::{Config, Server, runtime};
pub use shutdown::{Shutdown, Stopper, shutdown};
pub use tls::TlsOptions;
