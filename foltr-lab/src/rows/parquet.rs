//! `rows.csv` once more as `rows.parquet`, which opens much faster when there are millions of rows.
//!
//! Optional: the `parquet` crate takes longer to build than all of foltr-lab, so it is only there with
//! `--features parquet`.

use std::path::{Path, PathBuf};

use thiserror::Error;

#[cfg(feature = "parquet")]
mod write;

/// Why rows could not be written as Parquet.
#[derive(Debug, Error)]
pub enum ParquetError {
    /// foltr was built without the crate.
    #[error("this foltr cannot write Parquet: build it with `cargo build --release --features parquet`")]
    NotBuilt,
    /// The rows are not what `foltr run` writes.
    #[error("{}: {found}; expected {expected}", file.display())]
    Rows {
        /// The CSV file.
        file: PathBuf,
        /// What is wrong, with its line.
        found: String,
        /// What would be right.
        expected: &'static str,
    },
    /// The Parquet file could not be written.
    #[error("{}: cannot be written: {source}", file.display())]
    Write {
        /// The Parquet file.
        file: PathBuf,
        /// What went wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Whether this build can write Parquet, so that a wish for it can be refused before any work.
pub const fn is_built() -> bool {
    cfg!(feature = "parquet")
}

/// Writes the rows of a CSV file as a Parquet file, a batch of rows at a time.
///
/// `seed` is an unsigned 64-bit integer, `fold` and `round` are 64-bit integers, `value` is a double; all other columns
/// are text.
///
/// # Errors
/// If this build cannot do it, the rows are not tidy, or a file cannot be read or written.
#[cfg(feature = "parquet")]
pub fn write_parquet(csv_path: &Path, parquet_path: &Path) -> Result<(), ParquetError> {
    write::write(csv_path, parquet_path)
}

/// Says that this build cannot do it.
///
/// # Errors
/// Always.
#[cfg(not(feature = "parquet"))]
pub fn write_parquet(_csv_path: &Path, _parquet_path: &Path) -> Result<(), ParquetError> {
    Err(ParquetError::NotBuilt)
}

#[cfg(all(test, not(feature = "parquet")))]
mod tests {
    use super::*;

    #[test]
    fn without_the_feature_it_says_how_to_get_it() {
        let error = write_parquet(Path::new("rows.csv"), Path::new("rows.parquet")).expect_err("not built");
        assert!(!is_built() && error.to_string().contains("--features parquet"));
    }
}
