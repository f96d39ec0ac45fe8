# SPDX-License-Identifier: MIT
"""cpu_metrics.json of ska-sdp-perfmon.

    {"host_names": ["n1", ...], "n1": {"time_stamps": [...], ...}, ..., "sampling_frequency": s}

A host has a list for each field, as long as its "time_stamps" (s since 1970; integers there, but
its readers take any number, and a run has more than one row in a second).  What is not measured is
an empty list, and a gap is null: CreateDataFrame makes NaN of both.  All hosts of a file have the
same fields, else that reader moves their columns.
"""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..errors import FormatError
from . import checks
from .checks import Number, shown
from .field import COUNTER, GAUGE, INTERVAL, Field, figures_of, file_values
from .run_document import Read, RunTable, field_of_run, make_run, restated_of

SHAPE = "perfmon"

_USER_TIME = "user time only, of the processes that were alive at each sample"


def _tree(name: str, metric: str, unit: str = "B", kind: str = GAUGE, **more: Any) -> Field:
    """Of the processes of a job.  Of a run that is of one process alone, that one's figures."""
    return Field(name, "tree." + metric, unit, kind, "tree", instead=("proc." + metric,), **more)


def _own(name: str, metric: str, unit: str, kind: str) -> Field:
    """What no metric of a tree is: keeps the file's name."""
    instead = (metric,) if metric else ()
    return Field(name, "perfmon." + name, unit, kind, "tree", instead=instead)


def _net(name: str, metric: str, unit: str) -> Field:
    return Field(name, metric, unit, COUNTER, "node")


# What each host of a file has.
FIELDS = (
    _tree("cpu_time", "cpu.time", "s", COUNTER, part="cpu_time", remark=_USER_TIME),
    _tree("cpu_percent", "cpu.percent", "%", INTERVAL),
    # psutil's first share, of no time, is no figure
    Field("cpu_percent_sys", "node.cpu.percent", "%", INTERVAL, "node", is_first_void=True),
    _tree("memory_info.rss", "mem.rss"),
    _tree("memory_info.vms", "mem.vms"),
    _tree("memory_info.shared", "mem.shared"),
    _tree("memory_full_info.uss", "mem.uss"),
    _tree("memory_full_info.swap", "mem.swap"),
    _own("memory_percent", "proc.mem.host_percent", "%", GAUGE),
    _tree("io_counters.read_bytes", "io.read_bytes", "B", COUNTER),
    _tree("io_counters.write_bytes", "io.write_bytes", "B", COUNTER),
    _own("io_counters.read_count", "proc.io.read_count", "1", COUNTER),
    _own("io_counters.write_count", "proc.io.write_count", "1", COUNTER),
    _net("net_io_counters.bytes_sent", "node.net.all.sent", "B"),
    _net("net_io_counters.bytes_recv", "node.net.all.recv", "B"),
    _net("net_io_counters.packets_sent", "node.net.all.packets_sent", "1"),
    _net("net_io_counters.packets_recv", "node.net.all.packets_recv", "1"),
    _tree("num_threads", "threads", "1"),
    _tree("num_fds", "fds", "1"),
)

# What only some hosts have.
MEMORY_BW = _own("memory_bw", "", "B/s", GAUGE)

# Sums over all ports.
PORTS = (
    _net("ib_io_counters.port_xmit_data", "node.ib.sent", "B"),
    _net("ib_io_counters.port_rcv_data", "node.ib.recv", "B"),
    _net("ib_io_counters.port_xmit_packets", "node.ib.packets_sent", "1"),
    _net("ib_io_counters.port_rcv_packets", "node.ib.packets_recv", "1"),
)

_RAPL = "rapl_powercap"
_ENERGY = "energy.zone"


def _rapl(instance: str) -> Field:
    """uJ; an instance is package-0, core-0, uncore-0, dram-0 ..."""
    name = "%s.%s" % (_RAPL, instance)
    return Field(name, _ENERGY, "J", COUNTER, "device", instance, over=10**6)


