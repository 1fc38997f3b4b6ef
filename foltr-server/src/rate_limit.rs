//! How often somebody may ask: a bucket of tokens that fills up again with time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

/// Buckets that are full again are forgotten when there are more than this.
const MANY: usize = 100_000;

pub struct RateLimit<K> {
    burst: f64,
    per_second: f64,
    buckets: Mutex<HashMap<K, Bucket>>,
}

#[derive(Clone, Copy)]
struct Bucket {
    tokens: f64,
    /// In milliseconds.
    at: u64,
}

impl<K: Eq + Hash> RateLimit<K> {
    pub fn new(burst: u32, per_minute: u32) -> Self {
        let per_second = f64::from(per_minute) / 60.0;
        Self { burst: f64::from(burst), per_second, buckets: Mutex::new(HashMap::new()) }
    }

    fn filled(&self, bucket: Bucket, now: u64) -> Bucket {
        let seconds = now.saturating_sub(bucket.at) as f64 / 1e3;
        // Also where the clock has gone back: what was gained while it was ahead is kept, and no more is waited for.
        Bucket { tokens: (bucket.tokens + seconds * self.per_second).min(self.burst), at: now }
    }

    /// Takes a token; or says after how many seconds there is one. `now` is in milliseconds.
    pub fn take(&self, key: K, now: u64) -> Result<(), u32> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() > MANY {
            buckets.retain(|_, bucket| self.filled(*bucket, now).tokens < self.burst);
        }
        let bucket = buckets.entry(key).or_insert(Bucket { tokens: self.burst, at: now });
        *bucket = self.filled(*bucket, now);
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        Err(((1.0 - bucket.tokens) / self.per_second).ceil().clamp(1.0, 86_400.0) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_and_then_the_rate() {
        let limit = RateLimit::new(3, 60);
        let take = |key, now| limit.take(key, now);
        assert_eq!([take(1, 0), take(1, 0), take(1, 0), take(1, 0)], [Ok(()), Ok(()), Ok(()), Err(1)]);
        assert_eq!((take(2, 0), take(1, 999), take(1, 1_000), take(1, 1_000)), (Ok(()), Err(1), Ok(()), Err(1)));
        // A clock that goes back gives nothing away.
        assert_eq!((take(1, 0), take(1, 2_000)), (Err(1), Ok(())));
    }

    #[test]
    fn nobody_waits_for_a_clock_that_was_ahead() {
        let limit = RateLimit::new(1, 60);
        let an_hour_ahead = 3_600_000;
        assert_eq!([limit.take(1, an_hour_ahead), limit.take(1, 0), limit.take(1, 1_000)], [Ok(()), Err(1), Ok(())]);
    }
}
