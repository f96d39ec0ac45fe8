# SPDX-License-Identifier: MIT
"""lightgbm-benchmark's common.perf: PerformanceMetricsCollector, PerfReportPlotter.

Differences: figures are over every sample and not over what thinning has left; totals are since the start and not since
the boot; CPU hours begin when the collector does.
"""
import json

from .. import formats
from ..files import written
from ..monitor import Monitor
from ..run import parse

__all__ = ["PerformanceMetricsCollector", "PerfReportPlotter"]


class PerformanceMetricsCollector:
    """``start()``, ``finalize()``; ``perf_reports`` is the list of reports."""

    def __init__(self, max_length=1000):
        self._monitor = Monitor(interval=1.0, rows=(max_length + 1) // 2 * 2, domains="process+node", name="perf")
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


class PerfReportPlotter:
    """Collects the reports of all nodes, and logs the 18 figures of each to ``metrics_logger.log_metric``."""

    def __init__(self, metrics_logger):
        self.all_reports = {}
        self._figures = {}
        self.metrics_logger = metrics_logger

    def save_to(self, perf_report_file_path=None):
        """Writes all reports into a JSON file; its path."""
        if perf_report_file_path is None:
            import os
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
                document, = formats.read({str(node): reports})
                figures = parse(json.dumps(document)).figures
            for name, value in figures.items():
                if value == value:
                    self.metrics_logger.log_metric(name, value, step=node)
