//! FOLtR-ES with open lists: a list's side of the perturbation is fixed when it is shown, and no other round learns from it.

use foltr_rank::learn::evolution::{EvolutionSettings, fill_direction};
use foltr_rank::rng::Stream;
use foltr_rank::{ImpressionId, Models, Ranker, Session, Shown, Update};
use rand::Rng;

use super::{EVOLUTION, LINEAR, N_FEATURES, Settings, query, stream};

/// A list of six documents.
const SIX: u32 = 5;

/// Begins a round with the direction of a seed with this number, and says the seed.
fn begin(session: &mut Session, global: &[f32], number: u32) -> u32 {
    session.begin(Models { global, clusters: &[] }, 0, &mut stream(number)).expect("its model");
    stream(number).next_u32()
}

fn rank(session: &mut Session, random: &mut Stream) -> Shown {
    session.rank(query(SIX).view(), 0, random).expect("a sound query")
}

/// The best document of a model in the direction of the seed.
fn best(global: &[f32], seed: u32, sigma: f32) -> u32 {
    let mut direction = [0.0; N_FEATURES];
    fill_direction(seed, &mut direction);
    let model: Vec<f32> = global.iter().zip(direction).map(|(global, v)| global + sigma * v).collect();
    let mut ranker = Ranker::new(LINEAR);
    ranker.load(&model);
    let candidates = query(SIX);
    let mut scores = vec![0.0; candidates.view().n_docs()];
    ranker.score(candidates.view(), &mut scores);
    (0..scores.len()).max_by(|&a, &b| scores[a].total_cmp(&scores[b])).expect("a document") as u32
}

#[test]
fn a_side_is_fixed_when_a_list_is_shown_whatever_ends_first() {
    // Perturbations so large that both sides have other favourites than the model.
    let settings = Settings::evolution(LINEAR, EvolutionSettings { sigma: 30.0, ..EVOLUTION });
    let (mut session, global, mut random) = (settings.session(), settings.global(), stream(0));
    let seed = begin(&mut session, &global, 5);
    let favourites = [30.0, -30.0, 0.0].map(|sigma| best(&global, seed, sigma));
    assert!(favourites[0] != favourites[1] && favourites[0] != favourites[2] && favourites[1] != favourites[2]);
    let lists: Vec<Shown> = (0..6).map(|_| rank(&mut session, &mut random)).collect();
    // Two of each side, then two beyond the round, of the model itself.
    let first: Vec<u32> = lists.iter().map(|shown| shown.ranking.docs()[0]).collect();
    assert_eq!(first, [0, 0, 1, 1, 2, 2].map(|side| favourites[side]));
    for (i, shown) in lists.iter().enumerate() {
        session.clicked(shown.impression, i % 6, 1).expect("open");
    }
    for i in [4, 3, 1, 5, 2, 0] {
        session.dismiss(lists[i].impression).expect("open");
    }
    // The outcome is the position of the first click, from 1, in the order in which the lists ended.
    assert_eq!(session.n_interactions(), 4);
    let finished = session.finish().expect("a round");
    assert_eq!(finished.update, Update::Evolution { seed, plus: &[2, 1], minus: &[4, 3] });
}

#[test]
fn a_list_of_an_earlier_round_teaches_nothing() {
    let settings = Settings::evolution(LINEAR, EVOLUTION);
    let (mut session, global, mut random) = (settings.session(), settings.global(), stream(0));
    begin(&mut session, &global, 6);
    let early: Vec<ImpressionId> = (0..3).map(|_| rank(&mut session, &mut random).impression).collect();
    session.dismiss(early[0]).expect("open");
    assert!(matches!(session.finish().expect("a round").update, Update::Evolution { plus: [0], minus: [], .. }));
    let mut session = settings.restored(&session);
    // It can still be clicked and ended, between the rounds and in the next one.
    session.clicked(early[1], 0, 5).expect("open");
    session.dismiss(early[1]).expect("open");
    let seed = begin(&mut session, &global, 7);
    session.clicked(early[2], 0, 5).expect("open");
    session.dismiss(early[2]).expect("open");
    assert_eq!(session.n_interactions(), 0);
    let late = rank(&mut session, &mut random).impression;
    session.clicked(late, 3, 6).expect("open");
    session.dismiss(late).expect("open");
    assert_eq!(session.finish().expect("a round").update, Update::Evolution { seed, plus: &[4], minus: &[] });
}

#[test]
fn a_round_that_is_given_up_leaves_no_lesson() {
    let settings = Settings::evolution(LINEAR, EVOLUTION);
    let (mut session, global, mut random) = (settings.session(), settings.global(), stream(0));
    begin(&mut session, &global, 8);
    let early = rank(&mut session, &mut random).impression;
    let seed = begin(&mut session, &global, 9);
    session.dismiss(early).expect("open");
    assert_eq!(session.finish().expect("a round").update, Update::Evolution { seed, plus: &[], minus: &[] });
}
