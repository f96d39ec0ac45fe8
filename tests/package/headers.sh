#!/bin/sh
# SPDX-License-Identifier: MIT
# Every public header compiles alone, and every macro is used, without a warning, as C11 and C17 and as
# C++11 to C++20, with gcc and, where it is installed, clang.
set -eu
include=$1/include
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strict="-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wundef -Werror -fsyntax-only -I$include"
count=0
check() {
    # shellcheck disable=SC2086
    "$@" || { echo "failed: $*"; exit 1; }
    count=$((count + 1))
}
# Whether a compiler has a standard: g++ 8 calls C++20 by another name.
knows() {
    echo | "$1" "-std=$2" -fsyntax-only -x "$3" - 2>/dev/null || { echo "not checked: $1 does not know $2"; return 1; }
}
for header in "$include"/resmon/*.h; do
    name=resmon/$(basename "$header")
    printf '#include <%s>\ntypedef int something;\n' "$name" >"$work/alone.c"
    cp "$work/alone.c" "$work/alone.cpp"
    check gcc -std=c11 $strict -Wstrict-prototypes "$work/alone.c"
    check g++ -std=c++11 $strict -Wold-style-cast "$work/alone.cpp"
done
for std in 11 17 20; do
    printf '#include <resmon/resmon.hpp>\n' >"$work/alone.cpp"
    check g++ -std=c++$std $strict -Wold-style-cast "$work/alone.cpp"
done
for disable in "" "-DRESMON_DISABLE"; do
    for std in c11 c17; do
        ! knows gcc $std c || check gcc -std=$std $strict $disable "$here/macros.c"
        ! command -v clang-14 >/dev/null || check clang-14 -std=$std $strict $disable "$here/macros.c"
    done
    for std in c++11 c++14 c++17 c++20; do
        ! knows g++ $std c++ || check g++ -std=$std $strict -Wold-style-cast $disable "$here/macros.cpp"
        ! command -v clang++-14 >/dev/null ||
            check clang++-14 -std=$std $strict -Wold-style-cast $disable "$here/macros.cpp"
    done
done
check gcc -std=c11 $strict "$here/pins.c"
# Masks of all bits, and of the machine's, grow with the bits.
for name in $(sed -n 's/^#define \(RESMON_[A-Z0-9_]*\) \{1,\}(\{0,1\}-\{0,1\}\(UINT64_C(\)\{0,1\}[0-9].*/\1/p' "$include"/resmon/*.h |
    grep -v '[A-Z]S_ALL$\|_METER_ALL$\|_PART_ALL$\|_DOMAIN_ALL$\|_DOMAIN_NODE$\|_VERSION_'); do
    grep -q "^PIN($name, " "$here/pins.c" || { echo "$name is not pinned in pins.c"; exit 1; }
done
# A program may have the structs of Arrow from another header.
cat >"$work/theirs.c" <<'END'
#define ARROW_C_DATA_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream { int theirs; };
#include <resmon/resmon.h>
typedef int something;
END
cp "$work/theirs.c" "$work/theirs.cpp"
check gcc -std=c11 $strict "$work/theirs.c"
check g++ -std=c++11 $strict "$work/theirs.cpp"
# Only literals name a scope.
printf '#include <resmon/scope.h>\nvoid f(const char *n);\nvoid f(const char *n) { RESMON_SCOPE(n); }\n' >"$work/name.c"
if gcc -std=c11 -fsyntax-only -I"$include" "$work/name.c" 2>/dev/null; then
    echo "RESMON_SCOPE takes a name that is no literal"
    exit 1
fi
echo "$count compilations without a warning"
