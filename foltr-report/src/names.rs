//! Keys of files as people write them: the one place that names metrics, axes and labels in tables and figures.

use foltr_experiment::rows::{MetricName, Work};
use foltr_experiment::spec::Split;

/// Keys whose last word says too little or too much.
const AXES: [(&str, &str); 12] = [
    ("users.preset", "users"),
    ("data.folder", "data"),
    ("data.shape", "data"),
    ("collection", "data"),
    ("n_clients", "clients"),
    ("clients.n_clients", "clients"),
    ("clients.cohort", "clients a round"),
    ("clients.interactions", "interactions per client"),
    ("federation.budget", "budget"),
    ("federation.optimiser", "server optimiser"),
    ("federation.optimiser.rate", "server rate"),
    ("federation.average_last", "share of averaged models"),
];

/// Last words that mean nothing without their section.
const BARE: [&str; 9] = ["kind", "method", "rate", "share", "seed", "queries", "steps", "name", "probability"];

const MEASURES: [(&str, &str); 11] = [
    ("ndcg-linear", "linear nDCG"),
    ("ndcg", "nDCG"),
    ("dcg", "DCG"),
    ("mrr", "MRR"),
    ("rr", "RR"),
    ("map", "MAP"),
    ("p", "P"),
    ("err", "ERR"),
    ("nerr", "nERR"),
    ("bpref", "Bpref"),
    ("expected-maxrr", "expected MaxRR"),
];

/// A metric of a result folder: `test-ndcg@10` is `nDCG@10 on test queries`. What is no metric stays as it is.
pub fn metric_name(key: &str) -> String {
    key.parse::<MetricName>().map_or_else(|_| key.into(), name_of)
}

pub fn name_of(metric: MetricName) -> String {
    let on = |split: Split| match split {
        Split::Train => "on training queries",
        Split::Validation => "on validation queries",
        Split::Test => "on test queries",
    };
    let quality = |metric: foltr_rank::metric::Metric| measure(&metric.to_string());
    match metric {
        MetricName::Offline(split, metric) => format!("{} {}", quality(metric), on(split)),
        MetricName::Own(split, metric) => format!("{} of clients' own rankers {}", quality(metric), on(split)),
        MetricName::WorstDecile(split, metric) => {
            format!("{} of the tenth of clients served worst {}", quality(metric), on(split))
        }
        MetricName::WorseOff(split, metric) => {
            format!("share of clients worse off with their own ranker, by {} {}", quality(metric), on(split))
        }
        MetricName::Unlearning(split, metric) => format!("{} {} while unlearning", quality(metric), on(split)),
        MetricName::OnlineNdcg(cutoff) => format!("online nDCG@{cutoff}"),
        MetricName::UnlearningOnline(cutoff) => format!("online nDCG@{cutoff} while unlearning"),
        MetricName::UnlearningCost(work) => {
            let what = match work {
                Work::Rounds => "rounds",
                Work::Interactions => "interactions",
                Work::Messages => "messages",
                Work::Bytes => "bytes",
            };
            format!("{what} of unlearning")
        }
        MetricName::OnlineMaxRr => "online MaxRR".into(),
        MetricName::SimulatedTime => "simulated time, in rounds of a usual client".into(),
        MetricName::AttackerShare => "attackers' share of the step".into(),
        MetricName::RefusedReleases => "share of clients that refused the release".into(),
        MetricName::RefusedMessages => "refused messages".into(),
        MetricName::DroppedSteps => "dropped steps".into(),
        MetricName::PromotionRank => "rank of promoted documents (0 is the top)".into(),
        MetricName::Ranker(_) => {
            let key = metric.to_string();
            let (ranker, of) = key.split_once('/').unwrap_or(("", &key));
            format!("{} of {ranker} on test queries", measure(of))
        }
    }
}

/// `ndcg@10` is `nDCG@10`.
fn measure(key: &str) -> String {
    let (word, cutoff) =
        key.split_once('@').map_or((key, String::new()), |(word, cutoff)| (word, format!("@{cutoff}")));
    let known = MEASURES.iter().find(|(known, _)| *known == word.to_lowercase()).map(|(_, name)| *name);
    format!("{}{cutoff}", known.map_or_else(|| word.replace('-', " "), str::to_owned))
}

/// An axis of a grid: `learner.learning_rate` is `learning rate`.
pub fn axis_name(key: &str) -> String {
    if let Some((_, name)) = AXES.iter().find(|(known, _)| *known == key) {
        return (*name).into();
    }
    let words: Vec<String> = key.split('.').map(|word| word.replace(['_', '-'], " ")).collect();
    match &words[..] {
        [.., section, last] if last == "kind" => section.clone(),
        [.., section, last] if BARE.contains(&last.as_str()) => format!("{section} {last}"),
        [.., last] => last.clone(),
        [] => key.into(),
    }
}

/// Names of the axes of one table: where two would be called alike, both are called by their section, too.
pub fn axis_names(keys: &[String]) -> Vec<String> {
    let names: Vec<String> = keys.iter().map(|key| axis_name(key)).collect();
    let is_alone = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
    let name =
        |(key, name): (&String, &String)| if is_alone(name) { name.clone() } else { key.replace(['.', '_'], " ") };
    keys.iter().zip(&names).map(name).collect()
}

/// A label where its axis is not named beside it: `perfect users`, `learning rate = 0.1`, `FPDGD`.
pub fn label_name(axis: &str, label: &str) -> String {
    let is_bare = label.parse::<f64>().is_ok() || label.parse::<bool>().is_ok();
    match axis_name(axis) {
        name if name == "users" && !is_bare => format!("{label} users"),
        name if is_bare => format!("{name} = {label}"),
        _ => label.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_have_names_for_people() {
        let names = [
            ("test-ndcg@10", "nDCG@10 on test queries"),
            ("train-map", "MAP on training queries"),
            ("validation-p@5", "P@5 on validation queries"),
            ("test-ndcg-linear@20", "linear nDCG@20 on test queries"),
            ("online-ndcg@10", "online nDCG@10"),
            ("unlearning-test-ndcg@10", "nDCG@10 on test queries while unlearning"),
            ("student-clear/ndcg@20", "nDCG@20 of student-clear on test queries"),
            ("own-test-mrr@10", "MRR@10 of clients' own rankers on test queries"),
            ("epsilon", "epsilon"),
        ];
        for (key, name) in names {
            assert_eq!(metric_name(key), name);
        }
    }

    #[test]
    fn axes_have_names_for_people_and_no_two_the_same() {
        let names = [
            ("users.preset", "users"),
            ("learner.learning_rate", "learning rate"),
            ("clients.n_clients", "clients"),
            ("method", "method"),
            ("learner.kind", "learner"),
            ("attack.share", "attack share"),
            ("unlearning.method.interval", "interval"),
            ("federation.optimiser.momentum", "momentum"),
        ];
        for (key, name) in names {
            assert_eq!(axis_name(key), name);
        }
        let keys = ["clients", "clients.n_clients", "method"].map(str::to_owned);
        assert_eq!(axis_names(&keys), ["clients", "clients n clients", "method"]);
    }

    #[test]
    fn a_label_alone_says_what_it_is_of() {
        assert_eq!(label_name("users.preset", "perfect"), "perfect users");
        assert_eq!(label_name("learner.learning_rate", "0.1"), "learning rate = 0.1");
        assert_eq!(label_name("method", "FPDGD"), "FPDGD");
    }
}
