# SPDX-License-Identifier: MIT
"""The life of a monitor: options, start, stop, what it can be asked when, and who may do so."""
import copy
import gc
import os
import pickle
import subprocess
import tempfile
import threading
import warnings
import weakref

import pytest
from conftest import burn, ends, threads

import resmon

SLOW = 3600  # s between samples: only those that are asked for


# ---- start, stop, states ----------------------------------------------------------------------------


def test_states():
    monitor = resmon.Monitor(SLOW)
    assert monitor.state == "new"
    assert monitor.start() is monitor and monitor.state == "running"
    assert monitor.info.state == "running"
    assert monitor.stop() is monitor and monitor.state == "stopped"
    assert monitor.stop() is monitor
    assert monitor.info.state == "stopped"


def test_start_twice():
    with resmon.Monitor(SLOW) as monitor:
        with pytest.raises(resmon.StateError, match="running"):
            monitor.start()
        assert monitor.state == "running"
    with pytest.raises(resmon.StateError, match="stopped"):
        monitor.start()


def test_a_stopped_monitor_is_not_entered_again():
    monitor = resmon.Monitor(SLOW)
    with monitor:
        pass
    with pytest.raises(resmon.StateError, match="stopped"):
        with monitor:
            pytest.fail("the block ran, and nothing would have been recorded")


def test_with_takes_a_running_monitor():
    with resmon.Monitor(SLOW).start() as monitor:
        assert monitor.state == "running"
    assert monitor.state == "stopped"


def test_before_start():
    monitor = resmon.Monitor(SLOW)
    for call in (monitor.stop, monitor.sample_now, monitor.snapshot, lambda: monitor.summary,
                 lambda: monitor.set_label("x"), monitor.to_json):
        with pytest.raises(resmon.StateError, match="not started"):
            call()
    assert monitor.state == "new"
    monitor.start().stop()


def test_after_stop():
    with resmon.Monitor(SLOW) as monitor:
        pass
    for call in (monitor.sample_now, lambda: monitor.set_label("x")):
        with pytest.raises(resmon.StateError, match="stopped"):
            call()
    assert monitor.summary["proc.mem.rss"].max > 0
    assert monitor.snapshot().info.samples == 2


@pytest.mark.parametrize("when", ["new", "stopped"])
def test_tag_says_why_not(when):
    """The library's tag is for signal handlers, and sets no text: that of another failure must not appear."""
    monitor = resmon.Monitor(SLOW)
    if when == "stopped":
        monitor.start().stop()
    with pytest.raises(resmon.NotFoundError):
        resmon.load("/nonexistent/run.json")
    with pytest.raises(resmon.StateError) as caught:
        monitor.tag("x")
    assert when in str(caught.value) and "nonexistent" not in str(caught.value)


def test_first_and_last_sample_and_those_between():
    with resmon.Monitor(SLOW) as monitor:
        assert monitor.info.samples == 1
        for _ in range(3):
            monitor.sample_now()
        assert monitor.info.samples == 4
    assert monitor.info.samples == 5
    assert monitor.info.duration_s == monitor.times[-1] > 0
    assert monitor.times == sorted(monitor.times)


def test_sampling_thread_comes_and_goes():
    assert ends("rm-sample")
    with resmon.Monitor(SLOW):
        assert threads().count("rm-sample") == 1
    assert ends("rm-sample")


def test_failed_start_leaves_a_monitor_that_can_only_be_dropped(tmp_path):
    monitor = resmon.Monitor(SLOW, record=tmp_path / "no" / "such" / "run.rec")
    with pytest.raises(resmon.NotFoundError, match="such"):
        monitor.start()
    assert monitor.state == "new"
    with pytest.raises(resmon.StateError, match="start failed"):
        monitor.start()
    with pytest.raises(resmon.StateError):
        monitor.stop()
    assert ends("rm-sample")


