#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the variable RESMON adds to a program of 20 ms that libresmon is in, beside the same without it; and, as the floor of
that, what a bare thread adds that makes the same system calls on files, at the same two times.

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
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>
#define BEGIN
{WORK}
struct call {{ char what; int fd, flags; long offset; char path[200]; }};
static struct call calls[4096]; static int fds[4096], count, root; static sem_t opened, ends; static char bytes[65536];
static void make(const struct call *c) {{
  struct stat info; struct statfs system; int *fd = &fds[c->fd];
  if (c->what == 'o') *fd = openat(root, c->path, c->flags);
  if (c->what == 'p') (void)!pread(*fd, bytes, 16384, c->offset);
  if (c->what == 'c') close(*fd);
  if (c->what == 'f') (void)!fstat(*fd, &info);
  if (c->what == 's') (void)!fstatat(root, c->path, &info, c->flags);
  if (c->what == 'l') (void)!readlinkat(root, c->path, bytes, 256);
  if (c->what == 'd') (void)!syscall(SYS_getdents64, *fd, bytes, 4096);
  if (c->what == 'y') (void)!fstatfs(*fd, &system);
  if (c->what == 't') {{ int file = open("written.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), room = open(".", O_RDONLY);
    for (long left = c->offset; left > 0; left -= sizeof bytes)
      (void)!write(file, bytes, left < (long)sizeof bytes ? (size_t)left : sizeof bytes);
    fsync(file); close(file); rename("written.tmp", "written"); fsync(room); close(room); }} }}
static void *watch(void *x) {{ int i = 0;
  syscall(SYS_close_range, 0U, ~0U, 2U); root = dup3(open("/", O_PATH), 100, O_CLOEXEC);
  for (; i < count && calls[i].what != 'w'; i++) make(&calls[i]);
  sem_post(&opened); sem_wait(&ends);
  for (; i < count; i++) make(&calls[i]);
  return x; }}
int main(int argc, char **argv) {{ pthread_t thread; FILE *list = fopen(argv[argc - 1], "r"); struct call *c = calls; if (list == NULL) return 1;
  while (count < 4096 && fscanf(list, " %c %d %d %ld %199s", &c->what, &c->fd, &c->flags, &c->offset, c->path) == 5) c++, count++;
  sem_init(&opened, 0, 0); sem_init(&ends, 0, 0); pthread_create(&thread, NULL, watch, NULL);
  sem_wait(&opened); work(); sem_post(&ends); pthread_join(thread, NULL); return 0; }}
"""

FLOORS = (("files", ""), ("files-and-document", ", and writes a document to the disk (fsync)"))
CASES = (  # what it is called, what RESMON says, and by how much longer it may take
    ("a summary", "summary", 0.0015),
    ("a document", "json=run.json", 0.0025),
    ("stacks, of which nothing is written", "stacks=cpu", 0.008),
    ("stacks and a document", "stacks=cpu,json=run.json", None),
)


def wall(value, *command):
    environment = {name: text for name, text in os.environ.items() if name != "RESMON"}
    begin = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                   env={**environment, **({"RESMON": value} if value else {})})
    return time.perf_counter() - begin


def build(name, source):
    """With libresmon, which the floor leaves alone: loading it is in none of the figures."""
    pathlib.Path(f"{name}.c").write_text(source, encoding="ascii")
    subprocess.run(["cc", "-O1", "-g", "-pthread", f"{name}.c", f"-I{INCLUDE}", "-Wl,--no-as-needed", LIBRARY,
                    f"-Wl,-rpath,{os.path.dirname(LIBRARY)}", "-o", name], check=True)


FLAGS = {"": 0, "0": 0, "AT_SYMLINK_NOFOLLOW": 0x100, "AT_EMPTY_PATH": 0x1000,
         **{name: getattr(os, name) for name in ("O_RDONLY", "O_CLOEXEC", "O_DIRECTORY", "O_NOCTTY", "O_NONBLOCK", "O_PATH")}}
CALLS = (  # what strace shows of a system call, and how the floor is told to make it
    (r'openat\((?:\d+|AT_FDCWD), "([^"]+)", ([A-Z_|]+)\) += (-?\d+)', lambda path, flags, fd: ("o", fd, flags, 0, path)),
    (r"pread64\((\d+), .*, (\d+)\) += \d+", lambda fd, offset: ("p", fd, "", offset, "-")),
    (r"close\((\d+)\)", lambda fd: ("c", fd, "", 0, "-")),
    (r'newfstatat\((\d+), ""', lambda fd: ("f", fd, "", 0, "-")),
    (r'newfstatat\((?:\d+|AT_FDCWD), "([^"]+)", .*, ([A-Z_|0]+)\) +=', lambda path, flags: ("s", 0, flags, 0, path)),
    (r'readlinkat\(\d+, "([^"]+)"', lambda path: ("l", 0, "", 0, path)),
    (r"getdents64\((\d+),", lambda fd: ("d", fd, "", 0, "-")),
    (r"fstatfs\((\d+),", lambda fd: ("y", fd, "", 0, "-")),
    (r"futex\(.*FUTEX_WAIT_PRIVATE, \d+, \{tv_sec", lambda: ("w", 0, "", 0, "-")),
)


def call_of(text):
    """A system call of the sampling thread as the floor is told; None: it is not about files."""
    for pattern, told in CALLS:
        found = re.match(pattern, text)
        if found:
            what, fd, flags, offset, path = told(*found.groups())
            number = sum(FLAGS[flag] for flag in flags.split("|"))
            path = re.sub(r"^proc/\d+/task/\d+", "proc/thread-self", path)
            path = re.sub(r"^proc/\d+", "proc/self", path)
            return f"{what} {max(int(fd), 0) if what != 'o' or int(fd) >= 0 else 4095} {number} {offset} {path}"
    return None


def calls_of_the_library():
    """Those on files that its sampling thread makes, as strace sees them; none: there is no strace, or no descriptors of
    its own (Linux 5.9)."""
    if shutil.which("strace") is None:
        return []
    subprocess.run(["strace", "-ff", "-qq", "-o", "thread", "./program"], stderr=subprocess.DEVNULL, check=True,
                   env={**os.environ, "RESMON": "summary"})
    threads = [path.read_text(encoding="utf-8") for path in pathlib.Path(".").glob("thread.*")]
    ours = next((text for text in threads if "CLOSE_RANGE_UNSHARE" in text), "")
    calls = [call_of(text) for text in ours.partition("CLOSE_RANGE_UNSHARE")[2].splitlines()[1:]]
    return [call for call in calls if call is not None]


def main():
    with tempfile.TemporaryDirectory(prefix="resmon-short-") as room:
        os.chdir(room)
        build("program", PROGRAM)
        build("floor", FLOOR)
        calls = calls_of_the_library()
        pathlib.Path("files").write_text("".join(f"{call}\n" for call in calls), encoding="ascii")
        wall("json=run.json", "./program")
        written = f"t 0 0 {os.path.getsize('run.json')} -"
        pathlib.Path("files-and-document").write_text("".join(f"{call}\n" for call in [*calls, written]), encoding="ascii")
        cases = {"": ["./program"], **{value: ["./program"] for _, value, _ in CASES},
                 **({f"floor {i}": ["./floor", name] for i, (name, _) in enumerate(FLOORS)} if calls else {})}
        times = {case: [] for case in cases}
        for _ in range(RUNS):
            for case, command in cases.items():
                times[case].append(wall("" if case.startswith("floor") else case, *command))
        alone = quieter(times[""])
        for i, (_, what) in enumerate(FLOORS if calls else ()):
            line(f"a program of 20 ms takes longer by, for a bare thread that makes the same {len(calls)} system calls on files"
                 f"{what}", quieter(times[f"floor {i}"]) - alone)
        if not calls:
            print("not measured here: the floor, for want of strace or of close_range(2)")
        for what, value, target in CASES:
            line(f"a program of 20 ms takes longer by, for {what}", quieter(times[value]) - alone, target=target)


say_host()
main()
end()
