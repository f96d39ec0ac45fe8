# SPDX-License-Identifier: MIT
"""Many runs as tables: from documents and recordings in directories, or from a Parquet dataset made of them."""
from __future__ import annotations

import hashlib
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

# Tables: name and type of each column.  A column keeps both for ever; new ones come last.
TABLES: dict[str, tuple[tuple[str, str], ...]] = {
    "runs": (
        ("run_id", "string"), ("date", "string"), ("user", "string"), ("job_name", "string"), ("file", "string"),
        ("start", "timestamp"), ("state", "string"), ("end_reason", "string"), ("exit_status", "int64"), ("signal", "string"),
        ("program", "string"), ("label", "string"), ("system", "string"), ("cluster", "string"), ("job_id", "string"),
        ("array_id", "string"), ("queue", "string"), ("restarts", "int64"), ("nodes", "int64"), ("ranks", "int64"),
        ("wall_s", "double"), ("cpu_s", "double"), ("cpu_user_s", "double"), ("cpu_system_s", "double"),
        ("allotted_cpus", "double"), ("allotted_bytes", "double"), ("used_bytes", "double"), ("time_limit_s", "double"),
        ("rss_peak_bytes", "double"), ("rss_peak_provenance", "string"), ("read_bytes", "double"), ("write_bytes", "double"),
        ("energy_j", "double"), ("node_energy_j", "double"), ("gco2eq", "double"), ("energy_provenance", "string"),
        ("gpus", "double"), ("gpu_percent", "double"), ("host", "string"), ("cpu_model", "string"), ("kernel", "string"),
        ("overhead_cpu_s", "double"), ("library", "string"),
    ),
    "scopes": (
        ("run_id", "string"), ("date", "string"), ("user", "string"), ("job_name", "string"), ("path", "string"),
        ("name", "string"), ("depth", "int64"), ("calls", "int64"), ("threads", "int64"), ("wall_s", "double"),
        ("self_s", "double"), ("cpu_s", "double"), ("rss_peak_bytes", "double"), ("energy_j", "double"), ("gco2eq", "double"),
        ("ranks", "int64"), ("imbalance", "double"), ("lost_s", "double"),
    ),
    "nodes": (
        ("run_id", "string"), ("date", "string"), ("user", "string"), ("job_name", "string"), ("name", "string"),
        ("state", "string"), ("wall_s", "double"), ("ranks", "int64"), ("cpus", "double"), ("memory_bytes", "double"),
        ("allotted_cpus", "double"), ("allotted_bytes", "double"), ("cpu_s", "double"), ("used_bytes", "double"),
        ("cpu_percent", "double"), ("gpu_percent", "double"), ("cpu_energy_j", "double"), ("ram_energy_j", "double"),
        ("gpu_energy_j", "double"), ("cpu_model", "string"), ("gpu_model", "string"), ("kernel", "string"),
    ),
}


# ---- rows -------------------------------------------------------------------------------------------


def _sum(values):
    known = [value for value in values if not math.isnan(value)]
    return sum(known) if known else math.nan


def _statistic(run, name, member):
    return getattr(run.summary[name], member) if name in run.summary else math.nan


def _identity(run, facts):
    """Returns an identifier that is the same for the same run, whichever file it is in."""
    own, job, machine = (facts.get(group, {}) for group in ("run", "job", "machine"))
    parts = (run.info.start_realtime_ns, machine.get("boot_id", machine.get("host_name")), own.get("pid"),
             job.get("system"), job.get("cluster"), job.get("id"), job.get("restarts"), len(run.nodes))
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]


def _owner(path):
    """Returns the owner of the file: who ran the job, if the batch system does not report the user."""
    try:
        return pwd.getpwuid(os.stat(path).st_uid).pw_name
    except (KeyError, OSError):
        return _NO_VALUE


