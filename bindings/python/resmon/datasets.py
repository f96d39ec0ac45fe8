# SPDX-License-Identifier: MIT
"""Many runs as tables: from documents and recordings in directories, or from a Parquet dataset made of them."""
from __future__ import annotations

import hashlib
import json
import math
import os
import pwd
import re
import uuid
import warnings

from .errors import ArgumentError, Error, NotFoundError, OutOfMemoryError, ResmonWarning
from .frames import wanted
from .run import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ._types import Path

PARTITIONS: tuple[str, ...] = ("date", "user", "job_name")
_BATCH = 250  # runs that are in memory at a time
_PART = re.compile(r"(.+)\.(r\d+|monitor)\.p\d+\.")  # JOB.NODE.rRANK.pPID of `resmon job`; JOB may have dots
_NO_VALUE = "unknown"  # of what a dataset is divided by

# ---- rows -------------------------------------------------------------------------------------------


class _Source:
    """What the columns of a table are looked up in: facts of the run by group, and its records."""

    def __init__(self, run, path):
        self.run, self.file = run, path
        self.facts = run.facts
        self.own, self.job, self.machine = (self.facts.get(group, {}) for group in ("run", "job", "machine"))
        self.info, self.end, self.headline, self.energy, self.nodes = run.info, run.end, run.headline, run.energy, run.nodes
        self.spreads = run.over_ranks if run.ranks else {}
        self.scope = self.spread = self.node = None  # of the row

    def get(self, where):
        """Returns a value by its place: "headline.wall_s" is a key of a dict, or a member of a record."""
        group, _, key = where.partition(".")
        found = getattr(self, group)
        return found if not key else found.get(key) if isinstance(found, dict) else getattr(found, key, None)


def _identity(of):
    """Returns an identifier that is the same for the same run, whichever file it is in."""
    parts = (of.info.start_realtime_ns, of.machine.get("boot_id", of.machine.get("host_name")), of.own.get("pid"),
             of.job.get("system"), of.job.get("cluster"), of.job.get("id"), of.job.get("restarts"), len(of.nodes))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]


def _user(of):
    """Returns who ran the job: the owner of the file if the batch system does not report the user."""
    try:
        return of.job.get("user") or pwd.getpwuid(os.stat(of.file).st_uid).pw_name
    except (KeyError, OSError):
        return _NO_VALUE


def _job_name(of):
    return of.job.get("name") or of.own.get("name") or of.run.title


def _labels(of):
    """Returns the labels as JSON: users choose their names, so they are no columns."""
    return json.dumps(of.facts["labels"], ensure_ascii=False, sort_keys=True) if of.facts.get("labels") else None


def _total(member, otherwise):
    """Makes a sum over the nodes; of a run without nodes, a value by its place."""
    def total(of):
        known = [value for value in (getattr(node, member) for node in of.nodes) if not math.isnan(value)]
        return of.get(otherwise) if not of.nodes else sum(known) if known else None
    return total


def _statistic(metric, member):
    """Makes a member of the statistics of a column; of a row of a node, of its column."""
    def statistic(of):
        name = f"{metric}[{of.node.name}]" if of.node else metric
        return getattr(of.run.summary[name], member) if name in of.run.summary else None
    return statistic


def _cpu_of_scope(of):
    return float(of.scope.cpu_s if math.isnan(of.scope.pcpu_s) else of.scope.pcpu_s)


def _members(record, kind, *names):
    return tuple((name, kind, f"{record}.{name}") for name in names)


_OF_ALL = (("run_id", "string", _identity), ("date", "string", lambda of: of.info.start.date().isoformat()),
           ("user", "string", _user), ("job_name", "string", _job_name))

