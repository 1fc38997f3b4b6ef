//! Made-up runs for which each finding holds or fails.

use super::*;

fn runs(values: [f64; 4]) -> ByAttackers {
    values.map(|value| vec![value - 0.001, value + 0.001])
}

/// Every rule as `by_rule` says; no attack is .5.
fn poisoned(users: &'static str, by_rule: [[f64; 4]; 5]) -> Poisoned {
    Poisoned { users, honest: vec![0.499, 0.501], by_rule: by_rule.map(runs) }
}

const NOTHING: [f64; 4] = [0.5; 4];

/// Three kinds of users under federated averaging alone.
fn undefended(perfect: [f64; 4], navigational: [f64; 4], informational: [f64; 4]) -> [Poisoned; 3] {
    let of = |users, values| poisoned(users, [values, NOTHING, NOTHING, NOTHING, NOTHING]);
    [of("perfect", perfect), of("navigational", navigational), of("informational", informational)]
}

#[test]
fn damage_as_in_the_thesis() {
    let all = undefended([0.5, 0.495, 0.47, 0.4], [0.49, 0.45, 0.4, 0.35], [0.48, 0.44, 0.35, 0.2]);
    for judged in [damage_grows(&all), noise_is_hit_most(&all), who_is_hurt_when(&all)] {
        assert!(judged.holds, "{judged:?}");
    }
}

#[test]
fn damage_of_another_kind() {
    let steps_back = undefended([0.5, 0.45, 0.46, 0.4], NOTHING.map(|it| it - 0.1), NOTHING);
    let judged = damage_grows(&steps_back);
    // The step back of the perfect, and the two that have no more damage at 4 than at 1.
    assert!(!judged.holds && judged.evidence.contains("12 of 15"), "{judged:?}");
    let perfect_most = undefended([0.5, 0.4, 0.3, 0.2], [0.49, 0.45, 0.4, 0.35], [0.48, 0.46, 0.41, 0.36]);
    assert!(!noise_is_hit_most(&perfect_most).holds);
    assert!(!who_is_hurt_when(&perfect_most).holds, "perfect users are hurt at 20 %");
    let late = undefended([0.5, 0.495, 0.47, 0.4], [0.49, 0.485, 0.4, 0.35], [0.48, 0.44, 0.35, 0.2]);
    assert!(!who_is_hurt_when(&late).holds, ".015 is not clear");
}

/// Federated averaging at .4 whatever the attackers; Krum as given.
fn with_krum(krum: [[f64; 4]; 3]) -> [Poisoned; 3] {
    let mut kinds = ["perfect", "navigational", "informational"].into_iter();
    krum.map(|krum| {
        poisoned(kinds.next().unwrap_or_default(), [[0.4; 4], krum, krum.map(|it| it - 0.001), [0.4; 4], [0.4; 4]])
    })
}

#[test]
fn krum_by_collection() {
    let (usual, last_fails) = ([0.39, 0.42, 0.45, 0.45], [0.39, 0.42, 0.45, 0.401]);
    let mslr = with_krum([usual, usual, last_fails]);
    assert!(krum_helps(&mslr, Collection::Mslr).holds);
    assert!(!krum_helps(&mslr, Collection::Yahoo).holds, "informational users at 40 %");
    assert!(!krum_helps(&mslr, Collection::Mq2007).holds, "informational users at 20 %");
    assert!(krum_helps(&with_krum([usual, usual, [0.404; 4]]), Collection::Mq2007).holds, ".004 is no help");
    assert!(krum_helps(&with_krum([usual; 3]), Collection::Yahoo).holds);
    assert!(!krum_helps(&with_krum([usual; 3]), Collection::IstellaS).holds, "no help at 10 %");
    assert!(krum_helps(&with_krum([usual; 3]), Collection::Other).holds);
    assert!(krum_helps(&with_krum([[0.42; 4]; 3]), Collection::IstellaS).holds);
}

