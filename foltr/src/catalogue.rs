//! The entries of all experiment files of `specs/`, which are part of the program.

use std::path::PathBuf;

use anyhow::Result;

use foltr_experiment::spec::{Problem, SpecError};
use foltr_experiment::study::{Asked, Entry, Study, StudyFile};
use foltr_report::expect::Criteria;

include!(concat!(env!("OUT_DIR"), "/specs.rs"));

/// An entry, and the file that it is in.
pub struct Listed {
    pub entry: Entry,
    spec: &'static str,
    file: StudyFile,
}

impl Listed {
    /// The study of the entry, with everything checked.
    ///
    /// # Errors
    /// With all problems of the file.
    pub fn study(&self, is_quick: bool, overrides: &[String]) -> Result<(Study, Criteria), SpecError> {
        let asked = Asked { entry: Some(&self.entry.id), is_quick, overrides };
        checked(&self.file, &asked).map_err(|problems| wrong(self.spec, problems))
    }
}

/// A study with its expectations and figures, all checked.
///
/// # Errors
/// With all problems of the file.
pub fn checked(file: &StudyFile, asked: &Asked<'_>) -> Result<(Study, Criteria), Vec<Problem>> {
    let study = file.study(asked)?;
    let criteria = Criteria::read(&study)?;
    Ok((study, criteria))
}

fn wrong(spec: &str, problems: Vec<Problem>) -> SpecError {
    SpecError::Wrong { path: PathBuf::from("specs").join(spec), problems }
}

/// All entries, in the order of files and within them.
///
/// # Errors
/// With all problems of the first file that is wrong.
pub fn entries() -> Result<Vec<Listed>, SpecError> {
    let mut all = Vec::new();
    for &(spec, text) in SPECS {
        let file = StudyFile::from_toml(text).map_err(|problems| wrong(spec, problems))?;
        all.extend(file.entries.iter().map(|entry| Listed { entry: entry.clone(), spec, file: file.clone() }));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_sound_in_full_and_with_a_small_budget() {
        let mut ids: Vec<String> = Vec::new();
        for &(spec, text) in SPECS {
            let file = StudyFile::from_toml(text).unwrap_or_else(|problems| panic!("{spec}: {problems:#?}"));
            for entry in &file.entries {
                assert!(!ids.contains(&entry.id), "{spec}: another file has {}", entry.id);
                ids.push(entry.id.clone());
            }
            for entry in file.entries.iter().map(|entry| Some(entry.id.as_str())).chain([None]) {
                for is_quick in [false, true] {
                    let asked = Asked { entry, is_quick, overrides: &[] };
                    let read = checked(&file, &asked);
                    assert!(read.is_ok(), "{spec}, {entry:?}, quick {is_quick}: {:#?}", read.err());
                }
            }
        }
        assert!(ids.len() > 30, "{ids:?}");
    }
}
