//! A person's files and the agent that searches them.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use anyhow::Result;
use foltr_agent::agent::{Agent, Settings, alone};
use foltr_agent::answer::Request;
use foltr_agent::extract::{Extractor, Limits, Program};
use foltr_agent::feature::{FEATURES, position};
use foltr_agent::home::Home;
use foltr_agent::scan::{Scanner, Surroundings};
use foltr_client::LocalLearning;

use super::collection::{BEGIN, Collection};
use super::looking;
use super::wish::Wish;

/// How lists come about.
#[derive(Clone, Debug)]
pub struct System {
    pub name: String,
    pub alone: LocalLearning,
    /// Draws lists by chance, and learns.
    pub learns: bool,
    /// Keeps what each search described, before it was ranked.
    pub keeps_lists: bool,
}

impl System {
    /// Fixed weights, by the name of their feature.
    pub fn fixed(name: &str, weights: &[(&str, f32)]) -> Self {
        let mut model = vec![0.0; FEATURES.len()];
        for (feature, weight) in weights {
            model[position(feature).expect("a feature")] = *weight;
        }
        Self { alone: LocalLearning { model: Some(model), ..alone() }, ..Self::prior(name) }
    }

    pub fn prior(name: &str) -> Self {
        Self { name: name.to_owned(), alone: alone(), learns: false, keeps_lists: false }
    }

    pub fn agent(name: &str) -> Self {
        Self { learns: true, ..Self::prior(name) }
    }
}

/// What a search described, and which of these documents was wanted.
#[derive(Clone, Debug)]
pub struct List {
    /// By document, best by plain BM25 first.
    pub rows: Vec<f32>,
    pub target: Option<usize>,
}

/// What became of a person's searches.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// 1 / rank of the document that was wanted, 0 if it was not shown.
    pub reciprocal: Vec<f64>,
    pub lists: Vec<List>,
    /// At the end, by feature.
    pub weights: Vec<f32>,
}

/// A collection that is on the disk and in an index, which every agent starts with a copy of.
pub struct World {
    pub collection: Collection,
    folder: tempfile::TempDir,
    by_path: HashMap<String, usize>,
}

struct Quiet;

impl Surroundings for Quiet {
    fn is_on_battery(&self) -> bool {
        false
    }

    fn load(&self) -> f32 {
        0.0
    }
}

impl World {
    pub fn new(collection: Collection, reader: Program) -> Result<Self> {
        // In memory where that is possible: nothing here must survive.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory)? } else { tempfile::tempdir()? };
        let files = folder.path().join("files");
        collection.write(&files)?;
        let agent = Agent::open(Home::open(Some(&folder.path().join("home")))?, Settings::default())?;
        let files = agent.add_folder(&files)?;
        let (extractor, stop) = (Extractor::new(reader, Limits::default()), AtomicBool::new(false));
        let scanner = Scanner { extractor: &extractor, surroundings: &Quiet, share: 1.0, stop: &stop };
        let report = scanner.scan(&agent, &mut |_| {})?;
        anyhow::ensure!(report.n_indexed == collection.documents.len(), "not all files are in the index: {report:?}");
        drop(agent);
        // A device keeps the model that it began with; each system has its own.
        fs::remove_dir_all(folder.path().join("home/device"))?;
        let path = |at: usize| {
            let document = &collection.documents[at];
            files.join(&document.folder).join(&document.name).to_string_lossy().into_owned()
        };
        let by_path = (0..collection.documents.len()).map(|at| (path(at), at)).collect();
        Ok(Self { by_path, collection, folder })
    }

    /// A person makes all searches with one system.
    pub fn run(&self, system: &System, wishes: &[Wish], seed: u64) -> Result<Run> {
        let home = tempfile::tempdir_in(self.folder.path())?;
        copy(&self.folder.path().join("home"), home.path())?;
        let now = Arc::new(AtomicI64::new(BEGIN));
        let clock = Arc::clone(&now);
        let settings = Settings {
            no_exploration: !system.learns,
            no_comparison: true,
            clock: Some(Arc::new(move || clock.load(Ordering::Relaxed))),
            alone: Some(system.alone.clone()),
        };
        let agent = Agent::open(Home::open(Some(home.path()))?, settings)?;
        let mut run = Run::default();
        for (number, wish) in wishes.iter().enumerate() {
            now.store(wish.at, Ordering::Relaxed);
            let request = Request { words: wish.words.clone(), ..Request::default() };
            if system.keeps_lists {
                run.lists.push(self.list(&agent, &request, wish)?);
            }
            run.reciprocal.push(self.search(&agent, &request, wish, (seed, number))?);
        }
        run.weights = agent.device().ranker()?.params.to_vec();
        Ok(run)
    }

    fn list(&self, agent: &Agent, request: &Request, wish: &Wish) -> Result<List> {
        let described = agent.described(request)?;
        let target = described.iter().position(|it| self.by_path.get(&it.path) == Some(&wish.target));
        Ok(List { rows: described.into_iter().flat_map(|it| it.features).collect(), target })
    }

    fn search(&self, agent: &Agent, request: &Request, wish: &Wish, number: (u64, usize)) -> Result<f64> {
        let answer = agent.search(request)?;
        let Some(list) = answer.list else { return Ok(0.0) };
        let shown: Vec<Option<usize>> = answer.hits.iter().map(|hit| self.by_path.get(&hit.path).copied()).collect();
        agent.seen(list)?;
        for place in looking::opened(&self.collection, wish, number, &shown) {
            agent.opened(list, answer.hits[place].document)?;
        }
        agent.left(list)?;
        let rank = shown.iter().position(|it| *it == Some(wish.target));
        Ok(rank.map_or(0.0, |rank| 1.0 / (rank + 1) as f64))
    }
}

fn copy(from: &PathBuf, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let (path, name) = entry.map(|it| (it.path(), it.file_name()))?;
        let to = to.join(name);
        if path.is_dir() {
            fs::create_dir_all(&to)?;
            copy(&path, &to)?;
        } else {
            fs::copy(&path, &to)?;
        }
    }
    Ok(())
}
