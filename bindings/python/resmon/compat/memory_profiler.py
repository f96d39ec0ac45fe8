# SPDX-License-Identifier: MIT
"""memory_profiler: profile, memory_usage, LineProfiler, show_results; for ``python3 -m memory_profiler SCRIPT``, ``python3 -m resmon.compat.memory_profiler``.

``mprof run SCRIPT`` and ``mprof plot`` are ``resmon run -o run.html -- python3 SCRIPT``.

Differences: the function runs exactly once, with any arguments; the maximum is the kernel's high-water mark, so no peak
between two samples is missed; sizes are in MiB; ``profile`` prints its tables at exit and not after each call.
Lines of ``stream`` are written at the end.  ``multiprocess`` is ``include_children``.
"""
import functools
import os
import time

from . import OwnMonitor
from ..lines import LineMemory, profile_memory
from ..watch import Watch
from ._profiler import Profiler, run_script

__all__ = ["LineProfiler", "memory_usage", "profile", "show_results"]

_MIB = float(1 << 20)


class LineProfiler(Profiler):
    """A decorator; ``show_results()`` prints the tables of its functions."""

    _decorate, _table = staticmethod(profile_memory), LineMemory

    def __init__(self, *functions, **_options):
        super().__init__(*functions)

    @property
    def code_map(self):
        """{(file, line, function): {line: (increment, memory, hits)}}, in MiB."""
        return {(table.file, table.first_line, table.function): {
            row.line: (row.increment_bytes / _MIB, row.rss_bytes / _MIB, row.hits) for row in table.rows}
            for table in self.tables}

    def __call__(self, function=None, precision=1):
        if function is None:
            return functools.partial(self, precision=precision)
        wrapped = super().__call__(function)
        if hasattr(wrapped, "lines"):
            wrapped.lines.precision = precision
        return wrapped


def show_results(prof, stream=None, precision=1):
    """Prints the tables of a LineProfiler."""
    for table in prof.tables:
        table.precision = precision
        print(table, file=stream)


def profile(func=None, stream=None, precision=1, backend=None):
    """Measures memory for each line of a function: profile_memory(). `backend` is without effect: it is always the RSS."""
    del backend
    return profile_memory(precision=precision, stream=stream) if func is None else \
        profile_memory(precision=precision, stream=stream)(func)


def _call(proc):
    function, args, kwargs = (*proc, *((), {})[len(proc) - 1:])[:3]
    return lambda: function(*args, **kwargs)


def _samples(run, metric, timestamps):
    """Returns MiB, or (MiB, seconds since 1970), of each sample."""
    start = run.info.start_realtime_ns / 1e9
    known = [(value / _MIB, start + time) for time, value in zip(run.times, run.series(metric)) if value == value]
    return known if timestamps else [value for value, _ in known]


def _of_function(proc, interval, include_children, max_usage, timestamps):
    """(MiB or a list of them, what the function returned, the monitor, the metric)"""
    call = proc if callable(proc) else _call(proc)
    metric = "tree.mem.rss" if include_children else "proc.mem.rss"
    domains = "process+tree" if include_children else "process"
    with Watch("rss") as watch, OwnMonitor(interval=interval, domains=domains, scopes=False, rows=65536, events=0) as m:
        returned = call()
    if not max_usage:
        return _samples(m, metric, timestamps), returned, m, metric
    exact = watch.watched.rss_peak_bytes / _MIB
    if include_children:
        exact = max([exact, m.summary[metric].max / _MIB])
    highest = max(_samples(m, metric, True), default=(0.0, time.time()))
    return ((exact, highest[1]) if timestamps else exact), returned, m, metric


def _of_process(pid, interval, timeout, include_children, max_usage, timestamps):
    metric = "tree.mem.rss" if include_children else "proc.mem.rss"
    monitor = OwnMonitor(interval=interval, pid=None if pid in (-1, os.getpid()) else pid, rows=65536, scopes=False,
                      domains="process+tree" if include_children else "process", events=0)
    with monitor:
        if timeout:
            time.sleep(timeout)
    samples = _samples(monitor, metric, timestamps)
    return (max(samples, default=None) if max_usage else samples), monitor, metric


def memory_usage(proc=-1, interval=0.1, timeout=None, timestamps=False, include_children=False, multiprocess=False,
                 max_usage=False, retval=False, stream=None, backend=None, max_iterations=None):
    """Memory of a process, or while a function runs, in MiB.

    :param proc: a pid, or (function, args, kwargs), or a function; -1: this process
    :param timestamps: (MiB, seconds since 1970) for each sample
    :param max_usage: only the maximum, which is exact for a function of this process
    :param retval: (usage, what the function returned)
    :param stream: gets a line "MEM MiB TIME" for each sample; for a process, nothing is returned then
    """
    del backend, max_iterations  # without effect: the function runs once
    interval, include_children = max(interval, 0.001), include_children or multiprocess
    if isinstance(proc, (tuple, list)) or callable(proc):
        usage, returned, monitor, metric = _of_function(proc, interval, include_children, max_usage, timestamps)
        _write(stream, monitor, metric)
        return (usage, returned) if retval else usage
    if hasattr(proc, "pid"):  # a Popen
        proc = proc.pid
    usage, monitor, metric = _of_process(int(proc), interval, timeout, include_children, max_usage, timestamps)
    _write(stream, monitor, metric)
    return usage if stream is None else None


def _write(stream, monitor, metric):
    if stream is not None:
        for value, seconds in _samples(monitor, metric, True):
            stream.write(f"MEM {value:.6f} {seconds:.4f}\n")


if __name__ == "__main__":
    run_script("resmon.compat.memory_profiler", LineProfiler())
