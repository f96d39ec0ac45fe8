# SPDX-License-Identifier: MIT
"""Where results go while a monitor runs: files, servers that are not there, and callbacks of every temper."""
import csv
import gc
import json
import socket
import threading
import warnings
import weakref

import pytest
from conftest import burn, comes, delivered, ends, threads

import resmon
from resmon._library import lib, take_text

SLOW = 3600


@pytest.fixture
def told(monkeypatch):
    """What the hook for exceptions of threads is told."""
    seen = []
    monkeypatch.setattr(threading, "excepthook", lambda args: seen.append(args.exc_value))
    return seen


# ---- files ------------------------------------------------------------------------------------------


def test_json(tmp_path):
    path = tmp_path / "run.json"
    with resmon.Monitor(SLOW, json=path) as monitor:
        monitor.tag("x")
    assert resmon.load(path).to_json() == monitor.to_json()
    sink, = monitor.sinks
    assert sink.name == "json" and sink.end_status == 0 and sink.failures == 0 and sink.calls >= 1


def test_json_options(tmp_path):
    path = tmp_path / "later" / "run.json"
    with resmon.Monitor(SLOW, json={"path": path, "late": True, "final_only": True, "interval": 60}) as monitor:
        path.parent.mkdir()
        monitor.sample_now()
        assert not path.exists()
    assert resmon.load(path).info.samples == 3


@pytest.mark.parametrize("whole_run", [False, True])
def test_csv(tmp_path, whole_run):
    path = tmp_path / "run.csv"
    with resmon.Monitor(SLOW, csv={"path": path, "whole_run": whole_run}) as monitor:
        monitor.sample_now()
        monitor.tag('a "tag", quoted')
        monitor.sample_now()
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 and 'a "tag", quoted' in [row["tag"] for row in rows]
    series = monitor.series("proc.mem.rss", "last")
    assert [float(row["proc.mem.rss"]) for row in rows] == pytest.approx(list(series), rel=1e-6)


def test_trace_emissions_prometheus(tmp_path):
    paths = {name: tmp_path / name for name in ("trace.json", "emissions.csv")}
    with resmon.Monitor(SLOW, trace=paths["trace.json"],
                        emissions={"path": paths["emissions.csv"], "process": True},
                        prometheus={"directory": tmp_path, "label": {"team": "a \"b\""}, "keep": True}) as monitor:
        with resmon.scope("phase"):
            burn(0.01)
    assert [sink.end_status for sink in monitor.sinks] == [0] * 3
    assert "phase" in {event.get("name") for event in json.loads(paths["trace.json"].read_text())["traceEvents"]}
    assert len(paths["emissions.csv"].read_text().splitlines()) == 2
    text, = (path.read_text() for path in tmp_path.glob("*.prom"))
    assert 'team="a \\"b\\""' in text


def test_any_text_can_be_said(tmp_path):
    """Commas, quotes and backslashes are no part of the grammar once they are in a value."""
    path = tmp_path / 'a, "b" \\ c=d.json'
    with resmon.Monitor(SLOW, json={"interval": "1h", "path": path}, name='x, "y"\\', folded_file=False) as monitor:
        pass
    assert resmon.load(path).facts["run"]["name"] == 'x, "y"\\'
    assert [sink.name for sink in monitor.sinks] == ["json"]


def test_durations_and_names_of_all_forms(tmp_path):
    for interval in (1.5, "1500ms", "1.5s"):
        monitor = resmon.Monitor(interval, domains=("process", "tree"), max_overhead=1e-3, stop_timeout=2)
        with monitor:
            pass
        settings = monitor.facts["settings"]
        assert (settings["interval_ms"], settings["domains"], settings["max_overhead"]) == (1500, 3, 0.001)
    assert "json.interval=DURATION" in resmon.keywords()


def test_sinks_that_are_off():
    with resmon.Monitor(SLOW, json=False, csv=None) as monitor:
        pass
    assert monitor.sinks == []


