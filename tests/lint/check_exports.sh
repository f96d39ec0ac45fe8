#!/bin/sh
# SPDX-License-Identifier: MIT
# The two shared libraries export together the functions and variables that headers declare, each once, and the recorder
# the one by which runtimes of OpenMP find tools.  Of its inside it exports what the reader uses and nothing else.
root=$1
recorder=$2
reader=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# compare WHAT: the files "wanted" and "found".
compare() {
    [ -s "$work/wanted" ] || { echo "$1: none found"; exit 1; }
    diff "$work/wanted" "$work/found" || { echo "$1: < is wanted, > is there"; exit 1; }
    echo "$(wc -l <"$work/found") $1"
}

symbols() { # as nm finds them
    nm -D "$@" | sed -n 's/^.* \([A-Za-z]\) \([A-Za-z_0-9]*\).*$/\2/p'
}

sed -n 's/^\(extern \)\{0,1\}RESMON_API .*\b\(resmon_[a-z0-9_]*\)\((.*\|;\)$/\2/p' "$root"/include/resmon/*.h | sort >"$work/wanted"
{ symbols --defined-only "$recorder"; symbols --defined-only "$reader"; } | grep -v '^RESMON_\|^ompt_start_tool$\|^rm_' | sort >"$work/found"
compare "public symbols are exported as declared"

{ nm -D --undefined-only "$reader" | sed -n 's/^ *U \(rm_[a-z0-9_]*\).*$/\1/p'; echo rm_reader_functions; } | sort >"$work/wanted"
{ symbols --defined-only "$recorder"; symbols --defined-only "$reader"; } | grep '^rm_' | sort >"$work/found"
compare "private symbols (RM_SHARED) are exported as used"
