//! Tests of the cache: a hit is the same data; whatever is stale or damaged is never used.

use super::*;
use std::fs::FileTimes;
use std::time::{Duration, SystemTime};

const TEXT: &str = "2 qid:10 1:0.5 2:-3\n0 qid:10 1:7.25 2:1\n1 qid:é 1:1 2:2\n";

/// A source file that was last modified a day ago, and an empty cache folder.
struct Setup {
    folder: tempfile::TempDir,
    source: PathBuf,
    cache: Cache,
}

fn setup() -> Setup {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("train.txt");
    let cache = Cache::Folder(folder.path().join("cache"));
    let setup = Setup { folder, source, cache };
    setup.write(TEXT);
    setup
}

impl Setup {
    fn write(&self, text: &str) {
        fs::write(&self.source, text).expect("written");
        let file = fs::File::options().write(true).open(&self.source).expect("opened");
        let yesterday = SystemTime::now() - Duration::from_secs(86_400);
        file.set_times(FileTimes::new().set_modified(yesterday)).expect("times set");
    }

    fn load(&self) -> Loaded {
        load_letor(&self.source, &ReadOptions::default(), false, &self.cache).expect("valid")
    }

    fn cache_files(&self, ending: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.folder.path().join("cache")).expect("a cache folder");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        paths.filter(|path| path.to_string_lossy().ends_with(ending)).collect()
    }
}

#[test]
fn the_second_load_comes_from_the_cache_and_is_the_same() {
    let setup = setup();
    let (first, second) = (setup.load(), setup.load());
    assert!(!first.from_cache && second.from_cache);
    assert_eq!(first.data, second.data);
    assert_eq!(first.data.content_hash(), second.data.content_hash());
    assert_eq!(second.data.query_id(1), "é");
    assert_eq!(second.data.rows().as_ptr().align_offset(32), 0);
}

#[test]
fn options_and_normalisation_have_files_of_their_own() {
    let setup = setup();
    let load = |normalise, n_features| {
        let options = ReadOptions { n_features, ..ReadOptions::default() };
        load_letor(&setup.source, &options, normalise, &setup.cache).expect("valid")
    };
    for _ in 0..2 {
        assert_eq!(load(false, None).data.query(0).row(1)[0], 7.25);
        assert_eq!(load(true, None).data.query(0).row(1)[0], 1.0);
        assert_eq!(load(false, Some(9)).data.n_features(), 9);
    }
    assert!(load(true, None).from_cache && load(false, Some(9)).from_cache);
}

#[test]
fn a_changed_source_of_the_same_size_and_time_is_read_anew() {
    let setup = setup();
    setup.load();
    let modified = || fs::metadata(&setup.source).expect("there").modified().expect("a time");
    let before = modified();
    fs::write(&setup.source, TEXT.replace("7.25", "8.25")).expect("written");
    let file = fs::File::options().write(true).open(&setup.source).expect("opened");
    file.set_times(FileTimes::new().set_modified(before)).expect("times set");
    assert_eq!(modified(), before);
    let again = setup.load();
    assert!(!again.from_cache);
    assert_eq!(again.data.query(0).row(1)[0], 8.25);
    assert_eq!(setup.cache_files(".foltr1").len(), 1, "the outdated file is removed");
}

#[test]
fn a_stamp_is_believed_only_when_the_source_is_older_and_unchanged() {
    let setup = setup();
    let fingerprint = Fingerprint::of(&setup.source).expect("a file");
    let changed_at = fingerprint.last_change();
    let path = setup.source.clone();
    let stamp = |hashed_at| Stamp { path: path.clone(), fingerprint: fingerprint.clone(), hashed_at, source_hash: 7 };
    assert!(stamp(changed_at + 10).is_current(&fingerprint));
    assert!(!stamp(changed_at + 1).is_current(&fingerprint), "changed in the same tick as it was hashed");
    assert!(!stamp(changed_at - 5).is_current(&fingerprint), "changed after it was hashed");
    setup.write("0 qid:1 1:1\n");
    let now = Fingerprint::of(&setup.source).expect("a file");
    assert!(!stamp(changed_at + 10).is_current(&now), "another size and time");
}

#[test]
fn damaged_stamps_are_ignored() {
    let setup = setup();
    setup.load();
    let path = setup.cache_files(".stamp").pop().expect("a stamp");
    let bytes = fs::read(&path).expect("read");
    assert!(Stamp::read(&path).is_some());
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        fs::write(&path, &damaged).expect("written");
        assert_eq!(Stamp::read(&path), None, "byte {at}");
    }
    fs::write(&path, &bytes[1..]).expect("written");
    assert_eq!(Stamp::read(&path), None);
}

