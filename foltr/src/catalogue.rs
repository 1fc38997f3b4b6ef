//! Every table, figure and research question of the papers: entries of the files of `specs/`, which are part of the
//! program, and one that is code.

use std::path::PathBuf;
use std::rc::Rc;

use anyhow::Result;

use crate::studies;
use foltr_experiment::spec::{Problem, SpecError};
use foltr_experiment::study::{Asked, Entry, Study, StudyFile};
use foltr_report::expect::Criteria;

include!(concat!(env!("OUT_DIR"), "/specs.rs"));

/// An entry, and its file; none for the one that is code.
pub struct Item {
    pub entry: Entry,
    file: Option<(&'static str, Rc<StudyFile>)>,
}

impl Item {
    pub fn checked(&self, is_quick: bool, overrides: &[String]) -> Result<Option<(Study, Criteria)>, SpecError> {
        let Some((spec, file)) = &self.file else { return Ok(None) };
        let asked = Asked { entry: Some(&self.entry.id), is_quick, overrides };
        checked(file, &asked).map(Some).map_err(|problems| wrong(spec, problems))
    }
}

pub fn checked(file: &StudyFile, asked: &Asked<'_>) -> Result<(Study, Criteria), Vec<Problem>> {
    let study = file.study(asked)?;
    let criteria = Criteria::read(&study)?;
    Ok((study, criteria))
}

fn wrong(spec: &str, problems: Vec<Problem>) -> SpecError {
    SpecError::Wrong { path: PathBuf::from("specs").join(spec), problems }
}

/// All entries, in the order of files and within them, after the one that is code.
pub fn items() -> Result<Vec<Item>, SpecError> {
    let mut all = vec![Item { entry: studies::table_2_entry(), file: None }];
    for &(spec, text) in SPECS {
        let file = Rc::new(StudyFile::from_toml(text).map_err(|problems| wrong(spec, problems))?);
        let item = |entry: &Entry| Item { entry: entry.clone(), file: Some((spec, file.clone())) };
        all.extend(file.entries.iter().map(item));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use foltr_federation::Defence;
    use toml::Table;

    use super::*;

    #[test]
    fn every_file_is_sound_in_full_and_with_a_small_budget() {
        for &(spec, text) in SPECS {
            let file = StudyFile::from_toml(text).unwrap_or_else(|problems| panic!("{spec}: {problems:#?}"));
            for entry in file.entries.iter().map(|entry| Some(entry.id.as_str())).chain([None]) {
                for is_quick in [false, true] {
                    let read = checked(&file, &Asked { entry, is_quick, overrides: &[] });
                    assert!(read.is_ok(), "{spec}, {entry:?}, quick {is_quick}: {:#?}", read.err());
                }
            }
        }
        assert!(items().expect("sound files").len() > 30);
    }

    /// What is measured as the default, and what the documentation says to write, is what the library recommends.
    #[test]
    fn the_default_is_the_recommended_defence() {
        let of_spec = |name: &str| {
            let (_, text) = SPECS.iter().find(|(spec, _)| *spec == name).expect("a file of this name");
            let table: Table = text.parse().expect("a table");
            table["grid"]["axis"]["defence"]["default"]["defence"].clone()
        };
        let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/attacks.md")).expect("a page");
        let (_, block) = text.split_once("```toml\n[defence]\n").expect("a section");
        let documented: Table = block.split_once("```").expect("an end").0.parse().expect("a table");
        for (value, attackers) in [
            (of_spec("scorecard.toml"), 1),
            (of_spec("scorecard-settings.toml"), 4),
            (of_spec("scorecard-devices.toml"), 1),
            (of_spec("attacks/claims.toml"), 4),
            (documented.into(), 4),
        ] {
            assert_eq!(value.try_into::<Defence>().expect("a defence"), Defence::recommended(attackers));
        }
    }
}
