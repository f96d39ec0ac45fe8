# SPDX-License-Identifier: MIT
"""Run documents: made of the columns of an old file, and read for writing one.

The form is lib/format/resmon-run.schema.json; the figures of a node are those of
lib/run/node_summary.c.
"""
from __future__ import annotations

import re
from datetime import datetime, timezone
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .._generated import NOTHING
from ..errors import FormatError
from .checks import Number, is_finite, parse, shown
from .field import Field, Figures, file_values

FORMAT = "resmon-run"
VERSION = 1

_START = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{9})Z", re.ASCII)
_SERIES = ("last", "min", "max", "mean")

_CORE_AVG = "node.cpu.core.avg"

# Key of the summary: metric and statistic of its column.  Not here: node_cpu_hours and
# node_unused_cpu_hours, for no old file says how many CPUs there were.
_NODE = {
    "cpu_avg_utilization_pct": (_CORE_AVG, "mean"),
    "cpu_avg_utilization_over20_pct": (_CORE_AVG, 0),
    "cpu_avg_utilization_over40_pct": (_CORE_AVG, 1),
    "cpu_avg_utilization_over80_pct": (_CORE_AVG, 2),
    "cpu_avg_utilization_at100_pct": (_CORE_AVG, 3),
    "max_t_cpu_pct_per_cpu_avg": (_CORE_AVG, "max"),
    "max_t_cpu_pct_per_cpu_min": ("node.cpu.core.min", "max"),
    "max_t_cpu_pct_per_cpu_max": ("node.cpu.core.max", "max"),
    "node_cpu_hours": None,
    "node_unused_cpu_hours": None,
    "max_t_mem_percent": ("node.mem.percent", "max"),
    "max_t_disk_usage_percent": ("node.fs.percent", "max"),
    "total_disk_io_read_mb": ("node.disk.read_bytes", "last"),
    "total_disk_io_write_mb": ("node.disk.write_bytes", "last"),
    "total_net_io_lo_sent_mb": ("node.net.lo.sent", "last"),
    "total_net_io_ext_sent_mb": ("node.net.ext.sent", "last"),
    "total_net_io_lo_recv_mb": ("node.net.lo.recv", "last"),
    "total_net_io_ext_recv_mb": ("node.net.ext.recv", "last"),
}


# ---- making one ----------------------------------------------------------------------------


class Read(NamedTuple):
    """What an old file has of one run."""

    shape: str
    start_ns: int  # since 1970
    times_ns: List[int]  # since 1970
    columns: Sequence[Figures]
    origin: str  # what its sources say
    machine: Dict[str, Any]
    settings: Dict[str, Any]
    tags: Sequence[Tuple[int, str]] = ()  # ns since 1970
    note: str = ""  # what to know of the figures


def _node_figure(columns: Sequence[Figures], metric: str, statistic: Any) -> Optional[Number]:
    for column in columns:
        summary = column.summary
        if column.field.metric != metric or summary["n"] == 0:
            continue
        if isinstance(statistic, int):
            seconds = summary["duration_s"]
            return 100.0 * summary["over_s"][statistic] / seconds if seconds > 0.0 else None
        value = summary[statistic]
        is_total = statistic == "last" and value is not None
        return value / 1048576 if is_total else value
    return None


def _sources(read: Read) -> List[Dict[str, Any]]:
    """One for the file, and one for each part of it that is not as good."""
    note = "; " + read.note if read.note else ""
    reasons = {read.shape: ("measured", read.origin + ", which has no other figures" + note)}
    for column in read.columns:
        if column.field.part:
            reason = "%s; %s" % (read.origin, column.field.remark)
            reasons[_source_name(read.shape, column.field)] = ("sampled", reason)
    return [
        {
            "name": name,
            "status": "RESMON_OK",
            "provenance": provenance,
            "reason": reason,
            "reads": len(read.times_ns),
            "failures": 0,
            "cost_ns": 0,
            "cost_max_ns": 0,
            "every": 1,
        }
        for name, (provenance, reason) in reasons.items()
    ]


