//! Whoever means harm: what was found by reading the server as an attacker does, malformed requests, and floods.

mod clocks;
mod commands;
pub mod replicas;
mod strangers;