def test_several_monitors_at_once():
    monitors = [resmon.Monitor(SLOW, name=f"m{i}").start() for i in range(4)]
    for monitor in monitors[1:3]:
        monitor.sample_now()
    for monitor in reversed(monitors):
        monitor.stop()
    assert [monitor.info.samples for monitor in monitors] == [2, 3, 3, 2]
    assert [monitor.facts["run"]["name"] for monitor in monitors] == ["m0", "m1", "m2", "m3"]


def test_stop_in_another_thread():
    monitor = resmon.Monitor(SLOW).start()
    thread = threading.Thread(target=monitor.stop)
    thread.start()
    thread.join()
    assert monitor.state == "stopped" and monitor.info.state == "stopped"
    monitor.stop()


def test_stop_in_many_threads_at_once():
    for _ in range(20):
        monitor, failures = resmon.Monitor(SLOW).start(), []
        barrier = threading.Barrier(4)

        def stop(monitor=monitor, barrier=barrier, failures=failures):
            barrier.wait()
            try:
                monitor.stop()
            except BaseException as error:  # pylint: disable=broad-except
                failures.append(error)
        crowd = [threading.Thread(target=stop) for _ in range(4)]
        for thread in crowd:
            thread.start()
        for thread in crowd:
            thread.join()
        assert not failures and monitor.info.samples == 2


def test_asked_by_many_threads_while_it_stops():
    monitor, failures, go_on = resmon.Monitor(0.005).start(), [], threading.Event()

    def ask():
        try:
            while not go_on.is_set():
                assert monitor.snapshot().info.samples >= 1
                assert monitor.headline["wall_s"] >= 0
                repr(monitor)
        except BaseException as error:  # pylint: disable=broad-except
            failures.append(error)
    crowd = [threading.Thread(target=ask) for _ in range(3)]
    for thread in crowd:
        thread.start()
    burn(0.1)
    monitor.stop()
    go_on.set()
    for thread in crowd:
        thread.join()
    assert not failures


