# SPDX-License-Identifier: MIT
"""Workers of Dask, Ray and Spark as the ranks of one run, and their tasks as scopes.

A monitor in each worker process keeps a recording in a directory that all nodes see.  It survives whatever ends the worker:
all of it on a file system of this machine, on one of the network what was copied last, a minute ago at most.
``resmon.merge(directory)`` makes one run of them, also while they work::

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
_observed: dict[tuple[int, str], Monitor] = {}  # by process and directory: a child that was forked has none


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def new_job(engine):
    """A name that all workers of one computation share, for who is in no batch job."""
    return f"{engine}-{uuid.uuid4().hex[:12]}"


def observe(directory, job, **options):
    """The monitor of this process, which begins with the first call; its recording is in the directory.

    ``job`` tells which workers belong together, where no batch system does. Options are those of a Monitor.
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
    """The function, in a scope of its name: on whichever worker it runs, as it is pickled with nothing but its code."""
    name = name_of(function)

    @functools.wraps(function)
    def in_scope(*args, **kwargs):
        with scope(name):
            return function(*args, **kwargs)
    return in_scope
