# SPDX-License-Identifier: MIT
"""Runs: figures, documents, recordings, and files that are none."""
import copy
import gc
import json
import math
import pickle
import random
import signal

import pytest
from conftest import MIB, burn, same

import resmon


def assert_same_run(one, other):
    """All that can be asked of two runs is equal."""
    for name in ("info", "energy"):
        first, second = (getattr(run, name) for run in (one, other))
        assert first == second
    assert one.facts == other.facts
    assert one.times == other.times
    assert one.columns == other.columns
    assert list(one.summary.items()) == list(other.summary.items())
    for name in ("scopes", "sources", "tags", "events"):
        assert list(getattr(one, name)) == list(getattr(other, name))
    for column in one.columns:
        for series in ("last", "min", "max", "mean", "value"):
            pairs = zip(one.series(column.name, series), other.series(column.name, series))
            assert all(same(*pair) for pair in pairs), (column.name, series)


# ---- the same run, by every way ---------------------------------------------------------------------


def test_saved_and_loaded(run, tmp_path):
    run.save(tmp_path / "run.json")
    assert_same_run(run, resmon.load(tmp_path / "run.json"))
    assert_same_run(run, resmon.load(str(tmp_path / "run.json")))
    assert_same_run(run, resmon.load(str(tmp_path / "run.json").encode()))


def test_parsed(run):
    text = run.to_json()
    for data in (text, text.encode(), bytearray(text.encode()), memoryview(text.encode())):
        assert_same_run(run, resmon.parse(data))
    assert resmon.parse(text).to_json() == text
    assert json.loads(text) == run.document()


def test_pickled_and_copied(run):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert_same_run(run, pickle.loads(pickle.dumps(run, protocol)))
    assert_same_run(run, copy.copy(run))
    assert_same_run(run, copy.deepcopy(run))
    for records in (run.scopes, run.tags, run.sources, run.events):
        again = pickle.loads(pickle.dumps(list(records)))
        for pair in zip(records, again):
            assert pair[0] == pair[1]


def test_a_monitor_answers_as_its_run(stopped, run):
    assert_same_run(stopped, run)
    assert stopped.to_json() == run.to_json() and str(stopped) == str(run)


def test_recording(tmp_path):
    with resmon.Monitor(3600, record=tmp_path / "%p.rec") as monitor:
        monitor.tag("kept")
        with resmon.scope("phase"):
            pass
    files = list(tmp_path.iterdir())
    assert len(files) == 1
    loaded = resmon.load(files[0])
    assert loaded.info.state == "stopped" and loaded.tags[0].label == "kept" and loaded.scopes["phase"].calls == 1
    assert resmon.parse(files[0].read_bytes()).info.samples == monitor.info.samples


def test_recording_of_a_program_that_was_killed(script):
    process = script.start("""
        import os, resmon
        monitor = resmon.Monitor(0.005, record="run.rec", scopes="wall+cpu").start()
        monitor.tag("alive")
        with resmon.scope("phase"):
            monitor.sample_now()
            print("ready", flush=True)
            while True:
                pass
    """)
    assert process.stdout.readline() == b"ready\n"
    running = resmon.load(script.directory / "run.rec")
    assert running.info.state == "running" and running.scopes["phase"].open == 1
    process.send_signal(signal.SIGKILL)
    process.communicate()
    loaded = resmon.load(script.directory / "run.rec")
    assert loaded.info.state == "interrupted" and loaded.info.samples >= 2
    assert [tag.label for tag in loaded.tags] == ["alive"] and loaded.scopes["phase"].open == 1
    assert resmon.parse(loaded.to_json()).info.state == "interrupted"


# ---- figures ----------------------------------------------------------------------------------------


def test_info(run):
    info = run.info
    assert info.state == "stopped" and info.label == "phase two" and info.samples > 5
    assert info.duration_s == pytest.approx(run.times[-1], abs=1e-9)
    assert info.start.tzinfo is not None and info.start.timestamp() == pytest.approx(info.start_realtime_ns / 1e9)
    assert info.dropped_rows == info.dropped_tags == info.dropped_scopes == 0
    with pytest.raises(AttributeError):
        info.no_such = 1


