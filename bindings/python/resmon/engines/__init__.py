# SPDX-License-Identifier: MIT
"""Workers of Dask, Ray and Spark as the ranks of one run, and their tasks as scopes.

A monitor in each worker process writes a recording to a directory that is visible on all nodes.  It survives any end of
the worker: completely on a local file system; on a network file system it is at most a minute old.
``resmon.merge(directory)`` merges the recordings into one run, also while the workers run::

    client.register_plugin(resmon.engines.dask.Plugin("job"))        # Dask: nothing else

    ray.init(runtime_env=resmon.engines.ray.runtime_env("job"))      # Ray, and @task below @ray.remote

    rdd.mapPartitions(resmon.engines.spark.observed(function, "job"))  # Spark
"""
import functools
import importlib
import os
import threading
import uuid

from ..jobs import job as own_job
from ..monitor import Monitor
from ..scopes import name_of, scope

_MODULES = frozenset(("dask", "ray", "spark"))
_lock = threading.Lock()
_observed: dict[tuple[int, str], Monitor] = {}  # by process and directory: a forked child has none


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def new_job(engine):
    """Returns a name for all workers of one computation, if there is no batch job."""
    return f"{engine}-{uuid.uuid4().hex[:12]}"


def observe(directory, job, **options):
    """Returns the monitor of this process, which the first call starts; its recording is in the directory.

    ``job`` is the name that the workers share if there is no batch system. Options are those of a Monitor.
    """
    key = os.getpid(), os.path.abspath(directory)
    with _lock:
        if key not in _observed:
            os.makedirs(directory, exist_ok=True)
            if not own_job().id:
                os.environ["RESMON_JOB_ID"] = job
            path = os.path.join(directory, f"{own_job().id}.%n.w{os.getpid()}.rec")
            _observed[key] = Monitor(record=path, **options)
            _observed[key].start()
        return _observed[key]


def task(function):
    """Decorator: runs the function in a scope of its name, on any worker, as it can be pickled."""
    name = name_of(function)

    @functools.wraps(function)
    def in_scope(*args, **kwargs):
        with scope(name):
            return function(*args, **kwargs)
    return in_scope
