use super::*;
use crate::rows::{MetricName, Row};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn finish(store: &RunStore, key: &str, value: f64) {
    let mut writer = store.start(key).expect("started");
    writer.row(&Row { round: 1, metric: MetricName::OnlineMaxRr, value });
    put(&writer.path().join("model.safetensors"), b"0123456789").expect("written");
    writer.finish(RunRecord::new(serde_json::json!({ "a": 1 }), 1, 7, "data")).expect("finished");
}

#[test]
fn a_finished_run_is_read_back() {
    let folder = folder();
    let store = RunStore::open(folder.path()).expect("opened");
    assert_eq!(store.state("k"), RunState::Missing);
    finish(&store, "k", 0.1);
    assert!(matches!(store.state("k"), RunState::Finished(record) if record.files.len() == 2));
    let record = RunRecord::read(&store.run_folder("k")).expect("read");
    let rows = record.rows(&store.run_folder("k")).and_then(|file| file.to_vec()).expect("rows");
    assert_eq!(rows, [Row { round: 1, metric: MetricName::OnlineMaxRr, value: 0.1 }]);
    assert_eq!((record.fold, record.seed), (1, 7));
}

#[test]
fn every_damage_is_detected_and_named() {
    let folder = folder();
    let store = RunStore::open(folder.path()).expect("opened");
    type Damage<'a> = (&'a str, &'a dyn Fn(&Path));
    let cases: [Damage<'_>; 5] = [
        ("rows.csv", &|path| std::fs::write(path, "round,metric,value\n1,online-maxrr,0.2\n").expect("edited")),
        ("model.safetensors", &|path| std::fs::write(path, "01234").expect("cut")),
        ("model.safetensors", &|path| std::fs::remove_file(path).expect("removed")),
        ("run.json", &|path| {
            let text = std::fs::read_to_string(path).expect("text").replace("\"seed\": 7", "\"seed\": 8");
            std::fs::write(path, text).expect("edited");
        }),
        ("run.json", &|path| std::fs::remove_file(path).expect("removed")),
    ];
    for (name, damage) in cases {
        finish(&store, "k", 0.1);
        damage(&store.run_folder("k").join(name));
        let RunState::Damaged(damage) = store.state("k") else { panic!("{name}: {:?}", store.state("k")) };
        assert!(damage.contains(&format!("runs/k/{name}")), "{damage}");
    }
}

#[test]
fn only_folders_of_foltr_are_written_to() {
    let folder = folder();
    let path = folder.path().join("notes");
    std::fs::create_dir(&path).expect("made");
    std::fs::write(path.join("summary.json"), "mine").expect("written");
    let message = RunStore::open(&path).expect_err("not foltr's").to_string();
    assert!(message.contains("notes has files that foltr did not write"), "{message}");
    assert_eq!(std::fs::read_to_string(path.join("summary.json")).expect("there"), "mine");
    assert!(!path.join("runs").exists() && !path.join(".lock").exists());
    // What an older version left.
    std::fs::create_dir(path.join("runs")).expect("made");
    std::fs::write(path.join("run.json"), "{}").expect("written");
    let message = RunStore::open(&path).expect_err("old").to_string();
    assert!(message.contains("older version") && message.contains("delete it or choose another folder"), "{message}");
    std::fs::write(path.join("foltr.json"), r#"{ "layout": 99 }"#).expect("written");
    let message = RunStore::open(&path).expect_err("new").to_string();
    assert!(message.contains("another version"), "{message}");
}

#[test]
fn one_process_writes_and_the_others_say_where() {
    let folder = folder();
    let path = folder.path().join("out");
    let store = RunStore::open(&path).expect("opened");
    let message = RunStore::open(&path).expect_err("locked").to_string();
    assert!(message.contains("another foltr is writing to") && message.contains("out;"), "{message}");
    drop(store);
    RunStore::open(&path).expect("free again");
}

#[test]
fn what_is_not_finished_goes_unless_it_can_be_resumed() {
    let folder = folder();
    let runs = folder.path().join("runs");
    {
        let store = RunStore::open(folder.path()).expect("opened");
        let _ = (store.start("a").expect("started"), store.resume("b").expect("started"));
        put(&runs.join("b.partial/teacher.json"), b"{}").expect("written");
    }
    let store = RunStore::open(folder.path()).expect("opened");
    assert!(!runs.join("a.partial").exists() && runs.join("b.partial/teacher.json").exists());
    let writer = store.resume("b").expect("resumed");
    writer.finish(RunRecord::new(serde_json::Value::Null, 1, 1, "data")).expect("finished");
    assert!(matches!(store.state("b"), RunState::Finished(record) if record.files.contains_key("teacher.json")));
}

#[test]
fn a_tombstone_outlives_the_run() {
    let folder = folder();
    let store = RunStore::open(folder.path()).expect("opened");
    finish(&store, "old", 0.1);
    finish(&store, "new", 0.2);
    let tombstone = Tombstone { successor: "new".into(), request: 1, clients: vec![2] };
    store.bury("old", &tombstone).expect("buried");
    assert_eq!(store.state("old"), RunState::Forgotten(tombstone.clone()));
    assert!(!store.run_folder("old").exists());
    assert_eq!(current_key(folder.path(), "old"), "new");
    drop(store);
    // The program ended between the tombstone and the removal.
    std::fs::create_dir(run_folder(folder.path(), "old")).expect("made");
    let store = RunStore::open(folder.path()).expect("opened");
    assert!(!store.run_folder("old").exists());
    assert_eq!(store.state("old"), RunState::Forgotten(tombstone));
}

#[test]
fn a_row_that_cannot_be_written_ends_the_run() {
    let full = Path::new("/dev/full");
    if !full.exists() {
        return;
    }
    let folder = folder();
    let store = RunStore::open(folder.path()).expect("opened");
    let mut writer = store.start("k").expect("started");
    writer.write_rows_to(full);
    writer.row(&Row { round: 1, metric: MetricName::OnlineMaxRr, value: 0.1 });
    let failed = writer.finish(RunRecord::new(serde_json::Value::Null, 1, 1, "data")).expect_err("a full disk");
    assert!(format!("{failed:#}").contains("cannot be written"), "{failed:#}");
    assert_eq!(store.state("k"), RunState::Missing);
}
