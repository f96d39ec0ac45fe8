# SPDX-License-Identifier: MIT
"""What a run consists of, as objects of Python: plain values, no pointers into the library.

Times are seconds, sizes bytes, energies joules; what is not known is NaN.  Each class is made from a structure
of the interface: a member "wall_ns" becomes the attribute ``wall_s``.
"""
from . import _abi, html, human
from ._library import text


def _is_time(name):
    return name.endswith("_ns") and not name.endswith("_realtime_ns")


def _plain(name, value):
    if _is_time(name):
        return value / 1e9
    if isinstance(value, bytes) or value is None:
        return text(value)
    if name.endswith("provenance"):
        return _abi.PROVENANCES.get(value, "none")
    return value


def _attribute(name):
    return name[:-3] + "_s" if _is_time(name) else name


class Record:
    """Named values; equal when all of them are."""

    __slots__ = ()
    _struct = None
    _shown = ()

    @classmethod
    def of(cls, struct):
        """From a structure of the interface."""
        record = cls()
        for name, _ in struct._fields_:
            attribute = _attribute(name)
            if attribute in cls.__slots__:
                setattr(record, attribute, _plain(name, getattr(struct, name)))
        return record

    def to_dict(self):
        """All values by name."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __eq__(self, other):
        return self.to_dict() == other.to_dict() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self):
        return hash(tuple(self.to_dict().values()))

    def __getstate__(self):
        return self.to_dict()

    def __setstate__(self, state):
        for name, value in state.items():
            setattr(self, name, value)

    def __repr__(self):
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._shown or self.__slots__)
        return f"{type(self).__name__}({shown})"


def _slots(struct, *more):
    skipped = ("struct_size", "reserved")
    return tuple(_attribute(name) for name, _ in struct._fields_ if name not in skipped) + more


class Info(Record):
    """A run as a whole; as resmon_run_info."""

    __slots__ = _slots(_abi.RunInfo)

    @property
    def start(self):
        """When it began, as a datetime in UTC."""
        from datetime import datetime, timezone
        return datetime.fromtimestamp(self.start_realtime_ns / 1e9, timezone.utc)


class Tag(Record):
    """A mark that the program set, ``t_s`` seconds after the start."""

    __slots__ = _slots(_abi.RunTag)


class Source(Record):
    """A file or call that columns are read from; ``reason`` says why it is not available, or what to know."""

    __slots__ = _slots(_abi.RunSource, "available")
    _shown = ("name", "available", "reason")

    @classmethod
    def of(cls, struct):
        source = super().of(struct)
        source.available = struct.status == 0
        return source


class Scope(Record):
    """A call path of scopes, all threads together; as resmon_run_scope.  ``path`` is "train/epoch", ``counts`` what its
    performance counters counted, by name (see ``counters`` of a run)."""

    __slots__ = _slots(_abi.RunScope, "path", "counts")
    _shown = ("path", "calls", "wall_s", "cpu_s", "rss_peak_bytes", "energy_j")


class Counter(Record):
    """A performance counter of scopes; ``reason`` says why it is not counted, or what it stands for."""

    __slots__ = _slots(_abi.RunCounter, "available")
    _shown = ("name", "available", "reason")

    @classmethod
    def of(cls, struct):
        counter = super().of(struct)
        counter.available = struct.status == 0
        return counter


class Line(Record):
    """A line with a checkpoint (RESMON_LINE of the C and C++ interface): the stretches that ended there.  ``rss_bytes`` is
    by how much memory grew meanwhile, less than 0 where it shrank; ``rss_hits`` are the hits of which that is known.
    ``rss_max_bytes`` is the memory in use when the line was passed, the highest of all times."""

    __slots__ = _slots(_abi.RunLine)
    _shown = ("function", "file", "line", "hits", "wall_s", "rss_bytes", "rss_max_bytes")


class Event(Record):
    """One instance of a scope (with max_events)."""

    __slots__ = _slots(_abi.RunEvent)


class Frame(Record):
    """A frame of a stack; ``function`` and ``file`` are "" and ``line`` is 0 where they are not known."""

    __slots__ = _slots(_abi.RunFrame)
    _shown = ("function", "file", "line", "module")

    @classmethod
    def of(cls, struct):
        frame = super().of(struct)
        frame.is_inlined = bool(struct.is_inlined)
        return frame


class Stack(Record):
    """A stack with all samples of it: ``frames`` from the innermost outwards, ``samples`` and ``weights`` (s, B, B) by
    kind: "cpu", "memory", "file".  ``scope`` is the path of the innermost scope that was open."""

    __slots__ = ("scope", "frames", "is_cut", "samples", "weights")


class StackInfo(Record):
    """What is known of a kind of stacks; ``reason`` says why there are none.  ``weight`` is of all samples, and ``total``
    what the process took meanwhile: seconds of CPU time, bytes."""

    __slots__ = _slots(_abi.RunStackInfo, "available")
    _shown = ("available", "reason", "samples", "weight", "total")

    @classmethod
    def of(cls, struct):
        info = super().of(struct)
        info.available = struct.status == 0
        return info


class PeakStack(Record):
    """Where a thread was when memory was highest."""

    __slots__ = ("t_s", "rss_bytes", "headroom_bytes", "thread_id", "thread_name", "scope", "frames", "is_cut")
    _shown = ("thread_name", "thread_id", "scope", "frames")


class Function(Record):
    """What a function took of one kind, itself and with what it called: seconds of CPU time, bytes."""

    __slots__ = ("name", "file", "self_weight", "total_weight", "self_share", "total_share", "samples")


class Column(Record):
    """A column of the table: a metric of an instance."""

    __slots__ = _slots(_abi.Column, "name", "is_counter")
    _shown = ("name", "unit")

    @classmethod
    def of(cls, struct):
        column = super().of(struct)
        column.is_counter = struct.kind == _abi.COUNTER
        column.kind = "counter" if column.is_counter else "gauge"
        column.level = _abi.LEVELS.get(struct.level, "")
        column.name = f"{column.metric}[{column.instance}]" if column.instance else column.metric
        return column


class Statistics(Record):
    """Of one column, over every sample.  Of a counter (is_counter), min, max, mean, p50 and p95 are of its rate, ``unit``
    per second, and first, last and integral are amounts since the start, in ``unit``.  Quantiles are within 1 %."""

    __slots__ = _slots(_abi.Statistics, "unit", "is_counter")
    _shown = ("n", "min", "mean", "p95", "max", "last", "unit")


class EnergyPart(Record):
    """A component: "cpu", "ram", "gpu"."""

    __slots__ = _slots(_abi.EnergyPart)


class Energy(Record):
    """Joules of the machine (node) and of the program's process tree, and what they cost where it stands."""

    __slots__ = _slots(_abi.Energy, "parts", "node_kwh", "tree_kwh")
    _shown = ("node_j", "tree_j", "node_gco2eq", "tree_gco2eq", "provenance", "place")

    @classmethod
    def of(cls, struct):
        energy = super().of(struct)
        energy.basis = _abi.BASES.get(struct.basis, "")
        energy.node_kwh = struct.node_j / 3.6e6 * struct.pue
        energy.tree_kwh = struct.tree_j / 3.6e6 * struct.pue
        energy.parts = {}
        return energy

    def __str__(self):
        def both(node, tree, unit):
            return f"{human.prefixed(node, unit)} of the machine, {human.prefixed(tree, unit)} the program's share"
        modelled = f" ({self.modelled_share * 100:.0f} % by a model)" if self.modelled_share > 0 else ""
        return (f"energy: {both(self.node_j, self.tree_j, 'J')}{modelled}\n"
                f"CO2eq: {both(self.node_gco2eq, self.tree_gco2eq, 'g')}, at {self.g_per_kwh:.0f} g/kWh ({self.place}), "
                f"PUE {self.pue:.2f}" + (f"\n{self.remark}" if self.remark else ""))

    def _repr_html_(self):
        rows = [[part.name, part.provenance, human.prefixed(part.node_j, "J"), human.prefixed(part.tree_j, "J"), part.method]
                for part in self.parts.values()]
        text = "".join(f"<div>{html.escape(line)}</div>" for line in str(self).splitlines())
        return html.wrap(text + html.table(["component", "how known", "machine", "program's share", "method"], rows, 2))


class SinkInfo(Record):
    """How a sink fares."""

    __slots__ = _slots(_abi.SinkInfo)
    _shown = ("name", "status", "reason", "calls", "failures")


class Metric(Record):
    """A row of the table of everything that can be measured."""

    __slots__ = _slots(_abi.Metric)
    _shown = ("name", "unit", "help")

    @classmethod
    def of(cls, struct):
        metric = super().of(struct)
        metric.kind = "counter" if struct.kind == _abi.COUNTER else "gauge"
        metric.level = _abi.LEVELS.get(struct.level, "")
        return metric
