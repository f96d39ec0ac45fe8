# SPDX-License-Identifier: MIT
"""resmon.formats: the old files of data/, both ways.

data/cpu_metrics.json   shape of ska-sdp-perfmon, docs "Output files", schema of cpu_metrics.json
data/reseng.json        shape of reseng.monitor.ResourceMonitor.dump(), 0.25 s nominal
data/perf_reports.json  shape of lightgbm-benchmark, common/perf.py, PerfReportPlotter.save_to()
data/merged_run.json    a run document of libresmon with merged rows, cut down to what is used here;
                        its energy and InfiniBand are made up
"""
import copy
import json
import math
import random
import re
from pathlib import Path

import pytest

from resmon import formats
from resmon.formats import perf_reports, perfmon, reseng

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
OLD = {"perfmon": "cpu_metrics", "reseng": "reseng", "perf_reports": "perf_reports"}
NAN = float("nan")


def load(name):
    return json.loads((HERE / "data" / (name + ".json")).read_text())


def column(run, metric, instance=""):
    """Series and summary of a column."""
    for i, c in enumerate(run["columns"]):
        if (c["metric"], c["instance"]) == (metric, instance):
            return run["series"]["columns"][i], run["summary"]["columns"][i]
    return None


def last(run, metric, instance=""):
    return column(run, metric, instance)[0]["last"]


# ---- what it is ----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", formats.SHAPES)
def test_detect(shape):
    assert formats.detect(load(OLD[shape])) == shape
    assert formats.detect(load("merged_run")) == "resmon-run"


def test_detect_a_bare_list_of_reports():
    assert formats.detect(load("perf_reports")["0"]) == "perf_reports"


@pytest.mark.parametrize("document", [None, 1, "x", [], {}, [[]], [{}], {"a": []}, {"tags": []}])
def test_detect_none(document):
    assert formats.detect(document) is None
    with pytest.raises(ValueError, match="no known shape"):
        formats.read(document)


def test_read_a_run_document():
    run = load("merged_run")
    assert formats.read(run) == [run]


@pytest.mark.parametrize("shape", ["resmon-run", "csv", None, []])
def test_write_an_unknown_shape(shape):
    with pytest.raises(ValueError, match="expected one of perfmon, reseng, perf_reports"):
        formats.write([load("merged_run")], shape)


@pytest.mark.parametrize("runs", [[], None, {}, [1], [{"format": "resmon-run", "version": 2}]])
def test_write_what_are_no_run_documents(runs):
    with pytest.raises(ValueError, match="run.document"):
        formats.write(runs, "perfmon")


# ---- old -> run -> old ---------------------------------------------------------------------


@pytest.mark.parametrize("shape", formats.SHAPES)
def test_old_to_run_to_old_is_identical(shape):
    old = load(OLD[shape])
    before = copy.deepcopy(old)
    runs = json.loads(json.dumps(formats.read(old), allow_nan=False))
    assert formats.write(runs, shape) == before
    assert old == before  # what is read is left alone


def test_a_bare_list_stays_one():
    reports = load("perf_reports")["1"]
    assert formats.write(formats.read(reports), "perf_reports") == reports


@pytest.mark.parametrize("shape", formats.SHAPES)
def test_read_runs_are_valid(shape):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    schema = json.loads((ROOT / "lib/format/resmon-run.schema.json").read_text())
    for run in formats.read(load(OLD[shape])):
        jsonschema.validate(run, schema)
        assert run["run"]["state"] == "stopped"
        assert "read from" in run["sources"][0]["reason"]
        assert {c["source"] for c in run["columns"]} <= {s["name"] for s in run["sources"]}


