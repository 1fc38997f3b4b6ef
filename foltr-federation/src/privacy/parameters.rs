//! From the parameters of a mechanism, as files have them, to the mechanism.

use foltr_rank::learn::evolution::Reward;

use super::{Budget, Circumstances, Claim, LocalPrivacy};
use foltr_rank::parameter::ParameterError;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MechanismContext {
    /// What an outcome of FOLtR-ES is worth; steps have no outcomes.
    pub reward: Reward,
    pub list_length: usize,
    pub n_rounds: u32,
    pub circumstances: Circumstances,
}

/// A mechanism that cannot be made, and the key to blame.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {message}")]
pub struct MechanismError {
    pub key: &'static str,
    pub message: String,
}

impl MechanismError {
    pub fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self { key, message: message.into() }
    }
}

impl From<ParameterError> for MechanismError {
    fn from(error: ParameterError) -> Self {
        Self::new(error.name, format!("must be {}", error.right))
    }
}

pub trait MechanismParameters {
    type Mechanism: LocalPrivacy;

    /// Whether the mechanism or its cost depends on the number of parameters of the model.
    const DEPENDS_ON_MODEL: bool = false;

    /// Whether attacks, robust rules and shards are defined on what it sends.
    const ADMITS_SINGLE_UPDATES: bool = false;

    fn mechanism(&self, context: &MechanismContext) -> Result<Self::Mechanism, MechanismError>;

    /// The guarantee over the whole run to which the mechanism is calibrated, if it is.
    fn whole_run(&self) -> Option<Budget> {
        None
    }

    /// What a paper or the file says that the mechanism guarantees.
    fn claim(&self, _: &Self::Mechanism) -> Option<Claim> {
        self.whole_run().map(Claim::of_file)
    }
}

/// A parameter as it is given, or calibrated to a whole run: exactly one of the two.
pub(super) fn given_or_calibrated(
    key: &'static str,
    given: Option<f64>,
    whole_run: Option<Budget>,
    calibrate: impl FnOnce(Budget) -> f64,
) -> Result<f64, MechanismError> {
    match (given, whole_run) {
        (Some(value), None) => Ok(value),
        (None, Some(budget)) => {
            budget
                .check()
                .map_err(|error| MechanismError::new("whole_run", format!("{} {}", error.key, error.message)))?;
            Ok(calibrate(budget))
        }
        (None, None) => {
            Err(MechanismError::new("", format!("give `{key}`, or `whole_run = {{ epsilon = .., delta = .. }}`")))
        }
        (Some(_), Some(_)) => Err(MechanismError::new(key, format!("give either `{key}` or `whole_run`, not both"))),
    }
}
