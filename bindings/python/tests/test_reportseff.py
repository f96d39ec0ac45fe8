# SPDX-License-Identifier: MIT
"""The line of a job that jobstats keeps, `resmon report --form=jobstats`, as reportseff of PyPI reads it."""
import json
import pathlib
import subprocess
import sys

import pytest

import resmon

RESMON = pathlib.Path(sys.prefix, "bin/resmon")


@pytest.fixture
def job(monkeypatch, tmp_path):
    """The document of an hour on two nodes, each with 4 CPUs and 8 GiB, of which a half and a quarter were used."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("RESMON_JOB_ID", "4711")
    runs = []
    for rank in range(2):
        monkeypatch.setenv("RESMON_RANK", str(rank))
        monkeypatch.setenv("RESMON_NODE_NAME", f"n{rank}")
        with resmon.Monitor(interval=0.01) as monitor:
            pass
        runs.append(monitor.snapshot())
    document = resmon.merge(*runs).document()
    document["run"]["duration_ns"] = 3600 * 10**9
    for node in document["nodes"]:
        node.update(duration_ns=3600 * 10**9, allotted_cpus=4, allotted_bytes=8 << 30, cpu_s=7200, used_bytes=2 << 30)
    return document


def read(document, tmp_path):
    reportseff = pytest.importorskip("reportseff.job", reason="jobstats: reportseff is not installed")
    path = tmp_path / "job.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    line = subprocess.run([RESMON, "report", "--form=jobstats", path], capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    found = reportseff.Job("4711", "4711", None)
    found.update({"JobID": "4711", "JobIDRaw": "4711", "State": "COMPLETED", "AllocCPUS": "8", "REQMEM": "16G", "TotalCPU": "00:00:00",
                  "Elapsed": "01:00:00", "Timelimit": "02:00:00", "MaxRSS": "", "NNodes": "2", "NTasks": "2", "AdminComment": line})
    return found


def test_a_job(job, tmp_path):
    found = read(job, tmp_path)
    assert (found.cpu, found.mem_eff, found.gpu) == (50.0, 25.0, None)
    assert set(found.comment_data) == {"n0", "n1"}


def test_a_job_of_which_little_is_known(job, tmp_path):
    for node in job["nodes"]:
        node.update(cpu_s=None, allotted_bytes=None, memory_bytes=None)
    assert read(job, tmp_path).comment_data == {"n0": {}, "n1": {}}