@pytest.mark.parametrize("module", [perfmon, reseng, perf_reports])
def test_metrics_are_those_of_the_library(module):
    table = ROOT / "lib/metric/metrics.def"
    if not table.exists():
        pytest.skip("not in a source tree: no metrics.def")
    row = re.compile(r'^RM_METRIC\(\d+, \w+, "([^"]+)", "([^"]+)", (\w+), (\w+),', re.M)
    known = {m[0]: m[1:] for m in row.findall(table.read_text())}
    ports = perfmon.PORTS + (perfmon._rapl("package-0"),) if module is perfmon else ()
    for field in module.FIELDS + ports:
        for metric in field.rather + (field.metric,) + field.instead:
            if metric.startswith("perfmon."):
                continue  # a figure that the library has no metric for
            unit, kind, level = known[metric]
            kind = {"GROWTH": "COUNTER"}.get(kind, kind)
            kinds = {"rate": "counter"}.get(field.kind, field.kind)
            assert (unit, kind.lower()) == (field.unit, kinds), metric
            assert metric in field.instead or level.lower() == field.level, metric


# ---- run -> old -> run ---------------------------------------------------------------------


@pytest.mark.parametrize("shape", formats.SHAPES)
def test_run_to_old_to_run_keeps_figures(shape):
    run = load("merged_run")
    assert run["series"]["t_last_ns"][0] > 0  # merged rows: counters have grown by the first
    old = formats.write([run], shape)
    again = formats.read(json.loads(json.dumps(old, allow_nan=False)))[0]
    assert formats.write([again], shape) == old
    compared = 0
    for c in again["columns"]:
        metric, instance = c["metric"], c["instance"]
        if metric.startswith("perfmon.") or metric.startswith("node.ib."):
            continue
        is_held = shape == "perf_reports" and metric == "node.fs.percent"
        is_share = ".cpu." in metric and c["unit"] == "%"
        kind = "mean" if is_share or metric.startswith("proc.io.") else "last"
        ours = metric.replace(".all.", ".") if shape == "perf_reports" else metric
        expected = column(run, ours, instance)[0][kind]
        read = column(again, metric, instance)[0][kind]
        assert is_held or read == expected, metric
        if c["kind"] == "counter":
            total = column(run, ours, instance)[1]["last"]
            assert column(again, metric, instance)[1]["last"] == pytest.approx(total, rel=1e-6)
        compared += 1
    assert compared >= 6
    for back, there in zip(again["series"]["t_last_ns"], run["series"]["t_last_ns"]):
        assert abs(back - there) < 500  # what a double has of a time since 1970


def test_the_start_of_a_run_is_said_only_where_it_must_be():
    run = load("merged_run")
    for times in ("t_first_ns", "t_last_ns"):
        run["series"][times][0] = 0
    assert "resmon_start" not in formats.write([run], "reseng")
    with pytest.raises(ValueError, match="resmon_start is later than the first row"):
        formats.read({**load("reseng"), "resmon_start": 1800000000})


# ---- perfmon -------------------------------------------------------------------------------


def test_perfmon_units_and_kinds():
    run = formats.read(load("cpu_metrics"))[0]
    assert run["machine"] == {"host_name": "n1"}
    assert run["run"]["start"] == "2023-11-14T22:13:21.000000000Z"
    assert run["run"]["duration_ns"] == 121 * 10**9
    assert run["settings"]["interval_ms"] == 30000
    assert last(run, "tree.cpu.time") == [0, 29.65, 86.5, 146.54, 164.66]
    assert last(run, "tree.mem.rss") == [12000000, 22000000, 32000000, 42000000, 30000000]
    assert last(run, "node.net.all.sent") == [0, 900, 1800, 2700, 3600]
    series, summary = column(run, "energy.zone", "core-0")
    assert series["last"] == [0, 312.0, 624.0, 936.0, 1248.0]
    assert series["mean"][1] == 312.0 / 30
    assert summary["integral"] == summary["last"] == 1248.0
    assert summary["mean"] == pytest.approx(1248.0 / 121)
    assert column(run, "perfmon.memory_bw")[0]["last"][0] == 1.5e9


