//! SQLite on the disk: with syncs it keeps what it promised, and without them the disk takes it away.

use super::contents::Contents;
use super::{Disk, Fault, Survivors};
use rusqlite::{Connection, ErrorCode, OpenFlags, Result, ffi};

const FILE: &str = "rows.db";
const WAL: &str = "rows.db-wal";
const N_ROWS: i64 = 12;
const SEEDS: std::ops::Range<u64> = 0..4;

fn open(disk: &Disk, synchronous: &str) -> Result<Connection> {
    let connection = Connection::open_with_flags_and_vfs(FILE, OpenFlags::default(), disk.name())?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", synchronous)?;
    // Often enough that power is lost in checkpoints too.
    connection.pragma_update(None, "wal_autocheckpoint", 5)?;
    connection.execute_batch("CREATE TABLE IF NOT EXISTS rows (id INTEGER PRIMARY KEY, content BLOB NOT NULL)")?;
    Ok(connection)
}

/// More than a page, so that a row is several writes.
fn content(id: i64) -> Vec<u8> {
    vec![id as u8 + 1; 5000]
}

fn insert(connection: &Connection, id: i64) -> Result<()> {
    connection.execute("INSERT INTO rows VALUES (?1, ?2)", (id, content(id))).map(drop)
}

/// Inserts rows until the disk fails. Halfway, the file is closed and opened again. The number of rows committed.
fn fill(disk: &Disk, synchronous: &str) -> i64 {
    let mut n_committed = 0;
    for rows in [0..N_ROWS / 2, N_ROWS / 2..N_ROWS] {
        let Ok(connection) = open(disk, synchronous) else { return n_committed };
        for id in rows {
            if insert(&connection, id).is_err() {
                return n_committed;
            }
            n_committed = id + 1;
        }
    }
    n_committed
}

/// The number of rows; none if they are not the first ones, or something is damaged.
fn intact_rows(disk: &Disk) -> Result<Option<i64>> {
    let connection = open(disk, "FULL")?;
    let verdict: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    let mut statement = connection.prepare("SELECT id, content FROM rows ORDER BY id")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows: Vec<(i64, Vec<u8>)> = rows.collect::<Result<_>>()?;
    let are_first = rows.iter().zip(0..).all(|(row, id)| *row == (id, content(id)));
    Ok((verdict == "ok" && are_first).then_some(rows.len() as i64))
}

fn rows(disk: &Disk) -> i64 {
    intact_rows(disk).expect("a database that can be read").expect("a database without damage")
}

/// Disks that lost power at an operation, with the number of rows that were committed before.
fn crashed(fault: Fault, synchronous: &str) -> impl Iterator<Item = (Disk, i64)> {
    let whole = Disk::new();
    assert_eq!(fill(&whole, synchronous), N_ROWS);
    (0..whole.n_operations()).map(move |operation| {
        let disk = Disk::new();
        disk.fail_at(operation, fault);
        let n_committed = fill(&disk, synchronous);
        (disk, n_committed)
    })
}

/// Every way in which the disk may come back.
fn rebooted(disk: &Disk) -> impl Iterator<Item = Disk> {
    Survivors::ALL.into_iter().flat_map(move |survivors| {
        SEEDS.map(move |seed| {
            let disk = disk.copy();
            disk.reboot(survivors, seed);
            disk
        })
    })
}

#[test]
fn synced_commits_survive_power_loss_at_every_operation() {
    for fault in [Fault::PowerLoss, Fault::TornWrite] {
        for (disk, n_committed) in crashed(fault, "FULL") {
            for survivor in rebooted(&disk) {
                let n_rows = rows(&survivor);
                // The commit that was interrupted may have happened.
                let expected = n_committed..=n_committed + 1;
                assert!(expected.contains(&n_rows), "{n_rows} of {n_committed}, {fault:?} at {}", disk.n_operations());
            }
        }
    }
}

#[test]
fn commits_without_sync_are_lost() {
    let (mut n_lost, mut n_damaged) = (0, 0);
    for (disk, n_committed) in crashed(Fault::PowerLoss, "OFF") {
        for survivor in rebooted(&disk) {
            match intact_rows(&survivor) {
                Ok(Some(n_rows)) => n_lost += u32::from(n_rows < n_committed),
                Ok(None) | Err(_) => n_damaged += 1,
            }
        }
    }
    assert!(n_lost > 0 && n_damaged > 0, "lost: {n_lost}, damaged: {n_damaged}; such a disk tests nothing");
}