# Tables: name, type and source of each column.  A column keeps name and type for ever; new ones come last.
_COLUMNS = {
    "runs": (
        ("file", "string", "file"), ("start", "timestamp", "info.start_realtime_ns"), ("state", "string", "info.state"),
        ("end_reason", "string", "end.reason"), ("exit_status", "int64", "end.exit_status"), ("signal", "string", "end.signal"),
        ("program", "string", "own.program"), ("label", "string", lambda of: of.info.label or None),
        *_members("job", "string", "system", "cluster"), ("job_id", "string", "job.id"),
        *_members("job", "string", "array_id", "queue"), ("restarts", "int64", "job.restarts"),
        ("nodes", "int64", lambda of: len(of.nodes) or 1), ("ranks", "int64", lambda of: len(of.run.ranks) or None),
        *_members("headline", "double", "wall_s", "cpu_s", "cpu_user_s", "cpu_system_s"),
        ("allotted_cpus", "double", _total("allotted_cpus", "job.node_cpus")),
        ("allotted_bytes", "double", _total("allotted_bytes", "job.node_memory_bytes")),
        ("used_bytes", "double", _total("used_bytes", "headline.tree_rss_max_bytes")),
        ("time_limit_s", "double", "job.time_limit_s"), ("rss_peak_bytes", "double", "headline.rss_peak_bytes"),
        ("rss_peak_provenance", "string", "headline.rss_peak_provenance"),
        *_members("headline", "double", "read_bytes", "write_bytes", "energy_j"),
        ("node_energy_j", "double", "energy.node_j"), ("gco2eq", "double", "headline.gco2eq"),
        ("energy_provenance", "string", "headline.energy_provenance"), ("gpus", "double", "machine.gpus"),
        ("gpu_percent", "double", _statistic("gpu.util", "mean")), ("host", "string", "machine.host_name"),
        *_members("machine", "string", "cpu_model", "kernel"), ("overhead_cpu_s", "double", "info.library_cpu_s"),
        ("library", "string", "own.library"), ("labels", "string", _labels),
    ),
    "scopes": (
        *_members("scope", "string", "path", "name"), *_members("scope", "int64", "depth", "calls", "threads"),
        *_members("scope", "double", "wall_s", "self_s"), ("cpu_s", "double", _cpu_of_scope),
        *_members("scope", "double", "rss_peak_bytes", "energy_j"), ("gco2eq", "double", "scope.energy_gco2eq"),
        ("ranks", "int64", "spread.ranks"), *_members("spread", "double", "imbalance", "lost_s"),
    ),
    "nodes": (
        *_members("node", "string", "name", "state"),
        ("wall_s", "double", lambda of: of.node.duration_s if of.node.state != "missing" else None),
        ("ranks", "int64", "node.ranks"),
        *_members("node", "double", "cpus", "memory_bytes", "allotted_cpus", "allotted_bytes", "cpu_s", "used_bytes"),
        ("cpu_percent", "double", _statistic("node.cpu.percent", "mean")), ("gpu_percent", "double", _statistic("gpu.util", "mean")),
        ("cpu_energy_j", "double", _statistic("node.energy.cpu", "last")),
        ("ram_energy_j", "double", _statistic("node.energy.ram", "last")),
        ("gpu_energy_j", "double", _statistic("node.energy.gpu", "last")),
        *((name, "string", lambda of, name=name: getattr(of.node, name) or None) for name in ("cpu_model", "gpu_model", "kernel")),
    ),
}
TABLES: dict[str, tuple[tuple[str, str], ...]] = {
    table: tuple((name, kind) for name, kind, _ in (*_OF_ALL, *columns)) for table, columns in _COLUMNS.items()}


def _row(of, columns):
    return {name: _clean(kind, where(of) if callable(where) else of.get(where)) for name, kind, where in columns}


def _clean(kind, value):
    """Converts a value for Arrow: an unknown value becomes null."""
    if value is None or (kind in ("double", "int64") and isinstance(value, float) and math.isnan(value)):
        return None
    return str(value) if kind == "string" else float(value) if kind == "double" else int(value)


