# SPDX-License-Identifier: MIT
"""Dask, Ray and Spark from PyPI, each as a cluster of this machine: workers are ranks, tasks scopes."""
import os
import shutil
import sys
import time

import pytest

import resmon


def check(directory, tasks, workers=2):
    """The merged run of the workers, which has these tasks; no second is lost, whatever ended them."""
    run = resmon.merge(directory)
    assert len(run.ranks) == workers and len(run.nodes) == 1, run.ranks
    for name, calls in tasks.items():
        assert run.scopes[name].calls + run.scopes[name].open == calls, run.scopes
    return run


@pytest.fixture
def work():
    """A task that workers get with its code: none of them can import this file."""
    def work(number):
        end = time.perf_counter() + 0.02
        while time.perf_counter() < end:
            number += 1
        return number
    return work


def test_dask(tmp_path, work):
    distributed = pytest.importorskip("distributed", reason="engines: distributed is not installed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None, local_directory=tmp_path) as cluster:
        with distributed.Client(cluster) as client:
            client.register_plugin(resmon.engines.dask.Plugin(str(tmp_path / "job"), interval=0.01))
            assert len(client.gather(client.map(work, range(40), pure=False))) == 40
            with pytest.raises(ZeroDivisionError):
                client.submit(lambda: 1 // 0, key="fails-1").result()
            import dask.bag
            assert dask.bag.from_sequence(range(10), npartitions=5).map(lambda x: x + 1).sum().compute() == 55
            client.unregister_worker_plugin("resmon")
            run = check(tmp_path / "job", {"work": 40, "fails": 1})
    assert {rank.state for rank in run.ranks} == {"stopped"}
    assert 0.8 <= run.scopes["work"].wall_s < 60 and run.scopes["work"].threads >= 2


def test_dask_in_one_process(tmp_path, work):
    """Two workers, and one monitor."""
    distributed = pytest.importorskip("distributed", reason="engines: distributed is not installed")
    with distributed.Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        client.register_plugin(resmon.engines.dask.Plugin(str(tmp_path / "job"), job="mine", interval=0.01))
        client.gather(client.map(work, range(8), pure=False))
    run = check(tmp_path / "job", {"work": 8}, workers=1)
    assert run.facts["job"]["id"] == "mine"


def test_ray(tmp_path, monkeypatch, work):
    ray = pytest.importorskip("ray", reason="engines: ray is not installed")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    environment = resmon.engines.ray.runtime_env(str(tmp_path / "job"), interval=0.01)
    ray.init(num_cpus=2, runtime_env=environment, include_dashboard=False, log_to_driver=False, configure_logging=False)
    try:
        task = ray.remote(resmon.engines.ray.task(work))

        @ray.remote
        class Counter:
            @resmon.engines.ray.task
            def add(self, count):
                return count + 1

        assert len(ray.get([task.remote(i) for i in range(20)])) == 20
        counter = Counter.remote()
        assert ray.get(counter.add.remote(1)) == 2
    finally:
        ray.shutdown()
    run = resmon.merge(tmp_path / "job")
    assert run.scopes["work"].calls == 20
    assert [scope.calls for scope in run.scopes if scope.name.endswith("add")] == [1]
    assert len(run.ranks) >= 2 and run.scopes["work"].wall_s >= 0.4


def test_spark(tmp_path, monkeypatch, work):
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    pyspark = pytest.importorskip("pyspark", reason="engines: pyspark is not installed")
    if not shutil.which("java") and "JAVA_HOME" not in os.environ:
        pytest.skip("engines: Spark needs Java, which is not here")
    from pyspark.sql import SparkSession
    del pyspark
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.host", "127.0.0.1").getOrCreate()
    try:
        def squares(rows):
            for row in rows:
                yield work(row)

        numbers = session.sparkContext.parallelize(range(20), 4)
        found = numbers.mapPartitions(resmon.engines.spark.observed(squares, str(tmp_path / "job"), interval=0.01)).collect()
        assert len(found) == 20
    finally:
        session.stop()
    run = resmon.merge(tmp_path / "job")
    assert 1 <= len(run.ranks) <= 4
    [scope] = [scope for scope in run.scopes if scope.name.endswith("squares")]
    assert scope.wall_s >= 0.4
