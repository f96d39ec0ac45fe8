#!/bin/sh
# SPDX-License-Identifier: MIT
# The example of each language, with its compiler where there is one: all of them have the same scopes.
#
#   languages.sh SOURCES BUILD
set -eu
sources=$1
build=$2
examples=$sources/examples/languages
here=$(cd "$(dirname "$0")" && pwd)
used=0
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
skipped=''
export LD_LIBRARY_PATH="$build"

quietly() {
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log"
        echo "failed: $*"
        exit 1
    }
}

# has PROGRAM LANGUAGE
has() {
    command -v "$1" >/dev/null && return 0
    skipped="$skipped $2 ($1)"
    return 1
}

# check NAME COMMAND...: it prints what cos() leads to, and run.json has its scopes.
check() {
    name=$1
    shift
    rm -f run.json
    quietly "$@"
    grep -q '^0\.739085$' "$work/log" || { cat "$work/log"; echo "$name: not the result"; exit 1; }
    "$build/bin/resmon" show run.json scopes >"$work/scopes"
    grep -q '^  solve  *1 ' "$work/scopes" && grep -q '^    step  *3 ' "$work/scopes" || {
        echo "$name: its scopes are not solve, and three times step in it:"
        cat "$work/scopes"
        exit 1
    }
    echo "ok: $name"
    used=$((used + 1))
}

cd "$work"
if has g++ C++; then
    for standard in 11 17 20; do
        quietly g++ -std=c++$standard -O2 -Wall -Wextra -Wshadow -Wold-style-cast -Werror -I"$sources/include" \
            "$examples/scopes.cpp" -L"$build" -lresmon -o cpp
        check "C++$standard" ./cpp
    done
    quietly g++ -std=c++11 -O1 -Wall -Wextra -Werror -pthread -I"$sources/include" "$here/bindings.cpp" -L"$build" -lresmon -o cpp
    quietly ./cpp
fi
if has gfortran Fortran; then
    quietly gfortran -std=f2008 -O2 -Wall -Wextra -Werror "$sources/bindings/fortran/resmon.f90" "$examples/scopes.f90" \
        -L"$build" -lresmon -o fortran
    check Fortran ./fortran
    quietly gfortran -std=f2008 -O1 -Wall -Wextra -Werror "$sources/bindings/fortran/resmon.f90" "$here/bindings.f90" \
        -L"$build" -lresmon -o fortran
    quietly ./fortran
    "$build/bin/resmon" show bindings.json scopes --json >"$work/scopes"
    for one in outer:0 outer/inner:0 outer/failing:1 outer/again:0 outer/below:0 after:0; do
        grep -q "\"path\":\"${one%:*}\",[^}]*\"calls\":1,[^}]*\"failed\":${one#*:}" "$work/scopes" || {
            echo "Fortran: no $one"
            cat "$work/scopes"
            exit 1
        }
    done
fi
if has rustc Rust; then
    quietly rustc -O -D warnings "$examples/scopes.rs" -L "$build" -l resmon -o rust
    check Rust env RESMON=json=run.json ./rust
fi
if has go Go; then
    quietly env GOFLAGS=-mod=mod GOCACHE="$work/go-cache" CGO_CFLAGS="-I$sources/include" CGO_LDFLAGS="-L$build -lresmon" \
        go build -o go "$examples/scopes.go"
    check Go ./go
fi
if has julia Julia; then
    check Julia env RESMON=json=run.json LD_PRELOAD="$build/libresmon.so.0" julia "$examples/scopes.jl"
fi
[ "$used" -gt 0 ] || exit 77
[ -z "$skipped" ] || echo "skipped, as the compiler is not installed:$skipped"
