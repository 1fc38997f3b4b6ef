//! Releases that are made to get past the test.

use foltr_rank::Params;
use foltr_rank::adoption::{Adoption, Outcome, ShownList};
use foltr_rank::normal::fill_standard_normal;
use foltr_rank::rng::{Purpose, Stream, Streams};

use super::Size;
use super::person::{Person, between, consider, length, observe, scaled};

/// Searches of a device before it is attacked.
const N_SEARCHES: usize = 3_000;
/// Those of a device to whose clicks a release is fitted, which takes long.
const N_FITTED_TO: usize = 1_000;
/// Steps of a server that fits a release to a device's clicks.
const N_FIT: usize = 12;

/// What came of an attack.
pub struct Outcomes {
    /// Share of the devices that refuse the release.
    pub refused: f64,
    /// nDCG by labels of the lists of the model in use, and of those of the release.
    pub ndcg: [f64; 2],
}

/// Devices that all search with one model and then meet a release.
struct Scene<'a> {
    person: &'a Person<'a>,
    n_devices: u32,
    n_measured: usize,
    streams: Streams,
    model: Params,
}

impl<'a> Scene<'a> {
    fn new(person: &'a Person<'a>, size: &Size) -> Self {
        let (streams, model) = (Streams::new(9), person.learned(size.n_learned));
        Self { person, n_devices: size.n_attacked, n_measured: size.n_chosen, streams, model }
    }

    fn stream(&self, device: u32, round: u32) -> Stream {
        self.streams.open(Purpose::Interaction, device, round)
    }

    fn device(&self, device: u32) -> Adoption {
        let lists = self.person.search(&self.model, N_SEARCHES, &mut self.stream(device, 0)).lists;
        self.person.device(&self.model, N_SEARCHES, &lists)
    }

    fn ndcg(&self, model: &[f32]) -> f64 {
        self.person.search(model, self.n_measured, &mut self.stream(0, 9)).ndcg
    }

    fn outcomes(&self, release: &[f32], is_refused: impl Fn(u32) -> bool) -> Outcomes {
        let n_refused = (0..self.n_devices).filter(|&device| is_refused(device)).count();
        let ndcg = [self.ndcg(&self.model), self.ndcg(release)];
        Outcomes { refused: n_refused as f64 / f64::from(self.n_devices), ndcg }
    }
}

/// A tenth of the model: the same order, but lists are nearly random.
pub fn flattened(person: &Person<'_>, size: &Size) -> Outcomes {
    let scene = Scene::new(person, size);
    let release = scaled(&scene.model, 0.1);
    scene.outcomes(&release, |device| !consider(&mut scene.device(device), &release).is_adopted())
}

/// Nine times the model, whose lists are nearly certain; after twice as many searches the reversed model.
pub fn sharpened_then_reversed(person: &Person<'_>, size: &Size) -> Outcomes {
    let scene = Scene::new(person, size);
    let reversed = scaled(&scene.model, -1.0);
    scene.outcomes(&reversed, |number| {
        let mut device = scene.device(number);
        consider(&mut device, &scaled(&scene.model, 9.0));
        let lists = person.search(device.present(), 2 * N_SEARCHES, &mut scene.stream(number, 1)).lists;
        observe(&mut device, &lists);
        !consider(&mut device, &reversed).is_adopted()
    })
}

/// The share of the devices that refuse finite parameters whose scores overflow without a test.
pub fn overflowing(person: &Person<'_>, size: &Size) -> f64 {
    let scene = Scene::new(person, size);
    let release = scaled(&scene.model, 3e38 / scene.model.iter().fold(0.0, |most: f32, it| most.max(it.abs())));
    let is_refused = |number: &u32| {
        let mut device = scene.device(*number);
        !consider(&mut device, &release).is_adopted() && device.n_tests() == 0
    };
    (0..scene.n_devices).filter(is_refused).count() as f64 / f64::from(scene.n_devices)
}

