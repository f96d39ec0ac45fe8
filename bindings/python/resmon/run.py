# SPDX-License-Identifier: MIT
"""Runs: what was recorded, as an immutable object, wherever it came from.

:class:`Recorded` has all that can be asked of a run; a :class:`Run` answers for a file or a snapshot, a
:class:`~resmon.monitor.Monitor` for itself, while it runs and after.
"""
import ctypes
import os
from ctypes import byref, c_char_p, c_void_p

from . import _abi, human, records
from ._library import encoded, lib, take_text, text
from .errors import ArgumentError, ArgumentTypeError, Error, FormatError, NotFoundError
from .results import Events, Scopes, Sources, Summary, Tags, nearest

_NAN = float("nan")


def _all(handle, count, get, struct_type, record_type):
    struct = struct_type()
    for index in range(count(handle)):
        get(handle, index, byref(struct))
        yield record_type.of(struct)


class Recorded:
    """What can be asked of a run."""

    def _get_run(self):
        """The Run that answers."""
        raise NotImplementedError

    def _outcome(self):
        """The state for people: that of the run, or how its program ended where that is more."""
        end = self.end
        return str(end) if end.reason in ("failed", "interrupted", "killed") else self.info.state

    # ---- figures --------------------------------------------------------------------------------

    @property
    def info(self):
        """The run as a whole: state, label, start, duration, what observing cost, what was dropped."""
        return self._get_run()._info()

    @property
    def end(self):
        """How the program ended: reason, exit status, signal, and the exception in words."""
        return self._get_run()._end()

    @property
    def usage(self):
        """What the kernel had accounted to the process when it ended, with its children: of a run of the command ``resmon
        run``; None: nobody said it."""
        return self._get_run()._usage()

    @property
    def summary(self):
        """Statistics of all columns; printed, the report of the library."""
        return self._get_run()._summary()

    @property
    def scopes(self):
        """The tree of scopes."""
        return self._get_run()._scopes()

    @property
    def scopes_by_name(self):
        """The scopes of each name together, wherever they stand in the tree, most self time first.  What is inside of
        another scope of its name is in that one's time already: ``wall_s``, ``cpu_s``, I/O and energy count it once."""
        return self._get_run()._scopes_by_name()

    @property
    def sources(self):
        """What could be read, and what could not, and why."""
        run = self._get_run()
        return Sources(_all(run, lib.run_source_count, lib.run_get_source, _abi.RunSource, records.Source))

    @property
    def processes(self):
        """The processes whose scopes are in a run of the command ``resmon run``; empty of most runs."""
        run = self._get_run()
        return list(_all(run, lib.run_process_count, lib.run_get_process, _abi.RunProcess, records.Process))

    @property
    def nodes(self):
        """The nodes of a merged run (:func:`resmon.merge`); empty of others."""
        run = self._get_run()
        return list(_all(run, lib.run_node_count, lib.run_get_node, _abi.RunNode, records.Node))

    @property
    def ranks(self):
        """The ranks of a merged run, in their order; empty of others."""
        run = self._get_run()
        return list(_all(run, lib.run_rank_count, lib.run_get_rank, _abi.RunRank, records.Rank))

    @property
    def over_ranks(self):
        """How evenly the ranks of a merged run took their time: a Spread for each scope, by its path."""
        return self._get_run()._spreads()

    @property
    def tags(self):
        """The marks that the program set."""
        run = self._get_run()
        return Tags(_all(run, lib.run_tag_count, lib.run_get_tag, _abi.RunTag, records.Tag))

    @property
    def events(self):
        """Scope instances one by one: the newest of each thread, as many as events."""
        run = self._get_run()
        return Events(_all(run, lib.run_event_count, lib.run_get_event, _abi.RunEvent, records.Event))

    @property
    def counters(self):
        """Performance counters of scopes (with scopes="perf"); what each scope counted is in its ``counts``."""
        return list(_all(self._get_run(), lib.run_counter_count, lib.run_get_counter, _abi.RunCounter, records.Counter))

    @property
    def checkpoints(self):
        """Lines with RESMON_LINE() of a program in C or C++, and what was measured up to each; lines() has them as
        tables.  For functions of Python there is resmon.lines."""
        return list(_all(self._get_run(), lib.run_line_count, lib.run_get_line, _abi.RunLine, records.Line))

    @property
    def energy(self):
        """Joules and gCO2eq; None where energy was not asked for."""
        return self._get_run()._energy()

    @property
    def figures(self):
        """The 18 figures that describe a job on one node, by the names that MLflow gets."""
        run = self._get_run()
        return {text(lib.node_figure_name(i)): lib.run_node_figure(run, i) for i in range(lib.node_figure_count())}

    @property
    def headline(self):
        """The figures people ask for first, by name; NaN where one is not known.  CPU time and I/O (read_bytes and
        write_bytes are from and to storage) are those of the process and its children, energy their share of the machine's.
        rss_peak_bytes is of the process alone, exactly if rss_peak_provenance is "measured"; tree_rss_max_bytes, with the
        children, is the highest sample."""
        return self._get_run()._headline()

    @property
    def facts(self):
        """What does not change: {"run": ..., "machine": ..., "job": ..., "settings": ..., "energy": ...}."""
        run, groups, fact = self._get_run(), {}, _abi.RunFactEntry()
        for index in range(lib.run_fact_count(run)):
            lib.run_get_fact(run, index, byref(fact))
            value = text(fact.value)
            if fact.is_number:
                value = float(value) if any(c in value for c in ".eE") else int(value)
            groups.setdefault(text(fact.group), {})[text(fact.key)] = value
        return groups

    # ---- stacks ---------------------------------------------------------------------------------

    @property
    def stacks(self):
        """The stacks that were sampled (``Monitor(stacks="cpu+memory")``), each with its scope, frames and weights."""
        return self._get_run()._stacks()

    @property
    def stack_info(self):
        """By kind ("cpu", "memory", "file"): samples, what they weigh and between what that lies in 95 of 100 cases, of how
        much (``total``: CPU time, or what RssAnon or RssFile rose by), and why there are none."""
        from .stacks import info_of
        return info_of(self._get_run())

    @property
    def stack_losses(self):
        """Samples that were lost ("ring full", "no room", "blocked") or cut ("too deep", "not unwound"), and threads
        that could not be sampled ("threads"), and libraries that have no names ("modules"); how many of each."""
        from .stacks import losses_of
        return losses_of(self._get_run())

    @property
    def peak_stacks(self):
        """Where each thread was when memory was high (``Monitor(stacks="peak")``): at ``rss_bytes``, and the highest that
        was seen is ``highest_rss_bytes``."""
        from .stacks import peak_of
        return peak_of(self._get_run())

    def functions(self, kind="cpu"):
        """What functions took of "cpu", "memory" or "file": themselves, and with what they called."""
        from .stacks import functions_of, kind_of
        kind_of(kind)
        return functions_of(self.stacks, kind, self.stack_info[kind].total)

    def lines(self, function=None):
        """The tables by line of the source, as text, of checkpoints and stacks: of a function, or of the hot ones."""
        return take_text(lib.report_lines, self._get_run(), encoded(function, "function")).strip("\n")

    # ---- the table ------------------------------------------------------------------------------

    @property
    def columns(self):
        """The columns of the table."""
        return self._get_run()._columns()

    def series(self, name, series="value"):
        """One column as a read-only memoryview of doubles, without a copy; NaN where it was not read.

        ``series`` is "last", "min", "max", "mean" (of a counter: per second) or "value": the mean of a gauge,
        the growth of a counter since the start.
        """
        run = self._get_run()
        return run._series(run._index(name), series)

    @property
    def times(self):
        """Seconds since the start at which each row ends."""
        run = self._get_run()
        return [t / 1e9 for t in run._row_times()]

    def to_pandas(self, series="value", columns=None):
        """The table as a DataFrame: index "elapsed" in seconds, "time" in UTC, a column for each metric.

        A row covers one sample, and of a long run (more than ``rows`` samples) 2, 4, 8, ... of them: values are means of
        gauges then, and ``series="max"`` has the extremes.  ``columns`` limits it to some names.  Units are in
        ``frame.attrs["units"]``.
        """
        from .frames import frame_of_run
        return frame_of_run(self._get_run(), series, [columns] if isinstance(columns, str) else columns)

    def to_arrow(self, series="value"):
        """The table as a pyarrow.Table, without copying the values."""
        from .frames import arrow_table
        return arrow_table(self._get_run(), series)

    def __arrow_c_stream__(self, requested_schema=None):
        """The Arrow PyCapsule interface: pyarrow.table(run), polars.DataFrame(run), duckdb."""
        from .arrow import stream_capsule
        return stream_capsule(self._get_run(), "value")

    # ---- files ----------------------------------------------------------------------------------

    def save(self, path):
        """Writes the run document (JSON), atomically; "%p", "%h", "%j", "%r" in the path become process, host,
        job and rank."""
        ending = os.path.splitext(os.fspath(path))[1].lower()
        if ending in (".csv", ".parquet", ".pq", ".feather", ".arrow", ".orc", ".h5", ".hdf5", ".pkl", ".pickle"):
            raise ArgumentError(f"save({os.fspath(path)!r}) would write a run document, which is JSON: export() writes "
                                f"the table as {ending}")
        lib.run_save(self._get_run(), encoded(path, "path"))

    def save_csv(self, path):
        """Writes the table as CSV, and its columns to a second file beside it."""
        lib.run_save_csv(self._get_run(), encoded(path, "path"))

    def save_trace(self, path):
        """Writes a trace for Perfetto, speedscope or the Firefox profiler."""
        save_trace([self._get_run()], path)

    def save_folded(self, path, kind="cpu"):
        """Writes stacks as lines for flamegraph.pl and its kin: microseconds of "cpu", KiB of "memory" or "file"."""
        from .stacks import kind_of
        lib.run_save_folded(self._get_run(), kind_of(kind), encoded(path, "path"))

    def save_speedscope(self, path):
        """Writes stacks for speedscope.app."""
        lib.run_save_speedscope(self._get_run(), encoded(path, "path"))

    def save_pprof(self, path):
        """Writes stacks for pprof."""
        lib.run_save_pprof(self._get_run(), encoded(path, "path"))

    def save_openmetrics(self, path):
        """Writes the whole run with timestamps, to be back-filled into a Prometheus."""
        lib.run_save_openmetrics(self._get_run(), encoded(path, "path"))

    def append_emissions(self, path, process=False):
        """Appends a line of codecarbon's emissions.csv; ``process``: of the program's share."""
        options = _abi.EmissionsOptions(path=encoded(path, "path"), flags=_abi.EMISSIONS_PROCESS if process else 0)
        lib.run_append_emissions(self._get_run(), byref(options))

    def export(self, path, format=None, series="value"):
        """Writes the table as CSV, JSON, Parquet, Feather, ORC, HDF5 or pickle: by the ending of the path, or
        ``format``; or in the shape of an older tool: "perfmon", "reseng", "perf_reports"."""
        from .exports import export
        export(self._get_run(), path, format, series)

    def to_json(self):
        """The run document as text."""
        return take_text(lib.run_document, self._get_run())

    def document(self):
        """The run document as a dict."""
        import json
        return json.loads(self.to_json())

    def prometheus_text(self):
        """The figures as text that Prometheus scrapes."""
        return take_text(lib.prometheus_text, self._get_run(), None)

    # ---- for people -----------------------------------------------------------------------------

    def plot(self, *panels, **options):
        """The familiar figure: CPU, memory, read, write, and more where there is more; see resmon.plot()."""
        from .plots import plot
        return plot(self._get_run(), *panels, **options)

    def report(self, path, **options):
        """A report as HTML or PDF; see resmon.report()."""
        from .reports import report
        return report([self._get_run()], path, **options)

    def __str__(self):
        return self._get_run()._text().rstrip("\n")

    def _repr_html_(self):
        from .run_html import page
        return page(self._get_run())


