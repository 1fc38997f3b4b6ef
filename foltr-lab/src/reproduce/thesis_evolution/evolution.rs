//! Figures 3.1, 3.2 and 3.4 of `W24`: FOLtR-ES alone, by privatisation, ranker and number of clients.

use anyhow::Result;

use super::{COLLECTIONS, Collection, RANKERS};
use crate::reproduce::course::{USERS, difference, over};
use crate::reproduce::drawing::{Line, Sheet};
use crate::reproduce::study::mean;
use crate::reproduce::{Study, Wanted};
use crate::results::Results;
use crate::rows::MetricName;

const PROBABILITIES: [&str; 3] = ["0.5", "0.9", "1.0"];

/// The last tenth of a course.
const END: std::ops::Range<f64> = 0.9..1.0;

fn by_privatisation<'a>(results: &'a Results, stream: &'a str) -> Vec<Line<'a>> {
    let line = |(ranker, p): (&'a str, &'a str)| Line {
        name: format!("{ranker}, p = {p}"),
        results,
        labels: vec![("ranker", ranker), ("privacy.probability", p), ("learner.stream", stream)],
    };
    RANKERS.into_iter().flat_map(|ranker| PROBABILITIES.map(|p| (ranker, p))).map(line).collect()
}

/// RQ1.1.1, and finding 6 where its collections are the thesis's.
pub(super) fn figure_1(study: &mut Study<'_>) -> Result<()> {
    for wanted in COLLECTIONS {
        let collection = Collection::new(study, wanted);
        let results = collection.evolution(study)?;
        let sheet = Sheet {
            title: &format!("Thesis Figure 3.1: {}", wanted.name()),
            subtitle: format!("{}; published stream; 2,000 clients", collection.data.name),
            measure: "mean batch MaxRR",
            metric: MetricName::OnlineMaxRr,
            window: 4,
        };
        let lines = by_privatisation(&results, "published");
        study.figure(&collection.slug(), &sheet.figure(&lines)?)?;
        if matches!(wanted, Wanted::Mslr | Wanted::Yahoo) {
            neural_is_not_better(study, &collection, &lines)?;
        }
        collection.note(study);
    }
    Ok(())
}

/// Finding 6, first part: on large collections the neural ranker is not better than the linear one (p = 1).
fn neural_is_not_better(study: &mut Study<'_>, collection: &Collection, lines: &[Line<'_>]) -> Result<()> {
    let (mut holds, mut told, mut gains) = (true, Vec::new(), Vec::new());
    for users in USERS {
        let end = |line: &Line<'_>| -> Result<Vec<f64>> {
            Ok(over(line.results, line.setting(users)?, MetricName::OnlineMaxRr, END))
        };
        let (gain, words) = difference(&end(&lines[5])?, &end(&lines[2])?);
        holds &= gain <= 0.005;
        told.push(format!("{words} {users}"));
        gains.push(gain);
    }
    match collection.data.why_not(collection.wanted) {
        None => {
            let evidence =
                format!("{}: neural minus linear at the end, p = 1: {}", collection.data.name, told.join(", "));
            study.finding(6, holds, evidence);
        }
        Some(why) => {
            for (users, gain) in USERS.iter().zip(gains) {
                let cell = format!("finding 6: neural minus linear, {users}, {}", collection.wanted.name());
                study.not_comparable(cell, None, gain, &why);
            }
        }
    }
    Ok(())
}

