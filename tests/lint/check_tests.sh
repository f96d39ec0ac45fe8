#!/bin/sh
# SPDX-License-Identifier: MIT
# check_tests.sh TESTS PROGRAM: what must be red is red, by its name: a file without tests, a process that is left
# behind, a test that crashes or fails.
set -u
tests=$1
program=$2
room="$tests/clean_room.sh"
failed=0

# expect STATUS WORDS COMMAND...: how it ends, and what it says.
expect() {
    status=$1
    words=$2
    shift 2
    out=$("$@" 2>&1)
    got=$?
    case $got:$out in
    "$status:"*"$words"*) ;;
    *) failed=1 && printf '%s\n%s\nexit status %s, not %s with "%s"\n' "$*" "$out" "$got" "$status" "$words" ;;
    esac
}

expect 1 "no test is registered in test_nothing.c" "$program" test_nothing
expect 1 "no test is registered in test_series.c for no*such" "$program" test_series "no*such"
expect 2 "test_series.c" "$program"
expect 0 "" sh "$room" -- true
expect 3 "" sh "$room" -- sh -c 'exit 3'
expect 139 "" sh "$room" -- sh -c 'kill -SEGV $$'
# After its exec, during which its environment cannot be seen.
expect 1 "left a process behind" sh "$room" -- sh -c 'sleep 60 & sleep 0.2'
expect 1 "sleep 60" sh "$room" -- setsid sh -c '(sleep 60 &) >/dev/null; sleep 0.2'
exit $failed
