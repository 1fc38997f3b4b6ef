//! A database whose connections end at a chosen statement.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::database::{Access, Connection, Database, DatabaseError, Row, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Before,
    After,
}

/// What ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    Connection,
    Process,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Counted from the moment at which it was armed; the beginning and the end of a transaction count as well.
    pub statement: usize,
    pub when: When,
    pub death: Death,
}

#[derive(Default)]
struct State {
    armed: Option<Cut>,
    n_statements: usize,
}

#[derive(Clone)]
pub struct Cuts {
    database: Arc<dyn Database>,
    state: Arc<Mutex<State>>,
    has_ended: Arc<AtomicBool>,
}

impl Cuts {
    pub fn new(database: Arc<dyn Database>, has_ended: Arc<AtomicBool>) -> Self {
        Self { database, state: Arc::default(), has_ended }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts statements from 0, and cuts at one of them.
    pub fn arm(&self, armed: Option<Cut>) {
        *self.state() = State { armed, n_statements: 0 };
    }

    pub fn n_statements(&self) -> usize {
        self.state().n_statements
    }

    /// The cut that is due at this statement, once.
    fn count(&self) -> Option<Cut> {
        let mut state = self.state();
        let n = state.n_statements;
        state.n_statements += 1;
        state.armed.take_if(|cut| cut.statement == n)
    }

    fn check_alive(&self) -> Result<(), DatabaseError> {
        let has_ended = self.has_ended.load(Ordering::Relaxed);
        if has_ended { Err(DatabaseError::Unusable("the process has ended".into())) } else { Ok(()) }
    }

    fn terminate(&self, id: i64) {
        let mut other = self.database.connect().expect("another connection");
        let sql = "SELECT pg_terminate_backend(CAST($1 AS INTEGER), 10000)";
        other.transaction(Access::Write, |other| other.query(sql, &[id.into()])).expect("it ends");
    }
}

impl Database for Cuts {
    fn connect(&self) -> Result<Box<dyn Connection>, DatabaseError> {
        self.check_alive()?;
        let mut inner = self.database.connect()?;
        let sql = "SELECT CAST(pg_backend_pid() AS BIGINT)";
        let id = inner.transaction(Access::Read, |inner| inner.query(sql, &[]))?[0].int(0)?;
        Ok(Box::new(Cuttable { inner, id, cuts: self.clone() }))
    }

    fn n_writers(&self) -> usize {
        self.database.n_writers()
    }
}

struct Cuttable {
    inner: Box<dyn Connection>,
    /// Of the process at the other end.
    id: i64,
    cuts: Cuts,
}

impl Cuttable {
    fn run<T>(
        &mut self,
        is_commit: bool,
        run: impl FnOnce(&mut dyn Connection) -> Result<T, DatabaseError>,
    ) -> Result<T, DatabaseError> {
        self.cuts.check_alive()?;
        let cut = self.cuts.count();
        if cut.is_some_and(|cut| cut.when == When::Before) {
            self.end(cut)?;
        }
        let done = run(&mut *self.inner)?;
        if cut.is_some_and(|cut| cut.when == When::After) {
            self.end(cut)?;
            if is_commit {
                return Err(DatabaseError::Unknown("the answer was lost".into()));
            }
        }
        Ok(done)
    }

    fn end(&self, cut: Option<Cut>) -> Result<(), DatabaseError> {
        self.cuts.terminate(self.id);
        if cut.is_some_and(|cut| cut.death == Death::Process) {
            self.cuts.has_ended.store(true, Ordering::Relaxed);
        }
        self.cuts.check_alive()
    }
}

impl Connection for Cuttable {
    fn begin(&mut self, access: Access) -> Result<(), DatabaseError> {
        self.run(false, |inner| inner.begin(access))
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        self.run(false, |inner| inner.query(sql, values))
    }

    fn execute_many(&mut self, sql: &str, values: &[Vec<Value>]) -> Result<Vec<u64>, DatabaseError> {
        self.run(false, |inner| inner.execute_many(sql, values))
    }

    fn script(&mut self, sql: &str) -> Result<(), DatabaseError> {
        self.run(false, |inner| inner.script(sql))
    }

    fn commit(&mut self) -> Result<(), DatabaseError> {
        self.run(true, |inner| inner.commit())
    }

    fn roll_back(&mut self) {
        self.inner.roll_back();
    }

    fn check(&mut self) -> Result<(), DatabaseError> {
        self.inner.check()
    }
}