def test_series(run):
    rows = len(run.times)
    for column in run.columns:
        values = {series: list(run.series(column.name, series)) for series in ("last", "min", "max", "mean", "value")}
        assert {len(each) for each in values.values()} == {rows}
        plain = "last" if column.is_counter else "mean"
        assert all(same(*pair) for pair in zip(values["value"], values[plain]))
        for low, mean, high in zip(values["min"], values["mean"], values["max"]):
            assert not (low > mean * (1 + 1e-9) + 1e-9 or mean > high * (1 + 1e-9) + 1e-9), column.name
    view = run.series("proc.mem.rss")
    assert view.readonly and view.format == "d" and view.nbytes == rows * 8
    with pytest.raises(TypeError):
        view[0] = 1.0
    with pytest.raises(resmon.NotFoundError, match="no.such"):
        run.series("no.such")
    with pytest.raises(ValueError, match="'mean'"):
        run.series("proc.mem.rss", "average")


def test_series_outlive_the_run():
    with resmon.Monitor(3600) as monitor:
        pass
    view = monitor.series("proc.mem.rss", "last")
    expected = list(view)
    del monitor
    gc.collect()
    made = [bytearray(MIB) for _ in range(4)]  # memory that was freed would be used again
    assert list(view) == expected and made


def test_counters_grow_and_summary_agrees(run):
    for column in run.columns:
        one, last = run.summary[column.name], [value for value in run.series(column.name, "last") if value == value]
        if not last:
            continue
        if column.is_counter:
            assert last == sorted(last) and one.last == last[-1]
        else:
            assert same(one.last, last[-1]) and one.min <= one.last <= one.max
        assert one.unit == column.unit and one.is_counter == column.is_counter


def test_summary_is_a_mapping(run):
    summary = run.summary
    assert len(summary) == len(run.columns) and list(summary) == [column.name for column in run.columns]
    assert "proc.mem.rss" in summary and "no.such" not in summary and summary.get("no.such", 5) == 5
    assert summary["proc.mem.rss"].max >= 20 * MIB
    for kind in (KeyError, resmon.NotFoundError):
        with pytest.raises(kind, match="no.such"):
            summary["no.such"]  # pylint: disable=pointless-statement
    assert "proc.mem.rss" in summary._repr_html_()


def test_headline(run):
    headline = run.headline
    assert headline["wall_s"] == run.info.duration_s
    assert headline["cpu_s"] >= 0.19
    assert headline["rss_peak_bytes"] >= 20 * MIB
    assert headline["energy_j"] == run.energy.tree_j >= 0


def test_energy(run):
    energy = run.energy
    assert energy.place == "France" and energy.g_per_kwh > 0 and energy.basis == "country"
    assert energy.node_j >= energy.tree_j > 0
    for total, values in ((energy.node_j, [part.node_j for part in energy.parts.values()]),
                          (energy.tree_j, [part.tree_j for part in energy.parts.values()])):
        assert total == pytest.approx(sum(value for value in values if value == value))
    assert energy.tree_gco2eq == pytest.approx(energy.tree_j / 3.6e6 * energy.pue * energy.g_per_kwh)
    assert energy.tree_kwh == pytest.approx(energy.tree_j / 3.6e6 * energy.pue)


def test_figures(run):
    figures = run.figures
    assert len(figures) == 18
    assert 0 < figures["max_t_mem_percent"] <= 100
    assert figures["node_cpu_hours"] * 3600 >= run.info.duration_s * 0.9


def test_scopes_by_name_count_what_is_inside_of_their_own_once():
    def descend(depth):
        with resmon.scope("even"):
            if depth:
                with resmon.scope("odd"):
                    descend(depth - 1)
    with resmon.Monitor(3600, scopes="wall") as made:
        descend(4)
    names = {scope.name: scope for scope in made.scopes_by_name}
    assert len(made.scopes) == 9 and set(names) == {"even", "odd"}
    assert names["even"].calls == 5 and names["odd"].calls == 4
    assert names["even"].wall_s == made.scopes["even"].wall_s
    assert sum(scope.self_s for scope in names.values()) == pytest.approx(made.scopes["even"].wall_s, rel=1e-6)
    assert names["even"].path == "even" and names["even"].parent == -1
    assert "Scopes by name" in made.summary.text(full=True) and made.scopes_by_name["odd"].calls == 4
    assert repr(made.scopes_by_name).count("\n") == 2


