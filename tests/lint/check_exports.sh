#!/bin/sh
# SPDX-License-Identifier: MIT
# The symbols that the shared library exports are the functions and variables that headers declare, and the one by
# which runtimes of OpenMP find tools.
root=$1
library=$2
declared=$(sed -n 's/^\(extern \)\{0,1\}RESMON_API .*\b\(resmon_[a-z0-9_]*\)\((.*\|;\)$/\2/p' "$root"/include/resmon/*.h | sort -u)
exported=$(nm -D --defined-only "$library" | awk '{print $3}' | sed 's/@.*//' | grep -v '^RESMON_\|^ompt_start_tool$' | sort -u)
[ -n "$declared" ] || { echo "no declarations found"; exit 1; }
if [ "$declared" != "$exported" ]; then
    echo "declared but not exported, or the other way round:"
    printf '%s\n' "$declared" >/tmp/resmon-declared.$$
    printf '%s\n' "$exported" | diff /tmp/resmon-declared.$$ -
    rm -f /tmp/resmon-declared.$$
    exit 1
fi
echo "$(printf '%s\n' "$exported" | wc -l) symbols are exported as declared"
