//! `foltr merge`: the result folders of several machines as one, with all their studies.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use crate::assemble::write_tables;
use crate::distinct;
use foltr_experiment::manifest::Manifest;
use foltr_experiment::results::{JobLine, Results, write_jobs};
use foltr_experiment::store::{RunStore, root_of};

/// Folders of studies are at most this far below the folder with the runs: `ID/choice`.
const DEEPEST_STUDY: usize = 2;

/// A study of the merged folder.
#[derive(Debug)]
pub struct MergedStudy {
    /// None for the study whose files are in the folder itself.
    pub name: Option<PathBuf>,
    pub results: Results,
}

/// Joins result folders of the same command, such as shards, into one. Nothing is written if two of them do not fit.
pub fn merge(folders: &[PathBuf], out: &Path, parquet: bool) -> Result<Vec<MergedStudy>> {
    let mut names = Vec::new();
    for folder in folders {
        if !folder.exists() {
            root_of(folder)?;
        }
        let of_folder = studies(folder, DEEPEST_STUDY)?;
        ensure!(!of_folder.is_empty(), "{} has no results: expected a file resolved.toml", folder.display());
        names.extend(of_folder);
    }
    let mut manifests = Vec::new();
    for name in distinct(names) {
        let parts: Vec<PathBuf> = folders.iter().map(|folder| below(folder, &name)).filter(|it| is_study(it)).collect();
        manifests.push((joined_manifest(&parts)?, parts, name));
    }
    let store = RunStore::open(out)?;
    let merge_one = |(about, parts, name): (Manifest, Vec<PathBuf>, PathBuf)| {
        let name = Some(name).filter(|name| !name.as_os_str().is_empty());
        let results = merge_study(&parts, about, &store, name.as_deref(), parquet)?;
        Ok(MergedStudy { name, results })
    };
    manifests.into_iter().map(merge_one).collect()
}

/// The folder itself for an empty name, without the slash that joining would put behind it.
fn below(folder: &Path, name: &Path) -> PathBuf {
    if name.as_os_str().is_empty() { folder.to_owned() } else { folder.join(name) }
}

fn is_study(folder: &Path) -> bool {
    folder.join("resolved.toml").is_file()
}

/// Paths of all studies of a folder, seen from it; its own is empty.
fn studies(folder: &Path, depth: usize) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if is_study(folder) {
        found.push(PathBuf::new());
    }
    if depth == 0 || !folder.is_dir() {
        return Ok(found);
    }
    let entries = folder.read_dir()?.collect::<Result<Vec<_>, _>>()?;
    let mut inner: Vec<PathBuf> = entries.iter().map(std::fs::DirEntry::path).filter(|path| path.is_dir()).collect();
    inner.sort();
    for path in inner.iter().filter(|path| !path.ends_with("runs")) {
        let name = Path::new(path.file_name().unwrap_or_default());
        found.extend(studies(path, depth - 1)?.iter().map(|study| below(name, study)));
    }
    Ok(found)
}

/// Checks that these are parts of one study.
fn joined_manifest(parts: &[PathBuf]) -> Result<Manifest> {
    let grid = Results::grid_of(&parts[0])?;
    let first = Manifest::read(&parts[0])?;
    let mut joined = Manifest { starts: Vec::new(), ..first.clone() };
    for part in parts {
        let about = Manifest::read(part)?;
        let (one, other) = (parts[0].display(), part.display());
        ensure!(
            Results::grid_of(part)? == grid,
            "{one} and {other} are of different experiments: see their resolved.toml"
        );
        ensure!(
            about.code_hash == first.code_hash,
            "{one} and {other} were made by different versions of foltr: see code_hash in their study.json"
        );
        for (name, hash) in &about.data {
            let known = joined.data.entry(name.clone()).or_insert_with(|| hash.clone());
            ensure!(known == hash, "{one} and {other} were made from different data: {name}");
        }
        joined.starts.extend(about.starts);
    }
    Ok(joined)
}

fn merge_study(
    parts: &[PathBuf],
    about: Manifest,
    store: &RunStore,
    name: Option<&Path>,
    parquet: bool,
) -> Result<Results> {
    let mut jobs = Vec::new();
    for part in parts {
        let (root, results) = (root_of(part)?, Results::open(part)?);
        for run in &results.runs {
            store.copy_from(&root, &run.key)?;
            jobs.push(JobLine { key: run.key.clone(), setting: run.setting, fold: run.fold, seed: run.seed });
        }
    }
    jobs.sort_by_key(|job| (job.setting, job.fold, job.seed, job.key.clone()));
    jobs.dedup();
    let grid = Results::grid_of(&parts[0])?;
    let study = store.study(name.and_then(Path::to_str))?;
    study.write("resolved.toml", grid.to_toml()?.as_bytes())?;
    write_jobs(&study, &grid, jobs.into_iter())?;
    about.write(&study)?;
    let mut results = Results::open(study.path())?;
    write_tables(&study, &mut results, parquet)?;
    Ok(results)
}
