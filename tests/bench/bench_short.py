#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the variable RESMON adds to a program of 20 ms that libresmon is in, beside the same without it.

bench_short.py LIBRARY INCLUDE [--check]: LIBRARY is a libresmon.so, INCLUDE the directory of its headers; --check fails
past a target.  Runs alternate, so that all see the same machine.  The program is compiled here, by cc.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from lines import end, line, quieter, say_host

LIBRARY, INCLUDE = (os.path.abspath(path) for path in sys.argv[1:3])
RUNS = 40

PROGRAM = """
#include <resmon/resmon.h>
#include <time.h>
static volatile unsigned long sink;
static void work(void) { RESMON_FUNCTION(); struct timespec a, b; clock_gettime(CLOCK_MONOTONIC, &a);
  do { for (int i = 0; i < 1000; i++) sink += (unsigned long)i; clock_gettime(CLOCK_MONOTONIC, &b);
  } while ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec < 20000000L); }
int main(void) { work(); return 0; }
"""

CASES = (  # what it is called, what RESMON says, and by how much longer it may take
    ("a summary", "summary", 0.0015),
    ("a document", "json=run.json", 0.0025),
    ("stacks, of which nothing is written", "stacks=cpu", 0.008),
    ("stacks and a document", "stacks=cpu,json=run.json", None),
)


def wall(program, value):
    environment = {name: text for name, text in os.environ.items() if name != "RESMON"}
    begin = time.perf_counter()
    subprocess.run([program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                   env={**environment, **({"RESMON": value} if value else {})})
    return time.perf_counter() - begin


def main():
    with tempfile.TemporaryDirectory(prefix="resmon-short-") as room:
        os.chdir(room)
        pathlib.Path("program.c").write_text(PROGRAM, encoding="ascii")
        subprocess.run(["cc", "-O1", "-g", f"-I{INCLUDE}", "program.c", LIBRARY, f"-Wl,-rpath,{os.path.dirname(LIBRARY)}", "-o", "program"],
                       check=True)
        times = {value: [] for value in ("", *(value for _, value, _ in CASES))}
        for _ in range(RUNS):
            for value, taken in times.items():
                taken.append(wall("./program", value))
        alone = quieter(times[""])
        for what, value, target in CASES:
            line(f"a program of 20 ms takes longer by, for {what}", quieter(times[value]) - alone, target=target)


say_host()
main()
end()