def _row_of_run(run, path):
    facts = run.facts
    job, machine, own = (facts.get(group, {}) for group in ("job", "machine", "run"))
    headline, end, energy, nodes = run.headline, run.end, run.energy, run.nodes
    return {
        "run_id": _identity(run, facts), "date": run.info.start.date().isoformat(),
        "user": str(job.get("user") or _owner(path)), "job_name": str(job.get("name") or own.get("name") or run.title),
        "file": path, "start": run.info.start_realtime_ns, "state": run.info.state, "end_reason": end.reason,
        "exit_status": end.exit_status, "signal": end.signal, "program": own.get("program"), "label": run.info.label or None,
        "system": job.get("system"), "cluster": job.get("cluster"), "job_id": job.get("id"), "array_id": job.get("array_id"),
        "queue": job.get("queue"), "restarts": job.get("restarts"), "nodes": len(nodes) or 1, "ranks": len(run.ranks) or None,
        "wall_s": headline["wall_s"], "cpu_s": headline["cpu_s"],
        "cpu_user_s": headline["cpu_user_s"], "cpu_system_s": headline["cpu_system_s"],
        "allotted_cpus": _sum([node.allotted_cpus for node in nodes]) if nodes else job.get("node_cpus", math.nan),
        "allotted_bytes": _sum([node.allotted_bytes for node in nodes]) if nodes else job.get("node_memory_bytes", math.nan),
        "used_bytes": _sum([node.used_bytes for node in nodes]) if nodes else headline["tree_rss_max_bytes"],
        "time_limit_s": job.get("time_limit_s", math.nan), "rss_peak_bytes": headline["rss_peak_bytes"],
        "rss_peak_provenance": headline["rss_peak_provenance"], "read_bytes": headline["read_bytes"],
        "write_bytes": headline["write_bytes"], "energy_j": headline["energy_j"],
        "node_energy_j": energy.node_j if energy else math.nan, "gco2eq": headline["gco2eq"],
        "energy_provenance": headline["energy_provenance"], "gpus": machine.get("gpus", math.nan),
        "gpu_percent": _statistic(run, "gpu.util", "mean"), "host": machine.get("host_name"),
        "cpu_model": machine.get("cpu_model"), "kernel": machine.get("kernel"), "overhead_cpu_s": run.info.library_cpu_s,
        "library": own.get("library"),
    }


def _row_of_scope(scope, spread):
    cpu = scope.cpu_s if math.isnan(scope.pcpu_s) else scope.pcpu_s
    return {
        "path": scope.path, "name": scope.name, "depth": scope.depth, "calls": scope.calls, "threads": scope.threads,
        "wall_s": scope.wall_s, "self_s": scope.self_s, "cpu_s": float(cpu),
        "rss_peak_bytes": scope.rss_peak_bytes, "energy_j": scope.energy_j, "gco2eq": scope.energy_gco2eq,
        "ranks": spread.ranks if spread else None, "imbalance": spread.imbalance if spread else math.nan,
        "lost_s": spread.lost_s if spread else math.nan,
    }


def _row_of_node(run, node):
    def of(metric, member):
        return _statistic(run, f"{metric}[{node.name}]", member)
    return {
        "name": node.name, "state": node.state, "wall_s": node.duration_s if node.state != "missing" else math.nan,
        "ranks": node.ranks, "cpus": node.cpus, "memory_bytes": node.memory_bytes, "allotted_cpus": node.allotted_cpus,
        "allotted_bytes": node.allotted_bytes, "cpu_s": node.cpu_s, "used_bytes": node.used_bytes,
        "cpu_percent": of("node.cpu.percent", "mean"), "gpu_percent": of("gpu.util", "mean"),
        "cpu_energy_j": of("node.energy.cpu", "last"), "ram_energy_j": of("node.energy.ram", "last"),
        "gpu_energy_j": of("node.energy.gpu", "last"), "cpu_model": node.cpu_model or None, "gpu_model": node.gpu_model or None,
        "kernel": node.kernel or None,
    }


def _rows_of(run, path):
    """Returns the rows of a run, by table."""
    row = _row_of_run(run, path)
    common = {name: row[name] for name in ("run_id", *PARTITIONS)}
    spreads = run.over_ranks if run.ranks else {}
    return {"runs": [row],
            "scopes": [{**common, **_row_of_scope(scope, spreads.get(scope.path))} for scope in run.scopes],
            "nodes": [{**common, **_row_of_node(run, node)} for node in run.nodes]}


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


def _clean(kind, value):
    """Converts a value for Arrow: an unknown value becomes null."""
    if value is None or (kind in ("double", "int64") and isinstance(value, float) and math.isnan(value)):
        return None
    return str(value) if kind == "string" else float(value) if kind == "double" else int(value)


def _table_of(table, rows):
    pyarrow = wanted("pyarrow", "dataset()")
    columns = {name: [_clean(kind, row[name]) for row in rows] for name, kind in TABLES[table]}
    return pyarrow.table(columns, schema=_schema(table))


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
