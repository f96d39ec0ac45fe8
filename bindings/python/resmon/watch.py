# SPDX-License-Identifier: MIT
"""Resource use of this process between two moments, without a monitor."""
from __future__ import annotations

from ctypes import byref, c_uint64

from . import _abi
from . import _generated_records as made
from ._library import lib
from .errors import ArgumentTypeError
from .options import bits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Names


class Watched(made.Watched):
    """The values of a watch; NaN: not measured.

    ``wall_s``; ``cpu_s`` of the process; ``tree_cpu_s`` with its children ("pcpu"); ``rss_bytes`` at the end;
    ``rss_peak_bytes``; ``io_read_bytes``, ``io_write_bytes`` from and to storage; ``io_read_chars``,
    ``io_write_chars`` of all reads and writes; ``rss_provenance`` of the peak: "measured" is exact.
    """

    __slots__ = ()
    _shown = ("wall_s", "cpu_s", "rss_bytes", "rss_peak_bytes", "rss_provenance")


class Watch:
    """Measures the resource use of this process from now until :meth:`end`.

    ::

        with resmon.Watch("cpu+rss") as watch:
            fit()
        print(watch.watched.cpu_s, watch.watched.rss_peak_bytes)

    As a context manager it ends itself; the values are then in ``watched``. Watches may overlap, also across threads.
    ArgumentError: an unknown metric, or the watch has ended. NoSpaceError: 64 watches are open. StateError: the watch
    began before a fork.

    :param meters: "cpu", "pcpu", "rss" or "io", or several joined by "+". Wall time is always measured. "rss" resets
        the high-water mark of the kernel at the beginning and at each lap
    """

    __slots__ = ("_id", "_struct", "_lap", "watched")

    def __init__(self, meters: Names = "cpu+rss") -> None:
        number = c_uint64()
        self._id = None
        lib.watch_begin(bits("scopes", meters), byref(number))
        self._id = number.value
        self._struct = _abi.Watched()
        self._lap = lib.watch_lap, byref(self._struct)
        self.watched: Watched | None = None

    def lap(self) -> Watched:
        """Returns the values since the beginning or the previous lap, as a :class:`Watched`."""
        function, struct = self._lap
        function(self._id or 0, struct)
        return Watched.of(self._struct)

    def lap_rss(self) -> tuple[float, float]:
        """Returns the RSS now and the highest RSS since the previous lap, in bytes, with the least overhead."""
        function, struct = self._lap
        function(self._id or 0, struct)
        return self._struct.rss_bytes, self._struct.rss_peak_bytes

    def end(self) -> Watched:
        """Ends the watch and returns the values since the previous lap, as a :class:`Watched`."""
        number, self._id = self._id, None
        lib.watch_end(number or 0, self._lap[1])
        watched = self.watched = Watched.of(self._struct)
        return watched

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_) -> None:
        if self._id is not None:
            self.end()

    def __reduce__(self):
        raise ArgumentTypeError("a watch cannot be copied or pickled; use the values of watch.end()")

    def __del__(self):
        if self._id is not None:
            try:
                lib.watch_end(self._id, None)
            except Exception:  # pylint: disable=broad-except
                pass  # at the end of the interpreter
