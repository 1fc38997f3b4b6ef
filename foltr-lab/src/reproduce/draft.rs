//! The three questions of the draft study of FOLtR-ES, under position-biased users (perfect clicks, eta = 1).
//!
//! The draft has questions and settings but no results: nothing can be judged, our answers are told in tables.

use anyhow::Result;

use super::course::{WHOLE, over, points, select};
use super::{Entry, Study, Wanted};
use crate::plot::{Curve, CurveFigure, Panel, PanelRow};
use crate::results::Results;
use crate::rows::MetricName;
use crate::spec::{Metric, Split};
use crate::statistics::{Estimate, Smoothing};
use crate::table::{table, with_interval};

const PAPER: &str = "draft study of FOLtR-ES";

pub(super) const CLIENTS: Entry = Entry {
    id: "draft-clients",
    paper: PAPER,
    what: "Does the number of clients matter?",
    run: |study| Question::CLIENTS.answer(study),
};

pub(super) const PDGD: Entry = Entry {
    id: "draft-pdgd",
    paper: PAPER,
    what: "Is FOLtR-ES as good as PDGD with all interactions in one place?",
    run: |study| Question::PDGD.answer(study),
};

pub(super) const DEBIASING: Entry = Entry {
    id: "draft-debiasing",
    paper: PAPER,
    what: "Do rewards without position bias learn better?",
    run: |study| Question::DEBIASING.answer(study),
};

/// A question about the values of one axis.
struct Question {
    title: &'static str,
    spec: &'static str,
    axis: &'static str,
    /// Label in the grid and name in the table.
    values: &'static [(&'static str, &'static str)],
}

impl Question {
    const CLIENTS: Self = Self {
        title: "Draft study: number of clients",
        spec: include_str!("../../../specs/draft/clients.toml"),
        axis: "clients.n_clients",
        values: &[("50", "50 clients"), ("1000", "1,000 clients"), ("2000", "2,000 clients")],
    };
    const PDGD: Self = Self {
        title: "Draft study: FOLtR-ES beside PDGD",
        spec: include_str!("../../../specs/draft/pdgd.toml"),
        axis: "method",
        values: &[
            ("FOLtR-ES", "FOLtR-ES"),
            ("PDGD, batch 8000", "PDGD, batch 8,000"),
            ("PDGD, batch 1", "PDGD, batch 1"),
        ],
    };
    const DEBIASING: Self = Self {
        title: "Draft study: rewards with and without position bias",
        spec: include_str!("../../../specs/draft/debiasing.toml"),
        axis: "learner.reward",
        values: &[
            ("max-rr", "MaxRR"),
            ("click-dcg", "click DCG"),
            ("click-dcg-debiased", "click DCG without position bias"),
        ],
    };

    fn answer(&self, study: &mut Study<'_>) -> Result<()> {
        let data = study.data(Wanted::Mq2008);
        let mut overrides = vec![data.setting()];
        if study.is_quick() {
            overrides.push("seeds=[1]".into());
        }
        let results = study.grid("runs", self.spec, &overrides)?;
        let offline = MetricName::Offline(Split::Test, Metric::Ndcg(10));
        study.table(
            &format!("{}, all folds, 2 000 000 interactions a run, position-based users with eta = 1", data.name),
            &self.told(&results, offline)?,
        );
        let figure = self.figure(&results, offline, &data.name)?;
        study.figure("learning-curves", figure)?;
        study.note(format!(
            "{}; the draft prints no results, so nothing is judged",
            study.either("seed 1", "seeds 1 to 5")
        ));
        Ok(())
    }

    fn told(&self, results: &Results, offline: MetricName) -> Result<String> {
        let mut rows = Vec::new();
        for (label, name) in self.values {
            let setting = select(results, &[(self.axis, label)])?;
            let told = |values: &[f64]| Estimate::of(values).map(|it| with_interval(&it)).unwrap_or_default();
            let finals = results.final_values(setting, offline);
            let online = over(results, setting, MetricName::OnlineNdcg(10), WHOLE);
            rows.push(vec![(*name).to_owned(), told(&finals), told(&online), finals.len().to_string()]);
        }
        Ok(table(&["", "final nDCG@10, test", "mean online nDCG@10", "runs"], 1, rows))
    }

    fn figure(&self, results: &Results, metric: MetricName, data: &str) -> Result<CurveFigure> {
        let mut curves = Vec::new();
        for (method, (label, _)) in self.values.iter().enumerate() {
            let setting = select(results, &[(self.axis, label)])?;
            curves.push(Curve { method, points: points(results, setting, metric, Smoothing::None, None) });
        }
        Ok(CurveFigure {
            title: self.title.into(),
            subtitle: format!("{data}; position-based users, eta = 1"),
            x_label: "interactions of all clients together".into(),
            y_label: "nDCG@10 on test queries".into(),
            methods: self.values.iter().map(|(_, name)| (*name).to_owned()).collect(),
            rows: vec![PanelRow { title: String::new(), panels: vec![Panel { curves, references: Vec::new() }] }],
            ..CurveFigure::default()
        })
    }
}
