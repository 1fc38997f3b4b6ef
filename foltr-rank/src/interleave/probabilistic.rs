//! Probabilistic interleaving: for each position a ranker is drawn, which draws a document with probability 1 / rank^3.
//!
//! `HWR11` Hofmann, Whiteson, de Rijke: *A Probabilistic Method for Inferring Preferences from Clicks*, CIKM 2011, section
//! 4, for two rankers; `SBB15` Schuth, Bruintjes, Büttner, van Doorn, Groenland, Oosterhuis and others: *Probabilistic Multileave for Online Retrieval Evaluation*, SIGIR 2015, for several.
//! Given the list, the rankers of its positions are independent, each with the probability that Bayes' rule gives it; clicks are
//! credited over all of these assignments, not only over the one that happened.
//!
//! Deviation: `SBB15` samples assignments where there are many; here the credit is exact ([`Origins::preference`]).
//!
//! [`Origins::preference`]: super::Origins::preference

use rand::Rng;

use super::below;

/// Memory for a draw.
#[derive(Clone, Debug, Default)]
pub(super) struct Chances {
    /// Of each ranker, document by document: 1 / rank^3, or 0 once it is in the list.
    weights: Vec<f64>,
    /// Of each ranker: the sum of its weights.
    totals: Vec<f64>,
}

impl Chances {
    /// Fills the list, and writes for each position the probability of each ranker to have drawn the document, given the list.
    pub(super) fn draw(&mut self, orders: &[Vec<u32>], random: &mut dyn Rng, shown: &mut [u32], shares: &mut [f32]) {
        let n_rankers = orders.len();
        let n_docs = orders.first().map_or(0, Vec::len);
        self.begin(orders, n_docs);
        for (doc, shares) in shown.iter_mut().zip(shares.chunks_exact_mut(n_rankers)) {
            let ranker = below(n_rankers, random);
            let weights = &self.weights[ranker * n_docs..(ranker + 1) * n_docs];
            *doc = pick(&orders[ranker], weights, self.totals[ranker] * uniform(random));
            self.take(*doc as usize, n_docs, shares);
        }
    }

    fn begin(&mut self, orders: &[Vec<u32>], n_docs: usize) {
        self.weights.resize(orders.len() * n_docs, 0.0);
        self.totals.clear();
        for (order, weights) in orders.iter().zip(self.weights.chunks_exact_mut(n_docs.max(1))) {
            let mut total = 0.0;
            for (i, &doc) in order.iter().enumerate() {
                let rank = (i + 1) as f64;
                weights[doc as usize] = 1.0 / (rank * rank * rank); // HWR11 Eq. 1, tau = 3
                total += weights[doc as usize];
            }
            self.totals.push(total);
        }
    }

    /// Takes a document out of all rankers' laws, and says whose it may have been.
    fn take(&mut self, doc: usize, n_docs: usize, shares: &mut [f32]) {
        let mut chances = [0.0; super::MAX_RANKERS];
        let mut sum = 0.0;
        for (ranker, total) in self.totals.iter_mut().enumerate() {
            let weight = std::mem::take(&mut self.weights[ranker * n_docs + doc]);
            // Where nothing else is left, rounding may have left the sum below its last term.
            chances[ranker] = (weight / *total).min(1.0);
            *total = (*total - weight).max(f64::MIN_POSITIVE);
            sum += chances[ranker];
        }
        shares.iter_mut().zip(chances).for_each(|(share, chance)| *share = (chance / sum) as f32);
    }
}

/// The document in whose stretch of the weights `point` lies.
fn pick(order: &[u32], weights: &[f64], mut point: f64) -> u32 {
    let mut last = 0;
    for &doc in order {
        let weight = weights[doc as usize];
        if weight > 0.0 {
            last = doc;
            point -= weight;
            if point < 0.0 {
                break;
            }
        }
    }
    last
}

/// In [0, 1), with 53 bits.
fn uniform(random: &mut dyn Rng) -> f64 {
    (random.next_u64() >> 11) as f64 * (-53_f64).exp2()
}
