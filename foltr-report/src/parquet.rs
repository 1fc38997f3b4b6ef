//! `rows.parquet`, in builds with the feature `parquet`.

use anyhow::{Result, ensure};

#[cfg(feature = "parquet")]
mod write;

#[cfg(feature = "parquet")]
pub use write::write_parquet;

/// # Errors
/// If this build cannot write Parquet, with the command that builds one that can.
pub fn ensure_available() -> Result<()> {
    ensure!(
        cfg!(feature = "parquet"),
        "--parquet: this build cannot write Parquet; build with `cargo build --release --features parquet`"
    );
    Ok(())
}
