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
from pathlib import Path

import pytest

import resmon
from resmon import formats
from resmon.formats import perf_reports, perfmon, reseng

HERE = Path(__file__).parent
ROOT = HERE.parent.parent.parent
OLD = {"perfmon": "cpu_metrics", "reseng": "reseng", "perf_reports": "perf_reports"}
NAN = float("nan")


def document(name):
    return json.loads((HERE / "data" / (name + ".json")).read_text())


def parsed(run_document):
    return resmon.parse(json.dumps(run_document))


def runs_of(old):
    return [parsed(run) for run in formats.read(old)]


def merged_run(change=None):
    content = document("merged_run")
    if change is not None:
        change(content)
    return parsed(content)


def known(values):
    return [None if value != value else value for value in values]


def last(run, name):
    return known(run.series(name, "last"))


# ---- what it is ----------------------------------------------------------------------------


@pytest.mark.parametrize("shape", formats.SHAPES)
def test_detect(shape):
    assert formats.detect(document(OLD[shape])) == shape
    assert formats.detect(document("merged_run")) == "resmon-run"
    assert formats.read(document("merged_run")) == [document("merged_run")]
    assert formats.detect(document("perf_reports")["0"]) == "perf_reports"


@pytest.mark.parametrize("content", [None, 1, "x", [], {}, [[]], [{}], {"a": []}, {"tags": []}])
def test_detect_none(content):
    assert formats.detect(content) is None
    with pytest.raises(resmon.FormatError, match="no known shape"):
        formats.read(content)


def test_what_cannot_be_written():
    for shape in ("resmon-run", "csv", None, []):
        with pytest.raises(resmon.FormatError, match="expected one of perfmon, reseng, perf_reports"):
            formats.write([merged_run()], shape)
    empty = merged_run(lambda run: run.update(series={}))
    for shape in formats.SHAPES:
        with pytest.raises(resmon.FormatError, match="expected a list of at least one run"):
            formats.write([], shape)
        with pytest.raises(resmon.FormatError, match="no rows|has no values"):
            formats.write([empty], shape)


def test_nothing_to_write():
    for name, shapes in (("reseng", ["perf_reports"]), ("perf_reports", ["reseng", "perfmon"])):
        run = runs_of(document(name))[0]
        for shape in shapes:
            with pytest.raises(resmon.FormatError, match="has no values"):
                formats.write([run], shape)


# ---- there and back ------------------------------------------------------------------------


@pytest.mark.parametrize("shape", formats.SHAPES)
def test_an_old_file_is_a_run(shape, tmp_path):
    old = document(OLD[shape])
    before = copy.deepcopy(old)
    path = tmp_path / "old.json"
    path.write_text(json.dumps(old))
    for run in resmon.load_all(path):
        assert run.info.state == "stopped" and "read from" in run.sources[0].reason
        assert {column.source for column in run.columns} <= {source.name for source in run.sources}
        assert all(statistics.n for statistics in run.summary.values())
        assert str(run) and run.to_json() == resmon.parse(run.to_json()).to_json()
    formats.read(old)
    assert old == before  # what is read is left alone


@pytest.mark.parametrize("shape", formats.SHAPES)
def test_its_document_is_as_the_schema_has_it(shape):
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    schema = json.loads((ROOT / "lib/common/format/resmon-run.schema.json").read_text())
    for run in runs_of(document(OLD[shape])):
        jsonschema.validate(run.document(), schema)


@pytest.mark.parametrize("module", [perfmon, reseng, perf_reports])
def test_metrics_are_those_of_the_library(module):
    metrics = {metric.name: metric for metric in resmon.metrics()}
    ports = perfmon.PORTS + (perfmon._rapl("package-0"),) if module is perfmon else ()
    for field in module.FIELDS + ports:
        for name in field.rather + (field.metric,) + field.instead:
            if name.startswith("perfmon."):
                continue  # a value that the library has no metric for
            metric = metrics[name]
            assert (metric.unit, metric.kind) == (field.unit, "counter" if field.kind in ("counter", "rate") else "gauge"), name
            assert name in field.instead or metric.level == field.level, name


