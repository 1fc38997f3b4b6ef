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
fn the_quick_start_in_c_is_the_example_of_its_crate() {
    assert_eq!(block("Quick start in C"), include_str!("../../../foltr-client-c/examples/quick_start.c"));
}

/// The readme of the workspace shows a part of the example, so that it can be compiled.
#[test]
fn the_lines_of_the_readme_are_those_of_the_example() {
    let (readme, example) = (include_str!("../../../README.md"), include_str!("../../examples/quick_start.rs"));
    let (_, lines) = readme.split_once("\n```rust\n").expect("a block in Rust");
    let (lines, _) = lines.split_once("```").expect("the end of the block");
    let example: Vec<&str> = example.lines().map(str::trim).collect();
    for line in lines.lines().filter(|line| !line.is_empty() && !line.starts_with("//")) {
        assert!(example.contains(&line), "{line}");
    }
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
