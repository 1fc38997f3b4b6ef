//! One suite for both databases. What only one of them can do to us is in the modules.

mod crashes;
mod lost_connections;
mod pools;

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use foltr_test::disk::Disk;
use foltr_test::postgres::Cluster;
use tempfile::TempDir;

use super::{Access, Connection, Database, DatabaseError, Postgres, Row, Sqlite, Value};

const TABLE: &str = "CREATE TABLE things (id BIGINT PRIMARY KEY, number BIGINT, content BYTEA, name TEXT)";
const INSERT: &str = "INSERT INTO things (id, number, content, name) VALUES ($1, $2, $3, $4)";

type Done<T> = Result<T, DatabaseError>;

/// A database with an empty table, and what must live as long as it.
struct TestDatabase {
    name: &'static str,
    database: Arc<dyn Database>,
    _folder: Option<TempDir>,
}

impl TestDatabase {
    fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = Arc::new(Sqlite::open(&folder.path().join("store.db")));
        Self { name: "SQLite", database, _folder: Some(folder) }.with_table()
    }

    fn postgres(cluster: &Cluster) -> Self {
        let url = cluster.url(&cluster.new_database());
        let database = Arc::new(Postgres::new(&url).unwrap());
        Self { name: "PostgreSQL", database, _folder: None }.with_table()
    }

    fn with_table(self) -> Self {
        self.run(Access::Migrate, |connection| connection.script(TABLE));
        self
    }

    fn connect(&self) -> Box<dyn Connection> {
        self.database.connect().unwrap()
    }

    fn run<T>(&self, access: Access, run: impl FnOnce(&mut dyn Connection) -> Done<T>) -> T {
        self.connect().transaction(access, run).unwrap()
    }

    fn ids(&self) -> Vec<i64> {
        self.run(Access::Read, ids)
    }
}

/// Those that this machine has.
fn each(test: impl Fn(&TestDatabase)) {
    test(&TestDatabase::sqlite());
    if let Some(cluster) = Cluster::shared() {
        test(&TestDatabase::postgres(cluster));
    }
}

fn ids(connection: &mut dyn Connection) -> Done<Vec<i64>> {
    connection.query("SELECT id FROM things ORDER BY id", &[])?.iter().map(|row| row.int(0)).collect()
}

fn thing(id: i64) -> Vec<Value> {
    vec![id.into(), Value::Null, Value::Null, Value::Null]
}

fn insert(connection: &mut dyn Connection, id: i64) -> Done<()> {
    connection.query(INSERT, &thing(id)).map(drop)
}

fn is_statement<T: std::fmt::Debug>(done: Done<T>, part: &str) {
    match done {
        Err(DatabaseError::Statement(why)) => assert!(why.contains(part), "{why}"),
        done => panic!("{done:?}"),
    }
}

#[test]
fn values_come_back_as_they_were() {
    let large: Vec<u8> = (0..5_000_000_u32).map(|place| (place % 251) as u8).collect();
    let values: Vec<Vec<Value>> = vec![
        vec![i64::MIN.into(), i64::MAX.into(), Value::Bytes(vec![]), "".into()],
        thing(-1),
        vec![0_i64.into(), u64::MAX.into(), large.into(), "ein \u{1F600} \"'$1\\ \u{80}".into()],
        vec![i64::MAX.into(), true.into(), (&[0_u8, 255, 0][..]).into(), "x".repeat(1_000_000).into()],
    ];
    each(|database| {
        let written = database.run(Access::Write, |connection| connection.execute_many(INSERT, &values));
        assert_eq!(written, [1; 4], "{}", database.name);
        let sql = "SELECT id, number, content, name FROM things ORDER BY id";
        let read = database.run(Access::Read, |connection| connection.query(sql, &[]));
        let expected: Vec<Row> = values.iter().map(|values| Row(values.clone())).collect();
        assert!(read == expected, "{}", database.name);
        assert!(read[1].is_null(3) && !read[0].is_null(3), "empty is not nothing");
    });
}

