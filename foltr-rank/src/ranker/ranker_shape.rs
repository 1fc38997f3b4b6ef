//! The form of a ranker and its first parameters, as files name them, before the number of features is known.

use serde::{Deserialize, Serialize};

use crate::parameter::{ParameterError, problems, require};
use crate::params::{Activation, Initialisation, Shape};

/// Beyond any use, and within any memory.
const MAX_HIDDEN: usize = 65_536;

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

    /// Every parameter that is out of range.
    pub fn check(&self) -> Vec<ParameterError> {
        let hidden = if let Self::Mlp { hidden, .. } = *self { hidden } else { 1 };
        let norm = if let Initialisation::RandomNorm { norm } = self.initialisation() { norm } else { 1.0 };
        problems([
            require("hidden", hidden as f64, (1..=MAX_HIDDEN).contains(&hidden), "1 to 65536"),
            require("initialisation.norm", norm.into(), norm > 0.0, "a positive number; use kind = \"zero\" for 0"),
        ])
    }

    /// What the parameter vector means for documents with `n_features` features.
    pub const fn shape(&self, n_features: usize) -> Shape {
        match *self {
            Self::Linear { .. } => Shape::Linear { n_features },
            Self::Mlp { hidden, activation, .. } => Shape::Mlp { n_features, n_hidden: hidden, activation },
        }
    }

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
