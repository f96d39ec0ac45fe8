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
import time

from energy_host import Counters

GRACE_SECONDS = 0.1  # counters that do not move for so long are taken for dead


def run(example, **more):
    begin = time.monotonic()
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME") or name.endswith("SAN_OPTIONS")}
    environment = {**kept, "RESMON_COUNTRY": "FR", "RESMON_SITE_CONF": "/dev/null", **more}
    text = subprocess.run([example], env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
    print(text)
    return text, begin, time.monotonic()


def number(pattern, text):
    found = re.search(pattern, text)
    assert found, f"no {pattern!r} above"
    return float(found[1])


def phase(text, name):
    """(J, its uncertainty, Wh, gCO2eq, the label)"""
    found = re.search(rf"^ *{name} +[\d.]+ +([\d.]+) \+- +([\d.]+) +([\d.]+) +([\d.]+)  (.*)$", text, re.M)
    return [*map(float, found.groups()[:4]), found[5]]


def check_phases(text, label):
    tree = number(r"share is ([\d.]+) J", text)
    work, data, compute = (phase(text, name) for name in ("work", "wait for data", "compute"))
    assert 0.75 * tree <= work[0] <= tree * 1.001, (work, tree)  # the rest is the program's begin and end
    assert abs(work[0] - data[0] - compute[0]) < 0.05 * work[0]
    least = data[0] - data[1]  # of a machine that stalls as one phase ends, the other may have some
    assert compute[0] + compute[1] > 5 * least, (compute, data)  # the one computes, the other sleeps
    for joules, doubt, watt_hours, grams, said in (work, data, compute):
        assert said == label and doubt <= joules
        assert abs(watt_hours - joules / 3600) < 2e-6 and abs(grams - joules / 3.6e6 * 44.179085) < 2e-6


def run_beside_counters(example):
    with tempfile.TemporaryDirectory(prefix="resmon-truth-energy-") as work:
        counters = Counters(pathlib.Path(work))
        try:
            text, begin, end = run(example, RESMON_ENERGY_ROOT=work)
        finally:
            counters.end()
    return text, *counters.span(begin, end)


def main(example):
    text, most, behind = run_beside_counters(example)
    for _ in range(20):
        if "not count" not in text or behind < GRACE_SECONDS:
            break
        print(f"the counters stood still for {behind * 1e3:.0f} ms, beside a busy machine: once more")
        text, most, behind = run_beside_counters(example)
    cpu, ram = (number(rf"{part} +([\d.]+) J  measured", text) for part in ("cpu", "ram"))
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