/// The release that looks best on these lists, as far as a few steps uphill find it.
fn fitted(person: &Person<'_>, model: &[f32], lists: &[ShownList]) -> Params {
    let looks = |release: &[f32]| {
        let comparison = person.compare(model, release, lists);
        if comparison.is_empty() { 0.0 } else { comparison.estimate() / comparison.standard_error() }
    };
    let mut best = model.to_vec();
    for step in 0..N_FIT {
        let size = 0.5 * length(model) / (1.0 + step as f32).sqrt() / (model.len() as f32).sqrt();
        // The gradient by differences, feature after feature.
        let here = looks(&best);
        let mut gradient = vec![0.0; model.len()];
        for feature in 0..model.len() {
            let mut moved = best.clone();
            moved[feature] += 0.2 * size;
            gradient[feature] = (looks(&moved) - here) as f32;
        }
        let scale = size * (model.len() as f32).sqrt() / length(&gradient).max(f32::MIN_POSITIVE);
        let moved: Params = best.iter().zip(&gradient).map(|(own, step)| own + scale * step).collect();
        if looks(&moved) > here {
            best = moved;
        }
    }
    best
}

/// A release that was fitted to the clicks of a device whose owner prefers nothing: the share of devices that find it better,
/// and the share that then refuse one of as many equal releases after as many searches.
pub fn memorised(person: &Person<'_>, size: &Size) -> [f64; 2] {
    let scene = Scene::new(person, size);
    let (mut n_better, mut n_refused) = (0, 0);
    for number in 0..size.n_fitted {
        let lists = person.search(&scene.model, N_FITTED_TO, &mut scene.stream(number, 0)).lists;
        let mut device = person.device(&scene.model, 2 * N_FITTED_TO, &lists);
        let release = fitted(person, &scene.model, &lists);
        n_better += u32::from(consider(&mut device, &release).outcome == Outcome::Better);
        let lists = person.search(device.present(), N_FITTED_TO, &mut scene.stream(number, 1)).lists;
        observe(&mut device, &lists);
        let mut stream = scene.stream(number, 3);
        let refuses = |_: &u32| {
            let mut step = vec![0.0; scene.model.len()];
            fill_standard_normal(&mut stream, &mut step);
            let size = 0.3 * length(&scene.model) / length(&step);
            let equal: Params = scene.model.iter().zip(&step).map(|(own, step)| own + size * step).collect();
            !consider(&mut device, &equal).is_adopted()
        };
        n_refused += u32::from((0..20).filter(refuses).count() > 0);
    }
    [n_better, n_refused].map(|n| f64::from(n) / f64::from(size.n_fitted))
}

/// How much nDCG by labels a release can take from a device on its way to the reversed model without being refused: on the
/// way from the model in use, and from a release that was fitted to the device's clicks. Means over devices.
pub fn most_that_passes(person: &Person<'_>, size: &Size) -> [f64; 2] {
    let scene = Scene::new(person, size);
    let reversed = scaled(&scene.model, -1.0);
    let before = scene.ndcg(&scene.model);
    let mut lost = [0.0; 2];
    for number in 0..size.n_fitted {
        let lists = person.search(&scene.model, N_FITTED_TO, &mut scene.stream(number, 0)).lists;
        let device = person.device(&scene.model, N_FITTED_TO, &lists);
        let fitted = fitted(person, &scene.model, &lists);
        for (lost, start) in lost.iter_mut().zip([&scene.model, &fitted]) {
            let (mut low, mut high) = (0.0, 1.0);
            for _ in 0..7 {
                let middle = (low + high) / 2.0;
                let passes = consider(&mut device.clone(), &between(start, &reversed, middle)).is_adopted();
                if passes { low = middle } else { high = middle }
            }
            *lost += (before - scene.ndcg(&between(start, &reversed, low))) / f64::from(size.n_fitted);
        }
    }
    lost
}
