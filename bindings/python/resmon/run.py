# SPDX-License-Identifier: MIT
"""Runs: recorded data as immutable objects, from a file, a snapshot or a monitor.

:class:`Recorded` has the properties and methods of a run. A :class:`Run` is loaded from a file or is a snapshot. A
:class:`~resmon.Monitor` has the same members, while it runs and after.
"""
from __future__ import annotations

import ctypes
import os
from ctypes import byref, c_char_p, c_void_p
from functools import partial

from . import _abi, human
from ._generated_records import FactEntry
from ._library import encoded, handles_of, lib, series_of, take_text, text
from .errors import ArgumentError, ArgumentTypeError, Error, FormatError, NotFoundError
from .records import (Column, Counter, End, Energy, EnergyPart, Estimate, Event, Headline, Info, Line, Metric, Node, Process, Rank,
                      Record, Scope, Source, Spread, Statistics, Tag, Usage, name_of_facts)
from .results import Events, Scopes, Sources, Summary, Tags, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from ._types import Path
    from .plots import Plot
    from .records import PeakStack, StackInfo
    from .stacks import Functions, Stacks

_NAN = float("nan")


def _terminal_width() -> int:
    import shutil
    return max(shutil.get_terminal_size((_abi.REPORT_WIDTH, 0)).columns, _abi.REPORT_LEAST_WIDTH)


# ---- members of a run ---------------------------------------------------------------------------------


def _records(name: str, kind: type[Record], doc: str, sequence: Callable[[Iterator[Any]], Any] = list) -> Any:
    """Makes a property: the records that resmon_run_NAME_count() counts and resmon_run_get_NAME() copies."""
    def get(self: Recorded) -> Any:
        return sequence(kind.each(getattr(lib, f"run_{name}_count"), getattr(lib, f"run_get_{name}"), self._get_run()))
    return property(get, doc=doc)


def _record(name: str, kind: type[Record], doc: str) -> Any:
    """Makes a property: the record that resmon_run_get_NAME() copies; None if the run has none."""
    def get(self: Recorded) -> Any:
        try:
            return kind.read(getattr(lib, f"run_get_{name}"), self._get_run())
        except NotFoundError:
            return None
    return property(get, doc=doc)


if TYPE_CHECKING:
    _made_once = property
else:
    def _made_once(make):
        """Makes a property of a function that gets the Run with the data, and is called once for each."""
        def get(self):
            run = self._get_run()
            if make not in run._made:
                run._made[make] = make(run)
            return run._made[make]
        return property(get, doc=make.__doc__)


