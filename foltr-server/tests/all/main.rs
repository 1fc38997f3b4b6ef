//! The program, as people use it, and as crashes find it.

mod kills;
mod load;
mod process;
mod program;
mod reckoning;
mod replicas;
