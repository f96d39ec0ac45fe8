# SPDX-License-Identifier: MIT
"""Dask: a plugin, by which each worker is a rank, and each kind of task a scope of the thread that executes it."""
from _thread import get_ident

from dask.utils import key_split
from distributed import WorkerPlugin

from ..scopes import scope
from . import new_job, observe


class _Threads(dict):
    """Which task each thread of a worker executes, as the worker notes it, in that thread, at its begin and end."""

    def __init__(self, active):
        super().__init__(active)
        self._open = {}

    def _leave(self, thread):
        if thread in self._open and thread == get_ident():
            self._open.pop(thread).__exit__(None, None, None)

    def __setitem__(self, thread, key):
        self._leave(thread)  # a task that has ended its thread's work by SystemExit
        if thread == get_ident():
            self._open[thread] = scope(key_split(key) or "task")
            self._open[thread].__enter__()
        super().__setitem__(thread, key)

    def __delitem__(self, thread):
        super().__delitem__(thread)
        self._leave(thread)


class Plugin(WorkerPlugin):
    """``client.register_plugin(Plugin("job"))``: recordings of all workers, in a directory that they all see.

    Tasks have their prefix as name ("sum", "read-parquet"). Those that are coroutines are no scopes, as the loop of the
    worker runs them between others. The recordings are whole when the client has unregistered the plugin, or the workers
    have ended. Options are those of a Monitor.
    """

    name = "resmon"

    def __init__(self, directory, job=None, **options):
        self.directory, self.job, self.options = directory, job or new_job("dask"), options

    def setup(self, worker):
        """On the worker, when it starts or the plugin comes."""
        self._monitor = observe(self.directory, self.job, **self.options)
        worker.active_threads = _Threads(worker.active_threads)

    def teardown(self, worker):
        """When it stops, or the plugin goes."""
        worker.active_threads = dict(worker.active_threads)
        if self._monitor.info.state == "running":  # workers of one process share it
            self._monitor.stop()