def old_values(content):
    """The lists of a file by their place, times as seconds since the first."""
    if isinstance(content, dict) and "data" in content:
        rows = [line.split(",") for line in content["data"].splitlines()]
        return {name: [float(cell or "nan") for cell in cells] for name, *cells in zip(*rows)}
    if isinstance(content, dict):
        return {f"{key}/{name}": values for key, inner in content.items() for name, values in old_values(inner).items()}
    if isinstance(content, list) and content and isinstance(content[0], dict):
        return {key: [report.get(key) for report in content] for key in content[0]}
    is_values = isinstance(content, list) and any(isinstance(value, (int, float)) for value in content)
    return {"": [NAN if value is None else value for value in content]} if is_values else {}


@pytest.mark.parametrize("shape", formats.SHAPES)
def test_old_to_run_to_old_keeps_values(shape):
    """Levels and shares as they are, counters since their first reading, times to the microsecond."""
    old = document(OLD[shape])
    there, back = old_values(old), old_values(formats.write(runs_of(old), shape))
    compared = 0
    for name, values in there.items():
        if name.endswith("package-0/") or "_md/" in name:
            continue  # counts anew after a reset; descriptions of processes are no values
        again = back[name]
        void = 1 if again[0] != again[0] else 0
        is_counter = any(word in name for word in ("_counters", "cpu_time", "rapl", "_io_"))
        base = values[0] if is_counter else 0
        assert again[void:] == pytest.approx([value - base for value in values[void:]], rel=1e-6, abs=1e-6), name
        compared += 1
    assert compared >= 8


@pytest.mark.parametrize("shape", formats.SHAPES)
def test_run_to_old_to_run_keeps_values(shape):
    run = merged_run()
    assert run.times[0] > 0  # merged rows: counters have grown by the first
    old = json.loads(json.dumps(formats.write([run], shape), allow_nan=False))
    again = runs_of(old)[0]
    assert json.loads(json.dumps(formats.write([again], shape))).keys() == old.keys()
    compared = 0
    for column in again.columns:
        if column.metric.startswith(("perfmon.", "node.ib.")) or shape == "perf_reports" and column.metric == "node.fs.percent":
            continue
        name = column.name.replace(".all.", ".") if shape == "perf_reports" else column.name
        name = name if name in run.summary else name.replace("tree.", "proc.")
        kind = "mean" if ".cpu." in name and column.unit == "%" or name.startswith("proc.io.") else "last"
        assert list(again.series(column.name, kind)) == pytest.approx(list(run.series(name, kind)), rel=1e-5, abs=1e-6,
                                                                      nan_ok=True), name
        if column.is_counter:
            assert again.summary[column.name].last == pytest.approx(run.summary[name].last, rel=1e-5)
        compared += 1
    assert compared >= 6
    assert again.times == pytest.approx(run.times, abs=5e-7)  # what a double has of a time since 1970


def test_the_start_of_a_run_is_said_only_where_it_must_be():
    def change(run):
        for times in ("t_first_ns", "t_last_ns"):
            run["series"][times][0] = 0
    assert "resmon_start" in formats.write([merged_run()], "reseng")
    assert "resmon_start" not in formats.write([merged_run(change)], "reseng")
    with pytest.raises(resmon.FormatError, match="resmon_start is later than the first row"):
        formats.read({**document("reseng"), "resmon_start": 1800000000})


# ---- perfmon -------------------------------------------------------------------------------


def test_perfmon_units_and_kinds():
    run = runs_of(document("cpu_metrics"))[0]
    assert run.facts["machine"] == {"host_name": "n1"} and run.facts["settings"]["interval_ms"] == 30000
    assert run.info.start.isoformat() == "2023-11-14T22:13:21+00:00" and run.info.duration_s == 121
    assert last(run, "tree.cpu.time") == pytest.approx([0, 29.65, 86.5, 146.54, 164.66])
    assert last(run, "tree.mem.rss") == [12000000, 22000000, 32000000, 42000000, 30000000]
    assert last(run, "node.net.all.sent") == [0, 900, 1800, 2700, 3600]
    assert last(run, "energy.zone[core-0]") == [0, 312.0, 624.0, 936.0, 1248.0]
    assert run.series("energy.zone[core-0]", "mean")[1] == 312.0 / 30
    summary = run.summary["energy.zone[core-0]"]
    assert summary.integral == summary.last == 1248.0 and summary.mean == pytest.approx(1248.0 / 121)
    assert last(run, "perfmon.memory_bw")[0] == 1.5e9


