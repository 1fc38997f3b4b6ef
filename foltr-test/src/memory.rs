//! Peak memory is a number of the whole process, so what is measured needs a process of its own.

use std::process::Command;

const VARIABLE: &str = "FOLTR_TEST_ALONE";

/// The most memory this process has had, in bytes; none where the system does not say.
pub fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

/// Runs the calling test once more, alone in a process, where `body` is executed.
pub fn in_own_process(body: impl FnOnce()) {
    if std::env::var_os(VARIABLE).is_some() {
        return body();
    }
    let name = std::thread::current().name().expect("a test has its thread").to_owned();
    let binary = std::env::current_exe().expect("a test binary");
    let output = Command::new(binary).args(["--exact", &name, "--nocapture"]).env(VARIABLE, "1").output();
    let output = output.expect("the test binary starts again");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{name}, alone:\n{text}");
    println!("{text}");
}
