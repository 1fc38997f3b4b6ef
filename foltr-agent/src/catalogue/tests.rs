use super::*;

fn record(path: &str) -> FileRecord {
    let stamp = Stamp { size: 7, modified: -3, device: u64::MAX, inode: 5 };
    FileRecord { path: path.into(), stamp, hash: u128::MAX - 1, skipped: None }
}

fn document(file: FileId, part: &str) -> DocumentRecord {
    DocumentRecord {
        file,
        part: part.into(),
        kind: Kind::Mail,
        title: "A title".into(),
        changed: 12,
        n_words: 3,
        language: Some(Lang::Deu),
    }
}

fn put(catalogue: &mut Catalogue, path: &str, parts: &[&str]) -> (FileId, Vec<DocumentId>, Vec<DocumentId>) {
    let file = catalogue.file_id(Path::new(path));
    let documents: Vec<_> =
        parts.iter().map(|part| (catalogue.document_id(file, part), document(file, part))).collect();
    let ids = documents.iter().map(|(id, _)| *id).collect();
    let gone = catalogue.apply(vec![Change::PutFile { file, record: record(path), documents }]).expect("written");
    (file, ids, gone)
}

#[test]
fn what_is_written_is_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("catalogue.db");
    let mut catalogue = Catalogue::open(&path).expect("a new one");
    catalogue.add_folder(Folder { path: "/a".into(), added: 1 }).expect("written");
    let (file, ids, _) = put(&mut catalogue, "/a/mails", &["1", "2"]);
    drop(catalogue);
    let catalogue = Catalogue::open(&path).expect("there");
    assert_eq!(catalogue.folders(), [Folder { path: "/a".into(), added: 1 }]);
    assert_eq!(catalogue.file_at(Path::new("/a/mails")), Some((file, &record("/a/mails"))));
    assert_eq!(catalogue.document(ids[1]), Some(&document(file, "2")));
    assert_eq!(catalogue.documents_of(file).len(), 2);
}

#[test]
fn ids_stay_with_their_parts_and_are_never_given_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("catalogue.db");
    let mut catalogue = Catalogue::open(&path).expect("a new one");
    let (_, first, _) = put(&mut catalogue, "/a/mails", &["1", "2"]);
    let (file, second, gone) = put(&mut catalogue, "/a/mails", &["2", "3"]);
    assert_eq!((second[0], &gone[..]), (first[1], &first[..1]));
    assert_eq!(catalogue.apply(vec![Change::RemoveFile(file)]).expect("written").len(), 2);
    assert_eq!(catalogue.n_documents(), 0);
    drop(catalogue);
    let mut catalogue = Catalogue::open(&path).expect("there");
    let (_, third, _) = put(&mut catalogue, "/a/mails", &["1"]);
    assert!(third[0] > second[1], "{third:?}");
}

#[test]
fn a_file_that_moves_keeps_its_documents() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut catalogue = Catalogue::open(&folder.path().join("catalogue.db")).expect("a new one");
    let (file, ids, _) = put(&mut catalogue, "/a/old", &[""]);
    let moved = vec![(ids[0], document(file, ""))];
    let gone = catalogue.apply(vec![Change::PutFile { file, record: record("/b/new"), documents: moved }]);
    assert_eq!(gone.expect("written"), []);
    assert_eq!(catalogue.file_at(Path::new("/a/old")), None);
    assert_eq!(catalogue.file_at(Path::new("/b/new")).map(|(id, _)| id), Some(file));
}

#[test]
fn newer_and_damaged_catalogues_are_refused_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("catalogue.db");
    drop(Catalogue::open(&path).expect("a new one"));
    let database = rusqlite::Connection::open(&path).expect("there");
    database.pragma_update(None, "user_version", 99).expect("written");
    drop(database);
    assert!(matches!(Catalogue::open(&path), Err(CatalogueError::Newer { .. })));
    std::fs::write(&path, b"no database").expect("written");
    let refused = Catalogue::open(&path).expect_err("damaged").to_string();
    assert!(refused.contains("catalogue.db"), "{refused}");
}
