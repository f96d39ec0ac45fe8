# SPDX-License-Identifier: MIT
"""resmon.Monitor(mlflow=True) beside the mlflow package itself: to its active run, read back through mlflow."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bindings/python"))
os.environ["RESMON_LIBRARY"] = sys.argv[1]
import mlflow  # noqa: E402
import resmon  # noqa: E402


def history(run_id, key):
    return [metric.value for metric in mlflow.MlflowClient().get_metric_history(run_id, key)]


def test_active_run():
    with mlflow.start_run(run_name="train") as active:
        with resmon.Monitor(interval=0.05, mlflow=True) as monitor:
            with resmon.scope("fit"):
                mlflow.log_metric("loss", 0.5)
                sum(range(3_000_000))
        assert [sink.end_status for sink in monitor.sinks] == [0], monitor.sinks
        still = mlflow.active_run()
        assert still is not None and still.info.run_id == active.info.run_id
    run = mlflow.get_run(active.info.run_id)
    assert run.info.status == "FINISHED" and run.data.metrics["loss"] == 0.5
    scope = monitor.scopes["fit"]
    assert abs(run.data.metrics["system/resmon/scope/fit/wall_seconds"] - scope.wall_s) < 1e-9, run.data.metrics
    assert run.data.metrics["system/max_t_mem_percent"] == monitor.figures["max_t_mem_percent"]
    with tempfile.TemporaryDirectory() as directory:
        path = mlflow.artifacts.download_artifacts(run_id=active.info.run_id, artifact_path="resmon/run.json",
                                                   dst_path=directory)
        assert resmon.load(path).scopes["fit"].calls == 1


def test_artifacts_that_the_server_does_not_take():
    """A store that only the package can write to, here one that the test registers: s3 without a bucket."""
    from mlflow.store.artifact import artifact_repository_registry as registry
    from mlflow.store.artifact.local_artifact_repo import LocalArtifactRepository
    with tempfile.TemporaryDirectory() as directory:
        def repository(uri, *_words, **_options):
            return LocalArtifactRepository(uri.replace("made://", f"{directory}/"))
        registry._artifact_repository_registry.register("made", repository)
        experiment = mlflow.create_experiment("of a store of its own", "made://bucket")
        with mlflow.start_run(experiment_id=experiment):
            for _number in range(2):
                with resmon.Monitor(interval=0.05, mlflow=True) as monitor:
                    with resmon.scope("fit"):
                        while "mlflow_left" not in monitor.snapshot().facts.get("run", {}):
                            sum(range(100_000))  # until the server has been asked
                assert [sink.end_status for sink in monitor.sinks] == [0], monitor.sinks
        for place in ("resmon/run.json", "resmon/monitor_2/run.json"):
            (path,) = pathlib.Path(directory).glob(f"bucket/*/artifacts/{place}")
            assert resmon.load(path).scopes["fit"].calls == 1


def test_series():
    with mlflow.start_run() as active:
        with resmon.Monitor(interval=0.02, mlflow={"series": True}) as monitor:
            while monitor.snapshot().info.duration_s < 0.6:
                sum(range(100_000))
    assert len(history(active.info.run_id, "system/node_0/cpu_utilization_percentage")) > 1


def test_without_active_run():
    assert mlflow.active_run() is None
    with resmon.Monitor(interval=0.05, name="by itself", mlflow=True) as monitor:
        sum(range(1_000_000))
    assert [sink.end_status for sink in monitor.sinks] == [0], monitor.sinks
    newest = mlflow.search_runs(search_all_experiments=True, output_format="list", max_results=1)[0]
    assert newest.info.run_name == "by itself" and newest.info.status == "FINISHED", newest


def test_loaded_run_is_pushed():
    with resmon.Monitor(interval=0.05) as monitor:
        with resmon.scope("later"):
            pass
    with mlflow.start_run() as active:
        pass
    resmon.mlflow.push(resmon.parse(monitor.to_json()), run_id=active.info.run_id)
    assert mlflow.get_run(active.info.run_id).data.metrics["system/resmon/scope/later/calls"] == 1


@contextlib.contextmanager
def store():
    """A database that no server stands before: the default of the mlflow package."""
    server = mlflow.get_tracking_uri()
    with tempfile.TemporaryDirectory() as directory:
        mlflow.set_tracking_uri(f"sqlite:///{directory}/mlflow.db")
        mlflow.set_experiment(experiment_id=mlflow.create_experiment("here", f"file://{directory}/artifacts"))
        try:
            yield pathlib.Path(directory)
        finally:
            mlflow.set_tracking_uri(server)
            mlflow.set_experiment(experiment_id="0")


def test_description():
    """The brief report stands at the top of the run's page, unless the user has said something there."""
    for place in (contextlib.nullcontext, store):
        with place():
            with mlflow.start_run(description="mine") as active, resmon.Monitor(interval=0.05, mlflow=True):
                pass
            assert mlflow.get_run(active.info.run_id).data.tags["mlflow.note.content"] == "mine"
            with mlflow.start_run() as active, resmon.Monitor(interval=0.05, name="``` <b>", mlflow=True) as monitor:
                with resmon.scope("fit"):
                    sum(range(1_000_000))
            note = mlflow.get_run(active.info.run_id).data.tags["mlflow.note.content"]
            assert note.startswith("    ``` <b> took ") and "\n      slowest " in note and "\n      fit " in note, note
            assert all(line.startswith("    ") for line in note.split("\n")[:-1]), note