def test_perfmon_first_share_of_the_machine_is_no_value():
    run = runs_of(document("cpu_metrics"))[0]
    assert last(run, "node.cpu.percent") == [None, 51.3, 97.9, 100.0, 30.5]
    summary = run.summary["node.cpu.percent"]
    assert summary.n == 4 and summary.duration_s == 121.0  # the first reading is of the time before it
    assert summary.mean == pytest.approx((51.3 * 30 + 97.9 * 30 + 100.0 * 31 + 30.5 * 30) / 121)
    assert list(summary.over_s) == [121.0, 91.0, 61.0, 31.0] and (summary.p50, summary.p95) == (51.3, 100.0)


def test_perfmon_a_counter_that_ran_backwards():
    run = runs_of(document("cpu_metrics"))[0]
    assert run.summary["energy.zone[package-0]"].resets == 1
    assert last(run, "energy.zone[package-0]") == pytest.approx([0, 0.11823, 0.11823, 600.11823, 1200.11823])
    assert math.isnan(run.series("energy.zone[package-0]", "mean")[2])


def test_perfmon_what_is_not_there_is_absent():
    """Also a counter of energy that it might not read, which is 0 there."""
    old = document("cpu_metrics")
    old["n1"]["rapl_powercap"]["dram-0"] = [0] * 5
    old["n1"]["num_fds"] = [12, 13]
    old["n1"]["num_threads"] += [9, 9]
    first, second = runs_of(old)
    assert "perfmon.memory_bw" not in second.summary and "energy.zone[dram-0]" not in first.summary
    assert last(first, "tree.fds") == [12, 13, None, None, None]  # cut and filled up as its reader does
    assert last(first, "tree.threads") == [2, 4, 4, 4, 2]


def test_perfmon_what_it_had_summed_up_is_taken_off():
    old = document("cpu_metrics")
    right = formats.write(runs_of(old), "perfmon")
    for key, names in (("memory_info", ("rss", "vms", "shared")), ("memory_full_info", ("uss", "swap")),
                       ("io_counters", ("read_count", "write_count", "read_bytes", "write_bytes"))):
        for before, name in zip(names, names[1:]):
            values = old["n1"][key]
            values[name] = [a + b for a, b in zip(values[before], values[name])]
    for name in ("port_xmit_packets", "port_rcv_packets"):
        values = old["n1"]["ib_io_counters"]
        values[name] = [4 * n for n in values[name]]
    runs = runs_of(old)
    assert "is taken off" in runs[0].sources[0].reason and "is taken off" not in runs[1].sources[0].reason
    assert formats.write(runs, "perfmon") == right


def test_perfmon_sums_in_no_order_are_absent():
    old = document("cpu_metrics")
    old["n1"]["memory_info"]["shared"][2] = old["n1"]["memory_info"]["rss"][2] + 1
    old["n1"]["memory_info"]["vms"][2] = 7
    run = runs_of(old)[0]
    assert not {"tree.mem.rss", "tree.mem.vms"} & {column.name for column in run.columns}


def test_perfmon_of_a_run():
    run = merged_run()
    written = formats.write([run], "perfmon")
    host = written["n1"]
    assert written["sampling_frequency"] == 0.16 and len(host["time_stamps"]) == len(run.times)
    assert host["cpu_percent"] == known(run.series("tree.cpu.percent", "mean"))
    assert host["memory_info"]["rss"] == last(run, "tree.mem.rss")
    assert all(isinstance(value, int) for value in host["memory_info"]["rss"])
    assert host["rapl_powercap"]["package-0"] == [round(j * 1e6) for j in last(run, "energy.zone[package-0]")]
    ports = zip(last(run, "node.ib.sent[mlx5_0:1]"), last(run, "node.ib.sent[mlx5_1:1]"))
    assert host["ib_io_counters"]["port_xmit_data"] == [a + b for a, b in ports]
    assert host["io_counters"]["read_count"] == last(run, "proc.io.read_count")
    assert "memory_bw" not in host


