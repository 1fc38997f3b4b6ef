//! A device asks to be forgotten.

use super::Service;
use crate::call::{Answer, Call};
use crate::federation::Federation;
use crate::problem::{Name, Problem};
use crate::rounds::RoundError;

impl Service {
    pub(super) fn forget(&self, federation: &Federation, call: &Call) -> Result<Answer, Problem> {
        let _ = (federation, call);
        Err(Problem::new(Name::CannotForget, "not yet"))
    }

    pub(super) fn deletion_receipt(&self, federation: &Federation, call: &Call, _: &str) -> Result<Answer, Problem> {
        let _ = (federation, call);
        Err(Problem::new(Name::CannotForget, "not yet"))
    }

    /// On behalf of a device's owner.
    pub(crate) fn forget_for(
        &self,
        _: &Federation,
        _: &foltr_federation::protocol::DeviceId,
    ) -> Result<crate::operator::Done, crate::operator::OperatorError> {
        Err(crate::operator::OperatorError::Refused("not yet".into()))
    }

    pub(crate) fn forget_queued(&self, _: &Federation) -> Result<(), RoundError> {
        Ok(())
    }
}
