use super::*;
use crate::interleave::Interleaving;
use crate::query::Candidates;
use crate::rng::{Purpose, Streams};

const SETTINGS: DuelSettings = DuelSettings {
    learning_rate: 0.5,
    exploration: 1.0,
    n_candidates: 3,
    interleaving: Interleaving::TeamDraft,
    n_shown: 4,
    clip_radius: None,
};
const SHAPE: Shape = Shape::Linear { n_features: 3 };

fn stream(number: u32) -> Stream {
    Streams::new(7).open(Purpose::Interaction, number, 0)
}

#[test]
fn directions_have_length_one_and_no_favourite() {
    let mut directions = vec![0.0; 3 * 20_000];
    fill_directions(4, 3, &mut directions);
    let mut mean = [0.0_f64; 3];
    for direction in directions.chunks_exact(3) {
        let length = direction.iter().map(|x| x * x).sum::<f32>();
        assert!((length - 1.0).abs() < 1e-5);
        mean.iter_mut().zip(direction).for_each(|(mean, &x)| *mean += f64::from(x) / 20_000.0);
    }
    assert!(mean.iter().all(|mean| mean.abs() < 0.02), "{mean:?}");
}

/// Clicks on the documents of two of three candidates: the step is half the rate along each of their directions.
#[test]
fn the_model_moves_along_the_mean_of_the_winners() {
    let mut learner = Dueling::new(SHAPE, SETTINGS);
    learner.begin(&[0.25, 0.0, -1.0], &mut stream(0));
    let candidates = Candidates::new(&crate::normal::random(3 * 8, 1), 3).expect("finite");
    let mut ranking = Ranking::default();
    learner.rank(candidates.view(), &mut stream(1), &mut ranking);
    // Four rankers, four positions: everybody has one document.
    let owner = |ranker: usize| (0..4).find(|&position| learner.duel.origins.share(position, ranker) == 1.0);
    let (second, third) = (owner(2).expect("its own"), owner(3).expect("its own"));
    let directions = learner.directions.clone();
    let clicks = Clicks(1 << second | 1 << third);
    learner.observe(&Impression::new(candidates.view(), &ranking, clicks));
    let Update::Step { delta, n_interactions: 1 } = learner.finish() else { panic!("a step") };
    for i in 0..3 {
        let expected = 0.25 * (directions[3 + i] + directions[6 + i]);
        assert!((delta[i] - expected).abs() < 1e-6, "{delta:?}");
    }
}

#[test]
fn nobody_moves_a_model_that_is_clicked_as_often() {
    for interleaving in Interleaving::ALL {
        let mut learner = Dueling::new(SHAPE, DuelSettings { n_candidates: 1, interleaving, ..SETTINGS });
        learner.begin(&[0.5; 3], &mut stream(0));
        let candidates = Candidates::new(&[1.0; 12], 3).expect("finite");
        let mut ranking = Ranking::default();
        for number in 0..20 {
            // Documents alike: model and candidate have the same ranking. All clicked, or none.
            learner.rank(candidates.view(), &mut stream(number), &mut ranking);
            let clicks = if number % 2 == 0 { Clicks(0) } else { Clicks(0b1111) };
            learner.observe(&Impression::new(candidates.view(), &ranking, clicks));
        }
        let Update::Step { delta, .. } = learner.finish() else { panic!("a step") };
        assert_eq!(delta, [0.0; 3], "{interleaving:?}");
    }
}

/// Users click what has a large first feature: both methods learn that, also with several candidates.
#[test]
fn both_interleavings_learn_what_users_want() {
    for interleaving in Interleaving::ALL {
        for n_candidates in [1, 5] {
            let settings = DuelSettings { n_candidates, interleaving, learning_rate: 0.05, ..SETTINGS };
            let mut learner = Dueling::new(SHAPE, settings);
            learner.begin(&[0.0; 3], &mut stream(0));
            let mut ranking = Ranking::default();
            for number in 0..2_000 {
                let features = crate::normal::random(3 * 10, number);
                let candidates = Candidates::new(&features, 3).expect("finite");
                learner.rank(candidates.view(), &mut stream(number), &mut ranking);
                let mut clicks = Clicks::default();
                for (position, &doc) in ranking.docs().iter().enumerate() {
                    if features[3 * doc as usize] > 0.5 {
                        clicks.click(position);
                    }
                }
                learner.observe(&Impression::new(candidates.view(), &ranking, clicks));
            }
            let model = &learner.model;
            let length = model.iter().map(|x| x * x).sum::<f32>().sqrt();
            assert!(model[0] / length > 0.9, "{interleaving:?}, {n_candidates}: {model:?}");
        }
    }
}

#[test]
fn a_clipped_model_stays_in_its_ball() {
    let mut learner = Dueling::new(SHAPE, DuelSettings { clip_radius: Some(0.1), ..SETTINGS });
    learner.begin(&[0.0; 3], &mut stream(0));
    let mut ranking = Ranking::default();
    let candidates = Candidates::new(&crate::normal::random(3 * 8, 1), 3).expect("finite");
    for number in 0..50 {
        learner.rank(candidates.view(), &mut stream(number), &mut ranking);
        learner.observe(&Impression::new(candidates.view(), &ranking, Clicks(0b10)));
        assert!(learner.model.iter().map(|x| x * x).sum::<f32>().sqrt() < 0.1 + 1e-6);
    }
    assert!(learner.model.iter().any(|&x| x != 0.0));
}
