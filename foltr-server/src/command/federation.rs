//! `foltr-server export` and `plan`.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use super::{One, name_of, say, service};
use crate::folder::Folder;
use crate::operator::Operator;
use crate::plan_file::{self, DEPLOY_FILE, MODEL_FILE, PLAN_FILE};

#[derive(Debug, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    one: One,
    /// An earlier release [default: the published ranker].
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// Where to write [default: FEDERATION-VERSION.safetensors].
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn export(arguments: &ExportArgs) -> Result<()> {
    let folder = Folder::open(&arguments.one.folder.folder)?;
    let name = name_of(&folder, arguments.one.federation.as_deref())?;
    let model = service(&folder)?.export(&name, arguments.version)?;
    let out = arguments.out.clone().unwrap_or_else(|| model.file_name.clone().into());
    std::fs::write(&out, &model.bytes).with_context(|| out.display().to_string())?;
    say(&format!("{} ({} bytes)", out.display(), model.bytes.len()))
}

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    one: One,
    /// A folder with plan.toml, or a finished run: the plan, and the model where there is one.
    #[arg(long, value_name = "FOLDER")]
    from: PathBuf,
}

pub fn change_plan(arguments: &PlanArgs) -> Result<()> {
    let folder = Folder::open(&arguments.one.folder.folder)?;
    let name = name_of(&folder, arguments.one.federation.as_deref())?;
    let source = plan_file::read(&arguments.from)?;
    let version = service(&folder)?.change_plan(&name, &source.plan, source.model)?;
    // Exports and later servers look here; the database has the plan itself.
    let own = folder.federation(&name);
    for file in [PLAN_FILE, DEPLOY_FILE, MODEL_FILE] {
        let (from, to) = (arguments.from.join(file), own.join(file));
        if from.is_file() && from != to {
            std::fs::copy(&from, &to).with_context(|| to.display().to_string())?;
        } else if to.is_file() && from != to {
            std::fs::remove_file(&to).with_context(|| to.display().to_string())?;
        }
    }
    say(&format!("done: release {version} names the new plan"))
}
