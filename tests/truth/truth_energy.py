#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The example energy, beside counters of RAPL that count as a machine's would.

truth_energy.py EXAMPLE

Two sockets of 60 and 40 W and their memory of 5 W each, below a directory of our own, wrap at 65.5 kJ, from
just before it.  The example must say so many joules, and give the phases what they drew; and once more without
counters, modelled.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

WATTS = {"intel-rapl:0": ("package-0", 60.0), "intel-rapl:0:0": ("dram", 5.0),
         "intel-rapl:1": ("package-1", 40.0), "intel-rapl:1:0": ("dram", 5.0)}
RANGE_UJ = 65532610987
START_UJ = RANGE_UJ - 20_000_000
BEGIN = time.monotonic()


class Counters:
    """Files that grow; written in one piece, as a reader of sysfs sees them."""

    def __init__(self, root):
        self.files = {}
        for zone, (name, watts) in WATTS.items():
            directory = root / "sys/class/powercap" / zone
            directory.mkdir(parents=True)
            (directory / "name").write_text(name + "\n")
            (directory / "max_energy_range_uj").write_text(f"{RANGE_UJ}\n")
            self.files[os.open(directory / "energy_uj", os.O_WRONLY | os.O_CREAT, 0o444)] = watts
        self.stamps = []  # when they were brought up to date
        self.count()
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def count(self):
        now = time.monotonic()
        for file, watts in self.files.items():
            uj = (START_UJ + int(watts * (now - BEGIN) * 1e6)) % RANGE_UJ
            os.pwrite(file, f"{uj:011d}\n".encode(), 0)
        self.stamps.append((now, time.monotonic()))

    def run(self):
        while not self.is_over.wait(0.002):
            self.count()

    def end(self):
        self.is_over.set()
        self.thread.join()

    def span(self, begin, end):
        """Of what was read in between: the most seconds that it can be of, and how old a figure can have been."""
        behind = [done - before for (before, _), (_, done) in zip(self.stamps, self.stamps[1:])]
        first = max(now for now, done in self.stamps if done <= begin)
        return max(now for now, _ in self.stamps if now <= end) - first, max(behind)


def run(example, **more):
    begin = time.monotonic()
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME") or name.endswith("SAN_OPTIONS")}
    environment = {**kept, "RESMON_COUNTRY": "FR", "RESMON_SITE_CONF": "/dev/null", **more}
    text = subprocess.run([example], env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    print(text)
    return text, begin, time.monotonic()


def number(pattern, text):
    return float(re.search(pattern, text)[1])


def phase(text, name):
    """(J, its uncertainty, Wh, gCO2eq, the label)"""
    found = re.search(rf"^ *{name} +[\d.]+ +([\d.]+) \+- +([\d.]+) +([\d.]+) +([\d.]+)  (.*)$", text, re.M)
    return [*map(float, found.groups()[:4]), found[5]]


def check_phases(text, label):
    tree = number(r"share is ([\d.]+) J", text)
    work, data, compute = (phase(text, name) for name in ("work", "wait for data", "compute"))
    assert 0.75 * tree <= work[0] <= tree * 1.001, (work, tree)  # the rest is the program's begin and end
    assert abs(work[0] - data[0] - compute[0]) < 0.05 * work[0]
    assert compute[0] > 5 * data[0], (compute, data)  # the one computes, the other sleeps
    for joules, doubt, watt_hours, grams, said in (work, data, compute):
        assert said == label and doubt <= joules
        assert abs(watt_hours - joules / 3600) < 2e-6 and abs(grams - joules / 3.6e6 * 44.179085) < 2e-6


def main(example):
    with tempfile.TemporaryDirectory(prefix="resmon-truth-energy-") as work:
        counters = Counters(pathlib.Path(work))
        try:
            text, begin, end = run(example, RESMON_ENERGY_ROOT=work)
        finally:
            counters.end()
    cpu, ram = (number(rf"{part} +([\d.]+) J  measured", text) for part in ("cpu", "ram"))
    most, behind = counters.span(begin, end)
    least = 2.1 - behind - 0.01  # the phases of the example
    assert 100 * least <= cpu <= 100 * most + 0.01, (cpu, least, most)
    assert abs(cpu - 10 * ram) <= 2 * 100 * behind + 0.1, (cpu, ram, behind)
    print(f"{100 * least:.1f} J to {100 * most:.1f} J were to be read, of files that were {behind * 1e3:.1f} ms old at most")
    check_phases(text, "share of what was measured")
    text, *_ = run(example, RESMON_ENERGY_ROOT="/nonexistent")
    assert "No such file" in text or "not known" in text
    with tempfile.TemporaryDirectory(prefix="resmon-truth-energy-") as work:
        text, *_ = run(example, RESMON_ENERGY_ROOT=work)
    assert "cpu " in text and "a model" in text or "rough model" in text
    check_phases(text, "modelled")


if __name__ == "__main__":
    main(*sys.argv[1:])
