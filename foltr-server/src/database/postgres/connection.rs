//! A connection, which waits for PostgreSQL on the thread of its user.

use std::collections::HashMap;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

use super::errors::{Failure, classify};
use super::{OLDEST_VERSION, values};
use crate::database::{Access, Connection, DatabaseError, OpenTransaction, Row, Value};

/// Longer than PostgreSQL's own limits: who does not answer by then is gone.
const PATIENCE: Duration = Duration::from_secs(45);
const MIGRATION_PATIENCE: Duration = Duration::from_secs(15 * 60);
const N_STATEMENTS: usize = 512;

/// Of the lock that migrations take, in the name of this program.
const MIGRATION_LOCK: i64 = i64::from_be_bytes(*b"foltrsch");

pub struct PostgresConnection {
    /// Until it is dropped.
    runtime: Option<Runtime>,
    session: Session,
    transaction: Option<OpenTransaction>,
    /// Why it is of no more use.
    loss: Option<DatabaseError>,
}

struct Session {
    client: Client,
    /// By their text.
    statements: HashMap<String, Statement>,
}

impl Session {
    async fn batch(&mut self, sql: &str) -> Result<(), Failure> {
        self.client.batch_execute(sql).await.map_err(|error| classify(&error))
    }

    async fn prepare(&mut self, sql: &str) -> Result<Statement, Failure> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        if sql.contains('\0') {
            return Err(Failure::statement("a statement has a zero byte".to_owned()));
        }
        let statement = self.client.prepare(sql).await.map_err(|error| classify(&error))?;
        if self.statements.len() >= N_STATEMENTS {
            self.statements.clear();
        }
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    async fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Failure> {
        let statement = self.prepare(sql).await?;
        let parameters = values::parameters(statement.params(), values)?;
        let parameters: Vec<_> = parameters.iter().map(|value| value.as_ref() as &(dyn ToSql + Sync)).collect();
        let rows = self.client.query(&statement, &parameters).await.map_err(|error| classify(&error))?;
        rows.iter().map(values::row).collect()
    }

    async fn execute_many(&mut self, sql: &str, values: &[Vec<Value>]) -> Result<Vec<u64>, Failure> {
        let statement = self.prepare(sql).await?;
        let mut executions = Vec::with_capacity(values.len());
        for values in values {
            let parameters = values::parameters(statement.params(), values)?;
            executions.push(Box::pin(self.client.execute_raw(&statement, parameters)));
        }
        let executed = in_a_row(executions).await;
        executed.into_iter().map(|executed| executed.map_err(|error| classify(&error))).collect()
    }
}

/// Begins all before it waits for the first. They end in this order.
async fn in_a_row<F: Future>(mut futures: Vec<Pin<Box<F>>>) -> Vec<F::Output> {
    let mut done: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, done) in futures.iter_mut().zip(&mut done) {
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                *done = Some(output);
            }
        }
        Poll::Ready(())
    })
    .await;
    let mut outputs = Vec::with_capacity(done.len());
    for (future, done) in futures.into_iter().zip(done) {
        outputs.push(match done {
            Some(output) => output,
            None => future.await,
        });
    }
    outputs
}

impl PostgresConnection {
    pub fn new(runtime: Runtime, client: Client) -> Self {
        let session = Session { client, statements: HashMap::new() };
        Self { runtime: Some(runtime), session, transaction: None, loss: None }
    }

    /// Waits for an answer. After a loss there is none.
    fn wait<T>(&mut self, run: impl AsyncFnOnce(&mut Session) -> Result<T, Failure>) -> Result<T, DatabaseError> {
        if let Some(loss) = &self.loss {
            return Err(loss.clone());
        }
        let is_migration = matches!(self.transaction, Some(OpenTransaction { access: Access::Migrate, .. }));
        let patience = if is_migration { MIGRATION_PATIENCE } else { PATIENCE };
        let runtime = self.runtime.as_ref().expect("it is there until this is dropped");
        let session = &mut self.session;
        let done = runtime.block_on(async { timeout(patience, run(session)).await });
        let done = done.unwrap_or_else(|_| Err(Failure::lost(format!("PostgreSQL did not answer for {patience:?}"))));
        done.map_err(|failure| {
            if failure.is_lost {
                self.loss = Some(match &failure.error {
                    DatabaseError::Unavailable(_) => failure.error.clone(),
                    error => DatabaseError::Unavailable(error.to_string()),
                });
            }
            failure.error
        })
    }

    /// Runs statements in the transaction.
    fn run<T>(&mut self, run: impl AsyncFnOnce(&mut Session) -> Result<T, Failure>) -> Result<T, DatabaseError> {
        if self.loss.is_none() {
            OpenTransaction::usable(&self.transaction)?;
        }
        let done = self.wait(run);
        if let (Err(error), Some(transaction)) = (&done, &mut self.transaction) {
            transaction.failure = Some(error.clone());
        }
        done
    }

