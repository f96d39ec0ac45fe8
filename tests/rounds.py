#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs tests again and again, beside a busy machine that stalls: a red run is to mean a defect, and no chance.

rounds.py [--rounds N] [--busy LOOPS] [--stalls SECONDS] -- CTEST-ARGUMENTS...

--busy: programs that take a CPU each. --stalls: about so often all processes of the tests stand still for 200 ms (root),
as on a host that gives their CPUs to others.  At the end: each test that failed, how often, and what it said first.
"""
import argparse
import collections
import contextlib
import os
import pathlib
import random
import re
import subprocess
import sys
import threading

BUSY = "while True: pass"
STALL_SECONDS = 0.2


class Freezer:
    """A control group whose processes can stand still together, as on a host that stalls: unlike SIGSTOP, no parent is
    told, and no shell takes it for a job that was stopped."""

    def __init__(self):
        for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
            _, where, kind, options = line.split()[:4]
            if kind == "cgroup" and "freezer" in options.split(","):
                file, self.words = "freezer.state", ("THAWED", "FROZEN")
            elif kind == "cgroup2":
                file, self.words = "cgroup.freeze", ("0", "1")
            else:
                continue
            self.place = pathlib.Path(where) / f"resmon-rounds-{os.getpid()}"
            with contextlib.suppress(OSError):
                self.place.mkdir()
                self.state = self.place / file
                self.state.write_text(self.words[False])  # Linux 5.2 for that of version 2
                return
        sys.exit("rounds.py: stalls need a control group that can be frozen, which needs root")

    def start(self, words, **how):
        return subprocess.Popen(["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(self.place), *words], **how)

    def stall(self, seconds, is_over):
        """About so often, until it is over."""
        while not is_over.wait(random.expovariate(1 / seconds)):
            try:
                self.state.write_text(self.words[True])
                is_over.wait(STALL_SECONDS)
            finally:
                self.state.write_text(self.words[False])

    def end(self):
        with contextlib.suppress(OSError):  # somebody is in it still
            self.place.rmdir()


@contextlib.contextmanager
def busy(loops):
    programs = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(loops)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def failures_of(text):
    """Names of tests, each with the first line that tells of a failure."""
    found = {}
    for name, said in re.findall(r"Test +#\d+: (\S+) \.*\*\*\*(?!Skipped)(.*?)(?=\n *(?:Start|\d+/\d+ Test) |\n\n\n|\Z)", text, re.S):
        lines = [line.strip() for line in said.splitlines() if re.search(r"ERROR|Error|FAIL|wrong|assert|E  ", line)]
        found[name] = lines[0] if lines else said.strip()[:100]
    return found


def run(words, stalls, **how):
    """A program, beside stalls about so often (0: none); its status and output."""
    if not stalls:
        done = subprocess.run(words, check=False, **how)
        return done.returncode, done.stdout
    freezer, is_over = Freezer(), threading.Event()
    process = freezer.start(words, **how)
    thread = threading.Thread(target=freezer.stall, args=(stalls, is_over))
    thread.start()
    try:
        output = process.communicate()[0]
    finally:
        is_over.set()
        thread.join()
        freezer.end()
    return process.returncode, output


def main():
    words = argparse.ArgumentParser(usage=__doc__)
    words.add_argument("--rounds", type=int, default=10)
    words.add_argument("--busy", type=int, default=0)
    words.add_argument("--stalls", type=float, default=0)
    words.add_argument("rest", nargs="+")
    given = words.parse_args()
    failed = collections.defaultdict(list)
    for number in range(given.rounds):
        with busy(given.busy):
            status, text = run(["ctest", "--output-on-failure", *given.rest], given.stalls, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, errors="replace")
        seen = failures_of(text)
        if status != 0 and not seen:
            seen = {"ctest": text.strip()[-160:] or f"status {status}"}  # no test was run, or it did not begin
        for name, line in seen.items():
            failed[name].append(line)
        summary = re.search(r".*tests passed.*", text)
        print(f"round {number + 1}: {summary[0] if summary else text[-200:]}; {', '.join(seen) or 'none failed'}", flush=True)
    for name, lines in sorted(failed.items()):
        print(f"{name}: {len(lines)} of {given.rounds}: {lines[0][:160]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