/// RQ1.1.2: the number of clients at the same number of interactions.
pub(super) fn figure_2(study: &mut Study<'_>) -> Result<()> {
    const CLIENTS: [&str; 3] = ["50", "1000", "2000"];
    let mut rows = Vec::new();
    for wanted in COLLECTIONS {
        let collection = Collection::new(study, wanted);
        let overrides = [collection.data.setting(), format!("federation.budget={}", collection.budget)];
        let spec = include_str!("../../../../specs/thesis/clients.toml");
        let results = study.grid(&collection.slug(), spec, &overrides)?;
        let line = |(ranker, n): (&'static str, &'static str)| Line {
            name: format!("{ranker}, {n} clients"),
            results: &results,
            labels: vec![("ranker", ranker), ("clients.n_clients", n)],
        };
        let lines: Vec<Line<'_>> =
            RANKERS.into_iter().flat_map(|ranker| CLIENTS.map(|n| (ranker, n))).map(line).collect();
        let sheet = Sheet {
            title: &format!("Thesis Figure 3.2: {}", wanted.name()),
            subtitle: format!("{}; published stream; p = .9", collection.data.name),
            measure: "mean batch MaxRR",
            metric: MetricName::OnlineMaxRr,
            window: 4,
        };
        study.figure(&collection.slug(), &sheet.figure(&lines)?)?;
        for line in &lines {
            let mut row = vec![wanted.name().to_owned(), line.name.clone()];
            for users in USERS {
                let end = over(&results, line.setting(users)?, MetricName::OnlineMaxRr, END);
                row.push(format!("{:.4}", mean(&end)));
            }
            rows.push(row);
        }
        collection.note(study);
    }
    let header = ["collection", "ranker", "perfect", "navigational", "informational"];
    study.table("mean batch MaxRR over the last tenth of the interactions", &crate::table::table(&header, 2, rows));
    study.note("the thesis concludes that the effect of the number of clients has no consistent direction");
    Ok(())
}

/// RQ1.1.4, online: the same runs as Figure 3.1, and runs that optimise click DCG.
pub(super) fn figure_4(study: &mut Study<'_>) -> Result<()> {
    let metric = MetricName::OnlineNdcg(10);
    for wanted in COLLECTIONS {
        let collection = Collection::new(study, wanted);
        let results = collection.evolution(study)?;
        let sheet = Sheet {
            title: &format!("Thesis Figure 3.4: {}", wanted.name()),
            subtitle: format!("{}; published stream; reward MaxRR", collection.data.name),
            measure: "online nDCG@10",
            metric,
            window: 4,
        };
        let lines = by_privatisation(&results, "published");
        study.figure(&collection.slug(), &sheet.figure(&lines)?)?;
        collection.note(study);
    }
    let collection = Collection::new(study, Wanted::Mq2008);
    let overrides = [collection.data.setting(), format!("federation.budget={}", collection.budget)];
    let results = study.grid("click-dcg", include_str!("../../../../specs/thesis/click-dcg.toml"), &overrides)?;
    let (mut rows, by_max_rr) = (Vec::new(), collection.evolution(study)?);
    for stream in ["published", "separate"] {
        for ranker in RANKERS {
            let of_dcg = Line {
                name: format!("click DCG, {stream} stream, {ranker}"),
                results: &results,
                labels: vec![("ranker", ranker), ("learner.stream", stream)],
            };
            let of_max_rr = Line {
                name: format!("MaxRR, {stream} stream, {ranker}"),
                results: &by_max_rr,
                labels: vec![("ranker", ranker), ("learner.stream", stream), ("privacy.probability", "1.0")],
            };
            for line in [of_dcg, of_max_rr] {
                let Ok(setting) = line.setting("informational") else { continue };
                let [start, end] = [0.0..0.04, END].map(|part| mean(&over(line.results, setting, metric, part)));
                rows.push(vec![line.name.clone(), format!("{start:.4}"), format!("{end:.4}")]);
                let cell = format!("finding 6 on MQ2008: gain in online nDCG@10, informational, {}", line.name);
                study.not_comparable(cell, None, end - start, "a part of finding 6, which rests on MSLR and Yahoo");
            }
        }
    }
    let header = ["reward, stream, ranker", "first rounds", "last tenth"];
    study.table("online nDCG@10 on MQ2008, informational users, p = 1", &crate::table::table(&header, 1, rows));
    Ok(())
}
