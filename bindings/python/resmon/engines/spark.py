# SPDX-License-Identifier: MIT
"""Spark: functions of executors run in a scope of their name; each Python worker is a rank."""
import functools

from ..scopes import name_of, scope
from . import new_job, observe

_job = new_job("spark")  # of this driver


def _in_scope(name, rows):
    with scope(name):
        yield from rows


def observed(function, directory, job=None, name=None, **options):
    """Wraps a function for mapPartitions() and similar methods.

    The first call on a Python worker starts its monitor, whose recording is in a directory that is visible on all nodes.
    An iterator that the function returns is in the scope until Spark has taken the last row. Spark ends its workers by a
    signal: their runs are "interrupted", and end with the last recorded sample. Options are those of a Monitor.
    """
    job, name = job or _job, name or name_of(function)

    @functools.wraps(function)
    def on_worker(*args, **kwargs):
        observe(directory, job, **options)
        with scope(name):
            result = function(*args, **kwargs)
        return _in_scope(name, result) if hasattr(result, "__next__") else result
    return on_worker
