#!/bin/sh
# SPDX-License-Identifier: MIT
# What packaging/build makes, used: the command in a directory tree without a libc, the wheel in a new environment of each
# Python that is here, both on Debian 11, 12 and the next where nothing else is installed.
#
#   packages.sh SOURCES OUT
set -eu
sources=$1
out=$2
packages=$sources/build/packages
rm -rf "$out"
mkdir -p "$out"

# shellcheck source=tests/package/tree.sh
. "$sources/tests/package/tree.sh"

# ---- the command, alone ----------------------------------------------------------------------------

sh "$sources/packaging/build" command
version=$(sed -n 's/^project(resmon VERSION \([0-9.]*\).*/\1/p' "$sources/CMakeLists.txt")
tar -xzf "$packages/resmon-$version-$(uname -m)-linux.tar.gz" -C "$out"
mv "$out/resmon-$version-$(uname -m)-linux" "$out/alone"
cat >"$out/work.c" <<'EOF'
#include <stdlib.h>
#include <string.h>
#include <time.h>
static unsigned long sum;
__attribute__((noinline)) void burn(void) { for (int i = 0; i < 1000000; i++) sum = sum * 31 + (unsigned long)i; }
int main(void)
{
    char *kept = malloc(64 << 20);
    memset(kept, 1, 64 << 20);
    while (clock() < CLOCKS_PER_SEC)
        burn();
    return kept[sum % 1000] - 1;
}
EOF
"$packages/$(uname -m)-linux-musl/tools/cc" -O1 -g -static "$out/work.c" -o "$out/alone/work"
if [ "$(id -u)" != 0 ] || ! in_tree "$out/alone" /bin/resmon --version >"$out/version"; then
    skip "a directory tree of its own: it needs root, mount and chroot"
else
    in_tree "$out/alone" /bin/resmon run --stacks=cpu+memory -- /work >"$out/run" 2>&1
    expect 'hot .*burn' "$out/run"
    in_tree "$out/alone" /bin/resmon run --stacks=cpu+memory -o /run.json -- /work
    in_tree "$out/alone" /bin/resmon report --full /run.json >"$out/report"
    expect 'libdw' "$out/report" # there are no lines: it cannot load libdw
    in_tree "$out/alone" /bin/resmon export /run.json -o /run.folded
    expect 'main;burn' "$out/alone/run.folded"
    in_tree "$out/alone" /bin/resmon export /run.json -o /run.pb.gz
    in_tree "$out/alone" /bin/resmon report /run.json -o /run.html
    in_tree "$out/alone" /bin/resmon doctor >"$out/doctor" || [ $? = 1 ]
    in_tree "$out/alone" /bin/resmon bench -o /bench.json --runs=5 -- /bin/resmon --version >"$out/bench"
    in_tree "$out/alone" /bin/resmon diff /run.json /run.json >"$out/diff" || [ $? = 3 ]
    expect 'too few runs' "$out/diff"
    in_tree "$out/alone" /bin/resmon live --once /run.json >"$out/live"
fi

# ---- the wheel -------------------------------------------------------------------------------------

sh "$sources/packaging/build" wheel
wheel=$packages/resmon-$version-py3-none-manylinux_2_17_$(uname -m).whl
cat >"$out/work.py" <<'EOF'
import time
def burn():
    end = time.process_time() + 1
    while time.process_time() < end:
        sum(range(1000))
def keep():
    return bytearray(64 << 20)
kept = keep()
burn()
EOF
cat >"$out/inside.py" <<'EOF'
import sys, resmon
with resmon.Monitor(interval=0.01, stacks="cpu+memory") as monitor:
    with resmon.scope("sum"):
        total = sum(range(5_000_000))
    exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"))
monitor.save(sys.argv[2])
run = resmon.load(sys.argv[2])
assert run.scopes[0].path == "sum" and run.scopes[0].calls == 1, run.scopes
assert {"burn", "keep"} <= {one.name for kind in ("cpu", "memory") for one in run.functions(kind)}, run.functions()
assert len(sys.argv) > 3 or not any("unwind" in line for line in open("/proc/self/maps")), "the wheel has libunwind inside"
EOF
use_wheel() { # PYTHON NAME
    "$1" -m venv "$out/$2"
    "$out/$2/bin/pip" --quiet --disable-pip-version-check install --no-index --no-compile "$wheel"
    "$out/$2/bin/python" "$out/inside.py" "$out/work.py" "$out/$2.json"
    PATH=$out/$2/bin:$PATH resmon run --stacks=cpu+memory -- "$out/$2/bin/python" "$out/work.py" >"$out/$2.run" 2>&1
    expect 'hot .*burn' "$out/$2.run"
    expect 'grown .*keep' "$out/$2.run"
    head -c 4 "$out/$2/bin/resmon" | grep -q ELF || fail "the command of the wheel is a script"
    "$out/$2/bin/pip" --quiet --disable-pip-version-check uninstall -y resmon
    left=$(cd "$out/$2" && find . -path '*resmon*' ! -type d)
    [ -z "$left" ] || fail "left behind: $left"
    printf 'used the wheel with %s\n' "$("$1" --version)"
}
found=0
for minor in 3.9 3.10 3.11 3.12 3.13 3.14; do
    for python in "$HOME"/.pyenv/versions/$minor.*/bin/python$minor /usr/bin/python$minor; do
        if [ -x "$python" ] && [ ! -e "$out/$minor" ]; then
            use_wheel "$python" "$minor"
            found=$((found + 1))
        fi
    done
    [ -e "$out/$minor" ] || skip "Python $minor is not here"
