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
    "summary=yes" "record=/nonexistent/dir/run.rec" "=" "interval" "stacks=memory,folded=x" "lines=" \
    "lines=nobody,stacks=peak" "json=$work"; do
    out=$(RESMON="$bad" "$hello" 2>err) || fail "RESMON='$bad' harmed the program"
    [ "$out" = "$plain" ] || fail "RESMON='$bad' changed the program's output"
    [ "$(wc -l <err)" -eq 1 ] || fail "RESMON='$bad' is not one line of complaint"
    grep -q '^resmon: ' err || fail "RESMON='$bad': whose line is this?"
done

# A document that cannot be written in the end is worth a warning at once, and a summary.
if ! grep -q "built without JSON" err; then
    RESMON="json=later/run.json" "$hello" >out 2>err || fail "a missing directory harmed the program"
    grep -q 'cannot write to the directory' err && grep -q '^Phases' err || fail "the run was lost"
fi

# A reader that has gone, and a small limit for files, are no reason to die.
(RESMON=summary "$hello" 2>&1 >/dev/null; echo $? >code) | true
[ "$(cat code)" = 0 ] || fail "a closed pipe ended the program"
(ulimit -f 1; RESMON="record=limited.rec" "$hello" >out 2>err) || fail "RLIMIT_FSIZE ended the program"
grep -q 'File too large' err || fail "a file-size limit was not named"

# Descriptor 2 closed: the summary goes nowhere, and not into the next file that is opened.
[ "$(RESMON=summary "$hello" 2>&-)" = "$plain" ] || fail "without a standard error"

# A program that has a monitor of its own, with meters, works as ever.
if [ -x "$1/examples/wordindex" ]; then
    RESMON="scopes=wall,summary" "$1/examples/wordindex" /etc >out 2>err ||
        fail "the environment's monitor kept the scopes from the program's own"
fi

# Killed in the middle: the recording is the run.
RESMON="record=run.rec,interval=1ms,scopes=wall+rss" "$hello" >/dev/null &
pid=$!
while [ ! -s run.rec ]; do :; done
kill -STOP $pid # so that it lives through the next one
# Another program with the same path leaves it alone.
[ "$(RESMON="record=run.rec" "$hello" 2>err)" = "$plain" ] && grep -q 'still runs' err ||
    fail "a recording in use was taken"
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