class Run(Recorded):
    """A run that does not change any more: loaded from a file, or a snapshot of a monitor."""

    _free = staticmethod(lib.run_free)

    def __init__(self, *_):
        raise ArgumentTypeError("resmon.load(path) and Monitor.snapshot() make runs")

    @classmethod
    def _own(cls, handle):
        run = object.__new__(cls)
        run._as_parameter_ = handle
        run._cache = {}
        return run

    def __del__(self):
        handle = getattr(self, "_as_parameter_", None)
        if handle is not None:
            self._as_parameter_ = None
            self._free(handle)

    def __reduce__(self):
        return parse, (self.to_json(),)

    def _get_run(self):
        return self

    def _cached(self, key, make):
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    def _info(self):
        def make():
            struct = _abi.RunInfo()
            lib.run_get_info(self, byref(struct))
            return records.Info.of(struct)
        return self._cached("info", make)

    def _end(self):
        struct = _abi.RunEnd()
        lib.run_get_end(self, byref(struct))
        return records.End.of(struct)

    def _usage(self):
        struct = _abi.RunUsage()
        try:
            lib.run_get_usage(self, byref(struct))
        except NotFoundError:
            return None
        return records.Usage.of(struct)

    def _columns(self):
        return self._cached("columns", lambda: list(_all(self, lib.run_column_count, lib.run_get_column, _abi.Column,
                                                         records.Column)))

    def _summary(self):
        def make():
            statistics, struct = {}, _abi.Column()
            for index, column in enumerate(self._columns()):
                lib.run_get_column(self, index, byref(struct))
                one = records.Statistics.of(struct)
                one.unit, one.is_counter = column.unit, column.is_counter
                statistics[column.name] = one
            return Summary(statistics, self._text)
        return self._cached("summary", make)

    def _scopes(self):
        def make():
            scopes = list(self._all_scopes(lib.run_scope_count, lib.run_get_scope))
            for scope in scopes:
                name = scope.name.replace("\\", "\\\\").replace("/", "\\/")  # told from those between names
                scope.path = (scopes[scope.parent].path + "/" if scope.parent >= 0 else "") + name
            return Scopes(scopes)
        return self._cached("scopes", make)

    def _spreads(self):
        struct, found, ranks = _abi.ScopeSpread(), {}, lib.run_rank_count(self)
        for index, scope in enumerate(self._scopes() if ranks else ()):
            lib.run_get_scope_spread(self, index, byref(struct))
            spread = found[scope.path] = records.Spread.of(struct)
            spread.path = scope.path
            spread.walls_s = [wall / 1e9 for wall in lib.run_scope_walls(self, index)[:ranks]]
        return found

    def _scopes_by_name(self):
        def make():
            scopes = list(self._all_scopes(lib.run_scope_name_count, lib.run_get_scope_name))
            for scope in scopes:
                scope.path = scope.name
            return Scopes(scopes)
        return self._cached("scopes_by_name", make)

    def _stacks(self):
        from .stacks import stacks_of
        return self._cached("stacks", lambda: stacks_of(self))

    def _all_scopes(self, count, get):
        names = [counter.name for counter in self.counters]
        struct = _abi.RunScope()
        for index in range(count(self)):
            get(self, index, byref(struct))
            scope, found = records.Scope.of(struct), struct.counters
            figures = [found[i] if found else _abi.Estimate(_NAN, _NAN, _NAN) for i in range(len(names))]
            scope.counts = {name: records.Estimate(one.value, one.low, one.high) for name, one in zip(names, figures)}
            yield scope

    def _energy(self):
        struct = _abi.Energy()
        try:
            lib.run_get_energy(self, byref(struct))
        except NotFoundError:
            return None
        energy = records.Energy.of(struct)
        energy.parts = {part.name: part for part in _all(self, lib.run_energy_part_count, lib.run_get_energy_part,
                                                         _abi.EnergyPart, records.EnergyPart)}
        return energy

    def _rows(self):
        """The rows of the brief report: label, value, and clauses."""
        options = _abi.ReportOptions(detail=_abi.REPORT_ROWS)
        return [line.split("\t") for line in take_text(lib.report_text, self, byref(options)).split("\n")[:-1]]

    def _text(self, full=False, width=None):
        if width is None:
            import shutil
            width = max(shutil.get_terminal_size((_abi.REPORT_WIDTH, 0)).columns, _abi.REPORT_LEAST_WIDTH)
        elif not isinstance(width, int) or not _abi.REPORT_LEAST_WIDTH <= width < 1 << 32:
            raise ArgumentError(f"width={width!r}: a number of columns is wanted, {_abi.REPORT_LEAST_WIDTH} at least")
        detail = _abi.REPORT_FULL if full else 0
        return take_text(lib.report_text, self, byref(_abi.ReportOptions(detail=detail, width=width)))

    def _headline(self):
        struct = _abi.Headline()
        lib.run_get_headline(self, byref(struct))
        headline = records.Headline.of(struct)
        return {name: getattr(headline, name) for name in headline.__slots__}

    def _index(self, name):
        indexes = self._cached("indexes", lambda: {column.name: i for i, column in enumerate(self._columns())})
        if name not in indexes:
            raise NotFoundError(f"the run has no column {name!r}{nearest(name, indexes)}")
        return indexes[name]

    def _array(self, address, item):
        """Memory of the run as a ctypes array that keeps the run alive."""
        count = lib.run_row_count(self) if address else 0
        array = (item * count).from_address(address) if count else (item * 0)()
        array.run = self
        return array

    def _series(self, index, series):
        if series not in _abi.SERIES:
            raise ArgumentError(f"series={series!r}: one of {', '.join(map(repr, _abi.SERIES))} is wanted")
        array = self._array(lib.run_series(self, index, _abi.SERIES[series]), ctypes.c_double)
        return memoryview(array).cast("B").cast("d").toreadonly()

    def _row_times(self):
        return self._array(lib.run_row_last_ns(self), ctypes.c_int64)

    # ---- for people -----------------------------------------------------------------------------

    @property
    def title(self):
        """Name and host."""
        facts = self.facts
        return f"{records.name_of_facts(facts)} on {facts.get('machine', {}).get('host_name', 'an unknown host')}"

    def __repr__(self):
        info = self._info()
        known = ((human.seconds_text, "wall_s", ""), (human.seconds_text, "cpu_s", " of CPU"),
                 (human.bytes_text, "rss_peak_bytes", " peak RSS"), (lambda v: human.text_of(v, "J"), "energy_j", ""))
        headline = self._headline()
        shown = ", ".join(make(headline[key]) + after for make, key, after in known if headline[key] == headline[key])
        return f"<resmon.Run {self.title}: {self._outcome()}, {info.samples} samples, {shown}>"