# ---- options ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options, kind, words", [
    ({"interval": -1}, ValueError, "interval"),
    ({"interval": 1e-9}, ValueError, "millisecond"),
    ({"interval": "soon"}, resmon.ArgumentError, "100ms"),
    ({"interval": float("nan")}, ValueError, "interval"),
    ({"interval": float("inf")}, ValueError, "interval"),
    ({"interval": 1e9}, resmon.errors.RangeError, "1 ms to 24 h; default 100 ms"),
    ({"rows": 7}, resmon.errors.RangeError, "even"),
    ({"rows": -2}, resmon.ArgumentError, "rows"),
    ({"rows": 1 << 21}, resmon.errors.RangeError, "rows"),
    ({"rows": "many"}, resmon.ArgumentError, "a whole number"),
    ({"rows": 400.0}, TypeError, "rows"),
    ({"domains": "cpuu"}, resmon.ArgumentError, "did you mean 'cpu'"),
    ({"domains": ""}, ValueError, "domains"),
    ({"domains": []}, ValueError, "domains"),
    ({"domains": 5}, TypeError, ""),
    ({"scopes": "cpux"}, resmon.ArgumentError, "did you mean 'cpu'"),
    ({"pid": -5}, resmon.ArgumentError, "pid"),
    ({"pid": "x"}, resmon.ArgumentError, "pid"),
    ({"name": 5}, TypeError, "name"),
    ({"name": "a\0b"}, ValueError, "null character"),
    ({"name": "\ud800"}, ValueError, ""),
    ({"carbon": {"contry": "FR"}}, resmon.ArgumentError, "did you mean 'country'"),
    ({"carbon": {"country": 5}}, TypeError, "carbon: country"),
    ({"carbon": {"pue": 0.5}}, resmon.errors.RangeError, "carbon.pue"),
    ({"carbon": {"pue": "x"}}, resmon.ArgumentError, "carbon.pue"),
    ({"carbon": object()}, TypeError, ""),
    ({"record": 5}, TypeError, "record"),
    ({"json": 5}, TypeError, "json: path"),
    ({"json": True}, resmon.ArgumentError, "json.path is missing"),
    ({"json": {}}, resmon.ArgumentError, "json.path is missing"),
    ({"json": {"pathh": "x"}}, resmon.ArgumentError, "did you mean 'path'"),
    ({"json": {"a,b": "x"}}, resmon.ArgumentError, "'a,b' is no name"),
    ({"json": {"path": "x", "interval": -1}}, ValueError, "json.interval"),
    ({"json": "/nonexistent/x"}, resmon.NotFoundError, "/nonexistent"),
    ({"csv": {"path": 5}}, TypeError, "csv: path"),
    ({"csv": "/nonexistent/x"}, resmon.NotFoundError, "/nonexistent"),
    ({"trace": "/nonexistent/x"}, resmon.NotFoundError, "/nonexistent"),
    ({"emissions": "/nonexistent/x"}, resmon.NotFoundError, "/nonexistent"),
    ({"emissions": 5}, TypeError, "emissions: path"),
    ({"prometheus": "/nonexistent"}, resmon.NotFoundError, "/nonexistent"),
    ({"prometheus": {"directory": tempfile.gettempdir(), "label": {"1a": "x"}}}, resmon.ArgumentError, "1a"),
    ({"prometheus": {"directory": tempfile.gettempdir(), "label": {"a=1,keep": "x"}}}, resmon.ArgumentError, "no name"),
    ({"prometheus": {"directory": tempfile.gettempdir(), "label": 5}}, TypeError, ""),
    ({"label": "team=a"}, TypeError, "label: a dict"),
    ({"label": {"a b": 1}}, resmon.ArgumentError, "'a b' is no name of a label"),
    ({"label": {"": 1}}, resmon.ArgumentError, "no name of a label"),
    ({"label": {"a": "x" * 512}}, resmon.ArgumentError, "more than 511 bytes"),
    ({"pushgateway": "x"}, resmon.ArgumentError, "http"),
    ({"mlflow": "ftp://x"}, resmon.Error, ""),
    ({"mlflow": 5}, TypeError, "mlflow: tracking_uri"),
    ({"mlflow": {"tracking_uri": "http://127.0.0.1:9", "node_index": "x"}}, resmon.ArgumentError, "mlflow.node_index"),
    ({"mlflow": {"tracking_uri": "http://127.0.0.1:9", "node_index": 1.5}}, TypeError, "mlflow: node_index"),
    ({"on_sample": 5}, TypeError, "callback"),
    ({"idle": "x"}, ValueError, "used, none, allocated"),
    ({"events": -1}, resmon.ArgumentError, "events"),
    ({"rows": 0}, resmon.errors.RangeError, "rows"),
    ({"interval": 0}, resmon.errors.RangeError, "1 ms to 24 h"),
    ({"max_overhead": 2.0}, resmon.errors.RangeError, "max_overhead"),
    ({"max_overhead": float("nan")}, resmon.ArgumentError, "max_overhead"),
    ({"max_meter_share": -1}, resmon.ArgumentError, "max_meter_share"),
    ({"tags": 1 << 30}, resmon.errors.RangeError, "tags"),
    ({"scope_depth": 1000}, resmon.errors.RangeError, "scope_depth"),
    ({"stop_timeout": -1}, ValueError, "stop_timeout"),
    ({"nonsense": 1}, resmon.ArgumentError, "nonsense"),
    ({"intervall": 1}, resmon.ArgumentError, "did you mean 'interval'"),
    ({"prom": "/tmp"}, resmon.ArgumentError, "did you mean 'prometheus'"),
    ({"summary": True}, resmon.ArgumentError, "summary"),
    ({"a,b": 1}, resmon.ArgumentError, "no name"),
], ids=lambda value: repr(value)[:40] if isinstance(value, dict) else "")
def test_bad_options(options, kind, words):
    with pytest.raises(kind) as caught:
        resmon.Monitor(**options)
    assert words in str(caught.value)


