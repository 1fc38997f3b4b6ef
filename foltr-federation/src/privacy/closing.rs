//! What a mechanism learns about a round when it adds the noise of its sum.

/// Where the shares of noise are that devices add to their messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NoiseShares {
    /// In the messages, as devices send them.
    #[default]
    InMessages,
    /// Nowhere yet: their sum is drawn at once when the round is closed. For simulations in which nobody looks at a
    /// single message.
    DrawnAtClosing,
}

/// The sum of a round that is about to be closed. It never leaves the coordinator.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosingSum {
    pub n_contributions: u32,
    /// Updates that were within the clip norm, where they are counted.
    pub n_within: u32,
    /// The norm to which updates of the round were clipped, where it changes from round to round.
    pub clip_norm: Option<f32>,
    /// By what the sum was divided, where that is fixed beforehand.
    pub divisor: f64,
    pub shares: NoiseShares,
}