def _source_name(shape: str, field: Field) -> str:
    return "%s_%s" % (shape, field.part) if field.part else shape


def _settings(read: Read) -> Dict[str, Any]:
    settings = dict(read.settings)
    for column in read.columns:
        for row, value in column.restated.items():
            # As text: a number would lose digits where the library writes the document again.
            settings["%s.%s@%d" % (read.shape, column.field.name, row)] = repr(value)
    return settings


def make_run(read: Read) -> Dict[str, Any]:
    """The run document: stopped, with a row for each sample of the file."""
    start = read.start_ns
    times = [t - start for t in read.times_ns]
    seconds, nanoseconds = divmod(start, 10**9)
    date = datetime.fromtimestamp(seconds, timezone.utc)
    node = {
        key: _node_figure(read.columns, *what) if what is not None else None
        for key, what in _NODE.items()
    }
    return {
        "format": FORMAT,
        "version": VERSION,
        "run": {
            "state": "stopped",
            "label": "",
            "start": "%s.%09dZ" % (date.strftime("%Y-%m-%dT%H:%M:%S"), nanoseconds),
            "duration_ns": times[-1],
            "samples": len(times),
            "stride": 1,
            "halvings": 0,
            "library": "",
            "pid": 0,
            "end": {"reason": "unknown", "exit_status": 0, "signal": 0, "text": ""},
        },
        "machine": dict(read.machine),
        "job": None,
        "settings": _settings(read),
        "sources": _sources(read),
        "columns": [c.field.column(_source_name(read.shape, c.field)) for c in read.columns],
        "tags": [{"t_ns": t - start, "label": label} for t, label in read.tags],
        "scopes": [],
        "summary": {"columns": [c.summary for c in read.columns], "node": node},
        "energy": None,
        "overhead": dict(NOTHING["overhead"]),
        "dropped": dict(NOTHING["dropped"]),
        "series": {
            "t_first_ns": times,
            "t_last_ns": list(times),
            "samples": [1] * len(times),
            "columns": [c.series for c in read.columns],
        },
        "events": None,
    }


# ---- reading one ---------------------------------------------------------------------------


