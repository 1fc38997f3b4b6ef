//! The program itself, started and killed.

mod kills;
mod load;
mod process;
mod reckoning;
mod replicas;
