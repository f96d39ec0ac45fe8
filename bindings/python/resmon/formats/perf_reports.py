# SPDX-License-Identifier: MIT
"""The reports of lightgbm-benchmark's common/perf.py: {"<node>": [report, ...], ...}, or the list
of one node.

A report is an object of the fields below and "timestamp"; MB are MiB there.  Its readers want every
field in every report: between readings a level or a counter keeps its last one.
"""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Union

from ..errors import FormatError
from . import checks
from .checks import Number, shown
from .field import COUNTER, GAUGE, INTERVAL, Field, figures_of
from .run_document import Read, RunTable, field_of_run, make_run

SHAPE = "perf_reports"

_MIB = 1048576
_SHARES_NS = 10**9  # the time before a report that its shares are of, as perf.py asks for them
_STACKED = "disks are counted as psutil does: stacked devices count twice"


def _share(name: str, metric: str, kind: str, instance: str = "") -> Field:
    return Field(name, metric, "%", kind, "node", instance)


def _mib(name: str, metric: str) -> Field:
    return Field(name, metric, "B", COUNTER, "node", times=_MIB)


def _disk(name: str, direction: str) -> Field:
    # What was meant is written: each byte once.  What an old file has is psutil's count.
    return Field(
        name,
        "node.disk.all." + direction,
        "B",
        COUNTER,
        "node",
        times=_MIB,
        rather=("node.disk." + direction,),
        part="disk",
        remark=_STACKED,
    )


FIELDS = (
    _share("cpu_pct_per_cpu_avg", "node.cpu.core.avg", INTERVAL),
    _share("cpu_pct_per_cpu_min", "node.cpu.core.min", INTERVAL),
    _share("cpu_pct_per_cpu_max", "node.cpu.core.max", INTERVAL),
    _share("mem_percent", "node.mem.percent", GAUGE),
    _share("disk_usage_percent", "node.fs.percent", GAUGE, "/"),
    _disk("disk_io_read_mb", "read_bytes"),
    _disk("disk_io_write_mb", "write_bytes"),
    _mib("net_io_lo_sent_mb", "node.net.lo.sent"),
    _mib("net_io_ext_sent_mb", "node.net.ext.sent"),
    _mib("net_io_lo_recv_mb", "node.net.lo.recv"),
    _mib("net_io_ext_recv_mb", "node.net.ext.recv"),
)

_NAMES = {field.name for field in FIELDS}
_NODE = "perf_reports.node"  # in the settings: the node, "" for a bare list


def _are_reports(reports: Any) -> bool:
    if not isinstance(reports, list) or not reports or not isinstance(reports[0], dict):
        return False
    return "timestamp" in reports[0] and not _NAMES.isdisjoint(reports[0])


def is_shape(document: Any) -> bool:
    if isinstance(document, dict):
        return any(_are_reports(reports) for reports in document.values())
    return _are_reports(document)


# ---- reading -------------------------------------------------------------------------------


def _read_node(node: str, reports: Any) -> Dict[str, Any]:
    where = "perf_reports: node %s" % shown(node) if node else "perf_reports"
    if not isinstance(reports, list) or not reports:
        raise FormatError(
            "%s is %s: expected a list of reports, one at least" % (where, shown(reports))
        )
    checks.cells(len(reports), len(FIELDS), where)
    times_ns = []
    for row, report in enumerate(reports):
        if not isinstance(report, dict):
            text = "%s: report %d is %s: expected an object"
            raise FormatError(text % (where, row, shown(report)))
        place = "%s: report %d: timestamp" % (where, row)
        times_ns.append(checks.epoch_ns(report.get("timestamp"), place))
    checks.ascending(times_ns, where + ": timestamp")
    said = reports[0].get(checks.START_KEY)
    start = checks.start_ns(said, times_ns, where) - (0 if said is not None else _SHARES_NS)
    since = [t - start for t in times_ns]
    columns = []
    for field in FIELDS:
        values = [
            checks.figure(report.get(field.name), "%s: report %d: %s" % (where, row, field.name))
            for row, report in enumerate(reports)
        ]
        is_since_boot = field.kind == COUNTER and said is None  # psutil's; ours begin with the first
        of = [t - since[0] for t in since] if is_since_boot else since
        columns.append(figures_of(field, of, values))
    found = Read(
        shape=SHAPE,
        start_ns=start,
        times_ns=times_ns,
        columns=[column for column in columns if column is not None],
        origin="read from a file of perf.py's reports",
        machine={"host_name": node} if node and not node.isdecimal() else {},
        settings={_NODE: node},
    )
    return make_run(found)


def read(document: Any) -> List[Dict[str, Any]]:
    if isinstance(document, list):
        return [_read_node("", document)]
    for node in document:
        if not isinstance(node, str) or not node:
            raise FormatError("perf_reports: node %s: expected a name" % shown(node))
    return [_read_node(node, reports) for node, reports in document.items()]


# ---- writing -------------------------------------------------------------------------------


def _hold(values: List[Optional[Number]]) -> List[Optional[Number]]:
    held: List[Optional[Number]] = []
    for value in values:
        held.append(held[-1] if value is None and held else value)
    return held


def _reports(table: RunTable) -> List[Dict[str, Any]]:
    columns = {field: field_of_run(table, SHAPE, field) for field in FIELDS}
    known = {field: values for field, values in columns.items() if values is not None}
    if not known:
        raise FormatError("%s has no figures of a node that perf.py has" % table.where)
    # As perf.py does: a report when there are shares of CPU, the first after the first interval.
    shares = next((known[field] for field in known if field.kind == INTERVAL), None)
    held = {
        field.name: values if field.kind == INTERVAL else _hold(values)
        for field, values in known.items()
    }
    reports = []
    for row, time_ns in enumerate(table.times_ns):
        if shares is not None and shares[row] is None:
            continue
        report = {name: values[row] for name, values in held.items() if values[row] is not None}
        reports.append({**report, "timestamp": time_ns / 10**9})
        if len(reports) == 1 and table.start_ns != time_ns - _SHARES_NS:  # else its reader takes it so
            reports[0].update(checks.start_of(table.start_ns, time_ns))
    return reports


def _nodes(tables: Sequence[RunTable]) -> List[str]:
    """The numbers of the nodes: for perf.py they are the steps of MLflow, never names of hosts."""
    nodes = [table.settings.get(_NODE, table.job.get("node_index")) for table in tables]
    names = [str(node) for node in nodes if node is not None and node != ""]
    if len(set(names)) == len(tables):
        return names
    return [str(i) for i in range(len(tables))]


def write(tables: Sequence[RunTable]) -> Union[Dict[str, Any], List[Any]]:
    reports = [_reports(table) for table in tables]
    if len(tables) == 1 and tables[0].settings.get(_NODE) == "":
        return reports[0]
    return dict(zip(_nodes(tables), reports))
