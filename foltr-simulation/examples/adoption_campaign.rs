//! Measures the test that decides whether a device adopts a release: how often it notices a loss of .02 nDCG after as
//! many clicks as it states, and how often it refuses one of a hundred releases that are all as good.
//!
//! ```sh
//! FOLTR_DATA=~/letor cargo run --release -p foltr-simulation --example adoption_campaign
//! ```
//!
//! Without `FOLTR_DATA`, or without MQ2008 below it, generated queries of a similar shape take its place.

use std::path::Path;

use foltr_rank::adoption::{Adoption, AdoptionRule, Comparison, ShownList, compare};
use foltr_rank::learn::pdgd::{Pdgd, PdgdSettings, Updates};
use foltr_rank::normal::fill_standard_normal;
use foltr_rank::rng::{Purpose, Stream, Streams};
use foltr_rank::{OnlineLearner, Params, Ranking, Shape};
use foltr_simulation::cache::Cache;
use foltr_simulation::centralised::{CentralisedRun, CentralisedSettings};
use foltr_simulation::click::{Cascade, Preset, SimulatedUser, Users};
use foltr_simulation::client_round::TrainingSet;
use foltr_simulation::dataset::Dataset;
use foltr_simulation::datasets::{LoadOptions, Source, Synthetic, SyntheticShape};
use rand::RngExt;

const N_SHOWN: usize = 10;
const ERROR: f64 = 0.05;
const LOSS: f64 = 0.02;

/// How large the campaign is.
pub struct Size {
    /// Interactions from which the model in use was learned.
    pub n_learned: usize,
    /// Searches on which the difference of two models is measured at a time.
    pub n_measured: usize,
    /// How many times that is done for the loss of a release.
    pub n_repeated: u32,
    /// Devices of which each share is taken.
    pub n_devices: u32,
    pub n_releases: u32,
    /// Searches between two releases.
    pub n_between: usize,
}

pub const FULL: Size =
    Size { n_learned: 5_000, n_measured: 50_000, n_repeated: 20, n_devices: 400, n_releases: 100, n_between: 20 };

/// Somebody who searches.
pub struct Person<'a> {
    pub data: &'a Dataset,
    pub preset: Preset,
    /// Whether they click by position alone.
    pub is_indifferent: bool,
}

impl Person<'_> {
    fn users(&self) -> Users {
        Users::Cascade(Cascade::preset(self.preset, self.data.max_label()).expect("known grades"))
    }

    fn shape(&self) -> Shape {
        Shape::Linear { n_features: self.data.n_features() }
    }

    fn learned(&self, n_interactions: usize) -> Params {
        let settings = CentralisedSettings {
            seed: 1,
            shape: self.shape(),
            initial: vec![0.0; self.shape().n_params()],
            learning_rate: 0.1,
            decay: 1.0,
            batch: 1,
            n_interactions,
            n_shown: N_SHOWN,
            users: self.users(),
        };
        let training = TrainingSet::new(self.data.clone(), N_SHOWN);
        let mut run = CentralisedRun::new(settings, &training);
        run.round().expect("a small learning rate");
        run.params().to_vec()
    }

    /// The lists with clicks of `n_searches` searches with this model.
    fn lists(&self, model: &[f32], n_searches: usize, stream: &mut Stream) -> Vec<ShownList> {
        let settings = PdgdSettings {
            learning_rate: 0.1,
            updates: Updates::Accumulated,
            n_shown: N_SHOWN,
            clip_radius: None,
            proximal: 0.0,
        };
        let (mut pdgd, users) = (Pdgd::new(self.shape(), settings), self.users());
        pdgd.begin(model, stream);
        let mut ranking = Ranking::default();
        let search = |_| {
            let query_idx = stream.random_range(0..self.data.n_queries());
            let query = self.data.query(query_idx);
            pdgd.rank(query, stream, &mut ranking);
            let label = |&doc: &u32| if self.is_indifferent { 1 } else { self.data.labels(query_idx)[doc as usize] };
            let shown: Vec<u8> = ranking.docs().iter().map(label).collect();
            let clicks = users.click(&shown, stream);
            let lesson = pdgd.lesson(&ranking).expect("PDGD learns from every list");
            ShownList::of_lesson(query, &ranking, &lesson, clicks).expect("a list that was drawn")
        };
        (0..n_searches).filter_map(search).collect()
    }

    fn compare(&self, model: &[f32], release: &[f32], lists: &[ShownList]) -> Comparison {
        compare(self.shape(), model, release, lists).expect("models and lists of one shape")
    }

    fn device(&self, model: &[f32], most_lists: usize) -> Adoption {
        let rule = AdoptionRule { error: ERROR, lists: most_lists as u32 };
        Adoption::new(rule, self.shape(), model).expect("a sound rule")
    }

    /// A release on the way from this model to a random one that loses [`LOSS`], if any does.
    fn worse(&self, model: &[f32], lists: &[ShownList], stream: &mut Stream) -> Option<Params> {
        let mut other = vec![0.0; model.len()];
        fill_standard_normal(stream, &mut other);
        let length = |params: &[f32]| params.iter().map(|value| value * value).sum::<f32>().sqrt();
        let scale = length(model) / length(&other);
        let at = |share: f32| -> Params {
            model.iter().zip(&other).map(|(own, other)| (1.0 - share) * own + share * scale * other).collect()
        };
        let lost = |share: f32| -self.compare(model, &at(share), lists).estimate();
        let far = [0.25, 0.5, 0.75, 1.0].into_iter().find(|&share| lost(share) > LOSS)?;
        let (mut low, mut high) = (0.0, far);
        for _ in 0..8 {
            let middle = (low + high) / 2.0;
            if lost(middle) < LOSS { low = middle } else { high = middle }
        }
        Some(at(high))
    }
}

