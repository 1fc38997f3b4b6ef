//! Beyond the papers: what it costs not to wait for slow clients, at equal interactions.
//!
//! Synchronous rounds, buffered aggregation (`NMZYHR22` Nguyen et al.: *Federated Learning with Buffered Asynchronous
//! Aggregation*, AISTATS 2022) and the naive averaging that it replaces. The server rate of each method is chosen on
//! validation queries; numbers are of test queries, with other seeds. Clients are alike on MQ2008, and want different
//! things on generated data.

use anyhow::{Context, Result};

use super::course::{USERS, WHOLE, difference, over, points, select};
use super::study::mean;
use super::{Entry, StandIn, Study, Wanted};
use crate::plot::{Curve, CurveFigure, Panel, PanelRow, Point, Scale, Sharing};
use crate::results::Results;
use crate::rows::MetricName;
use crate::spec::{Metric, Split};
use crate::statistics::{Estimate, Smoothing};
use crate::table::table;

const SPEC: &str = include_str!("../../../specs/asynchrony/methods.toml");

pub(super) const ENTRY: Entry = Entry {
    id: "asynchrony",
    paper: "beyond the papers",
    what: "What it costs not to wait for stragglers: synchronous, buffered and naive",
    run,
};

/// The most nDCG@10 that not waiting may cost.
const LIMIT: f64 = 0.01;

/// Fewer runs have no interval worth the name.
const LEAST_RUNS: usize = 3;

/// What clients hold.
const ALIKE: &str = "partition={ kind = \"iid\" }";
const DIFFERENT: &str = "partition={ kind = \"intents\", shuffled = false }";

const SYNCHRONOUS: usize = 0;
const BUFFERED: usize = 1;
const NAIVE: usize = 2;

/// A way to aggregate.
struct Method {
    name: &'static str,
    slug: &'static str,
    /// `[asynchrony]`; empty for synchronous rounds.
    asynchrony: &'static str,
    /// Server rates to choose from.
    rates: &'static [f64],
}

const RATES: &[f64] = &[1.0, 3.0, 10.0];

const METHODS: [Method; 6] = [
    Method { name: "synchronous, waits", slug: "synchronous", asynchrony: "", rates: RATES },
    Method {
        name: "buffered",
        slug: "buffered",
        asynchrony: "kind = \"buffered\", buffer = 10, staleness_exponent = 0.5, rate_limit = 1, max_staleness = 1000",
        rates: RATES,
    },
    Method {
        name: "naive, as published",
        slug: "naive",
        asynchrony: "kind = \"naive\", updates_per_round = 1, max_staleness = 2000",
        rates: &[1.0],
    },
    Method {
        name: "naive, server rate chosen",
        slug: "naive-rate",
        asynchrony: "kind = \"naive\", updates_per_round = 1, max_staleness = 2000",
        rates: RATES,
    },
    Method {
        name: "naive, staleness in rounds",
        slug: "naive-rounds",
        asynchrony: "kind = \"naive\", updates_per_round = 100, max_staleness = 2000",
        rates: &[1.0],
    },
    Method {
        name: "buffered, equal weights",
        slug: "equal-weights",
        asynchrony: "kind = \"buffered\", buffer = 10, staleness_exponent = 0.0, rate_limit = 1, max_staleness = 1000",
        rates: RATES,
    },
];

/// What is drawn, and all that a small budget runs: the last one is a variant of the second.
const N_DRAWN: usize = 5;

fn run(study: &mut Study<'_>) -> Result<()> {
    let synthetic = StandIn {
        section: "{ kind = \"synthetic\", shape = \"mq2007\", queries = 1000, validation_queries = 300, \
                  test_queries = 300, seed = 1, intents = 4, conflict = \"mild\" }"
            .into(),
        name: "synthetic intents".into(),
        is_the_papers: false,
    };
    let real = study.data(Wanted::Mq2008);
    if study.is_quick() {
        collection(study, "mq2008", &real.only_folds(&[1]), ALIKE, 2)?;
    } else {
        collection(study, "mq2008", &real, ALIKE, 3)?;
        collection(study, "intents", &synthetic, DIFFERENT, 5)?;
    }
    study.note("100 clients, 30 % of them ten times slower, 5 interactions a message, durations vary by up to half");
    if study.is_quick() {
        study.note("200,000 interactions, one fold, two seeds: too few for an interval to say much");
    }
    Ok(())
}

fn ndcg(split: Split) -> MetricName {
    MetricName::Offline(split, Metric::Ndcg(10))
}

/// Runs of one method under one kind of users, with the rate that was chosen.
struct Outcome {
    rate: f64,
    results: Results,
}

impl Outcome {
    /// Of test queries in the end, one a run.
    fn last(&self) -> Vec<f64> {
        self.results.final_values(0, ndcg(Split::Test))
    }

    /// The same after a tenth of the interactions.
    fn early(&self) -> Vec<f64> {
        let n_rounds = self.results.grid.settings[0].experiment.schedule().map_or(0, |schedule| schedule.n_rounds);
        let rows = self.results.runs_of(0).flat_map(|run| &run.rows);
        let early = rows.filter(|row| row.round == n_rounds / 10 && row.metric == ndcg(Split::Test));
        early.map(|row| row.value).collect()
    }