@pytest.mark.parametrize("options, words", [
    ({"stack_hz": 50}, "stack_hz has no effect without stacks=cpu"),
    ({"carbon": "FR", "domains": "process"}, "carbon has no effect without domains=energy"),
])
def test_options_without_effect_are_said(options, words):
    with pytest.warns(resmon.ResmonWarning, match=words) as caught:
        with resmon.Monitor(SLOW, **options):
            pass
    assert len(caught) == 1 and caught[0].filename == __file__, "once, at the line that starts it"


def test_every_error_is_one_of_the_package(tmp_path):
    for wrong in ({"pid": "x"}, {"interval": object()}, {"json": 5}, {"name": "\ud800"}, {"on_sample": 5}, {"carbon": object()}):
        with pytest.raises(resmon.Error):
            resmon.Monitor(**wrong)


def test_a_directory_is_no_file(tmp_path):
    for kind in ("json", "csv", "trace", "emissions"):
        with pytest.raises(resmon.ArgumentError, match="not a regular file"):
            resmon.Monitor(**{kind: tmp_path})


def test_options_that_fail_at_start(tmp_path):
    for options, kind in (({"pid": 1 << 30}, resmon.errors.NoProcessError), ({"record": tmp_path}, resmon.ArgumentError),
                          ({"fs_root": "/nonexistent"}, resmon.NotFoundError)):
        with pytest.raises(kind):
            resmon.Monitor(SLOW, **options).start()


def test_defaults():
    with resmon.Monitor() as monitor:
        pass
    settings = monitor.facts["settings"]
    assert settings["interval_ms"] == 100 and settings["rows"] == 400
    assert {column.level for column in monitor.columns} >= {"process", "tree", "node"}


def test_domains_by_name_and_by_sequence():
    for domains in ("process+memory", "process,memory", ["process", "memory"]):
        with resmon.Monitor(SLOW, domains=domains) as monitor:
            pass
        found = {column.metric.rsplit(".", 1)[0] for column in monitor.columns}
        assert "proc.mem" in found and "node.mem" in found
        assert not any(name.startswith(("tree", "cg", "node.cpu")) for name in found)


@pytest.mark.parametrize("domains", ["process", "tree", "cpu", "net"])
def test_everything_can_be_asked_with_any_domains(domains, tmp_path):
    """A figure of another domain is not known, and nothing else."""
    with resmon.Monitor(SLOW, domains=domains) as monitor:
        pass
    assert monitor.headline["wall_s"] > 0
    assert ("tree.cpu.time" in monitor.summary) == (domains == "tree")
    assert monitor.summary.get("no.such.metric") is None
    assert monitor.energy is None
    repr(monitor), str(monitor), monitor._repr_html_(), repr(monitor.summary), monitor.figures
    monitor.save(tmp_path / "run.json")
    assert repr(resmon.load(tmp_path / "run.json"))


def test_rows_are_bounded():
    with resmon.Monitor(SLOW, rows=4) as monitor:
        for _ in range(20):
            monitor.sample_now()
    assert len(monitor.times) <= 4 and monitor.info.samples == 22 and monitor.info.stride >= 8
    assert monitor.summary["proc.mem.rss"].n == 22


def test_tags_and_label():
    with resmon.Monitor(SLOW, tags=4) as monitor:
        for i in range(6):
            monitor.tag(f"tag {i}")
        monitor.tag(7)
        monitor.set_label("epoch 3")
        monitor.sample_now()
        assert monitor.info.label == "epoch 3"
    assert [tag.label for tag in monitor.tags] == ["tag 3", "tag 4", "tag 5", "7"]
    assert monitor.info.dropped_tags == 3
    times = [tag.t_s for tag in monitor.tags]
    assert times == sorted(times) and 0 <= times[0] and times[-1] <= monitor.info.duration_s


@pytest.mark.parametrize("label, kept", [
    ("", ""), ("x" * 10_000_000, "x" * 111), ("ü" * 100, "ü" * 55), ("a\nb\tc", "a"), ("\udcff", "")])
