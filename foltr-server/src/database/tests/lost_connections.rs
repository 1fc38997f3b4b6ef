//! PostgreSQL goes away: before a commit nothing has changed, and during one nobody knows.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use foltr_test::postgres::Cluster;

use super::{TestDatabase, ids, insert};
use crate::database::{Access, Connection, Database, DatabaseError, Pool, Postgres, Value};

fn is_unavailable<T: std::fmt::Debug>(done: Result<T, DatabaseError>) {
    assert!(matches!(done, Err(DatabaseError::Unavailable(_))), "{done:?}");
}

fn terminate(database: &TestDatabase, connection: &mut dyn Connection) {
    let sql = "SELECT CAST(pg_backend_pid() AS BIGINT)";
    let id = connection.transaction(Access::Read, |connection| connection.query(sql, &[])).unwrap()[0].int(0).unwrap();
    database.run(Access::Write, |connection| {
        connection.query("SELECT pg_terminate_backend(CAST($1 AS INTEGER))", &[id.into()]).map(drop)
    });
}

#[test]
fn a_terminated_connection_is_dead_and_the_pool_makes_another() {
    let Some(cluster) = Cluster::shared() else { return };
    let database = TestDatabase::postgres(cluster);
    let mut connection = database.connect();
    terminate(&database, connection.as_mut());
    is_unavailable(connection.begin(Access::Write));
    is_unavailable(connection.begin(Access::Read));
    is_unavailable(connection.query("SELECT 1", &[]));
    is_unavailable(connection.check());
    is_unavailable(connection.transaction(Access::Read, ids));

    let pool = Pool::new(database.database.clone(), 1);
    let mut n_runs = 0;
    let added = pool.write(|connection| {
        n_runs += 1;
        insert(connection, 1)?;
        if n_runs == 1 {
            // In the middle of the transaction.
            let sql = "SELECT pg_terminate_backend(pg_backend_pid())";
            connection.query(sql, &[])?;
        }
        ids(connection)
    });
    assert_eq!((added.unwrap(), n_runs), (vec![1], 2));
}

/// Uses so many connections at a time.
fn use_all(pool: &Pool, n: usize) {
    let more = |_: &mut dyn Connection| {
        if n > 1 {
            use_all(pool, n - 1);
        }
        Ok::<_, DatabaseError>(())
    };
    pool.read(more).unwrap();
}

#[test]
fn a_restart_is_survived() {
    let Some(cluster) = Cluster::new() else { return };
    let database = TestDatabase::postgres(&cluster);
    let pool = Pool::new(database.database.clone(), 12);
    // More connections than a transaction is tried, and all of them will be lost.
    use_all(&pool, 12);
    pool.write(|connection| insert(connection, 1)).unwrap();
    let mut open = database.connect();
    open.begin(Access::Write).unwrap();
    insert(open.as_mut(), 2).unwrap();
    cluster.stop_immediate();
    is_unavailable(insert(open.as_mut(), 3));
    is_unavailable(open.commit());
    is_unavailable(pool.read(ids));
    cluster.start();
    assert_eq!(pool.read(ids).unwrap(), [1]);
    pool.write(|connection| insert(connection, 2)).unwrap();
    assert_eq!(database.ids(), [1, 2]);
}