    /// Of the lists that users saw, one a run.
    fn online(&self) -> Vec<f64> {
        over(&self.results, 0, MetricName::OnlineNdcg(10), WHOLE)
    }

    fn time(&self) -> f64 {
        mean(&self.results.final_values(0, MetricName::SimulatedTime))
    }
}

fn collection(study: &mut Study<'_>, slug: &str, data: &StandIn, partition: &str, n_seeds: u64) -> Result<()> {
    let common = [data.setting(), partition.to_owned()];
    let n_methods = study.either(N_DRAWN, METHODS.len());
    let outcomes = METHODS.iter().take(n_methods).map(|method| outcomes(study, slug, &common, method, n_seeds));
    let outcomes = outcomes.collect::<Result<Vec<_>>>()?;
    judge(study, &data.name, partition == DIFFERENT, &outcomes);
    study.table(
        &format!("nDCG@10, {}: of test queries in the end; after a tenth; of lists shown", data.name),
        &told(&outcomes),
    );
    let figure = figure(&data.name, &outcomes);
    study.figure(&format!("curves-{slug}"), figure)
}

/// Chooses a method's rate for each kind of users with one seed, and runs it with others.
fn outcomes(study: &mut Study<'_>, slug: &str, data: &[String], method: &Method, n_seeds: u64) -> Result<Vec<Outcome>> {
    let mut common = data.to_vec();
    common.push("grid={}".to_owned());
    common.push(format!("federation.budget={}", study.either(200_000, 400_000)));
    if !method.asynchrony.is_empty() {
        common.push(format!("asynchrony={{ {} }}", method.asynchrony));
    }
    let with = |more: &[String]| -> Vec<String> { common.iter().chain(more).cloned().collect() };
    let tried = with(&[
        format!("federation.optimiser.rate={:?}", method.rates),
        "seeds=[101]".into(),
        "metrics.evaluate_on=[\"validation\"]".into(),
        "metrics.evaluate=\"first-and-last\"".into(),
    ]);
    let tried = study.grid(&format!("{slug}-{}-choice", method.slug), SPEC, &tried)?;
    let seeds: Vec<u64> = (1..=n_seeds).collect();
    let mut of_users = Vec::new();
    for users in USERS {
        let rate = best_rate(&tried, method.rates, users)?;
        let chosen = with(&[
            format!("federation.optimiser.rate={rate:?}"),
            format!("users.preset={users}"),
            format!("seeds={seeds:?}"),
            "metrics.evaluate_on=[\"test\"]".into(),
        ]);
        let results = study.grid(&format!("{slug}-{}-{users}", method.slug), SPEC, &chosen)?;
        of_users.push(Outcome { rate, results });
    }
    Ok(of_users)
}

/// The rate with the best mean on validation queries.
fn best_rate(tried: &Results, rates: &[f64], users: &str) -> Result<f64> {
    let value = |&rate: &f64| -> Result<(f64, f64)> {
        let label = format!("{rate:?}");
        let setting = select(tried, &[("users.preset", users), ("federation.optimiser.rate", &label)])?;
        Ok((mean(&tried.final_values(setting, ndcg(Split::Validation))), rate))
    };
    let values = rates.iter().map(value).collect::<Result<Vec<_>>>()?;
    let best = values.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    best.map(|(_, rate)| rate).context("there are rates to choose from")
}

/// Whether not waiting costs little with a buffer, and clearly more without one.
///
/// That naive averaging also *ends* clearly below buffered is claimed where clients differ. Where they are alike it is told
/// only: on MQ2008 all methods end at what a linear ranker can do, and the first reading of this study failed there. What is
/// lost is learning speed, so it is claimed of the model after a tenth of the interactions, and of the lists that people saw
/// meanwhile.
fn judge(study: &mut Study<'_>, data: &str, differ: bool, outcomes: &[Vec<Outcome>]) {
    let compare = |i: usize, what: fn(&Outcome) -> Vec<f64>, method: usize, other: usize| {
        difference(&what(&outcomes[method][i]), &what(&outcomes[other][i]))
    };
    for (i, users) in USERS.iter().enumerate() {
        let (end, told_end) = compare(i, Outcome::last, BUFFERED, SYNCHRONOUS);
        let (early, told_early) = compare(i, Outcome::early, BUFFERED, SYNCHRONOUS);
        let (shown, told_shown) = compare(i, Outcome::online, BUFFERED, SYNCHRONOUS);
        let claim = format!("{data}, {users} users: buffered stays within {LIMIT} of nDCG@10 of synchronous");
        let evidence = format!("end {told_end}, after a tenth {told_early}, lists shown {told_shown}");
        study.claim(claim, [end, early, shown].iter().all(|gap| *gap >= -LIMIT), evidence);
        let (_, told_early) = compare(i, Outcome::early, NAIVE, BUFFERED);
        let (_, told_shown) = compare(i, Outcome::online, NAIVE, BUFFERED);
        let claim = format!("{data}, {users} users: naive averaging is clearly below buffered while it learns");
        let clearly = is_clearly_below(&outcomes[NAIVE][i], &outcomes[BUFFERED][i]);
        let evidence = format!("after a tenth {told_early}, lists shown {told_shown}");
        if outcomes[NAIVE][i].last().len() >= LEAST_RUNS {
            study.claim(claim, clearly, evidence);
        } else {
            study.note(format!("{claim}: too few runs to say; {evidence}"));
        }
        let (_, told) = compare(i, Outcome::last, NAIVE, BUFFERED);
        if differ {
            let claim = format!("{data}, {users} users: naive averaging ends clearly below buffered");
            study.claim(claim, is_below(&outcomes[NAIVE][i], &outcomes[BUFFERED][i], Outcome::last), told);
        } else {
            study.note(format!("{data}, {users} users: naive minus buffered in the end: {told}"));
        }
    }
}

