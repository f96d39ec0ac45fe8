# SPDX-License-Identifier: MIT
"""The records that a run consists of, as Python objects: plain values without pointers into the library.

Times are seconds, sizes bytes, energies joules; unknown values are NaN. Each class is made from a structure of the C
API: a member "wall_ns" becomes the attribute ``wall_s``.
"""
import ctypes
import math
import os

from . import _abi, html, human
from ._library import text
from ._records import STATISTICS


class Estimate(float):
    """A value with its 95 % interval: ``low``, ``high`` (NaN: not known).

    If every call was measured, both are the value itself.
    """

    __slots__ = ("low", "high")

    def __new__(cls, value, low=None, high=None):
        figure = super().__new__(cls, value)
        figure.low, figure.high = value if low is None else low, value if high is None else high
        return figure

    @property
    def is_vague(self):
        """Whether the interval is wider than the value, or is not known."""
        return not self.high - self.low <= self  # pylint: disable=unnecessary-negation

    def __getnewargs__(self):
        return float(self), self.low, self.high


def _is_time(name):
    return name.endswith("_ns") and not name.endswith("_realtime_ns")


def _plain(name, value, words):
    if isinstance(value, _abi.Estimate):
        scale = 1e9 if _is_time(name) else 1
        return Estimate(value.value / scale, value.low / scale, value.high / scale)
    if words is not None:
        return words.get(value, words.get(0, ""))
    if _is_time(name):
        return value / 1e9
    if isinstance(value, bytes) or value is None:
        return text(value)
    return tuple(value) if isinstance(value, ctypes.Array) else value


def _attribute(name):
    return name[:-3] + "_s" if _is_time(name) else name


