use super::*;
pub(super) fn parser(_name: &str) -> Option<Parser> { None }
