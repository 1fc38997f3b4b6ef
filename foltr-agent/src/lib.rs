#![doc = include_str!("../README.md")]

pub mod agent;
pub mod answer;
pub mod catalogue;
pub mod command;
pub mod document;
pub mod extract;
pub mod feature;
pub mod history;
pub mod home;
pub mod index;
pub mod page;
pub mod prior;
pub mod scan;
pub mod service;
