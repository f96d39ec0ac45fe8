#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the Python binding takes, beside its floors and the tools it replaces, in one run.

bench_python.py [--check]: --check fails past a target.  The library is that of RESMON_LIBRARY; peers that are not
installed are left out, aloud.  Medians of many short runs: single times mean nothing on a machine that is shared.
"""
import ctypes
import importlib
import os
import statistics
import subprocess
import sys
import tempfile

from lines import end, figure, line, say_host, seconds_of

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bindings/python"))
import resmon  # noqa: E402

def peer(name):
    """The module of another tool, or None, aloud."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"skipped: {name}: {error}")
        return None


# ---- import -----------------------------------------------------------------------------------------


def import_seconds(statement):
    program = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    times = [float(subprocess.run([sys.executable, "-c", program], env=environment, check=True, capture_output=True,
                                  text=True).stdout.split()[-1]) for _ in range(15)]
    return statistics.median(sorted(times)[:8])


def bench_import(peers):
    line("import resmon", import_seconds("import resmon"), import_seconds("import ctypes"), "import ctypes", 0.030,
         [(name, import_seconds(f"import {name}")) for name, module in peers.items() if module])


# ---- scopes and wrappers ----------------------------------------------------------------------------


class Empty:
    """The least that a with statement with an object of Python can cost, with two calls into C."""

    __slots__ = ("token",)
    begin = end = None

    def __init__(self, name):
        self.token = name

    def __enter__(self):
        self.begin(0)
        return self

    def __exit__(self, _kind, _error, _trace):
        self.end(0)


def empty_calls():
    """Two calls by ctypes of a function that does nothing to speak of."""
    absolute = ctypes.PyDLL(None).labs
    absolute.restype, absolute.argtypes = ctypes.c_long, [ctypes.c_long]
    Empty.begin = Empty.end = staticmethod(absolute)

    def with_empty():
        with Empty("x"):
            pass
    return with_empty


def with_scope():
    with resmon.scope("x"):
        pass


def nothing():
    pass


def bench_scopes(memory_profiler):
    floor = seconds_of(empty_calls(), 20000)
    with resmon.Monitor():
        line("with resmon.scope('x')", seconds_of(with_scope, 20000), floor, "the same with empty calls", 1.5e-6)
    line("the same without a monitor", seconds_of(with_scope, 20000), floor, "the same with empty calls")
    line("a call of a function with resmon.timer", seconds_of(resmon.timer(log=False)(nothing), 5000))
    theirs = None
    if memory_profiler:
        theirs = seconds_of(lambda: memory_profiler.memory_usage((nothing,), max_usage=True), repeat=3)
    line("a call with resmon.peak_rss, exact", seconds_of(resmon.peak_rss(log=False)(nothing), 2000),
         peers=[("memory_profiler", theirs)])


# ---- monitors ---------------------------------------------------------------------------------------


def start_stop():
    resmon.Monitor().start().stop()


def codecarbon_seconds(codecarbon):
    if not codecarbon:
        return None
    with tempfile.TemporaryDirectory() as directory:
        def once():
            tracker = codecarbon.OfflineEmissionsTracker(country_iso_code="FRA", log_level="critical",
                                                         output_dir=directory, allow_multiple_runs=True)
            tracker.start()
            tracker.stop()
        return seconds_of(once, repeat=3)


def mlflow_seconds(monitor_module):
    if not monitor_module:
        return None
    metrics = [importlib.import_module("mlflow.system_metrics.metrics." + name) for name in
               ("cpu_monitor", "disk_monitor", "network_monitor")]
    monitors = [metrics[0].CPUMonitor(), metrics[1].DiskMonitor(), metrics[2].NetworkMonitor()]

    def sample():
        for one in monitors:
            one.collect_metrics()
    return seconds_of(sample, 20)


def psutil_seconds(psutil):
    if not psutil:
        return None
    process = psutil.Process()

    def sample():
        with process.oneshot():
            process.cpu_times(), process.memory_info(), process.num_threads(), process.io_counters(), process.num_fds()
        psutil.cpu_percent(percpu=True), psutil.virtual_memory(), psutil.swap_memory(), psutil.disk_io_counters()
        psutil.disk_usage("/"), psutil.net_io_counters(pernic=True)
    return seconds_of(sample, 50)


def bench_monitor(started_s, peers):
    line("start and stop of a monitor", started_s, target=0.002,
         peers=[("codecarbon", codecarbon_seconds(peers["codecarbon"]))])
    with resmon.Monitor(interval=60, domains="process+node", scopes=False) as monitor:
        took = seconds_of(monitor.sample_now, 50)
        line(f"a sample of {len(monitor.columns)} columns, asked for from Python", took,
             peers=[("psutil", psutil_seconds(peers["psutil"])),
                    ("mlflow.system_metrics", mlflow_seconds(peers["mlflow.system_metrics"]))])


# ---- tables -----------------------------------------------------------------------------------------


def big_run():
    """1024 rows of more than 80 columns."""
    with resmon.Monitor(interval=60, rows=2048, scopes=False) as monitor:
        while len(monitor.times) < 1024:
            for _ in range(64):
                monitor.sample_now()
    return monitor.snapshot()


def bench_tables(numpy, pyarrow):
    run = big_run()
    names = [column.name for column in run.columns[:80]]
    if numpy:
        def floor():
            return numpy.stack([numpy.frombuffer(run.series(name)) for name in names])
        line(f"to_pandas of {len(run.times)} x 80", seconds_of(lambda: run.to_pandas(columns=names)), seconds_of(floor),
             "numpy.stack", 0.020)
    if numpy and pyarrow:
        line(f"pyarrow.table of {len(run.times)} x {len(run.columns)}", seconds_of(lambda: pyarrow.table(run)))
        table, copies = pyarrow.table(run), 0
        for column in run.columns:
            values = table[column.name].chunk(0).buffers()[1]
            copies += values.address != numpy.frombuffer(run.series(column.name)).ctypes.data
        figure("columns that were copied on the way to Arrow", copies, target=0)


def main():
    say_host()
    # Before the others and their threads are in this process, which a monitor looks into when it starts.
    started_s = seconds_of(start_stop, repeat=61)
    peers = {name: peer(name) for name in ("psutil", "memory_profiler", "codecarbon", "mlflow.system_metrics")}
    print(f"Python {sys.version.split()[0]}, libresmon {resmon.__version__}")
    bench_import(peers)
    bench_scopes(peers["memory_profiler"])
    bench_monitor(started_s, peers)
    bench_tables(peer("numpy") if peer("pandas") else None, peer("pyarrow"))
    end()


main()
