//! The Rank model in 64 bits, one number at a time, and its slopes by finite differences.

use super::*;

/// The parameters of a network in the order of [`Network::parts`].
pub struct Params {
    shape: Shape,
    groups: Vec<Vec<f64>>,
}

impl Params {
    pub fn of(network: &Network) -> Self {
        let wide = |values: &[f32]| values.iter().map(|&value| f64::from(value)).collect();
        Self { shape: network.shape.clone(), groups: network.parts().iter().map(|values| wide(values)).collect() }
    }
}

pub struct Oracle<'a> {
    pub inputs: &'a Inputs,
    pub lessons: &'a [Lesson],
    pub loss: Loss,
    pub dropout: Dropout<'a>,
}

impl Oracle<'_> {
    /// Derivative of the loss by one parameter.
    pub fn slope(&self, params: &mut Params, group: usize, i: usize) -> f64 {
        let step = 1e-6;
        let value = params.groups[group][i];
        let mut at = |value| {
            params.groups[group][i] = value;
            self.loss(params)
        };
        let slope = (at(value + step) - at(value - step)) / (2.0 * step);
        at(value);
        slope
    }

    /// The mean over lessons.
    pub fn loss(&self, params: &Params) -> f64 {
        let of_lesson = |(number, Lesson { pair, margin }): (usize, &Lesson)| {
            let [better, worse] = [(pair.better, 2 * number), (pair.worse, 2 * number + 1)]
                .map(|(document, row)| self.score(params, pair.query, document, row));
            let (difference, margin) = (better - worse, f64::from(*margin));
            match self.loss {
                Loss::Hinge => (1.0 - difference).max(0.0),
                Loss::SquaredMargin => (difference - margin).powi(2),
                Loss::CrossEntropy { temperature } => {
                    let temperature = f64::from(temperature);
                    let probability = |x: f64| 1.0 / (1.0 + (-x / temperature).exp());
                    let (ours, theirs) = (probability(difference), probability(margin));
                    -temperature * (theirs * ours.ln() + (1.0 - theirs) * (1.0 - ours).ln())
                }
            }
        };
        self.lessons.iter().enumerate().map(of_lesson).sum::<f64>() / self.lessons.len() as f64
    }

    pub fn score(&self, params: &Params, query: u32, document: u32, row: usize) -> f64 {
        let (mut values, layers) = match (params.shape.representation, self.inputs) {
            (Representation::Text { n_dimensions, composition, product, .. }, Inputs::Text { queries, documents }) => {
                let vector = |bag| compose(params, composition, n_dimensions, bag);
                let (query, document) = (vector(&queries[query as usize]), vector(&documents[document as usize]));
                let products: Vec<f64> = query.iter().zip(&document).map(|(q, d)| q * d).collect();
                let products = if product { products } else { vec![] };
                ([query, document, products].concat(), &params.groups[2..])
            }
            (
                Representation::Interaction { n_dimensions, composition, usual_length, .. },
                Inputs::Text { queries, documents },
            ) => {
                let (query, document) = (&queries[query as usize], &documents[document as usize]);
                let rows: Vec<Vec<f64>> =
                    query.terms.iter().map(|&term| meet(params, n_dimensions, usual_length, term, document)).collect();
                let weights = coefficients(params, composition, query);
                let sum = |i: usize| weights.iter().zip(&rows).map(|(weight, row)| weight * row[i]).sum();
                ((0..22).map(sum).collect(), &params.groups[2..])
            }
            (_, Inputs::Features { n_features, rows }) => {
                let row = &rows[document as usize * n_features..][..*n_features];
                (row.iter().map(|&value| f64::from(value)).collect(), &params.groups[..])
            }
            _ => unreachable!("the tests give what fits"),
        };
        let n_hidden = params.shape.hidden.len();
        for (number, layer) in layers.chunks(2).enumerate() {
            let (weights, bias) = (&layer[0], &layer[1]);
            let sum = |unit: usize| -> f64 {
                values.iter().enumerate().map(|(i, value)| value * weights[i * bias.len() + unit]).sum::<f64>()
                    + bias[unit]
            };
            let sums: Vec<f64> = (0..bias.len()).map(sum).collect();
            if number == n_hidden {
                return sums[0].tanh();
            }
            // What dropout makes of ones is what it multiplies by.
            let mut remaining = vec![1.0; sums.len()];
            self.dropout.activate(number, row, &mut remaining, &vec![0.0; sums.len()]);
            values =
                sums.into_iter().zip(remaining).map(|(sum, remaining)| sum.max(0.0) * f64::from(remaining)).collect();
        }
        unreachable!("the output layer comes last")
    }
}

fn compose(params: &Params, composition: Composition, n_dimensions: usize, bag: &Bag) -> Vec<f64> {
    let embedding = |term: u32, i: usize| params.groups[0][term as usize * n_dimensions + i];
    let coefficients = coefficients(params, composition, bag);
    let sum = |i| coefficients.iter().zip(&bag.terms).map(|(weight, &term)| weight * embedding(term, i)).sum();
    (0..n_dimensions).map(sum).collect()
}

/// The logarithms of a term's frequencies in a document, soft ones first, plain and by length.
fn meet(params: &Params, n_dimensions: usize, usual_length: usize, term: u32, document: &Bag) -> Vec<f64> {
    let embedding = |term: u32| &params.groups[0][term as usize * n_dimensions..][..n_dimensions];
    let counts = || document.terms.iter().zip(document.counts.iter().map(|&count| f64::from(count)));
    let soft = |kernel: u32| -> f64 {
        let near = |other: u32| {
            let cosine: f64 = embedding(term).iter().zip(embedding(other)).map(|(a, b)| a * b).sum();
            (-(cosine - (0.9 - 0.2 * f64::from(kernel))).powi(2) / 0.02).exp()
        };
        counts().map(|(&other, count)| count * near(other)).sum()
    };
    let exact: f64 = counts().filter(|(other, _)| **other == term).map(|(_, count)| count).sum();
    let length: f64 = counts().map(|(_, count)| count).sum();
    let share = if length > 0.0 { usual_length as f64 / length } else { 1.0 };
    let frequencies: Vec<f64> = (0..10).map(soft).chain([exact]).collect();
    [1.0, share]
        .iter()
        .flat_map(|share| frequencies.iter().map(move |count| (1.0 + count * share).ln() / 4.0))
        .collect()
}

/// What each term of a text is multiplied by.
fn coefficients(params: &Params, composition: Composition, bag: &Bag) -> Vec<f64> {
    let weights = &params.groups[1];
    let terms = || bag.terms.iter().map(|&term| term as usize).zip(bag.counts.iter().map(|&count| f64::from(count)));
    let weight = |term: usize, count: f64| match composition {
        Composition::Sum | Composition::Mean => count * weights[term],
        Composition::Softmax => count * weights[term].exp(),
    };
    let total: f64 = match composition {
        Composition::Sum => 1.0,
        _ if bag.terms.is_empty() => 1.0,
        _ => terms().map(|(term, count)| weight(term, count).abs()).sum(),
    };
    terms().map(|(term, count)| weight(term, count) / total).collect()
}
