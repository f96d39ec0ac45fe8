# SPDX-License-Identifier: MIT
"""The records that a run consists of, as Python objects: plain values without pointers into the library.

Times are seconds, sizes bytes, energies joules; unknown values are NaN. Most members are those of the structures of the
C interface.
"""
from __future__ import annotations

import math
import os

from . import _abi, html, human
from . import _generated_records as made
from ._generated_records import EnergyPart, Event, Frame, Headline, Line, Metric, Node, Process, Rank, SinkInfo, Tag, Usage
from ._record import Estimate, Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

__all__ = ["Column", "Counter", "End", "Energy", "EnergyPart", "Estimate", "Event", "Frame", "Function", "Headline", "Info", "Line",
           "Metric", "Node", "PeakStack", "Process", "Rank", "Record", "Scope", "SinkInfo", "Source", "Spread", "Stack", "StackInfo",
           "Statistics", "Tag", "Usage", "name_of_facts"]

# What repr() shows of these; of the others, everything.
for _class, _names in ((Usage, "user_s system_s rss_peak_bytes"), (Process, "name pid reason duration_s"),
                       (Node, "name state ranks duration_s cpus"),
                       (Rank, "rank node name duration_s cpu_s rss_peak_bytes reason"),
                       (Line, "function file line hits wall_s rss_bytes rss_max_bytes"), (Frame, "function file line module"),
                       (SinkInfo, "name status reason calls failures"), (Metric, "name unit help")):
    _class._shown = tuple(_names.split())


class Info(made.Info):
    """The run as a whole, as resmon_run_info."""

    __slots__ = ()

    @property
    def start(self) -> datetime:
        """Start of the run, as a datetime in UTC."""
        from datetime import datetime, timezone
        return datetime.fromtimestamp(self.start_realtime_ns / 1e9, timezone.utc)


class End(Record):
    """How the program ended; as text, for example "failed: ValueError: no such column".

    ``reason`` is "running", "finished", "failed", "interrupted" (by its user), "killed" (by another signal), or
    "unknown" (it ended without a message). ``exit_status`` is 0 also if it is not known. ``signal`` is a name such as
    "SIGTERM", or "". ``text`` is the text of the exception, or "".
    """

    __slots__ = ("reason", "exit_status", "signal", "text")
    _struct = "RunEnd"
    reason: str
    exit_status: int
    signal: str
    text: str

    @classmethod
    def of(cls, struct: Any) -> End:
        end = super().of(struct)
        end.signal = _signal_name(struct.signal_number)
        return end

    def __str__(self) -> str:
        by = f" by {self.signal}" if self.signal else ""
        more = self.text or (f"exit status {self.exit_status}" if self.exit_status else "")
        return f"{self.reason}{by}" + (f": {more}" if more else "")


def _signal_name(number: int) -> str:
    import signal
    try:
        return signal.Signals(number).name if number else ""
    except ValueError:
        return f"signal {number}"


class Spread(made.ScopeSpread):
    """A scope over the ranks that were in it; ``walls_s`` has the wall time of each rank, NaN if it was not.

    ``imbalance`` is ``max_s / mean_s - 1``; ``lost_s`` is ``ranks * (max_s - mean_s)``.
    """

    __slots__ = ("path", "walls_s")
    _shown = ("path", "ranks", "min_s", "mean_s", "max_s", "max_rank", "imbalance", "lost_s")
    path: str
    walls_s: list[float]


class _WithStatus(Record):
    """What may be unavailable."""

    __slots__ = ()

    @classmethod
    def of(cls, struct: Any) -> Any:
        record: Any = super().of(struct)
        record.available = struct.status == 0
        return record


class Source(_WithStatus, made.Source):
    """A file or call that columns are read from; ``reason`` is why it is unavailable, or a remark."""

    __slots__ = ("available",)
    _shown = ("name", "available", "reason")
    available: bool


class Counter(_WithStatus, made.Counter):
    """A performance counter of scopes; ``reason`` is why it is not counted, or what replaces it."""

    __slots__ = ("available",)
    _shown = ("name", "available", "reason")
    available: bool


class Scope(made.Scope):
    """A call path of scopes, summed over all threads, as resmon_run_scope.

    ``path`` is for example "train/epoch". ``counts`` has the values of its performance counters, by name (see
    ``counters`` of a run). CPU times, I/O and counts are an :class:`Estimate` each.
    """

    __slots__ = ("path", "counts")
    _shown = ("path", "calls", "wall_s", "pcpu_s", "cpu_s", "rss_peak_bytes", "energy_j")
    path: str
    counts: dict[str, Estimate]


class Stack(Record):
    """A stack with all its samples.

    ``frames`` are from the innermost outwards. ``samples``, ``weights`` (s, B, B) and their standard ``errors`` are
    dicts by kind: "cpu", "memory", "file", "resident". ``scope`` is the path of the innermost open scope.
    """

    __slots__ = ("scope", "frames", "is_cut", "samples", "weights", "errors")
    scope: str
    frames: tuple[Frame, ...]
    is_cut: bool
    samples: dict[str, int]
    weights: dict[str, float]
    errors: dict[str, float]