    /// Whether it keeps what it is given.
    pub fn check_server(&mut self) -> Result<(), DatabaseError> {
        const SQL: &str = "SELECT CAST(current_setting('server_version_num') AS BIGINT), current_setting('fsync'), \
            current_setting('full_page_writes'), current_setting('server_encoding')";
        let rows = self.wait(async |session| session.query(SQL, &[]).await)?;
        let row =
            rows.first().ok_or_else(|| DatabaseError::Unusable("PostgreSQL does not say its version".to_owned()))?;
        let wrong = match (row.int(0)?, row.text(1)?, row.text(2)?, row.text(3)?) {
            (version, ..) if version < OLDEST_VERSION => {
                format!("PostgreSQL is of version {version}; expected 15 or newer")
            }
            (_, fsync, ..) if fsync != "on" => {
                "PostgreSQL has fsync = off and may lose what it has acknowledged; turn it on".to_owned()
            }
            (_, _, writes, _) if writes != "on" => {
                "PostgreSQL has full_page_writes = off and may be damaged by a power loss; turn it on".to_owned()
            }
            (.., encoding) if encoding != "UTF8" => {
                format!("the database has the encoding {encoding}; create it with UTF8")
            }
            _ => return Ok(()),
        };
        Err(DatabaseError::Unusable(wrong))
    }
}

impl Connection for PostgresConnection {
    fn begin(&mut self, access: Access) -> Result<(), DatabaseError> {
        if self.transaction.is_some() && self.loss.is_none() {
            return Err(DatabaseError::Statement("a transaction is open already".to_owned()));
        }
        let sql = match access {
            Access::Read => "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY".to_owned(),
            Access::Write => "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE".to_owned(),
            Access::Migrate => format!(
                "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SET LOCAL lock_timeout = '60s'; \
                SET LOCAL statement_timeout = '10min'; SELECT pg_advisory_xact_lock({MIGRATION_LOCK})"
            ),
        };
        self.transaction = Some(OpenTransaction::new(access));
        let begun = self.wait(async |session| session.batch(&sql).await);
        if begun.is_err() {
            self.roll_back();
        }
        begun
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        self.run(async |session| session.query(sql, values).await)
    }

    /// PostgreSQL makes a transaction of it by itself, which is not one that cannot change anything: that is looked at here.
    fn query_alone(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        if self.transaction.is_some() && self.loss.is_none() {
            return Err(DatabaseError::Statement("a transaction is open already".to_owned()));
        }
        if !sql.starts_with("SELECT ") {
            return Err(DatabaseError::Statement("only a SELECT can be alone".to_owned()));
        }
        self.wait(async |session| session.query(sql, values).await)
    }

    fn execute_many(&mut self, sql: &str, values: &[Vec<Value>]) -> Result<Vec<u64>, DatabaseError> {
        self.run(async |session| session.execute_many(sql, values).await)
    }

    fn script(&mut self, sql: &str) -> Result<(), DatabaseError> {
        self.run(async |session| session.batch(sql).await)
    }

    fn commit(&mut self) -> Result<(), DatabaseError> {
        let was_lost = self.loss.is_some();
        let access = match OpenTransaction::usable(&self.transaction) {
            Ok(access) => access,
            Err(error) => {
                self.roll_back();
                return Err(error);
            }
        };
        let committed = self.wait(async |session| session.batch("COMMIT").await);
        self.transaction = None;
        match committed {
            Err(error) if self.loss.is_some() && !was_lost && access != Access::Read => {
                Err(DatabaseError::Unknown(error.to_string()))
            }
            committed => committed,
        }
    }

    fn roll_back(&mut self) {
        if self.transaction.take().is_some()
            && let Err(error) = self.wait(async |session| session.batch("ROLLBACK").await)
        {
            self.loss.get_or_insert(DatabaseError::Unavailable(error.to_string()));
        }
    }

    /// PostgreSQL finds damage when it reads: this asks what it has found.
    fn check(&mut self) -> Result<(), DatabaseError> {
        const SQL: &str = "SELECT CAST(coalesce(sum(checksum_failures), 0) AS BIGINT) FROM pg_stat_database \
            WHERE datname = current_database()";
        self.check_server()?;
        let rows = self.wait(async |session| session.query(SQL, &[]).await)?;
        match rows.first().map_or(Ok(0), |row| row.int(0))? {
            0 => Ok(()),
            n => Err(DatabaseError::Damaged(format!(
                "PostgreSQL has read {n} pages with a wrong checksum; restore a backup, or repair it and call pg_stat_reset()"
            ))),
        }
    }
}

impl Drop for PostgresConnection {
    /// Without waiting, which would be a panic on a thread of another runtime.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