/// It is killed by a trigger that runs within the commit.
#[test]
fn a_connection_that_is_killed_during_commit_leaves_the_outcome_open() {
    let Some(cluster) = Cluster::shared() else { return };
    let database = TestDatabase::postgres(cluster);
    let script = "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER die AFTER INSERT ON things DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW WHEN (NEW.id = 13) EXECUTE FUNCTION die()";
    database.run(Access::Migrate, |connection| connection.script(script));
    let pool = Pool::new(database.database.clone(), 2);
    let mut n_runs = 0;
    let done = pool.write(|connection| {
        n_runs += 1;
        insert(connection, 13)
    });
    assert!(matches!(done, Err(DatabaseError::Unknown(_))), "{done:?}");
    assert_eq!((n_runs, database.ids()), (1, vec![]));
    pool.write(|connection| insert(connection, 14)).unwrap();
    // A constraint that is checked then is an answer.
    let script = "ALTER TABLE things ADD CONSTRAINT one UNIQUE (number) DEFERRABLE INITIALLY DEFERRED";
    database.run(Access::Migrate, |connection| connection.script(script));
    let twice = pool.write(|connection| {
        let sql = "INSERT INTO things (id, number) VALUES ($1, 5)";
        connection.execute_many(sql, &[vec![1_i64.into()], vec![2_i64.into()]]).map(drop)
    });
    super::is_statement(twice, "one");
    assert_eq!(database.ids(), [14]);
}

const ALL: u8 = 0;
/// The commit gets through, its answer does not.
const NO_ANSWER: u8 = 1;
const NO_COMMIT: u8 = 2;

/// TCP in front of the local socket, which cuts a connection at its commit.
fn proxy(cluster: &Cluster, way: &'static AtomicU8) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let socket = cluster.folder().join(".s.PGSQL.5432");
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), UnixStream::connect(&socket).unwrap());
            std::thread::spawn(move || forward(client, server, way));
        }
    });
    port
}

