#!/bin/bash
# A grid as a Slurm job array: every task does one share of the runs, a last job merges.
#   sbatch --array=1-20 docs/cluster/slurm-array.sh specs/main-job.toml results
#   sbatch --dependency=afterany:JOB docs/cluster/slurm-array.sh --merge results
# A task that was killed is submitted again with the same command: finished runs are not done again.
#SBATCH --job-name=foltr
#SBATCH --cpus-per-task=8
#SBATCH --mem=8G
#SBATCH --time=04:00:00
#SBATCH --signal=INT@60
# Slurm sends the interrupt a minute before the time is over; foltr then writes the tables of what is finished.
set -euo pipefail

if [[ "$1" == "--merge" ]]; then
    exec foltr merge "$2"/shard-*/ --out "$2/merged"
fi
spec=$1 out=$2
# With --array=1-N the task number is the shard. SLURM_ARRAY_TASK_MIN must be 1.
exec foltr run "$spec" --out "$out/shard-$SLURM_ARRAY_TASK_ID" \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --threads "$SLURM_CPUS_PER_TASK"
