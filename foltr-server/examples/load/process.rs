//! What processes cost, as Linux counts it.

use std::path::Path;
use std::time::Duration;

/// Of `/proc/PID/stat`, which counts in hundredths of a second on every machine.
const TICKS: u64 = 100;

/// Processor time that a process has used so far; nothing if it is gone.
pub fn cpu(id: u32) -> Option<Duration> {
    let fields = stat(id)?;
    let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
    Some(Duration::from_millis((number(11)? + number(12)?) * 1_000 / TICKS))
}

/// From the state on: the name before it may have blanks.
fn stat(id: u32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    Some(text.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect())
}

/// A process and those that it started.
pub fn family(id: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |child: &u32| stat(*child).is_some_and(|fields| fields.get(1) == Some(&id.to_string()));
    [id].into_iter().chain(ids.filter(is_child)).collect()
}

/// Memory of a process that is in use, in MiB.
pub fn memory(id: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) >> 10
}

/// How often the disk of a folder was told to keep what it has, by all programs of the machine; nothing if nobody counts.
pub fn n_flushes(folder: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt as _;
    let device = folder.metadata().ok()?.dev();
    let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xfff00));
    let text = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/stat")).ok()?;
    text.split_whitespace().nth(15)?.parse().ok()
}

pub fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

/// The model of the processor, and how many cores there are.
pub fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|it| it.1.trim()));
    let n_cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{n_cores} cores of {}", model.unwrap_or("an unknown processor"))
}