class StackInfo(_WithStatus, made.StackInfo):
    """Summary of a kind of stacks; ``reason`` is why there are none.

    ``weight`` is the weight of all samples; its 95 % interval is ``low_weight`` to ``high_weight``. ``total`` is the
    use of the process in the same time: seconds of CPU time, or the growth in bytes of RssAnon ("memory") or of
    RssFile and RssShmem ("file"); "resident" is what is still there of "memory".
    """

    __slots__ = ("available",)
    _shown = ("available", "reason", "samples", "weight", "total")
    available: bool


class PeakStack(made.PeakStack):
    """The stack of a thread when memory was high: at ``t_s``, with ``rss_bytes``.

    The highest RSS that was seen is ``highest_rss_bytes``, at ``highest_t_s``. ``life_rss_bytes`` is the kernel's
    high-water mark over the life of the process.
    """

    __slots__ = ()
    _shown = ("thread_name", "thread_id", "scope", "frames")
    scope: str  # type: ignore[assignment]
    frames: tuple[Frame, ...]  # type: ignore[assignment]


class Function(Record):
    """The weight of one kind in a function, self and total (inclusive): seconds of CPU time, or bytes.

    ``self_low`` to ``self_high`` and ``total_low`` to ``total_high`` are 95 % intervals.
    """

    __slots__ = ("name", "file", "self_weight", "total_weight", "self_share", "total_share", "samples", "self_low",
                 "self_high", "total_low", "total_high")
    name: str
    file: str
    self_weight: float
    total_weight: float
    self_share: float
    total_share: float
    samples: int
    self_low: float
    self_high: float
    total_low: float
    total_high: float


class Column(made.Column):
    """A column of the table: a metric of an instance."""

    __slots__ = ("name", "is_counter")
    _shown = ("name", "unit")
    name: str
    is_counter: bool

    @classmethod
    def of(cls, struct: Any) -> Column:
        column = super().of(struct)
        column.is_counter = struct.kind == _abi.COUNTER
        column.name = f"{column.metric}[{column.instance}]" if column.instance else column.metric
        return column


class Statistics(made.Statistics):
    """Statistics of one column, over every sample; quantiles are within 1 %.

    For a counter (is_counter), min, max, mean, p50 and p95 are of its rate, in ``unit`` per second; first, last and
    integral are amounts since the start, in ``unit``.
    """

    __slots__ = ("unit", "is_counter")
    _shown = ("n", "min", "mean", "p95", "max", "last", "unit")
    unit: str
    is_counter: bool


class Energy(made.Energy):
    """Energy of the machine (node) and of the program's process tree, in joules, and their emissions.

    ``rest_j`` is the energy of other programs and idle energy that is attributed to no program.
    """

    __slots__ = ("parts", "node_kwh", "tree_kwh")
    _shown = ("node_j", "tree_j", "node_gco2eq", "tree_gco2eq", "provenance", "place")
    parts: dict[str, EnergyPart]
    node_kwh: float
    tree_kwh: float

    @classmethod
    def of(cls, struct: Any) -> Energy:
        energy = super().of(struct)
        energy.node_kwh = struct.node_j / 3.6e6 * struct.pue
        energy.tree_kwh = struct.tree_j / 3.6e6 * struct.pue
        energy.parts = {}
        return energy

    def __str__(self) -> str:
        def both(node: float, tree: float, unit: str) -> str:
            return f"{human.text_of(node, unit)} of the machine, {human.text_of(tree, unit)} the program's share"
        modelled = f" ({self.modelled_share * 100:.0f} % by a model)" if self.modelled_share > 0 else ""
        rest = "" if math.isnan(self.rest_j) else f"; {human.text_of(self.rest_j, 'J')} of other programs and idle"
        return (f"energy: {both(self.node_j, self.tree_j, 'J')}{modelled}{rest}\n"
                f"CO2eq: {both(self.node_gco2eq, self.tree_gco2eq, 'g')}, at {self.g_per_kwh:.0f} g/kWh ({self.place}), "
                f"PUE {self.pue:.2f}" + (f"\n{self.remark}" if self.remark else ""))

    def _repr_html_(self) -> str:
        rows = [[part.name, part.provenance, human.text_of(part.node_j, "J"), human.text_of(part.tree_j, "J"), part.method]
                for part in self.parts.values()]
        text = "".join(f"<div>{html.escape(line)}</div>" for line in str(self).splitlines())
        return html.wrap(text + html.table(["component", "how known", "machine", "program's share", "method"], rows, 2))


def name_of_facts(facts: dict[str, dict[str, Any]]) -> str:
    """Returns the display name of a run: the name that it was given, otherwise the script or program."""
    run = facts.get("run", {})
    return str(run.get("name") or run.get("program") or os.path.basename(str(run.get("executable", ""))) or "run")
