#![doc = include_str!("../README.md")]
#![expect(non_camel_case_types, reason = "types are named as in the header, which is made of these files")]
#![expect(
    clippy::missing_safety_doc,
    reason = "what a caller owes is the same for all functions, and said in the header"
)]

mod arguments;
mod border;
mod c_declarations;
mod error;
mod functions;
mod handles;
mod options;

pub use c_declarations::*;
pub use functions::*;
