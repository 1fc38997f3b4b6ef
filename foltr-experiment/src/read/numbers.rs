//! Numbers that TOML can write and no number type can hold.

use toml::de::{DeTable, DeValue};

use super::Problem;

const INTEGER: &str = "too large: whole numbers go from -9223372036854775808 to 9223372036854775807";
const FLOAT: &str = "too large: numbers go from -1.8e308 to 1.8e308";

/// One problem for each of them, without its line.
pub(super) fn too_large(table: &DeTable<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (key, value) in table.iter() {
        add(key.get_ref(), value.get_ref(), &mut problems);
    }
    problems
}

pub(super) fn is_too_large(problems: &[Problem]) -> bool {
    problems.first().is_some_and(|problem| [INTEGER, FLOAT].contains(&problem.message.as_str()))
}

fn add(path: &str, value: &DeValue<'_>, problems: &mut Vec<Problem>) {
    match value {
        DeValue::Table(table) => {
            for (key, value) in table.iter() {
                add(&format!("{path}.{}", key.get_ref()), value.get_ref(), problems);
            }
        }
        DeValue::Array(elements) => {
            for (i, element) in elements.iter().enumerate() {
                add(&format!("{path}[{i}]"), element.get_ref(), problems);
            }
        }
        DeValue::Integer(number) if i64::from_str_radix(number.as_str(), number.radix()).is_err() => {
            problems.push(Problem::new(path, INTEGER));
        }
        DeValue::Float(number) => {
            let is_infinite = number.as_str().parse().is_ok_and(f64::is_infinite);
            if is_infinite && !number.as_str().contains("inf") {
                problems.push(Problem::new(path, FLOAT));
            }
        }
        _ => {}
    }
}
