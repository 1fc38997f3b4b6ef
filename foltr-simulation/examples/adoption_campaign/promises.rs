//! What the test promises: that it notices a loss after as many clicks as it states, and hardly ever refuses an equal.

use foltr_rank::Params;
use foltr_rank::adoption::{Comparison, ShownList};
use foltr_rank::normal::fill_standard_normal;
use foltr_rank::rng::{Purpose, Stream, Streams};

use super::Size;
use super::person::{Person, between, consider, length, observe, scaled};

const LOSS: f64 = 0.02;

/// What was found for one kind of person.
#[derive(Debug)]
pub struct Power {
    /// The loss of the release on searches of which it was not chosen.
    pub loss: f64,
    /// What its lists lose by labels.
    pub loss_by_labels: f64,
    /// Clicks that the test states for that loss in the first test, and in the hundredth.
    pub clicks: [f64; 2],
    /// Share of the devices that refuse the release after the first number of clicks.
    pub refused: f64,
}

/// How many standard errors decide in the hundredth test against the first reference.
fn hundredth_threshold(person: &Person<'_>, model: &[f32], lists: &[ShownList]) -> f64 {
    let mut device = person.device(model, 20, &lists[..20]);
    let verdicts = (1..=100_u8).map(|i| consider(&mut device, &scaled(model, 1.0 + f32::from(i) / 10_000.0)));
    verdicts.last().map_or(f64::INFINITY, |verdict| verdict.threshold)
}

/// A random ranker of the same length.
fn random(model: &[f32], stream: &mut Stream) -> Params {
    let mut other = vec![0.0; model.len()];
    fill_standard_normal(stream, &mut other);
    scaled(&other, length(model) / length(&other))
}

/// How far to go for a loss of [`LOSS`], if that is anywhere on the way.
fn share_that_loses(lost: impl Fn(f32) -> f64) -> Option<f32> {
    let far = [0.25, 0.5, 1.0].into_iter().find(|&share| lost(share) > LOSS)?;
    let (mut low, mut high) = (0.0, far);
    for _ in 0..6 {
        let middle = (low + high) / 2.0;
        if lost(middle) < LOSS { low = middle } else { high = middle }
    }
    Some(high)
}

/// A release on the way from this model to a random one that loses as much on these lists, if any does.
fn worse(person: &Person<'_>, model: &[f32], lists: &[ShownList], stream: &mut Stream) -> Option<Params> {
    let other = random(model, stream);
    let lost = |share: f32| -person.compare(model, &between(model, &other, share), lists).estimate();
    share_that_loses(lost).map(|share| between(model, &other, share))
}

/// Of a release whose lists lose as much by labels: what the test measures, and the clicks that it states for that in the
/// first test.
pub fn lost_by_labels(person: &Person<'_>, size: &Size) -> Option<(f64, f64)> {
    let streams = Streams::new(7);
    let model = person.learned(size.n_learned);
    let search = |model: &[f32], n| person.search(model, n, &mut streams.open(Purpose::Interaction, 0, 4));
    let before = search(&model, size.n_measured);
    let other = random(&model, &mut streams.open(Purpose::Data, 0, 0));
    let share = share_that_loses(|share| before.ndcg - search(&between(&model, &other, share), size.n_measured).ndcg)?;
    let mut device = person.device(&model, size.n_chosen, &before.lists[..size.n_chosen.min(before.lists.len())]);
    let verdict = consider(&mut device, &between(&model, &other, share));
    let measured = person.compare(&model, &between(&model, &other, share), &before.lists);
    let loss = -measured.estimate();
    Some((loss, measured.clicks_needed(loss, verdict.threshold).unwrap_or(f64::INFINITY)))
}