def test_a_server_that_is_not_there(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens there
        port = taken.getsockname()[1]
        monitor = resmon.Monitor(SLOW, pushgateway={"url": f"http://127.0.0.1:{port}", "job": "test", "timeout": 10},
                                 json=tmp_path / "run.json", stop_timeout=10)  # the most of it are pauses
        try:
            monitor.start()
            with pytest.raises(resmon.errors.NetworkError, match="pushgateway"):
                monitor.stop()
        except resmon.NotSupportedError:
            pytest.skip("this build has no HTTP")
    assert resmon.load(tmp_path / "run.json").info.state == "stopped"
    assert {sink.name: sink.end_status for sink in monitor.sinks} == {"json": 0, "pushgateway": resmon.errors.NetworkError.status}


def test_add_after_start():
    with resmon.Monitor(SLOW) as monitor:
        with pytest.raises(resmon.StateError):
            monitor.add_callback(print)
    assert monitor.sinks == []


def test_more_sinks_than_there_is_room_for():
    monitor = resmon.Monitor(SLOW)
    for i in range(32):
        monitor.add_callback(lambda sample: None, name=f"c{i}")
    with pytest.raises(resmon.errors.NoSpaceError, match="32"):
        monitor.add_callback(print)
    with monitor:
        pass
    assert [sink.name for sink in monitor.sinks] == [f"c{i}" for i in range(32)]
    assert all(sink.calls == 3 for sink in monitor.sinks), "start, and two samples"


# ---- callbacks --------------------------------------------------------------------------------------


def test_samples():
    samples, where = [], set()

    def on_sample(sample):
        samples.append(sample)
        where.add(threading.get_native_id())
    with resmon.Monitor(SLOW, on_sample=on_sample, domains="process+tree") as monitor:
        burn(0.02)
        monitor.sample_now()
    assert len(samples) == monitor.info.samples == 3 and where.isdisjoint({threading.get_native_id()})
    assert [sample.t_s for sample in samples] == monitor.times
    first, middle, last = samples
    assert set(first.keys()) == {column.name for column in monitor.columns} == set(first.to_dict())
    assert first["proc.cpu.time"] == 0 and 0.02 <= middle["proc.cpu.time"] <= last["proc.cpu.time"]
    assert [sample["proc.mem.rss"] for sample in samples] == list(monitor.series("proc.mem.rss", "last"))
    assert "proc.mem.rss" in first and "no.such" not in first
    with pytest.raises(KeyError):
        first["no.such"]  # pylint: disable=pointless-statement
    assert "values" in repr(first)


def test_on_stop_gets_the_finished_run():
    runs = []
    monitor = resmon.Monitor(SLOW)
    monitor.add_callback(lambda sample: None, runs.append, name="ünï")
    with monitor:
        monitor.tag("x")
    run, = runs
    assert isinstance(run, resmon.Run) and run.info.state == "stopped" and run.tags[0].label == "x"
    assert run.info.samples == monitor.info.samples and monitor.sinks[0].name == "ünï"


def test_on_stop_of_a_monitor_that_is_dropped():
    runs = []
    monitor = resmon.Monitor(SLOW)
    monitor.add_callback(lambda sample: None, runs.append)
    monitor.start()
    with pytest.warns(ResourceWarning):
        del monitor
        gc.collect()
    assert [run.info.state for run in runs] == ["stopped"]


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt(), SystemExit(3), GeneratorExit()],
                         ids=lambda error: type(error).__name__)
def test_a_callback_that_raises(told, error):
    calls = []

    def on_sample(sample):
        calls.append(sample)
        raise error
    with resmon.Monitor(SLOW, on_sample=on_sample) as monitor:
        monitor.sample_now()
        monitor.sample_now()
    assert len(calls) == 4, "it is called on"
    assert told == [error], "said once"
    sink, = monitor.sinks
    assert sink.failures == 4 and sink.status == resmon.errors.InputOutputError.status and sink.end_status == 0
    assert sink.reason.startswith(type(error).__name__)
    assert monitor.info.samples == 4


