#![doc = include_str!("../README.md")]

pub mod document;
pub mod extract;
