# SPDX-License-Identifier: MIT
"""Ray: a setup hook makes each worker process a rank; ``@task`` makes scopes of tasks and methods of actors.

::

    ray.init(runtime_env=runtime_env("job"))

    @ray.remote
    @task
    def load(path): ...
"""
from . import new_job, observe, task  # pylint: disable=unused-import  # noqa: F401: from here, for users

__all__ = ["runtime_env", "task"]


def runtime_env(directory, job=None, **options):
    """Returns a runtime_env for ray.init(): all workers write recordings to a directory that is visible on all nodes.

    Ray ends its workers by a signal: their runs are "interrupted", and end with the last recorded sample. Options are
    those of a Monitor.
    """
    name = job or new_job("ray")

    def begin():
        from resmon import engines
        engines.observe(directory, name, **options)
    return {"worker_process_setup_hook": begin}
