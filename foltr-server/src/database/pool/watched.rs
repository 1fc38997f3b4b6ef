//! A connection that remembers the first error it gave, whatever its user makes of it.

use crate::database::{Access, Connection, DatabaseError, Row, Value};

pub struct Watched<'a> {
    connection: &'a mut dyn Connection,
    pub error: Option<DatabaseError>,
}

impl<'a> Watched<'a> {
    pub fn new(connection: &'a mut dyn Connection) -> Self {
        Self { connection, error: None }
    }

    fn watch<T>(&mut self, done: Result<T, DatabaseError>) -> Result<T, DatabaseError> {
        if let Err(error) = &done {
            self.error.get_or_insert_with(|| error.clone());
        }
        done
    }
}

impl Connection for Watched<'_> {
    fn begin(&mut self, access: Access) -> Result<(), DatabaseError> {
        let done = self.connection.begin(access);
        self.watch(done)
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        let done = self.connection.query(sql, values);
        self.watch(done)
    }

    fn query_alone(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, DatabaseError> {
        let done = self.connection.query_alone(sql, values);
        self.watch(done)
    }

    fn execute_many(&mut self, sql: &str, values: &[Vec<Value>]) -> Result<Vec<u64>, DatabaseError> {
        let done = self.connection.execute_many(sql, values);
        self.watch(done)
    }

    fn script(&mut self, sql: &str) -> Result<(), DatabaseError> {
        let done = self.connection.script(sql);
        self.watch(done)
    }

    fn commit(&mut self) -> Result<(), DatabaseError> {
        let done = self.connection.commit();
        self.watch(done)
    }

    fn roll_back(&mut self) {
        self.connection.roll_back();
    }

    fn check(&mut self) -> Result<(), DatabaseError> {
        let done = self.connection.check();
        self.watch(done)
    }
}
