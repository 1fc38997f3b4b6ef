use super::*;

fn document<'a>(id: u64, title: &'a str, body: &'a str) -> IndexedDocument<'a> {
    let (headings, name, folders, author) = ("", "", "", "");
    let (id, kind, changed) = (DocumentId(id), Kind::Text, id as i64);
    IndexedDocument { id, title, headings, body, name, folders, author, kind, changed }
}

fn index(documents: &[IndexedDocument<'_>]) -> (tempfile::TempDir, TextIndex) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut index = TextIndex::open(folder.path()).expect("a new one");
    documents.iter().for_each(|document| index.add(document).expect("added"));
    index.commit(DocumentId(9)).expect("written");
    (folder, index)
}

fn found(index: &TextIndex, words: &str, filter: &Filter) -> Vec<u64> {
    let view = index.view();
    let query = view.query(words).expect("read");
    let candidates = view.candidates(&query, filter, &None, 10).expect("found");
    candidates.best.iter().map(|it| it.id.0).collect()
}

#[test]
fn documents_are_found_replaced_and_removed() {
    let (folder, mut index) = index(&[document(1, "Boats", "sail and wind"), document(2, "Cars", "wheels")]);
    let all = Filter::default();
    assert_eq!(found(&index, "sailing ", &all), [1]);
    index.remove(DocumentId(1)).expect("removed");
    index.add(&document(1, "Boats", "oars")).expect("added");
    index.remove(DocumentId(2)).expect("removed");
    assert_eq!(found(&index, "sail ", &all), [1], "not before it is committed");
    index.commit(DocumentId(9)).expect("written");
    assert_eq!(
        (found(&index, "sail ", &all), found(&index, "oar ", &all), found(&index, "wheels ", &all)),
        (vec![], vec![1], vec![])
    );
    index.rest().expect("at rest");
    drop(index);
    let index = TextIndex::open(folder.path()).expect("there");
    assert_eq!(found(&index, "oar ", &all), [1]);
}

#[test]
fn the_last_word_may_be_a_beginning() {
    let (_folder, index) = index(&[document(1, "", "computational methods"), document(2, "", "a compass")]);
    let all = Filter::default();
    assert_eq!(found(&index, "comp", &all).len(), 2);
    assert_eq!(found(&index, "comput", &all), [1]);
    // The index has cut this ending off.
    assert_eq!(found(&index, "computa", &all), [1]);
    assert_eq!(found(&index, "comp ", &all), [] as [u64; 0], "a word that has ended");
}

#[test]
fn filters_leave_documents_out() {
    let (_folder, index) = index(&[document(1, "", "tea"), document(2, "", "tea"), document(3, "", "tea")]);
    let filter = Filter { changed_since: Some(2), changed_before: Some(3), ..Filter::default() };
    assert_eq!(found(&index, "tea", &filter), [2]);
    let filter = Filter { kinds: vec![Kind::Pdf, Kind::Mail], ..Filter::default() };
    assert_eq!(found(&index, "tea", &filter), [] as [u64; 0]);
    let view = index.view();
    let among = Some(std::sync::Arc::new([DocumentId(3)].into()));
    let only = view.candidates(&view.query("tea").expect("read"), &Filter::default(), &among, 10).expect("found");
    assert_eq!((only.best.len(), only.best[0].id, only.n_matches), (1, DocumentId(3), 1));
}

#[test]
fn plain_bm25_of_the_only_field_is_that_of_tantivy() {
    let documents =
        [document(1, "", "wind wind sail"), document(2, "", "wind and more words here"), document(3, "", "nothing")];
    let (_folder, index) = index(&documents);
    let view = index.view();
    let query = view.query("wind sail ").expect("read");
    let candidates = view.candidates(&query, &Filter::default(), &None, 10).expect("found");
    let matches = view.matches(&query, &candidates.best).expect("found");
    for (candidate, matches) in candidates.best.iter().zip(&matches) {
        assert!((candidate.score - matches.fields[Field::Body as usize].bm25).abs() < 1e-4);
    }
    assert_eq!(matches[0].window, Some(2));
    assert!(matches[0].fields[Field::Body as usize].has_phrase && matches[0].coverage == 1.0);
    assert_eq!((matches[0].first, matches[1].coverage < 1.0), (Some(0), true));
}

#[test]
fn a_snippet_has_the_words_of_the_query() {
    let text =
        format!("{} The wind fills the sails\nof boats. {}", "Padding words. ".repeat(40), "More of it. ".repeat(40));
    let (_folder, index) = index(&[document(1, "", &text)]);
    let view = index.view();
    let query = view.query("sail wind").expect("read");
    let candidates = view.candidates(&query, &Filter::default(), &None, 10).expect("found");
    let snippet = view.snippet(&query, &candidates.best[0]).expect("made");
    let matches: Vec<&str> = snippet.iter().filter(|it| it.is_match).map(|it| it.text.as_str()).collect();
    assert_eq!(matches, ["wind", "sails"]);
    let all: String = snippet.iter().map(|it| it.text.as_str()).collect();
    assert!(all.contains("The wind fills the sails of boats.") && all.len() < 260, "{all}");
}
