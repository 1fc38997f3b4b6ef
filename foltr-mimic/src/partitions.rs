//! Which teacher learns from which queries? Each query belongs to exactly one of them.
//!
//! `PAEGT17` section 2.1: data are partitioned, so that one training query can change one teacher, hence one vote.

use foltr_rank::rng::Stream;
use rand::seq::SliceRandom;

use crate::InvalidInput;

/// Deals the queries 0 to `n_queries` out to the teachers at random: sizes differ by at most 1, each part is sorted.
///
/// Who gets which query depends on their number and on the stream, never on what is in them: were it otherwise, one
/// query could change two teachers.
pub fn partitions(n_queries: usize, n_teachers: usize, stream: &mut Stream) -> Result<Vec<Vec<u32>>, InvalidInput> {
    if n_teachers == 0 || n_queries < n_teachers {
        let found = format!("{n_queries} training queries for {n_teachers} teachers");
        return Err(InvalidInput::new(found, "1 teacher or more, and a query for each"));
    }
    let mut queries: Vec<u32> = (0..n_queries as u32).collect();
    queries.shuffle(stream);
    let part = |teacher: usize| {
        let mut part: Vec<u32> = queries.iter().copied().skip(teacher).step_by(n_teachers).collect();
        part.sort_unstable();
        part
    };
    Ok((0..n_teachers).map(part).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use foltr_rank::rng::{Purpose, Streams};
    use proptest::prelude::*;

    fn deal(n_queries: usize, n_teachers: usize, seed: u64) -> Result<Vec<Vec<u32>>, InvalidInput> {
        partitions(n_queries, n_teachers, &mut Streams::new(seed).open(Purpose::Training, 0, 0))
    }

    proptest! {
        #[test]
        fn every_query_is_in_exactly_one_part(n_teachers in 1_usize..40, more in 0_usize..200, seed: u64) {
            let n_queries = n_teachers + more;
            let parts = deal(n_queries, n_teachers, seed).expect("enough queries");
            prop_assert_eq!(parts.len(), n_teachers);
            let floor = n_queries / n_teachers;
            prop_assert!(parts.iter().all(|part| (floor..=floor + 1).contains(&part.len()) && part.is_sorted()));
            let mut all = parts.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..n_queries as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_stream_decides_and_a_teacher_without_a_query_is_refused() {
        assert_eq!(deal(100, 7, 1), deal(100, 7, 1));
        assert_ne!(deal(100, 7, 1), deal(100, 7, 2));
        let error = deal(2, 3, 1).expect_err("refused").to_string();
        assert_eq!(error, "2 training queries for 3 teachers; expected 1 teacher or more, and a query for each");
        assert!(deal(2, 0, 1).is_err());
        assert!(deal(3, 3, 1).is_ok());
    }
}
