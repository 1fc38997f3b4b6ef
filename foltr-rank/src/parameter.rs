//! A number that a method cannot work with: its name, its value and what would be right.

use thiserror::Error;

/// A parameter that cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error("{name} = {value} must be {right}")]
pub struct ParameterError {
    pub name: &'static str,
    pub value: f64,
    pub right: &'static str,
}

/// Refuses a number that is not finite or for which a condition does not hold.
pub fn require(name: &'static str, value: f64, holds: bool, right: &'static str) -> Result<(), ParameterError> {
    if holds && value.is_finite() { Ok(()) } else { Err(ParameterError { name, value, right }) }
}

/// All that is wrong.
pub fn problems(checks: impl IntoIterator<Item = Result<(), ParameterError>>) -> Vec<ParameterError> {
    checks.into_iter().filter_map(Result::err).collect()
}

/// Refuses what is not a positive number.
pub fn positive(name: &'static str, value: f64) -> Result<(), ParameterError> {
    require(name, value, value > 0.0, "positive and finite")
}
