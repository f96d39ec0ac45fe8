# SPDX-License-Identifier: MIT
"""lightgbm-benchmark's common.perf: PerformanceMetricsCollector, PerfReportPlotter.

Differences: a collector's figures are over every sample and not over what thinning has left, and its totals are since
the start and not since the boot; CPU hours end with the last report, and not when they are asked for.
"""
import json
import os

from . import OwnMonitor
from .. import formats
from ..files import written

__all__ = ["PerformanceMetricsCollector", "PerfReportPlotter"]

_NAN = float("nan")
_INTERVAL_S = 1.0  # perf.py's: what the first report is of


class PerformanceMetricsCollector:
    """``start()``, ``finalize()``; ``perf_reports`` is the list of reports."""

    def __init__(self, max_length=1000):
        self._monitor = OwnMonitor(interval=1.0, rows=(max_length + 1) // 2 * 2, domains="process+node", name="perf")
        self._document = None

    def start(self):
        """Begins to sample."""
        self._monitor.start()

    def finalize(self):
        """Stops."""
        self._monitor.stop()
        self._document = self._monitor.document()

    @property
    def run(self):
        """What libresmon knows."""
        return self._monitor.snapshot()

    @property
    def perf_reports(self):
        """The reports, in their own shape; those of the run so far before finalize()."""
        document = self._document or self._monitor.document()
        shaped = formats.write([document], "perf_reports")
        return shaped if isinstance(shaped, list) else next(iter(shaped.values()))


def _figures_of(reports):
    """The 18 figures of plain reports, each of which is of the time since the one before."""
    def values(name):
        return [report[name] for report in reports if report.get(name) is not None]

    def most(name):
        return max(values(name), default=_NAN)

    cpu = values("cpu_pct_per_cpu_avg")
    mean = sum(cpu) / len(cpu) if cpu else _NAN
    shares = {name: 100.0 * sum(value >= least for value in cpu) / len(cpu) if cpu else _NAN
              for name, least in (("over20", 20.0), ("over40", 40.0), ("over80", 80.0), ("at100", 100.0))}
    hours = (reports[-1]["timestamp"] - reports[0]["timestamp"] + _INTERVAL_S) * (os.cpu_count() or 1) / 3600
    return {
        "cpu_avg_utilization_pct": mean,
        **{f"cpu_avg_utilization_{name}_pct": share for name, share in shares.items()},
        **{f"max_t_{name}": most(name) for name in
           ("cpu_pct_per_cpu_avg", "cpu_pct_per_cpu_min", "cpu_pct_per_cpu_max")},
        "node_cpu_hours": hours, "node_unused_cpu_hours": hours * (100.0 - mean) / 100.0,
        **{f"max_t_{name}": most(name) for name in ("mem_percent", "disk_usage_percent")},
        **{f"total_{name}": most(name) for name in
           ("disk_io_read_mb", "disk_io_write_mb", "net_io_lo_sent_mb", "net_io_ext_sent_mb", "net_io_lo_recv_mb",
            "net_io_ext_recv_mb")},
    }


class PerfReportPlotter:
    """Collects the reports of all nodes, and logs the 18 figures of each to ``metrics_logger.log_metric``."""

    def __init__(self, metrics_logger):
        self.all_reports = {}
        self._figures = {}
        self.metrics_logger = metrics_logger

    def save_to(self, perf_report_file_path=None):
        """Writes all reports into a JSON file; its path."""
        if perf_report_file_path is None:
            import tempfile
            descriptor, perf_report_file_path = tempfile.mkstemp(suffix=".json")
            os.close(descriptor)
        with written(perf_report_file_path) as (file, _):
            file.write(json.dumps(self.all_reports, indent="    ").encode())
        return perf_report_file_path

    def add_perf_reports(self, perf_reports, node):
        """A set of reports from a node, or the collector itself, which knows more: the CPUs, and every sample."""
        if isinstance(perf_reports, PerformanceMetricsCollector):
            self._figures[node] = perf_reports.run.figures
            perf_reports = perf_reports.perf_reports
        self.all_reports[node] = perf_reports

    def report_nodes_perf(self):
        """One value of each figure per node, with the node as the step."""
        for node, reports in self.all_reports.items():
            figures = self._figures.get(node)
            if figures is None:
                formats.read({str(node): reports})  # it says what is wrong with them
                figures = _figures_of(reports)
            for name, value in figures.items():
                if value == value:
                    self.metrics_logger.log_metric(name, value, step=node)
