#!/bin/sh
# SPDX-License-Identifier: MIT
# slurm_cluster.sh makes clusters and leaves nothing behind.  sh test_cluster.sh
set -eu
cluster=$(dirname "$0")/slurm_cluster.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "$*"
    exit 1
}

until_true() {
    for _ in $(seq 1000); do
        if "$@"; then
            return 0
        fi
        sleep 0.1
    done
    return 1
}

# Two side by side, with standard input and exit code of the command.
# shellcheck disable=SC2016 # for the shells of the tasks
for i in 1 2; do
    { code=0
      echo "input $i" | sh "$cluster" sh -c 'cat; srun -N4 -l sh -c "echo \$SLURMD_NODENAME" | sort
        exit 5' >"$work/out.$i" 2>"$work/err.$i" || code=$?
      echo $code >"$work/code.$i"; } &
done
wait
if [ "$(cat "$work/code.1")" = 77 ]; then
    cat "$work/err.1"
    exit 77
fi
for i in 1 2; do
    [ "$(cat "$work/code.$i")" = 5 ] || fail "$(cat "$work/err.$i") exit code $(cat "$work/code.$i")"
    printf 'input %s\n0: n1\n1: n2\n2: n3\n3: n4\n' $i | cmp - "$work/out.$i" || fail "not the four nodes"
done

# Killed in the middle of a job.
is_running() {
    [ -s "$work/conf" ] && [ -e "$work/task" ]
}

is_gone() {
    conf=$(cat "$work/conf")
    [ ! -e "$(dirname "$conf")" ] && ! grep -qzxsF "SLURM_CONF=$conf" /proc/[0-9]*/environ
}

for signal in TERM KILL; do
    rm -f "$work/conf" "$work/task"
    # shellcheck disable=SC2016
    sh "$cluster" sh -c 'echo "$SLURM_CONF" >"$1/conf"
        srun -N2 sh -c "touch $1/task; exec sleep 1000"' sh "$work" >"$work/out" 2>&1 &
    until_true is_running || fail "no job: $(cat "$work/out")"
    kill -$signal $!
    code=0
    wait $! 2>/dev/null || code=$?
    [ $code -gt 128 ] || fail "exit code $code after SIG$signal"
    until_true is_gone || fail "left behind after SIG$signal: $(ls "$(dirname "$conf")")" \
        "$(grep -lzxsF "SLURM_CONF=$conf" /proc/[0-9]*/environ)"
done
echo "clusters come up side by side, and leave nothing behind"
