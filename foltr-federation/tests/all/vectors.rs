//! Golden vectors, and numbers compared with them.

use serde_json::Value;

pub fn vectors(text: &str) -> Value {
    serde_json::from_str(text).expect("a JSON file")
}

pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// All numbers in a value, nested lists flattened in order.
pub fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        _ => vec![number(value)],
    }
}

pub fn floats(value: &Value) -> Vec<f32> {
    numbers(value).into_iter().map(|value| value as f32).collect()
}

pub fn items(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is not a list"))
}

pub fn assert_close(got: &[f64], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() <= tolerance, "{what}: {got} is not {want}");
    }
}