def test_perfmon_first_share_of_the_machine_is_no_figure():
    series, summary = column(formats.read(load("cpu_metrics"))[0], "node.cpu.percent")
    assert series["last"] == [None, 51.3, 97.9, 100.0, 30.5]
    assert summary["n"] == 4
    assert summary["duration_s"] == 121.0  # the first reading is of the time before it
    mean = (51.3 * 30 + 97.9 * 30 + 100.0 * 31 + 30.5 * 30) / 121
    assert summary["mean"] == pytest.approx(mean)
    assert summary["over_s"] == [121.0, 91.0, 61.0, 31.0]
    assert (summary["p50"], summary["p95"]) == (51.3, 100.0)


def test_perfmon_a_counter_that_ran_backwards():
    series, summary = column(formats.read(load("cpu_metrics"))[0], "energy.zone", "package-0")
    assert summary["resets"] == 1
    assert series["last"] == [0, 0.11823, 0.11823, 600.11823, 1200.11823]
    assert series["mean"][2] is None


def test_perfmon_empty_is_absent_and_not_zero():
    run = formats.read(load("cpu_metrics"))[1]
    assert column(run, "perfmon.memory_bw") is None
    assert formats.write([run], "perfmon")["n2"]["memory_bw"] == []


def test_perfmon_lists_are_cut_and_filled_up_as_its_reader_does():
    old = load("cpu_metrics")
    old["n1"]["num_fds"] = [12, 13]
    old["n1"]["num_threads"] += [9, 9]
    run = formats.read(old)[0]
    assert last(run, "tree.fds") == [12, 13, None, None, None]
    assert last(run, "tree.threads") == [2, 4, 4, 4, 2]


def test_perfmon_what_it_had_summed_up_is_taken_off():
    old = load("cpu_metrics")
    right = copy.deepcopy(old)
    for key, names in (
        ("memory_info", ("rss", "vms", "shared")),
        ("memory_full_info", ("uss", "swap")),
        ("io_counters", ("read_count", "write_count", "read_bytes", "write_bytes")),
    ):
        for before, name in zip(names, names[1:]):
            values = old["n1"][key]
            values[name] = [a + b for a, b in zip(values[before], values[name])]
    for name in ("port_xmit_packets", "port_rcv_packets"):
        values = old["n1"]["ib_io_counters"]
        values[name] = [4 * n for n in values[name]]
    runs = formats.read(old)
    assert "is taken off" in runs[0]["sources"][0]["reason"]
    assert "is taken off" not in runs[1]["sources"][0]["reason"]
    assert formats.write(runs, "perfmon") == right


def test_perfmon_sums_in_no_order_are_absent():
    old = load("cpu_metrics")
    old["n1"]["memory_info"]["shared"][2] = old["n1"]["memory_info"]["rss"][2] + 1
    old["n1"]["memory_info"]["vms"][2] = 7
    run = formats.read(old)[0]
    assert column(run, "tree.mem.rss") is column(run, "tree.mem.vms") is None


def test_perfmon_a_counter_that_it_might_not_read_is_absent():
    old = load("cpu_metrics")
    old["n1"]["rapl_powercap"]["dram-0"] = [0] * 5
    assert column(formats.read(old)[0], "energy.zone", "dram-0") is None


def test_perfmon_of_a_run():
    run = load("merged_run")
    host = formats.write([run], "perfmon")["n1"]
    rows = len(run["series"]["t_last_ns"])
    assert len(host["time_stamps"]) == rows
    assert host["cpu_percent"] == column(run, "tree.cpu.percent")[0]["mean"]
    assert host["memory_info"]["rss"] == last(run, "tree.mem.rss")
    package = last(run, "energy.zone", "package-0")
    assert host["rapl_powercap"]["package-0"] == [round(j * 1e6) for j in package]
    ports = zip(last(run, "node.ib.sent", "mlx5_0:1"), last(run, "node.ib.sent", "mlx5_1:1"))
    assert host["ib_io_counters"]["port_xmit_data"] == [a + b for a, b in ports]
    memory = run["machine"]["memory_bytes"]
    if max(n for n in last(run, "tree.processes") if n is not None) == 1:
        assert host["io_counters"]["read_count"] == last(run, "proc.io.read_count")
    assert host["memory_percent"][0] == pytest.approx(100 * last(run, "tree.mem.rss")[0] / memory)
    assert "memory_bw" not in host


