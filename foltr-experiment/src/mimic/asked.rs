//! What are rankers from outside asked? Documents, queries and candidates as files that any program can read.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::spec::{MimicData, MimicExperiment, Supervision};
use super::training_data::{TextStore, public_name};
use crate::store::put;

/// How much was written, where.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Asked {
    pub files: Vec<PathBuf>,
    pub n_documents: usize,
    pub n_public: usize,
    pub n_judged: usize,
}

/// Text and candidates by name.
type Questions = BTreeMap<String, (String, Vec<(u32, f32)>)>;

/// Writes `documents.tsv`, `queries.tsv` and `candidates.run` for the public queries of all seeds, and for judged queries,
/// whose scores are only needed to evaluate the ranker. The runs that the experiment names need not be there.
pub fn write_asked(experiment: &MimicExperiment, folder: &Path) -> Result<Asked> {
    let MimicData::Text(data) = &experiment.data else {
        anyhow::bail!("only queries of texts can be scored outside: `data.kind` is not \"text\"");
    };
    let unlabelled = MimicExperiment { supervision: Supervision::Scores { runs: Vec::new() }, ..experiment.clone() };
    let store = TextStore::load(data, &unlabelled)?;
    let mut public = Questions::new();
    for &seed in &experiment.seeds {
        for text in store.public_texts(&unlabelled, seed)? {
            let found = store.index.search(&text, experiment.public.candidates);
            public.insert(public_name(&text), (text, found));
        }
    }
    let scored = |query: &super::training_data::JudgedQuery| {
        let list = &query.list;
        let found = list.documents.iter().copied().zip(list.scores.iter().copied()).collect();
        (query.id.clone(), (query.text.clone(), found))
    };
    let judged: Questions = store.judged().iter().map(scored).collect();
    let documents = &store.collection.documents;
    let names = documents.iter().map(|document| &document.id).chain(judged.keys());
    for name in names {
        let is_word = !name.is_empty() && !name.contains(char::is_whitespace);
        ensure!(is_word, "`{name}` has white space in its name, which a TREC run cannot have");
    }
    let all = || public.iter().chain(&judged);
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut texts, mut queries, mut run) = (String::new(), String::new(), String::new());
    for document in documents {
        writeln!(texts, "{}\t{}", document.id, one_line(&document.content()))?;
    }
    for (name, (text, found)) in all() {
        writeln!(queries, "{name}\t{}", one_line(text))?;
        for (rank, &(document, score)) in (1..).zip(found) {
            writeln!(run, "{name} Q0 {} {rank} {score} bm25", documents[document as usize].id)?;
        }
    }
    let contents = [("documents.tsv", texts), ("queries.tsv", queries), ("candidates.run", run)];
    let write = |(name, content): &(&str, String)| {
        let path = folder.join(name);
        put(&path, content.as_bytes()).map(|()| path)
    };
    let files = contents.iter().map(write).collect::<Result<_>>()?;
    Ok(Asked { files, n_documents: documents.len(), n_public: public.len(), n_judged: judged.len() })
}
