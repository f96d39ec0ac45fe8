# SPDX-License-Identifier: MIT
"""Converts between a run and the columns of an older tool's file, by the tool's table of fields.

All content of a file is checked, as it may come from any program or version; each error has its place in the file.  A run
document that is made here has readings only: the library computes rates, resets and statistics.
"""
import itertools
import re
import reprlib
from datetime import datetime, timezone
from typing import NamedTuple, Tuple

from ..errors import FormatError

FORMAT = "resmon-run"

GAUGE = "gauge"
SHARE = "share"  # a gauge of the time since the reading before
COUNTER = "counter"
RATE = "rate"  # a counter; the file has its rate
COUNTS = "counts"  # a counter; the file has its growth since the row before

# Key for the start of the run, in seconds since 1970, in files that are written from a run whose first row is later.
# The older tools ignore it.
START_KEY = "resmon_start"

_LARGEST = 10**24  # no value of a machine is as large; beyond it, products of values and times need not be finite
_LAST_SECOND = 9 * 10**9  # nanoseconds since 1970 end in 2262, where 64 bits do
_INTEGER = re.compile(r"[0-9]{1,24}", re.ASCII)
_FLOAT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?", re.ASCII)


class Field(NamedTuple):
    """A row of a tool's table: field `name` of the file is `metric` of a run."""

    name: str
    metric: str
    unit: str
    kind: str
    level: str
    instance: str = ""
    scale: int = 1  # unit of the run = unit of the file * scale / over
    over: int = 1
    rather: Tuple[str, ...] = ()  # metrics that are written if the run has them
    instead: Tuple[str, ...] = ()  # metrics that are written if it has no other
    is_first_void: bool = False  # the first value of the file covers no time, and is ignored
    part: str = ""  # part of the file with a separate source: its values are only sampled
    remark: str = ""  # the reason of that source


class Table(NamedTuple):
    """What an old file has of one run: a list of values for each field, None where unknown, one value for each time."""

    times_ns: list  # since 1970
    columns: dict
    start: object = None  # what the file has under START_KEY
    lead_ns: int = 0  # time before the first row, if the file does not say
    host: str = ""
    settings: dict = {}
    tags: tuple = ()  # (ns since 1970, label)
    note: str = ""  # remark about the values


# ---- checks --------------------------------------------------------------------------------


def shown(value):
    """Returns a value for the text of an error: short, whatever it is."""
    try:
        return reprlib.repr(value)
    except ValueError:  # a whole number of thousands of digits
        return "a %s" % type(value).__name__


def expect(value, kind, where):
    """Returns the value if it is a list, dict or str, as `kind` says."""
    if not isinstance(value, kind):
        name = {list: "a list", dict: "an object", str: "a text"}[kind]
        raise FormatError("%s is %s: expected %s" % (where, shown(value), name))
    return value


