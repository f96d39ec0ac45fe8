#!/bin/sh
# SPDX-License-Identifier: MIT
# Four tasks of one Slurm job write a run document each:  sh test_four_nodes.sh SOURCE BUILD
set -eu
source=$1
wordindex=$2/examples/wordindex
servers=$source/tests/servers
[ -x "$wordindex" ] || { echo "skipped: the example wordindex is not built"; exit 77; }
case ${1}${2} in /*/*) ;; *) echo "usage: test_four_nodes.sh SOURCE BUILD, absolute"; exit 2 ;; esac
if [ "${3:-}" != --inside ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    code=0
    sh "$servers/slurm_cluster.sh" sh "$0" "$source" "$2" --inside "$work" || code=$?
    exit $code
fi

work=$4
cp -r "$source/lib/common/base" "$work/corpus"
# The index and the document of the program's own monitor are of no interest, but must not collide.
# The example leaves its memory to the kernel; that is no leak.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
# shellcheck disable=SC2016 # for each task's shell
sh "$servers/four_nodes.sh" "json=run-%p.json" "$work" \
    sh -c 'exec "$0" corpus "words.$SLURM_PROCID.gz" "own.$SLURM_PROCID.json"' "$wordindex"
"${RESMON_PYTHON:?names the interpreter}" - "$work" "$source/lib/common/format/resmon-run.schema.json" <<'END'
import json
import pathlib
import sys

paths = sorted(pathlib.Path(sys.argv[1]).glob("run-*.json"))
assert len(paths) == 4, paths
documents = [json.loads(path.read_text()) for path in paths]
assert len({document["run"]["pid"] for document in documents}) == 4
try:
    import jsonschema
except ImportError:
    print("not checked here: the documents against the schema (python3-jsonschema is not installed)")
else:
    schema = json.loads(pathlib.Path(sys.argv[2]).read_text())
    for document in documents:
        jsonschema.validate(document, schema)
END

# And when something fails, it says where.
# shellcheck disable=SC2016
if said=$(sh "$servers/four_nodes.sh" "" "$work" sh -c 'echo here; exit $((SLURM_PROCID * 3))' 2>&1); then
    echo "three tasks failed, and nobody cared"
    exit 1
fi
for expected in "task 1: exit code 3" "task 2: exit code 6" "task 3: exit code 9" here; do
    echo "$said" | grep -qxF "$expected" || { echo "no '$expected' in: $said"; exit 1; }
done
echo "four nodes, four documents"
