//! Figures 3.1, 3.2 and 3.4 of `W24`: FOLtR-ES alone, by privatisation, ranker and number of clients.

use anyhow::Result;

use super::{Collection, RANKERS, collections};
use crate::plot::PanelRow;
use crate::reproduce::course::{END, USERS, difference, over, select};
use crate::reproduce::drawing::{Line, row, sheet};
use crate::reproduce::study::mean;
use crate::reproduce::{Study, Wanted};
use crate::results::Results;
use crate::rows::MetricName;
use crate::statistics::Smoothing;
use crate::table::table;

const PROBABILITIES: [&str; 3] = ["0.5", "0.9", "1.0"];

fn by_privatisation(results: &Results) -> Vec<Line<'_>> {
    let line = |(ranker, p): (&'static str, &'static str)| Line {
        name: format!("{ranker}, p = {p}"),
        results,
        labels: vec![("ranker", ranker), ("privacy.probability", p)],
        smoothing: Smoothing::FoltrEs,
    };
    RANKERS.into_iter().flat_map(|ranker| PROBABILITIES.map(|p| (ranker, p))).map(line).collect()
}

/// One row a collection of the runs by privatisation.
fn rows_by_privatisation(
    study: &mut Study<'_>,
    metric: MetricName,
    mut judge: impl FnMut(&mut Study<'_>, &Collection, &[Line<'_>]) -> Result<()>,
) -> Result<Vec<PanelRow>> {
    let mut rows = Vec::new();
    for collection in collections(study) {
        let results = collection.evolution(study)?;
        let lines = by_privatisation(&results);
        rows.push(row(&collection.data.name, metric, &lines)?);
        judge(study, &collection, &lines)?;
        collection.note(study);
    }
    Ok(rows)
}

fn methods_by_privatisation() -> Vec<String> {
    RANKERS.into_iter().flat_map(|ranker| PROBABILITIES.map(|p| format!("{ranker}, p = {p}"))).collect()
}

const SUBTITLE: &str = "published stream; 2,000 clients; data and length of the runs: see the notes";

/// RQ1.1.1, and finding 6 where its collections are the thesis's.
pub(super) fn figure_1(study: &mut Study<'_>) -> Result<()> {
    let rows = rows_by_privatisation(study, MetricName::OnlineMaxRr, |study, collection, lines| {
        if matches!(collection.wanted, Wanted::Mslr | Wanted::Yahoo) {
            neural_is_not_better(study, collection, lines)?;
        }
        Ok(())
    })?;
    let title = "Thesis Figure 3.1: FOLtR-ES across collections";
    study.figure("figure", sheet(title, SUBTITLE.into(), "mean batch MaxRR", methods_by_privatisation(), rows))
}

/// Finding 6, first part: on large collections the neural ranker is not better than the linear one (p = 1).
fn neural_is_not_better(study: &mut Study<'_>, collection: &Collection, lines: &[Line<'_>]) -> Result<()> {
    let mut gains = Vec::new();
    for users in USERS {
        let end = |line: &Line<'_>| -> Result<Vec<f64>> {
            Ok(over(line.results, line.setting(users)?, MetricName::OnlineMaxRr, END))
        };
        gains.push(difference(&end(&lines[5])?, &end(&lines[2])?));
    }
    if let Some(why) = collection.data.why_not(collection.wanted) {
        for (users, (gain, _)) in USERS.iter().zip(gains) {
            let cell = format!("finding 6 on {}: neural minus linear, {users}", collection.wanted.name());
            study.not_comparable(cell, None, gain, &why);
        }
        return Ok(());
    }
    let told: Vec<String> = USERS.iter().zip(&gains).map(|(users, (_, gain))| format!("{gain} {users}")).collect();
    let evidence = format!("{}: neural minus linear at the end, p = 1: {}", collection.data.name, told.join(", "));
    // Not better: by less than what two runs differ.
    study.finding(6, gains.iter().all(|(gain, _)| *gain <= 0.005), evidence);
    Ok(())
}