#[test]
fn power_may_be_lost_during_recovery_too() {
    let disk = Disk::new();
    fill(&disk, "FULL");
    let connection = open(&disk, "FULL").unwrap();
    connection.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    (N_ROWS..2 * N_ROWS).for_each(|id| insert(&connection, id).unwrap());
    disk.reboot(Survivors::None, 0);
    for later in 0..20 {
        let again = disk.copy();
        again.fail_at(again.n_operations() + later, Fault::PowerLoss);
        open(&again, "FULL").and_then(|connection| insert(&connection, 2 * N_ROWS)).ok();
        for survivor in rebooted(&again) {
            assert!(rows(&survivor) >= 2 * N_ROWS);
        }
    }
}

#[test]
fn a_full_disk_is_reported_and_can_be_emptied() {
    let disk = Disk::new();
    let connection = open(&disk, "FULL").unwrap();
    insert(&connection, 0).unwrap();
    disk.fail_at(disk.n_operations(), Fault::Full);
    for _ in 0..2 {
        assert_eq!(insert(&connection, 1).unwrap_err().sqlite_error_code(), Some(ErrorCode::DiskFull));
    }
    disk.clear_fault();
    insert(&connection, 1).unwrap();
    drop(connection);
    assert_eq!(rows(&disk), 2);
}

#[test]
fn a_failed_sync_is_reported_once() {
    let disk = Disk::new();
    let connection = open(&disk, "FULL").unwrap();
    insert(&connection, 0).unwrap();
    disk.fail_at(disk.n_operations(), Fault::SyncError);
    let error = insert(&connection, 1).unwrap_err();
    let error = error.sqlite_error().expect("an error of SQLite");
    assert_eq!((error.code, error.extended_code), (ErrorCode::SystemIoFailure, ffi::SQLITE_IOERR_FSYNC));
    insert(&connection, 1).unwrap();
}

/// SQLite fills the last sector of a commit up after its sync. If the next sync fails, this is lost, and recovery
/// stops there: commits behind it are lost, although they succeeded. A checkpoint helps, with the commit that begins
/// the log anew.
#[test]
fn commits_after_a_failed_sync_are_lost_until_the_log_begins_anew() {
    for (checkpoint, n_rows) in [("", 1), ("PRAGMA wal_checkpoint(TRUNCATE)", 4)] {
        let disk = Disk::new();
        let connection = open(&disk, "FULL").unwrap();
        connection.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
        insert(&connection, 0).unwrap();
        disk.fail_at(disk.n_operations(), Fault::SyncError);
        insert(&connection, 1).unwrap_err();
        (1..3).for_each(|id| insert(&connection, id).unwrap());
        connection.execute_batch(checkpoint).unwrap();
        insert(&connection, 3).unwrap();
        disk.reboot(Survivors::None, 0);
        assert_eq!(rows(&disk), n_rows, "{checkpoint}");
    }
}

#[test]
fn without_power_everything_fails() {
    let disk = Disk::new();
    let connection = open(&disk, "FULL").unwrap();
    disk.fail_at(disk.n_operations(), Fault::PowerLoss);
    let error = insert(&connection, 0).unwrap_err();
    assert_eq!(error.sqlite_error().map(|error| error.extended_code), Some(ffi::SQLITE_IOERR));
    assert!(open(&disk, "FULL").is_err());
    let n_operations = disk.n_operations();
    insert(&connection, 0).unwrap_err();
    assert_eq!(disk.n_operations(), n_operations);
    // It does not come back for who had the file open, and what they do then changes nothing.
    disk.reboot(Survivors::Prefix, 0);
    insert(&connection, 0).unwrap_err();
    let files = disk.files();
    drop(connection);
    assert_eq!((disk.files(), disk.n_operations()), (files, n_operations));
    assert_eq!(rows(&disk), 0);
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let disk = Disk::new();
    let connection = open(&disk, "OFF").unwrap();
    (0..4).for_each(|id| insert(&connection, id).unwrap());
    let after = |seed| {
        let disk = disk.copy();
        disk.reboot(Survivors::AnySubset, seed);
        (disk.read(FILE), disk.read(WAL))
    };
    assert_eq!(after(7), after(7));
    assert_ne!(after(7), after(8));
}

