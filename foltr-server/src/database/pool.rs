//! Connections that are kept for the next transaction, and transactions that are tried again.

mod slots;
mod watched;

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Access, Connection, Database, DatabaseError, Row, Value};
use slots::{Lease, Slots};
use watched::Watched;

/// For a connection, and for a transaction to be tried again.
const PATIENCE: Duration = Duration::from_secs(10);
const N_ATTEMPTS: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_millis(50);

/// The exit code of `sysexits.h` for input and output.
const EXIT_CODE: i32 = 74;

type DiskErrorHook = Box<dyn Fn(&DatabaseError) + Send + Sync>;

pub struct Pool {
    database: Arc<dyn Database>,
    /// For all, or for readers where only one may write.
    connections: Slots,
    writer: Option<Slots>,
    patience: Duration,
    on_disk_error: DiskErrorHook,
}

impl Pool {
    /// With at most `n` connections, which are made when they are needed. Where only one may write, one of several is for that.
    pub fn new(database: Arc<dyn Database>, n: usize) -> Self {
        let has_one_writer = database.n_writers() == 1 && n > 1;
        let writer = has_one_writer.then(|| Slots::new(1));
        let n = if has_one_writer { n - 1 } else { n.max(1) };
        Self { database, connections: Slots::new(n), writer, patience: PATIENCE, on_disk_error: Box::new(end_process) }
    }

    /// How long a transaction waits for a connection, and how long it is tried again.
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// What happens instead of the end of this process when a disk has failed.
    pub fn with_on_disk_error(self, hook: impl Fn(&DatabaseError) + Send + Sync + 'static) -> Self {
        Self { on_disk_error: Box::new(hook), ..self }
    }

    /// A transaction that sees one state of the data. It runs again if the database was not reachable.
    pub fn read<T, E: From<DatabaseError>>(
        &self,
        run: impl FnMut(&mut dyn Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        self.run(Access::Read, run)
    }

    /// The rows of one statement that reads, with one question to the database where a transaction takes three.
    pub fn query(&self, sql: &str, values: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        self.try_again(Access::Read, |connection| connection.query_alone(sql, values))
    }

    /// A transaction that is durable afterwards. It runs again if the database was busy or not reachable, which has undone it.
    /// After [`DatabaseError::Unknown`] it does not.
    pub fn write<T, E: From<DatabaseError>>(
        &self,
        run: impl FnMut(&mut dyn Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        self.run(Access::Write, run)
    }

    pub fn run<T, E: From<DatabaseError>>(
        &self,
        access: Access,
        mut run: impl FnMut(&mut dyn Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        self.try_again(access, |connection| (connection as &mut dyn Connection).transaction(access, &mut run))
    }

    fn try_again<T, E: From<DatabaseError>>(
        &self,
        access: Access,
        mut run: impl FnMut(&mut Watched<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let began = Instant::now();
        let mut wait = FIRST_WAIT;
        for attempt in 1.. {
            let mut lease = self.slots(access).take(self.patience)?;
            let (done, error) = self.attempt(&mut lease, attempt > 1, &mut run);
            drop(lease);
            let may_help = matches!(error, Some(DatabaseError::Unavailable(_)));
            if done.is_ok() || !may_help || attempt == N_ATTEMPTS || began.elapsed() + wait > self.patience {
                return done;
            }
            std::thread::sleep(wait);
            wait *= 2;
        }
        unreachable!("the last attempt returns")
    }

    /// Looks for damage, as far as the database can.
    pub fn check(&self) -> Result<(), DatabaseError> {
        let mut lease = self.slots(Access::Read).take(self.patience)?;
        self.attempt(&mut lease, false, |connection| connection.check()).0
    }

    fn slots(&self, access: Access) -> &Slots {
        match &self.writer {
            Some(writer) if access != Access::Read => writer,
            _ => &self.connections,
        }
    }

    /// Also what the database said, whatever `run` made of it.
    fn attempt<T, E: From<DatabaseError>>(
        &self,
        lease: &mut Lease<'_>,
        anew: bool,
        run: impl FnOnce(&mut Watched<'_>) -> Result<T, E>,
    ) -> (Result<T, E>, Option<DatabaseError>) {
        let kept = lease.connection.take().filter(|_| !anew);
        let (done, error) = match kept.map_or_else(|| self.database.connect(), Ok) {
            Err(error) => (Err(E::from(error.clone())), Some(error)),
            Ok(mut connection) => {
                let mut watched = Watched::new(connection.as_mut());
                let done = run(&mut watched);
                let error = watched.error;
                if matches!(error, None | Some(DatabaseError::Statement(_) | DatabaseError::Full(_))) {
                    lease.connection = Some(connection);
                }
                (done, error)
            }
        };
        if let Some(error @ DatabaseError::Disk(_)) = &error {
            (self.on_disk_error)(error);
        }
        (done, error)
    }
}

/// Nobody knows what is on the disk: the next process reads it again. No abort, whose core dump would have secrets in it.
fn end_process(error: &DatabaseError) {
    tracing::error!(%error, "the process ends, because what it has written may be lost");
    std::process::exit(EXIT_CODE);
}
