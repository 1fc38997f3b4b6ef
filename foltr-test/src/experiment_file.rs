//! A small sound experiment, as text that a test changes key by key.

use std::fmt::{self, Display, Formatter};
use std::path::Path;

/// FPDGD on generated data.
const FPDGD: &str = r#"seeds = [1, 2]

[data]
kind = "synthetic"
shape = "tiny"
queries = 100
seed = 1

[clients]
n_clients = 10
interactions = 2

[users]
kind = "cascade"
preset = "perfect"

[ranker]
kind = "linear"
initialisation = { kind = "zero" }

[learner]
kind = "pdgd"
learning_rate = 0.1
updates = "immediate"

[federation]
rounds = 5
optimiser = { kind = "learning-rate", rate = 1.0 }
"#;

/// An experiment file by sections, the first without a name, and what follows them.
#[derive(Clone, Debug)]
pub struct ExperimentFile {
    sections: Vec<(String, Vec<(String, String)>)>,
    end: String,
}

impl ExperimentFile {
    /// FPDGD with 10 clients and 5 rounds on generated data.
    pub fn fpdgd() -> Self {
        let mut file = Self { sections: Vec::new(), end: String::new() };
        for section in FPDGD.split("\n[") {
            let (name, body) = section.split_once("]\n").filter(|_| !file.sections.is_empty()).unwrap_or(("", section));
            file = file.section(name, body);
        }
        file
    }

    /// The same with FOLtR-ES.
    pub fn evolution() -> Self {
        let learner =
            "kind = \"evolution\"\nsigma = 0.01\nantithetic = true\nreward = \"max-rr\"\nstream = \"separate\"";
        Self::fpdgd().section("learner", learner)
    }

    /// Replaces a section's lines, or adds the section.
    pub fn section(mut self, name: &str, body: &str) -> Self {
        let lines = body.lines().filter(|line| !line.trim().is_empty());
        let pair = |line: &str| {
            let (key, value) = line.split_once('=').unwrap_or_else(|| panic!("`{line}` is no `key = value`"));
            (key.trim().to_owned(), value.trim().to_owned())
        };
        *self.lines(name) = lines.map(pair).collect();
        self
    }

    /// Sets `section.key`, or a key of no section, to a value as TOML writes it.
    pub fn set(mut self, path: &str, value: &str) -> Self {
        let (name, key) = path.split_once('.').unwrap_or(("", path));
        let lines = self.lines(name);
        match lines.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value.to_owned(),
            None => lines.push((key.to_owned(), value.to_owned())),
        }
        self
    }

    /// Removes a section, or `section.key`.
    pub fn without(mut self, path: &str) -> Self {
        let count = |file: &Self| file.sections.iter().map(|(_, lines)| 1 + lines.len()).sum::<usize>();
        let before = count(&self);
        match path.split_once('.') {
            None => self.sections.retain(|(name, _)| name != path),
            Some((section, key)) => self.lines(section).retain(|(known, _)| known != key),
        }
        assert!(count(&self) < before, "there is no {path}");
        self
    }

    /// Adds text after all sections, such as `[grid]` or `[[expect]]`.
    pub fn and(mut self, text: &str) -> Self {
        self.end += text;
        self
    }

    pub fn write(&self, path: &Path) {
        std::fs::write(path, self.to_string()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// The lines of a section, made if there is none.
    fn lines(&mut self, name: &str) -> &mut Vec<(String, String)> {
        let known = self.sections.iter().position(|(known, _)| known == name);
        let i = known.unwrap_or(self.sections.len());
        if known.is_none() {
            self.sections.push((name.to_owned(), Vec::new()));
        }
        &mut self.sections[i].1
    }
}

impl Display for ExperimentFile {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (number, (name, lines)) in self.sections.iter().enumerate() {
            if number > 0 {
                writeln!(f, "\n[{name}]")?;
            }
            lines.iter().try_for_each(|(key, value)| writeln!(f, "{key} = {value}"))?;
        }
        f.write_str(&self.end)
    }
}

#[test]
fn keys_and_sections_are_replaced_added_and_removed() {
    assert_eq!(ExperimentFile::fpdgd().to_string(), FPDGD);
    let file = ExperimentFile::fpdgd().set("seeds", "[3]").set("clients.n_clients", "7").set("metrics.offline", "[]");
    let file = file.section("data", "kind = \"folder\"").without("users").without("federation.rounds").and("[grid]\n");
    let expected = FPDGD
        .replace("[1, 2]", "[3]")
        .replace("n_clients = 10", "n_clients = 7")
        .replace("kind = \"synthetic\"\nshape = \"tiny\"\nqueries = 100\nseed = 1\n", "kind = \"folder\"\n")
        .replace("[users]\nkind = \"cascade\"\npreset = \"perfect\"\n\n", "")
        .replace("rounds = 5\n", "");
    assert_eq!(file.to_string(), expected + "\n[metrics]\noffline = []\n[grid]\n");
}