#[test]
fn what_is_beyond_the_end_is_zero_and_said() {
    let mut contents = Contents::default();
    let handle = contents.open(Some(FILE.to_owned()), ffi::SQLITE_OPEN_CREATE).ok().unwrap();
    contents.write(&handle, 0, b"abc").unwrap();
    let mut target = [9; 4];
    assert_eq!(contents.read(&handle, 1, &mut target), Err(ffi::SQLITE_IOERR_SHORT_READ));
    assert_eq!(&target, b"bc\0\0");
    assert_eq!(contents.read(&handle, 0, &mut target[..3]), Ok(()));
    assert_eq!(&target, b"abc\0");
    assert_eq!(contents.read(&handle, 4, &mut target), Err(ffi::SQLITE_IOERR_SHORT_READ));
    assert_eq!(target, [0; 4]);
    // A wild offset takes no memory.
    assert_eq!(contents.write(&handle, i64::MAX, b"abc"), Err(ffi::SQLITE_FULL));
}

#[test]
fn a_torn_write_waits_for_a_write_and_leaves_a_part() {
    let mut contents = Contents::default();
    let handle = contents.open(Some(FILE.to_owned()), ffi::SQLITE_OPEN_CREATE).ok().unwrap();
    contents.plan(0, Fault::TornWrite);
    contents.sync(&handle).unwrap();
    assert_eq!(contents.write(&handle, 0, &[1; 1024]), Err(ffi::SQLITE_IOERR));
    assert_eq!(contents.read(&handle, 0, &mut [0; 1]), Err(ffi::SQLITE_IOERR));
    assert_eq!(contents.files(), [(FILE.to_owned(), 512)]);
    contents.reboot(Survivors::None, 0);
    assert_eq!(contents.files(), [(FILE.to_owned(), 0)]);
}

#[test]
fn two_connections_do_not_write_at_once() {
    let disk = Disk::new();
    let _first = open(&disk, "FULL").unwrap();
    let error = open(&disk, "FULL").err().and_then(|error| error.sqlite_error_code());
    assert_eq!(error, Some(ErrorCode::DatabaseBusy));
}

/// Without exclusive locks the index of the log is in shared memory.
#[test]
fn connections_share_a_log_and_a_reboot_forgets_its_index() {
    let disk = Disk::new();
    fill(&disk, "FULL");
    let share = || Connection::open_with_flags_and_vfs(FILE, OpenFlags::default(), disk.name()).unwrap();
    let (writer, reader) = (share(), share());
    let n_rows = || reader.query_row("SELECT count(*) FROM rows", [], |row| row.get::<_, i64>(0)).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(n_rows(), N_ROWS);
    insert(&writer, N_ROWS).unwrap();
    assert_eq!(n_rows(), N_ROWS, "a transaction sees one state");
    reader.execute_batch("COMMIT; BEGIN IMMEDIATE").unwrap();
    assert_eq!(n_rows(), N_ROWS + 1);
    assert_eq!(insert(&writer, N_ROWS + 1).unwrap_err().sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
    disk.reboot(Survivors::None, 0);
    insert(&writer, N_ROWS + 1).unwrap_err();
    let again = share();
    insert(&again, N_ROWS + 1).unwrap();
    drop((writer, reader, again));
    assert_eq!(rows(&disk), N_ROWS + 2);
}

#[test]
fn flipped_bits_are_seen() {
    let disk = Disk::new();
    fill(&disk, "FULL");
    assert_eq!(disk.files().iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), [FILE]);
    let before = disk.read(FILE).unwrap();
    // The kind of the first page of the tree.
    disk.corrupt(FILE, 100, 0b101);
    let rebooted = disk.copy();
    rebooted.reboot(Survivors::None, 0);
    assert_eq!(rebooted.read(FILE).unwrap()[100], before[100] ^ 0b101);
    assert_eq!(intact_rows(&disk).unwrap_err().sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt));
    // The deletion of the log was not synced: its copy of the page is back, and heals it.
    assert_eq!(rows(&rebooted), N_ROWS);
}

#[test]
fn a_connection_may_outlive_its_disk() {
    let disk = Disk::new();
    let name = disk.name().to_owned();
    let connection = open(&disk, "FULL").unwrap();
    drop(disk);
    insert(&connection, 0).unwrap();
    assert!(Connection::open_with_flags_and_vfs(FILE, OpenFlags::default(), name.as_str()).is_err());
}

#[test]
fn a_disk_goes_to_other_threads() {
    fn check<T: Clone + Send + Sync>(_: &T) {}
    check(&Disk::new());
}
