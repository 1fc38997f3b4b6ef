//! What is worth knowing about a collection's files, though they could be read?

use std::path::PathBuf;

use super::Form;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    pub form: Option<Form>,
    /// Judgements call a TREC topic by its position in the file, from 1, as those of Cranfield do, not by its `<num>`.
    pub by_position: bool,
    /// Judgements left out because there is no such document, or query.
    pub unknown_documents: Unknown,
    pub unknown_queries: Unknown,
    /// Grades below 0, read as 0: not relevant.
    pub n_negative: usize,
    /// Grades other than 1 that were read as 1, since 0 says relevant.
    pub n_as_relevant: usize,
    /// Judgements of a pair that was judged before; the higher grade counts.
    pub n_repeated: usize,
    /// Files that are not UTF-8 and were read as Latin-1.
    pub latin1: Vec<PathBuf>,
    /// Files that are nothing of a collection.
    pub ignored: Vec<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unknown {
    pub count: usize,
    /// The first few of them, each once.
    pub examples: Vec<String>,
}

impl Notes {
    /// What a reader of a report should know, in sentences; nothing if all is as it should be.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let mut say = |count: usize, sentence: String| {
            if count > 0 {
                sentences.push(sentence);
            }
        };
        for (Unknown { count, examples }, kind) in
            [(&self.unknown_documents, "documents"), (&self.unknown_queries, "queries")]
        {
            let examples = examples.join(", ");
            say(*count, format!("{count} judgements left out: they name {kind} that are not there ({examples}, ...)"));
        }
        if self.by_position {
            say(1, "judgements name queries by their position in the file of topics, not by their number".to_owned());
        }
        say(self.n_negative, format!("{} grades below 0 were read as not relevant", self.n_negative));
        let n = self.n_as_relevant;
        say(n, format!("{n} grades were read as 1 (`zero_grade = \"relevant\"`): every judged document is relevant"));
        say(self.n_repeated, format!("{} judgements repeat a pair; the higher grade counts", self.n_repeated));
        let files = [(&self.latin1, "is not UTF-8 and was read as Latin-1"), (&self.ignored, "was ignored")];
        for (files, reason) in files {
            files.iter().for_each(|file| say(1, format!("{} {reason}", file.display())));
        }
        sentences
    }
}

impl Unknown {
    pub(super) fn add(&mut self, name: &str) {
        const MAX_EXAMPLES: usize = 5;
        self.count += 1;
        if self.examples.len() < MAX_EXAMPLES && !self.examples.iter().any(|example| example == name) {
            self.examples.push(name.to_owned());
        }
    }
}
