//! Feature skew: queries that look alike belong to the same client, by k-means over their mean feature vectors.
//!
//! The code released with `WZ22` (Wang, Zuccon: *Is Non-IID Data a Threat in Federated Online Learning to Rank?*, SIGIR
//! 2022) has this as an experiment that the paper does not use (spec section 10). `AV07` Arthur, Vassilvitskii: *k-means++:
//! The Advantages of Careful Seeding*, SODA 2007, chooses the first centres; `L82` Lloyd: *Least Squares Quantization in
//! PCM*, 1982, moves them.
//!
//! Deviations from the released code: training queries instead of validation queries; queries with one document count.
//! K-means is written here because its random numbers must come from a stream of the run, and it is short.

use foltr_rank::rng::{Purpose, Stream, Streams};
use rand::RngExt;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{PartitionError, PartitionMethod, PartitionedData, draws};
use crate::dataset::Dataset;
use crate::datasets::Fold;

/// Starts of k-means, of which the best end is kept: one start may end in a poor optimum.
const N_STARTS: u32 = 10;
/// Moves of the centres at most; they rest long before on real data.
const MAX_MOVES: usize = 300;

/// Feature skew: queries are clustered by k-means over their mean features, one cluster a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FeatureClusters {}

impl PartitionMethod for FeatureClusters {
    fn divide(&self, fold: &Fold, n_clients: usize, streams: &Streams) -> Result<PartitionedData, PartitionError> {
        Ok(PartitionedData::by_queries(fold, split(&fold.train, n_clients, streams)?))
    }
}

/// The queries of each client, rising: one cluster a client, in the order in which their first queries appear.
fn split(data: &Dataset, n_clients: usize, streams: &Streams) -> Result<Vec<Vec<u32>>, PartitionError> {
    let too_few = |n_distinct: usize| {
        PartitionError(format!(
            "{n_clients} clusters need as many queries with different features; there are only {n_distinct}"
        ))
    };
    let points: Vec<Vec<f64>> = (0..data.n_queries()).map(|query| mean_features(data, query)).collect();
    let mut sorted: Vec<&[f64]> = points.iter().map(Vec::as_slice).collect();
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("features are finite"));
    sorted.dedup();
    if sorted.len() < n_clients {
        return Err(too_few(sorted.len()));
    }
    let runs = (0..N_STARTS)
        .map(|start| k_means(&points, n_clients, &mut streams.open(Purpose::Data, start, draws::CLUSTERS)));
    let (best, _) = runs.min_by(|a, b| a.1.total_cmp(&b.1)).expect("at least one start");
    let mut number = vec![None; n_clients];
    let mut lists: Vec<Vec<u32>> = Vec::new();
    for (query, &cluster) in best.iter().enumerate() {
        let client = *number[cluster].get_or_insert_with(|| {
            lists.push(Vec::new());
            lists.len() - 1
        });
        lists[client].push(query as u32);
    }
    if lists.len() < n_clients {
        return Err(too_few(lists.len()));
    }
    Ok(lists)
}

fn mean_features(data: &Dataset, query: usize) -> Vec<f64> {
    let view = data.query(query);
    let mut mean = vec![0.0; data.n_features()];
    for doc in 0..view.n_docs() {
        mean.iter_mut().zip(view.row(doc)).for_each(|(sum, &value)| *sum += f64::from(value));
    }
    mean.iter_mut().for_each(|sum| *sum /= view.n_docs() as f64);
    mean
}

/// The cluster of each point, and the sum of squared distances to the centres.
fn k_means(points: &[Vec<f64>], k: usize, stream: &mut Stream) -> (Vec<usize>, f64) {
    let mut centres = first_centres(points, k, stream);
    let mut nearest = assign(points, &centres);
    for _ in 0..MAX_MOVES {
        move_centres(points, &mut nearest, &mut centres);
        let next = assign(points, &centres);
        let rests = next.iter().zip(&nearest).all(|(new, old)| new.0 == old.0);
        nearest = next;
        if rests && has_all(&nearest, k) {
            break;
        }
    }
    let distance = nearest.iter().map(|&(_, distance)| distance).sum();
    (nearest.into_iter().map(|(cluster, _)| cluster).collect(), distance)
}

fn has_all(nearest: &[(usize, f64)], k: usize) -> bool {
    let mut seen = vec![false; k];
    nearest.iter().for_each(|&(cluster, _)| seen[cluster] = true);
    seen.into_iter().all(|seen| seen)
}

