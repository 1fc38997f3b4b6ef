pub fn description() -> String {
    String::new()
}
