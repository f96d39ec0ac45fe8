#!/bin/sh
# SPDX-License-Identifier: MIT
# exceptions.sh SOURCE BUILD: stacks of a C++ program that throws.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
g++ -O2 -g -std=c++11 -I"$1/include" -o "$work/exceptions" "$here/exceptions.cpp" -L"$2" -lresmon -Wl,-rpath,"$2"
status=0
"$work/exceptions" || status=$?
exit "$status"
