use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use super::*;
use crate::answer::Request;
use crate::extract::{Extractor, Limits};
use crate::scan::{Asked, Scanner};

/// Ten documents about boats, all alike but for their names.
fn agent(folder: &Path, settings: Settings) -> Agent {
    let files = folder.join("files");
    std::fs::create_dir_all(&files).expect("made");
    for number in 0..10 {
        std::fs::write(files.join(format!("note-{number}.txt")), format!("a boat, number {number}")).expect("written");
    }
    let agent = Agent::open(Home::open(Some(&folder.join("home"))).expect("a home"), settings).expect("an agent");
    agent.add_folder(&files).expect("added");
    let extractor = Extractor::new(crate::extract::test_program("real"), Limits::default());
    let stop = AtomicBool::new(false);
    let scanner = Scanner { extractor: &extractor, surroundings: &Asked, share: 1.0, stop: &stop };
    scanner.scan(&agent, &mut |_| {}).expect("looked at");
    agent
}

fn request(words: &str, instead_of: Option<ListId>) -> Request {
    Request { words: words.into(), instead_of, ..Request::default() }
}

fn plain() -> Settings {
    Settings { no_comparison: true, ..Settings::default() }
}

#[test]
fn what_is_opened_comes_first_the_next_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let time = Arc::new(AtomicI64::new(1_000_000));
    let clock = Arc::clone(&time);
    let settings = Settings {
        no_exploration: true,
        no_comparison: true,
        clock: Some(Arc::new(move || clock.fetch_add(60, Ordering::Relaxed))),
        ..Settings::default()
    };
    let agent = agent(folder.path(), settings);
    let first = agent.search(&request("boat", None)).expect("found");
    let wanted = first.hits[7].document;
    let path = agent.opened(first.list.expect("a list"), wanted).expect("opened");
    assert_eq!(path.to_string_lossy(), first.hits[7].path);
    agent.left(first.list.expect("a list")).expect("left");
    let second = agent.search(&request("boat", None)).expect("found");
    assert_eq!((second.hits[0].document, second.hits[0].n_openings), (wanted, 1));
    let why = agent.why(second.list.expect("a list"), wanted).expect("explained");
    assert_eq!((why.rank_by_score, why.rank_shown), (1, 1));
    assert!(why.shares[0].feature.contains("opened"), "{why:?}");
    let total: f32 = why.shares.iter().map(|it| it.share).sum();
    assert!((total - why.score).abs() < 1e-4);
    let measured = agent.measured().expect("measured");
    assert_eq!((measured.n_with_opening, measured.opened_at_rank_1, measured.mean_typed), (1, 0.0, 4.0));
}

#[test]
fn a_list_that_nobody_saw_teaches_nothing_and_the_next_one_stays_alike() {
    let folder = tempfile::tempdir().expect("a folder");
    let agent = agent(folder.path(), plain());
    let mut previous = None;
    let mut orders = Vec::new();
    for words in ["boa", "boat", "boat ", "boat"] {
        let answer = agent.search(&request(words, previous)).expect("found");
        orders.push(answer.hits.iter().map(|hit| hit.document).collect::<Vec<_>>());
        previous = answer.list;
    }
    assert!(orders.windows(2).all(|pair| pair[0] == pair[1]), "the same documents, in the same order: {orders:?}");
    let status = agent.device_status().expect("known");
    assert_eq!((status.n_open, status.n_learnt_alone), (1, 0));
    let list = previous.expect("a list");
    agent.seen(list).expect("seen");
    agent.search(&request("boat n", Some(list))).expect("found");
    assert_eq!(agent.device_status().expect("known").n_learnt_alone, 1, "it was seen");
}

#[test]
fn only_documents_of_a_list_can_be_opened_from_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let agent = agent(folder.path(), plain());
    let list = agent.search(&request("boat", None)).expect("found").list.expect("a list");
    assert!(matches!(agent.opened(list, DocumentId(999)), Err(AgentError::NotInList(_))));
    assert!(matches!(agent.opened(ListId(77), DocumentId(1)), Err(AgentError::NoList(_))));
    assert_eq!(agent.search(&request("", None)).expect("nothing").list, None);
    assert_eq!(agent.search(&request("   ", None)).expect("nothing").hits, []);
}

