#![doc = include_str!("../README.md")]

pub mod admin;
pub mod application;
pub mod call;
mod collecting;
pub mod command;
pub mod dashboard;
pub mod database;
mod engine;
mod export;
pub mod federation;
pub mod folder;
mod forgetting;
mod group_commit;
mod hex;
mod history;
pub mod http;
pub mod logging;
mod metrics;
pub mod model_file;
pub mod openapi;
mod operating;
pub mod operator;
mod overview;
pub mod plan_file;
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
mod time;
pub mod verifying;

#[cfg(test)]
mod tests;
