//! What the server's store is made of: transactions over SQL that SQLite and PostgreSQL both understand.
//!
//! Statements are written once, with `$1`, `$2`, ... for values, in the words that both have in common: `BIGINT`, `BYTEA` and
//! `TEXT` columns, `INSERT ... ON CONFLICT`, `RETURNING`. `FOR UPDATE` at the end of a `SELECT` locks rows in PostgreSQL;
//! SQLite, whose writers come one after the other, leaves it out.
//!
//! Both behave alike: statements need a transaction; after one has failed the transaction is lost and cannot be committed; a
//! reading transaction changes and locks nothing; there are as many values as `$` numbers; no text has a zero byte.

mod pool;
mod postgres;
mod sqlite;
#[cfg(test)]
mod tests;

use thiserror::Error;

pub use pool::Pool;
pub use postgres::Postgres;
pub use sqlite::Sqlite;

/// Where connections come from.
pub trait Database: Send + Sync {
    fn connect(&self) -> Result<Box<dyn Connection>, DatabaseError>;

    /// How many connections may write at the same time: 1 for SQLite.
    fn n_writers(&self) -> usize;
}

/// What a transaction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// One state of the data, and no change.
    Read,
    Write,
    /// As [`Access::Write`], while nobody else changes the schema.
    Migrate,
}

/// One connection, with at most one transaction at a time.
pub trait Connection: Send {
    fn begin(&mut self, access: Access) -> Result<(), DatabaseError>;

    /// The rows that a statement returns.
    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, DatabaseError>;

    /// The rows of one statement that reads, in a transaction of its own.
    fn query_alone(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        self.begin(Access::Read)?;
        match self.query(sql, values) {
            Ok(rows) => self.commit().map(|()| rows),
            Err(error) => {
                self.roll_back();
                Err(error)
            }
        }
    }

    /// Runs a statement for each list of values, in this order, and says how many rows each changed.
    fn execute_many(&mut self, sql: &str, values: &[Vec<Value>]) -> Result<Vec<u64>, DatabaseError>;

    /// Several statements without values, separated by semicolons.
    fn script(&mut self, sql: &str) -> Result<(), DatabaseError>;

    /// Durable when it returns. After an error nobody knows whether it took place.
    fn commit(&mut self) -> Result<(), DatabaseError>;

    fn roll_back(&mut self);

    /// Looks for damage, as far as the database can.
    fn check(&mut self) -> Result<(), DatabaseError>;
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Bytes(Vec<u8>),
    Text(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Row(pub Vec<Value>);

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DatabaseError {
    /// Nothing has changed; the same again may succeed.
    #[error("the database is busy or not reachable: {0}")]
    Unavailable(String),
    /// A commit whose outcome is unknown. Look before you do it again.
    #[error("the connection was lost while a change was committed: {0}")]
    Unknown(String),
    /// What was written may not be on the disk: the process must end.
    #[error("the disk failed: {0}")]
    Disk(String),
    #[error("no space is left for the database: {0}")]
    Full(String),
    #[error("the database is damaged: {0}")]
    Damaged(String),
    #[error("the database cannot be used: {0}")]
    Unusable(String),
    #[error("the database refused a statement: {0}")]
    Statement(String),
}

impl dyn Connection + '_ {
    /// Runs a transaction, which is undone on an error.
    pub fn transaction<T, E: From<DatabaseError>>(
        &mut self,
        access: Access,
        run: impl FnOnce(&mut dyn Connection) -> Result<T, E>,
    ) -> Result<T, E> {
        self.begin(access)?;
        match run(self) {
            Ok(done) => {
                self.commit()?;
                Ok(done)
            }
            Err(error) => {
                self.roll_back();
                Err(error)
            }
        }
    }
}

/// A transaction that is open.
struct OpenTransaction {
    access: Access,
    /// Of the first statement that failed.
    failure: Option<DatabaseError>,
}

impl OpenTransaction {
    fn new(access: Access) -> Self {
        Self { access, failure: None }
    }

    /// The transaction that a statement runs in.
    fn usable(transaction: &Option<Self>) -> Result<Access, DatabaseError> {
        match transaction {
            None => Err(DatabaseError::Statement("a statement needs a transaction; begin one first".to_owned())),
            Some(Self { failure: Some(failure), .. }) => Err(failure.clone()),
            Some(Self { access, failure: None }) => Ok(*access),
        }
    }
}

fn check_texts(values: &[Value]) -> Result<(), DatabaseError> {
    let has_zero = |value: &Value| matches!(value, Value::Text(text) if text.contains('\0'));
    match values.iter().position(has_zero) {
        Some(place) => Err(DatabaseError::Statement(format!("the text ${} has a zero byte; use bytes", place + 1))),
        None => Ok(()),
    }
}

fn wrong_count(expected: usize, got: usize) -> DatabaseError {
    DatabaseError::Statement(format!("a statement has {expected} values, but {got} were given"))
}

impl Row {
    fn wrong(&self, column: usize, expected: &str) -> DatabaseError {
        DatabaseError::Damaged(format!("column {column} of a row is not {expected}"))
    }

    pub fn int(&self, column: usize) -> Result<i64, DatabaseError> {
        match self.0.get(column) {
            Some(Value::Int(value)) => Ok(*value),
            _ => Err(self.wrong(column, "a number")),
        }
    }

    pub fn u32(&self, column: usize) -> Result<u32, DatabaseError> {
        u32::try_from(self.int(column)?).map_err(|_| self.wrong(column, "a number of 32 bits"))
    }

    pub fn u64(&self, column: usize) -> Result<u64, DatabaseError> {
        u64::try_from(self.int(column)?).map_err(|_| self.wrong(column, "a number from 0 on"))
    }

    pub fn bool(&self, column: usize) -> Result<bool, DatabaseError> {
        Ok(self.int(column)? != 0)
    }

    pub fn bytes(&self, column: usize) -> Result<&[u8], DatabaseError> {
        match self.0.get(column) {
            Some(Value::Bytes(value)) => Ok(value),
            _ => Err(self.wrong(column, "bytes")),
        }
    }

    /// The bytes themselves; nothing is left in their place.
    pub fn take_bytes(&mut self, column: usize) -> Result<Vec<u8>, DatabaseError> {
        match self.0.get_mut(column) {
            Some(Value::Bytes(value)) => Ok(std::mem::take(value)),
            _ => Err(self.wrong(column, "bytes")),
        }
    }

    pub fn array<const N: usize>(&self, column: usize) -> Result<[u8; N], DatabaseError> {
        self.bytes(column)?.try_into().map_err(|_| self.wrong(column, "of the right length"))
    }

    pub fn text(&self, column: usize) -> Result<&str, DatabaseError> {
        match self.0.get(column) {
            Some(Value::Text(value)) => Ok(value),
            _ => Err(self.wrong(column, "a text")),
        }
    }

    pub fn is_null(&self, column: usize) -> bool {
        matches!(self.0.get(column), None | Some(Value::Null))
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Int(value.into())
    }
}

impl From<u64> for Value {
    /// Times and counts, none of which comes near 2^63.
    fn from(value: u64) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Int(value.into())
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Self {
        Self::Bytes(value.to_vec())
    }
}

impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
