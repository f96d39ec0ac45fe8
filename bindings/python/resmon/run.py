# SPDX-License-Identifier: MIT
"""Runs: what was recorded, as an immutable object, wherever it came from.

:class:`Recorded` has all that can be asked of a run; a :class:`Run` answers for a file or a snapshot, a
:class:`~resmon.monitor.Monitor` for itself, while it runs and after.
"""
import ctypes
import os
from collections.abc import Mapping, Sequence
from ctypes import byref, c_char_p, c_void_p

from . import _abi, html, human, records
from ._library import encoded, lib, take_text, text
from .errors import ArgumentError, Error, FormatError, NotFoundError

_NAN = float("nan")


class _List(Sequence):
    """Records with a table as their text."""

    def __init__(self, items):
        self._items = tuple(items)

    def __len__(self):
        return len(self._items)

    def __getitem__(self, index):
        return self._items[index]

    def _table(self):
        """Headers, rows, and how many columns from the left are text."""
        raise NotImplementedError

    def to_pandas(self):
        """A DataFrame with a row for each."""
        from .frames import frame_of_records
        return frame_of_records(self._items)

    def __repr__(self):
        headers, rows, left = self._table()
        lines = [tuple(headers), *(tuple(map(str, row)) for row in rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(headers))]
        return "\n".join("  ".join(cell.ljust(width) if i < left else cell.rjust(width)
                                   for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines)

    def _repr_html_(self):
        return html.wrap(html.table(*self._table()))


class Scopes(_List):
    """The tree of scopes in preorder; ``scopes["train/epoch"]`` finds one by its path."""

    def __getitem__(self, index):
        if not isinstance(index, str):
            return super().__getitem__(index)
        for scope in self._items:
            if scope.path == index:
                return scope
        raise NotFoundError(f"there is no scope {index!r}; there are: " +
                            (", ".join(scope.path for scope in self._items[:20]) or "none"))

    def __repr__(self):
        return super().__repr__() if self._items else "no scopes were recorded (one monitor at a time has them)"

    def _table(self):
        cells = [[make(scope) for _, make in _SCOPE_COLUMNS] for scope in self._items]
        used = [i for i in range(len(_SCOPE_COLUMNS)) if i < 4 or any(row[i] != human.UNKNOWN for row in cells)]
        rows = [["  " * scope.depth + scope.name + (" (open)" if scope.open else ""), *(row[i] for i in used)]
                for scope, row in zip(self._items, cells)]
        return ["scope", *(_SCOPE_COLUMNS[i][0] for i in used)], rows, 1


def _about(text, is_estimate):
    return "~" + text if is_estimate and text != human.UNKNOWN else text


def _io(name):
    return lambda scope: _about(human.bytes_text(getattr(scope, name)), scope.io_provenance == "sampled")


def _energy_cell(name, unit):
    def cell(scope):
        # As in the library's report: more than a tenth of it lies between two samples.
        return _about(human.prefixed(getattr(scope, name), unit), scope.energy_uncertainty_j > 0.1 * scope.energy_j)
    return cell


# Headers and texts of the table of scopes; "~" marks an estimate.
_SCOPE_COLUMNS = (
    ("calls", lambda scope: human.count_text(scope.calls + scope.open)),
    ("wall", lambda scope: human.seconds_text(scope.wall_s + scope.open_s)),
    ("self", lambda scope: human.seconds_text(scope.self_s)),
    ("longest", lambda scope: human.seconds_text(scope.wall_max_s)),
    ("CPU of thread", lambda scope: _about(human.seconds_text(scope.cpu_s), scope.cpu_provenance == "sampled")),
    ("peak RSS", lambda scope: (">=" if scope.rss_provenance == "sampled" and scope.rss_peak_bytes > 0 else "") +
     human.bytes_text(scope.rss_peak_bytes)),
    ("read calls", _io("io_read_chars")), ("write calls", _io("io_write_chars")),
    ("from storage", _io("io_read_bytes")), ("to storage", _io("io_write_bytes")),
    ("energy", _energy_cell("energy_j", "J")), ("CO2eq", _energy_cell("energy_gco2eq", "g")),
)


class Sources(_List):
    """Where the numbers are from; ``sources.missing`` are those that could not be read, and why."""

    @property
    def missing(self):
        """Sources that are not available, hardware that is not there left out."""
        return Sources(source for source in self._items if source.status not in (0, -17))

    @property
    def remarks(self):
        """Sources with something to say: all that are missing, and why figures of others are absent."""
        return Sources(source for source in self._items if source.reason and source.status != -17)

    def _table(self):
        rows = [[source.name, "yes" if source.available else "no", source.provenance, source.reason,
                 human.count_text(source.reads), human.count_text(source.failures),
                 human.seconds_text(source.cost_s / source.reads if source.reads else _NAN)] for source in self._items]
        return ["source", "available", "quality", "remark", "reads", "failures", "cost of one"], rows, 4


class Tags(_List):
    """The marks of a run, oldest first."""

    def _table(self):
        return ["label", "at"], [[tag.label, human.seconds_text(tag.t_s)] for tag in self._items], 1


class Events(_List):
    """Scope instances one by one."""

    def _table(self):
        rows = [[event.name, event.thread_name or event.thread_id, human.seconds_text(event.start_s),
                 human.seconds_text(event.duration_s)] for event in self._items]
        return ["scope", "thread", "start", "duration"], rows, 2


class Summary(Mapping):
    """Statistics over every sample by name: ``summary["proc.mem.rss"].max``.  Its text is the library's report."""

    def __init__(self, statistics, report):
        self._statistics = statistics
        self._report = report

    def __getitem__(self, name):
        try:
            return self._statistics[name]
        except KeyError:
            raise NotFoundError(f"nothing called {name!r} was measured{_nearest(name, self._statistics)}") from None

    def __contains__(self, name):
        return name in self._statistics  # Mapping's waits for a KeyError, as its get() does

    def get(self, name, default=None):
        """The statistics of a name, or `default`."""
        return self._statistics.get(name, default)

    def __iter__(self):
        return iter(self._statistics)

    def __len__(self):
        return len(self._statistics)

    def __repr__(self):
        return self._report.rstrip("\n")

    def _table(self):
        rows = []
        for name, one in self._statistics.items():
            per = "/s" if one.is_counter else ""
            texts = [human.text_of(value, one.unit, per) for value in (one.min, one.mean, one.p95, one.max)]
            rows.append([name, *texts, human.text_of(one.last, one.unit)])
        return ["metric", "min", "mean", "p95", "max", "last or total"], rows, 1

    def _repr_html_(self):
        return html.wrap(html.table(*self._table()))

    def to_pandas(self):
        """A DataFrame with a row for each metric."""
        from .frames import frame_of_records
        return frame_of_records(list(self._statistics.values()), index=list(self._statistics))


def _nearest(name, known):
    """What was probably meant."""
    import difflib
    near = difflib.get_close_matches(str(name), known, 3, 0.6)
    return f": is it {' or '.join(map(repr, near))}?" if near else "; resmon.metrics() lists what can be"


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

    # ---- figures --------------------------------------------------------------------------------

    @property
    def info(self):
        """The run as a whole: state, label, start, duration, what observing cost, what was dropped."""
        return self._get_run()._info()

    @property
    def summary(self):
        """Statistics of all columns; printed, the report of the library."""
        return self._get_run()._summary()

    @property
    def scopes(self):
        """The tree of scopes."""
        return self._get_run()._scopes()

    @property
    def sources(self):
        """What could be read, and what could not, and why."""
        run = self._get_run()
        return Sources(_all(run, lib.run_source_count, lib.run_get_source, _abi.RunSource, records.Source))

    @property
    def tags(self):
        """The marks that the program set."""
        run = self._get_run()
        return Tags(_all(run, lib.run_tag_count, lib.run_get_tag, _abi.RunTag, records.Tag))

    @property
    def events(self):
        """Scope instances one by one: the newest of each thread, as many as max_events."""
        run = self._get_run()
        return Events(_all(run, lib.run_event_count, lib.run_get_event, _abi.RunEvent, records.Event))

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
        """The figures people ask for first, by name; NaN where one is not known.  CPU time and I/O (from and to storage)
        are those of the process and its children, energy their share of the machine's.  rss_peak_bytes is of the process
        alone, exactly if it rose during the run; tree_rss_max_bytes, with the children, is the highest sample."""
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
        return take_text(lib.report_text, self._get_run()).rstrip("\n")

    def _repr_html_(self):
        return html.wrap(self._get_run()._html())


class Run(Recorded):
    """A run that does not change any more: loaded from a file, or a snapshot of a monitor."""

    _free = staticmethod(lib.run_free)

    def __init__(self, *_):
        raise TypeError("resmon.load(path) and Monitor.snapshot() make runs")

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

    def _columns(self):
        return self._cached("columns", lambda: list(_all(self, lib.run_column_count, lib.run_get_column, _abi.Column,
                                                         records.Column)))

    def _summary(self):
        def make():
            statistics, struct = {}, _abi.Statistics()
            for index, column in enumerate(self._columns()):
                lib.run_get_statistics(self, index, byref(struct))
                one = records.Statistics.of(struct)
                one.unit, one.is_counter = column.unit, column.is_counter
                statistics[column.name] = one
            return Summary(statistics, take_text(lib.report_text, self))
        return self._cached("summary", make)

    def _scopes(self):
        def make():
            scopes = list(_all(self, lib.run_scope_count, lib.run_get_scope, _abi.RunScope, records.Scope))
            for scope in scopes:
                scope.path = (scopes[scope.parent].path + "/" if scope.parent >= 0 else "") + scope.name
            return Scopes(scopes)
        return self._cached("scopes", make)

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

    def _value(self, names, attribute):
        summary = self._summary()
        for name in names:
            if name in summary:
                value = getattr(summary[name], attribute)
                if value == value:
                    return value
        return _NAN

    def _rss_peak(self):
        """The kernel's peak is that of the process's life: of the run only if it rose meanwhile.  Else the highest
        that was sampled, or that a scope measured."""
        summary = self._summary()
        life = summary.get("proc.mem.peak_rss")
        sampled = self._value(("proc.mem.rss",), "max")
        if life is not None and life.max > life.first:
            return max(life.max, sampled) if sampled == sampled else life.max
        peaks = [sampled, *(scope.rss_peak_bytes for scope in self._scopes())]
        return max((peak for peak in peaks if peak == peak), default=_NAN)

    def _headline(self):
        energy = self._energy()
        return {
            "wall_s": self._info().duration_s,
            "cpu_s": self._value(("tree.cpu.time", "proc.cpu.time"), "last"),
            "rss_peak_bytes": self._rss_peak(),
            "tree_rss_max_bytes": self._value(("tree.mem.rss",), "max"),
            "read_bytes": self._value(("tree.io.read_bytes", "proc.io.read_bytes"), "last"),
            "write_bytes": self._value(("tree.io.write_bytes", "proc.io.write_bytes"), "last"),
            "energy_j": energy.tree_j if energy else _NAN,
            "gco2eq": energy.tree_gco2eq if energy else _NAN,
        }

    def _index(self, name):
        indexes = self._cached("indexes", lambda: {column.name: i for i, column in enumerate(self._columns())})
        if name not in indexes:
            raise NotFoundError(f"the run has no column {name!r}{_nearest(name, indexes)}")
        return indexes[name]

    def _array(self, address, item):
        """Memory of the run as a ctypes array that keeps the run alive."""
        count = lib.run_row_count(self) if address else 0
        array = (item * count).from_address(address) if count else (item * 0)()
        array.run = self
        return array

    def _series(self, index, series):
        if series not in _abi.SERIES:
            raise ValueError(f"series={series!r}: one of {', '.join(map(repr, _abi.SERIES))} is wanted")
        array = self._array(lib.run_series(self, index, _abi.SERIES[series]), ctypes.c_double)
        return memoryview(array).cast("B").cast("d").toreadonly()

    def _row_times(self):
        return self._array(lib.run_row_last_ns(self), ctypes.c_int64)

    # ---- for people -----------------------------------------------------------------------------

    def _title(self):
        facts = self.facts
        run, machine, info = facts.get("run", {}), facts.get("machine", {}), self._info()
        name = run.get("name") or os.path.basename(str(run.get("executable", ""))) or "run"
        return f"{name} on {machine.get('host_name', 'an unknown host')}", info

    def __repr__(self):
        title, info = self._title()
        known = ((human.seconds_text, "wall_s", ""), (human.seconds_text, "cpu_s", " of CPU"),
                 (human.bytes_text, "rss_peak_bytes", " peak RSS"), (lambda v: human.prefixed(v, "J"), "energy_j", ""))
        headline = self._headline()
        shown = ", ".join(make(headline[key]) + after for make, key, after in known if headline[key] == headline[key])
        return f"<resmon.Run {title}: {info.state}, {info.samples} samples, {shown}>"

    def _tiles(self):
        headline = self._headline()
        makers = {"wall_s": ("wall time", human.seconds_text), "cpu_s": ("CPU time", human.seconds_text),
                  "rss_peak_bytes": ("peak RSS", human.bytes_text),
                  "tree_rss_max_bytes": ("RSS with children", human.bytes_text),
                  "read_bytes": ("from storage", human.bytes_text), "write_bytes": ("to storage", human.bytes_text),
                  "energy_j": ("energy", lambda v: human.prefixed(v, "J")),
                  "gco2eq": ("CO2eq", lambda v: human.prefixed(v, "g"))}
        if not self._has_children():
            headline["tree_rss_max_bytes"] = _NAN
        return html.tiles([(makers[key][0], makers[key][1](value)) for key, value in headline.items() if value == value])

    def _has_children(self):
        processes = self._summary().get("tree.processes")
        return processes is not None and processes.max > 1

    def _energy_note(self):
        """How the energy is known, in a line."""
        energy = self._energy()
        if energy is None or energy.tree_j != energy.tree_j:
            return ""
        place = f"{energy.place}, {energy.g_per_kwh:.0f} g/kWh"
        modelled = f", {energy.modelled_share * 100:.0f} % of it by a model" if energy.modelled_share > 0 else ""
        note = f"energy: the program's share of {human.prefixed(energy.node_j, 'J')} of the machine{modelled}; CO2eq: {place}"
        return f"<div class='note'>{html.escape(note)}</div>"

    def _sparklines(self):
        shown = (("CPU", "tree.cpu.percent", "value", "%", ""), ("memory", "tree.mem.rss", "value", "B", ""),
                 ("read calls", "tree.io.read_chars", "mean", "B", "/s"),
                 ("write calls", "tree.io.write_chars", "mean", "B", "/s"))
        times, cells = self.times, []
        known = {column.name for column in self._columns()}
        for label, name, series, unit, per in shown:
            if name not in known:
                name = name.replace("tree.", "proc.", 1)
            if name not in known:
                continue
            line = html.sparkline(times, self.series(name, series))
            top = human.text_of(self._summary()[name].max, unit, per)
            cells.append(f'<div class="tile">{label} <span class="note">max {html.escape(top)}</span><br>{line}</div>')
        return f'<div class="tiles">{"".join(cells)}</div>' if len(times) > 1 else ""

    def _html(self):
        title, info = self._title()
        energy, remarks = self._energy(), self.sources.remarks
        parts = [f"<b>{html.escape(title)}</b> <span class='note'>{html.escape(info.state)}, {info.samples} samples"
                 f"{', ' + html.escape(info.label) if info.label else ''}</span>", self._tiles(), self._sparklines()]
        if self._scopes():
            parts.append(html.table(*self._scopes()._table()))
        parts.append(self._energy_note())
        if energy and energy.remark:
            parts.append(f"<div class='note'>{html.escape(energy.remark)}</div>")
        parts.append(html.details(f"all {len(self._columns())} metrics", html.table(*self._summary()._table())))
        if remarks:
            parts.append(html.details(f"{len(remarks)} remarks on what was not measured", html.table(
                ["source", "remark"], [[source.name, source.reason] for source in remarks], 2)))
        return "".join(parts)


# ---- where runs come from ---------------------------------------------------------------------------


def parse(data):
    """A run from the text of a run document, or the bytes of a recording."""
    if not isinstance(data, bytes):
        data = data.encode("utf-8") if isinstance(data, str) else memoryview(data).tobytes()
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
        raise TypeError("load: a path is wanted, not None")
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