def test_odd_labels(label, kept, tmp_path):
    with resmon.Monitor(SLOW) as monitor:
        monitor.tag(label)
        monitor.set_label(label)
        monitor.sample_now()
    shown = monitor.tags[0].label
    assert shown.startswith(kept) and len(shown.encode("utf-8", "replace")) <= 111
    assert len(monitor.info.label.encode("utf-8", "replace")) <= 127
    monitor.save(tmp_path / "run.json")
    assert resmon.load(tmp_path / "run.json").tags[0].label == shown


def test_labels_with_null_are_refused(monitor):
    for call in (monitor.tag, monitor.set_label):
        with pytest.raises(ValueError, match="null"):
            call("a\0b")


def test_labels_of_a_run():
    with resmon.Monitor(SLOW, label={"team": "ä, \"b\"", "lr.start": 0.1, "_": ""}) as monitor:
        pass
    assert monitor.facts["labels"] == {"team": "ä, \"b\"", "lr.start": "0.1", "_": ""}
    assert 'team=ä, "b"' in str(monitor.snapshot().summary)


def test_name():
    with resmon.Monitor(SLOW, name="ü name") as monitor:
        pass
    assert monitor.facts["run"]["name"] == "ü name"
    assert "ü name" in repr(monitor)


def test_default_name_is_the_script(script):
    output, _ = script("""
        import resmon
        with resmon.Monitor(3600) as monitor:
            pass
        print(monitor.facts["run"]["name"])
    """)
    assert output == "script.py\n"


def test_pid_of_another_process():
    sleeper = subprocess.Popen(["sleep", "100"])
    try:
        with resmon.Monitor(SLOW, pid=sleeper.pid) as monitor:
            with resmon.scope("not of that process"):
                monitor.sample_now()
        assert monitor.facts["run"]["pid"] == sleeper.pid
        assert 0 < monitor.summary["proc.mem.rss"].max < 20 << 20
        assert len(monitor.scopes) == 0
    finally:
        sleeper.kill()
        sleeper.wait()


def test_pid_that_vanishes():
    sleeper = subprocess.Popen(["sleep", "100"])
    with resmon.Monitor(SLOW, pid=sleeper.pid, domains="process+tree") as monitor:
        sleeper.kill()
        sleeper.wait()
        monitor.sample_now()
        monitor.sample_now()
    assert monitor.info.samples == 4
    rss = list(monitor.series("proc.mem.rss", "last"))
    assert rss[0] > 0 and not rss[-1] > 0


# ---- scopes among monitors --------------------------------------------------------------------------


def test_scopes_belong_to_one_monitor():
    with resmon.Monitor(SLOW, scopes="wall") as owner, resmon.Monitor(SLOW) as other:
        with pytest.raises(resmon.BusyError):
            resmon.Monitor(SLOW, scopes="wall").start()
        with resmon.scope("phase"):
            pass
    assert [scope.name for scope in owner.scopes] == ["phase"] and len(other.scopes) == 0
    with resmon.Monitor(SLOW, scopes="wall") as later:
        with resmon.scope("phase"):
            pass
    assert later.scopes["phase"].calls == 1


def test_scopes_false_leaves_them_alone():
    with resmon.Monitor(SLOW, scopes=False) as without, resmon.Monitor(SLOW, scopes="wall+cpu") as owner:
        with resmon.scope("phase"):
            burn(0.01)
    assert len(without.scopes) == 0
    assert owner.scopes["phase"].cpu_s >= 0.009


# ---- exceptions in a with block ---------------------------------------------------------------------


class Untold(Exception):
    """An exception that has no text."""

    def __str__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize("error, label", [
    (ValueError("bad value"), "ValueError: bad value"), (KeyboardInterrupt(), "KeyboardInterrupt"),
    (SystemExit(3), "SystemExit: 3"), (ValueError("a\0b"), "ValueError: a b"), (ValueError("\ud800"), "ValueError: ?"),
    (Untold(), None), (ValueError("x" * 1_000_000), None)], ids=lambda value: repr(value)[:30])
