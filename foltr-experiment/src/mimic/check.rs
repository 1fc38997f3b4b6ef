//! Values and combinations of a mimic experiment that cannot work.

use foltr_mimic::aggregation::AggregationMethod;
use foltr_mimic::{InvalidSetting, Loss, Structure};

use super::spec::{EvaluationSettings, MimicData, MimicExperiment, Public, Supervision};
use crate::spec::Problem;

impl MimicExperiment {
    pub(super) fn check(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut must = |holds: bool, key: &str, message: &str| {
            if !holds {
                problems.push(Problem::new(key, message));
            }
        };
        must(!self.seeds.is_empty(), "seeds", "at least one seed is needed");
        let is_text = matches!(self.data, MimicData::Text(_));
        if let MimicData::Text(text) = &self.data {
            must(text.folds >= 3, "data.folds", "at least 3: for training, validation and testing");
            must(text.max_terms > 0, "data.max_terms", "at least 1");
        }
        match &self.supervision {
            Supervision::Scores { runs } => {
                must(is_text, "supervision.kind", "only queries of texts can be scored outside; `full` or `weak`");
                must(!runs.is_empty(), "supervision.runs", "at least one TREC run");
            }
            _ => must(self.supervision.n_teachers() > 0, "supervision.teachers", "at least 1"),
        }
        must(self.supervision.n_candidates() > 1, "supervision.candidates", "at least 2: networks learn from pairs");
        if let Supervision::Weak { feature, n_queries, near_copies, queries, .. } = &self.supervision {
            must(is_text || feature.is_some(), "supervision.feature", "missing; which feature is the label?");
            must(!is_text || feature.is_none(), "supervision.feature", "texts have no features; BM25 is computed");
            must(*feature != Some(0), "supervision.feature", "features are numbered from 1");
            must(*n_queries > 0, "supervision.n_queries", "at least 1");
            must(*near_copies > 0.0 && *near_copies <= 1.0, "supervision.near_copies", "above 0, at most 1");
            must(is_text || queries.is_none(), "supervision.queries", "feature files have their queries");
        }
        let default = Public::default();
        let only_of_texts = [
            (self.supervision.n_candidates() == 100, "supervision.candidates"),
            (self.public.n_queries == default.n_queries, "public.n_queries"),
            (self.public.candidates == default.candidates, "public.candidates"),
            (self.evaluation == EvaluationSettings::default(), "evaluation.depth"),
        ];
        for (is_default, key) in only_of_texts {
            let message = "only texts need it; queries of feature files have their documents";
            must(is_text || is_default, key, message);
        }
        must(!is_text || self.public.share == default.share, "public.share", "only feature files need it");
        if let Supervision::Weak { queries: Some(private), .. } = &self.supervision {
            let message = "this file is private: `supervision.queries` names it too";
            must(self.public.queries.as_ref() != Some(private), "public.queries", message);
        }
        must(self.public.n_queries > 1, "public.n_queries", "at least 2: some are held out");
        must(self.public.candidates > 1, "public.candidates", "at least 2: networks learn from pairs");
        must(self.public.share > 0.0 && self.public.share < 1.0, "public.share", "above 0, below 1");
        must(is_text || self.public.queries.is_none(), "public.queries", "feature files have their queries");
        must(self.evaluation.depth > 1, "evaluation.depth", "at least 2");
        must(!self.aggregation.is_empty(), "aggregation", "at least one is needed");
        for (key, network) in [("teacher", &self.teacher), ("student", &self.student)] {
            if !is_text && network.structure != Structure::default() {
                let message = "only texts have terms that meet; rows of feature files are the inputs as they are";
                problems.push(Problem::new(format!("{key}.structure"), message));
            }
            problems.extend(of_section(key, network.check()));
        }
        for (i, source) in self.aggregation.iter().enumerate() {
            let key = format!("aggregation[{i}]");
            if source.method.votes().is_some() && self.student.loss != Loss::Hinge {
                let message =
                    "votes say which document is better, not by how much: the student's `loss` must be the hinge";
                problems.push(Problem::new(format!("{key}.method"), message));
            }
            let is_name = |name: &str| {
                !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
            };
            if !is_name(&source.name) || source.name.starts_with('.') {
                let message = "letters, digits, `-`, `_` and `.`: it is the name of a folder";
                problems.push(Problem::new(format!("{key}.name"), message));
            }
            if self.aggregation[..i].iter().any(|other| other.name == source.name) {
                problems.push(Problem::new(format!("{key}.name"), "another aggregation has this name"));
            }
            problems.extend(of_section(&format!("{key}.method"), source.method.check()));
            if self.supervision.is_outside()
                && matches!(source.method, AggregationMethod::Scores { scale } if scale > 0.0)
            {
                let message =
                    "0: scores from outside have no known range, so noise on them guarantees nothing; or votes";
                problems.push(Problem::new(format!("{key}.method.scale"), message));
            }
        }
        problems
    }
}

fn of_section(section: &str, invalid: Vec<InvalidSetting>) -> impl Iterator<Item = Problem> {
    invalid
        .into_iter()
        .map(move |InvalidSetting { key, expected, .. }| Problem::new(format!("{section}.{key}"), expected))
}
