//! Whether this is a good time to work: on mains power, and nobody else in need of the machine.

use std::fs::read_to_string;
use std::path::PathBuf;

/// What the agent takes into account before it works in the background.
pub trait Surroundings: Send + Sync {
    fn is_on_battery(&self) -> bool;

    /// How many programs want to run, for each core.
    fn load(&self) -> f32;

    /// Why work in the background should wait.
    fn reason_to_wait(&self) -> Option<&'static str> {
        if self.is_on_battery() {
            Some("the machine runs on its battery")
        } else if self.load() > MOST_LOAD {
            Some("the machine is busy")
        } else {
            None
        }
    }
}

/// Who asks for something waits for it: nothing is a reason to let them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked;

impl Surroundings for Asked {
    fn is_on_battery(&self) -> bool {
        false
    }

    fn load(&self) -> f32 {
        0.0
    }
}

/// Above it, others wait for a core. The agent itself is one of those who want to run.
const MOST_LOAD: f32 = 2.0;

/// This machine, as Linux describes it. What cannot be read is no reason to wait.
#[derive(Clone, Debug)]
pub struct Machine {
    power: PathBuf,
    load: PathBuf,
}

impl Default for Machine {
    fn default() -> Self {
        Self { power: "/sys/class/power_supply".into(), load: "/proc/loadavg".into() }
    }
}

impl Surroundings for Machine {
    fn is_on_battery(&self) -> bool {
        let Ok(supplies) = std::fs::read_dir(&self.power) else { return false };
        let read = |path: PathBuf| read_to_string(path).unwrap_or_default().trim().to_owned();
        let supplies: Vec<PathBuf> = supplies.flatten().map(|it| it.path()).collect();
        let of_kind =
            |kind: &str| supplies.iter().filter(|it| read(it.join("type")) == kind).cloned().collect::<Vec<_>>();
        // Some machines have several ports; one with power is enough.
        let has_mains = of_kind("Mains").iter().any(|it| read(it.join("online")) == "1");
        !has_mains && of_kind("Battery").iter().any(|it| read(it.join("status")) == "Discharging")
    }

    fn load(&self) -> f32 {
        let first =
            read_to_string(&self.load).ok().and_then(|text| text.split_whitespace().next()?.parse::<f32>().ok());
        let n_cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        first.map_or(0.0, |load| load / n_cores as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn supply(folder: &std::path::Path, name: &str, files: &[(&str, &str)]) {
        std::fs::create_dir_all(folder.join(name)).expect("made");
        for (file, text) in files {
            std::fs::write(folder.join(name).join(file), text).expect("written");
        }
    }

    #[test]
    fn a_battery_that_empties_without_mains_is_a_reason_to_wait() {
        let folder = tempfile::tempdir().expect("a folder");
        let machine = Machine { power: folder.path().to_owned(), load: folder.path().join("load") };
        assert_eq!(machine.reason_to_wait(), None);
        supply(folder.path(), "BAT0", &[("type", "Battery\n"), ("status", "Discharging\n")]);
        assert_eq!(machine.reason_to_wait(), Some("the machine runs on its battery"));
        supply(folder.path(), "AC", &[("type", "Mains\n"), ("online", "1\n")]);
        assert_eq!(machine.reason_to_wait(), None);
        std::fs::write(folder.path().join("load"), "10000.5 1 1 1/1 1").expect("written");
        assert_eq!(machine.reason_to_wait(), Some("the machine is busy"));
        std::fs::write(folder.path().join("load"), "nonsense").expect("written");
        assert_eq!(machine.reason_to_wait(), None);
    }
}
