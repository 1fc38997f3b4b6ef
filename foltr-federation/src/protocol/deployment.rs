//! What a finished simulation leaves for the server that deploys it: its plan, or everything that is in the way of one.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::plan::PlanProblem;
use crate::protocol::canonical::CanonicalError;
use crate::protocol::features::FeatureSchema;
use crate::protocol::plan::{Plan, PlanError};
use crate::protocol::signed::Document;

const FORMAT: u64 = 1;

/// The file `deploy.json` of a run.
///
/// ```
/// use foltr_federation::FederationPlan;
/// use foltr_federation::protocol::{Deployment, FeatureSchema, Normalisation, Plan};
/// use foltr_rank::learn::PdgdParameters;
/// use foltr_rank::learn::pdgd::Updates;
/// use foltr_rank::{Initialisation, Learner, RankerShape};
///
/// let pdgd = PdgdParameters { learning_rate: 0.1, updates: Updates::Immediate, proximal: None, max_displacement: None };
/// let ranker = RankerShape::Linear { initialisation: Initialisation::Zero };
/// let federation = FederationPlan::averaging(Learner::Pdgd(pdgd), ranker, 100, 4, 50);
/// let features = FeatureSchema::numbered(46, Normalisation::Query);
/// let plan = Some(Plan::new(federation, &features, false)?);
/// let deployment = Deployment { plan, features, problems: Vec::new() };
/// assert_eq!(Deployment::from_json(&deployment.to_json()?)?, deployment);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Deployment {
    /// Nothing if there are problems.
    pub plan: Option<Plan>,
    /// Of the documents that the model was trained with.
    pub features: FeatureSchema,
    /// By key of the experiment file.
    pub problems: Vec<PlanProblem>,
}

#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum DeploymentError {
    #[error("not the JSON that is expected: {0}")]
    Json(String),
    #[error("is of format {got}; this program reads format {FORMAT}")]
    Format { got: u64 },
    #[error("has a plan and {n_problems} problems; expected a plan, or what is in the way of one")]
    PlanOrProblems { n_problems: usize },
    #[error("has neither a plan nor a problem; expected one of them")]
    Nothing,
    #[error("features: {0}")]
    Features(CanonicalError),
    #[error(transparent)]
    Plan(#[from] PlanError),
}

