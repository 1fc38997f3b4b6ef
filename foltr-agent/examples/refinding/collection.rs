//! Documents that a person has, as files in folders, and how frequent their words are.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::chance::{stream, uniform};

const DAY: f64 = 86_400.0;
/// When the first search takes place, in seconds since 1970.
pub const BEGIN: i64 = 1_750_000_000;

#[derive(Clone, Debug, Default)]
pub struct Document {
    pub folder: String,
    /// The file's name.
    pub name: String,
    pub title: String,
    pub body: String,
    /// Days before the first search.
    pub age: f64,
}

pub struct Collection {
    pub name: &'static str,
    pub documents: Vec<Document>,
    /// By document: the words of the title, the name and the body, each once; those of the body with their count.
    pub words: Vec<Words>,
    /// In how many documents a word is, most frequent first.
    pub vocabulary: Vec<(String, usize)>,
    frequency: HashMap<String, usize>,
}

#[derive(Clone, Debug, Default)]
pub struct Words {
    pub title: Vec<String>,
    pub name: Vec<String>,
    pub body: Vec<(String, usize)>,
}

impl Collection {
    /// Ages are drawn anew: log-uniform from a day to three years.
    pub fn new(name: &'static str, mut documents: Vec<Document>) -> Self {
        documents.retain(|it| !it.body.trim().is_empty());
        documents.sort_by(|a, b| (&a.folder, &a.name).cmp(&(&b.folder, &b.name)));
        documents.dedup_by(|a, b| a.folder == b.folder && a.name == b.name);
        for (at, document) in documents.iter_mut().enumerate() {
            document.age = 1_000_f64.powf(uniform(&mut stream(1, "age", at)));
        }
        let words: Vec<Words> = documents.iter().map(Words::new).collect();
        let mut frequency: HashMap<String, usize> = HashMap::new();
        for word in words.iter().flat_map(|it| &it.body) {
            *frequency.entry(word.0.clone()).or_default() += 1;
        }
        let mut vocabulary: Vec<(String, usize)> = frequency.iter().map(|(word, n)| (word.clone(), *n)).collect();
        vocabulary.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        Self { name, documents, words, vocabulary, frequency }
    }

    pub fn idf(&self, word: &str) -> f64 {
        let n_with_it = self.frequency.get(word).copied().unwrap_or(0) as f64;
        ((self.documents.len() as f64 + 1.0) / (n_with_it + 1.0)).ln()
    }

    /// The places of the documents of each folder.
    pub fn folders(&self) -> Vec<Vec<usize>> {
        let mut folders: Vec<Vec<usize>> = Vec::new();
        for at in 0..self.documents.len() {
            match folders.last_mut() {
                Some(last) if self.documents[last[0]].folder == self.documents[at].folder => last.push(at),
                _ => folders.push(vec![at]),
            }
        }
        folders
    }

    /// Writes all files, with the times at which they were changed.
    pub fn write(&self, root: &Path) -> io::Result<()> {
        for document in &self.documents {
            let folder = root.join(&document.folder);
            fs::create_dir_all(&folder)?;
            let path = folder.join(&document.name);
            let mark = if document.name.ends_with(".md") { "# " } else { "" };
            fs::write(&path, format!("{mark}{}\n\n{}\n", document.title, document.body))?;
            let seconds = BEGIN as f64 - document.age * DAY;
            let changed = SystemTime::UNIX_EPOCH + Duration::from_secs_f64(seconds);
            File::options().write(true).open(&path)?.set_modified(changed)?;
        }
        Ok(())
    }
}

impl Words {
    fn new(document: &Document) -> Self {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for word in words(&document.title).chain(words(&document.body)) {
            *counts.entry(word).or_default() += 1;
        }
        let mut body: Vec<(String, usize)> = counts.into_iter().collect();
        body.sort();
        let stem = document.name.rsplit_once('.').map_or(document.name.as_str(), |(stem, _)| stem);
        Self { title: once(words(&document.title)), name: once(words(stem)), body }
    }
}

/// In small letters; those of one letter and the most usual ones say nothing.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    const USUAL: &[&str] = &[
        "a", "an", "and", "are", "as", "at", "be", "by", "can", "for", "from", "has", "if", "in", "is", "it", "its",
        "not", "of", "on", "or", "that", "the", "this", "to", "was", "were", "which", "with", "num", "ncbi", "pubmed",
    ];
    text.split(|it: char| !it.is_alphanumeric())
        .filter(|word| word.chars().nth(1).is_some() && word.chars().nth(24).is_none())
        .filter(|word| word.chars().any(char::is_alphabetic))
        .map(str::to_lowercase)
        .filter(|word| !USUAL.contains(&word.as_str()))
}

fn once(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut once = Vec::new();
    for word in words {
        if !once.contains(&word) {
            once.push(word);
        }
    }
    once
}
