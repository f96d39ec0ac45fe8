#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the variable RESMON adds to a program of 20 ms that libresmon is in, beside the same without it; and, as the floor of
that, what a thread adds that opens and reads the same files, and reads them again at the end.

bench_short.py LIBRARY INCLUDE [--check]: LIBRARY is a libresmon.so, INCLUDE the directory of its headers; --check fails
past a target.  Runs alternate, so that all see the same machine.  The program is compiled here, by cc.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from lines import end, line, quieter, say_host

LIBRARY, INCLUDE = (os.path.abspath(path) for path in sys.argv[1:3])
RUNS = 40

WORK = """
#include <time.h>
static volatile unsigned long sink;
static void work(void) { BEGIN struct timespec a, b; clock_gettime(CLOCK_MONOTONIC, &a);
  do { for (int i = 0; i < 1000; i++) sink += (unsigned long)i; clock_gettime(CLOCK_MONOTONIC, &b);
  } while ((b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec < 20000000L); }
"""
PROGRAM = f"""
#include <resmon/resmon.h>
#define BEGIN RESMON_FUNCTION();
{WORK}
int main(void) {{ work(); return 0; }}
"""
FLOOR = f"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#define BEGIN
{WORK}
static char paths[4096][128]; static int fds[4096], count; static sem_t opened, ends;
static void read_all(void) {{ static char bytes[65536]; for (int i = 0; i < count; i++) (void)!pread(fds[i], bytes, sizeof bytes, 0); }}
static void *watch(void *x) {{ for (int i = 0; i < count; i++) fds[i] = open(paths[i], O_RDONLY | O_CLOEXEC);
  read_all(); sem_post(&opened); sem_wait(&ends); read_all(); return x; }}
int main(void) {{ pthread_t thread; FILE *list = fopen("files", "r"); if (list == NULL) return 1;
  while (count < 4096 && fgets(paths[count], 128, list)) paths[count][strcspn(paths[count], "\\n")] = 0, count++;
  sem_init(&opened, 0, 0); sem_init(&ends, 0, 0); pthread_create(&thread, NULL, watch, NULL);
  sem_wait(&opened); work(); sem_post(&ends); pthread_join(thread, NULL); return 0; }}
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


def build(name, source, *words):
    pathlib.Path(f"{name}.c").write_text(source, encoding="ascii")
    subprocess.run(["cc", "-O1", "-g", "-pthread", f"{name}.c", *words, "-o", name], check=True)


def files_of_the_library():
    """Those that it opens below its root, as strace sees them; none: there is no strace."""
    if shutil.which("strace") is None:
        return []
    subprocess.run(["strace", "-f", "-qq", "-e", "trace=openat", "-o", "calls", "./program"], stderr=subprocess.DEVNULL, check=True,
                   env={**os.environ, "RESMON": "summary"})
    found = re.findall(r'openat\(\d+, "([^"]+)", [^)]*\) += \d', pathlib.Path("calls").read_text(encoding="ascii"))
    return ["/" + re.sub(r"^proc/\d+", "proc/self", path) for path in found if path.startswith(("proc/", "sys/"))]


def main():
    with tempfile.TemporaryDirectory(prefix="resmon-short-") as room:
        os.chdir(room)
        build("program", PROGRAM, f"-I{INCLUDE}", LIBRARY, f"-Wl,-rpath,{os.path.dirname(LIBRARY)}")
        build("floor", FLOOR)
        files = files_of_the_library()
        pathlib.Path("files").write_text("".join(f"{file}\n" for file in files), encoding="ascii")
        times = {value: [] for value in ("", *(value for _, value, _ in CASES))}
        floor = []
        for _ in range(RUNS):
            for value, taken in times.items():
                taken.append(wall("./program", value))
            floor.append(wall("./floor", ""))
        alone = quieter(times[""])
        if files:
            line(f"a program of 20 ms takes longer by, for a bare thread that opens and reads {len(files)} files twice",
                 quieter(floor) - alone)
        else:
            print("not measured here: the floor, for want of strace")
        for what, value, target in CASES:
            line(f"a program of 20 ms takes longer by, for {what}", quieter(times[value]) - alone, target=target)


say_host()
main()
end()
