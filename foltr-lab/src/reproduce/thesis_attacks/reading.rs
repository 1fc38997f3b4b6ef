//! Findings 17 to 21 of spec section 19, judged from one number a run: nDCG@10 on test queries, a mean over the last
//! fifth of the rounds. The thesis prints pictures and words; what its words mean in numbers stands here, written down
//! before any run. Runs pair up by fold and seed, so a difference of means is the mean of paired differences.

use super::super::study::mean;
use super::super::tally::{Judged, Tally};
use super::{Collection, Rule};

/// nDCG@10 that nobody would notice: a rule helps, costs or hurts from more than this on.
pub const NEGLIGIBLE: f64 = 0.005;
/// nDCG@10 that everybody would notice ("significantly affects", "considerable losses").
pub const CLEARLY: f64 = 0.02;

/// Runs with 1, 2, 3 and 4 attackers of ten clients.
pub type ByAttackers = [Vec<f64>; 4];

/// Data poisoning under one kind of users.
pub struct Poisoned {
    pub users: &'static str,
    /// Nobody attacks and nothing is done about it.
    pub honest: Vec<f64>,
    /// In the order of [`Rule::ALL`].
    pub by_rule: [ByAttackers; 5],
}

impl Poisoned {
    /// The mean with so many attackers under a rule.
    fn value(&self, rule: Rule, n_attackers: usize) -> f64 {
        if n_attackers == 0 { mean(&self.honest) } else { mean(&self.by_rule[rule as usize][n_attackers - 1]) }
    }

    /// What attackers take away where nothing is done about them.
    fn damage(&self, n_attackers: usize) -> f64 {
        mean(&self.honest) - self.value(Rule::FedAvg, n_attackers)
    }

    /// By how much a rule is above federated averaging under the same attack.
    fn help(&self, rule: Rule, n_attackers: usize) -> f64 {
        self.value(rule, n_attackers) - self.value(Rule::FedAvg, n_attackers)
    }

    fn helps(&self, rule: Rule, n_attackers: usize) -> bool {
        self.help(rule, n_attackers) > NEGLIGIBLE
    }

    fn is(&self, users: &str) -> bool {
        self.users == users
    }
}

/// Signed numbers after a name.
fn listed(name: &str, values: impl IntoIterator<Item = f64>) -> String {
    let words: Vec<String> = values.into_iter().map(|value| format!("{value:+.4}")).collect();
    format!("{name} {}", words.join(", "))
}

/// Finding 17, first part: more attackers, more damage. No step may win back more than is negligible, and four
/// attackers do more damage than one.
pub fn damage_grows(all: &[Poisoned]) -> Judged {
    let mut tally = Tally::new();
    for case in all {
        (0..4).for_each(|n| tally.count(case.damage(n + 1) > case.damage(n) - NEGLIGIBLE));
        tally.count(case.damage(4) > case.damage(1).max(0.0));
        tally.parts.push(listed(case.users, (1..=4).map(|n| case.damage(n))));
    }
    tally.judged("damage grows with 1, 2, 3, 4 attackers (no step back beyond .005, and more at 4 than at 1)")
}

/// Finding 17, second part: from 20 % on informational users lose most and perfect ones least.
pub fn noise_is_hit_most(all: &[Poisoned]) -> Judged {
    let mut tally = Tally::new();
    for n_attackers in 2..=4 {
        let damage = |users: &str| all.iter().find(|case| case.is(users)).map_or(f64::NAN, |it| it.damage(n_attackers));
        let [perfect, navigational, informational] = ["perfect", "navigational", "informational"].map(damage);
        tally.count(informational > navigational && informational > perfect);
        tally.count(perfect < navigational && perfect < informational);
        tally.parts.push(listed(&format!("{n_attackers}0 %"), [perfect, navigational, informational]));
    }
    tally.judged("damage least for perfect and most for informational users (perfect, navigational, informational)")
}

/// Finding 17, third part: two attackers clearly hurt navigational and informational users; perfect ones are clearly
/// hurt by four of them, and not by one or two.
pub fn who_is_hurt_when(all: &[Poisoned]) -> Judged {
    let mut tally = Tally::new();
    for case in all {
        if case.is("perfect") {
            (1..=2).for_each(|n| tally.count(case.damage(n) < CLEARLY));
            tally.count(case.damage(4) > CLEARLY);
        } else {
            tally.count(case.damage(2) > CLEARLY);
        }
        tally.parts.push(listed(case.users, [1, 2, 4].map(|n| case.damage(n))));
    }
    tally.judged("damage beyond .02 to perfect at 40 % and not below 30 %, to the others at 20 % (10, 20, 40 %)")
}