def test_perfmon_of_a_run_with_children_has_no_figure_of_the_process_alone():
    run = load("merged_run")
    for kind in ("last", "min", "max", "mean"):
        column(run, "tree.processes")[0][kind][-1] = 2
    host = formats.write([run], "perfmon")["n1"]
    assert host["io_counters"]["read_count"] == []
    assert host["io_counters"]["read_bytes"] == last(run, "tree.io.read_bytes")
    memory = run["machine"]["memory_bytes"]
    rss = last(run, "tree.mem.rss")
    assert host["memory_percent"] == pytest.approx([100 * n / memory for n in rss])


def test_perfmon_hosts_have_the_same_fields():
    # else CreateDataFrame moves the columns of the host that has less
    poor, rich = load("merged_run"), load("merged_run")
    poor["machine"]["host_name"] = "n2"
    keep = [i for i, c in enumerate(poor["columns"]) if c["level"] == "tree"]
    for section in (poor, poor["series"], poor["summary"]):
        section["columns"] = [section["columns"][i] for i in keep]
    document = formats.write([rich, poor], "perfmon")
    assert document["host_names"] == ["n1", "n2"]
    assert document["n2"]["rapl_powercap"] == {"package-0": [], "dram-0": []}
    assert document["n2"]["net_io_counters"]["bytes_sent"] == []

    def names(host):
        return {k: sorted(v) if isinstance(v, dict) else None for k, v in host.items()}

    assert names(document["n1"]) == names(document["n2"])


def test_perfmon_two_runs_of_one_host():
    with pytest.raises(ValueError, match="run document 1 is of the host 'n1'"):
        formats.write([load("merged_run"), load("merged_run")], "perfmon")


# ---- reseng --------------------------------------------------------------------------------


def test_reseng_figures():
    run = formats.read(load("reseng"))[0]
    assert [c["metric"] for c in run["columns"]][:2] == ["proc.cpu.percent", "proc.mem.rss"]
    assert last(run, "proc.cpu.percent")[0] is None
    assert last(run, "proc.io.read_chars") == [0, 8192, 1056792, 1056792, 1146793]
    assert run["tags"] == [
        {"t_ns": -125000000, "label": "start"},
        {"t_ns": pytest.approx(550000000, abs=200), "label": 'fit, "2"'},
    ]
    # bytes over the time that they took, not over the nominal 0.25 s
    series, summary = column(run, "proc.io.read_bytes")
    seconds = (run["series"]["t_last_ns"][2] - run["series"]["t_last_ns"][1]) / 1e9
    assert series["mean"][2] == 1048576 / seconds
    assert series["mean"][0] is None
    assert summary["n"] == 5


def test_reseng_rates_over_an_unknown_interval():
    old = load("reseng")
    old["data"] = old["data"].replace("4194400.0", "4194400.3")
    run = formats.read(old)[0]
    source = next(s for s in run["sources"] if s["name"] == "reseng_io")
    assert source["provenance"] == "sampled" and "nominal interval" in source["reason"]
    assert column(run, "proc.io.read_chars")[0]["mean"][2] == 4194400.3
    assert formats.write([run], "reseng") == old


def test_reseng_text_is_what_pandas_makes():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    import io

    for run in (load("merged_run"), formats.read(load("reseng"))[0]):
        text = formats.write([run], "reseng")["data"]
        frame = pandas.read_csv(io.StringIO(text))
        assert frame.set_index("elapsed").to_csv() == text


