//! A number that a mechanism or an optimiser cannot work with, told by its name, its value and what would be right.

use thiserror::Error;

/// A parameter that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("{name} = {value} must be {right}")]
pub struct BadParameter {
    /// Which parameter.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// What it must be.
    pub right: &'static str,
}

/// Refuses a number that is not finite or for which a condition does not hold.
pub fn require(name: &'static str, value: f64, holds: bool, right: &'static str) -> Result<(), BadParameter> {
    if holds && value.is_finite() { Ok(()) } else { Err(BadParameter { name, value, right }) }
}

/// Refuses what is not a positive number.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<(), BadParameter> {
    require(name, value, value > 0.0, "positive and finite")
}