def number(value, where):
    """Returns a finite number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FormatError("%s is %s: expected a number" % (where, shown(value)))
    if not 0 <= value < _LARGEST:  # false for NaN, too
        raise FormatError("%s is %s: expected a finite number of at least 0" % (where, shown(value)))
    return value


def numbers(values, where):
    """Checks a list of numbers and None, and returns it; the text of a place is only made for an error."""
    for row, value in enumerate(values):
        if value is not None and (type(value) not in (int, float) or not 0 <= value < _LARGEST):
            number(value, "%s[%d]" % (where, row))
    return values


def parse(text, where):
    """Returns the number of a text; float() alone would accept "nan", "1_0" and digits of all scripts."""
    text = text.strip()
    if _INTEGER.fullmatch(text):
        return number(int(text), where)
    if len(text) > 400 or not _FLOAT.fullmatch(text):
        raise FormatError("%s is %s: expected a number" % (where, shown(text)))
    return number(float(text), where)


def epoch_ns(value, where):
    """Returns seconds since 1970 as nanoseconds, exactly: a double times 1e9 has an error of 100 ns."""
    if number(value, where) >= _LAST_SECOND:
        raise FormatError("%s is %s: expected seconds since 1970" % (where, shown(value)))
    numerator, denominator = value.as_integer_ratio()
    return (2 * numerator * 10**9 + denominator) // (2 * denominator)


def times_of(values, where):
    """Returns the times of the rows, in nanoseconds since 1970."""
    times = [epoch_ns(value, "%s[%d]" % (where, row)) for row, value in enumerate(values)]
    if not times:
        raise FormatError("%s is empty: expected one at least" % where)
    for row in range(1, len(times)):
        if times[row] < times[row - 1]:
            raise FormatError("%s[%d] is less than the one before it: expected ascending times" % (where, row))
    return times


# ---- file to run ---------------------------------------------------------------------------


def _start(table, where):
    """Returns when the run began."""
    if table.start is None:
        return table.times_ns[0] - table.lead_ns
    start = epoch_ns(table.start, "%s: %s" % (where, START_KEY))
    if start > table.times_ns[0]:
        raise FormatError("%s: %s is later than the first row" % (where, START_KEY))
    return start


def _readings(field, values, since_ns, is_ours):
    """Returns levels, or the growth of a counter: since the start in a file made of a run, else since the first value."""
    if field.kind == RATE:
        return _growth([None if value is None else value * field.scale / field.over for value in values], since_ns)
    if field.kind == COUNTS:
        return list(itertools.accumulate((value or 0) for value in values))
    if field.kind == COUNTER:
        base = 0 if is_ours else next((value for value in values if value is not None), 0)
        values = [None if value is None else value - base for value in values]
    elif field.is_first_void and not is_ours:
        values = [None, *values[1:]]
    return [None if value is None else value * field.scale / field.over for value in values]


def _growth(rates, since_ns):
    growth, before, readings = 0, 0, []
    for rate, t in zip(rates, since_ns):
        growth += 0 if rate is None else rate * (t - before) / 1e9
        readings.append(None if rate is None else growth)
        before = t
    return readings


def _source_name(tool, field):
    return "%s_%s" % (tool, field.part) if field.part else tool


def _column(tool, field):
    kind = "counter" if field.kind in (COUNTER, RATE, COUNTS) else "gauge"
    return {"metric": field.metric, "instance": field.instance, "unit": field.unit, "kind": kind, "level": field.level,
            "source": _source_name(tool, field)}


def _sources(tool, origin, fields, table):
    """Returns a source for the file, and one for each part with a lower quality."""
    reasons = {tool: ("measured", origin + ", which has no other values" + (table.note and "; " + table.note))}
    for field in fields:
        if field.part:
            reasons[_source_name(tool, field)] = "sampled", "%s; %s" % (origin, field.remark)
    return [{"name": name, "status": "RESMON_OK", "provenance": provenance, "reason": reason,
             "reads": len(table.times_ns), "every": 1} for name, (provenance, reason) in reasons.items()]


def document_of(tool, origin, table, where):
    """Returns the run document of a table: a stopped run, with a row for each row of the file."""
    start, is_ours = _start(table, where), table.start is not None
    since = [t - start for t in table.times_ns]
    columns = {field: _readings(field, values, since, is_ours) for field, values in table.columns.items()}
    columns = {field: values for field, values in columns.items() if any(value is not None for value in values)}
    seconds, nanoseconds = divmod(start, 10**9)
    date = datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return {
        "format": FORMAT,
        "version": 1,
        "run": {"state": "stopped", "start": "%s.%09dZ" % (date, nanoseconds), "duration_ns": since[-1],
                "samples": len(since), "stride": 1, "library": "", "pid": 0},
        "machine": {"host_name": table.host} if table.host else {},
        "settings": table.settings,
        "sources": _sources(tool, origin, columns, table),
        "columns": [_column(tool, field) for field in columns],
        "tags": [{"t_ns": t - start, "label": label} for t, label in table.tags],
        "series": {"t_last_ns": since, "columns": [{"last": values} for values in columns.values()]},
    }


# ---- run to file ---------------------------------------------------------------------------


def row_times(run):
    """Returns the end of each row, in nanoseconds since 1970."""
    times = [run.info.start_realtime_ns + t for t in run._row_times()]
    if not times:
        raise FormatError("%s has no rows: there is nothing to write" % run.title)
    return times


def start_of(run, first_ns):
    """Returns the entry START_KEY for a file, if the run began before the first row."""
    start = run.info.start_realtime_ns
    return {START_KEY: start / 1e9} if start < first_ns else {}


class _Column(NamedTuple):
    metric: str
    instance: str


class NodeOfRun:
    """A node of a merged run, with what the writers need of a run: its own columns, in the rows in which it was there."""

    def __init__(self, run, node):
        self.title, self.info, self._run = "%s, %s" % (run.title, node.name), run.info, run
        ends = run._row_times()
        start, end = node.start_s * 1e9, (node.start_s + node.duration_s) * 1e9
        self._rows = [row for row, time in enumerate(ends) if (ends[row - 1] if row else 0) < end and time > start]
        self.facts = {"machine": {"host_name": node.name, "memory_bytes": node.memory_bytes},
                      "job": {"node_index": node.index} if node.index >= 0 else {},
                      "settings": {"interval_ms": run.facts.get("settings", {}).get("merged_interval_ms")}}
        parts, whole = {}, {}
        for column, part, name in run._columns_of_nodes():
            if name == node.name:
                (parts if part else whole).setdefault(column.metric, {})[part] = column.name
        self._names = {**whole, **parts}  # of devices each for itself, not the sum

    @property
    def columns(self):
        """The columns of the node, under the instances that it has itself."""
        return [_Column(metric, instance) for metric, names in self._names.items() for instance in names]

    def series(self, name, kind):
        """Returns a column by its name on the node."""
        metric, _, instance = name.partition("[")
        values = self._run.series(self._names[metric][instance[:-1]], kind)
        return [values[row] for row in self._rows]

    def _row_times(self):
        times = self._run._row_times()
        return [times[row] for row in self._rows]


def by_node(run):
    """Returns a run for each node of a merged run that was observed; else the run alone."""
    return [NodeOfRun(run, node) for node in run.nodes if node.duration_s >= 0] or [run]


def instances(run, metric):
    """Returns the instances of a metric that the run has."""
    return [column.instance for column in run.columns if column.metric == metric]


def is_alone(run):
    """Returns whether no sample shows descendants of the process."""
    return not any(value > 1 for instance in instances(run, "tree.processes")
                   for value in _series(run, "tree.processes", instance, "max"))


def _series(run, metric, instance, kind):
    return run.series("%s[%s]" % (metric, instance) if instance else metric, kind)


def _in_file(field, value):
    if not abs(value) < _LARGEST:  # NaN: unknown
        return None
    value = value * field.over / field.scale
    return round(value) if field.over != 1 or value == int(value) and field.kind != SHARE else value


def values_of(run, field):
    """Returns the values of a field, one for each row; None if the run does not have it.

    For a row of several samples: the last value of a gauge or counter, the mean of a share or rate.
    """
    for metric in (*field.rather, field.metric, *field.instead):
        if metric.startswith("proc.") and field.level == "tree" and not is_alone(run):
            continue
        if field.instance in instances(run, metric):
            kind = "mean" if field.kind in (SHARE, RATE) else "last"
            values = [_in_file(field, value) for value in _series(run, metric, field.instance, kind)]
            if any(value is not None for value in values):
                return values
    return None
