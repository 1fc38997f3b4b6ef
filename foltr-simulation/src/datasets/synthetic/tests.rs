//! Tests of generated data: shares, repeatability, intents, and that something but not everything can be learnt.

use super::*;
use crate::dataset::summary;
use crate::normalise::normalise_per_query;
use foltr_rank::metric::Metric;

/// nDCG@10, averaged over queries with a relevant document.
fn mean_ndcg(data: &Dataset, score: impl Fn(usize, usize) -> f64) -> f64 {
    let ndcg = |query: usize| {
        let labels = data.labels(query);
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.sort_by(|&a, &b| score(query, b).total_cmp(&score(query, a)));
        let ranked: Vec<u8> = order.iter().map(|&doc| labels[doc]).collect();
        Metric::Ndcg(10).value(&ranked, Metric::Ndcg(10).best(labels))
    };
    let values: Vec<f64> = (0..data.n_queries()).filter_map(ndcg).collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// Inputs of a least-squares ranker for each document: the features, then random saturating units on them.
fn all_inputs(data: &Dataset, n_units: usize) -> Vec<Vec<Vec<f64>>> {
    let n_features = data.n_features();
    let mut units = vec![vec![0.0; n_features + 1]; n_units];
    let mut stream = Streams::new(99).open(Purpose::Initialisation, 0, 0);
    units.iter_mut().for_each(|unit| fill_standard_normal(&mut stream, unit));
    let of_row = |row: &[f32]| {
        let activation = |unit: &Vec<f32>| {
            let sum: f32 = row.iter().zip(&unit[..n_features]).map(|(x, w)| (x - 0.5) * w).sum();
            f64::from(2.0 * sum + unit[n_features]).tanh()
        };
        row[..n_features].iter().map(|&x| f64::from(x)).chain(units.iter().map(activation)).collect()
    };
    let of_query = |query| data.query(query).rows().chunks_exact(row_stride(n_features)).map(of_row).collect();
    (0..data.n_queries()).map(of_query).collect()
}

/// Test nDCG@10 of ridge regression on labels, both centred within each query.
fn ridge_ndcg(train: &Dataset, test: &Dataset, n_units: usize) -> f64 {
    let x = all_inputs(train, n_units);
    let n = x[0][0].len();
    let (mut gram, mut target) = (vec![vec![0.0; n]; n], vec![0.0; n]);
    for (query, docs) in x.iter().enumerate() {
        let n_docs = docs.len() as f64;
        let mean: Vec<f64> = (0..n).map(|j| docs.iter().map(|doc| doc[j]).sum::<f64>() / n_docs).collect();
        let labels = train.labels(query);
        let mean_label = labels.iter().map(|&label| f64::from(label)).sum::<f64>() / n_docs;
        for (doc, &label) in docs.iter().zip(labels) {
            let centred: Vec<f64> = doc.iter().zip(&mean).map(|(x, mean)| x - mean).collect();
            for (i, &xi) in centred.iter().enumerate() {
                gram[i].iter_mut().zip(&centred).for_each(|(cell, xj)| *cell += xi * xj);
                target[i] += xi * (f64::from(label) - mean_label);
            }
        }
    }
    (0..n).for_each(|i| gram[i][i] += 1.0);
    let weights = solve(gram, target);
    let test_x = all_inputs(test, n_units);
    mean_ndcg(test, |query, doc| test_x[query][doc].iter().zip(&weights).map(|(x, w)| x * w).sum())
}

/// Gaussian elimination; the matrix is positive definite, so no pivoting is needed.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for i in 0..n {
        let (head, tail) = a.split_at_mut(i + 1);
        let pivot = &head[i];
        for (k, row) in tail.iter_mut().enumerate() {
            let factor = row[i] / pivot[i];
            row[i..].iter_mut().zip(&pivot[i..]).for_each(|(cell, p)| *cell -= factor * p);
            b[i + 1 + k] -= factor * b[i];
        }
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| a[i][j] * b[j]).sum();
        b[i] = (b[i] - known) / a[i][i];
    }
    b
}

fn small(shape: SyntheticShape) -> Synthetic {
    Synthetic { n_train: 200, n_validation: 0, n_test: 150, ..Synthetic::new(shape) }
}

/// nDCG@10 of random, linear and network rankers, mean over several data sets: one alone may favour either.
fn learnt(shape: SyntheticShape, n_train: usize, n_units: usize) -> [f64; 3] {
    const SEEDS: [u64; 4] = [11, 12, 13, 14];
    let mut noise = vec![0.0; 1000];
    fill_standard_normal(&mut Streams::new(1).open(Purpose::Data, 0, 0), &mut noise);
    let mut sums = [0.0; 3];
    for seed in SEEDS {
        let fold = Synthetic { n_train, ..small(shape) }.generate(seed).expect("valid");
        let (train, test) = (normalise_per_query(&fold.train), normalise_per_query(&fold.test));
        sums[0] += mean_ndcg(&test, |query, doc| f64::from(noise[(query * 37 + doc) % 1000]));
        sums[1] += ridge_ndcg(&train, &test, 0);
        sums[2] += if n_units > 0 { ridge_ndcg(&train, &test, n_units) } else { 0.0 };
    }
    sums.map(|sum| sum / SEEDS.len() as f64)
}

