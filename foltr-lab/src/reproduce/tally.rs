//! A conclusion that is made of several cases: how many of them are true, and with which numbers?

/// A conclusion with the numbers behind it.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Whether the runs support it.
    pub holds: bool,
    /// The numbers that say so.
    pub evidence: String,
}

/// Collects what is true and what is not.
pub struct Tally {
    n_true: usize,
    n: usize,
    /// What was counted, in numbers.
    pub parts: Vec<String>,
}

impl Tally {
    /// With nothing counted.
    pub const fn new() -> Self {
        Self { n_true: 0, n: 0, parts: Vec::new() }
    }

    /// Counts a case.
    pub fn count(&mut self, is_true: bool) {
        self.n += 1;
        self.n_true += usize::from(is_true);
    }

    /// True if every case is.
    pub fn judged(self, what: &str) -> Judged {
        let Self { n_true, n, parts } = self;
        // Without anything to count nothing was shown.
        let holds = n > 0 && n_true == n;
        Judged { holds, evidence: format!("{what}: true in {n_true} of {n} cases; {}", parts.join("; ")) }
    }
}