/// Finding 18, Krum: what the thesis says of this collection. `None` where it says nothing.
fn krum_should_help(collection: Collection, users: &str, n_attackers: usize) -> Option<bool> {
    let is_informational = users == "informational";
    match (collection, n_attackers) {
        (Collection::Mq2007, _) => is_informational.then_some(false),
        (Collection::IstellaS, 1) => Some(true),
        (_, 1) => Some(false),
        (Collection::Mslr, 4) if is_informational => Some(false),
        _ => Some(true),
    }
}

/// Finding 18, Krum: it is above federated averaging under the same attack where the thesis says so, and not elsewhere.
pub fn krum_helps(all: &[Poisoned], collection: Collection) -> Judged {
    let mut tally = Tally::new();
    for case in all {
        let mut words = Vec::new();
        for n_attackers in 1..=4 {
            let Some(expected) = krum_should_help(collection, case.users, n_attackers) else { continue };
            tally.count(case.helps(Rule::Krum, n_attackers) == expected);
            let word = if expected { "helps" } else { "no help" };
            words.push(format!("{n_attackers}0 % {:+.4} ({word})", case.help(Rule::Krum, n_attackers)));
        }
        if !words.is_empty() {
            tally.parts.push(format!("{} {}", case.users, words.join(", ")));
        }
    }
    tally.judged("Krum minus FedAvg above .005 where the thesis says that it helps, and not above where not")
}

/// Finding 18, Multi-Krum: not below Krum for navigational users up to 30 %; below it for informational users from 20 %
/// on (at 10 % Krum itself is of no use).
pub fn multi_krum_beside_krum(all: &[Poisoned]) -> Judged {
    let mut tally = Tally::new();
    for case in all {
        let more = |n: usize| case.value(Rule::MultiKrum, n) - case.value(Rule::Krum, n);
        if case.is("navigational") {
            (1..=3).for_each(|n| tally.count(more(n) > -NEGLIGIBLE));
            tally.parts.push(listed("navigational, 10 to 30 %", (1..=3).map(more)));
        } else if case.is("informational") {
            (2..=4).for_each(|n| tally.count(more(n) < 0.0));
            tally.parts.push(listed("informational, 20 to 40 %", (2..=4).map(more)));
        }
    }
    tally.judged("Multi-Krum minus Krum: not below for navigational, below for informational users")
}

/// Finding 18: from 20 % on, over all users, whole updates (Krum, Multi-Krum) defend better than coordinates (trimmed
/// mean, median); on MQ2007 the other way round.
pub fn updates_beside_coordinates(all: &[Poisoned], collection: Collection) -> Judged {
    let over = |rules: [Rule; 2]| {
        let values = all.iter().flat_map(|case| {
            rules.into_iter().flat_map(move |rule| (2..=4).map(move |n_attackers| case.value(rule, n_attackers)))
        });
        mean(&values.collect::<Vec<_>>())
    };
    let (updates, coordinates) = (over([Rule::Krum, Rule::MultiKrum]), over([Rule::TrimmedMean, Rule::Median]));
    let is_mq2007 = collection == Collection::Mq2007;
    let mut tally = Tally::new();
    tally.count(if is_mq2007 { coordinates > updates } else { updates > coordinates });
    tally.parts.push(format!("{updates:.4} and {coordinates:.4}"));
    let order = if is_mq2007 { "below" } else { "above" };
    tally.judged(&format!("Krum and Multi-Krum {order} trimmed mean and median, mean over users and 20 to 40 %"))
}

/// Finding 18: trimmed mean and median are no help for informational users at 30 and 40 %.
pub fn coordinates_fail(all: &[Poisoned]) -> Judged {
    let mut tally = Tally::new();
    for case in all.iter().filter(|case| case.is("informational")) {
        for rule in [Rule::TrimmedMean, Rule::Median] {
            (3..=4).for_each(|n| tally.count(!case.helps(rule, n)));
            tally.parts.push(listed(rule.name(), [3, 4].map(|n| case.help(rule, n))));
        }
    }
    tally.judged("trimmed mean and median not more than .005 above FedAvg for informational users at 30, 40 %")
}

/// Robust rules under one kind of users where nobody attacks.
pub struct Unattacked {
    pub users: &'static str,
    /// Federated averaging.
    pub plain: Vec<f64>,
    /// Krum, Multi-Krum and trimmed mean by the number of attackers that they reckon with.
    pub krum: ByAttackers,
    pub multi_krum: ByAttackers,
    pub trimmed_mean: ByAttackers,
    /// The median reckons with as many as there can be.
    pub median: Vec<f64>,
}

impl Unattacked {
    fn loss(&self, runs: &[f64]) -> f64 {
        mean(&self.plain) - mean(runs)
    }

    fn losses<'a>(&'a self, runs: &'a [Vec<f64>]) -> impl Iterator<Item = f64> + 'a {
        runs.iter().map(|runs| self.loss(runs))
    }
}

