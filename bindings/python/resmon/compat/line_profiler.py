# SPDX-License-Identifier: MIT
"""line_profiler: profile, LineProfiler.

Differences: kernprof is not needed, recursion does not count time twice, and decorated functions are always profiled:
enable() and disable() do nothing.
"""
from ..lines import print_lines, profile_lines

__all__ = ["LineProfiler", "print_lines", "profile"]


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
        """Not supported: the profiler cannot observe calls of the original function, only of the decorated one."""
        raise NotImplementedError(f"decorate {function.__name__}, or call what profiler({function.__name__}) returns: "
                                  "libresmon does not look into functions that it was not given to wrap")

    def runcall(self, function, *args, **kwargs):
        """Profiles a single call."""
        return self(function)(*args, **kwargs)

    def enable(self, *_args, **_kwargs):
        """Always on."""

    def disable(self):
        """Always on."""

    enable_by_count, disable_by_count = enable, disable

    def print_stats(self, stream=None, **_options):
        """Prints the tables."""
        for function in self.functions:
            print(getattr(function, "lines", ""), file=stream)


profile = LineProfiler()
