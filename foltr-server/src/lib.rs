#![doc = include_str!("../README.md")]

pub mod call;
pub mod database;
pub mod http;
pub mod logging;
pub mod openapi;
pub mod operator;
pub mod problem;