#[test]
fn damaged_or_truncated_caches_are_ignored_and_rewritten() {
    let setup = setup();
    let data = setup.load().data;
    let path = setup.cache_files(".foltr1").pop().expect("a cache file");
    let bytes = fs::read(&path).expect("read");
    let hash = xxh3_128(TEXT.as_bytes());
    assert_eq!(open_cache_file(&path, hash), Some(data.clone()));
    assert_eq!(open_cache_file(&path, hash + 1), None, "another source");
    let mut damages: Vec<Vec<u8>> = [0, 1, 50, 95, 96, 4095, bytes.len() - 1].map(|n| bytes[..n].to_vec()).into();
    damages.push([&bytes[..], &[0]].concat());
    damages.extend((0..bytes.len()).map(|at| {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        flipped
    }));
    for (i, damage) in damages.iter().enumerate() {
        fs::write(&path, damage).expect("written");
        assert_eq!(open_cache_file(&path, hash), None, "damage {i}");
    }
    assert!(!setup.load().from_cache);
    assert_eq!(fs::read(&path).expect("read"), bytes, "written anew");
    assert!(setup.load().from_cache);
}

#[test]
fn a_folder_that_cannot_be_written_is_no_error() {
    let setup = setup();
    let blocked = Cache::Folder(setup.source.join("below-a-file"));
    let loaded = load_letor(&setup.source, &ReadOptions::default(), false, &blocked).expect("valid");
    assert!(!loaded.from_cache);
    let off = load_letor(&setup.source, &ReadOptions::default(), false, &Cache::Off).expect("valid");
    assert_eq!(off.data, loaded.data);
}

#[test]
fn nothing_is_written_beside_the_data() {
    let setup = setup();
    setup.load();
    let entries = fs::read_dir(setup.folder.path()).expect("a folder");
    let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
    names.sort();
    assert_eq!(names, ["cache", "train.txt"]);
}

#[test]
fn the_folder_is_the_one_named_or_that_of_the_user() {
    let of_user = || Some(PathBuf::from("/home/a/.cache"));
    let named = |text: &str| Cache::new(Some(OsStr::new(text)), of_user());
    assert_eq!((named("off"), named("OFF")), (Cache::Off, Cache::Off));
    assert_eq!(named("fast-disk"), Cache::Folder("fast-disk".into()));
    assert_eq!(Cache::new(None, of_user()), Cache::Folder("/home/a/.cache/foltr".into()));
    assert_eq!(Cache::new(None, None), Cache::Off);
}

#[test]
fn contents_are_told_by_source_and_cleared_but_for_files_of_others() {
    let setup = setup();
    let folder = setup.folder.path().join("cache");
    assert_eq!(contents(&folder).expect("no folder yet"), []);
    setup.load();
    load_letor(&setup.source, &ReadOptions::default(), true, &setup.cache).expect("valid");
    let other = setup.folder.path().join("other.txt");
    fs::write(&other, "1 qid:1 1:1\n").expect("written");
    load_letor(&other, &ReadOptions::default(), false, &setup.cache).expect("valid");
    fs::remove_file(&other).expect("removed");
    fs::write(folder.join("notes.txt"), "mine").expect("written");
    fs::write(folder.join(format!("{:032x}-text-any-4-raw.foltr1", 7)), "0123").expect("written");
    let found = contents(&folder).expect("readable");
    let states: Vec<_> = found.iter().map(|it| (it.source.is_some(), it.state, it.n_files)).collect();
    use SourceState::{Missing, Unchanged, Unknown};
    assert_eq!(states, [(false, Unknown, 1), (true, Missing, 1), (true, Unchanged, 2)]);
    assert_eq!(found[2].source, Some(fs::canonicalize(&setup.source).expect("there")));
    setup.write("0 qid:1 1:2\n1 qid:1 1:3\n");
    assert_eq!(contents(&folder).expect("readable")[2].state, SourceState::Changed);
    let (n_files, n_bytes) = clear(&folder).expect("cleared");
    assert_eq!(n_files, 4);
    assert!(n_bytes > found.iter().map(|it| it.n_bytes).sum(), "stamps are counted");
    let left: Vec<_> = fs::read_dir(&folder).expect("still there").map(|it| it.expect("a file").file_name()).collect();
    assert_eq!(left, ["notes.txt"]);
    assert!(!setup.load().from_cache);
}

#[test]
fn a_changed_source_loses_the_files_of_all_its_readings() {
    let setup = setup();
    let load = |normalise| load_letor(&setup.source, &ReadOptions::default(), normalise, &setup.cache).expect("valid");
    load(false);
    load(true);
    assert_eq!(setup.cache_files(".foltr1").len(), 2);
    setup.write("0 qid:1 1:2\n1 qid:1 1:3\n");
    load(true);
    assert_eq!(setup.cache_files(".foltr1").len(), 1);
}

/// Each of many threads, as so many processes, reads whole data and leaves whole files.
#[test]
fn many_may_load_the_same_file_at_once() {
    let setup = setup();
    let expected = parse_letor(TEXT.as_bytes(), &setup.source, &ReadOptions::default()).expect("valid");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..20).for_each(|_| assert_eq!(setup.load().data, expected)));
        }
    });
    assert!(setup.load().from_cache);
    assert_eq!((setup.cache_files(".foltr1").len(), setup.cache_files("").len()), (1, 2), "a data file and a stamp");
}
