#!/bin/bash
# Any command of foltr that takes --shard as a Slurm job array: every task does one share of the runs, a last job merges.
#   sbatch --array=1-20 docs/cluster/slurm-array.sh results run specs/main-job.toml
#   sbatch --dependency=afterok:JOB docs/cluster/slurm-array.sh --merge results
# `scorecard`, `reproduce --all`, `mimic run FILE` and `tune FILE` work in the same way. A task that was killed is submitted
# again with the same command: finished runs are not done again.
#SBATCH --job-name=foltr
#SBATCH --cpus-per-task=8
#SBATCH --mem=8G
#SBATCH --time=04:00:00
#SBATCH --signal=B:INT@120
# Two minutes before the time is over Slurm interrupts foltr (B: is the process of this script, which foltr replaces); it
# then writes the tables of what is finished, and ends.
set -euo pipefail

if [[ "$1" == "--merge" ]]; then
    exec foltr merge "$2"/shard-*/ --out "$2/merged"
fi
out=$1
shift
# With --array=1-N the task number is the shard; an array that starts elsewhere is refused by foltr.
exec foltr "$@" --out "$out/shard-$SLURM_ARRAY_TASK_ID" \
    --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --threads "$SLURM_CPUS_PER_TASK"
