//! Pools: who waits, what runs again, and when the process would end.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use foltr_test::disk::{Fault, Survivors};

use super::{Done, each, ids, insert, is_statement, sqlite_on};
use crate::database::{Access, Connection, Database, DatabaseError, Pool};

#[test]
fn readers_and_writers_work_at_the_same_time() {
    each(|database| {
        let pool = Pool::new(database.database.clone(), 4);
        std::thread::scope(|scope| {
            for thread in 0..6_i64 {
                let pool = &pool;
                scope.spawn(move || {
                    for number in 0..10 {
                        pool.write(|connection| insert(connection, thread * 10 + number)).unwrap();
                        assert!(!pool.read(ids).unwrap().is_empty());
                    }
                });
            }
        });
        assert!(database.ids().iter().copied().eq(0..60), "{}", database.name);
        pool.check().unwrap();
    });
}

#[test]
fn errors_of_the_user_undo_and_run_once() {
    each(|database| {
        let pool = Pool::new(database.database.clone(), 2);
        let mut n_runs = 0;
        let done: Done<()> = pool.write(|connection| {
            n_runs += 1;
            insert(connection, 1)?;
            Err(DatabaseError::Unavailable("said by the user, not by the database".to_owned()))
        });
        assert!(done.is_err() && n_runs == 1);
        is_statement(pool.read(|connection| insert(connection, 1)), "");
        assert_eq!(pool.read(ids).unwrap(), [0_i64; 0]);
    });
}

#[test]
fn a_wait_for_a_connection_ends() {
    each(|database| {
        let pool = Pool::new(database.database.clone(), 1).with_patience(Duration::from_millis(200));
        let began = Instant::now();
        pool.read(|_| {
            let done = pool.read(ids);
            assert!(matches!(&done, Err(DatabaseError::Unavailable(why)) if why.contains("in use")), "{done:?}");
            Ok::<_, DatabaseError>(())
        })
        .unwrap();
        assert!(began.elapsed() < Duration::from_secs(5));
        // The place is free again.
        assert_eq!(pool.read(ids).unwrap(), [0_i64; 0]);
    });
}

#[test]
fn connections_are_given_in_the_order_of_asking() {
    each(|database| {
        let pool = Pool::new(database.database.clone(), 1);
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            pool.write(|_| {
                for number in 0..5 {
                    let (pool, order) = (&pool, &order);
                    scope.spawn(move || {
                        pool.write(|_| {
                            order.lock().unwrap().push(number);
                            Ok::<_, DatabaseError>(())
                        })
                    });
                    std::thread::sleep(Duration::from_millis(50));
                }
                Ok::<_, DatabaseError>(())
            })
            .unwrap();
        });
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4]);
    });
}

#[test]
fn a_panic_frees_the_connection_and_undoes() {
    each(|database| {
        let pool = Pool::new(database.database.clone(), 1);
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.write(|connection| -> Done<()> {
                insert(connection, 1)?;
                panic!("a bug of the user");
            })
        }));
        assert!(panic.is_err());
        assert_eq!(pool.write(ids).unwrap(), [0_i64; 0], "{}", database.name);
    });
}

/// A database whose connections are lost a number of times.
struct Flaky {
    inner: Arc<dyn Database>,
    n_losses: AtomicU32,
}

impl Database for Flaky {
    fn connect(&self) -> Done<Box<dyn Connection>> {
        let left = self.n_losses.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        left.map_or_else(|_| self.inner.connect(), |_| Err(DatabaseError::Unavailable("as told".to_owned())))
    }

    fn n_writers(&self) -> usize {
        self.inner.n_writers()
    }
}

#[test]
fn a_database_that_is_away_for_a_moment_is_tried_again() {
    each(|database| {
        let with = |n| Pool::new(Arc::new(Flaky { inner: database.database.clone(), n_losses: AtomicU32::new(n) }), 2);
        assert_eq!(with(4).read(ids).unwrap(), [0_i64; 0]);
        assert!(matches!(with(1_000).read(ids), Err(DatabaseError::Unavailable(_))));
    });
}

#[test]
fn a_failed_disk_is_told_to_the_hook() {
    let disk = foltr_test::disk::Disk::new();
    let told = Arc::new(Mutex::new(Vec::new()));
    let hook = {
        let told = told.clone();
        move |error: &DatabaseError| told.lock().unwrap().push(error.clone())
    };
    let pool = Pool::new(Arc::new(sqlite_on(&disk)), 3).with_on_disk_error(hook);
    pool.run(Access::Migrate, |connection| connection.script(super::TABLE)).unwrap();
    pool.write(|connection| insert(connection, 1)).unwrap();
    disk.fail_at(disk.n_operations(), Fault::SyncError);
    let error = pool.write(|connection| insert(connection, 2)).unwrap_err();
    assert!(matches!(error, DatabaseError::Disk(_)), "{error}");
    assert_eq!(*told.lock().unwrap(), [error]);
    disk.reboot(Survivors::None, 0);
    assert_eq!(Pool::new(Arc::new(sqlite_on(&disk)), 3).read(ids).unwrap(), [1]);
}
