//! What a worker takes from itself before it reads the first file.

use rustix::process::{Resource, Rlimit, nice, setrlimit};

use super::Limits;

/// Processor time of a worker: more than it may ever use while its parent watches, so that one that outlives its parent
/// ends some time.
const MOST_PROCESSOR_SECONDS: u64 = 24 * 3600;
/// The socket, standard output, errors, the file, and some room.
const MOST_DESCRIPTORS: u64 = 16;
/// Lower than what anybody waits for.
const NICENESS: i32 = 10;

/// Restricts this thread and those that it starts; limits hold for the process. What the system does not know is left out:
/// limits stay even where nothing else is there.
pub(super) fn enter(limits: &Limits) {
    let most = |resource, most| {
        // No higher than what was allowed before.
        let most = rustix::process::getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
        let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    };
    most(Resource::As, limits.memory);
    most(Resource::Core, 0);
    most(Resource::Fsize, 0);
    most(Resource::Nofile, MOST_DESCRIPTORS);
    most(Resource::Cpu, MOST_PROCESSOR_SECONDS);
    let _ = nice(NICENESS);
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::thread::set_no_new_privs(true);
        let _ = without_files_and_network();
    }
}

/// No file can be opened, nothing connected by TCP, and no process outside be sent a signal.
#[cfg(target_os = "linux")]
fn without_files_and_network() -> Result<landlock::RestrictionStatus, landlock::RulesetError> {
    use landlock::{ABI, Access, AccessFs, AccessNet, Ruleset, RulesetAttr, Scope};
    // By default what an older kernel does not know is left out.
    let abi = ABI::V6;
    let rules = Ruleset::default().handle_access(AccessFs::from_all(abi))?;
    rules.handle_access(AccessNet::from_all(abi))?.scope(Scope::from_all(abi))?.create()?.restrict_self()
}

/// Whether this system can keep a worker from files. Restricts the thread that asks.
#[cfg(all(test, target_os = "linux"))]
pub(super) fn keeps_from_files() -> bool {
    without_files_and_network().is_ok_and(|status| status.ruleset != landlock::RulesetStatus::NotEnforced)
}