fn forward(mut client: TcpStream, mut server: UnixStream, way: &AtomicU8) {
    let (mut to_client, mut from_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let answers = std::thread::spawn(move || std::io::copy(&mut from_server, &mut to_client));
    let mut bytes = [0; 65_536];
    while let Ok(n @ 1..) = client.read(&mut bytes) {
        let is_commit = bytes[..n].windows(7).any(|part| part == b"COMMIT\0");
        let way = if is_commit { way.load(Ordering::SeqCst) } else { ALL };
        if way == NO_ANSWER {
            client.shutdown(Shutdown::Write).unwrap();
        }
        if way == NO_COMMIT || server.write_all(&bytes[..n]).is_err() {
            break;
        }
        if way == NO_ANSWER {
            // PostgreSQL ends the session after what it was sent.
            server.write_all(b"X\0\0\0\x04").unwrap();
            break;
        }
    }
    client.shutdown(Shutdown::Both).ok();
    server.shutdown(Shutdown::Write).ok();
    answers.join().unwrap().ok();
}

#[test]
fn a_commit_whose_answer_is_lost_may_have_taken_place() {
    static WAY: AtomicU8 = AtomicU8::new(ALL);
    let Some(cluster) = Cluster::shared() else { return };
    let name = cluster.new_database();
    let direct = Arc::new(Postgres::new(&cluster.url(&name)).unwrap());
    let direct = TestDatabase { name: "PostgreSQL", database: direct, _folder: None }.with_table();
    let port = proxy(cluster, &WAY);
    let address = format!("postgresql://foltr@127.0.0.1:{port}/{name}");
    let pool = Pool::new(Arc::new(Postgres::new(&address).unwrap()), 2);
    let mut id = 0;
    let mut write = |way| {
        id += 1;
        WAY.store(way, Ordering::SeqCst);
        pool.write(|connection| insert(connection, id))
    };
    write(ALL).unwrap();
    assert!(matches!(write(NO_COMMIT), Err(DatabaseError::Unknown(_))));
    assert_eq!(direct.ids(), [1]);
    assert!(matches!(write(NO_ANSWER), Err(DatabaseError::Unknown(_))));
    while direct.ids() != [1, 3] {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // A reader loses nothing, and is read again.
    let mut n_runs = 0;
    let read = pool.read(|connection| {
        n_runs += 1;
        WAY.store(if n_runs == 1 { NO_COMMIT } else { ALL }, Ordering::SeqCst);
        ids(connection)
    });
    assert_eq!((read.unwrap(), n_runs), (vec![1, 3], 2));
    write(ALL).unwrap();
}

#[test]
fn deadlocks_are_undone_and_run_again() {
    let Some(cluster) = Cluster::shared() else { return };
    let database = TestDatabase::postgres(cluster);
    let pool = Pool::new(database.database.clone(), 2);
    pool.write(|connection| insert(connection, 1).and_then(|()| insert(connection, 2))).unwrap();
    let meeting = std::sync::Barrier::new(2);
    let add = |first: i64, second: i64| {
        let mut n_runs = 0;
        pool.write(|connection| {
            n_runs += 1;
            let sql = "UPDATE things SET number = coalesce(number, 0) + 1 WHERE id = $1";
            connection.query(sql, &[first.into()])?;
            if n_runs == 1 {
                meeting.wait();
            }
            connection.query(sql, &[second.into()]).map(drop)
        })
        .unwrap();
        n_runs
    };
    let n_runs = std::thread::scope(|scope| {
        let (one, two) = (scope.spawn(|| add(1, 2)), scope.spawn(|| add(2, 1)));
        one.join().unwrap() + two.join().unwrap()
    });
    assert_eq!(n_runs, 3, "one of them was undone");
    let numbers = database.run(Access::Read, |connection| connection.query("SELECT number FROM things", &[]));
    assert!(numbers.iter().all(|row| row.0 == [Value::Int(2)]), "{numbers:?}");
}

/// A statement that is prepared does not outlive the shape of its result.
#[test]
fn a_changed_schema_is_seen_by_old_connections() {
    let Some(cluster) = Cluster::shared() else { return };
    let database = TestDatabase::postgres(cluster);
    let pool = Pool::new(database.database.clone(), 1);
    let read = || pool.read(|connection| connection.query("SELECT * FROM things", &[]));
    read().unwrap();
    let script = "INSERT INTO things (id) VALUES (1); ALTER TABLE things ADD COLUMN more BIGINT";
    database.run(Access::Migrate, |connection| connection.script(script));
    assert_eq!(read().unwrap()[0].0.len(), 5);
}

#[test]
fn addresses_are_refused_without_their_password() {
    for address in [
        "postgresql://user:topsecret@host/name?sslmode=require",
        "postgresql://user:topsecret@host/name?sslmode=verify-full",
        "postgresql://user:topsecret@host:port/name",
        "host=here user=me password=topsecret port=x",
        "user=me password=topsecret",
        "topsecret",
        "host=here topsecret=1",
        "password='topsecret",
        "",
    ] {
        let error = Postgres::new(address).err().unwrap_or_else(|| panic!("{address} was accepted"));
        assert!(matches!(error, DatabaseError::Unusable(_)), "{error}");
        assert!(!error.to_string().contains("topsecret"), "{error}");
        assert!(!address.contains("sslmode") || error.to_string().contains("tunnel"), "{error}");
    }
}

#[test]
fn servers_that_cannot_be_used_say_why() {
    is_unavailable(Postgres::new("postgresql://u@127.0.0.1:1/name").unwrap().connect().map(drop));
    let Some(cluster) = Cluster::shared() else { return };
    let error = Postgres::new(&cluster.url("nosuchname")).unwrap().connect().err().unwrap();
    assert!(matches!(&error, DatabaseError::Unusable(why) if why.contains("nosuchname")), "{error}");
}

#[test]
fn a_server_that_may_lose_data_is_refused() {
    let Some(cluster) = Cluster::new() else { return };
    let database = Postgres::new(&cluster.url("postgres")).unwrap();
    drop(database.connect().unwrap());
    for setting in ["fsync", "full_page_writes"] {
        cluster.stop_immediate();
        std::fs::write(cluster.folder().join("data/postgresql.auto.conf"), format!("{setting} = off\n")).unwrap();
        cluster.start();
        let error = database.connect().err().unwrap();
        assert!(matches!(&error, DatabaseError::Unusable(why) if why.contains(setting)), "{error}");
    }
}
