# SPDX-License-Identifier: MIT
"""reseng.monitor: ResourceMonitor, log_start_finish.

Differences: there is no process that blocks when a pipe is full; ``start()`` returns after the first sample; rates use
the measured time; memory does not grow with the run.  The first row has no rates: NaN, where reseng has 0.
"""
import json
import os
import sys

from . import OwnMonitor
from .. import frames
from ..files import written
from ..run import load
from ..wrappers import log_start_finish as _log_start_finish

__all__ = ["ResourceMonitor", "log_start_finish"]

def _print(line):
    sys.stdout.write(line + "\n")  # in one piece: lines of several processes do not mix
    sys.stdout.flush()


def log_start_finish(f):
    """Prints the call of a function and its duration, with shortened arguments."""
    return _log_start_finish(f, log=_print)


# Columns of reseng: metric and series.  Rates are of the process, as in reseng.
_COLUMNS = {"cpu": ("proc.cpu.percent", "value"), "memory": ("proc.mem.rss", "value"),
            "read_bytes": ("proc.io.read_bytes", "mean"), "read_chars": ("proc.io.read_chars", "mean"),
            "write_bytes": ("proc.io.write_bytes", "mean"), "write_chars": ("proc.io.write_chars", "mean")}


class ResourceMonitor:
    """Start, tag, stop, plot, dump, load; ``df`` is the table after stop."""

    def __init__(self, pid=None, interval=1):
        self.pid = os.getpid() if pid is None else pid
        self.interval = interval
        self.tags = []
        self._monitor = None
        self._run = None
        self._frame = None

    def start(self):
        """Starts; also again after stop()."""
        own = self.pid == os.getpid()
        self._run = self._frame = None
        self._monitor = OwnMonitor(interval=self.interval, pid=None if own else self.pid, rows=65536,
                                domains="process").start()

    def stop(self):
        """Stops; then df has the samples."""
        self._monitor.stop()
        self._run = self._monitor.snapshot()

    def tag(self, label):
        """Marks this moment."""
        import time
        self.tags.append((time.time(), label))
        self._monitor.tag(label)

    @property
    def df(self):
        """The samples: index "elapsed" in s; time, cpu in %, memory in B, rates in B/s."""
        if self._run is None:
            return None
        if self._frame is None:
            pandas = frames.wanted("pandas", "ResourceMonitor.df")
            run, start = self._run, self._run.info.start_realtime_ns / 1e9
            known = {column.name for column in run.columns}
            values = {name: list(run.series(metric, series)) for name, (metric, series) in _COLUMNS.items()
                      if metric in known}
            index = pandas.Index(run.times, name="elapsed")
            self._frame = pandas.DataFrame({"time": [start + t for t in run.times], **values}, index=index)
        return self._frame

    def plot(self):
        """The four panels."""
        if self._run is None:
            print("ResourceMonitor: stop it first.")
            return
        self._run.plot("cpu", "memory", "read", "write")

    def dump(self, filepath):
        """Writes tags and samples in the format of reseng."""
        from .. import formats
        with written(filepath) as (file, _):
            file.write(json.dumps(formats.write([self._run], "reseng")).encode())

    @classmethod
    def load(cls, filepath):
        """Loads a file of dump(), of this class or of reseng."""
        loaded = cls()
        loaded._run = load(filepath)
        start = loaded._run.info.start_realtime_ns / 1e9
        loaded.tags = [(start + tag.t_s, tag.label) for tag in loaded._run.tags]
        return loaded