/// Measures the power for one kind of person; nothing if no random ranker is worse enough to them.
pub fn power(person: &Person<'_>, size: &Size) -> Option<Power> {
    let streams = Streams::new(7);
    let model = person.learned(size.n_learned);
    let search = |model: &[f32], n, number, round| {
        person.search(model, n, &mut streams.open(Purpose::Interaction, number, round))
    };
    let chosen_on = search(&model, size.n_measured / 2, 0, 1).lists;
    let release = (0..20).find_map(|i| worse(person, &model, &chosen_on, &mut streams.open(Purpose::Data, i, 0)))?;
    let measured = search(&model, size.n_measured, 1, 1);
    let comparison = person.compare(&model, &release, &measured.lists);
    let loss = -comparison.estimate();
    let loss_by_labels = measured.ndcg - search(&release, size.n_measured, 1, 3).ndcg;
    let first = consider(&mut person.device(&model, 20, &measured.lists[..20]), &release).threshold;
    let last = hundredth_threshold(person, &model, &measured.lists);
    let clicks = [first, last].map(|it| comparison.clicks_needed(loss, it).expect("lists with clicks"));
    let n_searches = searches_for(clicks[0], &comparison, size);
    let is_refused = |device: &u32| {
        let lists = search(&model, n_searches, *device, 2).lists;
        !consider(&mut person.device(&model, n_searches, &lists), &release).is_adopted()
    };
    let refused = (0..size.n_devices).filter(is_refused).count() as f64 / f64::from(size.n_devices);
    Some(Power { loss, loss_by_labels, clicks, refused })
}

fn searches_for(clicks: f64, measured: &Comparison, size: &Size) -> usize {
    (clicks * size.n_measured as f64 / f64::from(measured.n_clicks)).ceil() as usize
}

/// Clicks with which the reversed ranker is refused with probability .8 in the first test, and its loss.
pub fn reversed(person: &Person<'_>, size: &Size) -> (f64, f64) {
    let model = person.learned(size.n_learned);
    let mut stream = Streams::new(7).open(Purpose::Interaction, 0, 3);
    let lists = person.search(&model, size.n_chosen, &mut stream).lists;
    let verdict = consider(&mut person.device(&model, size.n_chosen, &lists), &scaled(&model, -1.0));
    let loss = -verdict.comparison.estimate();
    (verdict.clicks_needed(loss).unwrap_or(f64::INFINITY), loss)
}

/// The share of the devices that refuse any of a series of releases that are as good as the model in use. Somebody who is
/// indifferent finds all models as good; for the others releases are chosen that differ by at most .002. Nothing if no
/// such releases were found.
pub fn refused_equals(person: &Person<'_>, size: &Size) -> Option<f64> {
    let streams = Streams::new(8);
    let model = person.learned(size.n_learned);
    let measured_on = person.search(&model, size.n_chosen, &mut streams.open(Purpose::Interaction, 0, 1)).lists;
    let deviation = length(&model) / (model.len() as f32).sqrt();
    let release = |number: u32| -> Params {
        let mut step = vec![0.0; model.len()];
        fill_standard_normal(&mut streams.open(Purpose::Data, number, 0), &mut step);
        model.iter().zip(&step).map(|(own, step)| own + 0.3 * deviation * step).collect()
    };
    let is_equal = |release: &Params| {
        person.is_indifferent || person.compare(&model, release, &measured_on).estimate().abs() < 0.002
    };
    let n_releases = size.n_releases as usize;
    let releases: Vec<Params> = (0..20 * size.n_releases).map(release).filter(is_equal).take(n_releases).collect();
    let refuses_one = |device: &u32| {
        let mut stream = streams.open(Purpose::Interaction, *device, 2);
        let mut adoption = person.device(&model, size.n_stored, &[]);
        releases.iter().any(|release| {
            let lists = person.search(adoption.present(), size.n_between, &mut stream).lists;
            observe(&mut adoption, &lists);
            !consider(&mut adoption, release).is_adopted()
        })
    };
    let share = |n_refused| f64::from(n_refused) / f64::from(size.n_series);
    (releases.len() == n_releases).then(|| share((0..size.n_series).filter(refuses_one).count() as u32))
}
