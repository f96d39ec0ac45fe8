#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs tests again and again, beside a busy machine that stalls: a red run is to mean a defect, and no chance.

rounds.py [--rounds N] [--busy LOOPS] [--stalls SECONDS] -- CTEST-ARGUMENTS...

--busy: programs that take a CPU each. --stalls: about so often all processes of the tests are stopped for 200 ms (SIGSTOP),
as a host does that gives their CPUs to others.  At the end: each test that failed, how often, and what it said first.
"""
import argparse
import collections
import contextlib
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading

BUSY = "while True: pass"
STALL_SECONDS = 0.2


def descendants(pid):
    """Of /proc: also what runs in groups and sessions of its own; but not what a test has stopped itself."""
    children, stopped = collections.defaultdict(list), set()
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            fields = path.read_text().rpartition(")")[2].split()
            children[int(fields[1])].append(int(path.parent.name))
            stopped.update([int(path.parent.name)] if fields[0] in "Tt" else [])
    found = [pid]
    for parent in found:  # which grows
        found += children[parent]
    return [each for each in found[1:] if each not in stopped]


def send(number, processes):
    for process in processes:
        with contextlib.suppress(OSError):
            os.kill(process, number)


def stall(process, seconds, is_over):
    """Children go on before their parents: a shell that looks sees no stopped job, as none sees where a host stalls."""
    while not is_over.wait(random.expovariate(1 / seconds)):
        stopped = descendants(process.pid)
        send(signal.SIGSTOP, stopped)
        is_over.wait(STALL_SECONDS)
        send(signal.SIGCONT, reversed(stopped))


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


def run_round(words, stalls):
    is_over = threading.Event()
    with subprocess.Popen(["ctest", "--output-on-failure", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace") as process:
        if stalls:
            threading.Thread(target=stall, args=(process, stalls, is_over)).start()
        text = process.stdout.read()
        is_over.set()
    return text


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
            text = run_round(given.rest, given.stalls)
        seen = failures_of(text)
        for name, line in seen.items():
            failed[name].append(line)
        summary = re.search(r".*tests passed.*", text)
        print(f"round {number + 1}: {summary[0] if summary else text[-200:]}; {', '.join(seen) or 'none failed'}", flush=True)
    for name, lines in sorted(failed.items()):
        print(f"{name}: {len(lines)} of {given.rounds}: {lines[0][:160]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
