//! The campaign of `docs/campaigns/refinding.md` at a small size, on documents that are made by code.

#[path = "../examples/refinding/main.rs"]
#[allow(dead_code)]
mod campaign;

use campaign::collection::{BEGIN, Collection};
use campaign::measure::window;
use campaign::source::made;
use campaign::wish::{Variant, Wish, wishes};
use campaign::world::{System, World};
use foltr_agent::command::WORKER;
use foltr_agent::extract::Program;

const SEARCHES: usize = 60;

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

/// With each word, wants the longest document that has it in its text, but not in its title.
fn contrary(collection: &Collection) -> Vec<Wish> {
    let rare = collection.vocabulary.iter().filter(|(_, n)| (4..=8).contains(n));
    let wish = |(number, (word, _)): (usize, &(String, usize))| {
        let has = |at: &usize| {
            let words = &collection.words[*at];
            words.body.iter().any(|it| it.0 == *word) && !words.title.contains(word)
        };
        let target = (0..collection.documents.len()).filter(has).max_by_key(|&at| collection.words[at].body.len())?;
        // What follows the word ends it.
        Some(Wish { at: BEGIN + number as i64 * 3_600, target, words: format!("{word} ") })
    };
    rare.enumerate().filter_map(wish).take(SEARCHES).collect()
}

#[test]
fn the_agent_learns_wishes_that_contradict_its_prior() {
    let world = world();
    let people = vec![contrary(&world.collection); 3];
    assert_eq!(people[0].len(), SEARCHES);
    let prior = mean(&world, &System::prior("prior"), &people, SEARCHES / 2);
    let agent = mean(&world, &System::agent("agent"), &people, SEARCHES / 2);
    assert!(agent > prior, "the agent has {agent}, its prior {prior}");
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
