//! Made-up runs for which each finding holds, and one changed number for which it fails.

use super::super::values::{Group, Level};
use super::*;

fn group(users: &str, levels: &[(&str, &[f64])]) -> Group {
    let level = |(name, runs): &(&str, &[f64])| Level { name: (*name).into(), runs: runs.to_vec() };
    Group { users: users.into(), levels: levels.iter().map(level).collect() }
}

#[test]
fn above_means_above_at_every_level() {
    let theirs = [group("perfect", &[("a", &[0.4, 0.5]), ("b", &[0.4, 0.5])])];
    let ours = [group("perfect", &[("a", &[0.41, 0.52]), ("b", &[0.41, 0.5])])];
    let judged = is_above(&ours, &theirs, "nDCG", 3);
    assert!(judged.holds && judged.evidence.contains("2 of 2") && judged.evidence.contains("+0.015"), "{judged:?}");
    let worse = [group("perfect", &[("a", &[0.41, 0.52]), ("b", &[0.41, 0.48])])];
    assert!(!is_above(&worse, &theirs, "nDCG", 3).holds);
    assert!(!is_above(&[], &[], "nDCG", 3).holds, "nothing was shown");
}

#[test]
fn only_navigational_users_count_for_the_baseline_online() {
    let ours = [group("perfect", &[("a", &[313.0])]), group("navigational", &[("a", &[303.0])])];
    let theirs = [group("perfect", &[("a", &[312.0])]), group("navigational", &[("a", &[323.0])])];
    assert!(baseline_is_better_online(&ours, &theirs).holds);
    assert!(!baseline_is_better_online(&theirs, &ours).holds);
}

#[test]
fn the_printed_table_supports_finding_10() {
    let mq = [
        group("perfect", &[("1.2", &[296.03]), ("10", &[313.26])]),
        group("navigational", &[("1.2", &[293.29]), ("10", &[303.82])]),
        group("informational", &[("1.2", &[291.84]), ("10", &[301.30])]),
    ];
    assert!(small_budgets_cost(&mq).holds && !budgets_are_free(&mq).holds);
    let mslr = [group("perfect", &[("1.2", &[54.62]), ("10", &[54.61])])];
    assert!(budgets_are_free(&mslr).holds && !small_budgets_cost(&mslr).holds);
}

fn clients(harmed: f64, noisy: f64, plain: f64) -> [Group; 1] {
    let levels: [(&str, &[f64]); 6] = [
        ("without DP, 10", &[0.40]),
        ("without DP, 100", &[0.41]),
        ("without DP, 1000", &[plain]),
        ("with DP, 10", &[harmed]),
        ("with DP, 100", &[noisy]),
        ("with DP, 1000", &[0.41]),
    ];
    [group("perfect", &levels)]
}

#[test]
fn noise_harms_ten_clients_only() {
    assert!(clients_matter_with_noise(&clients(0.30, 0.40, 0.41)).holds);
    assert!(!clients_matter_with_noise(&clients(0.38, 0.40, 0.41)).holds, "ten clients are not harmed");
    assert!(!clients_matter_with_noise(&clients(0.30, 0.35, 0.41)).holds, "a hundred clients are harmed");
    assert!(!clients_matter_with_noise(&clients(0.30, 0.40, 0.43)).holds, "clients matter without noise");
    let without_levels = [group("perfect", &[("without DP, 10", &[0.4])])];
    assert!(!clients_matter_with_noise(&without_levels).holds, "levels are missing");
}

#[test]
fn batches_rise_at_equal_rounds_and_agree_at_equal_budget() {
    let rising = [group("perfect", &[("2", &[0.40]), ("4", &[0.41]), ("8", &[0.42])])];
    let level = [group("perfect", &[("2", &[0.42]), ("4", &[0.42]), ("8", &[0.42])])];
    let falling = [group("perfect", &[("2", &[0.42]), ("4", &[0.41]), ("8", &[0.40])])];
    let apart = [group("perfect", &[("2", &[0.45]), ("4", &[0.42]), ("8", &[0.42])])];
    assert!(larger_batches_are_better(&rising).holds);
    assert!(!larger_batches_are_better(&level).holds && !larger_batches_are_better(&falling).holds);
    assert!(batches_are_equal_at_equal_budget(&level, &falling, &level).holds);
    assert!(!batches_are_equal_at_equal_budget(&apart, &falling, &level).holds);
    assert!(!batches_are_equal_at_equal_budget(&level, &rising, &level).holds);
}

#[test]
fn fpdgd_lies_between_the_two_lengths_of_pdgd() {
    let pdgd = [group("perfect", &[("updates", &[0.30]), ("interactions", &[0.50])])];
    let fpdgd = |last: f64| [group("perfect", &[("1.2", &[0.9]), ("10", &[last])])];
    assert!(is_between_pdgd(&fpdgd(0.4), &pdgd).holds);
    assert!(!is_between_pdgd(&fpdgd(0.2), &pdgd).holds);
    assert!(!is_between_pdgd(&fpdgd(0.6), &pdgd).holds);
}
