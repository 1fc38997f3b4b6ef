//! `rows.parquet`, in builds with the feature `parquet`.

use anyhow::{Result, ensure};

#[cfg(feature = "parquet")]
mod write;

#[cfg(feature = "parquet")]
pub(crate) use write::write;

/// Refuses with the command that builds a program that can write Parquet.
pub fn ensure_available() -> Result<()> {
    ensure!(
        cfg!(feature = "parquet"),
        "--parquet: this build cannot write Parquet; build with `cargo build --release --features parquet`"
    );
    Ok(())
}