def test_a_callback_that_raises_at_the_end(told):
    monitor = resmon.Monitor(SLOW)
    monitor.add_callback(lambda sample: None, lambda run: 1 / 0, name="mine")
    monitor.start()
    with pytest.raises(resmon.errors.InputOutputError, match="^sink mine: ZeroDivisionError: division by zero$"):
        monitor.stop()
    assert monitor.state == "stopped" and isinstance(told[0], ZeroDivisionError)
    assert monitor.sinks[0].reason == "ZeroDivisionError: division by zero"


def test_a_callback_whose_exception_has_no_text(told):
    class Untold(Exception):
        def __str__(self):
            raise RuntimeError

    def on_sample(sample):
        raise Untold
    with resmon.Monitor(SLOW, on_sample=on_sample) as monitor:
        pass
    assert monitor.sinks[0].failures == 2 and len(told) == 1


def test_a_hook_that_raises(monkeypatch):
    def broken(_args):
        raise RuntimeError("the hook")
    monkeypatch.setattr(threading, "excepthook", broken)
    with resmon.Monitor(SLOW, on_sample=lambda sample: 1 / 0) as monitor:
        pass
    assert monitor.sinks[0].failures == 2


def test_shown_on_stderr(script):
    _, errors = script("""
        import resmon
        with resmon.Monitor(3600, on_sample=lambda sample: undefined) as monitor:
            monitor.sample_now()
    """)
    assert errors.count("NameError") == 1 and errors.count("Traceback") == 1


def test_a_callback_that_is_slow():
    """It delays no sample; those for which the queue has no room are counted."""
    go_on, seen = threading.Event(), []

    def on_sample(sample):
        go_on.wait()
        seen.append(sample.t_s)
    monitor = resmon.Monitor(SLOW, on_sample=on_sample).start()
    for _ in range(300):
        monitor.sample_now()
    assert monitor.info.samples == 301 and not seen
    go_on.set()
    while len(seen) < 100:
        burn(0.001)  # else the last sample may be one of those that are dropped, and is not counted any more
    monitor.stop()
    info = monitor.info
    assert len(seen) + info.dropped_rows == info.samples == 302 and info.dropped_rows > 0
    assert seen == sorted(seen)


def test_a_callback_that_does_not_return():
    """It is left behind; the monitor may go, and the callback come back."""
    go_on, returned = threading.Event(), threading.Event()

    def on_sample(sample):
        go_on.wait()
        sample.to_dict()
        returned.set()
    monitor = resmon.Monitor(SLOW, on_sample=on_sample, stop_timeout=0.2).start()
    with pytest.raises(resmon.errors.TimedOutError, match="callback"):
        monitor.stop()
    assert monitor.state == "stopped" and monitor.sinks[0].is_off
    del monitor, on_sample
    gc.collect()
    go_on.set()
    assert returned.wait(60) and ends("rm-send")


def test_a_callback_that_stops_its_monitor():
    failures = []

    def on_sample(_sample):
        try:
            monitor.stop()
        except resmon.StateError as error:
            failures.append(str(error))
    monitor = resmon.Monitor(SLOW, on_sample=on_sample)
    monitor.start()
    monitor.sample_now()
    assert monitor.state == "running"
    monitor.stop()
    assert monitor.state == "stopped" and len(failures) == 3 and "sink" in failures[-1]


def test_a_callback_that_stops_another_monitor():
    other = resmon.Monitor(SLOW).start()
    with resmon.Monitor(SLOW, on_sample=lambda sample: other.stop()) as monitor:
        pass
    assert other.state == "stopped" and monitor.sinks[0].failures == 0


def test_a_callback_that_asks_and_tags_its_monitor():
    seen = []

    def on_sample(sample):
        if 0 < sample.t_s and len(seen) < 3:
            monitor.tag("from the callback")
            with resmon.scope("in the callback"):
                seen.append(monitor.headline["wall_s"])
    monitor = resmon.Monitor(SLOW, on_sample=on_sample)
    with monitor:
        for _ in range(3):
            monitor.sample_now()
        while len(seen) < 3:
            burn(0.001)
    assert monitor.sinks[0].failures == 0
    assert {tag.label for tag in monitor.tags} == {"from the callback"}
    assert monitor.scopes["in the callback"].calls == len(seen)


