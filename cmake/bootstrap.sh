#!/bin/sh
# SPDX-License-Identifier: MIT
# From a bare Debian 12 (or a later Debian or Ubuntu) to a result, in one command:
#
#   sh cmake/bootstrap.sh demo [DIRECTORY]   installs what is needed, builds, runs the main example
#   sh cmake/bootstrap.sh test               the same, and runs the whole test suite
#   sh cmake/bootstrap.sh bench              the same, and runs the benches with their targets
#
# Quiet but for what matters; the full output of each step is in build/log.  Needs root or sudo only
# when a package is missing.

set -eu

started_in=$(pwd)
cd "$(dirname "$0")/.."
root=$(pwd)
logs=$root/build/log
jobs=$(nproc 2>/dev/null || echo 2)

build_packages="gcc g++ libc6-dev cmake ninja-build libcjson-dev libcurl4-openssl-dev zlib1g-dev libpfm4-dev
  libunwind-dev libdw-dev"
test_packages="libcmocka-dev pkg-config python3 python3-venv python3-psutil python3-jsonschema git
  clang-14 clang-tidy-14 clang-format-14 libclang-rt-14-dev codespell pmccabe strace openssl chromium
  chromium-driver curl prometheus prometheus-pushgateway prometheus-node-exporter slurm-wlm munge
  iproute2 openmpi-bin mpich"

# Packages of servers start them, now and at each boot; the tests only want the programs.
install_idle='
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap "rm -f $policy" EXIT
    printf "#!/bin/sh\nexit 101\n" >"$policy"
    chmod 755 "$policy"
fi
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@" || exit
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

# step NAME COMMAND...: runs it with its output in a log, a sign of life on the way, and the end of the
# log when it fails.
step() {
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
    if wait "$pid"; then
        printf '(%s s)\n' "$(($(date +%s) - begin))"
    else
        printf 'FAILED\n'
        grep -v ' Passed ' "$log" | tail -n 80 >&2
        die "$name failed; all of its output: $log"
    fi
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
    # The packages' Python, whichever other is first in PATH.
    export RESMON_PYTHON="${RESMON_PYTHON:-/usr/bin/python3}"
    missing=""
    for package in "$@"; do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$state" = installed ] || missing="$missing $package"
    done
    missing=${missing# }
    [ -n "$missing" ] || return 0
    say "installing: $missing"
    step "updating package lists" as_root apt-get update
    # shellcheck disable=SC2086 # a list of words
    step "installing packages" as_root sh -c "$install_idle" sh $missing
}

build() {
    preset=$1
    shift
    step "configuring $preset" cmake --preset "$preset" "$@"
    step "building $preset" cmake --build --preset "$preset" -j "$jobs"
}

# run_tests NAME BUILD CTEST-OPTIONS...: and why some did not run.
run_tests() {
    name=$1
    build=$root/build/$2
    shift 2
    step "testing $name" ctest "$@" --output-on-failure
    grep -hE 'tests passed' "$log" | sed 's/^/    /'
    # Those of pytest are "SKIPPED [3] ../tests/test_lines.py:12: reason", from each Python.
    grep -hiE '^skipped' "$build/Testing/Temporary/LastTest.log" |
        sed -E 's|^SKIPPED \[[0-9]+\] ([^ :]*/)?([^ :]+\.py)(:[0-9]+)?: |skipped: \2: |; s/^/    /' | sort -u || true
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
}

all_tests() {
    say "the whole test suite: about 25 minutes on two CPUs"
    # shellcheck disable=SC2086
    install_missing $build_packages $test_packages
    build dev
    run_tests dev dev --preset dev -LE "servers|python"
    # The first wait for servers most of the time, and the others for packages.
    run_tests "dev with servers and python" dev --preset dev -L "servers|python" -j "$jobs"
    build asan
    run_tests "asan and ubsan" asan --preset asan -LE "package|truth|servers|python"
    build tsan
    run_tests tsan tsan --preset tsan -L threads
    step "analyzing" sh -c "ls lib/*/*.c | xargs -P $jobs -n 4 clang-tidy-14 -p build/dev --quiet"
    step "configuring without any third-party library" cmake -S . -B build/bare -G Ninja \
        -DCMAKE_BUILD_TYPE=RelWithDebInfo -DRESMON_WERROR=ON -DRESMON_WITH_CJSON=OFF -DRESMON_WITH_CURL=OFF \
        -DRESMON_WITH_PFM=OFF -DRESMON_WITH_UNWIND=OFF -DRESMON_WITH_DW=OFF -DRESMON_WITH_ZLIB=OFF
    step "building without any third-party library" cmake --build build/bare -j "$jobs"
    run_tests "without any third-party library" bare --test-dir build/bare -LE "package|truth|servers|python"
    step "building with clang" sh -c "cmake -S . -B build/clang -G Ninja -DCMAKE_C_COMPILER=clang-14 \
        -DCMAKE_CXX_COMPILER=clang++-14 -DRESMON_WERROR=ON && cmake --build build/clang -j $jobs"
    say "all tests passed"
}

# The binding beside the tools it replaces, as far as they can be had.
bench_python() {
    venv=$root/build/bench-venv
    if [ ! -e "$venv/complete" ]; then
        python3 -m venv "$venv" &&
            "$venv/bin/pip" --quiet --disable-pip-version-check install -r "$root/tests/bench/packages.txt" &&
            touch "$venv/complete" || say "the tools to compare Python with cannot be had from PyPI: without them"
    fi
    python=$venv/bin/python
    [ -e "$venv/complete" ] || python=python3
    RESMON_LIBRARY=$root/build/release/libresmon.so "$python" "$root/tests/bench/bench_python.py" --check
}

benches() {
    # shellcheck disable=SC2086
    install_missing $build_packages libcmocka-dev python3 python3-psutil python3-venv
    build release -DRESMON_BUILD_TESTS=ON
    failed=""
    for bench in "$root"/build/release/tests/bench/bench_*; do
        "$bench" --check || failed="$failed $(basename "$bench")"
    done
    bench_python || failed="$failed bench_python"
    [ -z "$failed" ] || die "past a target:$failed"
}

usage() {
    sed -n '3,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

[ $# -ge 1 ] || usage
mkdir -p "$logs"
case $1 in
demo)
    demo "${2:-}"
    ;;
test)
    [ $# -eq 1 ] || usage
    all_tests
    ;;
bench)
    [ $# -eq 1 ] || usage
    benches
    ;;
*)
    usage
    ;;
esac