def test_perfmon_memory_bandwidth():
    """What perfmon has by offcore responses: the memory of both kinds of sockets; a proxy where there are none."""
    def with_metrics(*names):
        def change(content):
            del content["summary"]
            shape = content["columns"][0] | {"unit": "B/s", "kind": "gauge", "level": "tree", "source": "perf"}
            rows = len(content["series"]["samples"])
            for i, name in enumerate(names):
                content["columns"].append(shape | {"metric": f"perf.mem.{name}_bandwidth"})
                values = [None] + [1e9 * (i + 1) + row for row in range(1, rows)]
                content["series"]["columns"].append(dict.fromkeys(("mean", "min", "max", "last"), values))
        return formats.write([merged_run(change)], "perfmon")["n1"]["memory_bw"]
    assert with_metrics("local", "remote", "read")[:2] == [None, 3000000002]
    assert with_metrics("read", "local")[:2] == [None, 1000000001]


def node_of_job(index, factor=1):
    """The run on a node of a job, with other values of its energy."""
    def change(content):
        content["machine"]["host_name"] = f"n{index}"
        content["job"] = {"system": "slurm", "id": "7", "node_index": index, "rank": index}
        del content["summary"]  # the library computes it, also of the ports
        for column, series in zip(content["columns"], content["series"]["columns"]):
            if column["metric"] == "energy.zone":
                series.update({kind: [value and value * factor for value in values] for kind, values in series.items()})
    return merged_run(change)


def test_perfmon_of_a_job():
    runs = [node_of_job(0), node_of_job(1, 3)]
    job, apart = formats.write([resmon.merge(*runs)], "perfmon"), formats.write(runs, "perfmon")
    assert job["host_names"] == apart["host_names"] == ["n0", "n1"]
    for name in ("n0", "n1"):
        own, wanted = job[name], apart[name]
        assert set(own) - {"resmon_start"} == set(wanted) - {"resmon_start"}
        assert own["rapl_powercap"]["package-0"][-1] == pytest.approx(wanted["rapl_powercap"]["package-0"][-1], rel=1e-6)
        assert own["ib_io_counters"]["port_xmit_data"][-1] == pytest.approx(wanted["ib_io_counters"]["port_xmit_data"][-1])
        assert max(wanted["num_threads"]) >= max(own["num_threads"]) > min(wanted["num_threads"])
        assert len(own["cpu_percent"]) == len(own["time_stamps"])
    energies = [job[name]["rapl_powercap"]["package-0"][-1] for name in ("n0", "n1")]
    assert energies[1] == pytest.approx(3 * energies[0], rel=1e-6)


def test_perf_reports_of_a_job():
    job = formats.write([resmon.merge(node_of_job(0), node_of_job(1))], "perf_reports")
    alone = formats.write([node_of_job(1)], "perf_reports")["1"]
    assert list(job) == ["0", "1"]
    assert job["1"][-1]["net_io_ext_sent_mb"] == alone[-1]["net_io_ext_sent_mb"]
    assert job["1"][-1]["mem_percent"] == pytest.approx(alone[-1]["mem_percent"], rel=0.05)


def test_perfmon_of_a_run_with_children_has_no_value_of_the_process_alone():
    def change(content):
        place = next(i for i, column in enumerate(content["columns"]) if column["metric"] == "tree.processes")
        for values in content["series"]["columns"][place].values():
            values[-1] = 2
    run = merged_run(change)
    host = formats.write([run], "perfmon")["n1"]
    assert host["io_counters"]["read_count"] == []
    assert host["io_counters"]["read_bytes"] == last(run, "tree.io.read_bytes")
    memory = run.facts["machine"]["memory_bytes"]
    assert host["memory_percent"] == pytest.approx([100 * n / memory for n in last(run, "tree.mem.rss")])


def test_perfmon_events():
    host = {"host_name": "n1", "time_stamps": [1000, 1010, 1020],
            "hardware_events": {"cycles": [10, 20, 30], "branch-misses": [1, 2, 3]}, "software_events": {"context-switches": [5, 0, 1]},
            "L2": {"L2_LINES_IN_ALL": [7, 7, 7], "derv_L2_bandwidth": [1.5, 2.5, 0.5]}, "FLOPS_DP": {}}
    run, = runs_of({"host_names": ["n1"], "n1": host, "sampling_frequency": 10})
    assert run.facts["machine"]["host_name"] == "n1" and run.info.duration_s == 20
    assert run.info.start_realtime_ns == 1010 * 10**9, "a time is that of the beginning of its interval"
    assert last(run, "perf.cycles") == [10, 30, 60] and last(run, "perf.branch.misses") == [1, 3, 6]
    assert last(run, "perf.context_switches") == [5, 5, 6] and last(run, "perf.event[L2_LINES_IN_ALL]") == [7, 14, 21]
    assert last(run, "perfmon.L2.derv_L2_bandwidth") == [1.5, 2.5, 0.5]


