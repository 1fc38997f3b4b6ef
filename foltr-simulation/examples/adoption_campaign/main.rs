//! Measures the test that decides whether a device adopts a release: how often it notices a loss of .02 nDCG after as
//! many clicks as it states, how often it refuses one of a hundred releases that are all as good, and what releases that
//! are made to get past it achieve.
//!
//! ```sh
//! FOLTR_DATA=~/letor cargo run --release -p foltr-simulation --example adoption_campaign
//! ```
//!
//! Without `FOLTR_DATA`, or without MQ2008 below it, generated queries of a similar shape take its place.

pub mod attacks;
pub mod person;
pub mod promises;

use std::path::Path;

use foltr_simulation::cache::Cache;
use foltr_simulation::click::Preset;
use foltr_simulation::dataset::Dataset;
use foltr_simulation::datasets::{LoadOptions, Source, Synthetic, SyntheticShape};

use person::Person;
use promises::Power;

/// How large the campaign is.
pub struct Size {
    /// Interactions from which the model in use was learned.
    pub n_learned: usize,
    /// Searches on which releases are chosen.
    pub n_chosen: usize,
    /// Searches on which the loss of a release is measured.
    pub n_measured: usize,
    /// Devices of which each share is taken.
    pub n_devices: u32,
    /// Devices that meet a series of releases.
    pub n_series: u32,
    pub n_releases: u32,
    /// Searches between two releases.
    pub n_between: usize,
    /// Lists that devices store which meet them.
    pub n_stored: usize,
    /// Devices that each attack meets.
    pub n_attacked: u32,
    /// Devices to whose clicks a release is fitted.
    pub n_fitted: u32,
}

pub const FULL: Size = Size {
    n_learned: 5_000,
    n_chosen: 20_000,
    n_measured: 200_000,
    n_devices: 400,
    n_series: 200,
    n_releases: 100,
    n_between: 5,
    n_stored: 400,
    n_attacked: 100,
    n_fitted: 25,
};

/// Generated queries that are as long as those of MQ2007.
pub fn generated(n_queries: usize) -> Dataset {
    let synthetic =
        Synthetic { n_train: n_queries, n_test: 1, n_validation: 0, ..Synthetic::new(SyntheticShape::Mq2007) };
    synthetic.generate(1).expect("a sound description").train
}

#[allow(dead_code, reason = "tests call the functions above")]
fn main() {
    let start = std::time::Instant::now();
    let folder = std::env::var_os("FOLTR_DATA").map(|folder| Path::new(&folder).join("MQ2008"));
    let (name, data) = match folder.filter(|folder| folder.is_dir()) {
        Some(folder) => {
            let source = Source::open(&folder).expect("the layout of MQ2008");
            let fold = source.load_fold(0, &LoadOptions::new(true, &Cache::Off)).expect("fold 1 of MQ2008");
            ("training queries of MQ2008, fold 1", fold.train)
        }
        None => ("generated queries", generated(500)),
    };
    println!("{name}; models learned from {} interactions.", FULL.n_learned);
    let presets = [Preset::Perfect, Preset::Navigational, Preset::Informational];
    let people = presets.map(|preset| Person { data: &data, preset, is_indifferent: false });
    let indifferent = Person { data: &data, preset: Preset::Navigational, is_indifferent: true };
    print_promises(&people, &indifferent);
    print_attacks(&people, &indifferent);
    println!("\n{:.0} seconds.", start.elapsed().as_secs_f64());
}

fn print_promises(people: &[Person<'_>], indifferent: &Person<'_>) {
    println!(
        "\n| person | loss | by labels | clicks stated, test 1 | test 100 | refused by share of 400 | reversed: loss | clicks |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for person in people {
        let found = promises::power(person, &FULL).map_or("no ranker loses so much | | | | ".into(), |power| {
            let Power { loss, loss_by_labels, clicks, refused } = power;
            format!("{loss:.4} | {loss_by_labels:.4} | {:.0} | {:.0} | {refused:.3}", clicks[0], clicks[1])
        });
        let (clicks, loss) = promises::reversed(person, &FULL);
        println!("| {} | {found} | {loss:.4} | {clicks:.0} |", person.preset.name());
    }
    println!("\n| person | of a release whose lists lose .02 by labels: measured loss | clicks stated, test 1 |");
    println!("|---|---|---|");
    for person in people {
        let (loss, clicks) = promises::lost_by_labels(person, &FULL).unwrap_or((f64::NAN, f64::NAN));
        println!("| {} | {loss:.4} | {clicks:.0} |", person.preset.name());
    }
    println!("\n| person | share of 200 devices that refuse one of 100 equal releases |\n|---|---|");
    let found = |person| promises::refused_equals(person, &FULL).map_or("none found".into(), |it| format!("{it:.3}"));
    people.iter().for_each(|person| println!("| {} | {} |", person.preset.name(), found(person)));
    println!("| prefers nothing, stops like a navigational person | {} |", found(indifferent));
}

fn print_attacks(people: &[Person<'_>], indifferent: &Person<'_>) {
    println!("\n| release | person | refused by share of 100 | nDCG@10 before | with it |\n|---|---|---|---|---|");
    for person in people {
        let all = [
            ("a tenth of the model", attacks::flattened(person, &FULL)),
            ("nine times the model, then the reversed one", attacks::sharpened_then_reversed(person, &FULL)),
        ];
        for (name, found) in all {
            let [before, after] = found.ndcg;
            println!("| {name} | {} | {:.2} | {before:.4} | {after:.4} |", person.preset.name(), found.refused);
        }
        println!("| scores overflow | {} | {:.2} | | |", person.preset.name(), attacks::overflowing(person, &FULL));
    }
    println!("\n| person | nDCG@10 that passes, mean of 25 devices | fitted to the device's clicks |\n|---|---|---|");
    for person in people {
        let [blind, fitted] = attacks::most_that_passes(person, &FULL);
        println!("| {} | {blind:.4} | {fitted:.4} |", person.preset.name());
    }
    let [better, refused] = attacks::memorised(indifferent, &FULL);
    println!("\nFitted to the clicks of somebody who prefers nothing: {better:.2} of 25 devices find it better;");
    println!("{refused:.2} of them then refuse one of 20 equal releases.");
}
