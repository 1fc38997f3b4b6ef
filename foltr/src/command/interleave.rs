//! `foltr interleave`: which of two trained rankers users prefer, by clicks on lists of both.

use anyhow::{Context, Result, ensure};
use foltr_experiment::interleaved::InterleavedTest;
use foltr_experiment::model::ModelFile;
use foltr_experiment::selection::{Part, load_for};
use foltr_experiment::spec::Split;
use foltr_rank::interleave::{InterleavedComparison, Interleaving};
use foltr_report::distinct;
use foltr_report::table::{grouped, table};
use foltr_simulation::click::Preset;
use serde::Serialize;

use super::End;
use crate::cli::InterleaveArgs;
use crate::output::{self, note, say};

/// What users said on the queries of one split.
#[derive(Debug, Serialize)]
struct Compared {
    #[serde(skip_serializing_if = "Option::is_none")]
    fold: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    split: Option<Split>,
    users: Preset,
    method: Interleaving,
    n_lists: u64,
    wins: u64,
    losses: u64,
    ties: u64,
    /// For the first ranker, from -1 to 1.
    preference: f64,
    interval: (f64, f64),
    /// Of team drafts only: if users prefer neither, clicks on a list fall to both sides alike. Probabilistic lists are only
    /// fair on average.
    sign_test: Option<f64>,
}

pub fn run(arguments: &InterleaveArgs) -> Result<End> {
    let InterleaveArgs { first, second, data, users, method, lists, list_length, seed, .. } = arguments;
    let selection = arguments.selection.selection();
    let [first, second] = [ModelFile::read(first)?.model, ModelFile::read(second)?.model];
    let (ours, warnings) = load_for(&first, data, &selection)?;
    let (theirs, more) = load_for(&second, data, &selection)?;
    distinct(warnings.into_iter().chain(more)).iter().for_each(|warning| note(format_args!("warning: {warning}")));
    ensure!(ours.len() == theirs.len(), "both rankers are compared on the same folds and splits");
    let (n_shown, n_lists) = (usize::from(*list_length), *lists);
    let test = InterleavedTest { method: *method, users: *users, n_lists, n_shown, seed: *seed };
    let mut all = Vec::new();
    for (own, other) in ours.iter().zip(&theirs) {
        let comparison = test.run([&first, &second], [&own.data, &other.data]);
        all.push(Compared::new(own, &test, &comparison.with_context(|| data.display().to_string())?));
    }
    output::answer(&all)?;
    say(render(&all));
    Ok(End::Done)
}

impl Compared {
    fn new(part: &Part, test: &InterleavedTest, comparison: &InterleavedComparison) -> Self {
        let (fold, split) = part.fold_and_split.unzip();
        let &InterleavedComparison { n_lists, wins, losses, .. } = comparison;
        Self {
            fold,
            split,
            users: test.users,
            method: test.method,
            n_lists,
            wins,
            losses,
            ties: comparison.ties(),
            preference: comparison.mean(),
            interval: comparison.interval(),
            sign_test: (test.method == Interleaving::TeamDraft).then(|| comparison.sign_test()),
        }
    }
}

fn render(all: &[Compared]) -> String {
    let has_place = all.iter().any(|part| part.fold.is_some());
    let row = |part: &Compared| -> Vec<String> {
        let fold = part.fold.map(|fold| fold.to_string());
        let place = fold.into_iter().chain(part.split.map(|split| split.name().to_owned()));
        let (low, high) = part.interval;
        let counts = [part.n_lists, part.wins, part.losses, part.ties].map(grouped);
        let preference = format!("{:+.4} [{low:+.4}, {high:+.4}]", part.preference);
        let sign_test = part.sign_test.map_or_else(|| "-".into(), |value| format!("{value:.2e}"));
        place.chain(counts).chain([preference, sign_test]).collect()
    };
    let words: &[&str] = if has_place { &["fold", "split"] } else { &[] };
    let header =
        [words, &["lists", "first wins", "second wins", "ties", "preference for the first", "sign test"]].concat();
    table(&header, words.len(), all.iter().map(row).collect())
}