def test_scope_energy_is_part_of_the_whole(run):
    total = sum(scope.energy_j for scope in run.scopes if scope.depth == 0)
    if math.isfinite(total):
        assert 0 < total <= run.energy.tree_j * 1.0001


def test_metrics_are_those_of_the_columns(run):
    metrics = {metric.name: metric for metric in resmon.metrics()}
    assert len(metrics) > 100
    for column in run.columns:
        metric = metrics[column.metric]
        assert (metric.unit, metric.kind, metric.level) == (column.unit, column.kind, column.level)
        assert metric.help


def test_sources(run):
    assert {source.name for source in run.sources.missing} <= {source.name for source in run.sources.remarks}
    available = [source for source in run.sources if source.available]
    assert available and all(source.reads > 0 for source in available if source.every == 1)
    for source in run.sources.missing:
        assert source.reason, "what is missing has a reason"


def test_texts(run):
    assert "a run on " in repr(run) and "peak RSS" in repr(run)
    assert str(run).count("\n") > 10
    page = run._repr_html_()
    assert "<svg" in page and "load" in page and page.count("<table") == page.count("</table>") > 1
    for records in (run.scopes, run.tags, run.sources, run.events, run.summary, run.scopes[:0] or run.tags):
        assert repr(records) and "<table" in records._repr_html_()
    assert "&lt;dusted&gt;" in run.tags._repr_html_()
    assert repr(run.scopes).split("\n")[2].startswith("    parse")


def test_prometheus_text(run):
    lines = [line for line in run.prometheus_text().split("\n") if line and not line.startswith("#")]
    assert any(line.startswith("resmon_") for line in lines)
    for line in lines:
        float(line.rpartition(" ")[2])


def test_runs_are_not_made_by_hand():
    with pytest.raises(TypeError, match="resmon.load"):
        resmon.Run()


def test_a_part_of_a_run():
    """What an account of cells takes: figures without a table."""
    from resmon._library import lib
    with resmon.Monitor(3600) as monitor:
        part = resmon.Run._own(monitor._take(lib.monitor_summary))
    assert part.times == [] and len(part.series("proc.mem.rss")) == 0
    assert part.headline["rss_peak_bytes"] > 0 and repr(part) and part._repr_html_()


# ---- files ------------------------------------------------------------------------------------------


def test_paths_with_placeholders(run, tmp_path):
    run.save(tmp_path / "%p-%h-%%.json")
    name, = (path.name for path in tmp_path.iterdir())
    assert "%p" not in name and name.endswith("-%.json")


