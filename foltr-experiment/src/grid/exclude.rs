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
    let all = points.len();
    let mut left_out = vec![false; all];
    for (i, conditions) in exclusions.iter().enumerate() {
        let place = format!("grid.exclude[{i}]");
        let unknown = conditions.keys().find(|key| !points.iter().any(|point| is_known(point, key)));
        if let Some(key) = unknown {
            if is_part {
                continue;
            }
            let message = format!("no setting has an axis or key `{key}`");
            problems.push(Problem::new(format!("{place}.{key}"), message));
            continue;
        }
        let mut matched = !conditions.is_empty();
        if matched {
            let meets: Vec<bool> =
                points.iter().map(|point| conditions.iter().all(|(key, wanted)| meets(point, key, wanted))).collect();
            matched = meets.contains(&true);
            left_out.iter_mut().zip(meets).for_each(|(out, meets)| *out |= meets);
        }
        if !matched && all > 0 && !is_part {
            problems.push(Problem::new(place, "leaves out nothing: no setting meets all of these conditions"));
        }
    }
    if all > 0 && left_out.iter().all(|&out| out) {
        problems.push(Problem::new("grid.exclude", "leaves out every setting"));
    }
    let mut left_out = left_out.into_iter();
    points.retain(|_| !left_out.next().unwrap_or(false));
}

/// Leaves out every point whose label on an axis is not among those wanted. A point without the axis stays.
pub fn only(wanted: &Table, points: &mut Vec<Point>, problems: &mut Vec<Problem>) {
    for (axis, labels) in wanted {
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

/// Whether a point has the wanted label or value, or one of several.
fn meets(point: &Point, key: &str, wanted: &Value) -> bool {
    let label = point.labels.iter().find(|(axis, _)| axis == key).map(|(_, label)| label);
    let one = |wanted: &Value| {
        label.is_some_and(|label| is_same_label(label, &label_of(wanted, &[])))
            || value_at(&point.table, key).is_some_and(|value| value == wanted)
    };
    match wanted {
        Value::Array(any) => any.iter().any(one),
        single => one(single),
    }
}
