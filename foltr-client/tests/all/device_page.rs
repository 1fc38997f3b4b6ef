//! The page for app developers shows programs as they are.

const PAGE: &str = include_str!("../../../docs/device.md");

/// The first code block below a heading.
fn block(heading: &str) -> &'static str {
    let (_, section) = PAGE.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no section {heading}"));
    let (_, block) = section.split_once("\n```").expect("a code block");
    let (_, block) = block.split_once('\n').expect("code below the fence");
    block.split_once("```\n").expect("the end of the block").0
}

#[test]
fn the_quick_start_in_rust_is_the_example() {
    assert_eq!(block("Quick start in Rust"), include_str!("../../examples/quick_start.rs"));
}

#[test]
fn every_kind_of_record_is_in_the_table_of_what_is_stored() {
    use foltr_client::item::{Item, State};
    let records = [Item::Impression(0), Item::List(0), Item::Release(0), Item::Receipt(0)];
    for item in State::ALL.iter().map(|&state| Item::State(state)).chain(records) {
        assert!(PAGE.contains(&format!("| {} |", item.name())), "{} is missing", item.name());
    }
}

#[test]
fn a_device_can_be_shared_by_threads() {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<foltr_client::Device>();
}
