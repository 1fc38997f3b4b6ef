//! Clients that test releases: nothing changes until one refuses, who refuses sends nothing, and the statistics of the
//! test are those it states.

#[path = "../../examples/adoption_campaign/main.rs"]
mod campaign;

use campaign::person::Person;
use campaign::{Size, attacks, promises};
use foltr_federation::Defence;
use foltr_rank::adoption::{AdoptionError, AdoptionRule};
use foltr_rank::{Params, Shape};
use foltr_simulation::adversary::{Attack, Attackers, Knowledge, Patient, Seeds};
use foltr_simulation::click::Preset;
use foltr_simulation::client_data::ClientData;
use foltr_simulation::client_round::RoundStats;
use foltr_simulation::dataset::Dataset;
use foltr_simulation::datasets::SyntheticShape;
use foltr_simulation::federation_run::{FederationError, FederationRun, FederationSettings};

use crate::scene::{even_partition, evolution, iid, on_threads, partition, settings};

const RULE: AdoptionRule = AdoptionRule { error: 0.05, lists: 2_000 };

fn adopting<'a>(settings: &FederationSettings, data: &'a ClientData) -> FederationRun<'a> {
    let run = FederationRun::new(settings.clone(), data).expect("a sound federation");
    run.with_adoption(RULE).expect("a federation that can be tested")
}

fn rounds(run: &mut FederationRun<'_>, n_rounds: usize) -> Vec<RoundStats> {
    (0..n_rounds).map(|_| run.round().expect("a round")).collect()
}

/// Perfect users on a few generated queries.
fn data() -> ClientData {
    iid(SyntheticShape::Tiny, 60, Preset::Perfect, 5)
}

/// Four of ten clients that are honest for 150 rounds, and then send vectors of great length.
fn attacked() -> FederationSettings {
    let method = Attack::Patient(Patient { from: 150, ..Patient::default() });
    let attackers = Attackers { attackers: 4, knowledge: Knowledge::Full, seeds: Seeds::Own, method };
    FederationSettings { attackers: Some(attackers), ..settings() }
}

#[test]
fn until_somebody_refuses_nothing_changes() {
    for defence in [Defence::NONE, Defence::recommended(2)] {
        let settings = FederationSettings { defence, ..settings() };
        let mut plain = FederationRun::new(settings.clone(), partition()).expect("a sound federation");
        let mut tested = adopting(&settings, partition());
        assert_eq!(rounds(&mut plain, 20), rounds(&mut tested, 20));
        assert_eq!((plain.ranker(), plain.cost()), (tested.ranker(), tested.cost()));
        assert_eq!(tested.refused_share(), Some(0.0));
        assert_eq!(tested.own_ranker(3).expect("a client").params, plain.ranker());
    }
}

#[test]
fn whoever_refuses_keeps_its_model_searches_on_and_sends_nothing() {
    let data = data();
    let settings = attacked();
    let (mut plain, mut tested) =
        (FederationRun::new(settings.clone(), &data).expect("sound"), adopting(&settings, &data));
    let (unprotected, mut protected, mut most_refused) = (rounds(&mut plain, 300), Vec::new(), None);
    let mut n_others = 0;
    for _ in 0..300 {
        protected.extend(rounds(&mut tested, 1));
        most_refused = most_refused.max(tested.refused_share().map(|share| (100.0 * share) as u32));
        let is_other = |&client: &u32| tested.own_ranker(client).expect("an honest client").params != tested.ranker();
        n_others += (4..10).filter(is_other).count();
    }
    assert!(most_refused > Some(50), "{most_refused:?} %");
    assert!(tested.cost().messages < plain.cost().messages);
    // Everybody searches in every round, and attackers do not count.
    assert!(protected.iter().all(|stats| stats.n_clients == 6 && stats.n_interactions == 30));
    let last = |stats: &[RoundStats]| {
        stats[200..].iter().map(|stats| stats.ndcg / stats.n_clients as f64).sum::<f64>() / 100.0
    };
    let (without, with) = (last(&unprotected), last(&protected));
    assert!(with > without + 0.05, "online nDCG {with} instead of {without}");
    assert_eq!(tested.own_ranker(0), None, "an attacker uses no model");
    assert!(n_others > 0, "whoever refuses uses another model");
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    let data = data();
    let settings = attacked();
    let run = |n_threads| {
        on_threads(n_threads, || {
            let mut run = adopting(&settings, &data);
            let stats = rounds(&mut run, 200);
            let models: Vec<Params> =
                (4..10).filter_map(|client| run.own_ranker(client)).map(|own| own.params).collect();
            (stats, run.ranker(), models, run.refused_share())
        })
    };
    let one = run(1);
    assert!(one.2.iter().any(|model| *model != one.1), "somebody refused a release");
    assert!([2, 3, 8].into_iter().all(|n_threads| run(n_threads) == one));
}

