//! Figures 2 and 3 of `WLZZ21`, 3.6 and 3.7 of `W24`: FPDGD, FOLtR-ES and PDGD on held-out queries.

use anyhow::Result;

use super::super::{Study, Wanted};
use super::curves::course;
use super::values::{USERS, finals, is_as_published, users_of};
use super::{Overall, judge};
use crate::plot::{Curve, CurveFigure, Panel, PanelRow};
use crate::results::Results;
use crate::rows::MetricName;
use crate::spec::{Metric, Split};

/// nDCG@10: findings 8 and 13.
pub fn figure_2(study: &mut Study<'_>) -> Result<()> {
    let ndcg = MetricName::Offline(Split::Test, Metric::Ndcg(10));
    for wanted in [Wanted::Mq2007, Wanted::Mslr] {
        let overall = Overall::run(study, wanted)?;
        draw(study, &overall, ndcg, "nDCG@10 on test queries")?;
        let collection = &overall.collection;
        let [fpdgd, foltr_es, pdgd] = [&overall.fpdgd, &overall.foltr_es, &overall.pdgd].map(|it| finals(it, ndcg));
        collection.conclude(study, 8, judge::is_above(&fpdgd, &foltr_es, "final nDCG@10 of FPDGD minus FOLtR-ES", 4));
        collection.conclude(study, 13, judge::is_between_pdgd(&fpdgd, &pdgd));
    }
    Ok(())
}

/// Reciprocal rank of the first relevant document, which the paper calls MaxRR: finding 8 again.
pub fn figure_3(study: &mut Study<'_>) -> Result<()> {
    let mrr = MetricName::Offline(Split::Test, Metric::Mrr(10));
    for wanted in [Wanted::Mq2007, Wanted::Mslr] {
        let overall = Overall::run(study, wanted)?;
        draw(study, &overall, mrr, "MaxRR (MRR@10) on test queries")?;
        let [fpdgd, foltr_es] = [&overall.fpdgd, &overall.foltr_es].map(|it| finals(it, mrr));
        let judged = judge::is_above(&fpdgd, &foltr_es, "final MRR@10 of FPDGD minus FOLtR-ES", 4);
        overall.collection.conclude(study, 8, judged);
    }
    Ok(())
}

/// One column a kind of users; FPDGD above FOLtR-ES, both beside PDGD of both lengths.
fn draw(study: &mut Study<'_>, overall: &Overall, metric: MetricName, y_label: &str) -> Result<()> {
    let n_budgets = overall.fpdgd.grid.settings.iter().filter(|it| users_of(it) == USERS[0]).count();
    let budgets: &[&str] = match n_budgets {
        2 => &["1.2 (p .25)", "10 (p 1)"],
        _ => &["1.2 (p .25)", "2.3 (p .5)", "4.5 (p .9)", "10 (p 1)"],
    };
    let methods = budgets.iter().map(|budget| format!("epsilon {budget}"));
    let methods = methods.chain(["PDGD, as many updates", "PDGD, as many interactions"].map(str::to_owned)).collect();
    let row = |(name, federated): (&str, &Results)| {
        let panel = |users: &str| {
            let mut curves = curves_of(federated, users, metric, 0);
            curves.extend(curves_of(&overall.pdgd, users, metric, n_budgets));
            Panel { curves, ..Panel::default() }
        };
        PanelRow { title: name.into(), panels: USERS.map(panel).into() }
    };
    let n_runs = overall.fpdgd.runs_of(0).count();
    let figure = CurveFigure {
        title: format!("FPDGD, FOLtR-ES and PDGD: {}", overall.collection.data.name),
        subtitle: format!("mean of {n_runs} runs, bands of one standard deviation, moving average of 10 rounds"),
        x_label: "rounds, or updates of PDGD".into(),
        y_label: y_label.into(),
        methods,
        columns: USERS.map(|users| format!("{users} users")).into(),
        rows: [("FPDGD", &overall.fpdgd), ("FOLtR-ES", &overall.foltr_es)].map(row).into(),
        ..CurveFigure::default()
    };
    study.figure(if overall.collection.is_mslr() { "mslr" } else { "mq2007" }, figure)
}

/// Curves of one kind of users, coloured from `first` on.
fn curves_of(results: &Results, users: &str, metric: MetricName, first: usize) -> Vec<Curve> {
    let settings = results.grid.settings.iter().enumerate();
    let wanted = settings.filter(|(_, setting)| is_as_published(setting) && users_of(setting) == users);
    let curve = |(level, (setting, _)): (usize, (usize, _))| Curve {
        method: first + level,
        points: course(results, setting, metric, 1.0),
    };
    wanted.enumerate().map(curve).collect()
}
