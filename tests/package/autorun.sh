#!/bin/sh
# SPDX-License-Identifier: MIT
# The environment variable RESMON on an annotated program that does not know about it.
set -eu
hello=$1/examples/hello
resmon=$1/bin/resmon
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
grep -q '^hello took ' err && grep -q 'make_numbers' err || fail "no summary"
[ "$(wc -l <err)" -le 25 ] && ! grep -q '.\{101\}' err || fail "the summary is longer or wider than a page"

RESMON="json=run-%p.json,interval=10ms,scopes=wall+cpu+rss" "$hello" >/dev/null 2>err
[ ! -s err ] || fail "it printed without being asked to"

for bad in nonsense json= interval=0 interval=1parsec scopes=wall+magic domains=moon rows=3 "json=%z" \
    "summary=yes" "record=/nonexistent/dir/run.rec" "=" "interval" "stacks=memory,folded=x" "lines=" \
    "lines=nobody,stacks=peak" "json=$work"; do
    out=$(RESMON="$bad" "$hello" 2>err) || fail "RESMON='$bad' harmed the program"
    [ "$out" = "$plain" ] || fail "RESMON='$bad' changed the program's output"
    [ "$(grep -c '^resmon: ' err)" -eq 1 ] || fail "RESMON='$bad' is not one line of complaint"
done

# One bad key costs itself alone: what is left runs, and where that tells nothing, a summary does.
RESMON="bogus=3,interval=7ms,jsno=a.json,json=b.json" "$hello" >out 2>err || fail "two bad keys harmed the program"
[ "$(grep -c '; it is left out$' err)" -eq 2 ] && grep -q "did you mean 'json'" err || fail "not two complaints"
[ "$(wc -l <err)" -eq 2 ] && grep -q '"interval_ms":7' b.json && [ ! -e a.json ] || fail "the good keys did not run"
RESMON='name="x"y,json=c.json' "$hello" >out 2>err || fail "a quote harmed the program"
[ "$(wc -l <err)" -eq 1 ] && [ -s c.json ] || fail "what stands behind a wrong quote is lost"
RESMON='name="x,json=d.json' "$hello" >out 2>err || fail "an open quote harmed the program"
[ "$(wc -l <err)" -eq 1 ] && [ -s d.json ] || fail "what stands behind an open quote is lost"
for late in pid=2147483647 fs_root=/nonexistent rows=1048576 "record=/nonexistent/dir/run.rec"; do
    RESMON="$late,json=late.json" "$hello" >out 2>err || fail "RESMON='$late' harmed the program"
    [ "$(grep -c "^resmon: the variable RESMON: ${late%%=*}: .*; it is left out$" err)" -eq 1 ] && [ -s late.json ] ||
        fail "RESMON='$late' costs the run"
    rm late.json
done
RESMON="record=one.rec,json=one.rec,trace=one.json" "$hello" >out 2>err || fail "two of one file harmed the program"
[ "$(grep -c 'one.rec is written by record already: .*; it is left out$' err)" -eq 1 ] && "$resmon" recover one.rec >out ||
    fail "two wrote one file"
RESMON="interval=7parsec" "$hello" >out 2>err || fail "a bad key harmed the program"
grep -q '^hello took ' err || fail "nothing is left of it"
RESMON="stack_hz=10,summary" "$hello" >out 2>err || fail "a key without effect harmed the program"
grep -q '^resmon: .*stack_hz has no effect without stacks' err || fail "a key without effect is not said"

# All keys, and nothing else.
[ "$(RESMON=help "$hello" 2>err)" = "$plain" ] || fail "help changed the program's output"
grep -q '^  interval=DURATION$' err && grep -q '^    json.interval=DURATION$' err || fail "help does not help"
! grep -q '^hello took ' err || fail "help observed the program"
RESMON='csv="a, \"b\".csv",csv.whole_run,name="x, y",summary' "$hello" >/dev/null 2>err
[ -s 'a, "b".csv' ] && grep -q "x, y" err || fail "values in quotes"

# A document that cannot be written in the end is worth a warning at once, and a summary.
RESMON="json=later/run.json" "$hello" >out 2>err || fail "a missing directory harmed the program"
grep -q 'cannot write to the directory' err && grep -q '^hello took ' err || fail "the run was lost"

# A reader that has gone, and a small limit for files, are no reason to die.
(RESMON=summary "$hello" 2>&1 >/dev/null; echo $? >code) | true
[ "$(cat code)" = 0 ] || fail "a closed pipe ended the program"
(ulimit -f 1; RESMON="record=limited.rec" "$hello" >out 2>err) || fail "RLIMIT_FSIZE ended the program"
grep -q 'File too large' err || fail "a file-size limit was not named"

# Descriptor 2 closed: the summary goes nowhere, and not into the next file that is opened.
[ "$(RESMON=summary "$hello" 2>&-)" = "$plain" ] || fail "without a standard error"

# How it ended, also of a program that is linked with the shared library and has no scope.
if [ -x "$1/examples/wordindex" ]; then
    if RESMON="record=failed.rec" "$1/examples/wordindex" /nonexistent >/dev/null 2>&1; then fail "an index of nothing"; fi
    "$resmon" recover failed.rec >out 2>err || fail "no recording"
    grep -q '^wordindex failed after' out && grep -q '^  failed: exit status ' out ||
        fail "the exit status is not known"
fi
# The command itself is not observed by what is meant for the command that it runs.
RESMON="summary" "$resmon" run -q true 2>err && [ ! -s err ] || fail "RESMON observes the command resmon"

# A program that has a monitor of its own, with meters, works as ever.
if [ -x "$1/examples/wordindex" ]; then
    mkdir corpus
    printf 'some words\nand more words\n' >corpus/text
    RESMON="scopes=wall,summary" "$1/examples/wordindex" corpus >out 2>err ||
        fail "the environment's monitor kept the scopes from the program's own"
fi

# Killed in the middle: the recording is the run.
begin_and_stop() { # so that it lives through the next one; may be too late
    rm -f run.rec
    RESMON="record=run.rec,interval=1ms,scopes=wall+rss" "$hello" >/dev/null &
    pid=$!
    while [ ! -s run.rec ]; do :; done
    kill -STOP $pid
    until grep -q '^State:.[TZ]' /proc/$pid/status; do :; done
    grep -q '^State:.T' /proc/$pid/status
}
until begin_and_stop; do wait $pid; done
# Another program with the same path leaves it alone.
[ "$(RESMON="record=run.rec" "$hello" 2>err)" = "$plain" ] && grep -q 'still runs' err ||
    fail "a recording in use was taken"
kill -9 $pid
wait $pid 2>/dev/null || true
"$resmon" recover run.rec >out 2>err || fail "the recording cannot be read"
grep -qE '^hello ended in an unknown way (after|before its second sample)' out || fail "the run does not say that it was interrupted"
[ "$(stat -c %a run.rec)" = 600 ] || fail "others may read the recording"

# A full disk is an error at start, and the program runs on.
small_disk='mount -t tmpfs -o size=64k tmpfs full && exec "$0"'
if [ "$(id -u)" -eq 0 ] && mkdir full && unshare -m sh -c "$small_disk" true 2>/dev/null; then
    RESMON="record=full/run.rec" unshare -m sh -c "$small_disk" "$hello" >out 2>err || fail "a full disk stopped it"
    grep -q 'No space left' err || fail "a full disk was not named"
else
    echo "not checked here: a full disk (needs root to mount a small one)"
fi
echo "RESMON works and complains as it should"