/// Below after a tenth of the interactions and in the lists shown, both beyond what runs scatter.
fn is_clearly_below(a: &Outcome, b: &Outcome) -> bool {
    is_below(a, b, Outcome::early) && is_below(a, b, Outcome::online)
}

/// Below beyond what runs scatter.
fn is_below(a: &Outcome, b: &Outcome, what: fn(&Outcome) -> Vec<f64>) -> bool {
    let pairs: Vec<f64> = what(a).into_iter().zip(what(b)).map(|(a, b)| a - b).collect();
    Estimate::of(&pairs).and_then(|lost| lost.confidence_interval_95).is_some_and(|(_, high)| high < 0.0)
}

fn told(outcomes: &[Vec<Outcome>]) -> String {
    let mut header = vec!["method"];
    header.extend(USERS);
    header.extend(["server rates", "simulated time"]);
    let row = |(method, of_users): (&Method, &Vec<Outcome>)| {
        let value = |outcome: &Outcome| {
            format!("{:.4}; {:.4}; {:.4}", mean(&outcome.last()), mean(&outcome.early()), mean(&outcome.online()))
        };
        let rates = of_users.iter().map(|outcome| outcome.rate.to_string()).collect::<Vec<_>>().join(", ");
        let mut cells = vec![method.name.to_owned()];
        cells.extend(of_users.iter().map(value));
        cells.extend([rates, format!("{:.0}", of_users[0].time())]);
        cells
    };
    table(&header, 1, METHODS.iter().zip(outcomes).map(row).collect())
}

/// nDCG over interactions, and the same over simulated time.
fn figure(data: &str, outcomes: &[Vec<Outcome>]) -> CurveFigure {
    let panels = |course: fn(&Results) -> Vec<Point>| -> Vec<Panel> {
        let curve = |(method, of_users): (usize, &Vec<Outcome>), users: usize| Curve {
            method,
            points: course(&of_users[users].results),
        };
        let panel = |users: usize| Panel {
            curves: outcomes.iter().take(N_DRAWN).enumerate().map(|pair| curve(pair, users)).collect(),
            references: Vec::new(),
        };
        (0..USERS.len()).map(panel).collect()
    };
    let over_interactions = |results: &Results| points(results, 0, ndcg(Split::Test), Smoothing::None, None);
    CurveFigure {
        title: format!("Clients that are not waited for, {data}"),
        subtitle: "30 % of 100 clients take ten times as long; server rates chosen on validation queries".into(),
        x_label: "above: interactions; below: simulated time, in rounds of a usual client".into(),
        y_label: "nDCG@10".into(),
        methods: METHODS.iter().take(N_DRAWN).map(|method| method.name.to_owned()).collect(),
        columns: USERS.map(|users| format!("{users} users")).to_vec(),
        rows: vec![
            PanelRow { title: "over interactions".into(), panels: panels(over_interactions) },
            PanelRow { title: "over time".into(), panels: panels(over_time) },
        ],
        x_scale: Scale::Logarithmic,
        x_sharing: Sharing::Row,
        y_sharing: Sharing::Figure,
    }
}

/// A curve over the mean simulated time of the runs.
fn over_time(results: &Results) -> Vec<Point> {
    let at = |round: usize, metric: MetricName| -> Vec<f64> {
        let rows = results.runs_of(0).flat_map(|run| &run.rows);
        rows.filter(|row| row.round == round && row.metric == metric).map(|row| row.value).collect()
    };
    let Some(run) = results.runs_of(0).next() else { return Vec::new() };
    let rounds = run.rows.iter().filter(|row| row.metric == ndcg(Split::Test) && row.round > 0).map(|row| row.round);
    let point = |round: usize| {
        let estimate = Estimate::of(&at(round, ndcg(Split::Test)))?;
        let (low, high) = estimate.confidence_interval_95.unwrap_or((estimate.mean, estimate.mean));
        Some(Point { x: mean(&at(round, MetricName::SimulatedTime)), mean: estimate.mean, low, high })
    };
    rounds.filter_map(point).collect()
}
