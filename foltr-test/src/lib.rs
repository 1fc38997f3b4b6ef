//! What the tests of the workspace share: experiment files, fuzz targets, a disk that fails, a PostgreSQL, and what
//! a machine may lack.

pub mod browser;
mod campaign;
#[cfg(feature = "sqlite")]
pub mod disk;
mod experiment_file;
pub mod fuzzing;
mod memory;
#[cfg(unix)]
pub mod postgres;
mod require;

pub use campaign::campaign_size;
pub use experiment_file::ExperimentFile;
pub use memory::{in_own_process, peak_memory};
pub use require::{data, latex, python, require, spec_files, workspace};
