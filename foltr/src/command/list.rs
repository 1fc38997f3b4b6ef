//! `foltr list`: every name that an experiment file can use.

use foltr_federation::{Aggregation, Asynchrony, Combination, Privacy, ServerOptimiser, Unlearning};
use foltr_rank::metric::Metric;
use foltr_rank::personal::Personalisation;
use foltr_rank::{Learner, RankerShape};
use foltr_simulation::adversary::Attack;
use foltr_simulation::click::{ClickModel, Preset};
use foltr_simulation::partition::Partition;
use serde_json::Value;

use foltr_experiment::schema::schema;

enum Names {
    List(&'static [(&'static str, &'static str)]),
    /// A definition of the schema, whose variants say what they are.
    Schema(&'static str),
}

use Names::{List, Schema};

const LISTS: [(&str, &str, Names); 17] = [
    ("Learners", "learner.kind", List(Learner::LIST)),
    ("Users", "users.kind", List(ClickModel::LIST)),
    ("Presets of users", "users.preset", List(Preset::LIST)),
    ("Rankers", "ranker.kind", List(RankerShape::LIST)),
    ("Initialisations", "ranker.initialisation.kind", Schema("Initialisation")),
    ("Rewards of FOLtR-ES", "learner.reward", Schema("Reward")),
    ("Server optimisers", "federation.optimiser.kind", List(ServerOptimiser::LIST)),
    ("Aggregation rules", "defence.rule.kind", List(Aggregation::LIST)),
    ("Ways to forget clients", "unlearning.method.kind", List(Unlearning::LIST)),
    ("Attacks", "attack.method.kind", List(Attack::LIST)),
    ("Personalisation", "personalisation.kind", List(Personalisation::LIST)),
    ("Clients that do not wait", "asynchrony.kind", List(Asynchrony::LIST)),
    ("Privacy", "privacy.kind", List(Privacy::LIST)),
    ("Metrics", "metrics.offline", List(Metric::LIST)),
    ("Data", "data.kind", Schema("Data")),
    ("Partitions: what clients hold", "partition.kind", List(Partition::LIST)),
    ("Shapes of synthetic data", "data.shape", Schema("SyntheticShape")),
];

fn variants(definition: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let variant = |variant: &Value| {
        let name = text(&variant["const"]).or_else(|| text(&variant["properties"]["kind"]["const"]))?;
        Some((name, text(&variant["description"])?.trim_end_matches('.').to_owned()))
    };
    definition["oneOf"].as_array().into_iter().flatten().filter_map(variant).collect()
}

pub fn render() -> String {
    let schema = schema();
    let lists = LISTS.iter().map(|(title, place, names)| {
        let names = match names {
            List(names) => names.iter().map(|(name, about)| ((*name).to_owned(), (*about).to_owned())).collect(),
            Schema(name) => variants(&schema["$defs"][name]),
        };
        (format!("{title} ({place})"), names)
    });
    let lists: Vec<(String, Vec<(String, String)>)> = lists.collect();
    let width = lists.iter().flat_map(|(_, names)| names).map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (title, names) in &lists {
        let lines: String = names.iter().map(|(name, about)| format!("  {name:width$}  {about}\n")).collect();
        text += &format!("{title}\n{lines}\n");
    }
    let pairs = Combination::all().map(|pair| format!("  {}: {}\n", pair.part.label(), pair.message()));
    text + "Combinations that are not supported\n" + &pairs.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_name_what_a_file_may_say() {
        let schema = schema();
        for (_, place, names) in &LISTS {
            let definition = match (*place, names) {
                (_, Schema(name)) => name,
                ("learner.kind", _) => "Learner",
                ("users.kind", _) => "ClickModel",
                ("ranker.kind", _) => "RankerShape",
                ("privacy.kind", _) => "Privacy",
                ("asynchrony.kind", _) => "Asynchrony",
                _ => continue,
            };
            let variants = variants(&schema["$defs"][definition]);
            assert!(variants.len() > 1, "{place}");
            if let List(names) = names {
                let listed: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
                assert_eq!(listed, variants.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), "{place}");
            }
        }
    }
}
