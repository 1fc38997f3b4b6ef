//! `foltr list`: every name that an experiment file can use.

use foltr_federation::{Aggregation, Asynchrony, Combination, Privacy, ServerOptimiser, Unlearning};
use foltr_rank::metric::Metric;
use foltr_rank::personal::Personalisation;
use foltr_rank::{Learner, RankerShape};
use foltr_simulation::adversary::Attack;
use foltr_simulation::click::{ClickModel, Preset};
use foltr_simulation::partition::Partition;

/// A list: its title, where its names go in a file, and each name with one line of explanation.
struct List {
    title: &'static str,
    place: &'static str,
    names: &'static [(&'static str, &'static str)],
}

const LISTS: [List; 17] = [
    List { title: "Learners", place: "learner.kind", names: Learner::LIST },
    List { title: "Users", place: "users.kind", names: ClickModel::LIST },
    List { title: "Presets of users", place: "users.preset", names: Preset::LIST },
    List { title: "Rankers", place: "ranker.kind", names: RankerShape::LIST },
    List {
        title: "Initialisations",
        place: "ranker.initialisation.kind",
        names: &[
            ("zero", "All parameters 0"),
            ("random-norm", "A random direction of the given norm"),
            ("fan-in", "Normal with standard deviation 1 / number of inputs"),
        ],
    },
    List {
        title: "Rewards of FOLtR-ES",
        place: "learner.reward",
        names: &[
            ("max-rr", "Reciprocal rank of the first click"),
            ("click-dcg", "Discounted number of clicks"),
            (
                "click-dcg-debiased",
                "The same, divided by the examination probability of a position-based user with eta = 1",
            ),
            ("reciprocal-rank", "Mean reciprocal rank of the clicks"),
        ],
    },
    List { title: "Server optimisers", place: "federation.optimiser.kind", names: ServerOptimiser::LIST },
    List { title: "Aggregation rules", place: "defence.rule.kind", names: Aggregation::LIST },
    List { title: "Ways to forget clients", place: "unlearning.method.kind", names: Unlearning::LIST },
    List { title: "Attacks", place: "attack.method.kind", names: Attack::LIST },
    List { title: "Personalisation", place: "personalisation.kind", names: Personalisation::LIST },
    List { title: "Clients that do not wait", place: "asynchrony.kind", names: Asynchrony::LIST },
    List { title: "Privacy", place: "privacy.kind", names: Privacy::LIST },
    List { title: "Metrics", place: "metrics.offline", names: Metric::LIST },
    List {
        title: "Data",
        place: "data.kind",
        names: &[
            ("synthetic", "Generated from a shape, a number of queries and a seed"),
            ("folder", "A folder in LETOR layout, with or without folds"),
            ("files", "LETOR files named one by one"),
            ("intents", "A folder with one file of features and the judgements of several intents"),
            ("user-log", "A log with the users behind its queries, such as AOL4FOLTR"),
        ],
    },
    List { title: "Partitions: what clients hold", place: "partition.kind", names: Partition::LIST },
    List {
        title: "Shapes of synthetic data",
        place: "data.shape",
        names: &[
            ("tiny", "12 features, about 15 documents a query, grades 0 to 2"),
            ("mq2007", "46 features, about 41 documents a query, grades 0 to 2"),
            ("mslr", "136 features, about 120 documents a query, grades 0 to 4"),
            ("yahoo", "700 features, about 24 documents a query, grades 0 to 4"),
            ("istella", "220 features, about 103 documents a query, grades 0 to 4"),
        ],
    },
];

/// All lists as text.
pub fn told() -> String {
    let names = || LISTS.iter().flat_map(|list| list.names).map(|(name, _)| name.len());
    let width = names().max().unwrap_or(0);
    let list = |list: &List| {
        let lines: String = list.names.iter().map(|(name, about)| format!("  {name:width$}  {about}\n")).collect();
        format!("{} ({})\n{lines}", list.title, list.place)
    };
    let lists = LISTS.iter().map(list).collect::<Vec<_>>().join("\n");
    let pairs: String =
        Combination::all().map(|pair| format!("  {}: {}\n", pair.part.label(), pair.message())).collect();
    format!("{lists}\nCombinations that are not supported\n{pairs}")
}

#[cfg(test)]
mod tests {
    use foltr_rank::learn::evolution::Reward;
    use foltr_simulation::datasets::SyntheticShape;

    use super::*;
    use foltr_experiment::spec::{Experiment, in_words};

    /// Names of a list.
    fn names(place: &str) -> Vec<&'static str> {
        let list = LISTS.iter().find(|list| list.place == place).expect("a list");
        list.names.iter().map(|(name, _)| *name).collect()
    }

    #[test]
    fn what_a_list_names_is_what_a_file_may_say() {
        // An impossible name makes the reader say what is possible.
        let allowed = |place: &str| {
            let (section, key) = place.rsplit_once('.').expect("a key in a section");
            let text = format!("[{section}]\n{key} = \"?\"\n");
            let problems = Experiment::from_toml(&text).expect_err("not a sound file");
            let problem = problems.iter().find(|problem| problem.message.contains("allowed")).expect("a choice");
            let (_, names) = problem.message.split_once("(allowed: ").expect("names");
            names.trim_end_matches(')').split(", ").map(str::to_owned).collect::<Vec<_>>()
        };
        let places = ["learner.kind", "users.kind", "ranker.kind", "privacy.kind", "data.kind", "partition.kind"];
        for place in places.into_iter().chain(["asynchrony.kind"]) {
            assert_eq!(names(place), allowed(place), "{place}");
        }
    }

    #[test]
    fn enums_are_listed_completely() {
        let mut shapes = SyntheticShape::ALL.map(|shape| in_words(&shape));
        let mut listed = names("data.shape");
        shapes.sort();
        listed.sort_unstable();
        assert_eq!(listed, shapes);
        assert_eq!(names("users.preset"), Preset::ALL.map(|preset| in_words(&preset)));
        let rewards = [Reward::MaxRr, Reward::ClickDcg, Reward::ClickDcgDebiased, Reward::ReciprocalRank];
        assert_eq!(names("learner.reward"), rewards.map(|reward| in_words(&reward)));
    }
}
