//! The campaign of `docs/campaigns/refinding.md` at a small size, on documents that are made by code.

#[path = "../examples/refinding/main.rs"]
#[allow(dead_code)]
mod people;

use foltr_agent::command::WORKER;
use foltr_agent::extract::Program;
use people::collection::{BEGIN, Collection};
use people::measure::window;
use people::source::made;
use people::wish::{Variant, Wish, wishes};
use people::world::{System, World};

const SEARCHES: usize = 60;
/// Of somebody from whom much is to be learnt.
const LONG: usize = 300;

fn world() -> World {
    let path = env!("CARGO_BIN_EXE_foltr-agent").into();
    let reader = Program { path, arguments: vec![WORKER.into()], variables: Vec::new() };
    World::new(made(12, 25), reader).expect("indexed")
}

/// Of the searches from one on, over several people.
fn mean(world: &World, system: &System, people: &[Vec<Wish>], from: usize) -> f64 {
    let of = |(seed, wishes): (usize, &Vec<Wish>)| {
        window(&world.run(system, wishes, seed as u64).expect("searched").reciprocal, (from, SEARCHES))
    };
    people.iter().enumerate().map(of).sum::<f64>() / people.len() as f64
}

#[test]
fn the_prior_is_not_below_plain_bm25() {
    let world = world();
    for variant in Variant::JUDGED {
        let people: Vec<_> = (0..3).map(|seed| wishes(&world.collection, variant, seed, SEARCHES)).collect();
        let bm25 = mean(&world, &System::fixed("BM25", &[("bm25", 1.0)]), &people, 0);
        let prior = mean(&world, &System::prior("prior"), &people, 0);
        assert!(prior >= bm25, "{}: the prior has {prior}, BM25 {bm25}", variant.name());
    }
}

/// With each word, each once, wants the document that was changed longest ago: the prior expects the opposite.
fn contrary(collection: &Collection) -> Vec<Wish> {
    let words = collection.vocabulary.iter().filter(|(_, n)| (3..=30).contains(n));
    let wish = |(number, (word, _)): (usize, &(String, usize))| {
        let has = |at: &usize| collection.words[*at].body.iter().any(|it| it.0 == *word);
        let age = |at: usize| collection.documents[at].age;
        let target = (0..collection.documents.len()).filter(has).max_by(|&a, &b| age(a).total_cmp(&age(b)))?;
        // What follows the word ends it.
        Some(Wish { at: BEGIN + number as i64 * 3_600, target, words: format!("{word} ") })
    };
    words.enumerate().filter_map(wish).take(LONG).collect()
}

#[test]
fn the_agent_learns_wishes_that_contradict_its_prior() {
    let world = world();
    let wishes = contrary(&world.collection);
    assert_eq!(wishes.len(), LONG);
    let last = |system: &System, seed| {
        window(&world.run(system, &wishes, seed).expect("searched").reciprocal, (LONG - 100, LONG))
    };
    let prior = last(&System::prior("prior"), 0);
    let agent = last(&System::agent("agent"), 0);
    assert!(agent > prior + 0.05, "the agent has {agent}, its prior {prior}");
}

#[test]
fn the_same_seed_gives_the_same_wishes() {
    let collection = made(12, 25);
    for variant in [Variant::Frecent, Variant::Topical, Variant::Shifting, Variant::General] {
        let [one, same, other] = [1, 1, 2].map(|seed| wishes(&collection, variant, seed, SEARCHES));
        assert_eq!(one, same);
        assert_ne!(one, other);
    }
}
