# SPDX-License-Identifier: MIT
"""memory_profiler: profile, memory_usage.

Differences: the function runs exactly once, with any arguments; the maximum is the kernel's high-water mark, so no peak
between two samples is missed; sizes are in MiB; ``profile`` prints its tables at exit and not after each call.
``timestamps`` and ``stream`` are not supported: use to_pandas() and csv= of resmon.Monitor.
"""
import os
import time

from . import OwnMonitor
from ..lines import profile_memory as profile
from ..watch import Watch

__all__ = ["memory_usage", "profile"]

_MIB = float(1 << 20)


def _call(proc):
    function, args, kwargs = (*proc, *((), {})[len(proc) - 1:])[:3]
    return lambda: function(*args, **kwargs)


def _of_function(proc, interval, include_children, max_usage):
    """(MiB or a list of them, what the function returned)"""
    call = proc if callable(proc) else _call(proc)
    metric = "tree.mem.rss" if include_children else "proc.mem.rss"
    domains = "process+tree" if include_children else "process"
    with Watch("rss") as watch, OwnMonitor(interval=interval, domains=domains, scopes=False, rows=65536, events=0) as m:
        returned = call()
    samples = [value / _MIB for value in m.series(metric) if value == value]
    exact = watch.watched.rss_peak_bytes / _MIB
    if include_children:
        exact = max([exact, m.summary[metric].max / _MIB])
    return (exact if max_usage else samples), returned


def _of_process(pid, interval, timeout, include_children, max_usage):
    metric = "tree.mem.rss" if include_children else "proc.mem.rss"
    monitor = OwnMonitor(interval=interval, pid=None if pid in (-1, os.getpid()) else pid, rows=65536, scopes=False,
                      domains="process+tree" if include_children else "process", events=0)
    with monitor:
        if timeout:
            time.sleep(timeout)
    if max_usage:
        return monitor.summary[metric].max / _MIB
    return [value / _MIB for value in monitor.series(metric) if value == value]


def memory_usage(proc=-1, interval=0.1, timeout=None, timestamps=False, include_children=False, multiprocess=False,
                 max_usage=False, retval=False, stream=None, backend=None, max_iterations=None):
    """Memory of a process, or while a function runs, in MiB.

    :param proc: a pid, or (function, args, kwargs), or a function; -1: this process
    :param max_usage: only the maximum, which is exact for a function of this process
    :param retval: (usage, what the function returned)
    """
    del multiprocess, backend, max_iterations  # include_children replaces the first; the others have no effect
    if timestamps or stream is not None:
        raise NotImplementedError("timestamps and stream: resmon.Monitor has both, as to_pandas() and csv=")
    interval = max(interval, 0.001)
    if isinstance(proc, (tuple, list)) or callable(proc):
        usage, returned = _of_function(proc, interval, include_children, max_usage)
        return (usage, returned) if retval else usage
    if hasattr(proc, "pid"):  # a Popen
        proc = proc.pid
    return _of_process(int(proc), interval, timeout, include_children, max_usage)
