//! Salts of what a history commits to: from the operating system, so that nobody can draw one again.
//!
//! They are the only random numbers of a run that its seed does not decide. No result depends on them but the bytes of
//! the history and its heads.

use rand::CryptoRng;
use rand::rand_core::UnwrapErr;
use rand::rngs::SysRng;

/// Panics where the operating system has no random numbers: a salt that can be guessed hides nothing.
pub(crate) fn salts() -> impl CryptoRng {
    UnwrapErr(SysRng)
}
