//! Errors of the device as codes. What an app would do is what tells codes apart; the words are the device's own.

use foltr_client::{ClickError, DeviceError, FederationError, LoadError, LockError, OpenError, Refused};

use crate::border::Failure;
use crate::c_declarations::foltr_status::{
    self, FOLTR_ARGUMENT, FOLTR_BROKEN, FOLTR_CLOSED, FOLTR_CONSENT, FOLTR_FEATURES, FOLTR_FEDERATION, FOLTR_LOCKED,
    FOLTR_NETWORK, FOLTR_STORE, FOLTR_UNKNOWN,
};

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        Self { status: of_opening(&error), message: error.to_string() }
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        Self { status: of_device(&error), message: error.to_string() }
    }
}

fn of_opening(error: &OpenError) -> foltr_status {
    match error {
        OpenError::Lock(LockError::Held { .. }) => FOLTR_LOCKED,
        OpenError::Load(LoadError::Damaged { .. }) => FOLTR_STORE,
        OpenError::Folder { .. } | OpenError::Lock(_) | OpenError::Store(_) => FOLTR_STORE,
        // Options that are wrong, or not those of the folder.
        OpenError::Load(_) | OpenError::Network(_) => FOLTR_ARGUMENT,
        OpenError::Device(error) => of_device(error),
        _ => FOLTR_BROKEN,
    }
}

fn of_device(error: &DeviceError) -> foltr_status {
    match error {
        DeviceError::Refused(refused) => of_refused(refused),
        DeviceError::Store(_) => FOLTR_STORE,
        DeviceError::NotReached(..) => FOLTR_NETWORK,
        DeviceError::Invitation(_) => FOLTR_ARGUMENT,
        _ => FOLTR_BROKEN,
    }
}

fn of_refused(refused: &Refused) -> foltr_status {
    match refused {
        Refused::Features(_) | Refused::Rank(_) => FOLTR_FEATURES,
        Refused::Click(ClickError::Closed(_)) => FOLTR_CLOSED,
        Refused::Click(ClickError::Unknown(_)) => FOLTR_UNKNOWN,
        Refused::Click(_) => FOLTR_ARGUMENT,
        Refused::Federation(error) => of_federation(error),
        Refused::OtherFederation { .. } | Refused::BeingForgotten { .. } => FOLTR_FEDERATION,
        _ => FOLTR_BROKEN,
    }
}

fn of_federation(error: &FederationError) -> foltr_status {
    match error {
        FederationError::NotReached { .. } | FederationError::Server { .. } => FOLTR_NETWORK,
        FederationError::NeedsConsent { .. } => FOLTR_CONSENT,
        _ => FOLTR_FEDERATION,
    }
}

#[cfg(test)]
mod tests {
    use foltr_client::{Consent, FeatureError, ImpressionId, NetworkError, NotReached, SchemaError, StoreError};

    use super::*;

    #[test]
    fn errors_have_the_code_of_what_to_do_about_them() {
        let list = ImpressionId(3);
        let status = |refused: Refused| of_device(&refused.into());
        assert_eq!(status(FeatureError::NoCandidates.into()), FOLTR_FEATURES);
        assert_eq!(status(ClickError::Closed(list).into()), FOLTR_CLOSED);
        assert_eq!(status(ClickError::Unknown(list).into()), FOLTR_UNKNOWN);
        assert_eq!(status(ClickError::Position { position: 3, n_shown: 3 }.into()), FOLTR_ARGUMENT);
        assert_eq!(status(Refused::BeingForgotten { address: String::new() }), FOLTR_FEDERATION);

        let status = |error: FederationError| of_refused(&error.into());
        let needs = FederationError::NeedsConsent { needed: Consent::NoPromise, words: String::new() };
        assert_eq!(status(needs), FOLTR_CONSENT);
        assert_eq!(status(FederationError::NotReached { seconds: 1 }), FOLTR_NETWORK);
        let server = FederationError::Server { status: 503, problem: String::new(), seconds: 1 };
        assert_eq!(status(server), FOLTR_NETWORK);
        assert_eq!(status(FederationError::Forged { what: "plan" }), FOLTR_FEDERATION);

        let not_reached =
            DeviceError::NotReached(FederationError::NotReached { seconds: 1 }, NotReached(String::new()));
        assert_eq!(of_device(&not_reached), FOLTR_NETWORK);
        assert_eq!(of_device(&DeviceError::Broken), FOLTR_BROKEN);
    }

    #[test]
    fn errors_of_opening_are_about_options_or_about_the_folder() {
        let damaged = LoadError::Damaged { item: "a state", why: String::new() };
        assert_eq!(of_opening(&damaged.into()), FOLTR_STORE);
        assert_eq!(of_opening(&LoadError::from(SchemaError::Empty).into()), FOLTR_ARGUMENT);
        assert_eq!(of_opening(&NetworkError::Certificates(String::new()).into()), FOLTR_ARGUMENT);
        assert_eq!(of_opening(&StoreError::Full { file: "device.db".into() }.into()), FOLTR_STORE);
        let held = LockError::Held { folder: "device".into(), holder: "process 1".into() };
        assert_eq!(of_opening(&held.into()), FOLTR_LOCKED);
    }
}
