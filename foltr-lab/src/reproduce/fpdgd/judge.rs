//! Findings 8 to 13 of spec section 19, judged from one number a run.
//!
//! "Nearly equal" and "much worse" are the paper's words; the numbers that stand for them are constants here, chosen
//! before any run: the papers call differences of a point of nDCG small, and their curves with 10 clients and noise lie
//! more than five points below the others.

use super::super::tally::{Judged, Tally};
use super::values::{Group, Level, difference};

/// nDCG that may lie between curves the paper calls equal.
pub const NEARLY_EQUAL: f64 = 0.02;
/// nDCG that must lie between curves where the paper sees much harm.
pub const MUCH_WORSE: f64 = 0.05;
/// What the small budgets cost online on MQ2007: 10 to 17 points in the paper, with room for other samples.
pub const COST_OF_SMALL_BUDGETS: (f64, f64) = (5.0, 25.0);
/// By how much the budgets differ online on MSLR-WEB10K: less than this.
pub const FREE_BUDGETS: f64 = 0.1;

fn signed(value: f64, half_width: f64, digits: usize) -> String {
    format!("{value:+.digits$} ± {half_width:.digits$}")
}

/// Whether `ours` is above `theirs` for all users at every level: finding 8, and the first half of 9 on MSLR-WEB10K.
pub fn is_above(ours: &[Group], theirs: &[Group], what: &str, digits: usize) -> Judged {
    let mut tally = Tally::new();
    for (a, b) in ours.iter().zip(theirs) {
        let differences = a.levels.iter().zip(&b.levels).map(|(a, b)| difference(a, b));
        let words = differences.map(|difference| {
            tally.count(difference.is_some_and(|it| it.mean > 0.0));
            difference.map_or_else(|| "no pairs".into(), |it| signed(it.mean, it.half_width(), digits))
        });
        let words: Vec<String> = words.collect();
        tally.parts.push(format!("{} {}", a.users, words.join(", ")));
    }
    tally.judged(what)
}

/// Finding 9 on MQ2007: with navigational users the baseline is better online at every budget.
pub fn baseline_is_better_online(ours: &[Group], theirs: &[Group]) -> Judged {
    let navigational =
        |groups: &[Group]| groups.iter().filter(|group| group.users == "navigational").cloned().collect();
    let (ours, theirs): (Vec<Group>, Vec<Group>) = (navigational(ours), navigational(theirs));
    is_above(&theirs, &ours, "online performance of FOLtR-ES minus FPDGD", 1)
}

/// Finding 10 on MQ2007: the smallest budget costs online performance for all users.
pub fn small_budgets_cost(online: &[Group]) -> Judged {
    let (least, most) = COST_OF_SMALL_BUDGETS;
    let what = format!("online performance at the largest minus the smallest budget within {least} to {most}");
    largest_minus_smallest(online, &what, 1, |cost| (least..=most).contains(&cost))
}

/// Finding 10 on MSLR-WEB10K: budgets hardly differ.
pub fn budgets_are_free(online: &[Group]) -> Judged {
    let what = format!("online performance at the largest minus the smallest budget below {FREE_BUDGETS}");
    largest_minus_smallest(online, &what, 3, |cost| cost.abs() < FREE_BUDGETS)
}

fn largest_minus_smallest(groups: &[Group], what: &str, digits: usize, is_right: impl Fn(f64) -> bool) -> Judged {
    let mut tally = Tally::new();
    for group in groups {
        let ends = group.levels.last().zip(group.levels.first());
        let Some(cost) = ends.and_then(|(last, first)| difference(last, first)) else { continue };
        tally.count(is_right(cost.mean));
        tally.parts.push(format!("{} {}", group.users, signed(cost.mean, cost.half_width(), digits)));
    }
    tally.judged(what)
}

