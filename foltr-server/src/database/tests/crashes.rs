//! The disk fails or loses power: what was acknowledged is there afterwards, and nothing is half there.

use foltr_test::campaign_size;
use foltr_test::disk::{Disk, Fault, Survivors};

use super::{Done, INSERT, TABLE, ids, insert, sqlite_on};
use crate::database::{Access, Connection, Database, DatabaseError, Sqlite, Value};

/// So large that a few fill the log up to a checkpoint.
const LARGE: usize = 120_000;

fn new_disk() -> Disk {
    let disk = Disk::new();
    let mut connection = sqlite_on(&disk).connect().unwrap();
    connection.transaction(Access::Migrate, |connection| connection.script(TABLE)).unwrap();
    disk
}

/// Two rows in a transaction, one large.
fn insert_pair(connection: &mut dyn Connection, pair: i64) -> Done<()> {
    connection.transaction(Access::Write, |connection| {
        let large: Value = vec![pair as u8; LARGE].into();
        let rows = [2 * pair, 2 * pair + 1].map(|id| vec![id.into(), pair.into(), large.clone(), Value::Null]);
        connection.execute_many(INSERT, &rows).map(drop)
    })
}

fn pairs(database: &Sqlite) -> Vec<i64> {
    let mut connection = database.connect().unwrap();
    connection.check().unwrap();
    let sql = "SELECT id, number, content FROM things ORDER BY id";
    let rows = connection.transaction(Access::Read, |connection| connection.query(sql, &[])).unwrap();
    assert_eq!(rows.len() % 2, 0, "a transaction is there or it is not");
    for row in &rows {
        let pair = row.int(0).unwrap() / 2;
        assert_eq!(row.int(1).unwrap(), pair);
        assert!(row.bytes(2).unwrap() == vec![pair as u8; LARGE]);
    }
    rows.iter().step_by(2).map(|row| row.int(0).unwrap() / 2).collect()
}

/// Writes until something fails. The pairs that were acknowledged, and the error.
fn write(database: &Sqlite, from: i64, n: i64) -> (i64, Option<DatabaseError>) {
    let mut connection = match database.connect() {
        Ok(connection) => connection,
        Err(error) => return (from, Some(error)),
    };
    // Another connection, so that the log is shared. It reads an old state now and then, which a checkpoint must spare.
    let mut reader = database.connect().ok();
    for pair in from..from + n {
        if let Some(reader) = &mut reader
            && pair % 3 == 0
        {
            reader.roll_back();
            let _ = reader.begin(Access::Read).and_then(|()| ids(reader.as_mut()));
        }
        if let Err(error) = insert_pair(connection.as_mut(), pair) {
            if let DatabaseError::Disk(_) = error {
                assert_eq!(insert(connection.as_mut(), -1), Err(error.clone()), "it refuses to go on");
                assert_eq!(connection.begin(Access::Write), Err(error.clone()));
            }
            return (pair, Some(error));
        }
    }
    (from + n, None)
}

/// Several lives of one disk, each with a fault at some operation.
fn run_case(seed: u64) -> [u32; 2] {
    let disk = new_disk();
    let mut random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut draw = |n: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % n
    };
    let (mut n_durable, mut counts) = (0, [0; 2]);
    for life in 0..3 {
        let fault = [Fault::PowerLoss, Fault::TornWrite, Fault::SyncError, Fault::Full][draw(4) as usize];
        disk.fail_at(disk.n_operations() + draw(6_000), fault);
        let (acknowledged, error) = write(&sqlite_on(&disk), n_durable, 40);
        match (fault, &error) {
            (_, None) => {}
            (Fault::Full, Some(DatabaseError::Full(_))) => counts[0] += 1,
            (Fault::PowerLoss | Fault::TornWrite | Fault::SyncError, Some(DatabaseError::Disk(_))) => counts[1] += 1,
            (fault, error) => panic!("seed {seed}, life {life}: {fault:?} gave {error:?}"),
        }
        disk.clear_fault();
        // After a failed sync the process ends and another one begins: with or without power in between.
        let has_power = error.is_none() || matches!(fault, Fault::Full | Fault::SyncError);
        if !has_power || draw(4) > 0 {
            disk.reboot(Survivors::ALL[draw(3) as usize], draw(1 << 32));
        }
        let found = pairs(&sqlite_on(&disk));
        let n_found = found.len() as i64;
        assert!(found.iter().copied().eq(0..n_found), "seed {seed}, life {life}: {found:?}");
        assert!(
            n_found == acknowledged || n_found == acknowledged + 1,
            "seed {seed}, life {life}: {acknowledged} {n_found}"
        );
        // What was seen after a start is as durable as what was acknowledged.
        disk.reboot(Survivors::None, 0);
        n_durable = n_found;
        assert_eq!(pairs(&sqlite_on(&disk)).len() as i64, n_durable, "seed {seed}, life {life}");
    }
    counts
}