#[test]
fn a_linear_ranker_learns_a_part_and_a_network_more() {
    for (shape, n_train, n_units) in
        [(SyntheticShape::Tiny, 400, 60), (SyntheticShape::Mq2007, 800, 160), (SyntheticShape::Mslr, 200, 0)]
    {
        let [random, linear, network] = learnt(shape, n_train, n_units);
        assert!(linear > random + 0.12, "{shape:?}: linear {linear:.3} is not clearly above random {random:.3}");
        assert!(linear < 0.9, "{shape:?}: linear {linear:.3} is too close to perfect");
        if n_units > 0 {
            assert!(network > linear + 0.005, "{shape:?}: network {network:.3} is not above linear {linear:.3}");
        }
    }
}

#[test]
fn shapes_sizes_and_label_shares_are_those_asked_for() {
    for shape in SyntheticShape::ALL {
        let fold = Synthetic { n_train: 300, ..small(shape) }.generate(5).expect("valid");
        let numbers = summary(&fold.train);
        assert_eq!((numbers.n_queries, numbers.n_features), (300, shape.n_features()));
        let mean_docs = numbers.n_docs as f64 / 300.0;
        assert!((mean_docs / shape.mean_docs() as f64 - 1.0).abs() < 0.15, "{shape:?}: {mean_docs} documents a query");
        let relevant: usize = numbers.label_counts[1..].iter().sum();
        let share = relevant as f64 / numbers.n_docs as f64;
        let wanted = shape.shares_at_or_above()[0];
        assert!((share / wanted - 1.0).abs() < 0.3, "{shape:?}: {share} relevant, not {wanted}");
        assert_eq!(numbers.label_counts.len(), shape.shares_at_or_above().len() + 1);
        assert!(!numbers.constant_features.is_empty());
        assert_eq!(numbers.is_unit_range, shape.is_unit_range());
    }
    let tiny = summary(&Synthetic::new(SyntheticShape::Tiny).generate(1).expect("valid").train);
    assert!(tiny.n_queries_without_relevant > 0, "some queries have no relevant document");
    let fold = Synthetic { fixed_docs: true, ..small(SyntheticShape::Mslr) }.generate(1).expect("valid");
    assert_eq!(summary(&fold.train).docs_per_query, [120; 3]);
}

#[test]
fn a_seed_names_the_data_whatever_the_threads() {
    let tiny = small(SyntheticShape::Tiny);
    let with_threads = |n, seed| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build().expect("a pool");
        pool.install(|| tiny.generate(seed).expect("valid"))
    };
    assert_eq!(with_threads(1, 4), with_threads(3, 4));
    assert_ne!(with_threads(1, 4).train.content_hash(), with_threads(1, 5).train.content_hash());
    let longer = Synthetic { n_train: 250, ..tiny }.generate(4).expect("valid");
    let shorter = with_threads(1, 4).train;
    assert_eq!(longer.train.with_docs(&(0..shorter.n_docs() as u32).collect::<Vec<_>>()), shorter);
}

fn correlation(ours: &[u8], theirs: &[u8]) -> f64 {
    let n = ours.len() as f64;
    let mean = |labels: &[u8]| labels.iter().map(|&label| f64::from(label)).sum::<f64>() / n;
    let covariance = |a: &[u8], b: &[u8]| -> f64 {
        let (mean_a, mean_b) = (mean(a), mean(b));
        a.iter().zip(b).map(|(&a, &b)| (f64::from(a) - mean_a) * (f64::from(b) - mean_b)).sum::<f64>() / n
    };
    covariance(ours, theirs) / (covariance(ours, ours) * covariance(theirs, theirs)).sqrt()
}

#[test]
fn intents_disagree_as_much_as_asked() {
    let agreement = |conflict| {
        let set = Synthetic { n_intents: 3, conflict, ..small(SyntheticShape::Tiny) }.generate(8).expect("valid");
        assert_eq!(*set.intents[0].train, *set.train.all_labels());
        correlation(&set.intents[0].test, &set.intents[2].test)
    };
    let [same, related, unrelated, opposite] = [0.0, 0.15, 0.5, 1.0].map(agreement);
    assert!((same - 1.0).abs() < 1e-9, "{same}");
    assert!(same > related + 0.1 && related > unrelated + 0.1 && unrelated > opposite + 0.1 && opposite < 0.0);
    let set = Synthetic { n_intents: 2, ..small(SyntheticShape::Tiny) }.generate(8).expect("valid");
    let other = set.of_intent(1);
    assert_eq!(*other.test.all_labels(), *set.intents[1].test);
    assert_eq!(other.test.rows().as_ptr(), set.test.rows().as_ptr(), "features are shared");
}

#[test]
fn impossible_descriptions_are_refused() {
    let tiny = small(SyntheticShape::Tiny);
    for (description, name) in [
        (Synthetic { n_train: 0, ..tiny }, "n_train"),
        (Synthetic { n_intents: 0, ..tiny }, "n_intents"),
        (Synthetic { conflict: 1.5, ..tiny }, "conflict"),
        (Synthetic { conflict: f64::NAN, ..tiny }, "conflict"),
    ] {
        assert_eq!(description.generate(1).expect_err("impossible").name, name);
    }
}
