#!/bin/sh
# SPDX-License-Identifier: MIT
# A program with the monitor of the environment, as one task on each of four nodes:
#
#   sh slurm_cluster.sh sh four_nodes.sh RESMON DIRECTORY PROGRAM ARGUMENT...
#
# The program runs in DIRECTORY with RESMON and all other variables of ours (MLFLOW_TRACKING_URI, ...);
# task N leaves its output in task.N.out and task.N.err, and its exit code in task.N.code.  Our own exit
# code is 0 when all of theirs are.
set -eu
[ $# -ge 3 ] || { sed -n '3,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
resmon=$1
cd "$2"
shift 2
rm -f task.*
# srun's own exit code is one of the tasks': they are looked at one by one.
# shellcheck disable=SC2016 # for each task's shell
srun -N4 --ntasks-per-node=1 --kill-on-bad-exit=0 --wait=0 --output=task.%t.out --error=task.%t.err \
    sh -c 'code=0; RESMON=$0 "$@" || code=$?; echo $code >"task.$SLURM_PROCID.code"' "$resmon" "$@" || true
result=0
for task in 0 1 2 3; do
    code=$(cat task.$task.code 2>/dev/null || echo "none: it was not run, or it was killed")
    [ "$code" = 0 ] && continue
    result=1
    echo "task $task: exit code $code"
    tail -qn 20 task.$task.out task.$task.err 2>/dev/null || true
done
exit $result