def test_reseng_does_not_make_up_a_first_share():
    run = load("merged_run")
    for kind in ("last", "min", "max", "mean"):
        column(run, "proc.cpu.percent")[0][kind][0] = None
    assert formats.write([run], "reseng")["data"].split("\n")[1].split(",")[2] == ""


def test_reseng_is_of_one_process():
    with pytest.raises(ValueError, match="expected 1 run, not 2"):
        formats.write([load("merged_run"), load("merged_run")], "reseng")


# ---- perf_reports --------------------------------------------------------------------------


def test_perf_reports_figures():
    run = formats.read(load("perf_reports"))[1]
    assert last(run, "node.disk.all.read_bytes") == [0, 8192, 16384, 24576]
    assert last(run, "node.net.ext.recv") == [0, 100000, 200000, 300000]
    assert last(run, "node.fs.percent", "/") == [14.5, 14.5, 14.6, 14.6]
    node = run["summary"]["node"]
    assert node["max_t_cpu_pct_per_cpu_avg"] == 100.0
    assert node["cpu_avg_utilization_over80_pct"] == pytest.approx(50.0, rel=1e-2)  # of four reports, with the first
    assert node["total_net_io_ext_recv_mb"] == 300000 / 1048576
    assert node["node_cpu_hours"] is None  # the file does not say of how many CPUs


def test_perf_reports_have_what_their_reader_wants():
    run = load("merged_run")
    reports = formats.write([run], "perf_reports")["0"]
    names = [field.name for field in perf_reports.FIELDS] + ["timestamp"]
    assert reports[0].pop("resmon_start") < reports[0]["timestamp"]
    for report in reports:
        assert list(report) == names
        assert all(isinstance(value, (int, float)) for value in report.values())
    # disks once, although the run has psutil's count too
    read = last(run, "node.disk.read_bytes")
    assert [r["disk_io_read_mb"] for r in reports] == [n / 1048576 for n in read]


def test_perf_reports_begin_with_the_first_share():
    run = load("merged_run")
    for metric in ("avg", "min", "max"):
        for kind in ("last", "min", "max", "mean"):
            column(run, "node.cpu.core." + metric)[0][kind][0] = None
    reports = formats.write([run], "perf_reports")["0"]
    assert len(reports) == len(run["series"]["t_last_ns"]) - 1
    assert all("cpu_pct_per_cpu_avg" in report for report in reports)


def test_perf_reports_number_the_nodes():
    runs = [load("merged_run"), load("merged_run")]
    assert list(formats.write(runs, "perf_reports")) == ["0", "1"]
    runs[0]["job"] = {"system": "slurm", "node_name": "n7", "node_index": 7}
    runs[1]["job"] = {"system": "slurm", "node_name": "n3", "node_index": 3}
    assert list(formats.write(runs, "perf_reports")) == ["7", "3"]


def test_nothing_to_write():
    run = formats.read(load("reseng"))[0]
    with pytest.raises(ValueError, match="no figures of a node"):
        formats.write([run], "perf_reports")
    run = formats.read(load("perf_reports"))[0]
    for shape in ("reseng", "perfmon"):
        with pytest.raises(ValueError, match="no figures"):
            formats.write([run], shape)


# ---- garbage -------------------------------------------------------------------------------


def put(document, path, value):
    *way, key = path
    for step in way:
        document = document[step]
    document[key] = value