# ---- where runs come from ---------------------------------------------------------------------------


def parse(data):
    """A run from the text of a run document, or the bytes of a recording."""
    if not isinstance(data, bytes):
        data = encoded(data, "a run document") if isinstance(data, str) else memoryview(data).tobytes()
    handle = c_void_p()
    lib.run_parse(c_char_p(data), len(data), byref(handle))
    return Run._own(handle)


def _load_old(path, failure):
    """Runs from a file of an older tool; the library's failure where it is none."""
    import json

    from . import formats
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except (ValueError, OSError, RecursionError):
        raise FormatError(f"{os.fspath(path)} is no run: {failure}.  What can be loaded is what save() writes, a recording "
                          "(record=), and JSON of perfmon, reseng or perf.py") from None
    shape = formats.detect(content)
    if shape is None:
        raise FormatError(f"{os.fspath(path)} is JSON, but neither a run document nor of perfmon, reseng or perf.py: "
                          f"{failure}") from None
    if shape == "resmon-run":
        raise failure from None
    try:
        return [parse(json.dumps(document)) for document in formats.read(content)]
    except ValueError as error:
        raise error if isinstance(error, Error) else FormatError(f"{os.fspath(path)} ({shape}): {error}") from None


def load_all(path):
    """All runs of a file: one, or one for each node in a file of perfmon or perf.py."""
    handle = c_void_p()
    if path is None:
        raise ArgumentTypeError("load: a path is wanted, not None")
    try:
        lib.run_load(encoded(path, "path"), byref(handle))
    except FormatError as failure:
        return _load_old(path, failure)
    return [Run._own(handle)]


def load(path):
    """A run from a run document, the recording of a program that was killed, or a file of an older tool (reseng's
    dump, perfmon's cpu_metrics.json, perf.py's reports).  Of a file with several nodes, see load_all()."""
    runs = load_all(path)
    if len(runs) != 1:
        raise FormatError(f"{os.fspath(path)} holds {len(runs)} runs: resmon.load_all() gives a list of them")
    return runs[0]


def save_trace(runs, path):
    """Writes one or several runs (processes, nodes) to one trace."""
    runs = [run._get_run() for run in runs]
    handles = (c_void_p * len(runs))(*(run._as_parameter_ for run in runs))
    lib.trace_save(handles, len(runs), encoded(path, "path"))


def metrics():
    """Everything that can be measured, as a list of Metric."""
    struct, found = _abi.Metric(), []
    for index in range(lib.metric_count()):
        lib.metric_at(index, byref(struct))
        found.append(records.Metric.of(struct))
    return found
