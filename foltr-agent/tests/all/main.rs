//! The program as a whole.

mod commands;