/// `AV07`: a random point, then points with probability proportional to their squared distance to the nearest centre.
fn first_centres(points: &[Vec<f64>], k: usize, stream: &mut Stream) -> Vec<Vec<f64>> {
    let mut centres = vec![points[stream.random_range(0..points.len())].clone()];
    let mut distances: Vec<f64> = points.iter().map(|point| squared_distance(point, &centres[0])).collect();
    while centres.len() < k {
        let mut left = stream.random::<f64>() * distances.iter().sum::<f64>();
        let is_hit = |&distance: &f64| {
            left -= distance;
            distance > 0.0 && left < 0.0
        };
        // Rounding may leave a rest behind the last point: then the last point that is no centre is meant.
        let chosen =
            distances.iter().position(is_hit).or_else(|| distances.iter().rposition(|&d| d > 0.0)).unwrap_or(0);
        centres.push(points[chosen].clone());
        for (distance, point) in distances.iter_mut().zip(points) {
            *distance = distance.min(squared_distance(point, &points[chosen]));
        }
    }
    centres
}

/// The nearest centre of each point and its squared distance; the first of equals.
fn assign(points: &[Vec<f64>], centres: &[Vec<f64>]) -> Vec<(usize, f64)> {
    let nearest = |point: &Vec<f64>| {
        let distances = centres.iter().map(|centre| squared_distance(point, centre)).enumerate();
        distances.min_by(|a, b| a.1.total_cmp(&b.1)).expect("at least one centre")
    };
    points.par_iter().with_min_len(64).map(nearest).collect()
}

/// Moves each centre to the mean of its points (`L82`). A centre without points takes the point that is farthest from its
/// own.
fn move_centres(points: &[Vec<f64>], nearest: &mut [(usize, f64)], centres: &mut [Vec<f64>]) {
    let n_clusters = centres.len();
    for cluster in 0..n_clusters {
        if !nearest.iter().any(|&(other, _)| other == cluster) {
            let mut n_points = vec![0; n_clusters];
            nearest.iter().for_each(|&(other, _)| n_points[other] += 1);
            // Not the only point of another centre, which would then have none.
            let spare = nearest.iter().enumerate().filter(|(_, near)| n_points[near.0] > 1);
            if let Some((farthest, _)) = spare.max_by(|a, b| a.1.1.total_cmp(&b.1.1)) {
                nearest[farthest] = (cluster, 0.0);
            }
        }
    }
    for (cluster, centre) in centres.iter_mut().enumerate() {
        let members =
            || points.iter().zip(nearest.iter()).filter(|(_, near)| near.0 == cluster).map(|(point, _)| point);
        let n_members = members().count().max(1) as f64;
        centre.fill(0.0);
        members().for_each(|point| centre.iter_mut().zip(point).for_each(|(sum, x)| *sum += x / n_members));
    }
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::tests::letor;
    use foltr_rank::normal::fill_standard_normal;
    use std::fmt::Write;

    /// Queries around the corners of a square, with noise far below its side: query i belongs to corner i % 4.
    fn planted(n_queries: usize) -> Dataset {
        let mut stream = Streams::new(9).open(Purpose::Data, 0, 0);
        let mut text = String::new();
        for query in 0..n_queries {
            for _ in 0..3 {
                let mut noise = [0.0; 2];
                fill_standard_normal(&mut stream, &mut noise);
                let (x, y) = ((query % 2) as f32, (query / 2 % 2) as f32);
                let (x, y) = (10.0 * x + 0.5 * noise[0], 10.0 * y + 0.5 * noise[1]);
                writeln!(text, "1 qid:{query} 1:{x} 2:{y}").expect("a text grows");
            }
        }
        letor(&text)
    }

    #[test]
    fn planted_clusters_are_found() {
        let data = planted(80);
        for seed in 0..20 {
            let lists = split(&data, 4, &Streams::new(seed)).expect("eighty queries");
            let expected: Vec<Vec<u32>> = (0..4).map(|corner| (0..80).skip(corner).step_by(4).collect()).collect();
            assert_eq!(lists, expected);
        }
    }

    #[test]
    fn every_query_has_one_client_whatever_the_threads() {
        let data = planted(40);
        let split = || split(&data, 7, &Streams::new(1)).expect("forty queries");
        let lists = split();
        assert!(lists.len() == 7 && lists.iter().all(|list| !list.is_empty()));
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a pool");
        assert_eq!(one.install(split), lists);
    }

    #[test]
    fn as_many_clusters_as_queries_is_the_limit() {
        let text = "0 qid:1 1:1\n0 qid:2 1:2\n0 qid:3 1:2\n0 qid:4 1:5\n";
        let data = letor(text);
        let lists = split(&data, 3, &Streams::new(1)).expect("three different queries");
        assert_eq!(lists, [vec![0], vec![1, 2], vec![3]]);
        let error = split(&data, 4, &Streams::new(1)).expect_err("three different queries").to_string();
        assert!(error.ends_with("there are only 3"), "{error}");
    }
}
