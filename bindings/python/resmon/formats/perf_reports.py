# SPDX-License-Identifier: MIT
"""The reports of lightgbm-benchmark's common/perf.py: {"<node>": [report, ...], ...}, or the list of one node.

A report is an object of the fields below and "timestamp"; MB are MiB there.  Its readers want every field in every
report: between readings a level or a counter keeps its last one.
"""
from ..errors import FormatError
from .converter import (COUNTER, GAUGE, SHARE, START_KEY, Field, Table, by_node, document_of, expect, numbers, row_times, shown,
                        start_of, times_of, values_of)

_MIB = 1048576
_LEAD_NS = 10**9  # the period of a report's shares, as in perf.py
_STACKED = "disks are counted as psutil does: stacked devices count twice"


def _share(name, metric, kind, instance=""):
    return Field(name, metric, "%", kind, "node", instance)


def _mib(name, metric, **more):
    return Field(name, metric, "B", COUNTER, "node", scale=_MIB, **more)


def _disk(name, direction):
    # Files are written with each byte counted once; files of perf.py have psutil's count.
    return _mib(name, "node.disk.all." + direction, rather=("node.disk." + direction,), part="disk", remark=_STACKED)


FIELDS = (
    _share("cpu_pct_per_cpu_avg", "node.cpu.core.avg", SHARE),
    _share("cpu_pct_per_cpu_min", "node.cpu.core.min", SHARE),
    _share("cpu_pct_per_cpu_max", "node.cpu.core.max", SHARE),
    _share("mem_percent", "node.mem.percent", GAUGE),
    _share("disk_usage_percent", "node.fs.percent", GAUGE, "/"),
    _disk("disk_io_read_mb", "read_bytes"),
    _disk("disk_io_write_mb", "write_bytes"),
    _mib("net_io_lo_sent_mb", "node.net.lo.sent"),
    _mib("net_io_ext_sent_mb", "node.net.ext.sent"),
    _mib("net_io_lo_recv_mb", "node.net.lo.recv"),
    _mib("net_io_ext_recv_mb", "node.net.ext.recv"),
)

_NODE = "perf_reports.node"  # in the settings


def _are_reports(reports):
    if not isinstance(reports, list) or not reports or not isinstance(reports[0], dict):
        return False
    return "timestamp" in reports[0] and any(field.name in reports[0] for field in FIELDS)


def is_shape(document):
    """Returns whether a document is a file of reports."""
    return any(map(_are_reports, document.values() if isinstance(document, dict) else [document]))


def _read_node(node, reports):
    where = "perf_reports: node %s" % shown(node)
    if not isinstance(reports, list) or not reports:
        raise FormatError("%s is %s: expected a list of reports, one at least" % (where, shown(reports)))
    reports = [expect(report, dict, "%s: report %d" % (where, row)) for row, report in enumerate(reports)]
    columns = {field: numbers([report.get(field.name) for report in reports], "%s: %s" % (where, field.name))
               for field in FIELDS}
    times_ns = times_of([report.get("timestamp") for report in reports], where + ": timestamp")
    table = Table(times_ns, columns, reports[0].get(START_KEY), _LEAD_NS, "" if node.isdecimal() else node, {_NODE: node})
    return document_of("perf_reports", "read from a file of perf.py's reports", table, where)


def read(document):
    """Returns a run document for each node; the list of one node is of node 0."""
    nodes = document if isinstance(document, dict) else {"0": document}
    for node in nodes:
        if not isinstance(node, str) or not node:
            raise FormatError("perf_reports: node %s: expected a name" % shown(node))
    return [_read_node(node, reports) for node, reports in nodes.items()]


def _hold(values):
    held = []
    for value in values:
        held.append(held[-1] if value is None and held else value)
    return held


def _reports(run):
    columns = {field: values for field, values in ((field, values_of(run, field)) for field in FIELDS) if values is not None}
    if not columns:
        raise FormatError("%s has no values of a node that perf.py has" % run.title)
    # As perf.py does: a report when there are shares of CPU, the first after the first interval.
    shares = next((columns[field] for field in columns if field.kind == SHARE), None)
    held = {field.name: values if field.kind == SHARE else _hold(values) for field, values in columns.items()}
    reports = []
    for row, time_ns in enumerate(row_times(run)):
        if shares is not None and shares[row] is None:
            continue
        report = {name: values[row] for name, values in held.items() if values[row] is not None}
        reports.append({**report, "timestamp": time_ns / 1e9})
        if len(reports) == 1 and run.info.start_realtime_ns != time_ns - _LEAD_NS:  # otherwise read() computes the same start
            reports[0].update(start_of(run, time_ns))
    return reports


def _nodes(runs):
    """Returns the numbers of the nodes, which perf.py uses as steps of MLflow, never names of hosts."""
    facts = [run.facts for run in runs]
    nodes = [known.get("settings", {}).get(_NODE, known.get("job", {}).get("node_index")) for known in facts]
    names = [str(node) for node in nodes if node is not None]
    return names if len(set(names)) == len(runs) else [str(i) for i in range(len(runs))]


def write(runs):
    """Returns the reports of each run, and of each node of a merged run, by the number of the node."""
    runs = [one for run in runs for one in by_node(run)]
    return dict(zip(_nodes(runs), map(_reports, runs)))