/// Finding 11: without noise the number of clients hardly matters; with noise ten clients are far worse, a hundred and
/// more as good as without. Levels are named by clients and by `with DP` or `without DP`.
pub fn clients_matter_with_noise(finals: &[Group]) -> Judged {
    let mut tally = Tally::new();
    for group in finals {
        let mean = |privacy: &str, n: &str| group.level_of([privacy, n]).map_or(f64::NAN, Level::mean);
        let [without, with] = ["without DP", "with DP"].map(|privacy| ["10", "100", "1000"].map(|n| mean(privacy, n)));
        tally.count(spread(&without) <= NEARLY_EQUAL);
        tally.count(without[0] - with[0] >= MUCH_WORSE);
        tally.count((1..3).all(|i| (without[i] - with[i]).abs() <= NEARLY_EQUAL));
        let list = |values: [f64; 3]| values.map(|value| format!("{value:.4}")).join(", ");
        tally.parts.push(format!("{} without DP {}, with DP {}", group.users, list(without), list(with)));
    }
    let what = format!(
        "final nDCG@10 of 10, 100, 1000 clients: without DP within {NEARLY_EQUAL}, with DP at 10 at least {MUCH_WORSE} \
         lower, at 100 and 1000 within {NEARLY_EQUAL} of without"
    );
    tally.judged(&what)
}

/// Largest minus smallest; not a number if one is none.
fn spread(values: &[f64]) -> f64 {
    let start = (f64::INFINITY, f64::NEG_INFINITY, false);
    let (low, high, bad) =
        values.iter().fold(start, |(low, high, bad), &value| (low.min(value), high.max(value), bad || value.is_nan()));
    if bad { f64::NAN } else { high - low }
}

/// Finding 12, first part: at equal rounds a larger batch lies higher. Levels rise in batch size.
pub fn larger_batches_are_better(heights: &[Group]) -> Judged {
    let mut tally = Tally::new();
    for group in heights {
        group.levels.windows(2).for_each(|pair| tally.count(pair[1].mean() > pair[0].mean()));
        tally.parts.push(format!("{} {}", group.users, listed(group)));
    }
    tally.judged("mean nDCG@10 over the rounds rises with the batch")
}

/// Finding 12, second part: at equal interactions batches end alike, and the smallest is ahead early, because its first
/// update comes earlier: `early` is the time until the largest has its first, with a ranker of zeros. What follows
/// (`later`) is told, not judged.
pub fn batches_are_equal_at_equal_budget(finals: &[Group], early: &[Group], later: &[Group]) -> Judged {
    let mut tally = Tally::new();
    for ((finals, early), later) in finals.iter().zip(early).zip(later) {
        let means: Vec<f64> = finals.levels.iter().map(Level::mean).collect();
        tally.count(spread(&means) <= NEARLY_EQUAL);
        let ahead = early.levels.first().zip(early.levels.last());
        tally.count(ahead.is_some_and(|(small, large)| small.mean() > large.mean()));
        let words = [finals, early, later].map(listed);
        tally.parts.push(format!("{} final {}, early {}, then {}", finals.users, words[0], words[1], words[2]));
    }
    tally.judged(&format!(
        "nDCG@10 by batch: final within {NEARLY_EQUAL}; early (to the first update of the largest batch, whose ranker of \
         zeros shows the later of equals first) the smallest ahead of the largest; then (to a fifth of the budget) told only"
    ))
}

fn listed(group: &Group) -> String {
    group.levels.iter().map(|level| format!("{:.4}", level.mean())).collect::<Vec<_>>().join(", ")
}

/// Finding 13: PDGD with as many updates < FPDGD < PDGD with as many interactions. The levels of `pdgd` are these two.
/// FPDGD is judged at its largest budget: least noise, as near to plain FPDGD as the runs come.
pub fn is_between_pdgd(fpdgd: &[Group], pdgd: &[Group]) -> Judged {
    let mut tally = Tally::new();
    for (fpdgd, pdgd) in fpdgd.iter().zip(pdgd) {
        let (Some(ours), [updates, interactions]) = (fpdgd.levels.last(), pdgd.levels.as_slice()) else { continue };
        tally.count(updates.mean() < ours.mean());
        tally.count(ours.mean() < interactions.mean());
        let words = [updates, ours, interactions].map(|level| format!("{:.4}", level.mean())).join(" < ");
        tally.parts.push(format!("{} {words}", fpdgd.users));
    }
    tally.judged("final nDCG@10, PDGD of as many updates < FPDGD < PDGD of as many interactions")
}

#[cfg(test)]
mod tests;