/// What was found for one kind of person.
#[derive(Debug)]
pub struct Power {
    /// The loss of the release on searches of which it was not chosen.
    pub loss: f64,
    /// Clicks that the test states for that loss, and for the threshold of the hundredth test.
    pub clicks: [f64; 2],
    /// Share of the devices that refuse the release after the first number of clicks.
    pub refused: f64,
}

/// How many standard errors decide in the k-th test against the first reference.
fn threshold(k: f64) -> f64 {
    (2.0 * (2.0 * k * (k + 1.0) / ERROR).ln()).sqrt()
}

/// Measures the power for one kind of person; nothing if no random ranker is worse enough to them.
pub fn power(person: &Person<'_>, size: &Size) -> Option<Power> {
    let streams = Streams::new(7);
    let model = person.learned(size.n_learned);
    let search = |n, number, round| person.lists(&model, n, &mut streams.open(Purpose::Interaction, number, round));
    let chosen_on = search(size.n_measured, 0, 1);
    let release = (0..20).find_map(|i| person.worse(&model, &chosen_on, &mut streams.open(Purpose::Data, i, 0)))?;
    let measure = |i: u32| person.compare(&model, &release, &search(size.n_measured, i + 1, 1));
    let all: Vec<Comparison> = (0..size.n_repeated).map(measure).collect();
    let loss = -all.iter().map(Comparison::estimate).sum::<f64>() / all.len() as f64;
    let measured = all[0];
    let clicks = [1.0, 100.0].map(|k| measured.clicks_needed(loss, threshold(k)).expect("lists with clicks"));
    let n_searches = (clicks[0] * size.n_measured as f64 / f64::from(measured.n_clicks)).ceil() as usize;
    let is_refused = |device: &u32| {
        let mut adoption = person.device(&model, n_searches);
        let lists = search(n_searches, *device, 2);
        lists.into_iter().for_each(|list| adoption.observe(list).expect("lists of the same data"));
        !adoption.consider(&release).expect("models of one shape").is_adopted()
    };
    let refused = (0..size.n_devices).filter(is_refused).count() as f64 / f64::from(size.n_devices);
    Some(Power { loss, clicks, refused })
}

/// Clicks with which the reversed ranker is refused with probability .8 in the first test, and its loss.
pub fn reversed(person: &Person<'_>, size: &Size) -> (f64, f64) {
    let model = person.learned(size.n_learned);
    let reversed: Params = model.iter().map(|weight| -weight).collect();
    let mut stream = Streams::new(7).open(Purpose::Interaction, 0, 3);
    let comparison = person.compare(&model, &reversed, &person.lists(&model, size.n_measured, &mut stream));
    let loss = -comparison.estimate();
    (comparison.clicks_needed(loss, threshold(1.0)).unwrap_or(f64::INFINITY), loss)
}

