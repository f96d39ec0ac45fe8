#!/bin/sh
# SPDX-License-Identifier: MIT
# The command that compares a command with idling, and what it does with commands that fail.
set -eu
resmon=$1/bin/resmon
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
    echo "$*"
    cat out err
    exit 1
}

ends_with() { # code, argument...
    expected=$1
    shift
    code=0
    "$resmon" baseline "$@" >out 2>err || code=$?
    [ "$code" -eq "$expected" ] || fail "baseline $*: code $code instead of $expected"
}

ends_with 0 --rounds 2 --pause 0 --country SE sleep 0.2
grep -q '^  difference (A - B) ' out && grep -q '(Sweden), PUE' out && grep -q 'between 2 runs of each' out ||
    fail "no table"
grep -q '^The difference of .* is within the noise\|^The work consumed ' out || fail "no statement"
ends_with 0 --rounds 1 --pause 0 -- sh -c 'echo "$1"; sleep 0.15' sh --not-ours
grep -q '^--not-ours$' out && grep -q '^No interval can be given: ' out || fail "a command of its own words"

ends_with 7 --rounds 3 --pause 0 sh -c 'sleep 0.1; exit 7'
[ ! -s out ] && [ "$(grep -c 'running sh' err)" -eq 1 ] || fail "it went on after a failure"
ends_with 143 --pause 0 sh -c 'kill $$'
ends_with 127 --pause 0 ./nonexistent
# A machine that is busy may once take long for it.
for _ in 1 2 3 4 5 6 7 8 9 10; do
    code=0
    "$resmon" baseline --pause 0 --rounds 1 true >out 2>err || code=$?
    [ $code -eq 0 ] || break
done
[ $code -eq 125 ] && grep -q 'too short to compare' err || fail "nothing was said of a short command"
for bad in "" "--rounds" "--rounds 0 true" "--rounds 1x true" "--pause -1 true" "--moon 1 true" "--rounds 2"; do
    # shellcheck disable=SC2086
    ends_with 125 $bad
    grep -q "resmon help baseline" err || fail "no usage for '$bad'"
done
echo "table, statement and exit codes are as they should be"
