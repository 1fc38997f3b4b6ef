#![doc = include_str!("../README.md")]

pub mod admin;
pub mod call;
pub mod dashboard;
pub mod database;
pub mod operator;
pub mod problem;
