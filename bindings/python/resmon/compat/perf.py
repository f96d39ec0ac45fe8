# SPDX-License-Identifier: MIT
"""lightgbm-benchmark's common.perf: PerformanceMetricsCollector, PerformanceReportingThread, PerfReportPlotter.

Differences: values are over all samples, also after samples were thinned out; totals are since the start and not since
the boot; CPU hours end with the last report, and not at the time of the call.
"""
import json
import math
import os
import threading
import time

from . import OwnMonitor
from .. import formats
from ..files import written
from ..formats.perf_reports import COUNTER, FIELDS
from ..run import parse

__all__ = ["PerformanceMetricsCollector", "PerfReportPlotter", "PerformanceReportingThread"]

_INTERVAL_S = 1.0  # period of perf.py's first report


class PerformanceMetricsCollector:
    """``start()``, ``finalize()``; ``perf_reports`` is the list of reports."""

    def __init__(self, max_length=1000):
        self._monitor = OwnMonitor(interval=1.0, rows=(max_length + 1) // 2 * 2, domains="process+node", name="perf")
        self._finished = None

    def start(self):
        """Begins to sample."""
        self._monitor.start()

    def finalize(self):
        """Stops."""
        self._monitor.stop()
        self._finished = self._monitor.snapshot()

    @property
    def run(self):
        """The run of libresmon."""
        return self._monitor.snapshot()

    @property
    def perf_reports(self):
        """The reports in the format of perf.py; before finalize(), of the run so far."""
        reports, = formats.write([self._finished or self._monitor], "perf_reports").values()
        return reports


class PerformanceReportingThread(threading.Thread):
    """Calls ``callback_on_loop`` with a report of each interval, until :meth:`finalize`, then ``callback_on_exit``."""

    def __init__(self, initial_time_increment=1.0, cpu_interval=1.0, callback_on_loop=None, callback_on_exit=None):
        super().__init__(daemon=True)
        self.killed = False
        self.time_increment, self.cpu_interval = initial_time_increment, cpu_interval
        self.callback_on_loop, self.callback_on_exit = callback_on_loop, callback_on_exit
        self._wake = threading.Event()

    def _on_sample(self, sample):
        report = {}
        for field in FIELDS:
            names = (f"{metric}[{field.instance}]" if field.instance else metric for metric in (*field.rather, field.metric))
            value = next((sample[name] for name in names if name in sample), math.nan)
            if value == value:
                report[field.name] = value * field.over / field.scale
        if self.callback_on_loop and "cpu_pct_per_cpu_avg" in report:  # the first sample has no shares
            self.callback_on_loop({**report, "timestamp": time.time()})

    def run(self):
        """Observes the machine until the thread is finalized."""
        with OwnMonitor(interval=max(self.time_increment, self.cpu_interval), domains="node", name="perf", scopes=False, events=0,
                        on_sample=self._on_sample):
            self._wake.wait()
        if self.callback_on_exit:
            self.callback_on_exit()

    def finalize(self):
        """Ends the thread, and waits for it."""
        self.killed = True
        self._wake.set()
        self.join()


def _figures_of(node, reports):
    """Returns the 18 values of plain reports, with totals since the boot and the number of CPUs of this machine."""
    document, = formats.read({str(node): reports})
    figures = parse(json.dumps(document)).figures
    hours = (reports[-1]["timestamp"] - reports[0]["timestamp"] + _INTERVAL_S) * (os.cpu_count() or 1) / 3600
    figures["node_cpu_hours"] = hours
    figures["node_unused_cpu_hours"] = hours * (100.0 - figures["cpu_avg_utilization_pct"]) / 100.0
    for field in FIELDS:
        known = [report[field.name] for report in reports if report.get(field.name) is not None]
        if field.kind == COUNTER and known:
            figures[f"total_{field.name}"] = max(known)
    return figures


class PerfReportPlotter:
    """Collects the reports of all nodes, and logs the 18 values of each to ``metrics_logger.log_metric``."""

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
        """Adds the reports of a node, or its collector, which also has the number of CPUs and all samples."""
        if isinstance(perf_reports, PerformanceMetricsCollector):
            self._figures[node] = perf_reports.run.figures
            perf_reports = perf_reports.perf_reports
        self.all_reports[node] = perf_reports

    def report_nodes_perf(self):
        """Logs one value of each metric per node, with the node as the step."""
        for node, reports in self.all_reports.items():
            figures = self._figures.get(node)
            if figures is None:
                figures = _figures_of(node, reports)
            for name, value in figures.items():
                if value == value:
                    self.metrics_logger.log_metric(name, value, step=node)