#[test]
fn values_are_bound_by_number_in_any_order() {
    each(|database| {
        database.run(Access::Write, |connection| {
            connection.query(
                "INSERT INTO things (name, number, id) VALUES ($3, $2, $1)",
                &[7_i64.into(), 8_i64.into(), "n".into()],
            )?;
            let sql = "SELECT id FROM things WHERE (number = $2 OR number = $2) AND name = $3 AND id >= $1 LIMIT $4";
            let found = connection.query(sql, &[7_i64.into(), 8_i64.into(), "n".into(), 5_i64.into()])?;
            assert_eq!(found, [Row(vec![Value::Int(7)])], "{}", database.name);
            Ok(())
        });
    });
}

#[test]
fn a_transaction_that_fails_leaves_nothing() {
    each(|database| {
        let mut connection = database.connect();
        let done: Done<()> = connection.transaction(Access::Write, |connection| {
            insert(connection, 1)?;
            Err(DatabaseError::Full("as told".to_owned()))
        });
        assert_eq!(done, Err(DatabaseError::Full("as told".to_owned())));
        // The connection goes on, also after a statement that failed.
        insert_and_swallow(connection.as_mut());
        assert_eq!(database.ids(), [0_i64; 0], "{}", database.name);
        connection.transaction(Access::Write, |connection| insert(connection, 3)).unwrap();
        assert_eq!(database.ids(), [3], "{}", database.name);
    });
}

/// A failed statement loses the transaction, whatever its user thinks.
fn insert_and_swallow(connection: &mut dyn Connection) {
    let done = connection.transaction(Access::Write, |connection| {
        insert(connection, 2)?;
        let twice = insert(connection, 2);
        is_statement(twice.clone(), "");
        assert_eq!(insert(connection, 4), twice, "no more statements");
        Ok(())
    });
    is_statement(done, "");
}

#[test]
fn a_script_makes_a_schema_or_nothing() {
    each(|database| {
        let script = "CREATE TABLE first (id BIGINT); CREATE INDEX by_id ON first (id); INSERT INTO first VALUES (1)";
        database.run(Access::Migrate, |connection| connection.script(script));
        let mut connection = database.connect();
        let broken = "CREATE TABLE second (id BIGINT); INSERT INTO nowhere VALUES (1)";
        is_statement(connection.transaction(Access::Migrate, |connection| connection.script(broken)), "nowhere");
        let again = "CREATE TABLE second (id BIGINT)";
        connection.transaction(Access::Migrate, |connection| connection.script(again)).unwrap();
        connection.check().unwrap();
    });
}

#[test]
fn a_reader_sees_one_state() {
    each(|database| {
        let (mut reader, mut writer) = (database.connect(), database.connect());
        reader.begin(Access::Read).unwrap();
        assert_eq!(ids(reader.as_mut()).unwrap(), [0_i64; 0]);
        writer.transaction(Access::Write, |connection| insert(connection, 1)).unwrap();
        assert_eq!(ids(reader.as_mut()).unwrap(), [0_i64; 0], "{}", database.name);
        reader.commit().unwrap();
        // What is not committed is not seen.
        writer.begin(Access::Write).unwrap();
        insert(writer.as_mut(), 2).unwrap();
        assert_eq!(reader.transaction(Access::Read, ids).unwrap(), [1]);
        writer.commit().unwrap();
        assert_eq!(reader.transaction(Access::Read, ids).unwrap(), [1, 2]);
    });
}

#[test]
fn readers_change_and_lock_nothing() {
    each(|database| {
        let mut connection = database.connect();
        let mut read = |sql: &str| connection.transaction(Access::Read, |connection| connection.query(sql, &[]));
        for sql in ["DELETE FROM things", "SELECT id FROM things FOR UPDATE", "CREATE TABLE other (id BIGINT)"] {
            is_statement(read(sql), "");
        }
        is_statement(connection.transaction(Access::Read, |connection| connection.script("DELETE FROM things")), "");
    });
}

