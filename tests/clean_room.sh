#!/bin/sh
# SPDX-License-Identifier: MIT
# One test in a clean room: of the environment only what programs need to run, an empty home, an empty directory for
# temporary files, one for what is kept in memory, and nothing of the host that an observed program would look at by itself.
#
#   clean_room.sh [--registries] [--fixed-addresses] -- [NAME=VALUE...] COMMAND...
#
#   --registries        the test installs packages: home, proxies and settings of the package tools stay
#   --fixed-addresses   for sanitizers: where the kernel spreads addresses over more bits than old ones can stand,
#                       addresses are not random
set -u

# Variables that stay.  Those of RESMON_ are for tests, and no setting of the library.
is_kept() {
    case $1 in
    PATH | LD_LIBRARY_PATH | TERM | USER | LOGNAME | SHELL | CI | CC | CXX | PYENV_ROOT | OPENBLAS_* | NVPL_* | *CERT* | *_CA_*) ;;
    RESMON_PYTHON | RESMON_TEST* | RESMON_UPDATE_GOLDEN | RESMON_STRESS_S | RESMON_KILLS | RESMON_KILL_SEED) ;;
    RESMON_MLFLOW_* | RESMON_NOTEBOOKS | RESMON_UDEVADM) ;;
    HOME | *_proxy | *_PROXY | PIP_* | npm_* | NODE_* | GO* | XDG_CACHE_HOME) [ $registries = yes ] ;;
    *) false ;;
    esac
}

registries=no
fixed_addresses=no
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    case $1 in
    --registries) registries=yes ;;
    --fixed-addresses) fixed_addresses=yes ;;
    *) echo "clean_room.sh: '$1'?" >&2 && exit 2 ;;
    esac
    shift
done
shift

# Where programs run, which /tmp of a hardened machine (noexec) is not.
make_room() {
    room=$(mktemp -d "$1/resmon-room.XXXXXX") || return
    printf '#!/bin/sh\n' >"$room/runs" && chmod 755 "$room/runs" && "$room/runs" 2>/dev/null || { rm -rf "$room"; return 1; }
}
make_room "${TMPDIR:-/tmp}" || make_room "$PWD" || { echo "clean_room.sh: no program runs in ${TMPDIR:-/tmp}, nor in $PWD" >&2; exit 2; }
mkdir "$room/home" "$room/tmp" && : >"$room/site.conf" || exit
chmod 755 "$room" && chmod 1777 "$room/tmp" # some become another user
# What the library keeps in memory: a test folds no recordings of those beside it.
memory=$(mktemp -d /dev/shm/resmon-room.XXXXXX 2>/dev/null) && chmod 1777 "$memory" || memory=""
for name in $(awk 'BEGIN { for (name in ENVIRON) if (name ~ /^[A-Za-z_][A-Za-z_0-9]*$/) print name }'); do
    if is_kept "$name"; then
        eval "value=\$$name"
        set -- "$name=$value" "$@"
    fi
done
[ $registries = yes ] || set -- HOME="$room/home" "$@"
# The compiler of Rust where rustup has put it: by the home.
[ ! -d "${RUSTUP_HOME:-${HOME:-}/.rustup}" ] || set -- RUSTUP_HOME="${RUSTUP_HOME:-${HOME:-}/.rustup}" "$@"
[ -z "$memory" ] || set -- RESMON_TEST_MEMORY="$memory" "$@"
# Energy counters that whoever runs the tests has made.
[ -z "${RESMON_TEST_ENERGY_ROOT:-}" ] || set -- RESMON_ENERGY_ROOT="$RESMON_TEST_ENERGY_ROOT" "$@"
set -- env -i LANG=C.UTF-8 TMPDIR="$room/tmp" RESMON_NVML=/nonexistent RESMON_SITE_CONF="$room/site.conf" "$@"
if [ $fixed_addresses = yes ] && [ "$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 0)" -gt 28 ] && setarch "$(uname -m)" -R true 2>/dev/null; then
    set -- setarch "$(uname -m)" -R "$@"
fi

# Processes of this test, by their environment, whoever their parent is by now.
left_behind() {
    grep -lszF "TMPDIR=$room/tmp" /proc/[0-9]*/environ | tr -dc '0-9\n'
}

"$@"
status=$?
# What was told to end has a moment for it.
for _ in 1 2 3 4 5 6 7 8 9 10; do
    left=$(left_behind)
    [ -n "$left" ] || break
    sleep 0.2
done
if [ -n "$left" ]; then
    for process in $left; do
        echo "failed: it left a process behind: $process $(tr '\0' ' ' <"/proc/$process/cmdline" 2>/dev/null)"
        kill -9 "$process" 2>/dev/null
    done
    [ $status -ne 0 ] && [ $status -ne 77 ] || status=1 # 77: skipped
fi
rm -rf "$room" ${memory:+"$memory"} 2>/dev/null
# What a signal ended ends by it here too, so that a crash is told from a failure.
[ $status -le 128 ] || kill -$((status - 128)) $$ 2>/dev/null
exit $status
