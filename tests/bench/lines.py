# SPDX-License-Identifier: MIT
"""What benches in Python measure with and print: a line for each figure, beside its floor and its target."""
import csv
import os
import pathlib
import platform
import statistics
import sys
import time

failures = []


def host():
    """What figures hang on: the processors, how many of them, and the kernel."""
    lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine(), os.cpu_count(), platform.release().partition("-")[0]


def say_host():
    """The first line: which bench this is, and where it runs."""
    model, count, release = host()
    print(f"{pathlib.Path(sys.argv[0]).stem} ({model}, {count} CPUs, Linux {release})", flush=True)


def note(what, value, unit):
    """A figure as a row for history.py, where RESMON_BENCH_FIGURES names a file."""
    path = os.environ.get("RESMON_BENCH_FIGURES")
    if path:
        with open(path, "a", encoding="utf-8", newline="") as file:
            csv.writer(file).writerow([pathlib.Path(sys.argv[0]).stem, what, f"{value:.4g}", unit])


def quieter(times):
    """The median of the quieter half of the repetitions, as what disturbs only ever adds."""
    return statistics.median(sorted(times)[:(len(times) + 1) // 2])


def seconds_of(function, number=1, repeat=15):
    """Seconds of one call."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        for _ in range(number):
            function()
        times.append((time.perf_counter() - begin) / number)
    return quieter(times)


def shown(seconds):
    for unit, scale in (("s", 1), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def check(what, is_met):
    """"met" or "MISSED"; a target that is missed is remembered."""
    if not is_met:
        failures.append(what)
    return "met" if is_met else "MISSED"


def line(what, took, floor=None, floor_name="", target=None, peers=()):
    """One line of a time in seconds."""
    parts = [f"{what:<46} {shown(took):>9}"]
    if floor is not None:
        parts.append(f"{took / floor:6.2f} x {shown(floor)} ({floor_name})")
    if target is not None:
        parts.append(f"target {shown(target)}: {check(what, took <= target)}")
    parts.extend(f"{name} {shown(value)}" for name, value in peers if value is not None)
    print("; ".join(parts), flush=True)
    note(what, took, "s")


def figure(what, value, unit="", target=None, beside=""):
    """One line of anything else."""
    wanted = f"; target {target:g} {unit}: {check(what, value <= target)}" if target is not None else ""
    print(f"{what:<46} {value:>8.4g} {unit} {beside}{wanted}", flush=True)
    note(what, value, unit)


def end():
    """With --check a target that was missed is a failure."""
    if failures and "--check" in sys.argv[1:]:
        sys.exit("past a target: " + ", ".join(failures))