done
[ "$found" -gt 0 ] || fail "no Python was found"

# What else is in it, and by whom.
"$packages/python/bin/python3" - "$wheel" <<'EOF'
import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    parts = {name.partition(".dist-info/")[2]: wheel.read(name) for name in wheel.namelist() if ".dist-info/" in name}
owners = {"": "libresmon", ".cjson": "Dave Gamble", ".libunwind": "Hewlett-Packard", ".uplot": "Leon Sorokin", ".zlib": "Mark Adler"}
for name, owner in owners.items():
    assert owner in parts[f"licenses/LICENSE{name}"].decode(), name
contents = json.loads(parts["sboms/resmon.spdx.json"])
assert {part["name"] for part in contents["packages"]} == {"resmon", "cJSON", "zlib", "libunwind", "uPlot"}, contents
EOF

# ---- the sources, for pip ----------------------------------------------------------------------------

sh "$sources/packaging/build" sdist
mkdir "$out/sdist"
"$packages/python/bin/python3" -m venv "$out/sdist/venv"
(cd "$out/sdist" && venv/bin/pip --quiet --disable-pip-version-check install --no-compile "$packages/resmon-$version.tar.gz" &&
    venv/bin/python "$out/inside.py" "$out/work.py" inside.json linked)
printf 'built and used the sources\n'

# ---- the wheel for musl ------------------------------------------------------------------------------

loader=/lib/ld-musl-$(uname -m).so.1
if [ ! -e "$loader" ]; then
    skip "the wheel for musl: there is no musl ($loader), and no Python for it anywhere"
else
    sh "$sources/packaging/build" wheel "$(uname -m)-linux-musl"
    "$packages/python/bin/python3" -m pip --quiet --disable-pip-version-check install --no-index --no-compile --only-binary=:all: \
        --platform "musllinux_1_2_$(uname -m)" --target "$out/musl" "$packages/resmon-$version-py3-none-musllinux_1_2_$(uname -m).whl"
    cat >"$out/scope.c" <<'EOF'
#include <resmon/scope.h>
int main(void)
{
    RESMON_SCOPE("counting");
    for (volatile long i = 0; i < 300000000; i++) {
    }
    return 0;
}
EOF
    "$packages/$(uname -m)-linux-musl/tools/cc" -O1 -g -I"$sources/include" "$out/scope.c" "$out/musl/resmon/libresmon.so.0" -o "$out/scope" \
        -Wl,-rpath,"$out/musl/resmon"
    readelf -l "$out/scope" | grep -q ld-musl || fail "the program is not linked with musl"
    (cd "$out" && RESMON=summary,stacks=cpu ./scope 2>scope.summary)
    expect counting "$out/scope.summary"
    expect 'hot .* main' "$out/scope.summary"
    printf 'used the library of the wheel for musl\n'
fi

# ---- Debian with a Python and nothing else: 11 (glibc 2.31, Python 3.9), 12, and the next (3.14) -----------

cat >"$out/waits.py" <<'EOF'
import asyncio, time
async def fetch():
    end = time.process_time() + 1
    while time.process_time() < end:
        sum(range(1000))
async def caller():
    await asyncio.create_task(fetch())
asyncio.run(caller())
EOF
cat >"$out/sends.py" <<'EOF'
import http.server, threading, resmon
got = []
class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        got.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
with resmon.Monitor(otlp=f"http://127.0.0.1:{server.server_address[1]}"):
    pass
assert not any("libcurl" in line for line in open("/proc/self/maps")), "this is no place without libcurl"
assert got and b"process.memory.usage" in got[-1], got
EOF
use_on() { # SUITE; a mirror of it may be older than Debian wants
    if ! mmdebstrap --quiet --variant=minbase --include=python3,python3-venv --aptopt='Acquire::Check-Valid-Until "false"' "$1" \
        "$out/$1" >"$out/mmdebstrap" 2>&1; then
        skip "Debian $1 cannot be installed: $(tail -1 "$out/mmdebstrap")"
        return
    fi
    cp "$wheel" "$out/work.py" "$out/inside.py" "$out/waits.py" "$out/sends.py" "$out/alone/bin/resmon" "$out/$1/tmp/"
    in_tree "$out/$1" sh -ec 'cd /tmp && python3 -m venv v && v/bin/pip --quiet install --no-index resmon-*.whl &&
        v/bin/python inside.py work.py inside.json && v/bin/resmon run --stacks=cpu+memory -- v/bin/python work.py &&
        ./resmon run --stacks=cpu -- v/bin/python work.py && v/bin/python sends.py &&
        v/bin/resmon run --stacks=cpu -o waits.json -- v/bin/python waits.py && v/bin/resmon export waits.json -o waits.folded &&
        v/bin/python --version' >"$out/$1.run" 2>&1 || {
        cat "$out/$1.run"
        fail "Debian $1"
    }
    expect 'hot .*burn' "$out/$1.run"
    expect 'grown .*keep' "$out/$1.run"
    # From 3.14 on, who waits for a task is its caller.
    ! grep -qE '^Python 3\.1[4-9]' "$out/$1.run" || expect 'caller;fetch' "$out/$1/tmp/waits.folded"
    printf 'used the wheel and the command on Debian %s: %s\n' "$1" "$(tail -1 "$out/$1.run")"
}
if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null; then
    skip "Debian by itself: it needs root and mmdebstrap"
else
    for suite in bullseye bookworm sid; do
        use_on "$suite"
    done
fi
