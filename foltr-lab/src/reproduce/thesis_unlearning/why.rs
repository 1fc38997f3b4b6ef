//! Where findings 22 to 25 failed on the data at hand, and why: said by an entry whose finding fails.

/// Finding 23, distance.
pub const STILL_LEARNING: &str = "\
    unlearning has a fifth of the rounds of training. It ends where retraining is after as many rounds (see the course \
    of 9H-0M in Figure 6.2): what is missing is training, and the client does no harm any longer";
