//! The files below folders, without those that their owner ignores.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use ignore::WalkBuilder;

use crate::catalogue::Stamp;

#[derive(Debug, Default)]
pub(super) struct Walked {
    pub files: Vec<(PathBuf, Stamp)>,
    /// Nothing is known of what is below.
    pub unreadable: Vec<PathBuf>,
    pub problems: Vec<String>,
}

/// Regular files below these paths, if they are below one of the folders. Hidden files are left out, those that `.gitignore`
/// and `.ignore` name, and the agent's own folder. Links are not followed.
pub(super) fn walk(paths: &[PathBuf], folders: &[PathBuf], own: &Path, stop: &AtomicBool) -> Walked {
    let mut walked = Walked::default();
    for path in paths {
        let Some(folder) = folders.iter().find(|folder| path.starts_with(folder)) else { continue };
        walk_one(path, folder, own, stop, &mut walked);
    }
    walked.files.sort_by(|a, b| a.0.cmp(&b.0));
    walked.files.dedup_by(|a, b| a.0 == b.0);
    walked
}

fn walk_one(path: &Path, folder: &Path, own: &Path, stop: &AtomicBool, walked: &mut Walked) {
    if !path.exists() {
        // A folder that was added may be on a disk that is not there now; what is below it and gone is gone.
        if path == folder {
            walked.unreadable.push(path.to_owned());
            walked.problems.push(format!("{} is not there; what is known of it stays", path.display()));
        }
        return;
    }
    // From the folder that was added on, or what its owner ignores above the path would not be known.
    let (own, wanted) = (own.to_owned(), path.to_owned());
    let is_on_the_way = move |entry: &Path| entry.starts_with(&wanted) || wanted.starts_with(entry);
    let entries = WalkBuilder::new(folder)
        .require_git(false)
        .filter_entry(move |entry| entry.path() != own && is_on_the_way(entry.path()))
        .build();
    for entry in entries {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|it| it.is_file()) => {
                if let Ok(metadata) = entry.metadata() {
                    walked.files.push((entry.into_path(), stamp(&metadata)));
                }
            }
            Ok(_) => {}
            Err(error) => note(&error, path, walked),
        }
    }
}

fn note(error: &ignore::Error, root: &Path, walked: &mut Walked) {
    // A file that went while it was looked at is no problem.
    if error.io_error().is_some_and(|it| it.kind() == std::io::ErrorKind::NotFound) {
        return;
    }
    let place = place_of(error).unwrap_or(root);
    walked.unreadable.push(place.to_owned());
    walked.problems.push(format!("{} cannot be read: {error}", place.display()));
}

fn place_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => place_of(err),
        _ => None,
    }
}

fn stamp(metadata: &Metadata) -> Stamp {
    let modified = metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec());
    Stamp { size: metadata.len(), modified, device: metadata.dev(), inode: metadata.ino() }
}
