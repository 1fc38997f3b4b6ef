//! The published ranker as a file.

use foltr_federation::protocol::{FeatureSchema, Normalisation, Release};

use crate::engine::Engine;
use crate::federation::Federation;
use crate::model_file;
use crate::operator::{ExportedModel, OperatorError};
use crate::service::Service;
use crate::store::{releases, states};

/// The ranker to use now, or the model of an earlier version: with shards, the mean of those.
pub fn export(
    service: &Service,
    federation: &Federation,
    version: Option<u32>,
) -> Result<ExportedModel, OperatorError> {
    let snapshot = federation.refresh(&service.pool)?;
    let plan = &snapshot.parts.plan;
    let refused = |why: String| OperatorError::Refused(why);
    let params = match version {
        None => {
            let state: Vec<u8> = service.pool.read(|tables| states::read(tables, federation.id, snapshot.row.plan))?;
            Engine::load(plan, &state).map_err(|error| OperatorError::Unavailable(error.to_string()))?.ranker()
        }
        Some(version) => {
            let mut models = Vec::new();
            for shard in &snapshot.shards {
                let bytes: Option<Vec<u8>> =
                    service.pool.read(|tables| releases::bytes(tables, federation.id, shard.row.shard, version))?;
                let bytes =
                    bytes.ok_or_else(|| refused(format!("the parameters of release {version} are not stored")))?;
                let release = Release::decode(&bytes, plan.shape().n_params());
                models.push(release.map_err(|error| refused(error.to_string()))?.params().to_vec());
            }
            mean(&models)
        }
    };
    let normalise =
        federation.features.as_ref().map_or(Normalisation::None, |features: &FeatureSchema| features.normalise);
    let bytes = model_file::to_bytes(plan.shape(), &params, normalise).map_err(|error| refused(error.to_string()))?;
    let version = version.unwrap_or_else(|| snapshot.shards[0].row.newest);
    Ok(ExportedModel { file_name: format!("{}-{version}.safetensors", federation.name), bytes })
}

fn mean(models: &[Vec<f32>]) -> Vec<f32> {
    let shards = foltr_federation::unlearn::ShardIsolation { shards: models.len() as u32 };
    shards.publish(models.iter().map(Vec::as_slice))
}
