//! Whoever means harm: what was found by reading the server as an attacker does, malformed requests, and floods.

mod classes;
mod clocks;
mod commands;
mod floods;
mod raw;
pub mod replicas;
mod scene;
mod schemathesis;
mod strangers;
