//! `foltr-server verify`.

use std::process::ExitCode;

use anyhow::Result;

use super::{FolderArg, say, service};
use crate::folder::Folder;
use crate::verifying;

pub fn run(folder: &FolderArg) -> Result<ExitCode> {
    let folder = Folder::open(&folder.folder)?;
    let service = service(&folder)?;
    let report = verifying::everything(&service)?;
    report.checked.iter().try_for_each(|line| say(line))?;
    if report.problems.is_empty() {
        say("everything is as it was written")?;
        return Ok(ExitCode::SUCCESS);
    }
    report.problems.iter().try_for_each(|problem| say(&format!("DAMAGED: {problem}")))?;
    Ok(ExitCode::FAILURE)
}
