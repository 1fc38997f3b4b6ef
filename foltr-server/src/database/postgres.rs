//! PostgreSQL 15 or newer, for a server of several processes.
//!
//! Connections go over a local socket or plain TCP. There is no TLS to the database: beyond this machine, use a tunnel.
//! Between the server and PostgreSQL there must be no pooler that gives each transaction another session.

mod connection;
mod errors;
mod values;

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::config::{Config, SslMode, TargetSessionAttrs};
use tokio_postgres::{Client, NoTls};

use super::{Connection, Database, DatabaseError};
use connection::PostgresConnection;
use errors::classify;

/// How many connections of one process are worth to write at the same time.
const N_WRITERS: usize = 4;
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
const OLDEST_VERSION: i64 = 150_000;

const SETTINGS: &str = "\
    SET statement_timeout = '30s';
    SET lock_timeout = '10s';
    SET idle_in_transaction_session_timeout = '60s';
    SET synchronous_commit = on;
    SET TimeZone = 'UTC'";

const NO_TLS: &str = "TLS to PostgreSQL is not supported: connect by a local socket, or by a tunnel to another machine, \
    with sslmode=disable";

pub struct Postgres {
    config: Config,
}

impl Postgres {
    /// By `postgresql://user@host/name` or `host=... user=... dbname=...`.
    pub fn new(url: &str) -> Result<Self, DatabaseError> {
        let mut config: Config = url.parse().map_err(|error| misunderstood(&error))?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(DatabaseError::Unusable(NO_TLS.to_owned()));
        }
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            let why = "the address of PostgreSQL names no host: a name, an address, or the folder of a local socket";
            return Err(DatabaseError::Unusable(why.to_owned()));
        }
        // The keepalives find a host that is gone, also while nothing is sent.
        config
            .application_name("foltr-server")
            .ssl_mode(SslMode::Disable)
            .target_session_attrs(TargetSessionAttrs::ReadWrite)
            .connect_timeout(CONNECT_PATIENCE)
            .tcp_user_timeout(Duration::from_secs(30))
            .keepalives(true)
            .keepalives_idle(Duration::from_secs(15))
            .keepalives_interval(Duration::from_secs(5))
            .keepalives_retries(3);
        Ok(Self { config })
    }

    async fn client(&self, runtime: &Runtime) -> Result<Client, DatabaseError> {
        let connecting = timeout(2 * CONNECT_PATIENCE, self.config.connect(NoTls));
        let connected = connecting.await.map_err(|_| DatabaseError::Unavailable("no answer in time".to_owned()))?;
        let (client, connection) = connected.map_err(|error| classify(&error).error)?;
        // How it ends is seen by the next statement.
        runtime.spawn(async { drop(connection.await) });
        client.batch_execute(SETTINGS).await.map_err(|error| classify(&error).error)?;
        Ok(client)
    }
}

impl Database for Postgres {
    fn connect(&self) -> Result<Box<dyn Connection>, DatabaseError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| DatabaseError::Unavailable(error.to_string()))?;
        let client = runtime.block_on(self.client(&runtime))?;
        let mut connection = PostgresConnection::new(runtime, client);
        connection.check_server()?;
        Ok(Box::new(connection))
    }

    fn n_writers(&self) -> usize {
        N_WRITERS
    }
}

/// Without the address itself, which may have a password at any wrong place.
fn misunderstood(error: &tokio_postgres::Error) -> DatabaseError {
    let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    let why = match cause.strip_prefix("invalid value for option ") {
        Some(option) if option.contains("sslmode") => NO_TLS.to_owned(),
        Some(option) => format!("the address of PostgreSQL has an invalid value for {option}"),
        None => "the address of PostgreSQL is neither postgresql://user@host/name nor host=... user=... dbname=..."
            .to_owned(),
    };
    DatabaseError::Unusable(why)
}
