//! The pairwise hinge loss (spec section 16.1).

/// max(0, 1 - (S1 - S2)) of a document that should be above another one, and its derivative by S1; that by S2 is the
/// negative.
#[inline]
pub(crate) fn hinge(better: f32, worse: f32) -> (f32, f32) {
    let loss = 1.0 - (better - worse);
    if loss > 0.0 { (loss, -1.0) } else { (0.0, 0.0) }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::{Candidates, Supervision};

    #[test]
    fn golden_vectors() {
        let text = include_str!("../../tests/vectors/mimic_vectors.json");
        let vectors: Value = serde_json::from_str(text).expect("JSON");
        let cases = vectors["hinge"].as_array().expect("cases");
        assert_eq!(cases.len(), 3);
        for case in cases {
            let number = |key: &str| case[key].as_f64().expect("a number") as f32;
            let (label_1, label_2, s1, s2) = (number("label_1"), number("label_2"), number("s1"), number("s2"));
            if label_1 == label_2 {
                // No gradient: such a pair is never drawn.
                let candidates = Candidates { query: 0, documents: vec![0, 1], scores: vec![label_1, label_2] };
                assert!(Supervision::Scores(vec![candidates]).pairs().expect("scores").is_empty());
                continue;
            }
            let is_first_better = label_1 > label_2;
            let (loss, gradient) = if is_first_better { hinge(s1, s2) } else { hinge(s2, s1) };
            let of_first = if is_first_better { gradient } else { -gradient };
            assert!((loss - number("loss")).abs() < 1e-6);
            assert_eq!((of_first, -of_first), (number("grad_s1"), number("grad_s2")));
        }
    }

    #[test]
    fn a_margin_that_is_reached_costs_nothing() {
        assert_eq!(hinge(0.75, -0.25), (0.0, 0.0));
        assert_eq!(hinge(1.0, -1.0), (0.0, 0.0));
        assert_eq!(hinge(-1.0, 1.0), (3.0, -1.0));
    }
}