/// RQ1.1.2: the number of clients at the same number of interactions.
pub(super) fn figure_2(study: &mut Study<'_>) -> Result<()> {
    const CLIENTS: [&str; 3] = ["50", "1000", "2000"];
    let cases = || RANKERS.into_iter().flat_map(|ranker| CLIENTS.map(|n| (ranker, n)));
    let (mut rows, mut told) = (Vec::new(), Vec::new());
    for collection in collections(study) {
        let data = collection.data.clone();
        // No finding rests on this figure.
        let data = if study.is_quick() { data.only_folds(&[1]) } else { data };
        let overrides = [data.setting(), format!("federation.budget={}", collection.budget)];
        let fewer =
            study.grid(&collection.slug(), include_str!("../../../../specs/thesis/clients.toml"), &overrides)?;
        // 2,000 clients with p = .9 are in Figure 3.1 already.
        let all = collection.evolution(study)?;
        let line = |(ranker, n): (&'static str, &'static str)| Line {
            name: format!("{ranker}, {n} clients"),
            results: if n == "2000" { &all } else { &fewer },
            labels: vec![("ranker", ranker), ("clients.n_clients", n), ("privacy.probability", "0.9")],
            smoothing: Smoothing::FoltrEs,
        };
        let lines: Vec<Line<'_>> = cases().map(line).collect();
        rows.push(row(&collection.data.name, MetricName::OnlineMaxRr, &lines)?);
        for line in &lines {
            let mut cells = vec![collection.data.name.clone(), line.name.clone()];
            for users in USERS {
                let end = over(line.results, line.setting(users)?, MetricName::OnlineMaxRr, END);
                cells.push(format!("{:.4}", mean(&end)));
            }
            told.push(cells);
        }
        collection.note(study);
    }
    let title = "Thesis Figure 3.2: FOLtR-ES by number of clients";
    let methods = cases().map(|(ranker, n)| format!("{ranker}, {n} clients")).collect();
    let subtitle = "published stream; p = .9; data and length of the runs: see the notes".to_owned();
    study.figure("figure", sheet(title, subtitle, "mean batch MaxRR", methods, rows))?;
    let header = ["collection", "ranker", "perfect", "navigational", "informational"];
    study.table("mean batch MaxRR over the last tenth of the interactions", &table(&header, 2, told));
    if study.is_quick() {
        study.note("50 and 1,000 clients: the first fold only");
    }
    study.note("the thesis concludes that the number of clients matters, but in no consistent direction");
    Ok(())
}

/// RQ1.1.4, online: the same runs as Figure 3.1, and on MQ2008 runs that optimise click DCG.
pub(super) fn figure_4(study: &mut Study<'_>) -> Result<()> {
    let metric = MetricName::OnlineNdcg(10);
    let rows = rows_by_privatisation(study, metric, |_, _, _| Ok(()))?;
    let title = "Thesis Figure 3.4: FOLtR-ES measured by labels";
    study.figure("figure", sheet(title, SUBTITLE.into(), "online nDCG@10", methods_by_privatisation(), rows))?;
    let collection = Collection::new(study, Wanted::Mq2008);
    let overrides = [collection.data.setting(), format!("federation.budget={}", collection.budget)];
    let rewards = study.grid("rewards", include_str!("../../../../specs/thesis/rewards.toml"), &overrides)?;
    let mut told = Vec::new();
    for (reward, stream) in
        ["max-rr", "click-dcg"].into_iter().flat_map(|it| ["published", "separate"].map(|s| (it, s)))
    {
        for ranker in RANKERS {
            let labels = [("learner.reward", reward), ("learner.stream", stream), ("ranker", ranker)];
            let setting = select(&rewards, &labels)?;
            let [start, end] = [0.0..0.033, END].map(|part| mean(&over(&rewards, setting, metric, part)));
            told.push(vec![format!("{reward}, {stream} stream, {ranker}"), format!("{start:.4}"), format!("{end:.4}")]);
            let cell = format!("finding 6 on MQ2008: gain in online nDCG@10, {reward}, {stream} stream, {ranker}");
            study.not_comparable(
                cell,
                None,
                end - start,
                "one part of finding 6, which rests on MSLR-WEB10K and Yahoo",
            );
        }
    }
    let header = ["reward, stream, ranker", "first rounds", "last tenth"];
    study.table("online nDCG@10 on MQ2008 under informational users, p = 1", &table(&header, 1, told));
    Ok(())
}
