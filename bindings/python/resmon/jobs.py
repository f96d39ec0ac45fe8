# SPDX-License-Identifier: MIT
"""The job that this process belongs to, and the runs of a job's nodes and ranks as one run."""
from __future__ import annotations

import os
import warnings
from ctypes import byref, c_void_p

from . import _generated_records as made
from ._library import encoded, lib, text
from .errors import Error, NotFoundError, OutOfMemoryError, ResmonWarning
from .run import Recorded, Run, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._types import Path


class Job(made.JobInfo):
    """A job; texts are "" and numbers -1 if not known. ``hosts`` are the hosts of the job."""

    __slots__ = ("hosts",)
    hosts: list[str]
    _shown = ("system", "id", "node_name", "rank", "rank_count")

    def __bool__(self) -> bool:
        return bool(self.system)


def job() -> Job:
    """Detects the job of this process; the result is false if there is none."""
    handle = c_void_p()
    lib.job_detect(byref(handle))
    try:
        found = Job.read(lib.job_get_info, handle)
        found.hosts = [text(lib.job_host(handle, index)) for index in range(lib.job_host_count(handle))]
        return found
    finally:
        lib.job_free(handle)


def hostlist(names: str) -> list[str]:
    """Returns the names in a Slurm host list: "n[001-003,7]"."""
    handle = c_void_p()
    lib.hostlist_expand(encoded(names, "host list"), byref(handle))
    try:
        return [text(lib.hostlist_name(handle, index)) for index in range(lib.hostlist_count(handle))]
    finally:
        lib.hostlist_free(handle)


def merge(*runs: Recorded | Path) -> Run:
    """Merges the runs of a job's nodes and ranks into one :class:`~resmon.Run`.

    ::

        job = resmon.merge("job")  # the directory of: resmon run -o job/
        print(job.summary)
        for rank in job.ranks:
            print(rank.rank, rank.cpu_s)

    Runs of another job than the first one, and files that cannot be read, are skipped with a ResmonWarning. If a
    directory has files of several jobs, the job that was written last is merged. NotFoundError: there is no run to
    merge.

    :param runs: runs, files of runs, or the directory of ``resmon run -o DIRECTORY/``
    """
    handle, merged, count = c_void_p(), c_void_p(), 0
    lib.merge_new(byref(handle))
    try:
        for run in runs:
            for one in _files_of(run):
                count += _add(handle, one, one is not run)
        if not count:
            raise NotFoundError("there is no run to merge")
        lib.merge_run(handle, byref(merged))
        return Run._own(merged)
    finally:
        lib.merge_free(handle)


def _files_of(run):
    """Returns the files in a directory, as the command reads them: the newest first.

    If a process has a recording and a document, only the document is returned.
    """
    if isinstance(run, Recorded) or not os.path.isdir(run):
        return [run]
    directory = os.fspath(run)
    names = {name for name in os.listdir(directory) if name.endswith((".rec", ".json")) and not name.startswith(".")}
    names = {name for name in names if name.endswith(".json") or name[:-4] + ".json" not in names}
    return sorted((os.path.join(directory, name) for name in names), key=os.path.getmtime, reverse=True)


def _add(handle, run, is_in_directory):
    """Adds a run; returns whether it was added.

    A merged run in a directory is skipped, because it was made from the others.
    """
    try:
        loaded = run if isinstance(run, Recorded) else load(run)
        if is_in_directory and loaded.nodes:
            return False
        lib.merge_add(handle, loaded._get_run()._as_parameter_)
    except OutOfMemoryError:
        raise
    except Error as error:
        warnings.warn(f"{run} is left out: {error}", ResmonWarning, stacklevel=3)
        return False
    return True
