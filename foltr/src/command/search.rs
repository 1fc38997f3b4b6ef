//! `foltr index` and `foltr search`: BM25 and a shared network side by side, on real queries.

use std::io::{BufRead, IsTerminal};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use foltr_mimic::analyser::AnalyserSettings;
use foltr_mimic::collection::{Collection, ReadOptions};
use foltr_mimic::index::TextIndex;
use foltr_mimic::model_file::{Model, Reading};
use foltr_mimic::retrieval::{Scale, interpolate, rerank};
use foltr_mimic::vocabulary::Vocabulary;
use foltr_mimic::{Inputs, Network};

use super::End;
use crate::cli::{IndexArgs, SearchArgs};
use foltr_experiment::data;
use foltr_report::table::table;

/// Characters of a title that are shown.
const TITLE: usize = 72;

/// Writes the index of a collection.
///
/// # Errors
/// If the collection cannot be read or the index cannot be written.
pub fn index(arguments: &IndexArgs) -> Result<End> {
    let (collection, notes) = Collection::read(&data::resolve_path(&arguments.collection)?, &ReadOptions::default())?;
    let settings = AnalyserSettings { stop_words: !arguments.keep_stop_words, stem: !arguments.keep_endings };
    TextIndex::in_memory(&collection.documents, settings).save(&arguments.out)?;
    notes.sentences().iter().for_each(|note| println!("{note}"));
    println!("{} documents in {}", collection.documents.len(), arguments.out.display());
    Ok(End::Done)
}

/// A network that ranks the documents of an index.
struct Reranker {
    network: Network,
    vocabulary: Vocabulary,
    weight: f32,
    depth: usize,
}

/// Answers queries.
///
/// # Errors
/// If index or model cannot be used, or do not fit each other.
pub fn search(arguments: &SearchArgs) -> Result<End> {
    let index = TextIndex::open(&arguments.index)?;
    let reranker = arguments.model.as_ref().map(|path| Reranker::open(path, &index, arguments)).transpose()?;
    if !arguments.query.is_empty() {
        answer(&index, reranker.as_ref(), &arguments.query.join(" "), arguments.n_results);
        return Ok(End::Done);
    }
    if std::io::stdin().is_terminal() {
        eprintln!("one query a line; end with Ctrl-D");
    }
    for line in std::io::stdin().lock().lines() {
        let line = line.context("standard input cannot be read")?;
        if !line.trim().is_empty() {
            answer(&index, reranker.as_ref(), line.trim(), arguments.n_results);
        }
    }
    Ok(End::Done)
}

fn answer(index: &TextIndex, reranker: Option<&Reranker>, query: &str, n_results: usize) {
    let depth = reranker.map_or(n_results, |reranker| reranker.depth.max(n_results));
    let found = index.search(query, depth);
    println!("\n{query}");
    if found.is_empty() {
        println!("no document has one of these words");
        return;
    }
    let documents: Vec<u32> = found.iter().map(|(document, _)| *document).collect();
    let ranked = match reranker {
        Some(reranker) => reranker.rank(index, query, &found),
        None => documents.clone(),
    };
    let row = |(rank, document): (usize, &u32)| {
        let read = index.document(*document);
        let before = documents.iter().position(|other| other == document).map_or(0, |place| place + 1);
        let title = if read.title.is_empty() { &read.text } else { &read.title };
        let short: String = title.chars().take(TITLE).collect();
        let score = found[before - 1].1;
        let mut row = vec![rank.to_string(), before.to_string(), format!("{score:.3}"), read.id.clone(), short];
        if reranker.is_none() {
            row.remove(1);
        }
        row
    };
    let rows = (1..).zip(ranked.iter().take(n_results)).map(row).collect();
    match reranker {
        Some(_) => println!("{}", table(&["rank", "BM25's", "BM25", "document", "title"], 5, rows)),
        None => println!("{}", table(&["rank", "BM25", "document", "title"], 4, rows)),
    }
}

impl Reranker {
    fn open(path: &Path, index: &TextIndex, arguments: &SearchArgs) -> Result<Self> {
        let Model { network, reading } = Model::read(path)?;
        let Reading::Text { vocabulary: terms, idf, analyser } = reading else {
            bail!("{}: this network looks at features, not at texts", path.display())
        };
        let settings: AnalyserSettings = serde_json::from_str(&analyser)
            .with_context(|| format!("{}: it does not say how texts become terms", path.display()))?;
        ensure!(
            settings == index.analyser().settings(),
            "{} was trained on {settings:?}, the index has {:?}; index the collection in the same way",
            path.display(),
            index.analyser().settings()
        );
        let vocabulary = Vocabulary { terms, idf, words: Vec::new() };
        Ok(Self { network, vocabulary, weight: arguments.weight, depth: arguments.depth })
    }

    /// The best documents of BM25 in the network's order.
    fn rank(&self, index: &TextIndex, query: &str, found: &[(u32, f32)]) -> Vec<u32> {
        let bag = |text: &str| self.vocabulary.bag(text, index.analyser());
        let (documents, scores): (Vec<u32>, Vec<f32>) = found.iter().take(self.depth).copied().unzip();
        let bags = documents.iter().map(|&document| bag(&index.document(document).content()));
        let inputs = Inputs::Text { queries: vec![bag(query)], documents: bags.collect() };
        let mut said = vec![0.0; documents.len()];
        let numbers: Vec<u32> = (0..documents.len() as u32).collect();
        self.network.score(&inputs, 0, &numbers, &mut said);
        let all: Vec<u32> = found.iter().map(|(document, _)| *document).collect();
        rerank(&all, &interpolate(&said, &scores, self.weight, Scale::MinMax))
    }
}