def test_csv(run, tmp_path):
    import csv
    run.save(tmp_path / "run.csv")
    with open(tmp_path / "run.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert len(rows) == 1 + len(run.times) and (tmp_path / "run-columns.csv").exists()
    index = rows[0].index("tree.cpu.time")
    assert [float(row[index]) for row in rows[1:] if row[index]] == [
        pytest.approx(value, rel=1e-6) for value in run.series("tree.cpu.time") if value == value]


def test_traces(run, tmp_path):
    run.save_trace(tmp_path / "one.json")
    resmon.save_trace([run, resmon.parse(run.to_json())], tmp_path / "two.json")
    one, two = (json.loads((tmp_path / name).read_text()) for name in ("one.json", "two.json"))
    events = [event for event in one["traceEvents"] if event.get("name") == "parse"]
    assert len(events) >= 1 and len(two["traceEvents"]) > len(one["traceEvents"])
    with pytest.raises(resmon.Error):
        resmon.save_trace([], tmp_path / "none.json")


def test_emissions(run, tmp_path):
    import csv
    for process in (False, True):
        run.save(tmp_path / "emissions.csv", "emissions", process=process)
    with open(tmp_path / "emissions.csv", newline="", encoding="utf-8") as file:
        machine, own = csv.DictReader(file)
    assert float(machine["energy_consumed"]) == pytest.approx(run.energy.node_kwh, rel=1e-3)
    assert float(own["emissions"]) == pytest.approx(run.energy.tree_gco2eq / 1000, rel=1e-3)
    assert machine["country_iso_code"] == "FRA" and float(machine["duration"]) == pytest.approx(run.info.duration_s, rel=1e-3)


def test_the_ending_selects_the_format(run, tmp_path):
    """As in the library's table; and what it has not is refused with a list of what there is."""
    begins = {"x.json": b'{"format":"resmon-run"', "x.csv": b"time_s,", "x.trace.json": b'{"', "x.html": b"<!doctype html>",
              "x.md": b"# a run on ", "x.txt": b"a run took "}
    for name, begin in begins.items():
        run.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().replace(b" ", b"" if name == "x.json" else b" ").lower().startswith(begin), name
    run.save(tmp_path / "no ending", format="json")
    assert (tmp_path / "no ending").read_bytes() == (tmp_path / "x.json").read_bytes()
    with pytest.raises(resmon.ArgumentError, match=r"\.trace\.json .*\.pdf \.txt \.parquet"):
        run.save(tmp_path / "x.xyz")
    with pytest.raises(resmon.ArgumentError, match="expected one of json, .*parquet"):
        run.save(tmp_path / "x.json", format="xyz")
    with pytest.raises(resmon.Error, match="widht"):
        run.save(tmp_path / "x.json", widht=3)


@pytest.mark.parametrize("write", ["json", "csv", "trace", "emissions", "text"])
def test_unwritable_paths(run, write, tmp_path):
    (tmp_path / "file").write_text("precious")
    for path, kind in ((tmp_path / "no" / "x", resmon.NotFoundError), (tmp_path / "file" / "x", resmon.Error),
                       (tmp_path, resmon.Error), ("", resmon.Error), ("x" * 5000, resmon.Error)):
        with pytest.raises(kind):
            run.save(path, write)
    for path in ("a\0b", None, 5):
        with pytest.raises((ValueError, TypeError)):
            run.save(path, write)
    assert (tmp_path / "file").read_text() == "precious"
    assert {path.name for path in tmp_path.iterdir()} == {"file"}, "nothing is left over"


def test_unreadable_paths(tmp_path):
    for path, kind in ((tmp_path / "no.json", resmon.NotFoundError), (tmp_path, resmon.Error), ("", resmon.Error),
                       (tmp_path / ("x" * 300), resmon.Error)):
        with pytest.raises(kind):
            resmon.load(path)
    for path in ("a\0b", 5):
        with pytest.raises((ValueError, TypeError)):
            resmon.load(path)


GARBAGE = [b"", b" ", b"{", b"{}", b"[]", b"null", b"1", b'"text"', b"\0" * 10_000, b"\xff\xfe", b"[" * 100_000,
           b'{"a":' * 50_000, b'{"schema": "resmon-run", "version": 1}', b"RESMON", b"a,b\n1,2\n", b"{" + b" " * 100_000]


@pytest.mark.parametrize("data", GARBAGE, ids=lambda data: repr(data[:20]))
def test_garbage(data, tmp_path):
    (tmp_path / "file.json").write_bytes(data)
    with pytest.raises(resmon.FormatError):
        resmon.load(tmp_path / "file.json")
    with pytest.raises(resmon.FormatError):
        resmon.parse(data)


@pytest.mark.parametrize("data", [12, None, 1.5, ["a"], object()])
def test_parse_takes_texts_and_bytes(data):
    with pytest.raises(TypeError):
        resmon.parse(data)


def test_damaged_documents(run, tmp_path):
    """Cut, or with bytes changed: an error of the package, or a run of which everything can be asked."""
    text, chance, outcomes = run.to_json().encode(), random.Random(7), []
    path = tmp_path / "damaged.json"
    for cut in [1, 10, len(text) // 3, len(text) // 2, len(text) - 10]:
        path.write_bytes(text[:cut])
        with pytest.raises(resmon.FormatError):
            resmon.load(path)
    for _ in range(150):
        damaged = bytearray(text)
        for _ in range(chance.randint(1, 5)):
            # Digits too: nearly all of a long document is numbers, which only they leave readable.
            damaged[chance.randrange(len(damaged))] = chance.choice([chance.randrange(256), ord("0") + chance.randrange(10)])
        try:
            found = resmon.parse(bytes(damaged))
        except (resmon.FormatError, resmon.errors.VersionError):
            outcomes.append(False)
            continue
        outcomes.append(True)
        repr(found), str(found), found._repr_html_(), found.facts, found.headline, found.energy, found.figures
        for column in found.columns:
            list(found.series(column.name))
    assert True in outcomes and False in outcomes


def test_damaged_recordings(tmp_path):
    with resmon.Monitor(3600, record=tmp_path / "run.rec", events=0, scope_paths=8, scope_threads=1) as monitor:
        monitor.sample_now()
    data, chance = (tmp_path / "run.rec").read_bytes(), random.Random(7)
    for cut in (1, 100, 4096):
        with pytest.raises(resmon.Error):
            resmon.parse(data[:cut])
    found = resmon.parse(data[:-1])  # as far as it goes
    assert found.facts["run"]["cut"] == f"{len(data) - 1} of {len(data)} bytes"
    assert found.summary["proc.mem.rss"].n == resmon.parse(data).summary["proc.mem.rss"].n
    assert "the end of the recording is missing" in str(found)
    for _ in range(50):
        damaged = bytearray(data)
        for _ in range(chance.randint(1, 20)):
            damaged[chance.randrange(min(len(damaged), 20_000))] = chance.randrange(256)
        try:
            found = resmon.parse(damaged)
        except resmon.Error:
            continue
        repr(found), str(found), found._repr_html_(), found.facts, found.headline, found.to_json()


def test_file_of_an_older_tool_that_is_damaged(tmp_path):
    pytest.importorskip("resmon.formats", reason="resmon.formats is not there")
    (tmp_path / "old.json").write_text(json.dumps({"tags": [], "samples": "none"}))
    with pytest.raises(resmon.FormatError):
        resmon.load(tmp_path / "old.json")


# ---- baseline, doctor -------------------------------------------------------------------------------


def test_idle_and_comparison():
    idle = resmon.measure_idle(0.3)
    with resmon.Monitor(0.02) as work:
        burn(0.3)
    assert idle.info.duration_s >= 0.3
    compared = resmon.above_idle(work, idle)
    assert compared.energy_j.difference == pytest.approx(compared.energy_j.work - compared.energy_j.idle)
    if compared.energy_j.low == compared.energy_j.low:  # not known of runs that are as short
        assert compared.energy_j.low <= compared.energy_j.difference <= compared.energy_j.high
    assert compared.statement and str(compared)
    assert resmon.above_idle([work], [idle, idle]).idle_runs == 2
    for wrong in (([], idle), (work, [])):
        with pytest.raises(resmon.Error):
            resmon.compare(*wrong)
    for seconds in (-1, float("nan")):
        with pytest.raises(resmon.Error):
            resmon.measure_idle(seconds)


def test_idle_at_a_place():
    assert resmon.measure_idle(0.05, {"country": "FR", "pue": 1.25}).energy.pue == 1.25
    resmon.carbon.set_place({"pue": 1.5})
    try:
        assert resmon.measure_idle(0.05).energy.pue == 1.5
    finally:
        resmon.carbon.set_place(None)


def test_doctor():
    diagnosis = resmon.doctor()
    assert len(diagnosis) > 5 and {one.state for one in diagnosis} <= {"ready", "not readable", "absent", "garbled"}
    assert repr(diagnosis) and "<table" in diagnosis._repr_html_()
    with pytest.raises(resmon.Error):
        resmon.doctor(fs_root="/nonexistent")


def test_records_equal_and_hash_by_what_is_known():
    def column(mean):
        statistics = resmon.records.Statistics()
        for name in statistics.members:
            setattr(statistics, name, (math.nan,) * 4 if name == "over_s" else math.nan)
        statistics.mean = mean
        return statistics
    assert column(float("nan")) == column(float("nan")) and column(1.0) == column(1.0)
    assert column(1.0) != column(2.0) and column(1.0) != column(math.nan) and column(1.0) != 1.0
    assert hash(column(float("nan"))) == hash(column(float("nan"))) and len({column(1.0), column(1.0), column(2.0)}) == 2


def test_scopes_are_hashed_with_their_counts(run):
    assert len(set(run.scopes) | set(pickle.loads(pickle.dumps(run)).scopes)) == len(run.scopes)
