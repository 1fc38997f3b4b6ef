//! The JSON schema of experiment files, for editors that complete and check while one types.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::spec::Experiment;

/// The schema of an experiment file, with everything that may be swept.
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut root = generator.into_root_schema_for::<Experiment>().to_value();
    sweep(&mut root);
    root["title"] = "foltr experiment".into();
    root["properties"]["grid"] = grid_section();
    // A section may come from a named axis instead.
    root["required"] = json!(["seeds"]);
    root
}

/// `[grid]`: what `grid/section.rs` reads.
fn grid_section() -> Value {
    json!({
        "type": "object",
        "description": "Named axes, lists that advance together, and points that are left out.",
        "additionalProperties": false,
        "properties": {
            "zip": {
                "type": "object",
                "description": "Axis name -> keys whose lists advance together.",
                "additionalProperties": { "type": "array", "items": { "type": "string" }, "minItems": 2 },
            },
            "axis": {
                "type": "object",
                "description": "Axis name -> label -> sections or dotted keys that are replaced; `remove` lists sections.",
                "additionalProperties": { "type": "object", "additionalProperties": { "type": "object" } },
            },
            "exclude": {
                "type": "array",
                "description": "Leaves out every setting that meets all conditions (axis label or key's value) of one.",
                "items": { "type": "object", "minProperties": 1 },
            },
        },
    })
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