# perfmon adds each of these to the sum of those before it (in get_cumulative_metric_value()).  Its
# files do not tell in which order: this one where two are equal.
_SUMMED_UP = (
    ("memory_info", ("rss", "vms", "shared")),
    ("memory_full_info", ("uss", "swap")),
    ("io_counters", ("read_count", "write_count", "read_bytes", "write_bytes")),
)

_HEAD = ("host_names", "sampling_frequency")
_DESCRIPTIONS = ("parent_proc_md", "child_proc_md")  # no figures: kept in the settings as JSON
_FIELDS = "perfmon.fields"  # in the settings: what the file had, empty lists too
_INTERVAL = "perfmon.sampling_frequency"  # there: seconds, which is what it is

Columns = Dict[str, List[Optional[Number]]]


def is_shape(document: Any) -> bool:
    return isinstance(document, dict) and "host_names" in document and "format" not in document


# ---- reading -------------------------------------------------------------------------------


def _list(value: Any, where: str) -> List[Any]:
    if not isinstance(value, list):
        raise FormatError("%s is %s: expected a list" % (where, shown(value)))
    return value


def _times(host: Dict[str, Any], where: str) -> List[int]:
    where += ": time_stamps"
    stamps = _list(host.get("time_stamps"), where)
    if not stamps:
        raise FormatError("%s is empty: expected one at least" % where)
    times_ns = [checks.epoch_ns(t, "%s[%d]" % (where, row)) for row, t in enumerate(stamps)]
    checks.ascending(times_ns, where)
    return times_ns


def _known_fields(host: Dict[str, Any], where: str) -> List[Field]:
    fields = list(FIELDS) + [MEMORY_BW] + list(PORTS)
    domains = host.get(_RAPL, {})
    if not isinstance(domains, dict):
        raise FormatError("%s: %s is %s: expected an object" % (where, _RAPL, shown(domains)))
    for instance in domains:
        if not isinstance(instance, str) or not 0 < len(instance) < 40:
            text = "%s: %s has %s: expected a short name"
            raise FormatError(text % (where, _RAPL, shown(instance)))
        fields.append(_rapl(instance))
    return fields


def _find(host: Dict[str, Any], name: str, where: str) -> Optional[List[Any]]:
    """The list of a field; None where the file has no such field."""
    head, _, tail = name.partition(".")
    value = host.get(head)
    if tail and value is not None:
        if not isinstance(value, dict):
            raise FormatError("%s: %s is %s: expected an object" % (where, head, shown(value)))
        value = value.get(tail)
    return None if value is None else _list(value, "%s: %s" % (where, name))


def _columns(host: Dict[str, Any], rows: int, where: str) -> Tuple[List[Field], Columns]:
    """The fields that the file has, and their figures cut or filled up as CreateDataFrame does."""
    found = {field: _find(host, field.name, where) for field in _known_fields(host, where)}
    lists = {field: values for field, values in found.items() if values is not None}
    fields = list(lists)
    checks.cells(rows, len(fields), where)
    columns: Columns = {}
    for field in fields:
        taken = checks.figures(lists[field][:rows], "%s: %s" % (where, field.name))
        if field.metric == _ENERGY and not any(taken):
            taken = []  # 0 is what perfmon has where it may not read the counter
        columns[field.name] = taken + [None] * (rows - len(taken))
    if not fields:
        raise FormatError("%s has none of the fields of cpu_metrics.json" % where)
    return fields, columns


def _is_summed_up(columns: Columns) -> bool:
    """Shared pages are resident: that there are more of them proves it."""
    pairs = zip(columns.get("memory_info.shared", ()), columns.get("memory_info.rss", ()))
    return any(shared is not None and rss is not None and shared > rss for shared, rss in pairs)


