# SPDX-License-Identifier: MIT
"""The names of older tools: the same script, with the import changed, gives the same answers or better ones."""
import asyncio
import csv
import dataclasses
import functools
import inspect
import io
import json
import os
import re
import time
import types

import pytest
from conftest import RSS_SLACK, needs_live

import resmon
from resmon.compat.code_profiling import ram_usage, timer
from resmon.compat.codecarbon import EmissionsTracker, OfflineEmissionsTracker, track_emissions
from resmon.compat.memory_profiler import memory_usage
from resmon.compat.perf import PerformanceMetricsCollector, PerformanceReportingThread, PerfReportPlotter
from resmon.compat.reseng import ResourceMonitor, log_start_finish

MIB = 1 << 20
SLACK = RSS_SLACK / MIB


def held(mib, seconds, calls=None):
    """Holds so much memory for so long."""
    if calls is not None:
        calls.append(mib)
    block = bytearray(mib * MIB)
    time.sleep(seconds)
    return len(block)


def burned(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


# ---- memory_profiler --------------------------------------------------------------------------------


@pytest.mark.usefixtures("one_cpu")
def test_memory_usage_runs_the_function_once_with_any_arguments():
    calls = []
    usage, returned = memory_usage((held, (64,), {"seconds": 0, "calls": calls}), max_usage=True, retval=True)
    assert calls == [64] and returned == 64 * MIB
    idle = memory_usage(max_usage=True)
    assert 60 - SLACK < usage - idle < 70 + SLACK, (usage, idle)


@pytest.mark.usefixtures("one_cpu")
def test_a_peak_that_is_over_at_once_is_seen():
    idle = memory_usage(max_usage=True)
    assert memory_usage((lambda: len(bytearray(96 * MIB)),), interval=10, max_usage=True) - idle > 88 - SLACK


@pytest.mark.usefixtures("one_cpu")
def test_memory_usage_gives_samples():
    samples = sampled(lambda seconds: memory_usage((held, (64, seconds)), interval=0.02), 8)
    assert max(samples) - samples[0] > 55 - SLACK
    sampled(lambda seconds: memory_usage(-1, interval=0.02, timeout=seconds), 5)


def sampled(usage, wanted):
    """Samples of so many seconds that there are enough: a busy machine may take half a minute for those of 0.3 s."""
    for seconds in (0.3, 3, 30):
        begin = time.perf_counter()
        samples = usage(seconds)
        assert len(samples) <= (time.perf_counter() - begin) / 0.02 + 2
        if len(samples) >= wanted:
            return samples
    return pytest.fail(f"{len(samples)} samples in 30 s")


def test_memory_usage_agrees_with_memory_profiler():
    needs_live("memory_profiler to take its samples in time")
    theirs = pytest.importorskip("memory_profiler", reason="compat: memory_profiler is not installed")
    ours = memory_usage((held, (128, 0.5)), max_usage=True)
    assert abs(ours - theirs.memory_usage((held, (128, 0.5)), interval=0.05, max_usage=True)) < 4 + SLACK


# ---- codecarbon -------------------------------------------------------------------------------------


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_emissions_tracker(tmp_path):
    tracker = OfflineEmissionsTracker(country_iso_code="FRA", project_name="p", output_dir=str(tmp_path))
    tracker.start()
    burned(0.2)
    assert tracker.flush() >= 0
    kilograms = tracker.stop()
    assert tracker.stop() == tracker.flush() == kilograms
    flushed, row = rows_of(tmp_path / "emissions.csv")
    assert flushed["run_id"] == row["run_id"] == tracker.run_id and float(flushed["emissions"]) <= kilograms
    assert kilograms == tracker.final_emissions > 0
    assert float(row["emissions"]) == pytest.approx(kilograms, rel=1e-6)
    assert row["country_iso_code"] == "FRA" and row["project_name"] == "p" and len(row) == 38


def test_emissions_of_the_process_are_a_share(tmp_path):
    shares = []
    for mode in ("machine", "process"):
        with EmissionsTracker(output_dir=str(tmp_path), tracking_mode=mode, country_iso_code="FRA") as tracker:
            burned(0.2)
        energy = tracker.run.energy
        shares.append((tracker.final_emissions * 1000, energy.node_gco2eq, energy.tree_gco2eq))
    assert shares[0][0] == pytest.approx(shares[0][1]) and shares[1][0] == pytest.approx(shares[1][2])
    assert 0 < shares[1][2] <= shares[1][1]


# As QEMU calls processors, and people their runs.
COMMAS = "Intel Xeon Processor (Skylake, IBRS, no TSX)"
QUOTES = 'a "run", of two'


def test_names_with_commas_are_one_column(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text(f"processor\t: 0\nmodel name\t: {COMMAS}\n\n", encoding="ascii")
    path = tmp_path / "emissions.csv"
    for name in (QUOTES, "plain"):
        with resmon.Monitor(3600, fs_root=tmp_path, emissions=path, carbon="FR", name=name):
            pass
    for row, name in zip(rows_of(path), (QUOTES, "plain")):
        assert len(row) == 38 and row["cpu_model"] == COMMAS and row["project_name"] == name
    pandas = pytest.importorskip("pandas", reason="compat: pandas is not installed")
    frame = pandas.read_csv(path)
    assert frame.shape == (2, 38)
    assert list(frame["cpu_model"]) == [COMMAS] * 2 and list(frame["project_name"]) == [QUOTES, "plain"]


def test_track_emissions(tmp_path):
    @track_emissions(output_dir=str(tmp_path), country_iso_code="FRA")
    def work(number, by=1):
        burned(0.05)
        return number + by

    assert work(1, by=2) == 3
    assert len(rows_of(tmp_path / "emissions.csv")) == 1


def test_track_emissions_offline(tmp_path, monkeypatch):
    monkeypatch.setenv("RESMON_ENERGY_ROOT", str(tmp_path))  # a model: a counter may not move in so short a time

    @track_emissions(offline=True, country_iso_code="FRA", output_dir=str(tmp_path), pue=1.5,
                     force_carbon_intensity_g_co2e_kwh=100)
    def work():
        burned(0.05)

    work()
    row, = rows_of(tmp_path / "emissions.csv")
    # The energy of the place, its PUE included, at 100 g/kWh.
    assert float(row["emissions"]) == pytest.approx(float(row["energy_consumed"]) * 0.1, rel=1e-4)
    assert float(row["pue"]) == 1.5


def test_options_that_are_none():
    with pytest.raises(TypeError, match="did you mean 'project_name'") as caught:
        EmissionsTracker(project_nam="x")
    assert isinstance(caught.value, resmon.Error)


def test_tasks_without_a_name(tmp_path):
    tracker = EmissionsTracker(output_dir=str(tmp_path), country_iso_code="FRA")
    with pytest.raises(resmon.StateError, match="no task has begun"):
        tracker.stop_task()
    tracker.start_task()
    tracker.start_task("epoch")
    burned(0.05)
    with pytest.raises(resmon.StateError, match="did you mean 'epoch'"):
        tracker.stop_task("epoh")
    assert tracker.stop_task().duration <= tracker.stop_task().duration
    # One that is still open keeps its name to itself.
    tracker.start_task("first")
    tracker.start_task()
    tracker.stop_task("first")
    tracker.start_task()
    assert tracker.stop_task().duration <= tracker.stop_task().duration
    with pytest.raises(resmon.StateError, match="no task has begun"):
        tracker.stop_task()
    tracker.stop()


def test_a_task_that_begins_before_the_counters_move(tmp_path, monkeypatch):
    zones = [tmp_path / "sys/class/powercap" / name for name in ("intel-rapl:0", "intel-rapl:0:0")]
    for zone, what in zip(zones, ("package-0", "dram")):
        zone.mkdir(parents=True)
        for name, text in (("name", what), ("max_energy_range_uj", "262143328850"), ("energy_uj", "1000000")):
            (zone / name).write_text(text + "\n", encoding="ascii")
    monkeypatch.setenv("RESMON_ENERGY_ROOT", str(tmp_path))
    tracker = EmissionsTracker(save_to_file=False, force_carbon_intensity_g_co2e_kwh=360)
    tracker.start_task("first")
    for zone in zones:
        (zone / "energy_uj").write_text("6000000\n", encoding="ascii")
    first = tracker.stop_task("first")
    tracker.stop()
    assert first.cpu_energy == first.ram_energy == pytest.approx(5 / 3.6e6)
    assert first.emissions == pytest.approx(1e-6)  # 10 J at 0.1 mg/J, in kg


def test_tasks_and_figures(tmp_path):
    tracker = EmissionsTracker(output_dir=str(tmp_path), country_iso_code="FRA", log_level="error")
    tracker.start_task("a")
    burned(0.3)
    first = tracker.stop_task("a")
    begin = time.perf_counter()
    tracker.start_task("b")
    time.sleep(0.3)
    second = tracker.stop_task("b")
    took = time.perf_counter() - begin
    tracker.stop()
    whole = tracker.final_emissions_data
    assert 0 < first.emissions and 0 < second.emissions
    assert first.emissions + second.emissions <= whole.emissions * 1.0001
    assert whole.energy_consumed == pytest.approx(whole.cpu_energy + whole.ram_energy + whole.gpu_energy)
    assert 0.25 < second.duration < took + 0.05
    with pytest.raises(TypeError, match="foo"):
        EmissionsTracker(foo=1)
    with pytest.warns(UserWarning, match="force_cpu_power is ignored"):
        EmissionsTracker(force_cpu_power=120)


class Handler:
    """An output handler, as users write them for codecarbon."""

    def __init__(self):
        self.said = []

    def out(self, total, delta):
        self.said.append((dataclasses.asdict(total), delta.emissions))

    def task_out(self, data, experiment_name):
        self.said.append((experiment_name, [task.task_name for task in data]))

    def exit(self):
        self.said.append("exit")


def test_handlers_and_tasks(tmp_path, monkeypatch):
    monkeypatch.setenv("RESMON_ENERGY_ROOT", str(tmp_path))  # a model: a counter may not move in so short a time
    from resmon.compat.codecarbon import OutputMethod, TaskEmissionsTracker, track_task_emissions
    handler = Handler()
    tracker = EmissionsTracker(output_dir=str(tmp_path), country_iso_code="FRA", experiment_id="e7", experiment_name="first",
                               output_handlers=[handler], save_to_logger=True, logging_logger=handler)
    assert tracker.stop() is None and tracker.flush() is None  # it has not begun

    @track_task_emissions(tracker=tracker, task_name="load")
    def load():
        burned(0.05)
        return 3

    assert load() == 3
    with TaskEmissionsTracker("train", tracker):
        burned(0.05)
    tracker.flush()
    tracker.start_task("open")  # ended by stop()
    kilograms = tracker.stop()
    assert len(handler.said) == 10  # each of two: out and task_out twice, exit
    (first, grown), (_, names), (last, rest) = handler.said[0], handler.said[1], handler.said[4]
    assert names == ["load", "train"] and handler.said[-1] == "exit" and handler.said[5] == ("first", ["load", "train", "open"])
    assert grown == first["emissions"] and last["emissions"] == kilograms
    assert grown + rest == pytest.approx(kilograms) and last["experiment_id"] == "e7" and last["run_id"] == tracker.run_id
    tasks = rows_of(tmp_path / f"emissions_first_{tracker.run_id}.csv")
    assert [task["task_name"] for task in tasks] == ["load", "train", "open"] and float(tasks[0]["emissions"]) > 0
    assert [row["experiment_id"] for row in rows_of(tmp_path / "emissions.csv")] == ["e7", "e7"]
    quiet = EmissionsTracker(output_dir=str(tmp_path / "none"), output_methods=[OutputMethod.LOGGER], logging_logger=handler)
    with quiet:
        pass
    assert not (tmp_path / "none").exists() and quiet.get_detected_hardware()["cpu_count"] == os.cpu_count()


def test_emissions_of_another_rank(tmp_path, monkeypatch):
    """The first rank of a host has the machine's energy; another one must not fail because of it."""
    for name, value in (("JOB_ID", "4"), ("STEP_ID", "0"), ("PROCID", "1"), ("LOCALID", "1"), ("NODEID", "0"),
                        ("STEP_NUM_TASKS", "2"), ("STEP_NUM_NODES", "1"), ("STEP_TASKS_PER_NODE", "2")):
        monkeypatch.setenv("SLURM_" + name, value)
    tracker = EmissionsTracker(output_dir=str(tmp_path), country_iso_code="FRA")
    tracker.start_task("a")
    tracker.stop_task()
    tracker.flush()
    tracker.stop()
    assert tracker.run.facts["job"]["reports_host"] == 0 and tracker.final_emissions_data.duration > 0
    assert not (tmp_path / "emissions.csv").exists()


# ---- line_profiler ----------------------------------------------------------------------------------


def test_line_profiler(capsys):
    from resmon.compat.line_profiler import LineProfiler, profile

    @profile
    def total(numbers):
        result = 0
        for number in numbers:
            result += number
        return result

    profile.enable()
    assert total(range(100)) == 4950
    profile.disable()
    assert [row.hits for row in total.lines.rows if "result += number" in row.text] == [100]


def _plain(count, step=2, *, more=3):
    """Is called by two names."""
    result = 0
    for _ in range(count):
        result += step
    return result + more


def _closure():
    first, second = 5, 7

    def inner(value):
        return first * value + second
    return inner


class _Methods:
    def own(self, value):
        return value + 1

    @classmethod
    def of_class(cls, value):
        return value + 2


def test_line_profiler_of_functions_that_are_there(tmp_path, capsys):
    """add_function() needs no decorator: whoever has a reference to the function calls the profiled one."""
    from resmon.compat.line_profiler import LineProfiler, load_stats
    reference, closed = _plain, _closure()
    own = LineProfiler(_plain)
    for function in (_plain, closed, _Methods.own, _Methods.of_class):
        own.add_function(function)
    assert own.runcall(reference, 10) == 23 and reference(2, 1, more=0) == 2
    assert closed(3) == 22 and _Methods().own(1) == 2 and _Methods.of_class(1) == 3
    assert _plain.__name__ == "_plain" and (_plain.__defaults__, _plain.__kwdefaults__) == ((2,), {"more": 3})
    stats = own.get_stats()
    hits = {key[2]: [hits for _, hits, _ in lines] for key, lines in stats.timings.items()}
    assert hits == {"_plain": [2, 14, 12, 2], "_closure.<locals>.inner": [1], "_Methods.own": [1], "_Methods.of_class": [1]}
    own.dump_stats(tmp_path / "run.lprof")
    assert load_stats(tmp_path / "run.lprof").timings == stats.timings
    own.print_stats()
    assert "result += step" in capsys.readouterr().out
    with pytest.raises(TypeError, match="written in Python"):
        own.add_function(len)


def _awkward(*args):
    def inner(value):
        return args, value
    return inner


async def _awaited(value):
    return value


def _generated():
    got = yield 1
    return got


def test_line_profiler_again(capsys):
    """A second profiler, as of a notebook's cell that is run twice; names, coroutines and generators as they were."""
    from resmon.compat.line_profiler import LineProfiler
    closed = _awkward(1, 2)
    first = LineProfiler(_awaited, _generated, closed)
    second = LineProfiler(_awaited, _generated, closed)
    assert asyncio.run(_awaited(4)) == 4 and closed(3) == ((1, 2), 3)
    generator = _generated()
    assert next(generator) == 1
    with pytest.raises(StopIteration) as ended:
        generator.send("sent")
    assert ended.value.value == "sent"
    assert inspect.iscoroutinefunction(_awaited) and inspect.isgeneratorfunction(_generated)
    assert str(inspect.signature(_awaited)) == "(value)" and "return value" in inspect.getsource(_awaited)
    assert first.get_stats().timings == second.get_stats().timings
    assert {key[2] for key in second.get_stats().timings} == {"_awaited", "_generated", "_awkward.<locals>.inner"}
    second.print_stats()
    assert "<resmon>" not in capsys.readouterr().out


def test_line_profiler_decorates_what_is_no_plain_function():
    from resmon.compat.line_profiler import LineProfiler
    own = LineProfiler()

    @own
    class Decorated:
        def one(self):
            return 1

        @staticmethod
        def two():
            return 2

        @property
        def three(self):
            return 3

    class Value:
        four = own(property(lambda self: 4))
        five = own(functools.cached_property(lambda self: 5))
    Value.five.__set_name__(Value, "five")
    decorated = Decorated()
    assert (decorated.one(), decorated.two(), decorated.three, Value().four, Value().five) == (1, 2, 3, 4, 5)
    bound = own(decorated.one)
    assert isinstance(bound, types.MethodType) and bound() == 1
    assert own(functools.partial(max, 1))(2) == 2 and own(len) is len
    doubled = own(_doubled)
    assert own(doubled) is doubled and doubled(2) == 4
    hits = {key[2].rpartition(".")[2]: sum(hits for _, hits, _ in lines) for key, lines in own.get_stats().timings.items()}
    assert (hits["one"], hits["two"]) == (2, 1)


def _doubled(value):
    return 2 * value


def test_memory_profilers_line_profiler(capsys):
    from resmon.compat.memory_profiler import LineProfiler, show_results
    own = LineProfiler()

    @own(precision=3)
    def held(count):
        kept = []
        for _ in range(count):
            kept.append(bytearray(1 << 20))
        return len(kept)

    assert held(12) == 12
    [lines] = own.code_map.values()
    assert [hits for _, _, hits in lines.values()][-4:] == [1, 13, 12, 1]
    show_results(own)
    assert "bytearray(1 << 20)" in capsys.readouterr().out


@pytest.mark.parametrize("tool, shown", [("line", "% Time"), ("memory", "Increment")])
def test_a_script_without_an_import(script, tmp_path, tool, shown):
    (tmp_path / "own.py").write_text("import beside, sys\n@profile\ndef work(n):\n    return [0] * n\nwork(9)\nprint(__name__, sys.argv[1:])\n")
    (tmp_path / "beside.py").write_text("")
    out, _ = script(f"""
        import runpy, sys
        sys.argv = ["-m", {str(tmp_path / "own.py")!r}, "a"]
        runpy.run_module("resmon.compat.{tool}_profiler", run_name="__main__")
    """)
    assert "__main__ ['a']" in out and shown in out and "return [0] * n" in out


# ---- reseng -----------------------------------------------------------------------------------------


def test_resource_monitor(tmp_path):
    needs_live("samples while 64 MiB are held for 1 s")
    pandas = pytest.importorskip("pandas", reason="compat: pandas is not installed")
    monitor = ResourceMonitor(interval=0.05)
    monitor.start()
    monitor.tag("cpu v")
    burned(0.3)
    monitor.tag("cpu ^")
    held(64, 1)
    monitor.stop()
    frame = monitor.df
    assert list(frame.columns) == ["time", "cpu", "memory", "read_bytes", "read_chars", "write_bytes", "write_chars"]
    assert frame.index.name == "elapsed" and frame["cpu"].max() > 10  # of a busy machine too
    assert frame["memory"].max() - frame["memory"].iloc[0] > 55 * MIB
    monitor.dump(tmp_path / "dump.json")
    again = ResourceMonitor.load(tmp_path / "dump.json")
    pandas.testing.assert_frame_equal(again.df[["cpu", "memory"]], frame[["cpu", "memory"]], rtol=1e-5)
    assert [label for _, label in again.tags] == ["cpu v", "cpu ^"]
    assert all(abs(there[0] - here[0]) < 0.05 for there, here in zip(again.tags, monitor.tags))


def test_resource_monitor_starts_again():
    monitor = ResourceMonitor(interval=0.05)
    for _ in range(2):
        monitor.start()
        monitor.stop()
    assert monitor._run.info.samples >= 2


def test_log_start_finish(capsys):

    @log_start_finish
    def func(x, text):
        return x + len(text)

    assert func(1, text="a long text that is cut") == 24
    lines = capsys.readouterr().out.splitlines()  # as the original: printed
    assert lines[0].endswith("func(1, text=a long te\u2026) started.")
    assert re.search(r"finished in \d+\.\d\d", lines[1])


# ---- lightgbm-benchmark's perf.py, and code_profiling -----------------------------------------------


class Logger:
    def __init__(self):
        self.logged = {}

    def log_metric(self, name, value, step):
        self.logged[name, step] = value


def test_performance_metrics_collector(tmp_path):
    collector = PerformanceMetricsCollector(max_length=10)
    collector.start()
    burned(1.2)
    collector.finalize()
    reports = collector.perf_reports
    assert len(reports) >= 1
    assert set(reports[-1]) >= {"cpu_pct_per_cpu_avg", "mem_percent", "disk_usage_percent", "disk_io_read_mb",
                                "net_io_ext_sent_mb", "timestamp"}
    logger = Logger()
    plotter = PerfReportPlotter(logger)
    plotter.add_perf_reports(collector, node=3)
    plotter.report_nodes_perf()
    assert {name for name, _ in logger.logged} <= set(collector.run.figures) and all(step == 3 for _, step in logger.logged)
    assert logger.logged["node_cpu_hours", 3] > 0
    path = plotter.save_to(str(tmp_path / "reports.json"))
    with open(path, encoding="utf-8") as file:
        assert json.load(file) == {"3": reports}
    from_reports = Logger()
    plotter = PerfReportPlotter(from_reports)
    plotter.add_perf_reports(reports, node=3)
    plotter.report_nodes_perf()
    name = "max_t_mem_percent", 3
    # Reports hold what each ended with, the collector every sample.
    assert 0 < from_reports.logged[name] <= logger.logged[name] * 1.0001


def test_reports_of_the_original_have_its_figures():
    """By the formulas of perf.py, on ten reports as it makes them; hours up to the last report."""
    shares = [10, 20, 30, 50, 80, 90, 100, 100, 0, 0]
    reports = [{"cpu_pct_per_cpu_avg": share, "cpu_pct_per_cpu_min": share / 2, "cpu_pct_per_cpu_max": min(100, share * 1.1),
                "mem_percent": 10 + i, "disk_usage_percent": 50 + i, "disk_io_read_mb": 100 + i, "disk_io_write_mb": 200 + 2 * i,
                "net_io_lo_sent_mb": 1 + i, "net_io_ext_sent_mb": 2 + i, "net_io_lo_recv_mb": 3 + i, "net_io_ext_recv_mb": 4 + i,
                "timestamp": 1.7e9 + i} for i, share in enumerate(shares)]
    logger = Logger()
    plotter = PerfReportPlotter(logger)
    plotter.add_perf_reports(reports, 3)
    plotter.report_nodes_perf()
    hours = 10 * os.cpu_count() / 3600
    assert logger.logged == {(name, 3): pytest.approx(value) for name, value in {
        "cpu_avg_utilization_pct": 48.0, "cpu_avg_utilization_over20_pct": 70.0, "cpu_avg_utilization_over40_pct": 50.0,
        "cpu_avg_utilization_over80_pct": 40.0, "cpu_avg_utilization_at100_pct": 20.0, "max_t_cpu_pct_per_cpu_avg": 100,
        "max_t_cpu_pct_per_cpu_min": 50.0, "max_t_cpu_pct_per_cpu_max": 100, "node_cpu_hours": hours,
        "node_unused_cpu_hours": hours * 0.52, "max_t_mem_percent": 19, "max_t_disk_usage_percent": 59,
        "total_disk_io_read_mb": 109, "total_disk_io_write_mb": 218, "total_net_io_lo_sent_mb": 10,
        "total_net_io_ext_sent_mb": 11, "total_net_io_lo_recv_mb": 12, "total_net_io_ext_recv_mb": 13}.items()}


@pytest.mark.filterwarnings("error")
def test_nobody_is_warned_of_what_he_has_not_chosen():
    memory_usage((lambda: None,), interval=1)
    monitor = ResourceMonitor(interval=1)
    monitor.start()
    monitor.stop()


def test_figures_of_this_host():
    needs_live("disks, a network, and a CPU for this alone")
    collector = PerformanceMetricsCollector(max_length=10)
    collector.start()
    burned(1.2)
    collector.finalize()
    assert collector.perf_reports[-1]["cpu_pct_per_cpu_max"] > 50
    logger = Logger()
    plotter = PerfReportPlotter(logger)
    plotter.add_perf_reports(collector, node=3)
    plotter.report_nodes_perf()
    assert len(logger.logged) == 18 or not os.listdir("/sys/block")  # those of disks


def test_timer_and_ram_usage(caplog):
    caplog.set_level("INFO")

    class Model:
        @timer
        @ram_usage
        def fit(self, *, mib):
            return len(bytearray(mib * MIB))

    assert Model().fit(mib=32) == 32 * MIB
    assert Model.fit.last.seconds > 0
    assert Model.fit.__wrapped__.last.peak_bytes > 32 * MIB
    peak, took = caplog.messages  # the lines of the originals, in the root logger
    assert float(re.fullmatch(r"Finished .*fit\. Max RAM used (\d+\.\d{4}) GB\.", peak)[1]) == \
        pytest.approx(Model.fit.__wrapped__.last.peak_bytes / 1e9, abs=1e-4)
    assert re.fullmatch(r"Finished .*fit in \d+\.\d{4} seconds\.", took)


def test_timer_of_a_class(caplog):
    caplog.set_level("INFO")

    @timer
    class Loader:
        def __init__(self, seconds=0.0, *, name):
            time.sleep(seconds)
            self.name = name

    class Child(Loader):
        pass

    one = Loader(0.02, name="a")
    assert isinstance(one, Loader) and one.name == "a"
    assert float(re.fullmatch(r"Finished Loader in (\d+\.\d{4}) seconds\.", caplog.messages[0])[1]) >= 0.02
    assert Child(name="b").name == "b" and len(caplog.messages) == 1, "a class that inherits is not the one that was decorated"


def test_performance_reporting_thread():
    reports, ended = [], []
    thread = PerformanceReportingThread(initial_time_increment=0.05, cpu_interval=0.05, callback_on_loop=reports.append,
                                        callback_on_exit=lambda: ended.append(True))
    thread.start()
    end = time.monotonic() + 30
    while len(reports) < 3 and time.monotonic() < end:
        time.sleep(0.02)
    thread.finalize()
    assert ended == [True] and not thread.is_alive()
    assert {"cpu_pct_per_cpu_avg", "cpu_pct_per_cpu_max", "mem_percent", "net_io_lo_sent_mb", "timestamp"} <= set(reports[0])
    assert 0 <= reports[0]["cpu_pct_per_cpu_avg"] <= 100 and abs(reports[0]["timestamp"] - time.time()) < 60


def test_memory_usage_with_timestamps_and_a_stream():
    text = io.StringIO()
    begin = time.time()
    samples, returned = memory_usage((held, (16, 0.1)), interval=0.01, timestamps=True, retval=True, stream=text)
    assert returned == 16 * MIB
    assert all(mib > 1 and begin - 1 < seconds < time.time() + 1 for mib, seconds in samples)
    assert [float(line.split()[1]) for line in text.getvalue().splitlines()] == pytest.approx([mib for mib, _ in samples], abs=1e-5)
    assert text.getvalue().startswith("MEM ")
    assert memory_usage(-1, interval=0.01, timeout=0.05, stream=text) is None
    peak, seconds = memory_usage((held, (16, 0.05)), interval=0.01, timestamps=True, max_usage=True)
    assert peak > 16 and seconds > begin


def test_emissions_data_has_all_fields(tmp_path):
    tracker = EmissionsTracker(output_dir=str(tmp_path), country_iso_code="FRA", project_name="p")
    tracker.start()
    burned(0.3)
    tracker.stop()
    data = tracker.final_emissions_data
    with open(tmp_path / "emissions.csv", encoding="utf-8", newline="") as file:
        line = next(csv.DictReader(file))
    assert set(data.values) == set(line) and len(data.values) == 38
    assert (data.project_name, data.country_iso_code, data.tracking_mode) == ("p", "FRA", "machine")
    assert data.cpu_power == pytest.approx(float(line["cpu_power"]), rel=1e-3)
    assert data.cpu_count == os.cpu_count() and data.longitude is None
    assert data.ram_total_size == pytest.approx(float(line["ram_total_size"]))