def _comparable(value):
    """Returns a form of a value that compares equal, and has the same hash, for equal values; NaN equals NaN."""
    if isinstance(value, Estimate):
        return tuple(map(_comparable, (float(value), float(value.low), float(value.high))))
    if isinstance(value, Record):
        value = {name: getattr(value, name) for name in value.__slots__}
    if isinstance(value, dict):
        return frozenset((key, _comparable(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return tuple(map(_comparable, value))
    return None if isinstance(value, float) and math.isnan(value) else value


class Record:
    """Named values; two records are equal if all values are equal. NaN equals NaN."""

    __slots__ = ()
    _struct = None
    _shown = ()

    @classmethod
    def of(cls, struct):
        """Makes a record from a structure of the C API."""
        record, meanings = cls(), getattr(struct, "_meanings_", {})
        for name, _ in struct._fields_:
            attribute = _attribute(name)
            if attribute in cls.__slots__:
                setattr(record, attribute, _plain(name, getattr(struct, name), meanings.get(name)))
        return record

    def to_dict(self):
        """Returns all values by name; an :class:`Estimate` also gives ``NAME_low`` and ``NAME_high``."""
        values = {}
        for name in self.__slots__:
            value = values[name] = getattr(self, name)
            if isinstance(value, Estimate):
                values[f"{name}_low"], values[f"{name}_high"] = value.low, value.high
        return values

    def __eq__(self, other):
        return _comparable(self) == _comparable(other) if isinstance(other, type(self)) else NotImplemented

    def __hash__(self):
        return hash(_comparable(self))

    def __getstate__(self):
        return {name: getattr(self, name) for name in self.__slots__}

    def __setstate__(self, state):
        for name, value in state.items():
            setattr(self, name, value)

    def __repr__(self):
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._shown or self.__slots__)
        return f"{type(self).__name__}({shown})"


def _slots(struct, *more, without=()):
    skipped = ("struct_size", "reserved", "reserved2", "reserved3", *without)
    return tuple(_attribute(name) for name, _ in struct._fields_ if name not in skipped) + more


class Info(Record):
    """The run as a whole, as resmon_run_info."""

    __slots__ = _slots(_abi.RunInfo)

    @property
    def start(self):
        """Start of the run, as a datetime in UTC."""
        from datetime import datetime, timezone
        return datetime.fromtimestamp(self.start_realtime_ns / 1e9, timezone.utc)


class Headline(Record):
    """The most important values of a run, as resmon_headline."""

    __slots__ = _slots(_abi.Headline)


class End(Record):
    """How the program ended; as text, for example "failed: ValueError: no such column".

    ``reason`` is "running", "finished", "failed", "interrupted" (by its user), "killed" (by another signal), or
    "unknown" (it ended without a message). ``exit_status`` is 0 also if it is not known. ``signal`` is a name such as
    "SIGTERM", or "". ``text`` is the text of the exception, or "".
    """

    __slots__ = ("reason", "exit_status", "signal", "text")

    @classmethod
    def of(cls, struct):
        end = super().of(struct)
        end.signal = _signal_name(struct.signal_number)
        return end

    def __str__(self):
        by = f" by {self.signal}" if self.signal else ""
        more = self.text or (f"exit status {self.exit_status}" if self.exit_status else "")
        return f"{self.reason}{by}" + (f": {more}" if more else "")


class Usage(Record):
    """Resource use of a process by the kernel's accounting at its end, including children that were waited for.

    Only runs that a parent process observed (``resmon run``) have it.
    """

    __slots__ = _slots(_abi.RunUsage)
    _shown = ("user_s", "system_s", "rss_peak_bytes")


class Process(Record):
    """A process that recorded its own scopes, in a run of the command ``resmon run``."""

    __slots__ = _slots(_abi.RunProcess)
    _shown = ("name", "pid", "reason", "duration_s")


class Node(Record):
    """A node of a merged run; its columns have the node's name as instance."""

    __slots__ = _slots(_abi.RunNode)
    _shown = ("name", "state", "ranks", "duration_s", "cpus")


class Rank(Record):
    """A process of a merged run, with its children; ``node`` is an index of the run's ``nodes``."""

    __slots__ = _slots(_abi.RunRank)
    _shown = ("rank", "node", "name", "duration_s", "cpu_s", "rss_peak_bytes", "reason")


class Spread(Record):
    """A scope over the ranks that were in it; ``walls_s`` has the wall time of each rank, NaN if it was not.

    ``imbalance`` is ``max_s / mean_s - 1``; ``lost_s`` is ``ranks * (max_s - mean_s)``.
    """

    __slots__ = _slots(_abi.ScopeSpread, "path", "walls_s")
    _shown = ("path", "ranks", "min_s", "mean_s", "max_s", "max_rank", "imbalance", "lost_s")


def _signal_name(number):
    import signal
    try:
        return signal.Signals(number).name if number else ""
    except ValueError:
        return f"signal {number}"


class Tag(Record):
    """A tag that the program set, ``t_s`` seconds after the start."""

    __slots__ = _slots(_abi.RunTag)


class Source(Record):
    """A file or call that columns are read from; ``reason`` is why it is unavailable, or a remark."""

    __slots__ = _slots(_abi.RunSource, "available")
    _shown = ("name", "available", "reason")

    @classmethod
    def of(cls, struct):
        source = super().of(struct)
        source.available = struct.status == 0
        return source


class Scope(Record):
    """A call path of scopes, summed over all threads, as resmon_run_scope.

    ``path`` is for example "train/epoch". ``counts`` has the values of its performance counters, by name (see
    ``counters`` of a run). CPU times, I/O and counts are an :class:`Estimate` each.
    """

    __slots__ = _slots(_abi.RunScope, "path", "counts", without=("counters",))
    _shown = ("path", "calls", "wall_s", "pcpu_s", "cpu_s", "rss_peak_bytes", "energy_j")


class Counter(Record):
    """A performance counter of scopes; ``reason`` is why it is not counted, or what replaces it."""

    __slots__ = _slots(_abi.RunCounter, "available")
    _shown = ("name", "available", "reason")

    @classmethod
    def of(cls, struct):
        counter = super().of(struct)
        counter.available = struct.status == 0
        return counter


class Line(Record):
    """A line with a checkpoint (RESMON_LINE of the C and C++ API), and the stretches that ended there.

    ``rss_bytes`` is the growth of memory in these stretches, negative if it shrank; ``rss_hits`` is the number of
    hits for which the growth is known. ``rss_max_bytes`` is the highest RSS at the line, over all hits.
    """

    __slots__ = _slots(_abi.RunLine)
    _shown = ("function", "file", "line", "hits", "wall_s", "rss_bytes", "rss_max_bytes")


class Event(Record):
    """One instance of a scope (with events)."""

    __slots__ = _slots(_abi.RunEvent)


class Frame(Record):
    """A frame of a stack; ``function`` and ``file`` are "" and ``line`` is 0 if not known."""

    __slots__ = _slots(_abi.RunFrame)
    _shown = ("function", "file", "line", "module")


class Stack(Record):
    """A stack with all its samples.

    ``frames`` are from the innermost outwards. ``samples``, ``weights`` (s, B, B) and their standard ``errors`` are
    dicts by kind: "cpu", "memory", "file". ``scope`` is the path of the innermost open scope.
    """

    __slots__ = ("scope", "frames", "is_cut", "samples", "weights", "errors")


class StackInfo(Record):
    """Summary of a kind of stacks; ``reason`` is why there are none.

    ``weight`` is the weight of all samples; its 95 % interval is ``low_weight`` to ``high_weight``. ``total`` is the
    use of the process in the same time: seconds of CPU time, or the growth in bytes of RssAnon ("memory") or of
    RssFile and RssShmem ("file").
    """

    __slots__ = _slots(_abi.RunStackInfo, "available")
    _shown = ("available", "reason", "samples", "weight", "total")

    @classmethod
    def of(cls, struct):
        info = super().of(struct)
        info.available = struct.status == 0
        return info


class PeakStack(Record):
    """The stack of a thread when memory was high: at ``t_s``, with ``rss_bytes``.

    The highest RSS that was seen is ``highest_rss_bytes``, at ``highest_t_s``. ``life_rss_bytes`` is the kernel's
    high-water mark over the life of the process.
    """

    __slots__ = ("t_s", "rss_bytes", "headroom_bytes", "thread_id", "thread_name", "scope", "frames", "is_cut",
                 "highest_rss_bytes", "highest_t_s", "life_rss_bytes")
    _shown = ("thread_name", "thread_id", "scope", "frames")


class Function(Record):
    """The weight of one kind in a function, self and total (inclusive): seconds of CPU time, or bytes.

    ``self_low`` to ``self_high`` and ``total_low`` to ``total_high`` are 95 % intervals.
    """

    __slots__ = ("name", "file", "self_weight", "total_weight", "self_share", "total_share", "samples", "self_low",
                 "self_high", "total_low", "total_high")


class Column(Record):
    """A column of the table: a metric of an instance."""

    __slots__ = _slots(_abi.Column, "name", "is_counter", without=STATISTICS)
    _shown = ("name", "unit")

    @classmethod
    def of(cls, struct):
        column = super().of(struct)
        column.is_counter = struct.kind == _abi.COUNTER
        column.name = f"{column.metric}[{column.instance}]" if column.instance else column.metric
        return column


class Statistics(Record):
    """Statistics of one column, over every sample; quantiles are within 1 %.

    For a counter (is_counter), min, max, mean, p50 and p95 are of its rate, in ``unit`` per second; first, last and
    integral are amounts since the start, in ``unit``.
    """

    __slots__ = STATISTICS + ("unit", "is_counter")
    _shown = ("n", "min", "mean", "p95", "max", "last", "unit")


class EnergyPart(Record):
    """A component: "cpu", "ram", "gpu"."""

    __slots__ = _slots(_abi.EnergyPart)


class Energy(Record):
    """Energy of the machine (node) and of the program's process tree, in joules, and their emissions.

    ``rest_j`` is the energy of other programs and idle energy that is attributed to no program.
    """

    __slots__ = _slots(_abi.Energy, "parts", "node_kwh", "tree_kwh")
    _shown = ("node_j", "tree_j", "node_gco2eq", "tree_gco2eq", "provenance", "place")

    @classmethod
    def of(cls, struct):
        energy = super().of(struct)
        energy.node_kwh = struct.node_j / 3.6e6 * struct.pue
        energy.tree_kwh = struct.tree_j / 3.6e6 * struct.pue
        energy.parts = {}
        return energy

    def __str__(self):
        def both(node, tree, unit):
            return f"{human.text_of(node, unit)} of the machine, {human.text_of(tree, unit)} the program's share"
        modelled = f" ({self.modelled_share * 100:.0f} % by a model)" if self.modelled_share > 0 else ""
        rest = "" if math.isnan(self.rest_j) else f"; {human.text_of(self.rest_j, 'J')} of other programs and idle"
        return (f"energy: {both(self.node_j, self.tree_j, 'J')}{modelled}{rest}\n"
                f"CO2eq: {both(self.node_gco2eq, self.tree_gco2eq, 'g')}, at {self.g_per_kwh:.0f} g/kWh ({self.place}), "
                f"PUE {self.pue:.2f}" + (f"\n{self.remark}" if self.remark else ""))

    def _repr_html_(self):
        rows = [[part.name, part.provenance, human.text_of(part.node_j, "J"), human.text_of(part.tree_j, "J"), part.method]
                for part in self.parts.values()]
        text = "".join(f"<div>{html.escape(line)}</div>" for line in str(self).splitlines())
        return html.wrap(text + html.table(["component", "how known", "machine", "program's share", "method"], rows, 2))


class SinkInfo(Record):
    """State of a sink: calls, failures, and the text of its latest failure."""

    __slots__ = _slots(_abi.SinkInfo)
    _shown = ("name", "status", "reason", "calls", "failures")


class Metric(Record):
    """A metric that can be measured: name, unit, help."""

    __slots__ = _slots(_abi.Metric)
    _shown = ("name", "unit", "help")


def name_of_facts(facts):
    """Returns the display name of a run: the name that it was given, otherwise the script or program."""
    run = facts.get("run", {})
    return str(run.get("name") or run.get("program") or os.path.basename(str(run.get("executable", ""))) or "run")