def test_a_callback_that_has_the_last_reference():
    """The monitor that it frees is its own: another thread does that."""
    go_on, dropped, keep = threading.Event(), threading.Event(), []

    def on_sample(_sample):
        go_on.wait()
        if keep:
            keep.pop()
            dropped.set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        monitor = resmon.Monitor(SLOW, on_sample=on_sample).start()
        keep.append(monitor)
        del monitor
        go_on.set()
        assert dropped.wait(60) and ends("rm-sample") and ends("rm-send")


def test_garbage_that_a_callback_meets():
    """The collector may run in the thread of the very monitor that it finds."""
    go_on, done = threading.Event(), threading.Semaphore(0)

    def work(_sample):
        go_on.wait()
        gc.collect()
        done.release()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.disable()
        try:
            for _ in range(5):
                cycle = [work]
                cycle.append(resmon.Monitor(SLOW, on_sample=lambda sample, cycle=cycle: cycle[0](sample)).start())
            del cycle
            go_on.set()
            for _ in range(5):
                done.acquire()
        finally:
            gc.enable()
        # gc.collect() does nothing while another thread is at it.
        assert comes(lambda: (gc.collect(), not {"rm-sample", "rm-send"} & set(threads()))[1])


def test_callbacks_that_know_their_monitor_are_collected():
    class Owner:
        def __init__(self):
            self.monitor = resmon.Monitor(SLOW, on_sample=self.on_sample)
            self.samples = 0

        def on_sample(self, _sample):
            self.samples += 1
    owner = Owner()
    with owner.monitor:
        pass
    assert owner.samples == 2
    gone = weakref.ref(owner), weakref.ref(owner.monitor)
    del owner
    gc.collect()
    assert [reference() for reference in gone] == [None, None]
    owner = Owner()
    delivered(owner.monitor.start())
    gone = weakref.ref(owner.monitor)
    with pytest.warns(ResourceWarning):
        del owner
        gc.collect()
    assert gone() is None and ends("rm-send")


def test_garbage_collection_within_callbacks():
    seen = []

    def on_sample(sample):
        cycle = [sample]
        cycle.append(cycle)
        gc.collect()
        seen.append(len(sample.values))
    with resmon.Monitor(SLOW, on_sample=on_sample) as monitor:
        for _ in range(5):
            monitor.sample_now()
            with resmon.Monitor(SLOW, on_sample=on_sample):
                pass
    assert len(seen) == 7 + 10 and monitor.sinks[0].failures == 0


def test_delivery_threads_come_and_go():
    with resmon.Monitor(SLOW, on_sample=lambda sample: None):
        assert comes(lambda: threads().count("rm-send") == 1)  # threads name themselves
    assert ends("rm-send")


def test_monitors_in_one_run_of_mlflow_have_keys_of_their_own(tmp_path):
    for number in range(3):
        to = {"tracking_uri": "http://127.0.0.1:1", "run_id": "another" if number == 2 else "one", "spool_only": True,
              "spool": tmp_path / "waits.json"}
        try:
            with resmon.Monitor(3600, mlflow=to) as monitor, resmon.scope(f"phase{number}"):
                monitor.sample_now()
        except resmon.NotSupportedError as error:
            pytest.skip(str(error))
        run = resmon.load(tmp_path / "waits.json")
        plan = json.loads(take_text(lib.run_mlflow_requests, run, b"tracking_uri=http://127.0.0.1:1"))
        assert plan["run_id"] == to["run_id"]
        group = "system/monitor_2/" if number == 1 else "system/"
        bodies = [request["body"] for request in plan["requests"] if request["call"] == "log-batch"]
        keys = [metric["key"] for body in bodies for metric in body["metrics"]]
        assert f"{group}resmon/scope/phase{number}/calls" in keys
        assert all(key.startswith(group) for key in keys)
        assert ("monitor_2/resmon.version" in json.dumps(plan)) == (number == 1)
        paths = [request["path"] for request in plan["requests"] if request["call"] == "artifact"]
        assert paths == ["resmon/monitor_2/run.json" if number == 1 else "resmon/run.json"]
