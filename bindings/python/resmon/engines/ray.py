# SPDX-License-Identifier: MIT
"""Ray: what a worker process does first, by which each is a rank; tasks and methods of actors are scopes by ``@task``.

::

    ray.init(runtime_env=runtime_env("job"))

    @ray.remote
    @task
    def load(path): ...
"""
from . import new_job, observe, task  # pylint: disable=unused-import  # noqa: F401: from here, for users

__all__ = ["runtime_env", "task"]


def runtime_env(directory, job=None, **options):
    """For ray.init(): recordings of all workers, in a directory that all nodes see. Options are those of a Monitor.

    Ray ends its workers by a signal: their runs are "interrupted", and end with what was recorded last.
    """
    name = job or new_job("ray")

    def begin():
        from resmon import engines
        engines.observe(directory, name, **options)
    return {"worker_process_setup_hook": begin}
