# SPDX-License-Identifier: MIT
"""Dask: a plugin that makes each worker a rank, and each kind of task a scope of the thread that executes it."""
from _thread import get_ident

from dask.utils import key_split
from distributed import WorkerPlugin

from ..scopes import scope
from . import new_job, observe


class _Threads(dict):
    """The task of each thread of a worker. The worker sets and deletes items in the thread, when a task begins and ends."""

    def __init__(self, active):
        super().__init__(active)
        self._open = {}

    def _leave(self, thread):
        if thread in self._open and thread == get_ident():
            self._open.pop(thread).__exit__(None, None, None)

    def __setitem__(self, thread, key):
        self._leave(thread)  # the previous task ended by SystemExit
        if thread == get_ident():
            self._open[thread] = scope(key_split(key) or "task")
            self._open[thread].__enter__()
        super().__setitem__(thread, key)

    def __delitem__(self, thread):
        super().__delitem__(thread)
        self._leave(thread)


class Plugin(WorkerPlugin):
    """``client.register_plugin(Plugin("job"))``: recordings of all workers, in a directory that is visible to all of them.

    The scope of a task has its prefix as name ("sum", "read-parquet"). Tasks that are coroutines are no scopes, because
    the event loop of the worker interleaves them. The recordings are complete when the client has unregistered the
    plugin, or the workers have ended. Options are those of a Monitor.
    """

    name = "resmon"

    def __init__(self, directory, job=None, **options):
        self.directory, self.job, self.options = directory, job or new_job("dask"), options

    def setup(self, worker):
        """Called on the worker when it starts, or when the plugin is registered."""
        self._monitor = observe(self.directory, self.job, **self.options)
        worker.active_threads = _Threads(worker.active_threads)

    def teardown(self, worker):
        """Called on the worker when it stops, or when the plugin is unregistered."""
        worker.active_threads = dict(worker.active_threads)
        if self._monitor.info.state == "running":  # workers of one process share it
            self._monitor.stop()