def test_perfmon_gpus():
    def gpu(factor):
        return {"time_stamps": [1000, 1010], "utilization_rates": {"gpu": [50, 60 * factor], "memory": [1, 2]}, "encoder_util": [0, 0],
                "memory_used": {"gpu_memory": [10**9, 2 * 10**9], "bar1_memory": [5, 5]}, "power_usage": [100000, 250000 * factor],
                "clock_info": {"graphics": [1000, 1500], "sm": [1000, 1500], "memory": [5000, 5000]}, "violation": [10**9, 3 * 10**9],
                "ecc_errors": {"sp": [4, 5], "dp": [0, 0]}, "pci_thgpt": {"send": [100, 200], "recv": [0, 0]}, "temperature": [40, 50]}
    old = {"host_names": ["gpu-0.n1", "gpu-1.n1", "gpu-0.n2"], "gpu-0.n1": gpu(1), "gpu-1.n1": gpu(0.5), "gpu-0.n2": gpu(1)}
    first, second = runs_of(old)
    assert [run.facts["machine"]["host_name"] for run in (first, second)] == ["n1", "n2"]
    assert last(first, "gpu.util[0]") == [50, 60] and last(first, "gpu.util[1]") == [50, 30]
    assert last(first, "gpu.power[1]") == [100, 125] and last(first, "gpu.clock.sm[0]") == [1e9, 1.5e9]
    assert last(first, "gpu.throttle.any[0]") == [0, 2] and last(first, "gpu.ecc.corrected[0]") == [0, 1]
    assert last(first, "gpu.pcie.sent[0]")[-1] == pytest.approx(200e3 * 10)
    assert [column.name for column in second.columns if column.name.startswith("gpu.temp")] == ["gpu.temp[0]"]


def test_perfmon_hosts_have_the_same_fields():
    # else CreateDataFrame moves the columns of the host that has less
    def change(content):
        content["machine"]["host_name"] = "n2"
        keep = [i for i, column in enumerate(content["columns"]) if column["level"] == "tree"]
        for section in (content, content["series"], content["summary"]):
            section["columns"] = [section["columns"][i] for i in keep]
    written = formats.write([merged_run(), merged_run(change)], "perfmon")
    assert written["host_names"] == ["n1", "n2"]
    assert written["n2"]["rapl_powercap"] == {"package-0": [], "dram-0": []}
    assert written["n2"]["net_io_counters"]["bytes_sent"] == []
    names = [{key: sorted(value) if isinstance(value, dict) else None for key, value in written[host].items()}
             for host in ("n1", "n2")]
    assert names[0] == names[1]
    with pytest.raises(resmon.FormatError, match="run 1 is of the host 'n1'"):
        formats.write([merged_run(), merged_run()], "perfmon")


# ---- reseng --------------------------------------------------------------------------------


def test_reseng_values():
    run = runs_of(document("reseng"))[0]
    assert [column.metric for column in run.columns][:2] == ["proc.cpu.percent", "proc.mem.rss"]
    assert last(run, "proc.cpu.percent")[0] is None
    # Over the time that passed, and not over 0.25 s, which only the monitor knew: so they are sampled.
    assert last(run, "proc.io.read_chars") == pytest.approx([0, 8192, 1056792, 1056792, 1146793], rel=0.01)
    assert run.series("proc.io.read_bytes", "mean")[2] == pytest.approx(4194304.0)
    assert [(round(tag.t_s, 6), tag.label) for tag in run.tags] == [(-0.125, "start"), (0.55, 'fit, "2"')]
    assert run.summary["proc.io.read_bytes"].n == 5
    source = next(source for source in run.sources if source.name == "reseng_io")
    assert source.provenance == "sampled" and "nominal interval" in source.reason