class Recorded:
    """Properties and methods of a run; base class of :class:`Run` and :class:`~resmon.Monitor`.

    Times are in seconds, sizes in bytes, energies in joules; unknown values are NaN.
    """

    def _get_run(self) -> Run:
        """Returns the Run that has the data."""
        raise NotImplementedError

    # ---- values ---------------------------------------------------------------------------------

    info: Info = _record("info", Info, """
        The run as a whole (:class:`~resmon.records.Info`): state, label, start, duration, overhead, dropped data.""")

    end: End = _record("end", End, """
        How the program ended (:class:`~resmon.records.End`): reason, exit status, signal, text of the exception.""")

    usage: Usage | None = _record("usage", Usage, """
        Resource use by the kernel's accounting when the process ended (:class:`~resmon.records.Usage`).

        It includes children that were waited for. Only runs of the command ``resmon run`` have it; otherwise None.
        """)

    sources: Sources = _records("source", Source, """
        The sources (:class:`~resmon.results.Sources`): which could be read, and why others are unavailable.""", Sources)

    processes: list[Process] = _records("process", Process, """
        The processes whose scopes are in a run of the command ``resmon run``; otherwise empty.""")

    nodes: list[Node] = _records("node", Node, "The nodes of a merged run (:func:`resmon.merge`); otherwise empty.")

    ranks: list[Rank] = _records("rank", Rank, "The ranks of a merged run, in their order; otherwise empty.")

    tags: Tags = _records("tag", Tag, "The tags that the program set (:class:`~resmon.results.Tags`).", Tags)

    events: Events = _records("event", Event, """
        The newest scope instances of each thread; the option ``events`` limits their number.""", Events)

    counters: list[Counter] = _records("counter", Counter, """
        Performance counters of scopes (with scopes="perf"); each scope has its values in ``counts``.""")

    checkpoints: list[Line] = _records("line", Line, """
        Lines with RESMON_LINE() of a C or C++ program, with the values measured up to each.

        lines() shows them as tables. For Python functions, use resmon.lines.
        """)

    @_made_once
    def columns(self) -> list[Column]:
        """The columns of the table (:class:`~resmon.records.Column`)."""
        return list(Column.each(lib.run_column_count, lib.run_get_column, self))

    @_made_once
    def summary(self) -> Summary:
        """Statistics of all columns (:class:`~resmon.results.Summary`); printed, it is the report of the run."""
        statistics = {}
        for column, one in zip(self.columns, Statistics.each(lib.run_column_count, lib.run_get_column, self)):
            one.unit, one.is_counter = column.unit, column.is_counter
            statistics[column.name] = one
        return Summary(statistics, self._text)

    @_made_once
    def scopes(self) -> Scopes:
        """The tree of scopes (:class:`~resmon.results.Scopes`): ``run.scopes["train/step"].wall_s``."""
        scopes = list(self._scopes(lib.run_scope_count, lib.run_get_scope))
        for scope in scopes:
            name = scope.name.replace("\\", "\\\\").replace("/", "\\/")  # not a separator
            scope.path = (scopes[scope.parent].path + "/" if scope.parent >= 0 else "") + name
        return Scopes(scopes, partial(self._table, "scopes"))

    @_made_once
    def scopes_by_name(self) -> Scopes:
        """The scopes of each name together, from all places in the tree, most self time first.

        A scope inside another scope of the same name is already in the time of the outer one: ``wall_s``, ``cpu_s``,
        I/O and energy count it once.
        """
        scopes = list(self._scopes(lib.run_scope_name_count, lib.run_get_scope_name))
        for scope in scopes:
            scope.path = scope.name
        return Scopes(scopes, partial(self._table, "scope_names"))

    def _scopes(self, count: Callable[..., int], get: Callable[..., object]) -> Iterator[Scope]:
        names = [counter.name for counter in self.counters]
        struct = _abi.RunScope()
        for index in range(count(self)):
            get(self, index, byref(struct))
            scope, found = Scope.of(struct), struct.counters
            figures = [found[i] if found else _abi.Estimate(_NAN, _NAN, _NAN) for i in range(len(names))]
            scope.counts = {name: Estimate(one.value, one.low, one.high) for name, one in zip(names, figures)}
            yield scope

    @_made_once
    def over_ranks(self) -> dict[str, Spread]:
        """Imbalance of the ranks of a merged run: a :class:`~resmon.records.Spread` for each scope, by its path."""
        found, ranks = {}, lib.run_rank_count(self)
        for index, scope in enumerate(self.scopes if ranks else ()):
            spread = found[scope.path] = Spread.read(lib.run_get_scope_spread, self, index)
            spread.path = scope.path
            spread.walls_s = [wall / 1e9 for wall in lib.run_scope_walls(self, index)[:ranks]]
        return found

    @property
    def energy(self) -> Energy | None:
        """Energy in joules and emissions in gCO2eq (:class:`~resmon.records.Energy`); None if energy was not sampled.
        """
        run = self._get_run()
        try:
            energy = Energy.read(lib.run_get_energy, run)
        except NotFoundError:
            return None
        energy.parts = {part.name: part for part in EnergyPart.each(lib.run_energy_part_count, lib.run_get_energy_part, run)}
        return energy

    @property
    def figures(self) -> dict[str, float]:
        """18 values that describe a job on one node, by the names that MLflow gets; NaN: not measured."""
        run = self._get_run()
        return {text(lib.node_figure_name(i)): lib.run_node_figure(run, i) for i in range(lib.node_figure_count())}

    @property
    def headline(self) -> dict[str, Any]:
        """The most important values, by name; NaN: not known.

        CPU time and I/O are of the process and its children; ``read_bytes`` and ``write_bytes`` are from and to
        storage. Energy is their share of the machine's energy. ``rss_peak_bytes`` is of the process alone, and exact
        if ``rss_peak_provenance`` is "measured". ``tree_rss_max_bytes`` includes the children and is the highest
        sample.
        """
        return Headline.read(lib.run_get_headline, self._get_run()).to_dict()

    @property
    def facts(self) -> dict[str, dict[str, str | int | float]]:
        """Values that do not change: {"run": ..., "machine": ..., "job": ..., "settings": ..., "energy": ...}."""
        groups: dict[str, dict[str, str | int | float]] = {}
        for fact in FactEntry.each(lib.run_fact_count, lib.run_get_fact, self._get_run()):
            number = float if any(c in fact.value for c in ".eE") else int
            groups.setdefault(fact.group, {})[fact.key] = number(fact.value) if fact.is_number else fact.value
        return groups

    # ---- stacks ---------------------------------------------------------------------------------

    @_made_once
    def stacks(self) -> Stacks:
        """The sampled stacks (``Monitor(stacks="cpu+memory")``), each with its scope, frames and weights."""
        from .stacks import stacks_of
        return stacks_of(self)

    @property
    def stack_info(self) -> dict[str, StackInfo]:
        """A :class:`~resmon.records.StackInfo` for each kind of stacks: "cpu", "memory", "file",
        "resident".

        It has the number of samples, their weight with its 95 % interval, and the total: CPU time, or the growth of
        RssAnon or RssFile. If there are no stacks, it has the reason.
        """
        from .stacks import info_of
        return info_of(self._get_run())

    @property
    def stack_losses(self) -> dict[str, int]:
        """Numbers of stack samples that were lost or cut, by cause.

        "ring full", "no room", "blocked": lost samples; "too deep", "not unwound": cut samples; "threads": threads
        that could not be sampled; "modules": libraries without names.
        """
        from .stacks import losses_of
        return losses_of(self._get_run())

    @property
    def peak_stacks(self) -> list[PeakStack]:
        """Stack of each thread when memory was high (``Monitor(stacks="peak")``).

        The RSS was ``rss_bytes`` then; ``highest_rss_bytes`` is the highest RSS that was seen.
        """
        from .stacks import peak_of
        return peak_of(self._get_run())

    def functions(self, kind: str = "cpu") -> Functions:
        """Returns the CPU time or memory of each function, self and inclusive (:class:`~resmon.stacks.Functions`).

        :param kind: "cpu" (s), "memory", "file" or "resident" (B)
        """
        from .stacks import functions_of, kind_of
        kind_of(kind)
        return functions_of(self.stacks, kind, self.stack_info[kind].total)

    def lines(self, function: str | None = None) -> str:
        """Returns tables by source line, as text, from checkpoints and stacks.

        :param function: name of a function; default: the hot functions
        """
        return take_text(lib.report_lines, self._get_run(), encoded(function, "function")).strip("\n")

    # ---- the table ------------------------------------------------------------------------------

    def series(self, name: str, series: str = "value") -> memoryview[float]:
        """Returns one column as a read-only memoryview of doubles, without a copy; NaN: not read.

        NotFoundError: there is no such column.

        :param name: name of the column, such as "proc.mem.rss"
        :param series: "last", "min", "max", "mean" (of a counter: per second) or "value": the mean of a gauge, the
            growth of a counter since the start
        """
        run = self._get_run()
        return run._series(run._index(name), series)

    @property
    def times(self) -> list[float]:
        """End of each row, in seconds since the start."""
        run = self._get_run()
        return [t / 1e9 for t in run._row_times()]

    def to_pandas(self, series: str = "value", columns: str | Sequence[str] | None = None) -> Any:
        """Returns the table as a DataFrame, with a column for each metric.

        The index is "elapsed" in seconds; the column "time" is in UTC. A row covers one sample. In long runs (more
        than ``rows`` samples) it covers 2, 4, 8, ... samples: values of gauges are then means, and ``series="max"``
        has the maxima. Units are in ``frame.attrs["units"]``. Needs pandas.

        :param series: as in :meth:`series`
        :param columns: name or names of the columns; default: all
        """
        from .frames import frame_of_run
        return frame_of_run(self._get_run(), series, [columns] if isinstance(columns, str) else columns)

    def to_arrow(self, series: str = "value") -> Any:
        """Returns the table as a pyarrow.Table, without copying the values."""
        from .frames import arrow_table
        return arrow_table(self._get_run(), series)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule interface: pyarrow.table(run), polars.DataFrame(run), duckdb."""
        from .frames import stream_capsule
        return stream_capsule(self._get_run(), "value")

    # ---- files ----------------------------------------------------------------------------------

    def save(self, path: Path, format: str | None = None, series: str = "value", **options: Any) -> None:
        """Writes the run to a file, in the format that the ending of its name selects, as ``resmon export`` does.

        ".json": the run document, which load() reads; ".csv": the table; ".trace.json": a trace for Perfetto; ".html",
        ".md", ".pdf", ".txt": reports; ".folded", ".pb.gz": stacks. With pandas or pyarrow also ".parquet",
        ".feather", ".orc", ".h5" and ".pkl": the table. The file is replaced atomically. "%p", "%h", "%j", "%r" in the
        path of a format of the library become process, host, job and rank. ArgumentError: no format has this ending.
        NotFoundError: the run has no stacks of this kind.

        :param format: default: by the ending. One of the above, of the sinks of a monitor (``resmon.keywords()``), such
            as "emissions", or of an older tool: "perfmon", "reseng", "perf_reports"
        :param series: as in :meth:`series`; for tables by pandas and pyarrow
        :param options: options of the sink
        """
        from .exports import save
        save(self._get_run(), path, format, series, options)

    export = save

    def save_trace(self, path: Path) -> None:
        """Writes a trace for Perfetto, or the Firefox profiler, whatever the ending of its name."""
        self.save(path, "trace")

    def save_folded(self, path: Path, kind: str = "cpu") -> None:
        """Writes stacks as lines for flamegraph.pl and similar tools.

        NotFoundError: the run has no stacks of this kind.

        :param kind: "cpu" (microseconds), "memory", "file" or "resident" (KiB)
        """
        from .stacks import kind_of
        self.save(path, f"folded_{kind}" if kind_of(kind) else "folded")

    def save_pprof(self, path: Path) -> None:
        """Writes stacks for pprof and speedscope.app; NotFoundError: the run has none."""
        self.save(path, "pprof")

    def to_json(self) -> str:
        """Returns the run document as text."""
        return take_text(lib.run_document, self._get_run())

    def document(self) -> dict[str, Any]:
        """Returns the run document as a dict."""
        import json
        return json.loads(self.to_json())

    def prometheus_text(self) -> str:
        """Returns the values as text that Prometheus scrapes."""
        return take_text(lib.prometheus_text, self._get_run(), None)

    # ---- for people -----------------------------------------------------------------------------

    def plot(self, *panels: str | Sequence[str], **options: Any) -> Plot:
        """Plots CPU, memory, read, write, and further panels that have data; see :func:`resmon.plot`."""
        from .plots import plot
        return plot(self._get_run(), *panels, **options)

    def report(self, path: Path, **options: Any) -> None:
        """Writes a report as HTML, PDF or Markdown; see :func:`resmon.report`."""
        from .reports import report
        return report([self._get_run()], path, **options)

    def __str__(self) -> str:
        return self._get_run()._text().rstrip("\n")

    def _repr_html_(self) -> str:
        from .run_html import page
        return page(self._get_run())

    def _text(self, full: bool = False, width: int | None = None) -> str:
        if width is None:
            width = _terminal_width()
        elif not isinstance(width, int) or not _abi.REPORT_LEAST_WIDTH <= width < 1 << 32:
            raise ArgumentError(f"width={width!r}: expected a number of columns, at least {_abi.REPORT_LEAST_WIDTH}")
        detail = _abi.REPORT_FULL if full else 0
        return take_text(lib.report_text, self, byref(_abi.ReportOptions(detail=detail, width=width)))

    def _table(self, name: str, form: int) -> str:
        return take_text(lib.report_table, self, name.encode(), byref(_abi.TableOptions(form=form, width=_terminal_width())))


class Run(Recorded):
    """An immutable run: loaded from a file, or a snapshot of a monitor."""

    _as_parameter_: Any
    _made: dict[Any, Any]
    _free = staticmethod(lib.run_free)

    def __init__(self, *_: object) -> None:
        raise ArgumentTypeError("a Run cannot be created directly: use resmon.load(path) or Monitor.snapshot()")

    @classmethod
    def _own(cls, handle: c_void_p) -> Run:
        run = object.__new__(cls)
        run._as_parameter_ = handle
        run._made = {}
        return run

    def __del__(self) -> None:
        handle = getattr(self, "_as_parameter_", None)
        if handle is not None:
            self._as_parameter_ = None
            self._free(handle)

    def __reduce__(self) -> Any:
        return parse, (self.to_json(),)

    def _get_run(self) -> Run:
        return self

    @_made_once
    def _indexes(self) -> dict[str, int]:
        return {column.name: i for i, column in enumerate(self.columns)}

    def _index(self, name: str) -> int:
        if name not in self._indexes:
            raise NotFoundError(f"the run has no column {name!r}{nearest(name, self._indexes)}")
        return self._indexes[name]

    def _array(self, pointer: Any) -> Any:
        """Returns memory of the run as a ctypes array that keeps the run alive."""
        count = lib.run_row_count(self) if pointer else 0
        array = (pointer._type_ * count).from_address(ctypes.addressof(pointer.contents)) if count else (pointer._type_ * 0)()
        array.run = self
        return array

    def _series(self, index: int, series: str) -> memoryview[float]:
        array = self._array(lib.run_series(self, index, series_of(series)))
        values: Any = memoryview(array).cast("B").cast("d").toreadonly()
        return values

    def _row_times(self) -> Any:
        return self._array(lib.run_row_last_ns(self))

    def _columns_of_nodes(self) -> Iterator[tuple[Column, str, str]]:
        """Yields the columns of single nodes of a merged run: "0[n1]" is the part "0" of the node n1, "n1" all of it."""
        nodes = {node.name for node in self.nodes}
        for column in self.columns:
            part, _, node = column.instance.rpartition("[")
            if column.instance in nodes:
                yield column, "", column.instance
            elif node[-1:] == "]" and node[:-1] in nodes:
                yield column, part, node[:-1]

    # ---- for people -----------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """Name of the run and its host."""
        facts = self.facts
        return f"{name_of_facts(facts)} on {facts.get('machine', {}).get('host_name', 'an unknown host')}"

    def _outcome(self) -> str:
        """Returns the state for people: how the program ended if it failed, otherwise the state of the run."""
        end = self.end
        return str(end) if end.reason in ("failed", "interrupted", "killed") else self.info.state

    def __repr__(self) -> str:
        known = ((human.seconds_text, "wall_s", ""), (human.seconds_text, "cpu_s", " of CPU"),
                 (human.bytes_text, "rss_peak_bytes", " peak RSS"), (lambda v: human.text_of(v, "J"), "energy_j", ""))
        headline = self.headline
        shown = ", ".join(make(headline[key]) + after for make, key, after in known if headline[key] == headline[key])
        return f"<resmon.Run {self.title}: {self._outcome()}, {self.info.samples} samples, {shown}>"


# ---- where runs come from ---------------------------------------------------------------------------


def parse(data: str | bytes | bytearray | memoryview) -> Run:
    """Returns a :class:`Run` from the text of a run document, or the bytes of a recording.

    FormatError: the data are neither. VersionError: made by an incompatible version.
    """
    content: Any = encoded(data, "a run document") if isinstance(data, str) else memoryview(data).tobytes()
    handle = c_void_p()
    lib.run_parse(c_char_p(content), len(content), byref(handle))
    return Run._own(handle)


def _load_old(path, failure):
    """Returns the runs of a file of an older tool; raises the failure of the library for other files."""
    import json

    from . import formats
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except (ValueError, OSError, RecursionError):
        raise FormatError(f"{os.fspath(path)} is not a run: {failure}.  Supported files: run documents (save()), "
                          "recordings (record=), and JSON of perfmon, reseng or perf.py") from None
    shape = formats.detect(content)
    if shape is None:
        raise FormatError(f"{os.fspath(path)} is JSON, but not a run document or a file of perfmon, reseng or perf.py: "
                          f"{failure}") from None
    if shape == "resmon-run":
        raise failure from None
    try:
        return [parse(json.dumps(document)) for document in formats.read(content)]
    except ValueError as error:
        raise error if isinstance(error, Error) else FormatError(f"{os.fspath(path)} ({shape}): {error}") from None


def load_all(path: Path) -> list[Run]:
    """Loads all runs of a file, as a list.

    There is one run, or one for each node in a file of perfmon or perf.py. Errors are those of :func:`load`.
    """
    handle = c_void_p()
    if path is None:
        raise ArgumentTypeError("load: expected a path, not None")
    try:
        lib.run_load(encoded(path, "path"), byref(handle))
    except FormatError as failure:
        return _load_old(path, failure)
    return [Run._own(handle)]


def load(path: Path) -> Run:
    """Loads a run from a run document, a recording, or a file of an older tool, and returns a :class:`Run`.

    ::

        run = resmon.load("run.json")
        print(run.summary)
        print(run.headline["rss_peak_bytes"])

    Older tools are reseng (its dump), perfmon (cpu_metrics.json) and perf.py (its reports). The recording of a killed
    program has the data up to its last sample. NotFoundError, AccessError: the file cannot be opened. FormatError: it
    is not a run, or has several runs (:func:`load_all`). VersionError: made by an incompatible version.
    """
    runs = load_all(path)
    if len(runs) != 1:
        raise FormatError(f"{os.fspath(path)} has {len(runs)} runs: use resmon.load_all(), which returns a list")
    return runs[0]


def save_trace(runs: Sequence[Recorded], path: Path) -> None:
    """Writes one or several runs (processes, nodes) to one trace."""
    handles = [run._get_run() for run in runs]
    lib.trace_save(handles_of(handles), len(handles), encoded(path, "path"))


def metrics() -> list[Metric]:
    """Returns all metrics that can be measured, as a list of :class:`~resmon.records.Metric`."""
    return list(Metric.each(lib.metric_count, lib.metric_at))
