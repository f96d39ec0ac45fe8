#!/bin/sh
# SPDX-License-Identifier: MIT
# Four emulated Slurm nodes, n1 to n4, on this machine for as long as a command runs:
#
#   sh slurm_cluster.sh COMMAND ARGUMENT...
#
# COMMAND finds the cluster by SLURM_CONF, and its exit code is ours; 77 means that there can be no
# cluster here, and 99 that it did not come up.  All files, keys and sockets are in one temporary
# directory, the ports are free ones: several clusters can run side by side, and beside a real one.
# All nodes share this machine's /proc and host name, and only SLURMD_NODENAME tells them apart; with
# CLUSTER_HOST_NAMES=1 each has its own host name, as real ones have, which all of them can resolve.
# CLUSTER_TASK_PROLOG is a TaskProlog.  With CLUSTER_CONTROL_GROUPS=1 jobs, steps and tasks have groups
# of their own, with a limit of memory (100 MB for each CPU, or as --mem says), and the
# command has CLUSTER_HAS_GROUPS=1; where the kernel cannot, they have none.
set -eu

skip() {
    echo "skipped: no Slurm cluster: $*" >&2
    exit 77
}

[ $# -ge 1 ] || { sed -n '3,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
[ -n "${RESMON_TEST_LIVE:-}" ] || { echo "live: slurm_cluster: needs a Slurm that is installed" >&2; exit 77; }
export PATH="${PATH:-/usr/bin:/bin}:/usr/sbin:/sbin"
umask 022
[ "$(id -u)" -eq 0 ] || skip "it needs root"
for program in munged slurmctld slurmd srun sinfo; do
    command -v $program >/dev/null || skip "there is no $program (Debian: slurm-wlm and munge)"
done

# The hierarchy of version 1: Slurm's plugin for version 2 wants systemd.
groups=/sys/fs/cgroup/memory
[ -n "${CLUSTER_CONTROL_GROUPS:-}" ] && [ -w $groups/memory.limit_in_bytes ] && [ -w $groups/cgroup.procs ] || groups=
[ -z "$groups" ] || export CLUSTER_HAS_GROUPS=1

[ -z "${CLUSTER_HOST_NAMES:-}" ] || unshare --uts --mount true 2>/dev/null || skip "no host names of our own: unshare --uts"

# Slurm's own variables, of a job that we may be in, would confuse the new daemons and srun.
for name in $(env | sed -n 's/^\(S\(LURM\|BATCH\|ALLOC\|RUN\)_[A-Z0-9_]*\)=.*/\1/p'); do
    unset "$name"
done

work=$(mktemp -d /tmp/slurm.XXXXXX) # short: a socket's path has at most 107 bytes
chmod 755 "$work" # munged wants its socket to be reachable by all
conf=$work/slurm.conf
daemons=
command=

# Every process of this cluster has its SLURM_CONF in its environment, slurmstepd and tasks too; this
# shell and its helpers have not.
strays() {
    grep -lzxsF "SLURM_CONF=$conf" /proc/[0-9]*/environ | cut -d / -f 3
}

# until_true TENTHS COMMAND...
until_true() {
    tenths=$1
    shift
    while ! "$@"; do
        tenths=$((tenths - 1))
        [ $tenths -gt 0 ] || return 1
        sleep 0.1
    done
}

no_jobs() {
    [ -z "$(SLURM_CONF=$conf squeue -h 2>/dev/null)" ]
}

no_strays() {
    [ -z "$(strays)" ]
}

stop_daemons() {
    # shellcheck disable=SC2086 # a list of numbers
    kill $daemons 2>/dev/null || true
    # Whoever is left, or has lost its daemon.
    until_true 30 no_strays || strays | xargs -r kill -KILL 2>/dev/null || true
    for daemon in $daemons; do
        wait "$daemon" 2>/dev/null || true
    done
    daemons=
    [ -z "$groups" ] || find $groups/slurm_n[1-4] -depth -type d -exec rmdir {} + 2>/dev/null || true
}

tear_down() {
    trap - EXIT
    trap '' INT TERM HUP
    [ -z "$command" ] || kill "$command" 2>/dev/null || true
    if [ -n "$daemons" ] && ! no_jobs; then
        SLURM_CONF=$conf scancel --user=root 2>/dev/null || true
        until_true 30 no_jobs || true
    fi
    stop_daemons
    rm -rf "$work"
}

# Even SIGKILL leaves nothing behind: the other end of this pipe closes when we are gone, and only then.
guard() {
    mkfifo "$work/alive"
    # shellcheck disable=SC2016 # its own $1
    setsid sh -c 'read -r line <"$1/alive"
        while grep -qzxsF "SLURM_CONF=$1/slurm.conf" /proc/[0-9]*/environ; do
            grep -lzxsF "SLURM_CONF=$1/slurm.conf" /proc/[0-9]*/environ | cut -d / -f 3 | xargs kill -KILL
            sleep 0.1
        done
        rm -rf "$1"' guard "$work" >/dev/null 2>&1 </dev/null &
    exec 9>"$work/alive"
}

# Five ports that nobody listens at, below those that the kernel hands out.
free_ports() {
    for port in $(shuf -n 50 -i 17000-31000); do
        grep -q "$(printf ':%04X ' "$port")" /proc/net/tcp /proc/net/tcp6 2>/dev/null || echo "$port"
    done | head -n 5
}

# configure PORT1 ... PORT5
configure() {
    cat >"$conf" <<END
ClusterName=emulated$$
SlurmctldHost=localhost
SlurmctldPort=$1
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool.%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.%n.pid
SlurmctldLogFile=$work/log/slurmctld
SlurmdLogFile=$work/log/slurmd.%n
# What would need an accounting daemon, mail or patience.
ProctrackType=proctrack/linuxproc
TaskPlugin=task/$([ -n "$groups" ] && echo cgroup || echo none)
JobAcctGatherType=jobacct_gather/none
MailProg=/bin/true
KillWait=1
${CLUSTER_TASK_PROLOG:+TaskProlog=$CLUSTER_TASK_PROLOG}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core${groups:+_Memory}
${groups:+DefMemPerCPU=100}
${groups:+FirstJobId=$(($$ % 1000000 + 1))}
MpiDefault=none
ReturnToService=2
# Two CPUs a node, whatever this machine has.
SlurmdParameters=config_overrides
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$2 CPUs=2 RealMemory=1000
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$3 CPUs=2 RealMemory=1000
NodeName=n3 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$4 CPUs=2 RealMemory=1000
NodeName=n4 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$5 CPUs=2 RealMemory=1000
PartitionName=debug Nodes=n[1-4] Default=YES MaxTime=10 State=UP
END
    # slurmd wants a plugin for control groups even where nothing uses one.  This one starts whatever is
    # mounted, and that for version 2 only where systemd runs.
    {
        echo CgroupPlugin=cgroup/v1
        [ -z "$groups" ] || printf '%s\n' ConstrainRAMSpace=yes ConstrainSwapSpace=yes AllowedSwapSpace=0
    } >"$work/cgroup.conf"
}

# daemon NAME COMMAND...: in its foreground, so that its pid is known, and away from a terminal's signals.
daemon() {
    name=$1
    shift
    SLURM_CONF=$conf setsid "$@" >"$work/log/$name.out" 2>&1 </dev/null 9>&- &
    daemons="$daemons $!"
}

# Done when all are idle, or when one of the daemons has given up.
settled() {
    for daemon in $daemons; do
        kill -0 "$daemon" 2>/dev/null || return 0
    done
    all_idle
}

all_idle() {
    [ "$(SLURM_CONF=$conf sinfo -h -N -o '%N %t' 2>/dev/null | grep -c ' idle$')" -eq 4 ]
}

munge_answers() {
    munge -n --socket="$work/munge.socket" >/dev/null 2>&1
}

start() {
    rm -rf "$work/state" "$work/log" "$work"/spool.*
    mkdir "$work/state" "$work/log" "$work/spool.n1" "$work/spool.n2" "$work/spool.n3" "$work/spool.n4"
    # shellcheck disable=SC2046 # five words
    configure $(free_ports)
    daemon munged munged --foreground --num-threads=2 --key-file="$work/munge.key" \
        --socket="$work/munge.socket" --pid-file="$work/munge.pid" --seed-file="$work/munge.seed" \
        --log-file="$work/log/munged"
    until_true 50 munge_answers || return 1
    daemon slurmctld slurmctld -D -c
    # shellcheck disable=SC2016 # its own $1 and $2
    start_node='exec slurmd -D -N "$1"'
    # shellcheck disable=SC2016
    [ -z "${CLUSTER_HOST_NAMES:-}" ] ||
        start_node='hostname "$1" && mount --bind "$2" /etc/hosts && '$start_node
    for node in n1 n2 n3 n4; do
        daemon "slurmd.$node" ${CLUSTER_HOST_NAMES:+unshare --uts --mount} \
            sh -c "$start_node" slurmd $node "$work/hosts"
    done
    until_true 200 settled
    all_idle
}

trap tear_down EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
guard
echo "127.0.0.1 localhost n1 n2 n3 n4" >"$work/hosts"
(umask 077 && head -c 1024 /dev/urandom >"$work/munge.key")
# Once more with other ports, should somebody have been quicker.
start || { stop_daemons; start; } || {
    echo "the Slurm cluster did not come up:" >&2
    grep -hiE 'error|fatal' "$work"/log/* | sort -u | tail -n 20 >&2
    exit 99
}
# In the background, for the traps' sake: a shell sees to its signals only when nothing runs in front.
exec 8<&0
SLURM_CONF=$conf "$@" <&8 8<&- 9>&- &
command=$!
code=0
wait "$command" || code=$?
command=
exit "$code"
