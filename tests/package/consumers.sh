#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds and runs the consumer program in every way in which people take libresmon in:
# {install tree, build tree, add_subdirectory} x {shared, static} x {find_package, pkg-config}.  The first two are of the
# build that is tested; the third compiles the library once, without optimization, which changes nothing in that.
set -eu
source=$1
build=$2
cmake=$3
cc=$4
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/log

quietly() {
    "$@" >"$log" 2>&1 || { cat "$log"; echo "failed: $*"; exit 1; }
}

# Alone, and observed by the environment, which a static library must not lose either.
run() {
    quietly "$1"
    RESMON="json=$work/run.json" quietly "$1"
    [ -s "$work/run.json" ] ||
        { cat "$log"; echo "no run document from $1"; exit 1; }
    rm -f "$work/run.json"
}

by_cmake() { # name, HOW, prefix
    quietly "$cmake" -S "$here/consumer" -B "$work/$1" -DHOW="$2" -DRESMON_SOURCE="$source" \
        -DCMAKE_PREFIX_PATH="$3" -DCMAKE_BUILD_TYPE=Debug -DRESMON_WITH_CJSON="$(cached RESMON_WITH_CJSON)"
    quietly "$cmake" --build "$work/$1" -j 2
    for link in shared static; do
        run "$work/$1/consumer-c-$link"
        run "$work/$1/consumer-cpp-$link"
        echo "ok: $1-$link"
    done
}

cached() {
    sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}

quietly "$cmake" --install "$build" --prefix "$work/prefix"
lib=$work/prefix/$(cached CMAKE_INSTALL_LIBDIR)

by_cmake install find_package "$work/prefix"
by_cmake build-tree find_package "$build"
by_cmake subdirectory add_subdirectory ""

if command -v pkg-config >/dev/null 2>&1; then
    export PKG_CONFIG_PATH="$lib/pkgconfig"
    # shellcheck disable=SC2046
    quietly "$cc" "$here/consumer/main.c" -o "$work/shared" $(pkg-config --cflags --libs resmon)
    LD_LIBRARY_PATH="$lib" run "$work/shared"
    # shellcheck disable=SC2046
    quietly "$cc" -std=c11 "$work/prefix/share/doc/resmon/examples/energy.c" -o "$work/energy" \
        -D_XOPEN_SOURCE=700 $(pkg-config --cflags --libs resmon) -lm -pthread
    echo "ok: pkg-config shared"
    # Without the development files of what is inside of it.
    alone=$(PKG_CONFIG_LIBDIR="$lib/pkgconfig" pkg-config --cflags --libs resmon) ||
        { echo "the package of the shared library wants others"; exit 1; }
    case $alone in *cjson*) echo "the shared library's flags: $alone"; exit 1 ;; esac
    echo "ok: pkg-config without other packages"
    # shellcheck disable=SC2046
    quietly "$cc" "$here/consumer/main.c" -o "$work/static" $(pkg-config --cflags resmon) \
        "$lib/libresmon.a" $(pkg-config --static --libs resmon | sed 's/-lresmon//')
    run "$work/static"
    echo "ok: pkg-config static"
else
    echo "skipped: pkg-config is not installed (Debian: pkg-config)"
fi
for example in "$source"/examples/*.c; do
    test -s "$work/prefix/share/doc/resmon/examples/${example##*/}" || { echo "not installed: $example"; exit 1; }
done
test -s "$work/prefix/share/resmon/resmon-run.schema.json"