class RunTable:
    """A run document, checked as far as old files need it: times, columns, series, tags."""

    def __init__(self, document: Any, where: str) -> None:
        self.where = where
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise FormatError('%s: "format" is not "%s"' % (where, FORMAT))
        if document.get("version") != VERSION:
            version = shown(document.get("version"))
            raise FormatError("%s: version is %s: expected %d" % (where, version, VERSION))
        self._document = document
        self.machine = self._section("machine")
        self.settings = self._section("settings")
        job = document.get("job")
        self.job: Dict[str, Any] = job if isinstance(job, dict) else {}
        self.start_ns = self._start()
        self.times_ns = [self.start_ns + t for t in self._times()]
        self._places: Dict[str, Dict[str, int]] = {}
        self._index_columns()

    def _error(self, text: str) -> ValueError:
        return ValueError("%s: %s" % (self.where, text))

    def _section(self, key: str) -> Dict[str, Any]:
        section = self._document.get(key)
        if not isinstance(section, dict):
            raise self._error("%s is %s: expected an object" % (key, shown(section)))
        return section

    def _list(self, section: Any, key: str, where: str) -> List[Any]:
        value = section.get(key) if isinstance(section, dict) else None
        if not isinstance(value, list):
            raise self._error("%s is %s: expected a list" % (where, shown(value)))
        return value

    def _start(self) -> int:
        start = self._section("run").get("start")
        match = _START.fullmatch(start) if isinstance(start, str) else None
        try:
            if match is None:
                raise ValueError
            date = datetime.strptime(match.group(1), "%Y-%m-%dT%H:%M:%S")
        except ValueError:
            text = "run.start is %s: expected a time as 2026-11-21T08:33:18.123456789Z"
            raise self._error(text % shown(start)) from None
        seconds = int(date.replace(tzinfo=timezone.utc).timestamp())
        return seconds * 10**9 + int(match.group(2))

    def _times(self) -> List[int]:
        times = self._list(self._section("series"), "t_last_ns", "series.t_last_ns")
        for row, t in enumerate(times):
            if not is_finite(t) or t != int(t):
                raise self._error(
                    "series.t_last_ns[%d] is %s: expected nanoseconds" % (row, shown(t))
                )
        if not times:
            raise self._error("series has no rows: there is nothing to write")
        return [int(t) for t in times]

    def _index_columns(self) -> None:
        columns = self._list(self._document, "columns", "columns")
        self._series = self._list(self._section("series"), "columns", "series.columns")
        if len(self._series) != len(columns):
            text = "series.columns has %d entries; columns has %d"
            raise self._error(text % (len(self._series), len(columns)))
        for place, column in enumerate(columns):
            metric = column.get("metric") if isinstance(column, dict) else None
            instance = column.get("instance") if isinstance(column, dict) else None
            if not isinstance(metric, str) or not isinstance(instance, str):
                raise self._error("columns[%d] has no metric and instance" % place)
            self._places.setdefault(metric, {})[instance] = place

    def instances(self, metric: str) -> List[str]:
        return list(self._places.get(metric, {}))

    def series(self, metric: str, instance: str) -> Dict[str, List[Optional[Number]]]:
        """The series of a column that the run has."""
        place = self._places[metric][instance]
        return {kind: self._numbers(place, kind) for kind in _SERIES}

    def _numbers(self, place: int, kind: str) -> List[Optional[Number]]:
        where = "series.columns[%d].%s" % (place, kind)
        values = self._list(self._series[place], kind, where)
        if len(values) != len(self.times_ns):
            text = "%s has %d numbers, not %d"
            raise self._error(text % (where, len(values), len(self.times_ns)))
        for row, value in enumerate(values):
            if value is not None and not is_finite(value):
                text = "%s[%d] is %s: expected a finite number or null"
                raise self._error(text % (where, row, shown(value)))
        return values

    def tags(self) -> List[Tuple[int, str]]:
        """Nanoseconds since 1970, and label."""
        result = []
        for i, tag in enumerate(self._list(self._document, "tags", "tags")):
            t: Any = tag.get("t_ns") if isinstance(tag, dict) else None
            label = tag.get("label") if isinstance(tag, dict) else None
            if not is_finite(t) or not isinstance(label, str):
                raise self._error("tags[%d] is %s: expected t_ns, label" % (i, shown(tag)))
            result.append((self.start_ns + int(t), label))
        return result

    def interval_s(self) -> Optional[float]:
        """Seconds between rows, as it was asked for."""
        interval_ms: Any = self.settings.get("interval_ms")
        stride = self._section("run").get("stride", 1)
        if not is_finite(interval_ms) or not is_finite(stride) or interval_ms <= 0 or stride < 1:
            return None
        return interval_ms * stride / 1000

    def is_alone(self) -> bool:
        """Whether nothing says that the process had descendants."""
        return all(
            value is None or value <= 1
            for instance in self.instances("tree.processes")
            for value in self.series("tree.processes", instance)["max"]
        )


def restated_of(table: RunTable, shape: str, name: str) -> Dict[int, Number]:
    """What make_run() noted of the file's own figures, by row."""
    head = "%s.%s@" % (shape, name)
    restated = {}
    for key, value in table.settings.items():
        row = key[len(head) :]
        if key.startswith(head) and row.isdecimal() and len(row) < 10 and isinstance(value, str):
            restated[int(row)] = parse(value, "%s: settings: %s" % (table.where, key))
    return restated


def field_of_run(table: RunTable, shape: str, field: Field) -> Optional[List[Optional[Number]]]:
    """The values of a field, one for each row; None where the run does not have it."""
    for metric in field.writes():
        if field.instance not in table.instances(metric):
            continue
        if metric.startswith("proc.") and field.level == "tree" and not table.is_alone():
            continue
        restated = restated_of(table, shape, field.name)
        values = file_values(field, table.series(metric, field.instance), restated)
        if any(value is not None for value in values):
            return values
    return None
