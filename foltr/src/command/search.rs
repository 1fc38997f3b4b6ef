//! `foltr index` and `foltr search`: BM25 and a shared network side by side, on real queries.

use std::io::{BufRead, IsTerminal};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use foltr_mimic::analyser::AnalyserSettings;
use foltr_mimic::collection::Collection;
use foltr_mimic::index::TextIndex;
use foltr_mimic::model_file::{Model, Reading};
use foltr_mimic::retrieval::{interpolate, rerank};
use foltr_mimic::vocabulary::Vocabulary;
use foltr_mimic::{Inputs, Network, Scorer};

use super::End;
use crate::cli::{IndexArgs, SearchArgs};
use crate::output::{self, note, say};
use foltr_experiment::data;
use foltr_report::table::table;

/// Characters of a title that are shown.
const TITLE: usize = 72;

pub fn index(arguments: &IndexArgs) -> Result<End> {
    let (collection, notes) = Collection::read(&data::resolve_path(&arguments.collection)?, None)?;
    let settings = AnalyserSettings { stop_words: !arguments.keep_stop_words, stem: !arguments.keep_endings };
    TextIndex::in_memory(&collection.documents, settings).save(&arguments.out)?;
    notes.sentences().iter().for_each(say);
    say(format_args!("{} documents in {}", collection.documents.len(), arguments.out.display()));
    Ok(End::Done)
}

struct Reranker<'a> {
    network: Network,
    vocabulary: Vocabulary,
    arguments: &'a SearchArgs,
}

pub fn search(arguments: &SearchArgs) -> Result<End> {
    let index = TextIndex::open(&arguments.index)?;
    let reranker = arguments.model.as_ref().map(|path| Reranker::open(path, &index, arguments)).transpose()?;
    if !arguments.query.is_empty() {
        answer(&index, reranker.as_ref(), &arguments.query.join(" "), arguments.n_results);
        return Ok(End::Done);
    }
    if std::io::stdin().is_terminal() {
        note("one query per line; end with Ctrl-D");
    }
    for line in std::io::stdin().lock().lines() {
        if output::is_lost() {
            break;
        }
        let line = line.context("standard input cannot be read")?;
        if !line.trim().is_empty() {
            answer(&index, reranker.as_ref(), line.trim(), arguments.n_results);
        }
    }
    Ok(End::Done)
}

fn answer(index: &TextIndex, reranker: Option<&Reranker<'_>>, query: &str, n_results: usize) {
    let depth = reranker.map_or(n_results, |reranker| reranker.arguments.depth.max(n_results));
    let best = index.search(query, depth);
    say(format_args!("\n{query}"));
    if best.is_empty() {
        say("no document has one of these words");
        return;
    }
    let documents: Vec<u32> = best.iter().map(|(document, _)| *document).collect();
    let ranked = match reranker {
        Some(reranker) => reranker.rank(index, query, &best),
        None => documents.clone(),
    };
    let row = |(rank, document): (usize, &u32)| {
        let read = &index.documents[*document as usize];
        let before = documents.iter().position(|other| other == document).map_or(0, |position| position + 1);
        let title = if read.title.is_empty() { &read.text } else { &read.title };
        let short: String = title.chars().take(TITLE).collect();
        let score = best[before - 1].1;
        let mut row = vec![rank.to_string(), before.to_string(), format!("{score:.3}"), read.id.clone(), short];
        if reranker.is_none() {
            row.remove(1);
        }
        row
    };
    let rows = (1..).zip(ranked.iter().take(n_results)).map(row).collect();
    match reranker {
        Some(_) => say(table(&["rank", "BM25's", "BM25", "document", "title"], 5, rows)),
        None => say(table(&["rank", "BM25", "document", "title"], 4, rows)),
    }
}

impl<'a> Reranker<'a> {
    fn open(path: &Path, index: &TextIndex, arguments: &'a SearchArgs) -> Result<Self> {
        let Model { network, reading } = Model::read(path)?;
        let Reading::Text { vocabulary, analyser: settings } = reading else {
            bail!("{}: this network looks at features, not at texts", path.display())
        };
        ensure!(
            settings == index.analyser.settings,
            "{} was trained on {settings:?}, the index has {:?}; index the collection in the same way",
            path.display(),
            index.analyser.settings
        );
        Ok(Self { network, vocabulary, arguments })
    }

    /// The best documents of BM25 in the network's order.
    fn rank(&self, index: &TextIndex, query: &str, best: &[(u32, f32)]) -> Vec<u32> {
        let bag = |text: &str| self.vocabulary.bag(text, &index.analyser);
        let (documents, scores): (Vec<u32>, Vec<f32>) = best.iter().take(self.arguments.depth).copied().unzip();
        let bags = documents.iter().map(|&document| bag(&index.documents[document as usize].content()));
        let inputs = Inputs::Text { queries: vec![bag(query)], documents: bags.collect() };
        let mut network_scores = vec![0.0; documents.len()];
        let numbers: Vec<u32> = (0..documents.len() as u32).collect();
        Scorer::new(&self.network).score(&inputs, 0, &numbers, &mut network_scores);
        let all: Vec<u32> = best.iter().map(|(document, _)| *document).collect();
        rerank(&all, &interpolate(&network_scores, &scores, self.arguments.weight))
    }
}
