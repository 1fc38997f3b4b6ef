//! The form of a ranker and its first parameters, as files name them, before the number of features is known.

use serde::{Deserialize, Serialize};

use crate::params::{Activation, Initialisation, Shape};

/// The form of the ranking function and its first parameters.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields, tag = "kind")]
pub enum RankerShape {
    /// A weighted sum of the features.
    Linear {
        /// First parameters.
        initialisation: Initialisation,
    },
    /// One hidden layer.
    Mlp {
        /// Hidden units.
        hidden: usize,
        /// Of the hidden units.
        activation: Activation,
        /// First parameters.
        initialisation: Initialisation,
    },
}

impl RankerShape {
    /// Every form: its name, and what it is.
    pub const LIST: &[(&str, &str)] =
        &[("linear", "A weighted sum of the features"), ("mlp", "One hidden layer of logistic or relu units")];

    /// What the parameter vector means for documents with `n_features` features.
    pub const fn shape(&self, n_features: usize) -> Shape {
        match *self {
            Self::Linear { .. } => Shape::Linear { n_features },
            Self::Mlp { hidden, activation, .. } => Shape::Mlp { n_features, n_hidden: hidden, activation },
        }
    }

    /// First parameters.
    pub const fn initialisation(&self) -> Initialisation {
        match *self {
            Self::Linear { initialisation } | Self::Mlp { initialisation, .. } => initialisation,
        }
    }

    /// A word for tables and setting columns.
    pub fn name(&self) -> String {
        match self {
            Self::Linear { .. } => "linear".into(),
            Self::Mlp { hidden, .. } => format!("mlp-{hidden}"),
        }
    }
}
