//! Data of a scorecard: two real collections, if they are at hand, and one that is generated.

use anyhow::{Result, bail};

use crate::reproduce::Wanted;

/// A collection that a card can be made on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    /// What the command line calls it.
    pub name: &'static str,
    /// What the card calls it: a sample is not the whole.
    pub title: String,
    /// `[data]` as a TOML value; `{seed}` is the number of the collection where it is generated anew for every seed.
    pub section: String,
}

/// Names of all collections.
pub const COLLECTIONS: [&str; 3] = ["MQ2008", "MQ2007", "synthetic-mslr"];

/// Those of the named collections that are at hand, and the names of the others.
///
/// # Errors
/// If there is no such collection.
pub fn at_hand(names: &[String]) -> Result<(Vec<Collection>, Vec<String>)> {
    let (mut there, mut missing) = (Vec::new(), Vec::new());
    for name in names {
        match find(name)? {
            Some(collection) => there.push(collection),
            None => missing.push(name.clone()),
        }
    }
    Ok((there, missing))
}

/// Whether there is such a collection here.
pub fn is_at_hand(name: &str) -> bool {
    matches!(find(name), Ok(Some(_)))
}

fn find(name: &str) -> Result<Option<Collection>> {
    let real = |name: &'static str, wanted: Wanted| {
        let stand_in = wanted.find();
        let is_real = !stand_in.section.contains("\"synthetic\"");
        Ok(is_real.then_some(Collection { name, title: stand_in.name, section: stand_in.section }))
    };
    match name {
        "MQ2008" => real("MQ2008", Wanted::Mq2008),
        "MQ2007" => real("MQ2007", Wanted::Mq2007),
        "synthetic-mslr" => Ok(Some(Collection {
            name: "synthetic-mslr",
            title: "synthetic-mslr".into(),
            section: "{ kind = \"synthetic\", shape = \"mslr\", queries = 600, validation_queries = 200, \
                      test_queries = 200, seed = {seed}, normalise = \"query\" }"
                .into(),
        })),
        _ => bail!("--data: there is no collection `{name}`; the names are {}", COLLECTIONS.join(", ")),
    }
}
