//! Where findings 22 to 25 failed on the data at hand, and why: said by an entry whose finding fails.

/// Finding 22, an honest client.
pub const MISSED: &str = "TODO";
/// Finding 22, the marked client.
pub const HARDLY_SEEN: &str = "TODO";
/// Finding 23, distance.
pub const NOT_NEAR: &str = "TODO";
/// Finding 23, share of the gap.
pub const NOT_CLOSED: &str = "TODO";
/// Finding 24.
pub const DOES_NOT_FALL: &str = "TODO";
/// Finding 25.
pub const NOT_BETTER: &str = "TODO";
