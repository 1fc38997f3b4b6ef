//! Data from which nothing, or something else than meant, is learned.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use foltr_rank::{Shape, row_stride};
use foltr_simulation::dataset::Dataset;
use foltr_simulation::datasets::Fold;
use foltr_simulation::letor::ends_in_mid_line;

use crate::model::Model;
use crate::spec::Data;

/// What is odd about the files and the folds of an experiment.
pub(crate) fn about_data<'a>(data: &Data, folds: impl Iterator<Item = (usize, &'a Fold)>) -> Vec<String> {
    let files: BTreeSet<PathBuf> = data.files().into_iter().collect();
    let cut = files.iter().filter_map(|file| cut_file(file));
    let idle = folds.filter(|(_, fold)| without_relevant(&fold.train)).map(|(number, _)| {
        format!("{}, fold {number}: no training document is relevant; nothing can be learned from it", data.name())
    });
    cut.chain(idle).collect()
}

/// A warning about a file that may have been cut.
pub(crate) fn cut_file(file: &Path) -> Option<String> {
    let words = "the last line has no line end; if the file was cut there, its last document is not whole";
    ends_in_mid_line(file).then(|| format!("{}: {words}", file.display()))
}

/// A warning if a model looks at features that the data never has.
///
/// A linear ranker gives weight only to features that differed in its training. A hidden layer starts with weights for
/// all of them, so that of those only the number of features is compared.
pub(crate) fn lacking_features(model: &Model, data: &Dataset) -> Option<String> {
    let (known, found) = (model.shape.n_features(), data.n_features());
    if found < known {
        return Some(format!("has {found} features, but the model was trained with {known}: the others count as 0"));
    }
    let Shape::Linear { .. } = model.shape else { return None };
    let stride = row_stride(found);
    let mut is_there = vec![false; stride];
    for row in data.rows().chunks_exact(stride) {
        is_there.iter_mut().zip(row).for_each(|(is_there, &value)| *is_there |= value != 0.0);
    }
    let has_weight = |feature: &usize| model.params[*feature] != 0.0 && !is_there[*feature];
    let missing: Vec<String> = (0..known).filter(has_weight).map(|feature| (feature + 1).to_string()).collect();
    let (n_missing, words) = (missing.len(), "to which the model gives weight, though they are 0 in every document");
    let shown = missing[..n_missing.min(MOST_NAMED)].join(", ");
    let more = if n_missing > MOST_NAMED { format!(" and {} more", n_missing - MOST_NAMED) } else { String::new() };
    (n_missing > 0).then(|| format!("lacks features {words}: {shown}{more}"))
}

const MOST_NAMED: usize = 10;

fn without_relevant(data: &Dataset) -> bool {
    data.all_labels().iter().all(|&label| label == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;

    #[test]
    fn cut_files_and_training_data_without_a_relevant_document_are_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let (whole, cut) = ("0 qid:1 1:1\n0 qid:2 1:2\n", "1 qid:3 1:1\n0 qid:3 1:0.1");
        std::fs::write(path("train.txt"), whole).expect("written");
        std::fs::write(path("test.txt"), cut).expect("written");
        let files = |train: &str| Data::Files {
            train: vec![path(train)],
            validation: Vec::new(),
            test: vec![path("test.txt")],
            n_features: None,
            max_label: None,
            normalise: crate::spec::Normalisation::None,
        };
        let warnings = |data: &Data| {
            let folds = data::load(data).expect("valid");
            about_data(data, folds.iter().map(|(number, fold)| (*number, fold)))
        };
        let both = warnings(&files("train.txt"));
        assert_eq!(both.len(), 2, "{both:?}");
        assert!(both[0].contains("test.txt: the last line has no line end"), "{both:?}");
        assert_eq!(both[1], "train, fold 1: no training document is relevant; nothing can be learned from it");
        assert_eq!(warnings(&files("test.txt")).len(), 1, "said once, though it is used twice");
        std::fs::write(path("test.txt"), format!("{cut}\n")).expect("written");
        assert_eq!(warnings(&files("test.txt")), [""; 0]);
    }
}
