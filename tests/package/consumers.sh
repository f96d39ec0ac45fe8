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
    # The summary is the reader's: linked, or loaded from beside the library; a static program may have none.
    quietly env RESMON=summary "$1"
    case $2 in
        with) grep -q "^  wall " "$log" || { cat "$log"; echo "no summary from $1"; exit 1; } ;;
        without) grep -q "^resmon: no summary: libresmon is linked into .* without its reader" "$log" || { cat "$log"; echo "$1 does not say why there is no summary"; exit 1; } ;;
    esac
}

by_cmake() { # name, HOW, prefix
    quietly "$cmake" -S "$here/consumer" -B "$work/$1" -DHOW="$2" -DRESMON_SOURCE="$source" \
        -DCMAKE_PREFIX_PATH="$3" -DCMAKE_BUILD_TYPE=Debug -DRESMON_WITH_CJSON="$(cached RESMON_WITH_CJSON)"
    quietly "$cmake" --build "$work/$1" -j 2
    for link in shared static; do
        summary=with
        [ $link = shared ] || summary=without
        run "$work/$1/consumer-c-$link" $summary
        run "$work/$1/consumer-cpp-$link" $summary
        run "$work/$1/consumer-reader-$link" with
        echo "ok: $1-$link"
    done
}

cached() {
    sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}

quietly "$cmake" --install "$build" --prefix "$work/prefix"
lib=$work/prefix/$(cached CMAKE_INSTALL_LIBDIR)

# What is said where the reader is not there, is somebody else's, or is of another version.
absent() {
    export LD_LIBRARY_PATH="$work/alone"
    mkdir "$work/alone" "$work/elsewhere"
    cp "$lib/libresmon.so.0" "$work/alone/"
    said() {
        RESMON=summary "$work/shared" >"$log" 2>&1 || { cat "$log"; echo "the program failed"; exit 1; }
        grep -q "^resmon: no summary: .*$1" "$log" && [ "$(grep -c "^resmon: " "$log")" -eq 1 ] ||
            { cat "$log"; echo "it does not say: $1"; exit 1; }
    }
    reader=$work/alone/libresmon-reader.so.0
    said "libresmon-reader.so.0 is not installed beside libresmon"
    cp "$lib/libresmon-reader.so.0" "$work/elsewhere/"
    ln -s "$work/elsewhere/libresmon-reader.so.0" "$reader"
    said "leads to another directory"
    rm "$reader"
    head -c 100 "$lib/libresmon-reader.so.0" >"$reader"
    said "cannot be loaded"
    rm "$reader"
    cp "$work/shared" "$reader"
    said "cannot be loaded"
    rm "$reader"
    if [ "$(id -u)" -eq 0 ]; then
        cp "$lib/libresmon-reader.so.0" "$reader"
        chown 65534 "$reader"
        said "not of the user who owns libresmon"
        rm "$reader"
    fi
    cp "$lib/libresmon-reader.so.0" "$reader"
    chmod o+w "$reader"
    said "others may write it"
    rm "$reader"
    sed "s/RESMON_PRIVATE_0/RESMON_PRIVATE_9/g" "$lib/libresmon-reader.so.0" >"$reader"
    said "RESMON_PRIVATE_9.*not"
    RESMON="html=$work/run.html,json=$work/run.json" "$work/shared" >"$log" 2>&1
    [ -s "$work/run.json" ] && [ ! -e "$work/run.html" ] && [ "$(grep -c "^resmon: .*html" "$log")" -eq 1 ] ||
        { cat "$log"; echo "no document, or nothing said of the page"; exit 1; }
    echo "ok: without the reader, the recording stands"
}

by_cmake install find_package "$work/prefix"
by_cmake build-tree find_package "$build"
by_cmake subdirectory add_subdirectory ""

if command -v pkg-config >/dev/null 2>&1; then
    export PKG_CONFIG_PATH="$lib/pkgconfig"
    # shellcheck disable=SC2046
    quietly "$cc" "$here/consumer/main.c" -o "$work/shared" $(pkg-config --cflags --libs resmon)
    LD_LIBRARY_PATH="$lib" run "$work/shared" with
    # shellcheck disable=SC2046
    quietly "$cc" "$here/consumer/reader.c" -o "$work/reader" $(pkg-config --cflags --libs resmon-reader)
    LD_LIBRARY_PATH="$lib" run "$work/reader" with
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
    run "$work/static" without
    # shellcheck disable=SC2046
    quietly "$cc" "$here/consumer/reader.c" -o "$work/reader-static" $(pkg-config --cflags resmon-reader) \
        -Wl,-u,rm_reader_functions "$lib/libresmon-reader.a" "$lib/libresmon.a" \
        $(pkg-config --static --libs resmon | sed 's/-lresmon//')
    run "$work/reader-static" with
    echo "ok: pkg-config static"
    absent
else
    echo "skipped: pkg-config is not installed (Debian: pkg-config)"
fi
for example in "$source"/examples/*.c; do
    test -s "$work/prefix/share/doc/resmon/examples/${example##*/}" || { echo "not installed: $example"; exit 1; }
done
test -s "$work/prefix/share/resmon/resmon-run.schema.json"
