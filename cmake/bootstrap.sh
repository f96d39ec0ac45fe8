#!/bin/sh
# SPDX-License-Identifier: MIT
# From a bare Debian 12 (or a later Debian or Ubuntu) to a result, in one command:
#
#   sh cmake/bootstrap.sh demo [DIRECTORY]   installs what is needed, builds, runs the main example
#   sh cmake/bootstrap.sh test               the same, and runs all tests that the code alone decides, as CI does
#   sh cmake/bootstrap.sh test all           all tests: also those of real time, of this host, and beside real servers
#   sh cmake/bootstrap.sh bench              the same, and runs the benches with their targets
#   sh cmake/bootstrap.sh lock               what tests install from PyPI and npm, anew: tests/locks
#   sh cmake/bootstrap.sh compare [COMMIT]   benches of that commit (the one before) beside this tree's: a report, no verdict
#
# Quiet but for what matters; the full output of each step is in build/log.  Needs root or sudo only
# when a package is missing.

set -eu

started_in=$(pwd)
cd "$(dirname "$0")/.."
root=$(pwd)
logs=$root/build/log
jobs=$(nproc 2>/dev/null || echo 2)
# The packages' Python, whichever other is first in PATH (cmake/ResmonPython.cmake).
[ -n "${RESMON_PYTHON:-}" ] || [ ! -x /usr/bin/python3 ] || RESMON_PYTHON=/usr/bin/python3
export RESMON_PYTHON="${RESMON_PYTHON:-$(command -v python3 || echo /usr/bin/python3)}"

build_packages="gcc g++ libc6-dev cmake ninja-build libcjson-dev libcurl4-openssl-dev zlib1g-dev libpfm4-dev
  libunwind-dev libdw-dev"
test_packages="libcmocka-dev pkg-config python3 python3-venv python3-psutil python3-jsonschema git clang-14
  clang-format-14 libomp-14-dev codespell pmccabe strace openssl curl prometheus prometheus-pushgateway
  prometheus-node-exporter iproute2 groff-base locales"
extended_packages="clang-tidy-14 libclang-rt-14-dev chromium chromium-driver slurm-wlm munge openmpi-bin mpich zsh fish
  udev environment-modules mmdebstrap dpkg-dev make abigail-tools gfortran"

# Packages of servers start them, now and at each boot; the tests only want the programs.
install_idle='
policy=/usr/sbin/policy-rc.d
ours="# of the bootstrap of libresmon, while it installs"
if [ ! -e "$policy" ] || grep -q "^$ours" "$policy"; then
    trap "rm -f $policy" EXIT
    printf "#!/bin/sh\n%s\nexit 101\n" "$ours" >"$policy"
    chmod 755 "$policy"
fi
dpkg --configure -a || exit # what was killed half-way
DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 install -y --no-install-recommends "$@" || exit
for package in "$@"; do
    [ ! -e "/lib/systemd/system/$package.service" ] || ! command -v systemctl >/dev/null ||
        systemctl disable "$package.service" ||
        true
done'

say() {
    printf '==> %s\n' "$*"
}

die() {
    printf 'bootstrap: %s\n' "$*" >&2
    exit 1
}

# run_logged NAME COMMAND...: runs it with its output in a log and a sign of life on the way.
run_logged() {
    name=$1
    shift
    log=$logs/$(printf '%s' "$name" | tr -c 'a-z0-9\n' '-').log
    begin=$(date +%s)
    printf '==> %s ' "$name"
    "$@" >"$log" 2>&1 &
    pid=$!
    seconds=0
    while kill -0 "$pid" 2>/dev/null; do
        sleep 1
        seconds=$((seconds + 1))
        [ $((seconds % 10)) -ne 0 ] || printf '.'
    done
    ended=0
    wait "$pid" || ended=1
    seconds=$(($(date +%s) - begin))
    printf '%5s s  %s\n' "$seconds" "$name" >>"$logs/seconds"
    [ $ended -eq 0 ] && printf '(%s s)\n' "$seconds" || printf 'FAILED (%s s)\n' "$seconds"
    return $ended
}

