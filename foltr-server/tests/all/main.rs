//! The program, as people use it.

mod program;
