#![doc = include_str!("../README.md")]

pub mod call;
mod collecting;
pub mod database;
mod engine;
pub mod federation;
mod group_commit;
mod hex;
mod history;
pub mod operator;
pub mod problem;
pub mod publishing;
mod randomness;
mod rate_limit;
pub mod rounds;
pub mod service;
pub mod settings;
mod signing_key;
mod snapshot;
mod store;