def made_runs():
    return mlflow.search_runs(search_all_experiments=True, output_format="list")


def test_twice_is_one_run():
    """A delivery that came halfway is continued."""
    with store() as directory:
        later = str(directory / "later.json")
        with resmon.Monitor(interval=0.05, mlflow={"spool_only": True, "spool": later}):
            pass
        update = resmon.mlflow._CALLS.pop("update")
        try:
            resmon.mlflow.push(resmon.load(later), tracking_uri=mlflow.get_tracking_uri())
        except resmon.errors.RemoteError:
            pass
        else:
            raise AssertionError("an unknown call was made")
        finally:
            resmon.mlflow._CALLS["update"] = update
        assert [run.info.status for run in made_runs()] == ["RUNNING"], made_runs()
        resmon.mlflow.push(resmon.load(later), tracking_uri=mlflow.get_tracking_uri())
        (run,) = made_runs()
        assert run.info.status == "FINISHED", run


def test_store_of_files_has_each_point_once():
    """It keeps equal points twice, where a database keeps them once."""
    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
    with tempfile.TemporaryDirectory() as directory:
        with resmon.Monitor(interval=0.02) as monitor:
            sum(range(3_000_000))
        for _ in range(2):
            resmon.mlflow.push(monitor.snapshot(), tracking_uri=f"{directory}/mlruns", series=True)
        client = mlflow.MlflowClient(f"{directory}/mlruns")
        (run,) = client.search_runs(["0"])
        for key in run.data.metrics:
            points = [(point.timestamp, point.step) for point in client.get_metric_history(run.info.run_id, key)]
            assert len(points) == len(set(points)), (key, points)


def test_ends_that_are_not_the_monitors():
    """Nobody stops it; a child of a fork leaves what the parent still has to deliver."""
    with store():
        program = ("import os, resmon\nmonitor = resmon.Monitor(interval=0.05, name='at exit', mlflow={'tracking_uri': "
                   f"{mlflow.get_tracking_uri()!r}}}).start()\n"
                   "child = os.fork()\nif child == 0:\n    raise SystemExit(0)\nos.waitpid(child, 0)\n")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": sys.path[0]})
        assert done.returncode == 0 and "Error" not in done.stderr, done.stderr
        names = [run.info.run_name for run in mlflow.search_runs(search_all_experiments=True, output_format="list")]
        assert "at exit" in names, (names, done.stderr)


