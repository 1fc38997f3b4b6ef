//! `foltr-server status`.

use anyhow::Result;

use super::{FolderArg, say, service};
use crate::folder::Folder;
use crate::operator::{FederationOverview, Operator};

pub fn run(folder: &FolderArg, json: bool) -> Result<()> {
    let folder = Folder::open(&folder.folder)?;
    super::init::create_missing(&folder)?;
    let overview = service(&folder)?.overview()?;
    if json {
        return say(&serde_json::to_string_pretty(&overview)?);
    }
    overview.federations.iter().try_for_each(show)
}

fn show(federation: &FederationOverview) -> Result<()> {
    say(&format!("{}: {}", federation.name, federation.state))?;
    say(&format!("  {}", federation.waits_for))?;
    let FederationOverview { round, n_rounds, n_devices, n_revoked, n_forgotten, .. } = federation;
    say(&format!("  rounds: {round} of {n_rounds} are over"))?;
    say(&format!("  devices: {n_devices} active, {n_revoked} revoked, {n_forgotten} forgotten"))?;
    if let Some(release) = federation.releases.first() {
        say(&format!("  newest release: {} ({})", release.version, release.cause))?;
    }
    let queued = federation.forget_requests.iter().filter(|request| request.state.starts_with("queued")).count();
    if queued > 0 {
        say(&format!("  {queued} requests to be forgotten wait"))?;
    }
    for line in &federation.privacy {
        say(&format!("  privacy: {line}"))?;
    }
    Ok(())
}
