#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `resmon run` takes of the programs that it observes, each beside the same without.

bench_command.py RESMON [--check]: --check fails past a target.  Runs alternate, so that both see the same machine.
Programs are compiled here, by cc.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from lines import end, figure, line, quieter, say_host, shown

RESMON = os.path.abspath(sys.argv[1])

# A fixed amount of work, and how long it took; of memory, all of which is new.
BURN = """
#include <stdio.h>
#include <time.h>
static volatile unsigned long sink;
static void burn(long rounds) { for (unsigned long i = 0; i < (unsigned long)rounds; i++) sink += i * i; }
int main(void) { struct timespec a, b; burn(10000000); clock_gettime(CLOCK_MONOTONIC, &a); burn(1500000000);
  clock_gettime(CLOCK_MONOTONIC, &b);
  printf("%.9f\\n", (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec)); }
"""
GROW = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
int main(void) { struct timespec a, b; size_t size = 1u << 28; clock_gettime(CLOCK_MONOTONIC, &a);
  for (int i = 0; i < 12; i++) { char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(at, size, MADV_NOHUGEPAGE); for (size_t k = 0; k < size; k += 4096) at[k] = 1; munmap(at, size); }
  clock_gettime(CLOCK_MONOTONIC, &b);
  printf("%.9f\\n", (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec)); }
"""
UNIT = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n" + "".join(
    f"double f{i}(double x) {{ char t[64]; snprintf(t, sizeof t, \"%f\", x); return sin(x) + {i}.0 + atof(t); }}\n"
    for i in range(40))


def wall(words):
    begin = time.perf_counter()
    subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def own(words):
    """As the program says it itself."""
    return float(subprocess.run(words, capture_output=True, check=True).stdout.split()[0])


def pair(seconds, words, options, repeat):
    """Alone and observed."""
    times = ([], [])
    for i in range(2 * repeat):
        times[i % 2].append(seconds([*([RESMON, "run", "-q", *options, "--"] if i % 2 else []), *words]))
    return quieter(times[0]), quieter(times[1])


def bench_short():
    alone, observed = pair(wall, ["sleep", "0.02"], [], 80)
    line("a command of 20 ms takes longer by", observed - alone, target=0.005)


def bench_memory():
    with subprocess.Popen([RESMON, "run", "-q", "--", "sleep", "2"]) as process:
        time.sleep(1)
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    mib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) / 1024
    figure("memory of the command itself", mib, "MiB", 8)


def bench_ratio(what, seconds, words, options, target=None):
    alone, observed = pair(seconds, words, options, 9)
    figure(what, observed / alone, "ratio", target, f"to {shown(alone)}")


def bench_make():
    names = [f"u{i}" for i in range(72)]
    for name in names:
        pathlib.Path(f"{name}.c").write_text(UNIT, encoding="ascii")
    pathlib.Path("Makefile").write_text(f"all: {' '.join(f'{name}.o' for name in names)}\n", encoding="ascii")
    bench_ratio("make -j2 of 72 files", wall, ["make", "-B", "-s", "-j2"], [], 1.01)
    bench_ratio("the same with --each", wall, ["make", "-B", "-s", "-j2"], ["--each"])


def bench_stacks():
    for name, text in (("burn", BURN), ("grow", GROW)):
        pathlib.Path(f"{name}.c").write_text(text, encoding="ascii")
        subprocess.run(["cc", "-O1", "-g", "-o", name, f"{name}.c"], check=True)
    bench_ratio("stacks of CPU time, 99 Hz", own, ["./burn"], ["--stacks=cpu", "--json=run.json"], 1.02)
    bench_ratio("stacks of growth of memory, each 64 faults", own, ["./grow"], ["--stacks=memory", "--json=run.json"], 1.05)


def main():
    say_host()
    with tempfile.TemporaryDirectory(prefix="resmon-bench-") as directory:
        os.chdir(directory)
        bench_short()
        bench_memory()
        bench_make()
        bench_stacks()
        os.chdir("/")
    end()


main()
