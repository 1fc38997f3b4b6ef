//! What the files of `specs/` expect and draw can be read, for every entry and with small budgets.

use foltr_experiment::study::{Asked, StudyFile};
use foltr_report::expect::Criteria;

#[test]
fn expectations_and_figures_of_every_entry_are_sound() {
    let mut n_studies = 0;
    for path in foltr_test::spec_files() {
        let file = StudyFile::read(&path).unwrap_or_else(|error| panic!("{error}"));
        let entries = file.entries.iter().map(|entry| Some(entry.id.as_str())).chain([None]);
        for (entry, is_quick) in entries.flat_map(|entry| [(entry, false), (entry, true)]) {
            let study = file.study(&Asked { entry, is_quick, overrides: &[] });
            let criteria = study.and_then(|study| Criteria::read(&study));
            let criteria = criteria.unwrap_or_else(|problems| panic!("{}, {entry:?}: {problems:#?}", path.display()));
            n_studies += usize::from(!criteria.is_empty());
        }
    }
    assert!(n_studies > 20, "{n_studies} studies");
}
