//! Expected reciprocal rank: where a user stops who reads from the top and is satisfied by a document with a probability
//! that grows with its label.
//!
//! `CMZG09` Chapelle, Metzler, Zhang, Grinspan: *Expected Reciprocal Rank for Graded Relevance*, CIKM 2009. The largest
//! grade is 4, whatever the data has, as in gdeval and ir-measures: values of different data sets are then comparable.

use super::LabelMetric;

/// Of five grades; a label above it would satisfy a user with a probability above 1.
pub(super) const LARGEST_GRADE: u8 = 4;

pub(super) struct ExpectedReciprocalRank;

impl LabelMetric for ExpectedReciprocalRank {
    const IR_MEASURES: Option<&'static str> = Some("ERR");
    const LARGEST_LABEL: u8 = LARGEST_GRADE;

    fn value(ranked: &[u8], k: usize, _best: f64) -> f64 {
        let (mut value, mut still_reading) = (0.0, 1.0);
        for (position, &label) in ranked.iter().take(k).enumerate() {
            // Equation 4: R = (2^label - 1) / 2^4.
            let satisfied = super::gain(label) / f64::from(1_u32 << LARGEST_GRADE);
            value += still_reading * satisfied / (position + 1) as f64;
            still_reading *= 1.0 - satisfied;
        }
        value
    }
}
