//! Hearing of changes as they happen.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

/// Programs write a file in several steps: it is looked at when nothing has happened for so long,
const QUIET: Duration = Duration::from_millis(800);
/// or after this long in any case.
const LONGEST: Duration = Duration::from_secs(10);

/// Says which files and folders have changed. What it misses is found by the next look at all files.
pub struct Watch {
    watcher: RecommendedWatcher,
    events: Receiver<Vec<PathBuf>>,
}

impl Watch {
    pub fn new() -> notify::Result<Self> {
        let (send, events) = channel();
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Looking at a file is no change, or the agent would go round in circles.
            if let Ok(event) = event
                && !matches!(event.kind, EventKind::Access(_))
            {
                // Nobody listens any more.
                let _ = send.send(event.paths);
            }
        })?;
        Ok(Self { watcher, events })
    }

    /// An error says why changes below this folder will not be heard of.
    pub fn add(&mut self, folder: &std::path::Path) -> notify::Result<()> {
        self.watcher.watch(folder, RecursiveMode::Recursive)
    }

    /// What has changed, after a moment of quiet; empty if nothing has for this long.
    pub fn next(&self, patience: Duration) -> Vec<PathBuf> {
        let mut changed: BTreeSet<PathBuf> = match self.events.recv_timeout(patience) {
            Ok(paths) => paths.into_iter().collect(),
            Err(RecvTimeoutError::Timeout) => return Vec::new(),
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(patience);
                return Vec::new();
            }
        };
        let begun = Instant::now();
        while let Ok(paths) = self.events.recv_timeout(QUIET) {
            changed.extend(paths);
            if begun.elapsed() > LONGEST {
                break;
            }
        }
        without_those_below(changed)
    }
}

/// A folder stands for what is in it.
fn without_those_below(paths: BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut above: Vec<PathBuf> = Vec::new();
    for path in paths {
        if above.last().is_none_or(|last| !path.starts_with(last)) {
            above.push(path);
        }
    }
    above
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_heard_of_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut watch = Watch::new().expect("a watcher");
        watch.add(folder.path()).expect("watched");
        assert_eq!(watch.next(Duration::from_millis(10)), [] as [PathBuf; 0]);
        let file = folder.path().join("note.txt");
        std::fs::write(&file, "one").expect("written");
        std::fs::write(&file, "two").expect("written");
        assert_eq!(watch.next(Duration::from_secs(5)), [file]);
    }

    #[test]
    fn a_folder_stands_for_what_is_in_it() {
        let paths = ["/a", "/a/b", "/ab", "/a/b/c"].map(PathBuf::from).into();
        assert_eq!(without_those_below(paths), [PathBuf::from("/a"), PathBuf::from("/ab")]);
    }
}
