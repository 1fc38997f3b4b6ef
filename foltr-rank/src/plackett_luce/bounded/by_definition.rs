//! The law of lists with bounded displacement, word by word from its definition, for tests.

/// Ranks of the documents: by score, of equal ones the later document first.
pub(crate) fn ranks(scores: &[f64]) -> Vec<usize> {
    let is_before = |a: usize, b: usize| scores[a] > scores[b] || (scores[a] == scores[b] && a > b);
    (0..scores.len()).map(|doc| (0..scores.len()).filter(|&other| is_before(other, doc)).count()).collect()
}

/// ln P(list); nothing if the list is impossible.
pub(crate) fn log_probability(scores: &[f64], k: usize, list: &[u32]) -> Option<f64> {
    let ranks = ranks(scores);
    let mut sum = 0.0;
    for (place, &doc) in list.iter().enumerate() {
        let left = (0..scores.len()).filter(|&other| !list[..place].contains(&(other as u32)));
        let due = left.clone().find(|&other| ranks[other] + k == place);
        let allowed: Vec<usize> = match due {
            Some(due) => vec![due],
            None => left.filter(|&other| ranks[other].abs_diff(place) <= k).collect(),
        };
        if !allowed.contains(&(doc as usize)) {
            return None;
        }
        let best = allowed.iter().map(|&other| scores[other]).fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = allowed.iter().map(|&other| (scores[other] - best).exp()).sum();
        sum += scores[doc as usize] - best - total.ln();
    }
    Some(sum)
}

/// All ordered lists of so many of these documents.
pub(crate) fn lists(n_docs: u32, n_shown: usize) -> Vec<Vec<u32>> {
    let mut lists: Vec<Vec<u32>> = vec![Vec::new()];
    for _ in 0..n_shown.min(n_docs as usize) {
        let longer = |list: &Vec<u32>| -> Vec<Vec<u32>> {
            let left = (0..n_docs).filter(|doc| !list.contains(doc));
            left.map(|doc| [list.as_slice(), &[doc]].concat()).collect()
        };
        lists = lists.iter().flat_map(longer).collect();
    }
    lists
}

/// Scores, places and bounds: fewer documents than places, as many, more; ties; scores that a double cannot hold together.
pub(crate) fn problems() -> Vec<(Vec<f64>, usize, usize)> {
    let scores: [&[f64]; 8] = [
        &[0.5],
        &[1.0, -0.5, 0.25],
        &[0.0, 0.0, 0.0, 0.0],
        &[1.0, 2.0, 2.0, 0.0, 1.0],
        &[0.25, 1.5, -2.0, 0.75, 0.0],
        &[250.0, -250.0, 249.0, -249.0, 0.0],
        &[4e5, -1e6, 1.0, 0.0, 2.0],
        &[-1000.0, -1001.0, -999.0],
    ];
    let bounds = |scores: &[f64]| {
        let scores = scores.to_vec();
        (1..=4).flat_map(move |n_shown| (0..=5).map(move |k| (n_shown, k))).map(move |(n, k)| (scores.clone(), n, k))
    };
    scores.into_iter().flat_map(bounds).collect()
}
