#!/bin/sh
# SPDX-License-Identifier: MIT
# Slurm's TaskProlog, run as the user before each task (slurm.conf: TaskProlog=/etc/slurm/task_prolog.sh):
# each program of a job that libresmon is in leaves a recording in the user's own directory.  After
# SIGKILL it is there: whole, or, on a network file system, as of its last copy, a minute ago at most.
# A line "export NAME=VALUE" that this prints is in the task's environment.
#
# A TaskProlog that fails cancels its task, and a Prolog that fails drains its node: so this one is no
# Prolog, starts nothing, waits for nothing, and says that all is well whatever happens.

directory=${HOME:-}/resmon

# What users have set themselves stays.
if [ -z "${RESMON:-}" ] && [ -d "${HOME:-}" ] && mkdir -p "$directory" 2>/dev/null; then
    echo "export RESMON=record=$directory/%j-%n-r%r-p%p.rec"
fi
exit 0
