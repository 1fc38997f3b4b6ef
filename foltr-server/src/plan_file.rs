//! The plan in a federation's folder: `plan.toml`, which people write, or `deploy.json` of a finished run with its
//! `model.safetensors`.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail, ensure};
use foltr_federation::FederationPlan;
use foltr_federation::protocol::{Deployment, FeatureSchema, Normalisation, Plan};
use foltr_rank::Params;
use serde::Deserialize;

use crate::model_file;

pub const PLAN_FILE: &str = "plan.toml";
pub const DEPLOY_FILE: &str = "deploy.json";
pub const MODEL_FILE: &str = "model.safetensors";

/// `plan.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanToml {
    features: FeaturesToml,
    plan: FederationPlan,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FeaturesToml {
    /// Features that are called 1, 2, ...
    n_features: Option<usize>,
    /// Or a feature schema in JSON, which devices have as well.
    schema: Option<std::path::PathBuf>,
    normalise: Option<Normalisation>,
}

/// A plan with the features that it is for, and the model that it begins with.
#[derive(Debug)]
pub struct PlanAndModel {
    pub plan: Plan,
    pub features: FeatureSchema,
    pub model: Option<Params>,
}

/// What a folder has: that of a federation, or of a finished run.
pub fn read(folder: &Path) -> Result<PlanAndModel> {
    let (deploy, toml) = (folder.join(DEPLOY_FILE), folder.join(PLAN_FILE));
    let (plan, features) = match () {
        () if deploy.is_file() => read_deployment(&deploy)?,
        () if toml.is_file() => read_toml(&toml)?,
        () if folder.join("run.json").is_file() => bail!(
            "{} is a run without {DEPLOY_FILE}: an older foltr made it, or nothing in it is federated; run it again",
            folder.display()
        ),
        () => bail!("{} has neither {PLAN_FILE} nor {DEPLOY_FILE}", folder.display()),
    };
    let file = folder.join(MODEL_FILE);
    let model = if file.is_file() {
        let bytes = std::fs::read(&file).with_context(|| file.display().to_string())?;
        let params = model_file::params_of(&bytes, plan.shape(), features.normalise);
        Some(params.with_context(|| file.display().to_string())?)
    } else {
        None
    };
    Ok(PlanAndModel { plan, features, model })
}

/// The features of a federation's folder.
pub fn features(folder: &Path) -> Result<FeatureSchema> {
    Ok(read(folder)?.features)
}

fn read_deployment(file: &Path) -> Result<(Plan, FeatureSchema)> {
    let text = std::fs::read(file).with_context(|| file.display().to_string())?;
    let Deployment { plan, features, problems } =
        Deployment::from_json(&text).with_context(|| file.display().to_string())?;
    let plan = plan.ok_or_else(|| {
        let list: Vec<String> = problems.iter().map(|problem| format!("\n  {problem}")).collect();
        anyhow!("{}: this run cannot be deployed:{}", file.display(), list.concat())
    })?;
    Ok((plan, features))
}

fn read_toml(file: &Path) -> Result<(Plan, FeatureSchema)> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| shown.to_string())?;
    let PlanToml { features, plan } = toml::from_str(&text).with_context(|| shown.to_string())?;
    let FeaturesToml { n_features, schema, normalise } = features;
    let features = match (n_features, schema) {
        (Some(n), None) => FeatureSchema::numbered(n, normalise.unwrap_or(Normalisation::Query)),
        (None, Some(path)) => {
            ensure!(normalise.is_none(), "{shown}: features.normalise is in the schema already");
            let path = file.parent().unwrap_or(Path::new(".")).join(path);
            let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            serde_json::from_str(&text).with_context(|| path.display().to_string())?
        }
        _ => bail!("{shown}: give features.n_features, or features.schema, and not both"),
    };
    let plan = Plan::new(plan, &features, false).with_context(|| shown.to_string())?;
    Ok((plan, features))
}

impl PlanAndModel {
    /// The model to begin with: the run's, or the one that the ranker's initialisation says.
    pub fn initial(&self) -> Result<Params> {
        if let Some(model) = &self.model {
            return Ok(model.clone());
        }
        let n_params = self.plan.shape().n_params();
        let is_zero = matches!(
            self.plan.federation().ranker,
            Some(foltr_rank::RankerShape::Linear { initialisation: foltr_rank::Initialisation::Zero })
        );
        ensure!(
            is_zero,
            "only a linear ranker that begins with zeros needs no model: put a {MODEL_FILE} beside the plan"
        );
        Ok(vec![0.0; n_params])
    }
}
