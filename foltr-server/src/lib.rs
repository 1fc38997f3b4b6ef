#![doc = include_str!("../README.md")]

pub mod call;
pub mod database;
pub mod operator;
pub mod problem;