#[test]
fn conflicts_and_updates_say_how_many_rows_they_changed() {
    each(|database| {
        database.run(Access::Write, |connection| {
            let sql = "INSERT INTO things (id, number) VALUES ($1, $2) ON CONFLICT DO NOTHING";
            let row = |id: i64, number: i64| vec![id.into(), number.into()];
            let many = [row(1, 1), row(2, 1), row(1, 9), row(3, 1)];
            assert_eq!(connection.execute_many(sql, &many)?, [1, 1, 0, 1], "{}", database.name);
            assert_eq!(connection.query(&format!("{sql} RETURNING number"), &row(1, 5))?, []);
            assert_eq!(connection.query(&format!("{sql} RETURNING id"), &row(4, 7))?, [Row(vec![Value::Int(4)])]);
            // In this order: the last one wins.
            let set = "UPDATE things SET number = $2 WHERE id <= $1";
            assert_eq!(connection.execute_many(set, &[row(3, 2), row(2, 3), row(0, 4)])?, [3, 2, 0]);
            assert_eq!(connection.execute_many(set, &[])?, [0_u64; 0]);
            let numbers = connection.query("SELECT number FROM things ORDER BY id", &[])?;
            assert_eq!(numbers.iter().map(|row| row.int(0).unwrap()).collect::<Vec<_>>(), [3, 3, 2, 7]);
            let deleted = connection.query("DELETE FROM things WHERE number = $1 RETURNING id", &[3_i64.into()])?;
            assert_eq!(deleted.len(), 2);
            assert_eq!(
                connection.query("SELECT count(*), count(*) > 1 FROM things", &[])?[0].0,
                [2_i64.into(), 1_i64.into()]
            );
            Ok(())
        });
    });
}

#[test]
fn wrong_values_are_errors() {
    each(|database| {
        let mut connection = database.connect();
        let mut run = |sql: &str, values: &[Value]| {
            connection.transaction(Access::Write, |connection| connection.query(sql, values))
        };
        is_statement(run("INSERT INTO things (id, name) VALUES (1, $1)", &["a\0b".into()]), "zero byte");
        is_statement(run("SELECT id FROM things WHERE id = $1", &[]), "1 values, but 0");
        is_statement(run("SELECT id FROM things", &[1_i64.into()]), "0 values, but 1");
        is_statement(run("SELECT id FROM thin\0gs", &[]), "");
        is_statement(run("SELECT 1.5", &[]), "");
        is_statement(run("nonsense", &[]), "nonsense");
        // The connection still works.
        run("SELECT id FROM things", &[]).unwrap();
        is_statement(connection.query("SELECT id FROM things", &[]), "transaction");
        is_statement(connection.commit(), "transaction");
        connection.begin(Access::Write).unwrap();
        is_statement(connection.begin(Access::Write), "already");
    });
}

#[test]
fn writers_of_one_row_come_one_after_the_other() {
    each(|database| {
        database.run(Access::Write, |connection| insert(connection, 1));
        database.run(Access::Write, |connection| connection.query("UPDATE things SET number = 0", &[]));
        let increment = |connection: &mut dyn Connection| {
            let rows = connection.query("SELECT number FROM things WHERE id = $1 FOR UPDATE", &[1_i64.into()])?;
            let number = rows[0].int(0)? + 1;
            connection.query("UPDATE things SET number = $1 WHERE id = 1", &[number.into()]).map(|_| number)
        };
        let (sender, receiver) = channel();
        let mut first = database.connect();
        first.begin(Access::Write).unwrap();
        assert_eq!(increment(first.as_mut()).unwrap(), 1);
        std::thread::scope(|scope| {
            scope.spawn(|| sender.send(database.run(Access::Write, increment)).unwrap());
            receiver.recv_timeout(Duration::from_millis(300)).expect_err("the second waits");
            first.commit().unwrap();
            assert_eq!(receiver.recv_timeout(Duration::from_secs(9)).unwrap(), 2, "{}", database.name);
        });
    });
}

#[test]
fn migrations_come_one_after_the_other() {
    each(|database| {
        let mut first = database.connect();
        first.begin(Access::Migrate).unwrap();
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            scope.spawn(|| sender.send(database.run(Access::Migrate, |_| Ok(1))).unwrap());
            receiver.recv_timeout(Duration::from_millis(300)).expect_err("the second waits");
            first.roll_back();
            receiver.recv_timeout(Duration::from_secs(9)).expect("the second goes on");
        });
    });
}

