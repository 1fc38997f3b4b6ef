use std::fs;

use super::*;
use crate::agent::Settings;
use crate::answer::Request;
use crate::extract::Limits;
use crate::home::Home;

struct World {
    _folder: tempfile::TempDir,
    files: PathBuf,
    agent: Agent,
    extractor: Extractor,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let files = folder.path().join("files");
        fs::create_dir_all(&files).expect("made");
        let home = Home::open(Some(&folder.path().join("agent"))).expect("a home");
        let agent = Agent::open(home, Settings::default()).expect("an agent");
        let files = agent.add_folder(&files).expect("added");
        let extractor = Extractor::new(crate::extract::test_program("real"), Limits::default());
        Self { _folder: folder, files, agent, extractor }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.files.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn scan(&self) -> Report {
        let stop = AtomicBool::new(false);
        let scanner = Scanner { extractor: &self.extractor, surroundings: &Asked, share: 1.0, stop: &stop };
        scanner.scan(&self.agent, &mut |_| {}).expect("looked at")
    }

    fn found(&self, words: &str) -> Vec<String> {
        let request = Request { words: words.into(), ..Request::default() };
        let answer = self.agent.search(&request).expect("searched");
        let name = |path: &str| Path::new(path).file_name().expect("a name").to_string_lossy().into_owned();
        answer.hits.iter().map(|hit| name(&hit.path)).collect()
    }
}

#[test]
fn files_come_change_move_and_go() {
    let world = World::new();
    world.write("one.txt", "a boat on the lake");
    world.write("deep/two.md", "# A car\n\nwith four wheels");
    world.write(".hidden.txt", "boat");
    world.write(".gitignore", "secret*\n");
    world.write("secret.txt", "boat");
    let report = world.scan();
    assert_eq!((report.n_indexed, report.n_skipped, report.n_removed), (2, 0, 0), "{report:?}");
    assert_eq!((world.found("boat"), world.found("wheel")), (vec!["one.txt".into()], vec!["two.md".into()]));
    assert_eq!(world.scan().n_unchanged, 2);

    let id =
        world.agent.search(&Request { words: "boat".into(), ..Request::default() }).expect("found").hits[0].document;
    fs::rename(world.files.join("one.txt"), world.files.join("deep/first.txt")).expect("moved");
    let report = world.scan();
    assert_eq!((report.n_moved, report.n_removed), (1, 0), "{report:?}");
    let hit =
        world.agent.search(&Request { words: "boat".into(), ..Request::default() }).expect("found").hits.remove(0);
    assert_eq!((hit.document, hit.path.ends_with("deep/first.txt")), (id, true));

    world.write("deep/first.txt", "a plane in the sky, not what it was");
    fs::remove_file(world.files.join("deep/two.md")).expect("removed");
    let report = world.scan();
    assert_eq!((report.n_indexed, report.n_removed), (1, 1), "{report:?}");
    assert_eq!((world.found("boat"), world.found("wheel"), world.found("plane").len()), (vec![], vec![], 1));
}

#[test]
fn a_folder_that_is_not_there_keeps_its_documents() {
    let world = World::new();
    world.write("one.txt", "a boat on the lake");
    world.scan();
    let away = world.files.with_extension("away");
    fs::rename(&world.files, &away).expect("moved");
    let report = world.scan();
    assert_eq!((report.n_removed, report.problems.len()), (0, 1), "{report:?}");
    assert_eq!(world.found("boat").len(), 1);
    fs::rename(&away, &world.files).expect("moved back");
    assert_eq!(world.scan().n_unchanged, 1);
    world.agent.remove_folder(&world.files).expect("removed");
    assert_eq!(world.scan().n_removed, 1);
    assert_eq!(world.found("boat"), [] as [String; 0]);
}

#[test]
fn what_cannot_be_read_is_listed_with_its_reason() {
    let world = World::new();
    world.write("a.txt", "boat\0\0\0\0");
    let report = world.scan();
    assert_eq!((report.n_indexed, report.n_skipped), (0, 1));
    let catalogue = world.agent.read_catalogue().expect("not broken");
    let reasons: Vec<_> = catalogue.files().filter_map(|(_, file)| file.skipped.clone()).collect();
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    drop(catalogue);
    assert_eq!(world.scan().n_skipped, 1, "it is not tried again, and still counted");
}

#[test]
fn what_is_ignored_stays_so_when_it_changes() {
    let world = World::new();
    world.write(".gitignore", "built/\nsecret.txt\n");
    world.write("built/deep/one.txt", "a boat");
    world.write("secret.txt", "a boat");
    world.write(".hidden/two.txt", "a boat");
    world.write("seen/three.txt", "a boat");
    assert_eq!(world.scan().n_indexed, 1);
    let changed: Vec<PathBuf> = ["built/deep/one.txt", "built", "secret.txt", ".hidden/two.txt", "seen/three.txt"]
        .map(|name| {
            let path = world.files.join(name);
            if path.is_file() {
                fs::write(&path, "a boat, changed").expect("written");
            }
            path
        })
        .into();
    let stop = AtomicBool::new(false);
    let scanner = Scanner { extractor: &world.extractor, surroundings: &Asked, share: 1.0, stop: &stop };
    let report = scanner.look_at(&world.agent, &changed, &mut |_| {}).expect("looked at");
    assert_eq!((report.n_files, report.n_indexed), (1, 1), "{report:?}");
    assert_eq!(world.found("boat"), ["three.txt"]);
}