/// Finding 19, stated: without an attack Krum (whatever it reckons with) and median are below federated averaging.
pub fn krum_and_median_cost(all: &[Unattacked]) -> Judged {
    let mut tally = Tally::new();
    for case in all {
        case.losses(&case.krum).chain([case.loss(&case.median)]).for_each(|loss| tally.count(loss > NEGLIGIBLE));
        let krum = listed("Krum", case.losses(&case.krum));
        tally.parts.push(format!("{} {krum}, median {:+.4}", case.users, case.loss(&case.median)));
    }
    tally.judged("FedAvg more than .005 above Krum (reckoning with 1, 2, 3, 4) and median")
}

/// Finding 19, implied: what averages more loses less. Multi-Krum beside Krum; trimmed mean beside the median, which it
/// is with four attackers to reckon with. Mean over what they reckon with.
pub fn averaging_costs_less(all: &[Unattacked]) -> Judged {
    let mut tally = Tally::new();
    for case in all {
        let over = |runs: &[Vec<f64>]| mean(&case.losses(runs).collect::<Vec<_>>());
        let [krum, multi_krum] = [&case.krum, &case.multi_krum].map(|runs| over(runs));
        let (trimmed, median) = (over(&case.trimmed_mean[..3]), case.loss(&case.median));
        tally.count(multi_krum < krum);
        tally.count(trimmed < median);
        tally.parts.push(listed(case.users, [krum, multi_krum, median, trimmed]));
    }
    tally.judged(
        "Multi-Krum loses less than Krum, trimmed mean less than median (Krum, Multi-Krum, median, trimmed mean)",
    )
}

/// Model poisoning under one kind of users.
pub struct Crafted {
    pub users: &'static str,
    /// Nobody attacks and nothing is done about it.
    pub honest: Vec<f64>,
    /// Federated averaging: data poisoning, and a little is enough.
    pub clicks: ByAttackers,
    pub little: ByAttackers,
    /// Krum: data poisoning, and Fang's attack with full and partial knowledge.
    pub clicks_on_krum: ByAttackers,
    pub full: ByAttackers,
    pub partial: ByAttackers,
}

/// First minus second by attackers.
fn gaps(first: &ByAttackers, second: &ByAttackers) -> [f64; 4] {
    std::array::from_fn(|i| mean(&first[i]) - mean(&second[i]))
}

/// Finding 20, first part: a little is enough does less damage than data poisoning. Nowhere noticeably more, and less
/// on average over the shares. (Yahoo with perfect users at 40 % is the thesis's exception, and not judged.)
pub fn little_is_weaker(all: &[Crafted], collection: Collection) -> Judged {
    let mut tally = Tally::new();
    for case in all {
        let above = gaps(&case.little, &case.clicks);
        for (n_attackers, gap) in (1..).zip(above) {
            let is_exception = collection == Collection::Yahoo && case.users == "perfect" && n_attackers == 4;
            if !is_exception {
                tally.count(gap > -NEGLIGIBLE);
            }
        }
        tally.count(mean(&above) > 0.0);
        tally.parts.push(listed(case.users, above));
    }
    tally.judged("a little is enough minus data poisoning: above -.005 at 10, 20, 30, 40 %, above 0 on average")
}

/// Finding 20, second part: with one and two of ten clients it is no attack at all (spec section 13.1).
pub fn little_is_nothing(all: &[Crafted]) -> Judged {
    let mut tally = Tally::new();
    for case in all {
        let away = [0, 1].map(|i| mean(&case.little[i]) - mean(&case.honest));
        away.iter().for_each(|away| tally.count(away.abs() < NEGLIGIBLE));
        tally.parts.push(listed(case.users, away));
    }
    tally.judged("a little is enough minus no attack within .005 at 10, 20 %")
}

/// Finding 21, first part: under Krum Fang's attack leaves less than data poisoning does.
pub fn fang_is_stronger(all: &[Crafted]) -> Judged {
    let mut tally = Tally::new();
    for case in all {
        let below = gaps(&case.full, &case.clicks_on_krum);
        below.iter().for_each(|gap| tally.count(*gap < 0.0));
        tally.parts.push(listed(case.users, below));
    }
    tally.judged("under Krum, Fang's attack (full knowledge) minus data poisoning below 0 at 10, 20, 30, 40 %")
}

/// Finding 21, second part: full knowledge does noticeably more than partial at 10 and 20 %, and not clearly more or
/// less at 30 and 40 % ("equal").
pub fn knowledge_matters_for_few(all: &[Crafted]) -> Judged {
    let mut tally = Tally::new();
    for case in all {
        let gaps = gaps(&case.partial, &case.full);
        gaps[..2].iter().for_each(|gap| tally.count(*gap > NEGLIGIBLE));
        gaps[2..].iter().for_each(|gap| tally.count(gap.abs() <= CLEARLY));
        tally.parts.push(listed(case.users, gaps));
    }
    tally.judged("Fang's attack, partial minus full knowledge: above .005 at 10, 20 %, within .02 at 30, 40 %")
}

#[cfg(test)]
mod tests;
