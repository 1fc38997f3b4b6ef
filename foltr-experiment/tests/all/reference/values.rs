//! What a schema says about a value, in words.

use serde_json::Value;

/// The schema that a property stands for: itself, or what it names.
pub fn resolve<'a>(property: &'a Value, definitions: &'a Value) -> &'a Value {
    let named = |schema: &'a Value| {
        let name = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next());
        name.map(|name| &definitions[name])
    };
    if let Some(schema) = named(property) {
        return schema;
    }
    let options = property["anyOf"].as_array().into_iter().flatten();
    let items = property.get("items").into_iter();
    options.chain(items).find_map(named).unwrap_or(property)
}

/// Whether it has keys that are worth a table of their own.
pub fn is_nested(schema: &Value) -> bool {
    let has_kinds = |kind: &Value| kind["properties"]["kind"]["const"].is_string();
    schema["properties"].is_object() || schema["oneOf"].as_array().is_some_and(|kinds| kinds.iter().any(has_kinds))
}

pub fn one_line(schema: &Value) -> Option<String> {
    let text = schema["description"].as_str()?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    Some(if text.ends_with(['.', ':', ')']) { text } else { text + "." })
}

pub fn type_of(schema: &Value, definitions: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        let named = &definitions[name];
        return match named["type"].as_str() {
            // A text with a form of its own, such as a metric: its description names the forms.
            Some("string") if named["description"].is_string() => one_line(named).unwrap_or_default(),
            _ => type_of(named, definitions),
        };
    }
    if let Some(value) = schema["const"].as_str() {
        return format!("`\"{value}\"`");
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(options) = schema[key].as_array() {
            if is_nested(schema) {
                return "a table, below".into();
            }
            let options = options.iter().filter(|option| option["type"] != "null");
            let mut names: Vec<String> = options.map(|option| type_of(option, definitions)).collect();
            names.dedup();
            return names.join(" or ");
        }
    }
    if let Some(values) = schema["enum"].as_array() {
        let names: Vec<String> = values.iter().filter_map(Value::as_str).map(|name| format!("`\"{name}\"`")).collect();
        return names.join(" or ");
    }
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    match kinds.iter().find(|kind| **kind != "null") {
        Some(&"integer") => "whole number".into(),
        Some(&"number") => "number".into(),
        Some(&"boolean") => "`true` or `false`".into(),
        Some(&"string") => "text".into(),
        Some(&"array") => format!("list of: {}", type_of(&schema["items"], definitions)),
        Some(&"object") => table_of(schema, definitions),
        _ => "any value".into(),
    }
}

/// `{ every = whole number }`, or a table of its own.
fn table_of(schema: &Value, definitions: &Value) -> String {
    let properties = schema["properties"].as_object();
    match properties.map(|keys| keys.iter().collect::<Vec<_>>()).as_deref() {
        Some([(key, value)]) => format!("`{{ {key} = ... }}`, {}", type_of(value, definitions)),
        Some(_) => "a table, below".into(),
        None => "a table".into(),
    }
}