def _undo_sum(columns: Columns, names: Sequence[str]) -> None:
    """Sums of more and more are in ascending order: it tells which was added to which."""
    names = [name for name in names if any(v is not None for v in columns.get(name, ()))]
    rows = [row for row in zip(*(columns[name] for name in names)) if None not in row]
    order = sorted(range(len(names)), key=lambda i: rows[-1][i]) if rows else []
    pairs = list(zip(order, order[1:]))
    is_sum = bool(rows) and all(row[a] <= row[b] for row in rows for a, b in pairs)
    sums = {name: columns[name] for name in names}
    for name in names:
        columns[name] = columns[name] if is_sum else [None] * len(columns[name])
    for a, b in pairs if is_sum else ():
        columns[names[b]] = [
            None if value is None or before is None else value - before
            for value, before in zip(sums[names[b]], sums[names[a]])
        ]


def _undo_sums(columns: Columns) -> None:
    for head, names in _SUMMED_UP:
        _undo_sum(columns, ["%s.%s" % (head, name) for name in names])
    for field in PORTS:
        # It also takes packets for octets divided by 4.
        values = columns.get(field.name, [])
        if field.unit == "1" and all(v is None or v % 4 == 0 for v in values):
            columns[field.name] = [None if v is None else v // 4 for v in values]


def _settings(
    document: Dict[str, Any], host: Dict[str, Any], fields: List[Field], where: str
) -> Dict[str, Any]:
    settings: Dict[str, Any] = {_FIELDS: " ".join(field.name for field in fields)}
    if "sampling_frequency" in document:
        seconds = checks.number(document["sampling_frequency"], "perfmon: sampling_frequency")
        settings["interval_ms"] = seconds * 1000
        settings[_INTERVAL] = seconds
    import json

    for key in _DESCRIPTIONS:
        if key in host:
            try:
                settings["perfmon." + key] = json.dumps(host[key], allow_nan=False)
            except (TypeError, ValueError, RecursionError) as error:
                raise FormatError("%s: %s is no JSON: %s" % (where, key, error)) from None
    return settings


def _read_host(document: Dict[str, Any], name: Any) -> Dict[str, Any]:
    where = "perfmon: host %s" % shown(name)
    if not isinstance(name, str) or not name or name in _HEAD:
        raise FormatError("%s: expected a name" % where)
    host = document.get(name)
    if not isinstance(host, dict):
        raise FormatError("%s is %s: expected an object" % (where, shown(host)))
    times_ns = _times(host, where)
    fields, columns = _columns(host, len(times_ns), where)
    note = ""
    settings = _settings(document, host, fields, where)
    if _is_summed_up(columns):
        _undo_sums(columns)
        note = "what perfmon had added to figures of memory, I/O and InfiniBand is taken off"
    start = checks.start_ns(host.get(checks.START_KEY), times_ns, where)
    since = [t - start for t in times_ns]
    figures = [figures_of(field, since, columns[field.name]) for field in fields]
    found = Read(
        shape=SHAPE,
        start_ns=start,
        times_ns=times_ns,
        columns=[column for column in figures if column is not None],
        origin="read from a perfmon file",
        note=note,
        machine={"host_name": name},
        settings=settings,
    )
    return make_run(found)


def read(document: Dict[str, Any]) -> List[Dict[str, Any]]:
    names = _list(document.get("host_names"), "perfmon: host_names")
    if not names:
        raise FormatError("perfmon: host_names is empty: expected one at least")
    runs = []
    seen = set()
    for name in names:
        runs.append(_read_host(document, name))
        if name in seen:
            raise FormatError("perfmon: host_names has %s twice" % shown(name))
        seen.add(name)
    return runs


# ---- writing -------------------------------------------------------------------------------


def _sum_of_ports(table: RunTable, field: Field) -> Optional[List[Optional[Number]]]:
    restated = restated_of(table, SHAPE, field.name)
    ports = [
        file_values(field, table.series(field.metric, port), restated)
        for port in table.instances(field.metric)
    ]
    if not ports:
        return None
    return [None if None in values else sum(values) for values in zip(*ports)]


def _memory_percent(table: RunTable) -> Optional[List[Optional[Number]]]:
    """Of the memory of the machine, as psutil's, which perfmon sums over processes."""
    memory: Any = table.machine.get("memory_bytes")
    rss = field_of_run(table, SHAPE, _tree("memory_info.rss", "mem.rss"))
    if rss is None or not checks.is_finite(memory) or memory < 1:
        return None
    return [None if value is None else 100.0 * value / memory for value in rss]


def _host_values(table: RunTable) -> Columns:
    """By field; without those that the run does not have."""
    fields = list(FIELDS) + [MEMORY_BW] + [_rapl(name) for name in table.instances(_ENERGY)]
    columns = {field.name: field_of_run(table, SHAPE, field) for field in fields}
    columns.update((field.name, _sum_of_ports(table, field)) for field in PORTS)
    if columns["memory_percent"] is None:
        columns["memory_percent"] = _memory_percent(table)
    return {
        name: values
        for name, values in columns.items()
        if values is not None and any(value is not None for value in values)
    }


def _names(tables: Sequence[RunTable]) -> List[str]:
    names = []
    for i, table in enumerate(tables):
        name = table.machine.get("host_name") or table.job.get("node_name") or "host-%d" % i
        if not isinstance(name, str) or name in _HEAD:
            raise FormatError("%s: host_name is %s" % (table.where, shown(name)))
        if name in names:
            raise FormatError(
                "%s is of the host %s, as another is: expected one run of each host"
                % (table.where, shown(name))
            )
        names.append(name)
    return names


def _field_names(tables: Sequence[RunTable], hosts: List[Columns]) -> List[str]:
    """The fields of each host of the file: all have the same."""
    said = [text for text in (table.settings.get(_FIELDS) for table in tables) if text is not None]
    if len(said) == len(tables):
        names = [name for text in said for name in str(text).split(" ") if name]
    else:
        names = [field.name for field in FIELDS]
    return list(dict.fromkeys(names + [name for columns in hosts for name in columns]))


def _put(host: Dict[str, Any], name: str, values: List[Any]) -> None:
    head, _, tail = name.partition(".")
    if tail:
        host.setdefault(head, {})[tail] = values
    else:
        host[head] = values


def _descriptions(table: RunTable) -> Dict[str, Any]:
    import json

    result = {}
    for key in _DESCRIPTIONS:
        text = table.settings.get("perfmon." + key)
        try:
            if isinstance(text, str):
                result[key] = json.loads(text)
        except (ValueError, RecursionError):
            raise FormatError("%s: perfmon.%s is no JSON" % (table.where, key)) from None
    return result


def write(tables: Sequence[RunTable]) -> Dict[str, Any]:
    names = _names(tables)
    hosts = [_host_values(table) for table in tables]
    for table, columns in zip(tables, hosts):
        if not columns:
            raise FormatError("%s has no figures that perfmon has" % table.where)
    fields = _field_names(tables, hosts)
    document: Dict[str, Any] = {"host_names": names}
    for name, table, columns in zip(names, tables, hosts):
        host: Dict[str, Any] = {"time_stamps": [checks.epoch_seconds(t) for t in table.times_ns]}
        for field in fields:
            _put(host, field, columns.get(field, []))
        start = checks.start_of(table.start_ns, table.times_ns[0])
        document[name] = {**host, **_descriptions(table), **start}
    said: List[Any] = [table.settings.get(_INTERVAL, table.interval_s()) for table in tables]
    intervals = [seconds for seconds in said if checks.is_finite(seconds)]
    if intervals:
        longest = max(intervals)
        document["sampling_frequency"] = int(longest) if longest == int(longest) else longest
    return document
