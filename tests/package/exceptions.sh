#!/bin/sh
# SPDX-License-Identifier: MIT
# exceptions.sh SOURCE BUILD: stacks of a C++ program that throws, without frame pointers and with them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for options in "-O2 -fomit-frame-pointer" "-O0 -fno-omit-frame-pointer"; do
    echo "g++ $options"
    # shellcheck disable=SC2086 # a list of options
    g++ $options -g -std=c++11 -I"$1/include" -o "$work/exceptions" "$here/exceptions.cpp" -L"$2" -lresmon \
        -Wl,-rpath,"$2"
    status=0
    "$work/exceptions" || status=$?
    [ "$status" -eq 0 ] || exit "$status"
done
