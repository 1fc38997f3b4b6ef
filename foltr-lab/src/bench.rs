//! Stand-in.

/// Runs the benchmarks.
pub fn run(json: bool) -> anyhow::Result<()> {
    println!("{}", if json { "{}" } else { "no benchmark yet" });
    Ok(())
}
