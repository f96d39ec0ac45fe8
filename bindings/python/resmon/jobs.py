# SPDX-License-Identifier: MIT
"""The job that this process belongs to: which job, on which of its nodes, which rank."""
from __future__ import annotations

from ctypes import byref, c_void_p

from . import _generated_records as made
from ._library import encoded, lib, text


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
