#!/bin/sh
# SPDX-License-Identifier: MIT
# openmp.sh SOURCE BUILD: threads of LLVM's OpenMP are below the scope that their region began in, in programs
# with the shared and with the static library.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clang=$(command -v clang-14 || command -v clang) || {
    echo "skipped: clang is not installed (Debian: clang-14)"
    exit 77
}
printf '#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n' >"$work/try.c"
"$clang" -fopenmp -o "$work/try" "$work/try.c" 2>/dev/null && "$work/try" || {
    echo "skipped: $clang has no OpenMP here (Debian: libomp-14-dev)"
    exit 77
}
unset OMP_TOOL_LIBRARIES OMP_TOOL OMP_NUM_THREADS RESMON
"$clang" -O2 -std=c11 -fopenmp -Wall -Werror -I"$1/include" -o "$work/shared" "$here/openmp.c" -L"$2" -lresmon \
    -Wl,-rpath,"$2"
# As resmon.pc says, with what the library was built with.
static=$(sed -n 's/^Libs.private: //p' "$2/resmon.pc")
# shellcheck disable=SC2086 # lists of options
"$clang" -O2 -std=c11 -fopenmp -I"$1/include" -o "$work/static" "$here/openmp.c" "$2/libresmon.a" $static -ldl
for kind in shared static; do
    for times in 1 2 3; do
        "$work/$kind" || { echo "with the $kind library, run $times"; exit 1; }
    done
done
# Behind the runtime, where the dynamic linker finds the runtime's own symbol first.
"$clang" -O2 -std=c11 -fopenmp -I"$1/include" -o "$work/behind" "$here/openmp.c" -lomp -L"$2" -lresmon -Wl,-rpath,"$2"
"$work/behind" || { echo "with the library behind the runtime"; exit 1; }
# Who wants another tool gets that.
OMP_TOOL_LIBRARIES=/nonexistent.so "$work/shared" >"$work/out" && { echo "another tool was put aside"; exit 1; }
grep -q "no scope omp parallel" "$work/out"
echo "threads of OpenMP are below their regions"
