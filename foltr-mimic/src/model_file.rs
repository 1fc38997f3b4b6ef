//! A trained network as a file.