def _rows_of(run, path):
    """Returns the rows of a run, by table."""
    of = _Source(run, path)
    common = _row(of, _OF_ALL)
    rows = {"runs": [{**common, **_row(of, _COLUMNS["runs"])}], "scopes": [], "nodes": []}
    for of.scope in run.scopes:
        of.spread = of.spreads.get(of.scope.path)
        rows["scopes"].append({**common, **_row(of, _COLUMNS["scopes"])})
    for of.node in of.nodes:
        rows["nodes"].append({**common, **_row(of, _COLUMNS["nodes"])})
    return rows


# ---- files ------------------------------------------------------------------------------------------


def _is_part(name, names):
    """Whether "4711.n1.r3.p815.json" is merged in "4711.json", or a recording has its document beside it."""
    part = _PART.match(name)
    words = part[1].split(".") if part else []
    jobs = {".".join(words[:count]) + ".json" for count in range(1, len(words))}
    return bool(jobs & names) or (name.endswith(".rec") and f"{name[:-4]}.json" in names)


def _files_in(sources):
    """Yields files of runs: the given files, and those in and below directories, except parts of merged runs."""
    for source in sources:
        if not os.path.isdir(source):
            yield os.fspath(source)
            continue
        for directory, below, files in os.walk(source):
            below.sort()
            names = {name for name in files if name.endswith((".json", ".rec")) and not name.startswith(".")}
            yield from (os.path.join(directory, name) for name in sorted(names) if not _is_part(name, names))


def _loaded(path):
    """Returns the run of a file, or None: with a warning if it cannot be loaded, without if it is still running."""
    try:
        run = load(path)
    except OutOfMemoryError:
        raise
    except Error as error:
        warnings.warn(f"{path} is left out: {error}", ResmonWarning, stacklevel=4)
        return None
    return run if run.info.state != "running" else None


# ---- tables -----------------------------------------------------------------------------------------


def _schema(table):
    pyarrow = wanted("pyarrow", "dataset()")
    types = {"string": pyarrow.string(), "int64": pyarrow.int64(), "double": pyarrow.float64(),
             "timestamp": pyarrow.timestamp("ns", tz="UTC")}
    return pyarrow.schema([(name, types[kind]) for name, kind in TABLES[table]])


def _table_of(table, rows):
    pyarrow = wanted("pyarrow", "dataset()")
    return pyarrow.table({name: [row[name] for row in rows] for name, _ in TABLES[table]}, schema=_schema(table))


