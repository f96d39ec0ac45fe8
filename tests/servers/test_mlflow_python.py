# SPDX-License-Identifier: MIT
"""resmon.Monitor(mlflow=True) beside the mlflow package itself: to its active run, read back through mlflow."""
import json
import os
import pathlib
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
    assert abs(run.data.metrics["resmon/scope/fit/wall_seconds"] - scope.wall_s) < 1e-9, run.data.metrics
    assert run.data.metrics["max_t_mem_percent"] == monitor.figures["max_t_mem_percent"]
    with tempfile.TemporaryDirectory() as directory:
        path = mlflow.artifacts.download_artifacts(run_id=active.info.run_id, artifact_path="resmon/run.json",
                                                   dst_path=directory)
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
    assert mlflow.get_run(active.info.run_id).data.metrics["resmon/scope/later/calls"] == 1


def test_store_without_a_server():
    server = mlflow.get_tracking_uri()
    with tempfile.TemporaryDirectory() as directory:
        mlflow.set_tracking_uri(f"sqlite:///{directory}/mlflow.db")
        try:
            with mlflow.start_run():
                try:
                    resmon.Monitor(mlflow=True)
                except resmon.ArgumentError as error:
                    assert "mlflow server --backend-store-uri" in str(error), error
                else:
                    raise AssertionError("a store that is no server was accepted")
        finally:
            mlflow.set_tracking_uri(server)


def test_server_that_is_gone():
    with tempfile.TemporaryDirectory() as directory:
        spool = os.path.join(directory, "missed.spool")
        monitor = resmon.Monitor(interval=0.05, stop_timeout=3, mlflow={
            "tracking_uri": "http://127.0.0.1:9", "timeout": 1, "spool": spool})
        monitor.start()
        try:
            monitor.stop()
        except resmon.Error as error:
            assert error.status != 0, error
        assert monitor.sinks[0].end_status != 0 and os.path.exists(spool), monitor.sinks
        replayed = resmon.mlflow.replay(spool, tracking_uri=mlflow.get_tracking_uri())
        assert replayed["sent"] == replayed["requests"] > 0, replayed
        assert mlflow.get_run(replayed["run_id"]).info.status == "FINISHED"


for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        print(f"{name}: passed")
print(json.dumps({"mlflow": mlflow.__version__, "resmon": resmon.__version__}))
