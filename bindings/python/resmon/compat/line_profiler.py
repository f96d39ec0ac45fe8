# SPDX-License-Identifier: MIT
"""line_profiler: profile, LineProfiler, LineStats, load_stats; for kernprof -lv, ``python3 -m resmon.compat.line_profiler``.

Differences: recursion does not count time twice; functions are profiled in every call, and enable() and disable() only
count; several profilers of a function share its table; a call of a function of add_function() takes three levels of the
recursion limit. LineStats are of line_profiler if it is installed, so that ``python3 -m line_profiler FILE.lprof`` reads them.
"""
import pickle
from typing import NamedTuple

from ..lines import LineTimes, print_lines, profile_lines
from ._profiler import Profiler, run_script

__all__ = ["LineProfiler", "LineStats", "load_stats", "print_lines", "profile"]

_UNIT = 1e-6  # of the times in LineStats, in seconds

try:
    from line_profiler.line_profiler import LineStats
except ImportError:
    class LineStats(NamedTuple):  # type: ignore[no-redef]
        """What was measured: (file, line, function) -> [(line, hits, time in units)]."""

        timings: dict
        unit: float


def load_stats(filename):
    """Returns the LineStats of a file of dump_stats(). As with every pickle: of a file that you trust."""
    with open(filename, "rb") as file:
        return pickle.load(file)


class LineProfiler(Profiler):
    """A decorator; ``print_stats()`` prints the tables of its functions."""

    _decorate, _table = staticmethod(profile_lines), LineTimes

    def get_stats(self):
        """Returns what was measured so far."""
        timings = {}
        for table in self.tables:
            timings[table.file, table.first_line, table.function] = [
                (row.line, row.hits, round(row.seconds / _UNIT)) for row in table.rows]
        return LineStats(timings, _UNIT)

    def dump_stats(self, filename):
        """Saves the statistics as a pickle."""
        with open(filename, "wb") as file:
            pickle.dump(self.get_stats(), file, pickle.HIGHEST_PROTOCOL)

    def print_stats(self, stream=None, **_options):
        """Prints the tables."""
        for table in self.tables:
            print(table, file=stream)


profile = LineProfiler()

if __name__ == "__main__":
    run_script("resmon.compat.line_profiler", profile)
