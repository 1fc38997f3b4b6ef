//! From an experiment to the plan that devices obey: what of a file goes into it, what is left out, and what is refused.

use foltr_federation::protocol::{Deployment, Document as _, FeatureSchema, Plan, PlanError};
use foltr_federation::{FederationPlan, PlanProblem};

use super::Experiment;

/// What becomes of a key of an experiment file in a plan.
#[derive(Clone, Copy, Debug)]
pub enum Treatment {
    InPlan,
    /// Why a deployment does without it.
    LeftOut(&'static str),
    /// Whether a file has it, and why it cannot be deployed.
    Refused(fn(&Experiment) -> bool, &'static str),
}

use Treatment::{InPlan, LeftOut, Refused};

const MESSAGES_ARE_LOST: &str =
    "real messages get lost without being asked; the plan has 0, and no guarantee counts on losses";
const DEVICES_DIFFER: &str = "real devices bring their own speed, queries and wishes";

/// Every section, and of those that are divided every key.
pub const KEYS: &[(&str, Treatment)] = &[
    ("seeds", LeftOut("randomness comes from the operating system")),
    ("data.normalise", InPlan),
    ("data", LeftOut("devices have documents of their own; the features are in the plan by the hash of their schema")),
    ("clients.n_clients", InPlan),
    ("clients.interactions", InPlan),
    (
        "clients.quantities",
        Refused(
            |experiment| experiment.clients.as_ref().is_some_and(|clients| clients.quantities.is_some()),
            "every device of a plan has the same number of interactions in a round; use interactions",
        ),
    ),
    ("clients.cohort", InPlan),
    ("clients.participation", InPlan),
    ("clients.dropout", LeftOut(MESSAGES_ARE_LOST)),
    ("clients.absent", LeftOut(MESSAGES_ARE_LOST)),
    ("clients.stragglers", LeftOut(DEVICES_DIFFER)),
    ("partition", LeftOut(DEVICES_DIFFER)),
    ("users", LeftOut("people click for themselves")),
    ("ranker", InPlan),
    ("learner", InPlan),
    ("federation", InPlan),
    ("personalisation", InPlan),
    ("asynchrony", InPlan),
    (
        "adoption",
        LeftOut(
            "a device decides for itself which releases it uses; where the plan has privacy, one that refuses a release sends an \
             update of zero, protected like any other",
        ),
    ),
    ("attack", Refused(|experiment| experiment.attack.is_some(), "attackers are simulated; remove the section")),
    ("defence", InPlan),
    ("history", InPlan),
    ("unlearning.clients", LeftOut("who wants to be forgotten asks for it")),
    ("unlearning.order", LeftOut("every request of a client comes by itself")),
    ("unlearning.method", InPlan),
    ("privacy", InPlan),
    ("budget", InPlan),
    ("metrics.list_length", InPlan),
    ("metrics", LeftOut("there are no labels to measure with")),
];

impl Experiment {
    /// The plan that deploys this federation to devices with these features, or everything that is in its way. One that
    /// is marked as `simulated` is for comparing a simulation with devices that run it.
    pub fn deployable_plan(&self, features: &FeatureSchema, simulated: bool) -> Result<Plan, Vec<PlanProblem>> {
        let mut problems: Vec<PlanProblem> =
            KEYS.iter().filter_map(|(key, treatment)| self.refuse(key, treatment)).collect();
        problems.extend(self.check_features(features));
        let federation = FederationPlan { dropout: 0.0, n_absent: 0, ..self.plan() };
        let plan = Plan::new(federation, features, simulated);
        match plan {
            Ok(plan) if problems.is_empty() => return Ok(plan),
            Ok(_) => {}
            Err(PlanError::Problems(more)) => problems.extend(more),
            Err(error) => problems.push(problem("plan", error.to_string())),
        }
        Err(problems)
    }

    /// What a finished run leaves for a server: the plan for documents with this many features, which goes with its ranker.
    pub fn deployment(&self, n_features: usize, ranker: Option<&[f32]>) -> Deployment {
        let features = FeatureSchema::numbered(n_features, self.data.normalise());
        let in_the_way = match ranker {
            None => Some("there is none of all clients"),
            Some(params) if !params.iter().all(|param| param.is_finite()) => {
                Some("training diverged: not all of its numbers are finite")
            }
            Some(_) => None,
        };
        let of_ranker = in_the_way.map(|why| problem("model", why.into()));
        let (plan, mut problems) = match self.deployable_plan(&features, false) {
            Ok(plan) => match plan.encode() {
                Ok(_) => (Some(plan), Vec::new()),
                Err(error) => (None, vec![problem("plan", error.to_string())]),
            },
            Err(problems) => (None, problems),
        };
        problems.extend(of_ranker);
        Deployment { plan: plan.filter(|_| problems.is_empty()), features, problems }
    }

    fn refuse(&self, key: &str, treatment: &Treatment) -> Option<PlanProblem> {
        match treatment {
            Refused(is_there, why) if is_there(self) => Some(problem(key, (*why).into())),
            _ => None,
        }
    }

    /// Whether devices compute as many features as the model was trained with, and scale them in the same way.
    fn check_features(&self, features: &FeatureSchema) -> Vec<PlanProblem> {
        let mut problems = Vec::new();
        let n_features = features.features.len();
        if let Some(trained) = self.data.n_features().filter(|&trained| trained != n_features) {
            problems.push(problem("data.n_features", format!("is {trained}, and devices compute {n_features}")));
        }
        let (trained, computed) = (self.data.normalise(), features.normalise);
        if trained != computed {
            problems.push(problem("data.normalise", format!("is {trained:?}, and devices do {computed:?}")));
        }
        problems
    }
}

fn problem(key: &str, message: String) -> PlanProblem {
    PlanProblem { key: key.into(), message }
}