#[test]
fn what_is_not_defined_is_refused_with_the_reason() {
    let with_adoption = |settings: FederationSettings, data| -> String {
        let run = FederationRun::new(settings, data).expect("a sound federation without adoption");
        run.with_adoption(RULE).err().expect("a refusal").to_string()
    };
    let refused = with_adoption(FederationSettings { learning: evolution(false), ..settings() }, even_partition());
    assert!(refused.starts_with("[adoption] is not supported with learner.kind = \"evolution\""), "{refused}");
    let refused = with_adoption(FederationSettings { average_from: Some(3), ..settings() }, partition());
    assert!(refused.ends_with("devices use the newest models"), "{refused}");
    let run = FederationRun::new(settings(), partition()).expect("a sound federation");
    let wrong = run.with_adoption(AdoptionRule { error: 0.0, ..RULE }).err().expect("a refusal");
    assert!(matches!(wrong, FederationError::Adoption(AdoptionError::Parameter(_))), "{wrong}");
}

#[test]
fn a_network_can_be_tested_too() {
    let shape = Shape::Mlp { n_features: 12, n_hidden: 4, activation: foltr_rank::Activation::Logistic };
    let initial = (0..shape.n_params()).map(|i| (i as f32).sin() / 4.0).collect();
    let mut run = adopting(&FederationSettings { shape, initial, ..settings() }, partition());
    rounds(&mut run, 5);
    assert_eq!(run.own_ranker(9).map(|own| own.shape), Some(shape));
}

/// A client whose message is lost does no search. One that refuses the release must not search in its place.
#[test]
fn lost_messages_count_alike_with_and_without_a_refusal() {
    let data = data();
    let settings = FederationSettings { dropout: 0.5, ..attacked() };
    let mut plain = FederationRun::new(settings.clone(), &data).expect("sound");
    let mut tested = adopting(&settings, &data);
    let searched = |stats: Vec<RoundStats>| -> Vec<(u64, u64)> {
        stats.iter().map(|stats| (stats.n_clients, stats.n_interactions)).collect()
    };
    let (mut with, mut n_refused) = (Vec::new(), 0);
    for _ in 0..300 {
        with.extend(rounds(&mut tested, 1));
        n_refused += u32::from(tested.refused_share() > Some(0.0));
    }
    assert!(n_refused > 20, "{n_refused} rounds");
    assert_eq!(searched(rounds(&mut plain, 300)), searched(with));
}

const SMALL: Size = Size {
    n_learned: 1_000,
    n_chosen: 10_000,
    n_measured: 30_000,
    n_devices: 200,
    n_series: 200,
    n_releases: 100,
    n_between: 1,
    n_stored: 50,
    n_attacked: 20,
    n_fitted: 3,
};

fn person(data: &Dataset, preset: Preset) -> Person<'_> {
    Person { data, preset, is_indifferent: false }
}

#[test]
fn a_loss_is_noticed_after_the_clicks_that_the_test_states() {
    let data = campaign::generated(100);
    let person = person(&data, Preset::Perfect);
    let power = promises::power(&person, &SMALL).expect("rankers that are worse");
    assert!((power.loss - 0.02).abs() < 0.006, "{power:?}");
    // 200 devices: two standard errors below .8.
    assert!(power.refused >= 0.8 - 2.0 * (0.16_f64 / 200.0).sqrt() && power.clicks[0] < power.clicks[1], "{power:?}");
    // What the test measures is about documents whose order was open. Lists lose at least as much.
    assert!(power.loss_by_labels > power.loss / 2.0, "{power:?}");
    let (clicks, loss) = promises::reversed(&person, &SMALL);
    assert!(loss > power.loss && clicks < power.clicks[0], "{clicks} clicks, {loss}");
}

fn refuses_hardly_any_of_a_hundred_equals(is_indifferent: bool) {
    let data = campaign::generated(100);
    let person = Person { is_indifferent, ..person(&data, Preset::Navigational) };
    let share = promises::refused_equals(&person, &SMALL).expect("equal releases");
    // 200 devices: two standard errors above .05.
    assert!(share <= 0.05 + 2.0 * (0.0475_f64 / 200.0).sqrt(), "{share} of the devices refuse one");
}

#[test]
fn of_a_hundred_equal_releases_none_is_refused() {
    refuses_hardly_any_of_a_hundred_equals(false);
}

#[test]
fn whoever_prefers_nothing_refuses_nothing() {
    refuses_hardly_any_of_a_hundred_equals(true);
}

/// The same order, but lists that are nearly random; and lists that are certain until a reversed model comes.
#[test]
fn releases_with_other_sizes_of_scores_do_not_get_past() {
    let data = campaign::generated(100);
    let person = person(&data, Preset::Perfect);
    let flat = attacks::flattened(&person, &SMALL);
    assert!(flat.refused >= 0.9 && flat.ndcg[1] < flat.ndcg[0] - 0.02, "{} {:?}", flat.refused, flat.ndcg);
    let reversed = attacks::sharpened_then_reversed(&person, &SMALL);
    assert!(reversed.refused >= 0.9 && reversed.ndcg[1] < reversed.ndcg[0] - 0.02, "{}", reversed.refused);
    assert_eq!(attacks::overflowing(&person, &SMALL), 1.0);
}
