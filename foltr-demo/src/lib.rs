#![doc = include_str!("../README.md")]

pub mod arguments;
pub mod people;
pub mod plan;
pub mod queries;
pub mod screen;
pub mod server;
mod watch;

pub use watch::run;