class Dataset:
    """Runs as pyarrow tables: ``runs``, ``scopes`` and ``nodes``; each row has the ``run_id`` of its run.

    Unknown values are null. Times are in s, sizes in B, energy in J. A job whose runs were merged is one row.
    """

    def __init__(self, sources):
        self._sources = sources
        self._tables = {}

    @property
    def runs(self) -> Any:
        """One row for each run (pyarrow.Table)."""
        return self.table("runs")

    @property
    def scopes(self) -> Any:
        """One row for each scope of each run (pyarrow.Table)."""
        return self.table("scopes")

    @property
    def nodes(self) -> Any:
        """One row for each node of each merged run (pyarrow.Table)."""
        return self.table("nodes")

    def table(self, name: str) -> Any:
        """Returns the table with this name ("runs", "scopes" or "nodes"), all of it in memory."""
        if name not in TABLES:
            raise ArgumentError(f"there is no table {name!r}; expected one of {', '.join(map(repr, TABLES))}")
        if not self._tables:
            self._tables = self._read()
        return self._tables[name]

    def _read(self):
        pyarrow = wanted("pyarrow", "dataset()")
        stored = _stored(self._sources)
        if stored:
            return {name: stored[name].to_table() for name in TABLES}
        parts = list(self._batches(set()))
        return {name: pyarrow.concat_tables([part[name] for part in parts] or [_schema(name).empty_table()]) for name in TABLES}

    def _batches(self, known):
        """Yields tables of 250 runs at a time; each run once, without the known ones."""
        rows, count = {name: [] for name in TABLES}, 0
        for path in _files_in(self._sources):
            run = _loaded(path)
            found = _rows_of(run, os.path.abspath(path)) if run else None
            if found is None or found["runs"][0]["run_id"] in known:
                continue
            known.add(found["runs"][0]["run_id"])
            for name in TABLES:
                rows[name] += found[name]
            count += 1
            if count % _BATCH == 0:
                yield {name: _table_of(name, rows[name]) for name in TABLES}
                rows = {name: [] for name in TABLES}
        if rows["runs"]:
            yield {name: _table_of(name, rows[name]) for name in TABLES}

    def save(self, directory: Path, progress: Callable[[int], object] | None = None) -> int:
        """Adds the runs that a Parquet dataset does not yet have, and returns their number.

        The dataset is created if it does not exist. Each table is a dataset of its own, divided by date, user and
        name of the job: ``runs/date=2026-11-25/user=ann/job_name=train``. Needs pyarrow.

        :param directory: directory of the Parquet dataset
        :param progress: called from time to time with the number of runs added so far
        """
        dataset = wanted("pyarrow.dataset", "Dataset.save()", "pyarrow")
        stored = _stored([directory])
        known = set(stored["runs"].to_table(columns=["run_id"])["run_id"].to_pylist()) if stored else set()
        added = 0
        for tables in self._batches(known):
            for name in reversed(TABLES):  # runs last: of a run that is there nothing else is missing
                if len(tables[name]):
                    dataset.write_dataset(tables[name], os.path.join(directory, name), format="parquet", schema=_schema(name),
                                          partitioning=_partitioning(name), existing_data_behavior="overwrite_or_ignore",
                                          basename_template=f"{uuid.uuid4().hex}-{{i}}.parquet", max_partitions=100000)
            added += len(tables["runs"])
            if progress:
                progress(added)
        return added

    def __repr__(self):
        return f"<resmon.Dataset of {', '.join(map(str, self._sources))}>"


def _partitioning(table):
    dataset = wanted("pyarrow.dataset", "dataset()", "pyarrow")
    pyarrow = wanted("pyarrow", "dataset()")
    return dataset.partitioning(pyarrow.schema([_schema(table).field(name) for name in PARTITIONS]), flavor="hive")


def _stored(sources):
    """Returns the Parquet datasets by table if the sources are one directory that has them, otherwise None."""
    if len(sources) != 1 or not os.path.isdir(os.path.join(sources[0], "runs")):
        return None
    dataset = wanted("pyarrow.dataset", "dataset()", "pyarrow")
    found = {}
    for name in TABLES:
        path = os.path.join(sources[0], name)
        if os.path.isdir(path):
            found[name] = dataset.dataset(path, schema=_schema(name), format="parquet", partitioning=_partitioning(name))
        else:  # no run had a row of it
            found[name] = dataset.dataset(_schema(name).empty_table())
    return found


def dataset(*sources: Path) -> Dataset:
    """Opens many runs as tables, and returns a :class:`Dataset`.

    ::

        data = resmon.dataset("jobs")
        print(data.runs.to_pandas()[["job_name", "wall_s", "energy_j"]])
        data.save("parquet")

    Runs that are still running are skipped. If a merged run of a job exists, the runs of its ranks are skipped. Files
    that cannot be loaded are skipped with a ResmonWarning. NotFoundError: a source does not exist. The tables need
    pyarrow.

    :param sources: files of runs, directories (searched recursively), or one directory made by :meth:`Dataset.save`
    """
    if not sources:
        raise ArgumentError("dataset(): a directory is wanted, or files of runs")
    for source in sources:
        if not os.path.exists(source):
            raise NotFoundError(f"{source} does not exist")
    return Dataset([os.fspath(source) for source in sources])
