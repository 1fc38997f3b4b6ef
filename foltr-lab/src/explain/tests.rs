//! Known numbers of the papers' mechanisms.
