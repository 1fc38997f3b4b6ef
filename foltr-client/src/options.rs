//! What a host decides about its device. Everything has a default but the features.

use foltr_federation::Guarantee;
use foltr_federation::protocol::FeatureSchema;
use foltr_rank::adoption::AdoptionRule;
use foltr_rank::learn::PdgdParameters;
use foltr_rank::learn::pdgd::Updates;
use foltr_rank::personal::Personalisation;
use foltr_rank::{Initialisation, Params, RankerShape};

const DAY: u64 = 24 * 60 * 60;

/// How a device works, whether alone or in a federation.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// What the numbers of a document mean. A folder is for one schema, and so is a federation.
    pub features: FeatureSchema,
    /// Learning without a federation.
    pub alone: LocalLearning,
    /// When a release is refused; without a rule every release is adopted.
    pub adoption: Option<AdoptionRule>,
    pub retention: Retention,
    /// The most that the owner wants to spend in a federation, if that is less than the plan's budget.
    pub budget: Option<Guarantee>,
    /// Uploads wait for a random time of at most so many seconds.
    pub upload_delay: u64,
    pub network: Network,
}

/// How a device learns before it joins a federation, and whenever it shows its own model.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalLearning {
    pub ranker: RankerShape,
    /// Where learning starts: as many values as the ranker has, or the ranker's own initialisation.
    pub model: Option<Params>,
    pub learner: PdgdParameters,
    /// Documents that are ranked by the model. Those beyond stay in the host's order.
    pub list_length: usize,
    /// A ranker of one's own beside the model; none of those with clusters.
    pub personalisation: Option<Personalisation>,
}

/// How long lists are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Open lists at most; beyond that the one whose last event is the longest ago ends.
    pub open_lists: usize,
    /// Seconds without an event after which a list ends.
    pub list_timeout: u64,
    /// Seconds for which ended lists with clicks are stored, to compare releases on. How many is in the adoption rule.
    pub ended_lists: u64,
}

/// How the server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// Such as `http://proxy.example.org:3128`; none by default, whatever the environment says.
    pub proxy: Option<String>,
    /// Certificates of one's own authority, in PEM form, in place of the public ones.
    pub certificate_authority: Option<Vec<u8>>,
    pub timeout: u64,
}

impl Options {
    pub fn new(features: FeatureSchema) -> Self {
        Self {
            features,
            alone: LocalLearning::default(),
            adoption: Some(AdoptionRule { error: 0.05, lists: 1_000 }),
            retention: Retention::default(),
            budget: None,
            upload_delay: 60,
            network: Network::default(),
        }
    }
}

impl Default for LocalLearning {
    fn default() -> Self {
        Self {
            ranker: RankerShape::Linear { initialisation: Initialisation::Zero },
            model: None,
            learner: PdgdParameters {
                learning_rate: 0.1,
                updates: Updates::Immediate,
                proximal: None,
                max_displacement: None,
            },
            list_length: 10,
            personalisation: None,
        }
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self { open_lists: 200, list_timeout: DAY, ended_lists: 365 * DAY }
    }
}

impl Default for Network {
    fn default() -> Self {
        Self { proxy: None, certificate_authority: None, timeout: 30 }
    }
}
