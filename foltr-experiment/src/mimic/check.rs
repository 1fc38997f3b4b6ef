//! Values and combinations of a mimic experiment that cannot work.

use super::spec::{AggregationMethod, Judging, MimicData, MimicExperiment, NetworkSpec, Public, Supervision};
use crate::spec::Problem;

impl MimicExperiment {
    /// Everything that is wrong with the values.
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
        must(self.supervision.n_teachers() > 0, "supervision.teachers", "at least 1");
        must(self.supervision.n_candidates() > 1, "supervision.candidates", "at least 2: networks learn from pairs");
        if let Supervision::Weak { feature, n_queries, near_copies, queries, .. } = &self.supervision {
            must(is_text || feature.is_some(), "supervision.feature", "missing; which feature is the label?");
            must(!is_text || feature.is_none(), "supervision.feature", "texts have no features; BM25 is computed");
            must(*feature != Some(0), "supervision.feature", "features are numbered from 1");
            must(*n_queries > 0, "supervision.n_queries", "at least 1");
            must(*near_copies > 0.0 && *near_copies <= 1.0, "supervision.near_copies", "above 0, at most 1");
            must(is_text || queries.is_none(), "supervision.queries", "feature files have their queries");
        }
        let usual = Public::default();
        let unsaid = [
            (!is_text && self.supervision.n_candidates() != 100, "supervision.candidates"),
            (!is_text && self.public.n_queries != usual.n_queries, "public.n_queries"),
            (!is_text && self.public.candidates != usual.candidates, "public.candidates"),
            (!is_text && self.evaluation != Judging::default(), "evaluation.depth"),
        ];
        for (is_said, key) in unsaid {
            must(!is_said, key, "only texts need it; queries of feature files have their documents");
        }
        must(!is_text || self.public.share == usual.share, "public.share", "only feature files need it");
        let logs = match &self.supervision {
            Supervision::Weak { queries: Some(queries), .. } => Some(queries),
            _ => None,
        };
        must(
            logs.is_none() || self.public.queries.as_ref() != logs,
            "public.queries",
            "this file is private: `supervision.queries` names it too",
        );
        must(self.public.n_queries > 1, "public.n_queries", "at least 2: some are held out");
        must(self.public.candidates > 1, "public.candidates", "at least 2: networks learn from pairs");
        must(self.public.share > 0.0 && self.public.share < 1.0, "public.share", "above 0, below 1");
        must(is_text || self.public.queries.is_none(), "public.queries", "feature files have their queries");
        must(self.evaluation.depth > 1, "evaluation.depth", "at least 2");
        must(!self.aggregation.is_empty(), "aggregation", "at least one is needed");
        for (key, network) in [("teacher", &self.teacher), ("student", &self.student)] {
            problems.extend(check_network(key, network));
        }
        for (place, one) in self.aggregation.iter().enumerate() {
            let key = format!("aggregation[{place}]");
            let is_name = |name: &str| {
                !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter))
            };
            if !is_name(&one.name) || one.name.starts_with('.') {
                let message = "letters, digits, `-`, `_` and `.`: it is the name of a folder";
                problems.push(Problem::new(format!("{key}.name"), message));
            }
            if self.aggregation[..place].iter().any(|other| other.name == one.name) {
                problems.push(Problem::new(format!("{key}.name"), "another aggregation has this name"));
            }
            problems.extend(check_method(&format!("{key}.method"), &one.method));
        }
        problems
    }
}

fn check_network(key: &str, network: &NetworkSpec) -> Vec<Problem> {
    let rules = [
        (!network.hidden.is_empty() && !network.hidden.contains(&0), "hidden", "one or more layers of at least 1 unit"),
        ((0.0..1.0).contains(&network.dropout), "dropout", "at least 0, below 1"),
        (network.dimensions > 0, "dimensions", "at least 1"),
        (network.batch > 0, "batch", "at least 1"),
        (network.learning_rate > 0.0 && network.learning_rate.is_finite(), "learning_rate", "above 0"),
        (network.steps > 0, "steps", "at least 1"),
        (network.validate_every > 0, "validate_every", "at least 1"),
        (network.patience > 0, "patience", "at least 1"),
    ];
    let wrong = rules.into_iter().filter(|(holds, ..)| !holds);
    wrong.map(|(_, name, message)| Problem::new(format!("{key}.{name}"), message)).collect()
}

fn check_method(key: &str, method: &AggregationMethod) -> Vec<Problem> {
    let positive = |value: f64| value > 0.0 && value.is_finite();
    let rules = match *method {
        AggregationMethod::Scores { scale } => {
            vec![(scale >= 0.0 && scale.is_finite(), "scale", "0 or above; 0 is no noise")]
        }
        AggregationMethod::Votes { gamma, epsilon, pairs, delta } => vec![
            (epsilon.is_none_or(positive), "epsilon", "above 0"),
            (positive(gamma), "gamma", "above 0; or give `epsilon`"),
            (pairs > 0, "pairs", "at least 1"),
            (delta > 0.0 && delta < 1.0, "delta", "above 0, below 1"),
        ],
        AggregationMethod::GaussianVotes { deviation, epsilon, pairs, delta } => vec![
            (epsilon.is_none_or(positive), "epsilon", "above 0"),
            (positive(deviation), "deviation", "above 0; or give `epsilon`"),
            (pairs > 0, "pairs", "at least 1"),
            (delta > 0.0 && delta < 1.0, "delta", "above 0, below 1"),
        ],
    };
    let wrong = rules.into_iter().filter(|(holds, ..)| !holds);
    wrong.map(|(_, name, message)| Problem::new(format!("{key}.{name}"), message)).collect()
}