#[test]
fn the_other_rules() {
    let all = with_krum([[0.45; 4]; 3]);
    assert!(multi_krum_beside_krum(&all).holds, "Multi-Krum .001 below");
    assert!(updates_beside_coordinates(&all, Collection::Mslr).holds);
    assert!(!updates_beside_coordinates(&all, Collection::Mq2007).holds);
    assert!(coordinates_fail(&all).holds, "as federated averaging");
    let better = poisoned("informational", [[0.4; 4], [0.41; 4], [0.42; 4], [0.45; 4], [0.39; 4]]);
    assert!(!multi_krum_beside_krum(std::slice::from_ref(&better)).holds);
    let judged = coordinates_fail(&[better]);
    assert!(!judged.holds && judged.evidence.contains("2 of 4"), "{judged:?}");
    let worse = poisoned("navigational", [[0.4; 4], [0.41; 4], [0.40; 4], [0.45; 4], [0.39; 4]]);
    assert!(!multi_krum_beside_krum(&[worse]).holds);
}

fn unattacked(krum: f64, multi_krum: f64, trimmed_mean: f64, median: f64) -> [Unattacked; 1] {
    let [krum, multi_krum, trimmed_mean] = [krum, multi_krum, trimmed_mean].map(|value| runs([value; 4]));
    let (plain, median) = (vec![0.499, 0.501], vec![median]);
    [Unattacked { users: "perfect", plain, krum, multi_krum, trimmed_mean, median }]
}

#[test]
fn costs_without_an_attack() {
    let thesis = unattacked(0.45, 0.49, 0.49, 0.48);
    assert!(krum_and_median_cost(&thesis).holds && averaging_costs_less(&thesis).holds);
    assert!(!krum_and_median_cost(&unattacked(0.45, 0.49, 0.49, 0.496)).holds, "the median loses .004");
    assert!(!averaging_costs_less(&unattacked(0.45, 0.44, 0.49, 0.48)).holds, "Multi-Krum loses more");
    assert!(!averaging_costs_less(&unattacked(0.45, 0.49, 0.47, 0.48)).holds, "trimmed mean loses more");
}

/// Data poisoning leaves .45, .4, .3, .2 without a defence and .48 with Krum; no attack is .5.
fn crafted(little: [f64; 4], full: [f64; 4], partial: [f64; 4]) -> [Crafted; 1] {
    let [clicks, little, clicks_on_krum, full, partial] =
        [[0.45, 0.4, 0.3, 0.2], little, [0.48; 4], full, partial].map(runs);
    [Crafted { users: "perfect", honest: vec![0.5], clicks, little, clicks_on_krum, full, partial }]
}

const LITTLE: [f64; 4] = [0.5, 0.5, 0.49, 0.48];
const FULL: [f64; 4] = [0.4, 0.3, 0.2, 0.1];
const PARTIAL: [f64; 4] = [0.48, 0.4, 0.21, 0.09];

#[test]
fn a_little_as_in_the_thesis_and_not() {
    let thesis = crafted(LITTLE, FULL, PARTIAL);
    assert!(little_is_weaker(&thesis, Collection::Mslr).holds && little_is_nothing(&thesis).holds);
    let stronger = crafted([0.5, 0.5, 0.49, 0.15], FULL, PARTIAL);
    assert!(!little_is_weaker(&stronger, Collection::Mslr).holds);
    assert!(little_is_weaker(&stronger, Collection::Yahoo).holds, "the thesis's exception");
    assert!(!little_is_nothing(&crafted([0.5, 0.49, 0.49, 0.48], FULL, PARTIAL)).holds);
}

#[test]
fn fang_as_in_the_thesis_and_not() {
    let thesis = crafted(LITTLE, FULL, PARTIAL);
    assert!(fang_is_stronger(&thesis).holds && knowledge_matters_for_few(&thesis).holds);
    assert!(!fang_is_stronger(&crafted(LITTLE, [0.49, 0.3, 0.2, 0.1], PARTIAL)).holds);
    assert!(!knowledge_matters_for_few(&crafted(LITTLE, FULL, [0.4, 0.4, 0.2, 0.1])).holds, "nothing gained at 10 %");
    assert!(!knowledge_matters_for_few(&crafted(LITTLE, FULL, [0.48, 0.4, 0.3, 0.1])).holds, ".1 apart at 30 %");
}
