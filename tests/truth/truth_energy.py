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
        self.count()
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def count(self):
        for file, watts in self.files.items():
            uj = (START_UJ + int(watts * (time.monotonic() - BEGIN) * 1e6)) % RANGE_UJ
            os.pwrite(file, f"{uj:011d}\n".encode(), 0)

    def run(self):
        while not self.is_over.wait(0.002):
            self.count()

    def end(self):
        self.is_over.set()
        self.thread.join()


def run(example, **more):
    begin = time.monotonic()
    environment = {**os.environ, "RESMON_COUNTRY": "FR", "RESMON_SITE_CONF": "/dev/null", **more}
    environment = {key: value for key, value in environment.items() if value is not None}
    text = subprocess.run([example], env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    print(text)
    return text, time.monotonic() - begin


def number(pattern, text):
    return float(re.search(pattern, text)[1])


def phase(text, name):
    """(J, its uncertainty, Wh, gCO2eq, the label)"""
    found = re.search(rf"^ *{name} +[\d.]+ +([\d.]+) \+- +([\d.]+) +([\d.]+) +([\d.]+)  (.*)$", text, re.M)
    return [*map(float, found.groups()[:4]), found[5]]


def check_phases(text, label):
    tree = number(r"share is ([\d.]+) J", text)
    work, data, compute = (phase(text, name) for name in ("work", "wait for data", "compute"))
    assert 0.9 * tree <= work[0] <= tree * 1.001, (work, tree)
    assert abs(work[0] - data[0] - compute[0]) < 0.05 * work[0]
    assert compute[0] > 5 * data[0], (compute, data)  # the one computes, the other sleeps
    for joules, doubt, watt_hours, grams, said in (work, data, compute):
        assert said == label and doubt <= joules
        assert abs(watt_hours - joules / 3600) < 2e-6 and abs(grams - joules / 3.6e6 * 44.179085) < 2e-6


def main(example):
    with tempfile.TemporaryDirectory(prefix="resmon-truth-energy-") as work:
        counters = Counters(pathlib.Path(work))
        try:
            text, seconds = run(example, RESMON_ENERGY_ROOT=work)
        finally:
            counters.end()
    cpu, ram = (number(rf"{part} +([\d.]+) J  measured", text) for part in ("cpu", "ram"))
    least = 2.1 - 0.03  # the phases of the example, and files that are a little old
    assert 100 * least <= cpu <= 100 * seconds, (cpu, seconds)
    assert abs(cpu / ram - 10) < 0.2, (cpu, ram)
    check_phases(text, "share of what was measured")
    text, _ = run(example, RESMON_ENERGY_ROOT="/nonexistent")
    assert "No such file" in text or "not known" in text
    with tempfile.TemporaryDirectory(prefix="resmon-truth-energy-") as work:
        text, _ = run(example, RESMON_ENERGY_ROOT=work)
    assert "cpu " in text and "a model" in text or "rough model" in text
    check_phases(text, "modelled")


if __name__ == "__main__":
    main(*sys.argv[1:])
