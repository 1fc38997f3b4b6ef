//! Visible features from hidden factors: informative, redundant, weak, useless, constant, or the same for a query.
//!
//! Only arithmetic and square roots are used, so that data are the same on every machine.

use foltr_rank::rng::Stream;
use rand::RngExt;
use rand::seq::SliceRandom;

use super::shape::SyntheticShape;

/// Where a feature's value comes from, before scaling.
#[derive(Clone, Copy, Debug)]
enum Role {
    /// Mostly one factor, a little of a second, some noise.
    Informative {
        factor: usize,
        second: usize,
    },
    /// Nearly a copy of an earlier column.
    Redundant {
        of: usize,
    },
    /// A trace of a factor under noise.
    Weak {
        factor: usize,
    },
    Useless,
    /// The same for all documents of a query, as the length of a query is.
    OfQuery {
        factor: usize,
    },
    /// The same for all documents.
    Constant,
}

#[derive(Clone, Copy, Debug)]
enum Scale {
    /// Between 0 and 1.
    Unit,
    /// Between 0 and 1, and 0 for half the documents, as for terms that do not occur in a field.
    Sparse,
    /// A whole number, as a count of terms.
    Count,
    /// Negative, as a language model's score.
    Score,
    /// Large, as a length or a number of visits.
    Large,
}

#[derive(Clone, Copy, Debug)]
struct Column {
    role: Role,
    scale: Scale,
    /// Where the feature is in the row.
    position: usize,
}

#[derive(Clone, Debug)]
pub(super) struct FeaturePlan {
    columns: Vec<Column>,
}

impl FeaturePlan {
    /// Draws roles in fixed shares and places them at random. Every factor shows in at least one informative feature.
    pub(super) fn draw(stream: &mut Stream, shape: SyntheticShape, n_factors: usize) -> Self {
        let n_features = shape.n_features();
        let mut positions: Vec<usize> = (0..n_features).collect();
        positions.shuffle(stream);
        let scales: &[Scale] = if shape.is_unit_range() {
            &[Scale::Unit, Scale::Unit, Scale::Sparse]
        } else {
            &[Scale::Count, Scale::Score, Scale::Large, Scale::Sparse, Scale::Unit]
        };
        let column = |(i, position)| {
            let role = draw_role(stream, i, n_features, n_factors);
            // A factor's first feature keeps both its halves visible.
            let scale = if i < n_factors && shape.is_unit_range() { Scale::Unit } else { scales[i % scales.len()] };
            Column { role, scale, position }
        };
        Self { columns: positions.into_iter().enumerate().map(column).collect() }
    }

    pub(super) fn n_columns(&self) -> usize {
        self.columns.len()
    }

    /// Writes one document's features. `noise` has a standard normal number for each; `hidden` is scratch space.
    pub(super) fn write(&self, factors: &[f32], topic: &[f32], noise: &[f32], hidden: &mut Vec<f32>, row: &mut [f32]) {
        hidden.clear();
        for (column, &noise) in self.columns.iter().zip(noise) {
            let value = match column.role {
                Role::Informative { factor, second } => 0.85 * factors[factor] + 0.3 * factors[second] + 0.35 * noise,
                Role::Redundant { of } => hidden[of] + 0.15 * noise,
                Role::Weak { factor } => 0.3 * factors[factor] + noise,
                Role::Useless => noise,
                Role::OfQuery { factor } => 1.5 * topic[factor],
                Role::Constant => 0.5,
            };
            hidden.push(value);
            row[column.position] = scaled(value, column.scale);
        }
    }
}

fn draw_role(stream: &mut Stream, i: usize, n_features: usize, n_factors: usize) -> Role {
    let factor = i % n_factors;
    if i < n_factors {
        return Role::Informative { factor, second: (factor + 1) % n_factors };
    }
    if i == n_features - 1 {
        return Role::Constant;
    }
    // Of twenty features: six informative, five redundant, four weak, three useless, one of the query, one constant.
    match i % 20 {
        0..6 => Role::Informative { factor: stream.random_range(0..n_factors), second: factor },
        6..11 => Role::Redundant { of: stream.random_range(0..i) },
        11..15 => Role::Weak { factor },
        15..18 => Role::Useless,
        18 => Role::OfQuery { factor },
        _ => Role::Constant,
    }
}

fn scaled(value: f32, scale: Scale) -> f32 {
    let unit = 0.5 + 0.5 * value / (1.0 + value.abs());
    let raw = match scale {
        Scale::Unit => unit,
        Scale::Sparse => (2.0 * unit - 1.0).max(0.0),
        Scale::Count => (4.0 * (value + 1.0).max(0.0).powi(2)).trunc(),
        Scale::Score => 6.0 * value - 20.0,
        Scale::Large => (1000.0 * (value + 3.0).max(0.0).powi(2)).trunc(),
    };
    // Six decimals, as LETOR files have.
    ((f64::from(raw) * 1e6).round() / 1e6) as f32
}