def test_reseng_text_is_what_pandas_makes():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    import io

    for run in (merged_run(), runs_of(document("reseng"))[0]):
        text = formats.write([run], "reseng")["data"]
        assert pandas.read_csv(io.StringIO(text), float_precision="round_trip").set_index("elapsed").to_csv() == text


def test_reseng_of_a_run():
    def change(content):
        place = next(i for i, column in enumerate(content["columns"]) if column["metric"] == "proc.cpu.percent")
        for values in content["series"]["columns"][place].values():
            values[0] = None
    assert formats.write([merged_run(change)], "reseng")["data"].split("\n")[1].split(",")[2] == ""
    with pytest.raises(resmon.FormatError, match="expected 1 run, not 2"):
        formats.write([merged_run(), merged_run()], "reseng")


# ---- perf_reports --------------------------------------------------------------------------


def test_perf_reports_values():
    run = runs_of(document("perf_reports"))[1]
    assert last(run, "node.disk.all.read_bytes") == [0, 8192, 16384, 24576]
    assert last(run, "node.net.ext.recv") == [0, 100000, 200000, 300000]
    assert last(run, "node.fs.percent[/]") == [14.5, 14.5, 14.6, 14.6]
    figures = run.figures
    assert figures["max_t_cpu_pct_per_cpu_avg"] == 100.0
    assert figures["cpu_avg_utilization_over80_pct"] == pytest.approx(50.0, rel=1e-2)  # of four reports, with the first
    assert figures["total_net_io_ext_recv_mb"] == 300000 / 1048576
    assert math.isnan(figures["node_cpu_hours"])  # the file does not say of how many CPUs


def test_perf_reports_have_what_their_reader_wants():
    run = merged_run()
    reports = formats.write([run], "perf_reports")["0"]
    names = [field.name for field in perf_reports.FIELDS] + ["timestamp"]
    assert reports[0].pop("resmon_start") < reports[0]["timestamp"]
    for report in reports:
        assert list(report) == names
        assert all(isinstance(value, (int, float)) for value in report.values())
    # disks once, although the run has psutil's count too
    assert [report["disk_io_read_mb"] for report in reports] == [n / 1048576 for n in last(run, "node.disk.read_bytes")]


def test_perf_reports_begin_with_the_first_share():
    def change(content):
        for column, series in zip(content["columns"], content["series"]["columns"]):
            if column["metric"].startswith("node.cpu.core."):
                for values in series.values():
                    values[0] = None
    run = merged_run(change)
    reports = formats.write([run], "perf_reports")["0"]
    assert len(reports) == len(run.times) - 1
    assert all("cpu_pct_per_cpu_avg" in report for report in reports)


def test_perf_reports_number_the_nodes():
    def at(node):
        return merged_run(lambda content: content.update(job={"system": "slurm", "node_name": f"n{node}", "node_index": node}))
    assert list(formats.write([merged_run(), merged_run()], "perf_reports")) == ["0", "1"]
    assert list(formats.write([at(7), at(3)], "perf_reports")) == ["7", "3"]
    assert list(formats.write(runs_of({"5": document("perf_reports")["0"]}), "perf_reports")) == ["5"]


# ---- garbage -------------------------------------------------------------------------------


def put(content, path, value):
    *way, key = path
    for step in way:
        content = content[step]
    content[key] = value


