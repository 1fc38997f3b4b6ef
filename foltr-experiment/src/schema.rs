//! The JSON schema of experiment files, for editors that complete and check while one types.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::mimic::MimicExperiment;
use crate::spec::Experiment;

/// What studies have beside an experiment, and `[grid]`. Written by hand: keys of `[quick]` and of selections are free.
const STUDY: &str = include_str!("schema/study.json");

#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is wanted")]
struct Files {
    training: Experiment,
    mimic: MimicExperiment,
}

/// Everything that a plain file may say, without lists of values to try: `Experiment`, `MimicExperiment`, and the types of
/// their sections.
pub fn definitions() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    generator.into_root_schema_for::<Files>().to_value()["$defs"].take()
}

/// The schema of an experiment file, of training or mimic learning, with everything that may be swept.
pub fn schema() -> Value {
    let mut definitions = definitions();
    sweep(&mut definitions);
    // What a file leaves out is as in the paper.
    definitions["NetworkSettings"]["required"] = json!([]);
    let mut study: Value = serde_json::from_str(STUDY).expect("our own file is JSON");
    for file in ["Experiment", "MimicExperiment"] {
        extend(&mut definitions[file]["properties"], study["properties"].clone());
        // A section may come from a named axis or a collection instead.
        definitions[file]["required"] = json!(["seeds"]);
    }
    definitions["MimicExperiment"]["additionalProperties"] = false.into();
    extend(&mut definitions, study["$defs"].take());
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "foltr experiment",
        "$defs": definitions,
        "if": { "required": ["supervision"] },
        "then": { "$ref": "#/$defs/MimicExperiment" },
        "else": { "$ref": "#/$defs/Experiment" },
    })
}

fn extend(object: &mut Value, more: Value) {
    if let (Value::Object(object), Value::Object(more)) = (object, more) {
        object.extend(more);
    }
}

/// Lets every value be a list of values to try, at every depth.
fn sweep(schema: &mut Value) {
    match schema {
        Value::Object(keys) => {
            if let Some(Value::Object(properties)) = keys.get_mut("properties") {
                properties
                    .iter_mut()
                    .filter(|(name, _)| !matches!(name.as_str(), "kind" | "seeds"))
                    .for_each(one_or_many);
            }
            keys.values_mut().for_each(sweep);
        }
        Value::Array(elements) => elements.iter_mut().for_each(sweep),
        _ => {}
    }
}

/// A property as one value or a list of them; its description stays where editors look for it.
fn one_or_many((_, property): (&String, &mut Value)) {
    let mut one = std::mem::take(property);
    let mut outer = Map::new();
    if let Some(keys) = one.as_object_mut() {
        for name in ["description", "default"] {
            outer.extend(keys.remove(name).map(|value| (name.to_owned(), value)));
        }
    }
    outer.insert("anyOf".into(), json!([one, { "type": "array", "items": one, "minItems": 1 }]));
    *property = Value::Object(outer);
}
