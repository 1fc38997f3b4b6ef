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

use serde::Serialize;
use serde_json::json;

use super::End;
use crate::cli::{IndexArgs, SearchArgs};
use crate::output::{self, chat, note, say};
use foltr_experiment::data;
use foltr_report::table::table;

/// Characters of a title that are shown.
const TITLE: usize = 72;

pub fn index(arguments: &IndexArgs) -> Result<End> {
    let out = &arguments.out;
    ensure!(!out.exists(), "{}: exists already; name another file", out.display());
    let (collection, notes) = Collection::read(&data::resolve_path(&arguments.collection)?, None)?;
    let settings = AnalyserSettings { stop_words: !arguments.keep_stop_words, stem: !arguments.keep_endings };
    TextIndex::in_memory(&collection.documents, settings).save(&arguments.out)?;
    let (notes, n_documents) = (notes.sentences(), collection.documents.len());
    notes.iter().for_each(chat);
    chat(format_args!("{n_documents} documents in {}", arguments.out.display()));
    output::answer(&json!({ "index": arguments.out, "n_documents": n_documents, "notes": notes }))?;
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
    let answer = |query: &str| {
        let found = find(&index, reranker.as_ref(), query, arguments.n_results);
        say(found.render());
        found
    };
    if !arguments.query.is_empty() {
        output::answer(&[answer(&arguments.query.join(" "))])?;
        return Ok(End::Done);
    }
    if std::io::stdin().is_terminal() {
        note("one query per line; end with Ctrl-D");
    }
    let mut all = Vec::new();
    for line in std::io::stdin().lock().lines() {
        if output::is_lost() {
            break;
        }
        let line = line.context("standard input cannot be read")?;
        if !line.trim().is_empty() {
            let found = answer(line.trim());
            if output::is_json() {
                all.push(found);
            }
        }
    }
    output::answer(&all)?;
    Ok(End::Done)
}

#[derive(Serialize)]
struct Found {
    query: String,
    documents: Vec<FoundDocument>,
}

#[derive(Serialize)]
struct FoundDocument {
    rank: usize,
    /// Its rank by BM25, if a network ranked.
    #[serde(skip_serializing_if = "Option::is_none")]
    bm25_rank: Option<usize>,
    bm25: f32,
    document: String,
    title: String,
}

fn find(index: &TextIndex, reranker: Option<&Reranker<'_>>, query: &str, n_results: usize) -> Found {
    let depth = reranker.map_or(n_results, |reranker| reranker.arguments.depth.max(n_results));
    let best = index.search(query, depth);
    let documents: Vec<u32> = best.iter().map(|(document, _)| *document).collect();
    let ranked = match reranker.filter(|_| !best.is_empty()) {
        Some(reranker) => reranker.rank(index, query, &best),
        None => documents.clone(),
    };
    let found = |(rank, document): (usize, &u32)| {
        let read = &index.documents[*document as usize];
        let before = documents.iter().position(|other| other == document).unwrap_or(0);
        FoundDocument {
            rank,
            bm25_rank: reranker.map(|_| before + 1),
            bm25: best[before].1,
            document: read.id.clone(),
            title: if read.title.is_empty() { &read.text } else { &read.title }.clone(),
        }
    };
    Found { query: query.into(), documents: (1..).zip(ranked.iter().take(n_results)).map(found).collect() }
}

impl Found {
    fn render(&self) -> String {
        if self.documents.is_empty() {
            return format!("\n{}\nno document has one of these words", self.query);
        }
        let row = |it: &FoundDocument| {
            let short: String = it.title.chars().take(TITLE).collect();
            let mut row = vec![it.rank.to_string()];
            row.extend(it.bm25_rank.map(|rank| rank.to_string()));
            row.extend([format!("{:.3}", it.bm25), it.document.clone(), short]);
            row
        };
        let is_ranked_again = self.documents.iter().any(|it| it.bm25_rank.is_some());
        let header: &[&str] = match is_ranked_again {
            true => &["rank", "BM25's", "BM25", "document", "title"],
            false => &["rank", "BM25", "document", "title"],
        };
        format!("\n{}\n{}", self.query, table(header, header.len(), self.documents.iter().map(row).collect()))
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
