//! The `foltr` command.
fn main() {}