# step NAME COMMAND...: the same, and the end of the log when it fails.
step() {
    run_logged "$@" || {
        tail -n 80 "$log" >&2
        die "$name failed; all of its output: $log"
    }
}

# has_failed NAME LOG LINES: what does not keep the rest from being tried; said at once, and at the end (verdict).
has_failed() {
    {
        say "$1 failed; all of its output: $2"
        printf '%s\n' "$3"
    } | tee -a "$logs/failures" >&2
}

# Where the time went: the tests that took longest, in all builds, and each step.
print_times() {
    say "the ten longest tests:"
    for tested in "$logs"/testing-*.log; do
        build=${tested##*/testing-}
        sed -nE 's/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: ([^ ]+) .* ([0-9]+)[.][0-9]+ sec.*/\2 \1/p' "$tested" |
            sed "s/\$/ (${build%.log})/"
    done | sort -rn | head -n 10 | while read -r seconds what; do
        printf '%5s s  %s\n' "$seconds" "$what"
    done
    say "the steps:"
    cat "$logs/seconds"
}

# verdict WHEN-ALL-IS-WELL: the last lines of a command that went on after a failure.
verdict() {
    print_times
    [ -s "$logs/failures" ] || {
        say "$1"
        return 0
    }
    {
        say "failed, in short:"
        tail -n 52 "$logs/failures"
        host
    } >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null 2>&1; then
        sudo "$@"
    else
        die "installing packages needs root, and there is no sudo: run as root: apt-get install $missing"
    fi
}

install_missing() {
    command -v dpkg-query >/dev/null 2>&1 || {
        say "no dpkg here: expecting that the tools are installed ($*)"
        return 0
    }
    missing=""
    for package in "$@"; do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$state" = installed ] || missing="$missing $package"
    done
    missing=${missing# }
    [ -n "$missing" ] || return 0
    say "installing: $missing"
    step "updating package lists" as_root apt-get update
    known=""
    for package in $missing; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            known="$known $package"
        else
            say "this distribution has no $package: what needs it is skipped, or fails and says so"
        fi
    done
    # shellcheck disable=SC2086 # a list of words
    [ -z "$known" ] || step "installing packages" as_root sh -c "$install_idle" sh $known
}

build() {
    preset=$1
    shift
    step "configuring $preset" cmake --preset "$preset" "$@"
    step "building $preset" cmake --build --preset "$preset" -j "$jobs"
}

# What the tests said that did not pass, of a log of ctest.
failures_of() {
    awk '/^ *[0-9]+\/[0-9]+ Test +#/ { failed = /\*\*\*/ && !/\*\*\*Skipped/ }
         /^ +Start +[0-9]+: / || /^[0-9]+% tests passed/ { failed = 0 }
         failed && !/^SKIPPED/' "$1"
}

# What a verdict may hang on.
host() {
    say "the host: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $jobs CPUs, Linux $(uname -r), load $(cut -d' ' -f1-3 /proc/loadavg)"
    say "PMUs: $(echo /sys/bus/event_source/devices/* | sed 's|[^ ]*/||g'); perf_event_paranoid $(cat /proc/sys/kernel/perf_event_paranoid 2>/dev/null || echo none)"
    say "energy counters: $(ls /sys/class/powercap 2>/dev/null | tr '\n' ' '); control groups: $(stat -fc %T /sys/fs/cgroup 2>/dev/null || echo none); uid $(id -u)"
}

# failed_tests NAME LOG: all that they said, then the names with what was expected and what came.
failed_tests() {
    failures_of "$2" | tail -n 200 >&2
    has_failed "testing $1" "$2" "$(failures_of "$2" |
        grep -E '\*\*\*|ERROR|FAIL|Error|error:|Failure| != |^E  |WARNING: ThreadSanitizer|SUMMARY' |
        cut -c 1-240 | head -n 44)"
}

# What runs ctest, if anything: a host of our own making.
on_host=""

# run_tests NAME BUILD CTEST-OPTIONS...: and why some did not run.  What failed has failed: nothing is tried again.
run_tests() {
    tested=$1
    build=$root/build/$2
    shift 2
    has_passed=yes
    # shellcheck disable=SC2086 # words
    run_logged "testing $tested" $on_host ctest "$@" --output-on-failure || has_passed=no
    grep -hE 'tests passed' "$log" | sed 's/^/    /'
    # Those of pytest are "SKIPPED [3] ../tests/test_lines.py:12: reason", from each Python.
    grep -hiE '^skipped' "$build/Testing/Temporary/LastTest.log" |
        sed -E 's|^SKIPPED \[[0-9]+\] ([^ :]*/)?([^ :]+\.py)(:[0-9]+)?: |skipped: \2: |; s/^/    /' | grep -v ': live: ' | sort -u || true
    live=$(grep -hE '^live: |: live: ' "$build/Testing/Temporary/LastTest.log" | sort -u | wc -l)
    wanting=$(grep -hiE '^skipped.*\(Debian: ' "$build/Testing/Temporary/LastTest.log" | sort -u || true)
    if [ -n "$wanting" ] && command -v dpkg-query >/dev/null 2>&1; then
        has_failed "testing $tested, for want of what is to be installed" "$log" "$wanting"
    fi
    [ "$live" -eq 0 ] || say "left to 'test all', as they need real time or this host's figures: $live"
    [ $has_passed = yes ] || failed_tests "$tested" "$log"
}

demo() {
    tree=${1:-/usr/share}
    case $tree in
    /*) ;;
    *) tree=$started_in/$tree ;;
    esac
    [ -d "$tree" ] || die "there is no directory $tree"
    # shellcheck disable=SC2086
    install_missing $build_packages
    build release -DRESMON_BUILD_TESTS=OFF
    say "running the word index over $tree"
    mkdir -p "$root/build/demo"
    (cd "$root/build/demo" && "$root/build/release/examples/wordindex" "$tree")
    say "run document: build/demo/run.json; index: build/demo/words.gz"
    say "a program that knows nothing of libresmon: resmon run --stacks=cpu+memory -- gcc -O2 -c ..."
    (cd "$root/build/demo" && "$root/build/release/bin/resmon" run --stacks=cpu+memory -o gcc.json -o gcc.folded -- \
        gcc -O2 -D_GNU_SOURCE -I"$root/include" -I"$root/lib/common" -I"$root/lib/reader" -c "$root/lib/reader/view/text.c" -o text.o)
    "$root/build/release/bin/resmon" report "$root/build/demo/gcc.json"
    say "its stacks: build/demo/gcc.folded, for flamegraph.pl; everything: build/demo/gcc.json"
}

# on_energy_host KIND: what the code decides must not hang on the energy counters of a host.
on_energy_host() (
    unset RESMON_TEST_LIVE
    on_host="$RESMON_PYTHON $root/tests/truth/energy_host.py $1"
    run_tests "dev on a host with energy counters: $1" dev --preset dev -LE "extended|package|profiles|sanitizer" \
        -E "^(lint|fuzz)[.]|^servers[.]mlflow_faults|^python[.]wheel" -j "$((jobs + 1))"
)

# tested_builds LABELS LABELS EXTRA: of the tests that the plain build and the one with AddressSanitizer leave out.  Many tests
# wait, for servers, for packages, for a time limit: so many more than CPUs run at once in the plain build.
tested_builds() {
    build dev
    run_tests dev dev --preset dev -LE "$1" -j "$((jobs + $3))"
    build asan
    run_tests "asan and ubsan" asan --preset asan -LE "$2" -j "$((jobs + 1))"
    build tsan
    run_tests tsan tsan --preset tsan -j "$jobs"
}

tests() {
    say "the tests that the code alone decides: 6 to 10 minutes on two CPUs"
    # shellcheck disable=SC2086
    install_missing $build_packages $test_packages
    tested_builds "extended|sanitizer" "extended|plain" 1
    verdict "all tests passed; those of 'test all' were not among them"
}

all_tests() {
    say "the whole test suite: 25 to 40 minutes on two CPUs"
    # shellcheck disable=SC2086
    install_missing $build_packages $test_packages $extended_packages
    export RESMON_TEST_LIVE=yes
    tested_builds brief none 2
    for counters in moving still psys; do
        on_energy_host $counters
    done
    run_logged "analyzing" sh -c "ls lib/*/*/*.c bindings/cli/*.c | xargs -P $jobs -n 4 clang-tidy-14 -p build/dev --quiet" || {
        has_failed analyzing "$log" "$(grep -E 'warning:|error:' "$log" | head -n 44)"
    }
    without_libraries="-G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DRESMON_WERROR=ON -DRESMON_WITH_CJSON=OFF
        -DRESMON_WITH_CURL=OFF -DRESMON_WITH_PFM=OFF -DRESMON_WITH_UNWIND=OFF -DRESMON_WITH_DW=OFF -DRESMON_WITH_ZLIB=OFF"
    # shellcheck disable=SC2086
    step "configuring without others' libraries" cmake -S . -B build/alone $without_libraries -DRESMON_BUILD_TESTS=OFF
    step "building without others' libraries" cmake --build build/alone -j "$jobs"
    step "a run without others' libraries" build/alone/bin/resmon run --stacks=cpu --counters=default -o build/alone/run.txt -- true
    step "building with clang" sh -c "cmake -S . -B build/clang -G Ninja -DCMAKE_C_COMPILER=clang-14 \
        -DCMAKE_CXX_COMPILER=clang++-14 -DRESMON_WERROR=ON && cmake --build build/clang -j $jobs"
    verdict "all tests passed"
}

# The binding beside the tools it replaces, as far as they can be had.
bench_python() {
    python=$("$RESMON_PYTHON" "$root/tests/locked.py" bench "$root/build/bench") || {
        say "the tools to compare Python with cannot be had from PyPI: without them"
        python=$RESMON_PYTHON
    }
    RESMON_LIBRARY=$root/build/release/libresmon.so "$python" "$root/tests/bench/bench_python.py" --check
}

# With a "+" where files differ from it, but for what benches themselves have written.
commit_of_tree() {
    commit=$(git rev-parse --short HEAD 2>/dev/null) || commit=unknown
    git diff --quiet HEAD -- . ':!tests/bench/history.csv' 2>/dev/null || commit=$commit+
    echo "$commit"
}

benches() {
    # shellcheck disable=SC2086
    install_missing $build_packages libcmocka-dev python3 python3-psutil python3-venv strace
    build release -DRESMON_BUILD_TESTS=ON
    failed=""
    RESMON_BENCH_FIGURES=$root/build/bench-figures.csv
    export RESMON_BENCH_FIGURES
    : >"$RESMON_BENCH_FIGURES"
    for bench in "$root"/build/release/tests/bench/bench_*; do
        "$bench" --check || failed="$failed $(basename "$bench")"
    done
    bench_python || failed="$failed bench_python"
    "$RESMON_PYTHON" "$root/tests/bench/bench_command.py" "$root/build/release/bin/resmon" --check ||
        failed="$failed bench_command"
    "$RESMON_PYTHON" "$root/tests/bench/bench_short.py" "$root/build/release/libresmon.so" "$root/include" --check ||
        failed="$failed bench_short"
    "$RESMON_PYTHON" "$root/tests/bench/history.py" "$RESMON_BENCH_FIGURES" "$root/tests/bench/history.csv" \
        "$(commit_of_tree)" || failed="$failed history"
    [ -z "$failed" ] || die "past a target:$failed"
}

# Each file that the registry has of a version, by its hash: what passes today passes in a year.
lock() {
    install_missing python3 python3-venv
    venv=$root/build/lock-venv
    [ -x "$venv/bin/uv" ] || {
        "$RESMON_PYTHON" -m venv "$venv"
        step "installing uv" "$venv/bin/pip" --quiet --disable-pip-version-check install uv
    }
    for list in tests/locks/*.in; do
        since=$(sed -n 's/^# .* Python \([0-9.]*\) and newer.*/\1/p' "$list")
        [ -n "$since" ] || die "$list does not say for which Python it is"
        without=$(sed -n 's/^# without //p' "$list" | tr ' ' '\n' | sed 's/^/--no-emit-package=/')
        # shellcheck disable=SC2086 # a list of words
        step "locking $list" "$venv/bin/uv" pip compile --quiet --universal --upgrade --generate-hashes --no-header \
            --no-emit-index-url --python-version "$since" $without --output-file "${list%.in}.txt" "$list"
    done
    for package in tests/locks/*/package.json; do
        step "locking $package" sh -c "cd ${package%/*} && rm -f package-lock.json &&
            npm install --package-lock-only --omit-lockfile-registry-resolved --ignore-scripts --no-audit --no-fund"
    done
}

# Beside the benches of another commit, in turns, so that both see the same machine.  The report is for people: a
# bench that has become slower fails nothing.
compared="bench_sample bench_scope bench_store"

compare() {
    # shellcheck disable=SC2086
    install_missing $build_packages libcmocka-dev git
    commit=$(git rev-parse --short --verify "${1:-HEAD~1}^{commit}") || die "there is no commit ${1:-HEAD~1}"
    place=$root/build/compare
    rm -rf "$place/source" && mkdir -p "$place/source"
    git archive "$commit" | tar -x -C "$place/source"
    step "configuring $commit" cmake -S "$place/source" -B "$place/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DRESMON_BUILD_TESTS=ON
    # shellcheck disable=SC2086
    step "building $commit" cmake --build "$place/build" -j "$jobs" --target $compared
    build release -DRESMON_BUILD_TESTS=ON
    resmon=$root/build/release/bin/resmon
    : >"$place/report.md"
    for bench in $compared; do
        step "running $bench" "$resmon" bench -q -i -n 10 -o "$place/$bench.json" \
            -- "$place/build/tests/bench/$bench" --quick -- "$root/build/release/tests/bench/$bench" --quick
        "$resmon" diff -q --inconclusive=pass --fail 'wall>5%+10ms' --fail 'peak>5%+1MiB' \
            -o "$place/$bench.md" -o "$place/$bench.html" "$place/$bench.json" || true
        printf '### %s, %s and this tree\n\n' "$bench" "$commit" >>"$place/report.md"
        cat "$place/$bench.md" >>"$place/report.md"
        printf '\n' >>"$place/report.md"
    done
    say "the report: build/compare/report.md; with plots: build/compare/*.html"
}

usage() {
    sed -n '3,14s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

[ $# -ge 1 ] || usage
mkdir -p "$logs"
: >"$logs/failures"
: >"$logs/seconds"
rm -f "$logs"/testing-*.log
case $1 in
demo)
    demo "${2:-}"
    ;;
test)
    case $#${2:-} in
    1) tests ;;
    2all) all_tests ;;
    *) usage ;;
    esac
    ;;
bench)
    [ $# -eq 1 ] || usage
    benches
    ;;
lock)
    [ $# -eq 1 ] || usage
    lock
    ;;
compare)
    [ $# -le 2 ] || usage
    compare "${2:-}"
    ;;
*)
    usage
    ;;
esac
