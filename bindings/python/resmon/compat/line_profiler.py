# SPDX-License-Identifier: MIT
"""line_profiler: profile, LineProfiler, LineStats, load_stats; for kernprof -lv, ``python3 -m resmon.compat.line_profiler``.

Differences: recursion does not count time twice, and functions are profiled in every call: enable() and disable() do
nothing. LineStats are of line_profiler if it is installed, so that ``python3 -m line_profiler FILE.lprof`` reads them.
"""
import pickle
import types
import warnings
from typing import NamedTuple

from . import run_script
from ..errors import ArgumentTypeError
from ..lines import print_lines, profile_lines

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


def _handed_over(function, wrapped):
    """Makes all calls of a function calls of another one, whoever has a reference to it."""
    # A function's code has as many free variables as its closure has cells, and these names.
    free = function.__code__.co_freevars
    names = ", ".join(free)
    source = f"def outer({names}):\n def inner(*args, **kwargs):\n  if 0: ({names},)\n  return '@'(*args, **kwargs)\n" if free else \
        "def outer():\n def inner(*args, **kwargs):\n  return '@'(*args, **kwargs)\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "'str' object is not callable": it is replaced
        module = compile(source, "<resmon>", "exec")
    outer = next(const for const in module.co_consts if isinstance(const, types.CodeType))
    code = next(const for const in outer.co_consts if isinstance(const, types.CodeType))
    function.__code__ = code.replace(co_consts=tuple(wrapped if const == "@" else const for const in code.co_consts),
                                     co_name=function.__code__.co_name)


class LineProfiler:
    """A decorator; ``print_stats()`` prints the tables of its functions."""

    def __init__(self, *functions):
        self.functions = []
        for function in functions:
            self.add_function(function)

    def __call__(self, function):
        wrapped = profile_lines(function)
        self.functions.append(wrapped)
        return wrapped

    def add_function(self, function):
        """Profiles a function in all of its calls, also those of references that others have."""
        function = getattr(function, "__func__", function)
        if not isinstance(function, types.FunctionType):
            raise ArgumentTypeError(f"add_function() needs a function written in Python, not {function!r}")
        if any(function is own or getattr(function, "lines", None) is own.lines for own in self.functions):
            return
        inner = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__,
                                   function.__closure__)
        inner.__kwdefaults__, inner.__qualname__ = function.__kwdefaults__, function.__qualname__
        wrapped = profile_lines(inner)
        _handed_over(function, wrapped)
        function.lines = wrapped.lines
        self.functions.append(wrapped)

    def add_module(self, module):
        """Profiles the functions that a module defines, and those of its classes; returns their number."""
        found = [value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__]
        found += [value for kind in found if isinstance(kind, type) for value in vars(kind).values()]
        functions = [value for value in found if isinstance(value, types.FunctionType)]
        for function in functions:
            self.add_function(function)
        return len(functions)

    def runcall(self, function, *args, **kwargs):
        """Calls a function; it is not profiled by that alone."""
        return function(*args, **kwargs)

    def enable(self, *_args, **_kwargs):
        """Always on."""

    def disable(self):
        """Always on."""

    enable_by_count, disable_by_count = enable, disable

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        pass

    def get_stats(self):
        """Returns what was measured so far."""
        timings = {}
        for function in self.functions:
            table = function.lines
            timings[table.file, table.first_line, table.function] = [
                (row.line, row.hits, round(row.seconds / _UNIT)) for row in table.rows]
        return LineStats(timings, _UNIT)

    def dump_stats(self, filename):
        """Saves the statistics as a pickle."""
        with open(filename, "wb") as file:
            pickle.dump(self.get_stats(), file, pickle.HIGHEST_PROTOCOL)

    def print_stats(self, stream=None, **_options):
        """Prints the tables."""
        for function in self.functions:
            print(getattr(function, "lines", ""), file=stream)


profile = LineProfiler()

if __name__ == "__main__":
    run_script("resmon.compat.line_profiler", profile)
