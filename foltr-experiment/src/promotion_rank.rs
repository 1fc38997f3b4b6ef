//! Where a ranker puts the documents that attackers promote.

use foltr_rank::Shape;
use foltr_simulation::adversary::Promotion;
use foltr_simulation::datasets::Fold;

use crate::evaluate::score_all;

/// Their mean place among the test documents of their query as a share of the list: 0 is the top, a half is chance.
/// Nothing if no test query has such a document.
pub fn promotion_rank(promotion: &Promotion, fold: &Fold, shape: Shape, params: &[f32]) -> Option<f64> {
    let targets = promotion.targets(&fold.train);
    targets.relative_rank(&fold.test, &score_all(&fold.test, shape, params))
}
