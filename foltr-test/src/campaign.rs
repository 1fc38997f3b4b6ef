//! How many cases a campaign tries.

/// A number that keeps the suite quick, or with `FOLTR_CAMPAIGN=full` that of the whole campaign.
pub fn campaign_size<T>(small: T, full: T) -> T {
    match std::env::var("FOLTR_CAMPAIGN").as_deref() {
        Err(_) | Ok("" | "small") => small,
        Ok("full") => full,
        Ok(other) => panic!("FOLTR_CAMPAIGN = {other} must be `full` or `small`"),
    }
}
