//! The plan of the demonstration.

use foltr_client::Consent;
use foltr_federation::privacy::{Budget, CentralDiscreteGaussianParameters, Clip, DuchiParameters};
use foltr_federation::{FederationPlan, Privacy};
use foltr_rank::learn::PdgdParameters;
use foltr_rank::learn::pdgd::Updates;
use foltr_rank::{Initialisation, Learner, RankerShape};

use crate::arguments::{Arguments, PrivacyChoice};

/// Searches behind one message.
const N_INTERACTIONS: usize = 4;

/// Federated averaging of a linear ranker by everyone.
pub fn plan(arguments: &Arguments) -> FederationPlan {
    let ranker = RankerShape::Linear { initialisation: Initialisation::Zero };
    let pdgd =
        PdgdParameters { learning_rate: 1.0, updates: Updates::Immediate, proximal: None, max_displacement: None };
    let (n_clients, n_rounds) = (arguments.devices as usize, arguments.rounds as usize);
    let privacy = match arguments.privacy {
        PrivacyChoice::None => Privacy::NONE,
        PrivacyChoice::Central => Privacy::CentralDiscreteGaussian(CentralDiscreteGaussianParameters {
            clip: Clip::Fixed(1.0),
            noise_multiplier: None,
            epsilon: Some(8.0),
            delta: Some(1e-6),
        }),
        PrivacyChoice::Local => Privacy::Duchi(DuchiParameters {
            epsilon: None,
            bound: 0.2,
            whole_run: Some(Budget { epsilon: 50.0, delta: 1e-6 }),
        }),
    };
    FederationPlan {
        privacy,
        ..FederationPlan::averaging(Learner::Pdgd(pdgd), ranker, n_clients, N_INTERACTIONS, n_rounds)
    }
}

/// What the owners of the devices are content with.
pub const fn consent(privacy: PrivacyChoice) -> Consent {
    match privacy {
        PrivacyChoice::None => Consent::NoPromise,
        PrivacyChoice::Central => Consent::TrustedServer,
        PrivacyChoice::Local => Consent::ProtectedMessages,
    }
}
