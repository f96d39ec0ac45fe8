# SPDX-License-Identifier: MIT
"""The measurements of the pytest plugin (resmon_pytest): tests, their limits, a comparison."""
import json
import math
import os
import tempfile
from ctypes import byref, c_double

import pytest

from . import human
from ._library import lib
from .benches import Bench, Diff
from .errors import Error
from .monitor import Monitor
from .watch import Watch

# Values that can be limited, with unit and name.
_LIMITS = {"wall": ("s", "wall time"), "cpu": ("s", "CPU time"), "peak": ("B", "peak RSS"),
           "growth": ("B", "growth of RSS at its peak"), "read": ("B", "read"), "written": ("B", "written"),
           "energy": ("J", "energy")}
_PROPERTY = "resmon."  # prefix of properties in reports and JUnit XML
_NAN = float("nan")


# ---- one test -----------------------------------------------------------------------------------------------


class _Energy:
    """Energy of this process and its children, from one test to the next."""

    def __init__(self):
        self._monitor = Monitor(interval=1.0, domains="process+tree+cpu+energy", scopes=False, events=0, name="pytest")
        self._monitor.start()
        self._last = self._read()

    def _read(self):
        self._monitor.sample_now()
        energy = self._monitor.energy
        return energy.tree_j if energy else _NAN

    def take(self):
        """Returns the joules since the previous call."""
        now = self._read()
        took, self._last = now - self._last, now
        return max(took, 0.0) if math.isfinite(took) else _NAN

    def close(self):
        """Stops the monitor."""
        self._monitor.stop()


def _limits_of(item):
    """Returns {"peak": 2e8} of all markers of a test; the nearest marker has precedence."""
    limits = {}
    for mark in item.iter_markers("resmon"):
        if mark.args:
            raise pytest.UsageError(f"{item.nodeid}: the marker resmon takes limits by their names: peak='200MB'")
        for name, limit in mark.kwargs.items():
            if name not in _LIMITS:
                raise pytest.UsageError(f"{item.nodeid}: the marker resmon knows no {name!r}; use {', '.join(_LIMITS)}")
            value = c_double()
            try:
                lib.parse_value(_LIMITS[name][0].encode(), str(limit).encode(), byref(value))
            except Error as error:
                raise pytest.UsageError(f"{item.nodeid}: the marker resmon, {name}: {error}") from None
            limits.setdefault(name, value.value)
    return limits


class Measuring:
    """Measures tests wherever they run, also in the processes of pytest-xdist."""

    def __init__(self, wants_all):
        self._wants_all = wants_all
        self._energy = None

    def pytest_unconfigure(self):
        if self._energy:
            self._energy.close()
            self._energy = None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        limits = _limits_of(item)
        if not self._wants_all and not limits:
            yield
            return
        if self._energy is None and (self._wants_all or "energy" in limits):
            self._energy = _Energy()
        if self._energy:
            self._energy.take()
        watch = Watch("cpu+rss+io")
        before = watch.lap().rss_bytes
        outcome = yield
        watched = watch.end()
        figures = {"wall": watched.wall_s, "cpu": watched.cpu_s, "peak": watched.rss_peak_bytes,
                   "growth": watched.rss_peak_bytes - before, "read": watched.io_read_chars,
                   "written": watched.io_write_chars, "energy": self._energy.take() if self._energy else _NAN}
        for name, value in figures.items():
            if math.isfinite(value):
                item.user_properties.append((_PROPERTY + name, value))
        broken = [(name, limit) for name, limit in limits.items() if figures[name] > limit]
        if broken and outcome.excinfo is None:
            outcome.force_exception(_exceeded(figures, broken))


def _exceeded(figures, broken):
    lines = [f"{_LIMITS[name][1]} was {human.text_of(figures[name], _LIMITS[name][0])}, and "
             f"{human.text_of(limit, _LIMITS[name][0])} is the limit" for name, limit in broken]
    return pytest.fail.Exception("resmon: " + "; ".join(lines), pytrace=False)


# ---- all tests ----------------------------------------------------------------------------------------------


class Showing:
    """Collects and shows the results."""

    def __init__(self, options):
        self._options = options
        self._figures = {}  # by test: each of its runs
        self._diffs = []

    def pytest_runtest_logreport(self, report):
        found = {name[len(_PROPERTY):]: value for name, value in report.user_properties if name.startswith(_PROPERTY)}
        if report.when == "call" and found:
            self._figures.setdefault(report.nodeid, []).append((found, report.passed))

    def _document(self):
        """Returns the results in the format of a benchmark: a group for each test."""
        results = []
        for name, runs in self._figures.items():
            rows = [{"scope": "", "figure": figure, "unit": _LIMITS[figure][0], "is_counted": int(figure == "peak"),
                     "values": [found.get(figure) for found, _ in runs]}
                    for figure in _LIMITS if figure != "growth" and figure in runs[0][0]]
            results.append({"command": name, "times": [found["wall"] for found, _ in runs],
                            "exit_codes": [0 if passed else 1 for _, passed in runs], "figures": rows})
        return {"resmon_bench": "0.1", "results": results}

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session):
        if not self._figures:
            return
        path = self._options.resmon_json
        if path:
            with open(path, "w", encoding="utf-8") as file:
                json.dump(self._document(), file)
        if self._options.resmon_compare:
            self._compare()
            if session.exitstatus == 0 and any(comparison.verdict == "worse" for _, comparison in self._diffs):
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _compare(self):
        """Compares each test that both sides have; with one run, only counted values."""
        before = Bench.load(self._options.resmon_compare)
        with tempfile.TemporaryDirectory(prefix="resmon-pytest-") as directory:
            path = os.path.join(directory, "now.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(self._document(), file)
            now = Bench.load(path)
        rules = self._options.resmon_fail or ["peak>5%+1MiB"]
        known = set(before.names)
        for name in now.names:
            if name in known:
                self._diffs.append((name, Diff(before, now, rules, name, name)))

    def pytest_terminal_summary(self, terminalreporter):
        if self._options.resmon and self._figures:
            self._show_table(terminalreporter)
        if self._diffs:
            self._show_diffs(terminalreporter)

    def _show_table(self, reporter):
        names = sorted(self._figures, key=lambda name: -max(found["wall"] for found, _ in self._figures[name]))
        shown = names[:self._options.resmon_rows or None]
        lines = [["wall", "CPU", "peak RSS", "growth", "energy", "test"]]
        for name in shown:
            found = self._figures[name][-1][0]
            lines.append([human.text_of(found.get(key, _NAN), unit) for key, unit in (
                ("wall", "s"), ("cpu", "s"), ("peak", "B"), ("growth", "B"), ("energy", "J"))] + [name])
        widths = [max(len(line[i]) for line in lines) for i in range(5)]
        reporter.section(f"resmon: {'the slowest ' if len(shown) < len(names) else ''}{len(shown)} of {len(names)} tests")
        for line in lines:
            reporter.write_line("  ".join([*(cell.rjust(width) for cell, width in zip(line, widths)), line[5]]))

    def _show_diffs(self, reporter):
        reporter.section(f"resmon: compared with {self._options.resmon_compare}")
        counts = {}
        for name, comparison in self._diffs:
            counts[comparison.verdict] = counts.get(comparison.verdict, 0) + 1
            if comparison.verdict == "worse":
                reporter.write_line(f"{name}: {comparison}".split("\n\n", maxsplit=1)[0])
        reporter.write_line(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
