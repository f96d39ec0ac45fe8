#!/bin/sh
# SPDX-License-Identifier: MIT
# The pinned clang-format decides layout.
cd "$1" || exit 1
command -v clang-format-14 >/dev/null || { echo "skipped: clang-format-14 is not installed (Debian: clang-format-14)"; exit 77; }
clang-format-14 --dry-run --Werror lib/*/*/*.[ch] include/resmon/*.h examples/*.c bindings/cli/*.[ch] tests/*/*.[ch]