def test_active_run_of_a_store():
    with store() as directory:
        with mlflow.start_run() as active:
            with resmon.Monitor(interval=0.02, carbon="SE", mlflow={"series": True}) as monitor:
                with resmon.scope("fit"):
                    mlflow.log_metric("acc", 0.5)
                    sum(range(3_000_000))
        run = mlflow.get_run(active.info.run_id)
        assert run.info.status == "FINISHED" and run.data.tags["resmon.node.0"] == monitor.facts["machine"]["host_name"]
        # Of the charts of the model, there is the model's alone.
        assert [key for key in run.data.metrics if not key.startswith("system/")] == ["acc"]
        assert abs(run.data.metrics["system/resmon/scope/fit/wall_seconds"] - monitor.scopes["fit"].wall_s) < 1e-9
        assert float(run.data.params["resmon.g_per_kwh"]) == monitor.energy.g_per_kwh
        assert len(history(active.info.run_id, "system/node_0/process_memory_rss_megabytes")) >= 2
        (path,) = directory.glob("artifacts/*/artifacts/resmon/run.json")
        assert resmon.load(path).scopes["fit"].calls == 1


def test_a_run_of_its_own_in_a_store():
    with store():
        uri = mlflow.get_tracking_uri()
        with resmon.Monitor(interval=0.05, name="by itself", mlflow={
                "tracking_uri": uri, "experiment": "made", "model_metrics": True}):
            sum(range(1_000_000))
        run = mlflow.search_runs(experiment_names=["made"], output_format="list")[0]
        assert run.info.run_name == "by itself" and run.info.status == "FINISHED", run
        assert run.data.metrics["resmon/run/wall_seconds"] > 0 and "max_t_mem_percent" in run.data.metrics


def refused(to):
    """The error of a monitor whose run that store does not take."""
    monitor = resmon.Monitor(interval=0.05, mlflow=to).start()
    with resmon.scope("fit"):
        pass
    try:
        monitor.stop()
    except resmon.errors.RemoteError as error:
        return str(error)
    raise AssertionError("a run that is not there took the results")


def test_store_that_does_not_take_it():
    """The document waits, and is the user's alone; the next one has a name of its own."""
    with store() as directory:
        kept = directory / "kept.json"
        to = {"tracking_uri": mlflow.get_tracking_uri(), "run_id": "0" * 32, "spool": str(kept)}
        for path in (kept, directory / "kept.json.1"):
            assert f"resmon.mlflow.push(resmon.load({str(path)!r})" in refused(to)
            assert path.stat().st_mode & 0o777 == 0o600, oct(path.stat().st_mode)
            assert resmon.load(path).scopes["fit"].calls == 1
        assert "/nonexistent/kept.json cannot be written" in refused({**to, "spool": "/nonexistent/kept.json"})
        with mlflow.start_run() as active:
            pass
        resmon.mlflow.push(resmon.load(kept), tracking_uri=mlflow.get_tracking_uri(), run_id=active.info.run_id)
        assert mlflow.get_run(active.info.run_id).data.metrics["system/resmon/scope/fit/calls"] == 1


def test_server_that_is_gone():
    with tempfile.TemporaryDirectory() as directory:
        kept = os.path.join(directory, "missed.json")
        monitor = resmon.Monitor(interval=0.05, name="missed", stop_timeout=3, mlflow={
            "tracking_uri": "http://127.0.0.1:9", "timeout": 1, "spool": kept})
        monitor.start()
        try:
            monitor.stop()
        except resmon.Error as error:
            assert error.status != 0, error
        assert monitor.sinks[0].end_status != 0 and os.path.exists(kept), monitor.sinks
        resmon.mlflow.push(resmon.load(kept), tracking_uri=mlflow.get_tracking_uri())
        (run,) = [run for run in made_runs() if run.info.run_name == "missed"]
        assert run.info.status == "FINISHED", run


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print(f"{name}: passed")
print(json.dumps({"mlflow": mlflow.__version__, "resmon": resmon.__version__}))
