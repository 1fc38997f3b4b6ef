//! All integration tests of the crate in one binary: one is linked, not ten.

mod model_file;
mod private_student;
mod text_fuzz;
mod text_real;
