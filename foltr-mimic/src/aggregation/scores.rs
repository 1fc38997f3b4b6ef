//! What is the mean of the teachers' noisy scores?
//!
//! Spec section 16.3: agg(q,d) = mean over teachers t of S_t(q,d) + Lap(0, b); b = .05 is the noisy case of `DKA17`, 0
//! the other one. It reproduces the paper and hides next to nothing: see [`crate::guarantee`].

use foltr_rank::rng::{Purpose, Streams};
use rayon::prelude::*;

use super::{check_same_lists, laplace, no_teachers};
use crate::{Candidates, InvalidInput};

/// Words of a stream that belong to one draw. It needs four, or a few more if a variate is rejected.
const WORDS_A_DRAW: u128 = 64;

/// The mean over `teachers` of their scores with Laplace noise of this scale, for the same lists.
///
/// Noise belongs to (query, document, teacher): neither the order of lists nor threads change it.
pub fn aggregate_scores(
    teachers: &[Vec<Candidates>],
    scale: f64,
    streams: &Streams,
) -> Result<Vec<Candidates>, InvalidInput> {
    if !(scale.is_finite() && scale >= 0.0) {
        return Err(InvalidInput::new(format!("scale = {scale} is no size of noise"), "a finite number from 0 on"));
    }
    let lists = teachers.first().ok_or_else(no_teachers)?;
    for (teacher, scored) in teachers.iter().enumerate() {
        check_same_lists(lists, teacher, scored)?;
    }
    let noise = |teacher: usize, list: &Candidates| noise_of_list(teacher as u32, list, scale, streams);
    let aggregate = |(list_idx, list): (usize, &Candidates)| {
        let answers = teachers.iter().enumerate().map(|(t, scored)| (&scored[list_idx].scores[..], noise(t, list)));
        Candidates { scores: noisy_mean(list.documents.len(), answers), ..list.clone() }
    };
    Ok(lists.par_iter().enumerate().map(aggregate).collect())
}

/// What is added to one teacher's scores of one list.
fn noise_of_list(teacher: u32, list: &Candidates, scale: f64, streams: &Streams) -> Vec<f64> {
    if scale == 0.0 {
        return vec![0.0; list.documents.len()];
    }
    let mut stream = streams.open(Purpose::Noise, list.query, teacher);
    let draw = |&document: &u32| {
        stream.set_word_pos(u128::from(document) * WORDS_A_DRAW);
        scale * laplace(&mut stream)
    };
    list.documents.iter().map(draw).collect()
}

/// mean over t of (S_t + noise_t), in the order of the teachers.
fn noisy_mean<'a>(n_docs: usize, answers: impl ExactSizeIterator<Item = (&'a [f32], Vec<f64>)>) -> Vec<f32> {
    let n_teachers = answers.len() as f64;
    let mut sums = vec![0.0; n_docs];
    for (scores, noise) in answers {
        for ((sum, &score), noise) in sums.iter_mut().zip(scores).zip(noise) {
            *sum += f64::from(score) + noise;
        }
    }
    sums.into_iter().map(|sum| (sum / n_teachers) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aggregation::golden_vectors;
    use crate::supervision::candidates as list;

    #[test]
    fn the_mean_is_that_of_the_specification() {
        let golden = &golden_vectors()["score_level"];
        let numbers = |value: &serde_json::Value| -> Vec<f64> {
            value.as_array().expect("a list").iter().map(|x| x.as_f64().expect("a number")).collect()
        };
        let rows = |key: &str| golden[key].as_array().expect("rows").iter().map(numbers).collect::<Vec<_>>();
        let scores: Vec<Vec<f32>> =
            rows("scores").iter().map(|row| row.iter().map(|&score| score as f32).collect()).collect();
        let ours = noisy_mean(3, scores.iter().map(Vec::as_slice).zip(rows("laplace_noise")));
        for (ours, known) in ours.into_iter().zip(numbers(&golden["aggregate"])) {
            assert!((f64::from(ours) - known).abs() < 1e-7, "{ours}, not {known}");
        }
    }

    #[test]
    fn without_noise_it_is_the_mean_and_with_noise_it_has_its_variance() {
        let zeros = vec![list(1, &vec![0.0; 40_000])];
        let teachers = vec![zeros.clone(), zeros.clone(), zeros];
        let quiet = aggregate_scores(&teachers, 0.0, &Streams::new(1)).expect("same lists");
        assert!(quiet[0].scores.iter().all(|&score| score == 0.0));
        let noisy = aggregate_scores(&teachers, 0.05, &Streams::new(1)).expect("same lists");
        let variance = noisy[0].scores.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / 40_000.0;
        // 2 b^2 / 3; its standard error is about 1 % of it.
        let known = 2.0 * 0.05_f64.powi(2) / 3.0;
        assert!((variance / known - 1.0).abs() < 0.05, "{variance}, not {known}");
    }

    #[test]
    fn noise_belongs_to_query_document_and_teacher() {
        let lists = vec![list(1, &[0.1, 0.2, 0.3]), list(2, &[0.4, 0.5])];
        let all = aggregate_scores(&[lists.clone(), lists.clone()], 0.05, &Streams::new(4)).expect("same lists");
        let other_order: Vec<Candidates> = lists.iter().rev().cloned().collect();
        let again = aggregate_scores(&[other_order.clone(), other_order], 0.05, &Streams::new(4)).expect("same lists");
        assert_eq!(all[0], again[1]);
        let backwards = Candidates { query: 2, documents: vec![21, 20], scores: vec![0.5, 0.4] };
        let again = aggregate_scores(&[vec![backwards.clone()], vec![backwards]], 0.05, &Streams::new(4));
        assert_eq!(again.expect("same lists")[0].scores, [all[1].scores[1], all[1].scores[0]]);
        let noise: Vec<f32> = (0..3).map(|doc| all[0].scores[doc] - lists[0].scores[doc]).collect();
        assert!(noise[0] != noise[1] && noise[1] != noise[2]);
        let one = aggregate_scores(std::slice::from_ref(&lists), 0.05, &Streams::new(4)).expect("same lists");
        assert_ne!(one[0], all[0], "the second teacher has noise of its own");
        let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
        let alone = one_thread.install(|| aggregate_scores(&[lists.clone(), lists], 0.05, &Streams::new(4)));
        assert_eq!(alone.expect("same lists"), all);
    }

    #[test]
    fn what_cannot_be_aggregated_is_refused() {
        let lists = vec![list(1, &[0.1, 0.2]), list(2, &[0.4])];
        let mut other = lists.clone();
        other[0].documents[1] = 99;
        let mut unscored = lists.clone();
        unscored[1].scores.clear();
        let shorter = lists[..1].to_vec();
        for (teachers, scale, expected) in [
            (vec![], 0.0, "0 teachers; expected 1 or more"),
            (vec![lists.clone(), shorter], 0.0, "teacher 1 scored other documents of list 1;"),
            (vec![lists.clone(), other], 0.0, "teacher 1 scored other documents of list 0;"),
            (vec![unscored], 0.0, "teacher 0 scored other documents of list 1;"),
            (vec![lists], -0.05, "scale = -0.05 is no size of noise; expected a finite number from 0 on"),
        ] {
            let error = aggregate_scores(&teachers, scale, &Streams::new(1)).expect_err("refused").to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
