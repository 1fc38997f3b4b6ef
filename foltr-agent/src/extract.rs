//! Texts of files.
