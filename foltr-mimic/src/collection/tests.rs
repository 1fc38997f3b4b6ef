//! Small collections in every form, and what is wrong with broken ones.

use std::fs;
use std::io::Write;

use tempfile::TempDir;

use super::*;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    folder
}

fn read(files: &[(&str, &str)]) -> Result<(Collection, Notes), FileError> {
    Collection::read(folder(files).path(), None)
}

/// The message of the error, from the name of the file on.
fn error(files: &[(&str, &str)]) -> String {
    let folder = folder(files);
    let error = Collection::read(folder.path(), None).expect_err("a broken collection");
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

fn document(id: &str, title: &str, text: &str) -> Document {
    Document { id: id.to_owned(), title: title.to_owned(), text: text.to_owned() }
}

fn query(id: &str, text: &str, part: Option<&str>) -> Query {
    Query { id: id.to_owned(), text: text.to_owned(), part: part.map(str::to_owned) }
}

fn judged(query: u32, document: u32, grade: u8) -> Judgement {
    Judgement { query, document, grade }
}

const DOCUMENTS: &str = "<DOC>\n<DOCNO> d1 </DOCNO>\n<title>A\n wing</title><author>x</author>\n<TEXT>A wing <i>in</i> \
    flow; 3 < 4 &amp; more.</TEXT>\n<text>Second.</text></DOC>\n\n <doc><docno>d2</docno>Only words</doc>";
const TOPICS: &str = "<?xml version='1.0'?><xml><top><num> Number: 3\n<title> Topic: wings\n<desc> Description:\nno\n\
    </top>\n<top><num>7</num><title>\nflow\n</title></top></xml>";

#[test]
fn trec_files_by_their_content() {
    let files = [("docs", DOCUMENTS), ("in/topics.txt", TOPICS), ("qrels", "3 0 d2 1\n7 0 d1 2\n"), ("readme", "Hi")];
    let (collection, notes) = read(&files).unwrap();
    let first = document("d1", "A wing", "A wing in flow; 3 < 4 & more. Second.");
    assert_eq!(collection.documents, [first, document("d2", "", "Only words")]);
    assert_eq!(collection.queries, [query("3", "wings", None), query("7", "flow", None)]);
    assert_eq!(collection.judgements, [judged(0, 1, 1), judged(1, 0, 2)]);
    assert_eq!((notes.form, notes.by_position), (Some(Form::Trec), false));
    assert!(notes.ignored.len() == 1 && notes.ignored[0].ends_with("readme"));
}

#[test]
fn the_title_counts_once() {
    assert_eq!(document("d", "A wing", "A wing in flow").content(), "A wing in flow");
    assert_eq!(document("d", "A wing", "In flow").content(), "A wing In flow");
    assert_eq!(document("d", "", "In flow").content(), "In flow");
}

#[test]
fn positions_of_topics_are_distinguished_from_numbers() {
    let with = |judgements| [("docs", DOCUMENTS), ("topics", TOPICS), ("qrels", judgements)];
    // 1 and 2 are no numbers of topics (3 and 7), but positions.
    let (collection, notes) = read(&with("1 0 d2 1\n2 0 d1 2\n")).unwrap();
    assert!(notes.by_position);
    assert_eq!(collection.judgements, [judged(0, 1, 1), judged(1, 0, 2)]);
    // 5 is neither: numbers, with what does not fit reported.
    let (collection, notes) = read(&with("3 0 d1 1\n5 0 d1 2\n5 0 d2 2\n")).unwrap();
    assert!(!notes.by_position);
    assert_eq!(collection.judgements, [judged(0, 0, 1)]);
    assert_eq!(notes.unknown_queries, Unknown { count: 2, examples: vec!["5".to_owned()] });
}

#[test]
fn odd_judgements_are_counted() {
    let judgements = "3 0 d1 -1\n3 0 d1 1\n3 0 d9 1\n\n3 0 d8 1\n3 0 d9 2\n7 0 d2 0\n";
    let (collection, notes) = read(&[("docs", DOCUMENTS), ("topics", TOPICS), ("qrels", judgements)]).unwrap();
    assert_eq!(collection.judgements, [judged(0, 0, 1), judged(1, 1, 0)]);
    assert_eq!((notes.n_negative, notes.n_repeated), (1, 1));
    assert_eq!(notes.unknown_documents, Unknown { count: 3, examples: vec!["d9".to_owned(), "d8".to_owned()] });
    let sentences = notes.sentences();
    assert_eq!(sentences.len(), 3, "{sentences:?}");
    assert_eq!(sentences[0], "3 judgements left out: they name documents that are not there (d9, d8, ...)");
}

#[test]
fn broken_files_say_what_is_wrong_and_where() {
    let good = ("d", "<doc><docno>1</docno>x</doc>");
    let corpus = ("corpus.jsonl", "{\"_id\": \"d1\", \"text\": \"a\"}\n");
    let qrel = ("dev/s-3.qrel", "P1\t0\tM1\t2\n");
    let cases: [(&[(&str, &str)], &str); 11] = [
        (&[("d", "<doc><docno>1</docno></doc>\n\n<doc>x")], "d:3: found `<doc>`, expected `</doc>`"),
        (&[("d", "\n<doc>x</doc>")], "d:2: found `<doc>`, expected `<docno>name</docno>`"),
        (&[good, ("t", "<top><title>x</title></top>")], "t:1: found `<top>`, expected `<num>number`"),
        (&[good, ("q", "1 0 d 1\n1 0 d many\n")], "q:2: found `many`, expected a whole number up to 31 as the grade"),
        (&[good, ("q", "1 0 d 32\n")], "q:1: found `32`, expected a whole number up to 31"),
        (&[good, ("q", "1 0 d 1\n1 d 1\n")], "q:2: found `1 d 1`, expected a judgement `query 0 document grade`"),
        (
            &[("d", "<doc><docno>1</docno>x</doc>\n<doc><docno>1</docno>y</doc>")],
            "d:2: `1` was the name of another text before; expected each name once",
        ),
        (
            &[("corpus.jsonl", "{\"_id\": \"d1\", \"text\": \"a\"}\n{\"_id\": \"d2\"}\n")],
            "corpus.jsonl:2: found `{\"_id\": \"d2\"}`, expected an object such as `{\"_id\": \"d1\", \"title\": \"\", \
             \"text\": \"...\"}` (missing field `text`",
        ),
        (
            &[corpus, ("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1 d1 1\n")],
            "qrels/test.tsv:2: found `q1 d1 1`, expected a judgement of query, document and grade",
        ),
        (&[qrel], "dev: has no file of queries `q-titles.queries`"),
        (
            &[qrel, ("dev/d-collection.docs", "M1\ta\n\nM2 b\n")],
            "dev/d-collection.docs:3: found `M2 b`, expected a name, a tab and a text",
        ),
    ];
    for (files, expected) in cases {
        let message = error(files);
        assert!(message.starts_with(expected), "{message}, not {expected}");
    }
}

#[test]
fn beir_files_plain_and_compressed() {
    let corpus = "{\"_id\": \"d1\", \"title\": \"T\", \"text\": \"a  b\"}\n{\"_id\": 2, \"text\": \"c\"}\n";
    let queries = "{\"_id\": \"q1\", \"text\": \"who\", \"metadata\": {}}\n{\"_id\": \"q2\", \"text\": \"what\"}\n";
    let test = "query-id\tcorpus-id\tscore\nq1\t2\t1\nq1\tzz\t1\n";
    let folder = folder(&[("queries.jsonl", queries), ("qrels/test.tsv", test)]);
    let file = fs::File::create(folder.path().join("corpus.jsonl.gz")).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    encoder.write_all(corpus.as_bytes()).unwrap();
    encoder.finish().unwrap();
    let (collection, notes) = Collection::read(folder.path(), None).unwrap();
    assert_eq!(collection.documents, [document("d1", "T", "a b"), document("2", "", "c")]);
    assert_eq!(collection.queries, [query("q1", "who", Some("test")), query("q2", "what", None)]);
    assert_eq!(collection.judgements, [judged(0, 1, 1)]);
    assert_eq!((notes.form, notes.unknown_documents.count), (Some(Form::Beir), 1));
}

#[test]
fn nfcorpus_parts_become_one() {
    let (collection, notes) = read(&[
        ("train/s-3.qrel", "P1\t0\tM1\t2\nP1\t0\tM9\t1\n"),
        ("train/q-titles.queries", "P1\twhy fry ?\n"),
        ("dev/d-collection.docs", "M1\tfrying oil pubmed ncbi abstract oil hot\nM2\tno heading\n"),
        ("dev/s-3.qrel", "P2\t0\tM2\t1\n"),
        ("dev/q-titles.queries", "P2\tddt\n"),
        ("test/d-collection.docs", "M2\tno heading\nM3\tkale abstract green\n"),
        ("test/s-3.qrel", "P3\t0\tM3\t1\n"),
        ("test/q-titles.queries", "P3\tkale\n"),
    ])
    .unwrap();
    let titles: Vec<&str> = collection.documents.iter().map(|document| document.title.as_str()).collect();
    assert_eq!(titles, ["frying oil", "", "kale"]);
    let parts: Vec<&str> = collection.queries.iter().filter_map(|query| query.part.as_deref()).collect();
    assert_eq!(parts, ["dev", "test", "train"]);
    assert_eq!(collection.judgements, [judged(0, 1, 1), judged(1, 2, 1), judged(2, 0, 2)]);
    assert_eq!((notes.form, notes.unknown_documents.count), (Some(Form::Nfcorpus), 1));
}

#[test]
fn a_folder_of_texts() {
    let (collection, notes) =
        read(&[("b.txt", "\n# Head\n\nBody  text\n"), ("a/c.md", "One"), ("x.bin", "a\0b"), (".git/x", "no")]).unwrap();
    assert_eq!(
        collection.documents,
        [document("a/c.md", "One", "One"), document("b.txt", "# Head", "# Head Body text")]
    );
    assert_eq!((notes.form, notes.ignored.len()), (Some(Form::Folder), 1));
    assert!(error(&[]).contains("no document found"));
}

#[test]
fn old_files_are_latin_1() {
    let folder = folder(&[]);
    fs::write(folder.path().join("a.txt"), b"caf\xe9").unwrap();
    let (collection, notes) = Collection::read(folder.path(), None).unwrap();
    assert_eq!((collection.documents[0].text.as_str(), notes.latin1.len()), ("café", 1));
}

#[test]
fn no_folder_is_an_error_that_names_it() {
    let error = Collection::read(Path::new("no/such/folder"), None).expect_err("no folder");
    assert!(error.to_string().starts_with("no/such/folder: cannot be read"), "{error}");
}