@pytest.mark.parametrize(
    "path, value, text",
    [
        (("host_names",), "n1", "host_names is 'n1': expected a list"),
        (("host_names",), [], "host_names is empty"),
        (("host_names",), ["n1", "n1"], "has 'n1' twice"),
        (("host_names",), ["n3"], "host 'n3' is None: expected an object"),
        (("host_names",), ["host_names"], "host 'host_names': expected a name"),
        (("sampling_frequency",), "30", "sampling_frequency is '30': expected a number"),
        (("n1", "time_stamps"), [], "host 'n1': time_stamps is empty"),
        (("n1", "time_stamps", 1), "x", r"time_stamps\[1\] is 'x': expected a number"),
        (("n1", "time_stamps", 4), 1, r"time_stamps\[4\] is less than the one before"),
        (("n1", "time_stamps", 4), 10**12, "expected seconds since 1970"),
        (("n1", "cpu_time", 2), NAN, r"host 'n1': cpu_time\[2\] is nan: expected a finite number"),
        (("n1", "cpu_time", 2), float("inf"), "expected a finite number"),
        (("n1", "cpu_time", 2), 10**400, "expected a finite number"),
        pytest.param(("n1", "cpu_time", 2), 10**5000, r"cpu_time\[2\] is", id="digits"),
        (("n1", "cpu_time", 2), True, "is True: expected a number"),
        (("n2", "memory_info", "rss", 0), -1, r"host 'n2': memory_info.rss\[0\] is -1"),
        (("n1", "memory_info"), [1], "memory_info is .1.: expected an object"),
        (("n1", "memory_info", "rss"), 5, "memory_info.rss is 5: expected a list"),
        (("n1", "rapl_powercap"), 3, "rapl_powercap is 3: expected an object"),
        (("n1", "rapl_powercap", "x" * 50), [], "expected a short name"),
        (("n1",), {"time_stamps": [1]}, "none of the fields of cpu_metrics.json"),
        (("n1", "parent_proc_md"), {1, 2}, "parent_proc_md is no JSON"),
    ],
)
def test_garbage_in_perfmon(path, value, text):
    document = load("cpu_metrics")
    put(document, path, value)
    with pytest.raises(ValueError, match=text):
        formats.read(document)


def test_hostile_sizes():
    host = {"time_stamps": [0] * 300_000, "num_fds": [1]}
    host["rapl_powercap"] = {"package-%d" % i: [1] for i in range(100)}
    with pytest.raises(ValueError, match="expected 20000000 figures in all, at most"):
        formats.read({"host_names": ["n1"], "n1": host})


@pytest.mark.parametrize(
    "old, new, text",
    [
        ("elapsed,time", "elapsed,when", "expected the columns elapsed,time,cpu"),
        ("99.8", "", None),
        ("99.8", "nan", "row 1: cpu is 'nan': expected a number"),
        ("99.8", "1_0", "row 1: cpu is '1_0'"),
        ("99.8", "1e999", "expected a finite number"),
        ("99.8", "9" * 5000, "row 1: cpu is"),
        ("99.8", "-1", "row 1: cpu is -1.0: expected a finite number of at least 0"),
        ("99.8,", "", "row 1 has 7 cells: expected 8"),
        ("1700000000.5004", "", "row 1: time is ''"),
        ("1700000000.5004", "1800000000.5", r"time\[2\] is less than the one before"),
        ("99.8", "x" * 200000, "no CSV|row 1: cpu is"),
    ],
)
def test_garbage_in_reseng(old, new, text):
    document = load("reseng")
    document["data"] = document["data"].replace(old, new)
    if text is None:
        assert last(formats.read(document)[0], "proc.cpu.percent")[1] is None
        return
    with pytest.raises(ValueError, match=text):
        formats.read(document)


@pytest.mark.parametrize(
    "document, text",
    [
        ({"tags": None, "data": "x"}, "expected the columns"),
        ({"tags": None, "data": 3}, "data is 3: expected CSV text"),
        ({"tags": [], "data": ""}, "expected the columns"),
        ({"tags": [], "data": ",".join(reseng.HEADER) + "\n"}, "no rows"),
    ],
)
def test_garbage_around_reseng(document, text):
    with pytest.raises(ValueError, match=text):
        formats.read(document)


