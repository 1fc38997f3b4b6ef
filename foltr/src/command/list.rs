//! `foltr list`: every name that an experiment file can use.

use anyhow::Result;
use foltr_federation::{Aggregation, Asynchrony, Combination, Privacy, ServerOptimiser, Unlearning};
use foltr_rank::metric::Metric;
use foltr_rank::personal::Personalisation;
use foltr_rank::{Learner, RankerShape};
use foltr_simulation::adversary::Attack;
use foltr_simulation::click::{ClickModel, Preset};
use foltr_simulation::partition::Partition;
use serde::Serialize;
use serde_json::{Value, json};

use super::End;
use crate::output::{self, say};
use foltr_experiment::schema::schema;

enum Names {
    List(&'static [(&'static str, &'static str)]),
    /// A definition of the schema, whose variants say what they are.
    Schema(&'static str),
}

use Names::{List, Schema};

const LISTS: [(&str, &str, Names); 22] = [
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
    ("Mimic learning: what teachers learn from", "supervision.kind", Schema("Supervision")),
    ("Mimic learning: from the teachers' answers to labels", "aggregation.method.kind", Schema("AggregationMethod")),
    ("Mimic learning: from words to a text", "teacher.composition, student.composition", Schema("Composition")),
    ("Mimic learning: word vectors", "teacher.embeddings.kind, student.embeddings.kind", Schema("EmbeddingSource")),
    ("Mimic learning: text collections, with data.kind = \"text\"", "data.form", Schema("Form")),
];

/// The names that a key can have.
#[derive(Serialize)]
struct NamesOfKey {
    title: &'static str,
    key: &'static str,
    names: Vec<Name>,
}

#[derive(Serialize)]
struct Name {
    name: String,
    about: String,
}

fn variants(definition: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let variant = |variant: &Value| {
        let name = text(&variant["const"]).or_else(|| text(&variant["properties"]["kind"]["const"]))?;
        Some((name, text(&variant["description"])?.trim_end_matches('.').to_owned()))
    };
    definition["oneOf"].as_array().into_iter().flatten().filter_map(variant).collect()
}

fn lists() -> Vec<NamesOfKey> {
    let schema = schema();
    let list = |(title, key, names): &(&'static str, &'static str, Names)| {
        let names: Vec<(String, String)> = match names {
            List(names) => names.iter().map(|(name, about)| ((*name).to_owned(), (*about).to_owned())).collect(),
            Schema(name) => variants(&schema["$defs"][name]),
        };
        NamesOfKey { title, key, names: names.into_iter().map(|(name, about)| Name { name, about }).collect() }
    };
    LISTS.iter().map(list).collect()
}

pub fn run() -> Result<End> {
    let lists = lists();
    let width = lists.iter().flat_map(|list| &list.names).map(|it| it.name.len()).max().unwrap_or(0);
    for NamesOfKey { title, key, names } in &lists {
        let line = |Name { name, about }: &Name| format!("  {name:width$}  {about}\n");
        say(format_args!("{title} ({key})\n{}", names.iter().map(line).collect::<String>()));
    }
    say("Combinations that are not supported");
    Combination::all().for_each(|pair| say(format_args!("  {}: {}", pair.part.label(), pair.message())));
    let pair = |pair: Combination| json!({ "part": pair.part.label(), "message": pair.message() });
    let combinations: Vec<Value> = Combination::all().map(pair).collect();
    output::answer(&json!({ "lists": lists, "combinations": combinations }))?;
    Ok(End::Done)
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
                ("partition.kind", _) => "Partition",
                ("personalisation.kind", _) => "Personalisation",
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