@pytest.mark.parametrize("name, path, value, text", [
    ("cpu_metrics", ("host_names",), "n1", "host_names is 'n1': expected a list"),
    ("cpu_metrics", ("host_names",), [], "host_names is empty"),
    ("cpu_metrics", ("host_names",), ["n1", "n1"], "has 'n1' twice"),
    ("cpu_metrics", ("host_names",), ["n3"], "host 'n3' is None: expected an object"),
    ("cpu_metrics", ("host_names",), ["host_names"], "host 'host_names': expected a name"),
    ("cpu_metrics", ("sampling_frequency",), "30", "sampling_frequency is '30': expected a number"),
    ("cpu_metrics", ("n1", "time_stamps"), [], "host 'n1': time_stamps is empty"),
    ("cpu_metrics", ("n1", "time_stamps", 1), "x", r"time_stamps\[1\] is 'x': expected a number"),
    ("cpu_metrics", ("n1", "time_stamps", 4), 1, r"time_stamps\[4\] is less than the one before"),
    ("cpu_metrics", ("n1", "time_stamps", 4), 10**12, "expected seconds since 1970"),
    ("cpu_metrics", ("n1", "cpu_time", 2), NAN, r"host 'n1': cpu_time\[2\] is nan: expected a finite number"),
    ("cpu_metrics", ("n1", "cpu_time", 2), float("inf"), "expected a finite number"),
    ("cpu_metrics", ("n1", "cpu_time", 2), 10**400, "expected a finite number"),
    pytest.param("cpu_metrics", ("n1", "cpu_time", 2), 10**5000, r"cpu_time\[2\] is", id="digits"),
    ("cpu_metrics", ("n1", "cpu_time", 2), True, "is True: expected a number"),
    ("cpu_metrics", ("n2", "memory_info", "rss", 0), -1, r"host 'n2': memory_info.rss\[0\] is -1"),
    ("cpu_metrics", ("n1", "memory_info"), [1], "memory_info is .1.: expected an object"),
    ("cpu_metrics", ("n1", "memory_info", "rss"), 5, "memory_info.rss is 5: expected a list"),
    ("cpu_metrics", ("n1", "rapl_powercap"), 3, "rapl_powercap is 3: expected an object"),
    ("cpu_metrics", ("n1", "rapl_powercap", "x" * 50), [], "expected a short name"),
    ("cpu_metrics", ("n1",), {"time_stamps": [1]}, "none of the fields of cpu_metrics.json"),
    ("perf_reports", ("0", 1), 5, "node '0': report 1 is 5: expected an object"),
    ("perf_reports", ("1",), [], "node '1' is ..: expected a list of reports"),
    ("perf_reports", ("1",), {}, "node '1' is ..: expected a list of reports"),
    ("perf_reports", ("0", 2, "mem_percent"), "9", r"node '0': mem_percent\[2\] is '9'"),
    ("perf_reports", ("0", 2, "mem_percent"), NAN, r"mem_percent\[2\] is nan"),
    ("perf_reports", ("0", 2, "timestamp"), None, r"timestamp\[2\] is None"),
    ("perf_reports", ("0", 0, "timestamp"), 1.8e9, r"timestamp\[1\] is less than"),
    ("reseng", ("data",), 3, "data is 3: expected a text"),
    ("reseng", ("data",), "", "expected the columns"),
    ("reseng", ("data",), ",".join(reseng.HEADER) + "\n", "time is empty"),
    *(("reseng", ("tags",), tags, "reseng: tags") for tags in (None, [1], [["x", "y"]], [[1, 2]], [[NAN, "x"]], [[1.0]])),
])
def test_garbage(name, path, value, text):
    content = document(name)
    put(content, path, value)
    with pytest.raises(resmon.FormatError, match=text):
        formats.read(content)


def test_hostile_sizes():
    host = {"time_stamps": [0] * 300_000, "num_fds": [1]}
    host["rapl_powercap"] = {"package-%d" % i: [1] for i in range(100)}
    with pytest.raises(resmon.FormatError, match="expected 20000000 values in all, at most"):
        formats.read({"host_names": ["n1"], "n1": host})


@pytest.mark.parametrize("old, new, text", [
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
])
def test_garbage_in_reseng(old, new, text):
    content = document("reseng")
    content["data"] = content["data"].replace(old, new)
    if text is None:
        assert last(runs_of(content)[0], "proc.cpu.percent")[1] is None
        return
    with pytest.raises(resmon.FormatError, match=text):
        formats.read(content)


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
    content = document(name)
    ways = list(places(content))
    for _ in range(600):
        garbled = copy.deepcopy(content)
        for path in dice.sample(ways, 2):
            try:
                put(garbled, path, dice.choice(GARBAGE))
            except (KeyError, IndexError, TypeError):
                pass  # the first one took the place of the second
        try:
            for run in map(parsed, formats.read(garbled)):
                for shape in formats.SHAPES:
                    try:
                        json.dumps(formats.write([run], shape), allow_nan=False)
                    except ValueError as error:
                        assert "JSON compliant" not in str(error)
        except resmon.Error as error:
            assert isinstance(error, ValueError) or name == "merged_run", error
