//! The templates of `docs/cluster`, on a Slurm of one node and, for Kubernetes, by its schemas and a shell.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use foltr_test::{ExperimentFile, python, require, workspace};

use crate::binary::{foltr, read, run, temporary};

/// Checks a manifest by the schemas of Kubernetes; prints the arguments of its container.
const VALIDATE: &str = "
import json, sys, yaml, kubernetes_validate
job = yaml.safe_load(open(sys.argv[1]))
kubernetes_validate.validate(job, kubernetes_validate.latest_version(), strict=True)
print(json.dumps(job['spec']['template']['spec']['containers'][0]['args']))
";

/// The path of this process, with the folder of the binary in front.
pub fn path_with_foltr() -> OsString {
    let binary = assert_cmd::cargo::cargo_bin("foltr");
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let all = [binary.parent().expect("a folder").to_owned()].into_iter().chain(std::env::split_paths(&folders));
    std::env::join_paths(all).expect("plain paths")
}

/// Runs a small study as a whole, into `out`.
fn whole(folder: &Path) {
    run(folder, &ExperimentFile::fpdgd().set("seeds", "[1, 2, 3, 4, 5]"), &[]).success();
}

fn assert_merged_is_whole(folder: &Path, merged: &str) {
    for name in ["rows.csv", "summary.json", "resolved.toml"] {
        assert_eq!(read(&folder.join(merged), name), read(&folder.join("out"), name), "{name}");
    }
}

#[test]
fn a_slurm_array_of_three_tasks_makes_what_one_machine_makes() {
    let is_there = |name: &str| Command::new(name).arg("-V").output().is_ok_and(|done| done.status.success());
    let has_slurm = is_there("slurmctld") && is_there("slurmd") && is_there("munged");
    if require("slurm", has_slurm.then_some(()), "there is no Slurm (Debian's slurm-wlm)").is_none() {
        return;
    }
    let folder = temporary();
    whole(folder.path());
    let tried = Command::new(workspace().join("docs/cluster/try-slurm.sh"))
        .args(["slurm", "run", "study.toml"])
        .env("PATH", path_with_foltr())
        .current_dir(folder.path())
        .output()
        .expect("bash");
    assert!(tried.status.success(), "{}", String::from_utf8_lossy(&tried.stderr));
    assert!(folder.path().join("slurm/results/shard-3/runs").is_dir());
    assert_merged_is_whole(folder.path(), "slurm/results/merged");
}

#[test]
fn pods_of_the_kubernetes_job_make_what_one_machine_makes() {
    let Some(python) = python("kubernetes_validate") else { return };
    let manifest = workspace().join("docs/cluster/kubernetes-job.yaml");
    let validated = Command::new(python).args(["-c", VALIDATE]).arg(manifest).output().expect("Python");
    assert!(validated.status.success(), "{}", String::from_utf8_lossy(&validated.stderr));
    let arguments: [String; 1] = serde_json::from_slice(&validated.stdout).expect("one argument");
    let folder = temporary();
    whole(folder.path());
    // The volumes of a pod, in the folder of the test.
    let script = arguments[0].replace("/experiment/grid.toml", "study.toml").replace("/results/", "results/");
    for index in ["0", "1"] {
        let mut pod = Command::new("sh");
        pod.args(["-c", &script]).env("PATH", path_with_foltr()).env("SHARDS", "2").env("JOB_COMPLETION_INDEX", index);
        let done = pod.current_dir(folder.path()).output().expect("a shell");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    let merge = ["merge", "results/shard-1", "results/shard-2", "--out", "results/merged"];
    foltr().current_dir(folder.path()).args(merge).assert().success();
    assert_merged_is_whole(folder.path(), "results/merged");
}