def test_exceptions_pass_through_and_are_noted(error, label):
    with pytest.raises(type(error)) as caught:
        with resmon.Monitor(SLOW) as monitor:
            raise error
    assert caught.value is error and monitor.state == "stopped"
    if label is not None:
        assert [tag.label for tag in monitor.tags] == [label]


def test_failure_of_a_sink_does_not_replace_an_exception(tmp_path):
    directory = tmp_path / "directory"
    directory.mkdir()
    with pytest.warns(resmon.ResmonWarning, match="the run was recorded"):
        with pytest.raises(ZeroDivisionError):
            with resmon.Monitor(SLOW, json=directory / "run.json") as monitor:
                directory.rmdir()
                raise ZeroDivisionError
    assert monitor.state == "stopped" and monitor.info.samples == 2


def test_failure_of_a_sink_is_raised_by_stop(tmp_path):
    directory = tmp_path / "directory"
    directory.mkdir()
    monitor = resmon.Monitor(SLOW, json=directory / "run.json").start()
    directory.rmdir()
    with pytest.raises(resmon.Error, match="sink json"):
        monitor.stop()
    assert monitor.state == "stopped" and monitor.sinks[0].end_status != 0
    monitor.stop()


# ---- ends of a monitor ------------------------------------------------------------------------------


def test_dropped_while_it_runs():
    monitor = resmon.Monitor(SLOW).start()
    with pytest.warns(ResourceWarning, match="dropped while it ran"):
        del monitor
        gc.collect()
    assert ends("rm-sample")


def test_dropped_while_it_runs_and_warnings_are_errors():
    monitor = resmon.Monitor(SLOW).start()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.MonkeyPatch.context() as patch:
            told = []
            patch.setattr("sys.unraisablehook", lambda args: told.append(args.exc_type))
            del monitor
            gc.collect()
    assert told == [ResourceWarning]
    assert ends("rm-sample"), "it was not freed"


def test_dropped_before_start_and_after_stop():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for monitor in (resmon.Monitor(SLOW), resmon.Monitor(SLOW).start().stop()):
            gone = weakref.ref(monitor)
            del monitor
        gc.collect()
    assert gone() is None


def test_a_snapshot_outlives_its_monitor():
    with resmon.Monitor(SLOW) as monitor:
        monitor.tag("kept")
        early = monitor.snapshot()
        monitor.sample_now()
    final = monitor.snapshot()
    del monitor
    gc.collect()
    assert early.info.samples == 1 and final.info.samples == 3
    assert final.tags[0].label == "kept"
    assert early.info.state == "running" and final.info.state == "stopped"


def test_not_copied_not_pickled():
    with resmon.Monitor(SLOW) as monitor:
        for call in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="snapshot"):
                call(monitor)


def test_texts_in_every_state():
    monitor = resmon.Monitor(SLOW, name="n & m")
    for _ in range(2):
        assert "new" in repr(monitor) and "new" in str(monitor) and "new" in monitor._repr_html_()
    monitor.start()
    assert "running" in repr(monitor) and "n &amp; m" in monitor._repr_html_()
    monitor.stop()
    assert "stopped" in repr(monitor) and str(monitor).startswith("n & m took ") and "CPU" in repr(monitor.summary)


def test_inert_in_the_child_of_a_fork():
    with resmon.Monitor(SLOW) as monitor:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                assert repr(monitor) and monitor.state == "running"
                for call in (monitor.stop, monitor.sample_now, monitor.snapshot, lambda: monitor.tag("x"),
                             lambda: monitor.set_label("x"), lambda: monitor.sinks and None):
                    try:
                        call()
                    except resmon.StateError as error:
                        assert "fork" in str(error), error
                    else:
                        assert call.__name__ == "<lambda>"
                del monitor
                with resmon.Monitor(SLOW) as own:
                    own.sample_now()
                assert own.info.samples == 3
                code = 0
            except BaseException:  # pylint: disable=broad-except
                import traceback
                traceback.print_exc()
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        monitor.sample_now()
    assert monitor.info.samples == 3
