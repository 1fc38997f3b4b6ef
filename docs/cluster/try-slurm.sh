#!/bin/bash
# Tries slurm-array.sh on a Slurm of one node: starts munged, slurmctld and slurmd on loopback with all their files in one
# folder, submits an array of three shares and the job that merges them, and stops everything. Needs Debian's slurm-wlm.
#   docs/cluster/try-slurm.sh FOLDER COMMAND...       such as: /tmp/slurm run specs/fpdgd-synthetic.toml
# `foltr` is the one on the path. Ends with code 0 if FOLDER/results/merged was made.
set -euo pipefail

template=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/slurm-array.sh
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
host=$(hostname -s)
user=$(id -un)
port=$((20000 + RANDOM % 20000))
mkdir -p "$folder/state" "$folder/spool" "$folder/results"
head -c 1024 /dev/urandom >"$folder/munge.key"
chmod 400 "$folder/munge.key"
# Other accounts may run jobs; munged insists on folders that only their owner can write to.
chmod 755 "$folder"

cat >"$folder/slurm.conf" <<CONF
ClusterName=foltr
SlurmctldHost=$host(127.0.0.1)
AuthInfo=socket=$folder/munge.socket
SlurmUser=$user
SlurmdUser=$user
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MpiDefault=none
ReturnToService=2
JobAcctGatherType=jobacct_gather/none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=4000 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$folder/slurm.conf

daemons=()
stop() {
    kill "${daemons[@]}" 2>/dev/null || true
    wait 2>/dev/null || true
}
trap stop EXIT

munged --foreground --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" \
    --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" --seed-file="$folder/munged.seed" \
    >"$folder/munged.out" 2>&1 &
daemons+=($!)
for _ in {1..50}; do [[ -S "$folder/munge.socket" ]] && break || sleep 0.1; done
slurmctld -D >"$folder/slurmctld.out" 2>&1 &
daemons+=($!)
slurmd -D -N "$host" >"$folder/slurmd.out" 2>&1 &
daemons+=($!)
for _ in {1..100}; do
    sinfo --noheader --format=%T 2>/dev/null | grep -q idle && break || sleep 0.2
done

common=(--parsable --cpus-per-task=1 --mem=1000 --output="$folder/job-%j.out")
array=$(timeout 30 sbatch "${common[@]}" --array=1-3 "$template" "$folder/results" "$@")
timeout 300 sbatch "${common[@]}" --dependency="afterok:$array" --kill-on-invalid-dep=yes --wait "$template" --merge "$folder/results" ||
    { cat "$folder"/job-*.out >&2; exit 1; }
test -f "$folder/results/merged/foltr.json"