#[test]
fn what_was_acknowledged_survives_every_fault() {
    let mut counts = [0; 2];
    for seed in 0..campaign_size(40, 2_000) {
        let [n_full, n_failed] = run_case(seed);
        counts = [counts[0] + n_full, counts[1] + n_failed];
    }
    assert!(counts.iter().all(|&n| n > 0), "full and failed: {counts:?}; such a campaign tests nothing");
}

#[test]
fn a_full_disk_is_said_and_can_be_emptied() {
    let disk = new_disk();
    let database = sqlite_on(&disk);
    let mut connection = database.connect().unwrap();
    insert_pair(connection.as_mut(), 0).unwrap();
    disk.fail_at(disk.n_operations(), Fault::Full);
    for _ in 0..2 {
        assert!(matches!(insert_pair(connection.as_mut(), 1), Err(DatabaseError::Full(_))));
    }
    disk.clear_fault();
    insert_pair(connection.as_mut(), 1).unwrap();
    disk.reboot(Survivors::None, 0);
    assert_eq!(pairs(&database), [0, 1]);
}

/// The number of operations of every insertion of a pair.
fn operations(disk: &Disk, connection: &mut dyn Connection, pairs: std::ops::Range<i64>) -> Vec<u64> {
    let count = |pair| {
        let began = disk.n_operations();
        insert_pair(connection, pair).unwrap();
        disk.n_operations() - began
    };
    pairs.map(count).collect()
}

/// What a commit has written is safe before the checkpoint after it begins.
#[test]
fn a_disk_that_is_full_at_a_checkpoint_does_not_deny_a_commit() {
    let disk = new_disk();
    let counts = operations(&disk, sqlite_on(&disk).connect().unwrap().as_mut(), 0..30);
    let with_checkpoint = counts.iter().position(|&n| n > 500).expect("a checkpoint");
    let commit = counts[with_checkpoint - 1];

    let disk = new_disk();
    let mut connection = sqlite_on(&disk).connect().unwrap();
    operations(&disk, connection.as_mut(), 0..with_checkpoint as i64);
    disk.fail_at(disk.n_operations() + commit + 20, Fault::Full);
    insert_pair(connection.as_mut(), with_checkpoint as i64).unwrap();
    assert!(
        matches!(insert_pair(connection.as_mut(), 99), Err(DatabaseError::Full(_))),
        "it was full at the checkpoint"
    );
    disk.reboot(Survivors::None, 0);
    disk.clear_fault();
    assert_eq!(pairs(&sqlite_on(&disk)).len(), with_checkpoint + 1);
}

/// The syncs of a checkpoint are not hidden.
#[test]
fn a_sync_that_fails_at_a_checkpoint_is_a_failed_disk() {
    let disk = new_disk();
    let mut connection = sqlite_on(&disk).connect().unwrap();
    let counts = operations(&disk, connection.as_mut(), 0..30);
    let with_checkpoint = counts.iter().position(|&n| n > 500).expect("a checkpoint");
    let disk = new_disk();
    let mut connection = sqlite_on(&disk).connect().unwrap();
    operations(&disk, connection.as_mut(), 0..with_checkpoint as i64);
    disk.fail_at(disk.n_operations() + counts[with_checkpoint] - 1, Fault::SyncError);
    let error = insert_pair(connection.as_mut(), with_checkpoint as i64).unwrap_err();
    assert!(matches!(error, DatabaseError::Disk(_)), "{error}");
    assert_eq!(connection.begin(Access::Read), Err(error));
    disk.reboot(Survivors::None, 0);
    assert_eq!(pairs(&sqlite_on(&disk)).len(), with_checkpoint + 1, "the commit was safe");
}

#[test]
fn a_failed_sync_is_a_failed_disk() {
    let disk = new_disk();
    let database = sqlite_on(&disk);
    let mut connection = database.connect().unwrap();
    disk.fail_at(disk.n_operations(), Fault::SyncError);
    let error = insert_pair(connection.as_mut(), 0).unwrap_err();
    assert!(matches!(error, DatabaseError::Disk(_)), "{error}");
    assert_eq!(insert_pair(connection.as_mut(), 0), Err(error));
    drop(connection);
    // The next process keeps what it acknowledges.
    let next = sqlite_on(&disk);
    let n_before = pairs(&next).len() as i64;
    insert_pair(next.connect().unwrap().as_mut(), n_before).unwrap();
    disk.reboot(Survivors::None, 0);
    assert_eq!(pairs(&sqlite_on(&disk)).len() as i64, n_before + 1);
}

#[test]
fn damage_is_found() {
    let disk = new_disk();
    for pair in 0..5 {
        insert_pair(sqlite_on(&disk).connect().unwrap().as_mut(), pair).unwrap();
    }
    drop(sqlite_on(&disk).connect().unwrap());
    let n_bytes = disk.files().iter().find(|(name, _)| name == "store.db").unwrap().1;
    for page in 1..n_bytes / 4096 {
        disk.corrupt("store.db", page * 4096, 0xff);
    }
    let error = sqlite_on(&disk).connect().and_then(|mut connection| connection.check()).unwrap_err();
    assert!(matches!(error, DatabaseError::Damaged(_)), "{error}");
}
