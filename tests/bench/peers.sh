#!/bin/sh
# SPDX-License-Identifier: MIT
# Scopes beside regions of LLNL's Caliper and timers of GPTL, which are built from their public sources:
#
#   sh tests/bench/peers.sh
#
# Needs git, cmake, a C++ compiler, autoconf, automake and libtool, and the network; CALIPER_SOURCE and GPTL_SOURCE name
# directories with the sources instead.  All of it goes to build/peers.  After a build of the release (cmake/bootstrap.sh).
set -eu

cd "$(dirname "$0")/../.."
root=$(pwd)
place=$root/build/peers
library=$root/build/release
caliper_version=v2.14.0
gptl_version=v8.1.1

[ -e "$library/libresmon.so" ] || {
    echo "there is no $library/libresmon.so: sh cmake/bootstrap.sh bench builds it" >&2
    exit 1
}
mkdir -p "$place/log"

# A step whose output is kept, and shown when it fails.
step() {
    what=$1
    shift
    echo "==> $what"
    "$@" >"$place/log/last" 2>&1 || {
        tail -n 30 "$place/log/last" >&2
        echo "$what failed" >&2
        return 1
    }
}

# source NAME VERSION ADDRESS [DIRECTORY]
source_of() {
    if [ -n "${4:-}" ]; then
        rm -rf "$place/$1" && cp -r "$4" "$place/$1"
    elif [ ! -d "$place/$1" ]; then
        step "fetching $1 $2" git clone --quiet --depth 1 --branch "$2" "$3" "$place/$1"
    fi
}

caliper() {
    source_of caliper "$caliper_version" https://github.com/LLNL/Caliper "${CALIPER_SOURCE:-}" &&
        step "configuring Caliper" cmake -S "$place/caliper" -B "$place/caliper/build" -DCMAKE_BUILD_TYPE=Release \
            -DCMAKE_INSTALL_PREFIX="$place/installed" -DCMAKE_INSTALL_LIBDIR=lib -DWITH_TOOLS=OFF -DBUILD_TESTING=OFF &&
        step "building Caliper" cmake --build "$place/caliper/build" -j "$(nproc)" --target install
}

build_gptl() {
    cd "$place/gptl" && autoreconf -fi && ./configure --prefix="$place/installed" --disable-openmp --disable-libunwind &&
        make -C src -j "$(nproc)" install && make -C include install
}

gptl() {
    source_of gptl "$gptl_version" https://github.com/jmrosinski/GPTL "${GPTL_SOURCE:-}" &&
        step "building GPTL" build_gptl
}

set -- -O2 -D_GNU_SOURCE -DBENCH_PYTHON='"python3"' -DBENCH_PSUTIL_PEER='""' -I"$root/include" -I"$root/tests/bench" \
    -I"$place/installed/include" "$root/tests/bench/bench_peers.c" "$root/tests/bench/bench.c" -o "$place/bench_peers" \
    -L"$library" -lresmon -L"$place/installed/lib" -Wl,-rpath,"$library" -Wl,-rpath,"$place/installed/lib" -lm -lpthread
if caliper; then set -- -DHAVE_CALIPER "$@" -lcaliper; else echo "without Caliper"; fi
if (gptl); then set -- -DHAVE_GPTL "$@" -lgptl; else echo "without GPTL"; fi
step "building the bench" cc "$@"
CALI_SERVICES_ENABLE=aggregate,event,timer CALI_LOG_VERBOSITY=0 "$place/bench_peers"