#[test]
fn one_list_in_ten_is_compared_and_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let agent = agent(folder.path(), Settings::default());
    for _ in 0..20 {
        let answer = agent.search(&request("boat", None)).expect("found");
        let list = answer.list.expect("a list");
        agent.opened(list, answer.hits[0].document).expect("opened");
        agent.left(list).expect("left");
    }
    let measured = agent.measured().expect("measured");
    assert_eq!((measured.comparison.n_lists, measured.n_with_opening), (2, 20));
    assert_eq!(agent.device_status().expect("known").n_learnt_alone, 18);
}

#[test]
fn a_paused_agent_records_nothing_and_a_forgotten_one_knows_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let agent = agent(folder.path(), plain());
    let open = |agent: &Agent| {
        let answer = agent.search(&request("boat", None)).expect("found");
        let list = answer.list.expect("a list");
        agent.opened(list, answer.hits[3].document).expect("opened");
        agent.left(list).expect("left");
    };
    agent.pause().expect("paused");
    open(&agent);
    let status = agent.status().expect("known");
    assert_eq!((status.learned.n_openings, status.learned.n_lists, status.measured.n_searches), (0, 0, 0));
    agent.resume().expect("resumed");
    open(&agent);
    assert_eq!(agent.status().expect("known").learned.n_openings, 1);
    assert_eq!(agent.export().expect("exported").openings[0].query, "boat");
    agent.forget().expect("forgotten");
    let status = agent.status().expect("known");
    assert_eq!((status.learned.n_openings, status.learned.n_lists, status.measured.n_searches), (0, 0, 0));
    assert_eq!(agent.device().ranker().expect("a ranker").params, prior::model());
}

#[test]
fn a_list_outlives_its_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = agent(folder.path(), plain());
    let answer = first.search(&request("boat", None)).expect("found");
    let list = answer.list.expect("a list");
    first.seen(list).expect("seen");
    let saved = first.save_list(list).expect("saved");
    drop(first);
    let home = Home::open(Some(&folder.path().join("home"))).expect("a home");
    let second = Agent::open(home, plain()).expect("an agent");
    let list = second.restore_list(saved).expect("restored");
    second.why(list, answer.hits[0].document).expect("explained");
    second.opened(list, answer.hits[2].document).expect("opened");
    second.left(list).expect("left");
    assert_eq!(second.device_status().expect("known").n_learnt_alone, 1);
    assert_eq!(second.measured().expect("measured").n_with_opening, 1);
}

/// The machine stopped after a batch was in the index, and before it was in the catalogue.
#[test]
fn what_the_index_has_and_the_catalogue_has_not_is_forgotten() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = agent(folder.path(), plain());
    let next = first.read_catalogue().expect("not broken").next_document();
    {
        let mut index = first.lock_index().expect("not broken");
        let (title, body, name) = ("A boat of nobody", "boat boat boat", "lost.txt");
        let (headings, folders, author, kind, changed) = ("", "", "", crate::document::Kind::Text, 0);
        let lost =
            crate::index::IndexedDocument { id: next, title, headings, body, name, folders, author, kind, changed };
        index.add(&lost).expect("added");
        index.commit(DocumentId(next.0 + 1)).expect("written");
    }
    drop(first);
    let home = Home::open(Some(&folder.path().join("home"))).expect("a home");
    let second = Agent::open(home, plain()).expect("an agent");
    let view = second.lock_index().expect("not broken").view();
    assert_eq!(view.n_documents(), 10);
    std::fs::write(folder.path().join("files/new.txt"), "a new boat").expect("written");
    drop(second);
    let third = agent(folder.path(), plain());
    let answer = third.search(&request("new boat", None)).expect("found");
    assert_eq!(answer.hits.iter().filter(|hit| hit.path.ends_with("new.txt")).count(), 1);
    assert!(answer.hits.iter().all(|hit| hit.document != next || hit.path.ends_with("new.txt")));
}