#[derive(Deserialize)]
struct Format {
    format: u64,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Written {
    format: u64,
    plan: Option<Plan>,
    features: FeatureSchema,
    problems: Vec<WrittenProblem>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenProblem {
    key: String,
    message: String,
}

impl Deployment {
    /// The same deployment always has the same bytes, those of the plan among them.
    pub fn to_json(&self) -> Result<Vec<u8>, DeploymentError> {
        self.check()?;
        let problems =
            self.problems.iter().cloned().map(|PlanProblem { key, message }| WrittenProblem { key, message });
        let written = Written {
            format: FORMAT,
            plan: self.plan.clone(),
            features: self.features.clone(),
            problems: problems.collect(),
        };
        serde_json_canonicalizer::to_vec(&written).map_err(json)
    }

    /// Reads what [`Self::to_json`] writes, with any white space. A plan is one that [`Plan::admit`] admits.
    pub fn from_json(bytes: &[u8]) -> Result<Self, DeploymentError> {
        // The format first: a later one may have other keys.
        let Format { format: got } = serde_json::from_slice(bytes).map_err(json)?;
        if got != FORMAT {
            return Err(DeploymentError::Format { got });
        }
        let Written { plan, features, problems, .. } = serde_json::from_slice(bytes).map_err(json)?;
        let problems = problems.into_iter().map(|WrittenProblem { key, message }| PlanProblem { key, message });
        let deployment = Self { plan, features, problems: problems.collect() };
        deployment.check()?;
        Ok(deployment)
    }

    fn check(&self) -> Result<(), DeploymentError> {
        self.features.encode().map_err(DeploymentError::Features)?;
        match (&self.plan, self.problems.len()) {
            (None, 0) => Err(DeploymentError::Nothing),
            (Some(_), n_problems @ 1..) => Err(DeploymentError::PlanOrProblems { n_problems }),
            (Some(plan), 0) => Ok(Plan::decode(&plan.encode()?)?.admit(&self.features)?),
            (None, _) => Ok(()),
        }
    }
}

fn json(error: serde_json::Error) -> DeploymentError {
    DeploymentError::Json(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FederationPlan;
    use crate::protocol::Normalisation;
    use foltr_rank::learn::PdgdParameters;
    use foltr_rank::learn::pdgd::Updates;
    use foltr_rank::{Initialisation, Learner, RankerShape};

    fn plan(features: &FeatureSchema, simulated: bool) -> Plan {
        let pdgd =
            PdgdParameters { learning_rate: 0.1, updates: Updates::Immediate, proximal: None, max_displacement: None };
        let ranker = RankerShape::Linear { initialisation: Initialisation::Zero };
        let federation = FederationPlan::averaging(Learner::Pdgd(pdgd), ranker, 100, 4, 50);
        Plan::new(federation, features, simulated).expect("a sound plan")
    }

    fn deployable() -> Deployment {
        let features = FeatureSchema::numbered(3, Normalisation::Query);
        Deployment { plan: Some(plan(&features, false)), features, problems: Vec::new() }
    }

    fn refused() -> Deployment {
        let problem = PlanProblem { key: "attack".into(), message: "attackers are \"simulated\"".into() };
        Deployment { plan: None, problems: vec![problem], ..deployable() }
    }

    fn text(deployment: &Deployment) -> String {
        String::from_utf8(deployment.to_json().expect("sound")).expect("JSON is UTF-8")
    }

    #[test]
    fn what_is_written_is_read() {
        for deployment in [deployable(), refused()] {
            assert_eq!(Deployment::from_json(text(&deployment).as_bytes()), Ok(deployment.clone()));
            let spaced = text(&deployment).replacen('{', "\n{ ", 1) + "\n";
            assert_eq!(Deployment::from_json(spaced.as_bytes()), Ok(deployment));
        }
        let plan = deployable().plan.expect("deployable").encode().expect("exact");
        assert!(text(&deployable()).contains(std::str::from_utf8(&plan).expect("JSON")), "the plan's canonical bytes");
    }

    #[test]
    fn anything_else_is_a_named_error() {
        let (sound, own) = (text(&deployable()), deployable().features);
        let replaced = |from: &str, to: &str| {
            assert!(sound.contains(from), "{from} in {sound}");
            Deployment::from_json(sound.replacen(from, to, 1).as_bytes())
        };
        assert_eq!(replaced("\"format\":1", "\"format\":2,\"more\":0"), Err(DeploymentError::Format { got: 2 }));
        for (from, to) in [
            ("\"format\":1", "\"format\":1,\"more\":0"),
            ("\"format\":1", "\"format\":1,\"format\":1"),
            ("\"format\":1", "\"format\":-1"),
            ("\"simulated\":", "\"more\":0,\"simulated\":"),
            ("\"problems\":[]", "\"problems\":0"),
            ("\"kind\":\"number\"", "\"kind\":\"word\""),
        ] {
            assert!(matches!(replaced(from, to), Err(DeploymentError::Json(_))), "{to}");
        }
        let protocol = Err(DeploymentError::Plan(PlanError::Protocol { got: 9 }));
        assert_eq!(replaced("\"protocol\":2", "\"protocol\":9"), protocol);
        let learner = replaced("\"n_interactions\":4", "\"n_interactions\":0");
        assert!(matches!(learner, Err(DeploymentError::Plan(PlanError::Problems(_)))), "{learner:?}");
        let features = replaced("\"name\":\"2\"", "\"name\":\"bm25\"");
        assert!(matches!(features, Err(DeploymentError::Plan(PlanError::Features { .. }))), "{features:?}");
        let simulated = Deployment { plan: Some(plan(&own, true)), ..deployable() };
        assert_eq!(simulated.to_json(), Err(DeploymentError::Plan(PlanError::Simulated)));
        assert_eq!(replaced("\"simulated\":false", "\"simulated\":true"), simulated.to_json().map(|_| simulated));
        let both = Deployment { problems: refused().problems, ..deployable() };
        assert_eq!(both.to_json(), Err(DeploymentError::PlanOrProblems { n_problems: 1 }));
        let nothing = Deployment { plan: None, ..deployable() };
        assert_eq!(nothing.to_json(), Err(DeploymentError::Nothing));
        (0..sound.len()).for_each(|end| assert!(Deployment::from_json(&sound.as_bytes()[..end]).is_err(), "{end}"));
    }
}