/// The share of the devices that refuse any of a series of releases that are as good as the model in use. Somebody who is
/// indifferent finds all models as good; for the others releases are chosen that differ by at most .002.
pub fn refused_equals(person: &Person<'_>, size: &Size) -> f64 {
    let streams = Streams::new(8);
    let model = person.learned(size.n_learned);
    let measured_on = person.lists(&model, size.n_measured, &mut streams.open(Purpose::Interaction, 0, 1));
    let deviation = (model.iter().map(|weight| weight * weight).sum::<f32>() / model.len() as f32).sqrt();
    let release = |number: u32| -> Params {
        let mut step = vec![0.0; model.len()];
        fill_standard_normal(&mut streams.open(Purpose::Data, number, 0), &mut step);
        model.iter().zip(&step).map(|(own, step)| own + 0.3 * deviation * step).collect()
    };
    let is_equal = |release: &Params| {
        person.is_indifferent || person.compare(&model, release, &measured_on).estimate().abs() < 0.002
    };
    let releases: Vec<Params> = (0..).map(release).filter(is_equal).take(size.n_releases as usize).collect();
    let refuses_one = |device: &u32| {
        let mut stream = streams.open(Purpose::Interaction, *device, 2);
        let mut adoption = person.device(&model, 2_000);
        releases.iter().any(|release| {
            let lists = person.lists(adoption.present(), size.n_between, &mut stream);
            lists.into_iter().for_each(|list| adoption.observe(list).expect("lists of the same data"));
            !adoption.consider(release).expect("models of one shape").is_adopted()
        })
    };
    (0..size.n_devices).filter(refuses_one).count() as f64 / f64::from(size.n_devices)
}

/// Generated queries that are as long as those of MQ2007.
pub fn generated(n_queries: usize) -> Dataset {
    let synthetic =
        Synthetic { n_train: n_queries, n_test: 1, n_validation: 0, ..Synthetic::new(SyntheticShape::Mq2007) };
    synthetic.generate(1).expect("a sound description").train
}

#[allow(dead_code, reason = "tests call the functions above")]
fn main() {
    let folder = std::env::var_os("FOLTR_DATA").map(|folder| Path::new(&folder).join("MQ2008"));
    let (name, data) = match folder.filter(|folder| folder.is_dir()) {
        Some(folder) => {
            let source = Source::open(&folder).expect("the layout of MQ2008");
            let fold = source.load_fold(0, &LoadOptions::new(true, &Cache::Off)).expect("fold 1 of MQ2008");
            ("training queries of MQ2008, fold 1", fold.train)
        }
        None => ("generated queries", generated(500)),
    };
    println!("{name}; models learned from {} interactions; shares of {} devices.", FULL.n_learned, FULL.n_devices);
    println!("\n| person | loss | clicks stated, test 1 | test 100 | refused | reversed ranker: loss | clicks |");
    println!("|---|---|---|---|---|---|---|");
    let presets = [Preset::Perfect, Preset::Navigational, Preset::Informational];
    let person = |preset| Person { data: &data, preset, is_indifferent: false };
    for preset in presets {
        let found = power(&person(preset), &FULL).map_or("no ranker loses so much | | | ".into(), |power| {
            let Power { loss, clicks, refused } = power;
            format!("{loss:.4} | {:.0} | {:.0} | {refused:.3}", clicks[0], clicks[1])
        });
        let (clicks, loss) = reversed(&person(preset), &FULL);
        println!("| {} | {found} | {loss:.4} | {clicks:.0} |", preset.name());
    }
    println!("\n| person | devices that refuse one of {} equal releases |\n|---|---|", FULL.n_releases);
    for preset in presets {
        println!("| {} | {:.3} |", preset.name(), refused_equals(&person(preset), &FULL));
    }
    let indifferent = Person { is_indifferent: true, ..person(Preset::Navigational) };
    println!("| prefers nothing, stops like a navigational person | {:.3} |", refused_equals(&indifferent, &FULL));
}
