//! `grid.exclude`: points that are left out.

use toml::{Table, Value};

use super::expand::{Point, label_of};
use super::is_same_label;
use crate::read::value_at;
use crate::spec::Problem;

/// Leaves out every point that meets all conditions of one of the exclusions.
///
/// With `is_part`, the file is run in part only, and what an exclusion names may be missing.
pub fn exclude(exclusions: &[Table], is_part: bool, points: &mut Vec<Point>, problems: &mut Vec<Problem>) {
    let meets_all = |point: &Point, conditions: &Table| {
        !conditions.is_empty() && conditions.iter().all(|(key, value)| meets(point, key, value))
    };
    for (i, conditions) in exclusions.iter().enumerate().filter(|_| !is_part) {
        let place = format!("grid.exclude[{i}]");
        if let Some(key) = conditions.keys().find(|key| !points.iter().any(|point| is_known(point, key))) {
            problems.push(Problem::new(format!("{place}.{key}"), format!("no setting has an axis or key `{key}`")));
        } else if !points.is_empty() && !points.iter().any(|point| meets_all(point, conditions)) {
            problems.push(Problem::new(place, "leaves out nothing: no setting meets all of these conditions"));
        }
    }
    let before = points.len();
    points.retain(|point| !exclusions.iter().any(|conditions| meets_all(point, conditions)));
    if before > 0 && points.is_empty() {
        problems.push(Problem::new("grid.exclude", "leaves out every setting"));
    }
}

/// Leaves out every point that has other labels on an axis. A point without the axis stays.
pub fn only(axes: &Table, points: &mut Vec<Point>, problems: &mut Vec<Problem>) {
    for (axis, labels) in axes {
        let place = format!("grid.only.{axis}");
        let all = [labels.clone()];
        let labels: &[Value] = labels.as_array().map_or(&all, Vec::as_slice);
        let has = |point: &Point| point.labels.iter().any(|(name, _)| name == axis);
        if !points.iter().any(has) {
            problems.push(Problem::new(place, format!("no setting has an axis `{axis}`")));
            continue;
        }
        let missing = labels.iter().find(|label| !points.iter().any(|point| has(point) && meets(point, axis, label)));
        if let Some(label) = missing {
            problems.push(Problem::new(place, format!("no setting has the label {label} on this axis")));
            continue;
        }
        points.retain(|point| !has(point) || labels.iter().any(|label| meets(point, axis, label)));
    }
}

fn is_known(point: &Point, key: &str) -> bool {
    point.labels.iter().any(|(axis, _)| axis == key) || value_at(&point.table, key).is_some()
}

/// Whether a point has a label or value, or one of several.
fn meets(point: &Point, key: &str, condition: &Value) -> bool {
    let label = point.labels.iter().find(|(axis, _)| axis == key).map(|(_, label)| label);
    let meets_one = |condition: &Value| {
        label.is_some_and(|label| is_same_label(label, &label_of(condition, &[])))
            || value_at(&point.table, key).is_some_and(|value| value == condition)
    };
    match condition {
        Value::Array(any) => any.iter().any(meets_one),
        single => meets_one(single),
    }
}
