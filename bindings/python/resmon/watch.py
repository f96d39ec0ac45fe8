# SPDX-License-Identifier: MIT
"""What this process uses between two moments, without a monitor."""
from ctypes import byref, c_uint64

from . import _abi, records
from ._library import lib
from .errors import ArgumentTypeError
from .options import bits


class Watched(records.Record):
    """What was used: wall_s, cpu_s (of the process), tree_cpu_s (with its children), rss_bytes (at the end),
    rss_peak_bytes, io_read_bytes and so on; NaN what was not asked for."""

    __slots__ = records._slots(_abi.Watched)
    _shown = ("wall_s", "cpu_s", "rss_bytes", "rss_peak_bytes", "rss_provenance")


class Watch:
    """Begins a watch of "cpu", "pcpu", "rss", "io", or several joined by "+"; wall time always.

    ``lap()`` gives what was used since the beginning or the lap before, ``end()`` the same for the last time.  As a
    context manager it ends itself; ``watch.watched`` has the figures then.
    """

    __slots__ = ("_id", "_struct", "_lap", "watched")

    def __init__(self, meters="cpu+rss"):
        number = c_uint64()
        self._id = None
        lib.watch_begin(bits("scopes", meters), byref(number))
        self._id = number.value
        self._struct = _abi.Watched()
        self._lap = lib.watch_lap, byref(self._struct)
        self.watched = None

    def lap(self):
        """What was used since the lap before."""
        function, struct = self._lap
        function(self._id or 0, struct)
        return Watched.of(self._struct)

    def lap_rss(self):
        """(RSS now, highest RSS since the lap before), in bytes: as quick as can be."""
        function, struct = self._lap
        function(self._id or 0, struct)
        return self._struct.rss_bytes, self._struct.rss_peak_bytes

    def end(self):
        """The last lap; ends the watch."""
        number, self._id = self._id, None
        lib.watch_end(number or 0, self._lap[1])
        self.watched = Watched.of(self._struct)
        return self.watched

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._id is not None:
            self.end()

    def __reduce__(self):
        raise ArgumentTypeError("a watch cannot be copied or pickled; what it watched can")

    def __del__(self):
        if self._id is not None:
            try:
                lib.watch_end(self._id, None)
            except Exception:  # pylint: disable=broad-except
                pass  # at the end of the interpreter
