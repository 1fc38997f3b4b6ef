//! The program as a whole.

mod commands;
mod running;
