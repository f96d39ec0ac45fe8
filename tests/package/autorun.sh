#!/bin/sh
# SPDX-License-Identifier: MIT
# The environment variable RESMON on an annotated program that does not know about it.
set -eu
hello=$1/examples/hello
recover=$1/examples/recover
[ -x "$hello" ] || { echo "skipped: the examples are not built"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fail() {
    echo "$*"
    [ ! -s err ] || cat err
    exit 1
}

plain=$("$hello")
[ "$(RESMON=summary "$hello" 2>err)" = "$plain" ] || fail "the program's output changed"
grep -q '^Phases' err && grep -q 'make_numbers' err || fail "no summary"

RESMON="json=run-%p.json,interval=10ms,scopes=wall+cpu+rss" "$hello" >/dev/null 2>err
[ ! -s err ] || grep -q "built without JSON" err || fail "it printed without being asked to"

for bad in nonsense json= interval=0 interval=1parsec scopes=wall+magic domains=moon rows=3 "json=%z" \
    "summary=yes" "record=/nonexistent/dir/run.rec" "=" "interval" "json=/nonexistent/dir/run.json"; do
    out=$(RESMON="$bad" "$hello" 2>err) || fail "RESMON='$bad' harmed the program"
    [ "$out" = "$plain" ] || fail "RESMON='$bad' changed the program's output"
    [ "$(wc -l <err)" -eq 1 ] || fail "RESMON='$bad' is not one line of complaint"
    grep -q '^resmon: ' err || fail "RESMON='$bad': whose line is this?"
done

# Killed in the middle: the recording is the run.
RESMON="record=run.rec,interval=1ms,scopes=wall+rss" "$hello" >/dev/null &
pid=$!
while [ ! -s run.rec ]; do :; done
kill -9 $pid
wait $pid 2>/dev/null || true
"$recover" run.rec >out 2>err || fail "the recording cannot be read"
grep -q 'interrupted' out || fail "the run does not say that it was interrupted"
[ "$(stat -c %a run.rec)" = 600 ] || fail "others may read the recording"

# A full disk is an error at start, and the program runs on.
if [ "$(id -u)" -eq 0 ] && mkdir full && mount -t tmpfs -o size=64k tmpfs full 2>/dev/null; then
    RESMON="record=full/run.rec" "$hello" >out 2>err || { umount full; fail "a full disk stopped it"; }
    umount full
    grep -q 'No space left' err || fail "a full disk was not named"
else
    echo "not checked here: a full disk (needs root to mount a small one)"
fi
echo "RESMON works and complains as it should"