@pytest.mark.parametrize("tags", [None, [1], [["x", "y"]], [[1, 2]], [[NAN, "x"]], [[1.0]]])
def test_garbage_in_tags(tags):
    with pytest.raises(ValueError, match="reseng: tags"):
        formats.read({**load("reseng"), "tags": tags})


@pytest.mark.parametrize(
    "path, value, text",
    [
        (("0", 1), 5, "node '0': report 1 is 5: expected an object"),
        (("1",), [], "node '1' is ..: expected a list of reports"),
        (("1",), {}, "node '1' is ..: expected a list of reports"),
        (("0", 2, "mem_percent"), "9", "node '0': report 2: mem_percent is '9'"),
        (("0", 2, "mem_percent"), NAN, "report 2: mem_percent is nan"),
        (("0", 2, "timestamp"), None, "report 2: timestamp is None"),
        (("0", 0, "timestamp"), 1.8e9, r"timestamp\[1\] is less than"),
    ],
)
def test_garbage_in_perf_reports(path, value, text):
    document = load("perf_reports")
    put(document, path, value)
    with pytest.raises(ValueError, match=text):
        formats.read(document)


@pytest.mark.parametrize(
    "path, value, text",
    [
        (("version",), 2, "version is 2: expected 1"),
        (("run", "start"), "today", "run.start is 'today': expected a time"),
        (("run", "start"), "2026-13-21T08:33:18.123456789Z", "run.start is"),
        (("run",), None, "run is None: expected an object"),
        (("columns",), [], "series.columns has"),
        (("columns", 0), {}, r"columns\[0\] has no metric"),
        (("series", "t_last_ns", 0), "x", r"t_last_ns\[0\] is 'x': expected nanoseconds"),
        (("series", "t_last_ns"), [], "has no rows"),
        (("settings", "reseng.memory@0"), "x", "settings: reseng.memory@0 is 'x'"),
        (("tags", 0), {"t_ns": 1}, r"tags\[0\]"),
    ],
)
def test_garbage_in_a_run_document(path, value, text):
    document = load("merged_run")
    put(document, path, value)
    with pytest.raises(ValueError, match="run document 0: .*" + text):
        formats.write([document], "reseng")


def test_garbage_in_the_series_of_a_run_document():
    for value in ("x", NAN, True, []):
        document = load("merged_run")
        last(document, "proc.mem.rss")[0] = value
        with pytest.raises(ValueError, match="expected a finite number or null"):
            formats.write([document], "reseng")
    document = load("merged_run")
    last(document, "proc.mem.rss").pop()
    with pytest.raises(ValueError, match="numbers, not"):
        formats.write([document], "reseng")


def places(value, path=()):
    """All the places of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield path + (key,)
        if isinstance(inner, (dict, list)):
            yield from places(inner, path + (key,))


GARBAGE = [None, True, -1, 0, 1e300, 10**400, NAN, math.inf, "", "x", [], {}, [[]], [{}], {"a": 1}]


@pytest.mark.parametrize("name", sorted(OLD.values()) + ["merged_run"])
def test_whatever_is_in_a_file_the_error_is_a_value_error(name):
    dice = random.Random(name)
    document = load(name)
    ways = list(places(document))
    for _ in range(600):
        garbled = copy.deepcopy(document)
        for path in dice.sample(ways, 2):
            try:
                put(garbled, path, dice.choice(GARBAGE))
            except (KeyError, IndexError, TypeError):
                pass  # the first one took the place of the second
        try:
            for run in formats.read(garbled):
                if name != "merged_run":  # which is read as it is
                    json.dumps(run, allow_nan=False)
                for shape in formats.SHAPES:
                    try:
                        json.dumps(formats.write([run], shape), allow_nan=False)
                    except ValueError as error:
                        assert "JSON compliant" not in str(error)
        except ValueError as error:
            assert "JSON compliant" not in str(error)