#[test]
fn files_of_others_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.db");
    let other = rusqlite::Connection::open(&file).unwrap();
    other.execute_batch("CREATE TABLE theirs (id INTEGER)").unwrap();
    drop(other);
    let before = std::fs::read(&file).unwrap();
    let error = Sqlite::open(&file).connect().err().unwrap();
    assert!(matches!(&error, DatabaseError::Unusable(why) if why.contains("other.db")), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), before);

    std::fs::write(&file, "no database, but a text that is longer than a header of a hundred bytes is. ".repeat(9))
        .unwrap();
    assert!(matches!(Sqlite::open(&file).connect().err().unwrap(), DatabaseError::Damaged(_)));
    let nowhere = folder.path().join("no/such/folder.db");
    assert!(matches!(Sqlite::open(&nowhere).connect().err().unwrap(), DatabaseError::Unusable(_)));
}

#[cfg(unix)]
#[test]
fn a_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let database = Sqlite::open(&folder.path().join("store.db"));
    let mut connection = database.connect().unwrap();
    connection.transaction(Access::Migrate, |connection| connection.script(TABLE)).unwrap();
    for name in ["store.db", "store.db-wal"] {
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

/// Not while somebody reads now and then either. Who reads one state for long lets it grow, and does not stop who writes.
#[test]
fn the_log_does_not_grow_without_bound() {
    // Waiting takes no time there.
    let disk = Disk::new();
    let database = sqlite_on(&disk);
    let (mut writer, mut reader) = (database.connect().unwrap(), database.connect().unwrap());
    writer.transaction(Access::Migrate, |connection| connection.script(TABLE)).unwrap();
    let mut n_written = 0_u8;
    let mut write = |id: i64| {
        n_written = n_written.wrapping_add(1);
        let values = vec![id.into(), Value::Null, vec![n_written; 400_000].into(), Value::Null];
        let sql = "INSERT INTO things (id, number, content, name) VALUES ($1, $2, $3, $4)
            ON CONFLICT (id) DO UPDATE SET content = excluded.content";
        writer.transaction(Access::Write, |connection| connection.query(sql, &values)).unwrap();
        disk.files().into_iter().find(|(name, _)| name == "store.db-wal").unwrap().1
    };
    let start =
        |reader: &mut Box<dyn Connection>| reader.begin(Access::Read).and_then(|()| ids(reader.as_mut())).unwrap();
    for id in 0..154 {
        if id % 7 == 0 {
            start(&mut reader);
        }
        let n_bytes = write(id % 5);
        assert!(n_bytes < 48 << 20, "{n_bytes} bytes after {id}");
        if id % 7 == 3 {
            reader.roll_back();
        }
    }
    start(&mut reader);
    let longest = (0..150).map(|_| write(0)).max().unwrap();
    assert!(longest > 48 << 20, "{longest} bytes");
    reader.roll_back();
    let n_bytes = (0..11).map(|_| write(0)).min().unwrap();
    assert!(n_bytes < 16 << 20, "{n_bytes} bytes");
}

fn sqlite_on(disk: &Disk) -> Sqlite {
    Sqlite::open("store.db".as_ref()).on_vfs(disk.name())
}

#[test]
fn one_statement_alone_reads_and_changes_nothing() {
    each(|test| {
        let name = test.name;
        test.run(Access::Write, |connection| connection.execute_many(INSERT, &[thing(1), thing(2)]));
        let mut connection = test.connect();
        let count = "SELECT count(*) FROM things WHERE id >= $1";
        assert_eq!(connection.query_alone(count, &[2_i64.into()]).unwrap(), [Row(vec![1_i64.into()])], "{name}");
        for wrong in ["DELETE FROM things WHERE id >= $1 RETURNING id", "SELECT nothing FROM things WHERE id >= $1"] {
            let refused = connection.query_alone(wrong, &[1_i64.into()]);
            assert!(matches!(refused, Err(DatabaseError::Statement(_))), "{name}: {refused:?}");
        }
        connection.begin(Access::Write).unwrap();
        let refused = connection.query_alone(count, &[1_i64.into()]);
        assert!(matches!(refused, Err(DatabaseError::Statement(_))), "{name}: {refused:?}");
        connection.roll_back();
        assert_eq!(connection.query_alone(count, &[1_i64.into()]).unwrap(), [Row(vec![2_i64.into()])], "{name}");
    });
}
