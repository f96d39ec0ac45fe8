#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Jobs of many processes and one run on a real MLflow server.

CLUSTER_HOST_NAMES=1 sh slurm_cluster.sh python3 mlflow_server.py --python test_slurm_mlflow.py EXAMPLES MLFLOW_PROGRAM

Each node's part of the run is compared with the document that this node has put there, number by number.
"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

import blackhole
import read_back
import test_mlflow

IMPATIENT = {"MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1", "MLFLOW_HTTP_REQUEST_BACKOFF_FACTOR": "0",
             "MLFLOW_HTTP_REQUEST_TIMEOUT": "1"}
# When the cable is pulled: (number of the request, what is lost, how).  A job has some 30 requests.
PULLS = [(1, "request", "reset"), (2, "answer", "drop"), (3, "answer", "reset"), (5, "request", "drop"),
         (8, "answer", "drop"), (12, "answer", "reset"), (17, "request", "reset"), (22, "answer", "drop"),
         (27, "request", "drop")]
BEGIN = time.monotonic()
PATIENT = "mlflow,stop_timeout=2min"
ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Job(test_mlflow.Place):
    """An experiment for one job of the example, in a directory that all its processes share."""

    def run(self, launcher, more, program=None):
        (self.directory / "corpus").mkdir()
        write_corpus(self.directory / "corpus")
        environment = self.environment({**test_mlflow.SERIES, **more})
        done = subprocess.run([*launcher, *(program or [self.examples / "wordindex", "corpus"])], cwd=self.directory,
                              env=environment, capture_output=True, text=True, timeout=200, check=False)
        said = [line for line in done.stderr.splitlines() if "resmon: " in line]
        assert done.returncode == 0, done.stderr
        return said

    def kept(self):
        return sorted(map(str, self.directory.glob("resmon-mlflow-*.json")))

    def check(self, nodes, with_scopes=False, names=True, start_slack_ms=0):
        """One run, in which every node has its part, once."""
        return self.check_run(self.only_run().run_id, nodes, with_scopes, names, start_slack_ms)

    def check_run(self, run_id, nodes, with_scopes, names=True, start_slack_ms=0):
        logged = read_back.Logged(self.client, run_id)
        steps = {key: [step for step, _, _ in logged.history(read_back.SUMMARY_KEY.format(key=key))]
                 for key in read_back.NODE_FIGURES}
        assert all(found == list(range(nodes)) for found in steps.values()), steps
        wanted = sorted(map(read_back.artifact_of, range(nodes)))
        found = sorted(entry.path for entry in self.client.list_artifacts(run_id, "resmon"))
        assert found == wanted, found
        for node in range(nodes):
            path = self.directory / f"artifact.{node}"
            path.write_bytes(logged.artifact(read_back.artifact_of(node)))
            tag = [f"--tag-is=resmon.node.{node}=n{node + 1}"] if names else []
            self.compare(run_id, path, "--exact", "--node", str(node), f"--start-slack-ms={start_slack_ms}", *tag)
            assert bool(read_back.Document(path).scopes()) == with_scopes
        return content(logged)


def content(logged):
    """What is the same in every run of the job: names, and how many nodes have them."""
    data = logged.run.data
    steps = {key: [step for step, _, _ in logged.history(key)] for key in logged.keys() if not key.startswith("system/")}
    return {"steps": steps, "series": logged.keys("system/"), "tags": sorted(data.tags), "params": sorted(data.params)}


def write_corpus(directory):
    """Enough text for half a second of work."""
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(2, 9))) for _ in range(5000)]
    text = " ".join(chance.choices(words, k=20000))
    for number in range(100):
        (directory / f"{number}.txt").write_text(text)


def with_job(examples, name, use, uri=None):
    print(f"{time.monotonic() - BEGIN:4.0f} s: {name}", flush=True)
    with tempfile.TemporaryDirectory(prefix="resmon-slurm-mlflow-") as work:
        return use(Job(examples, work, name.replace(" ", "-"), uri))


def four_nodes(job):
    assert job.run(["srun", "-N4"], {"RESMON": PATIENT}) == []
    return job.check(4)


def eight_processes(job):
    assert job.run(["srun", "-N4", "--ntasks-per-node=2"], {"RESMON": PATIENT}) == []
    return job.check(4)


def in_code(job):
    """The example's own monitor sends, and has the scopes."""
    assert job.run(["srun", "-N4"], {}) == []
    return job.check(4, with_scopes=True)


def two_monitors(job, program):
    """The program's own and that of RESMON: the first of all nodes are one run, the second another."""
    assert job.run(["srun", "-N4"], {"RESMON": PATIENT}, [program, "run", "work=400"]) == []
    runs = [run.info.run_id for run in job.runs()]
    assert len(runs) == 2, runs
    for run_id in runs:
        scopes = any("/scope/" in key for key in job.client.get_run(run_id).data.metrics)
        job.check_run(run_id, 4, scopes)


def mpirun(job):
    assert job.run(["mpirun.openmpi", "--oversubscribe", "-np", "4"], {"RESMON": PATIENT, **ROOT}) == []
    return job.check(1, names=False)


def mpirun_in_batch(job, launcher):
    """Six ranks on three nodes, started by a batch script."""
    script = job.directory / "job.sh"
    script.write_text(f"#!/bin/sh\nexec {launcher} '{job.examples}/wordindex' corpus 2>said\n")
    job.run(["sbatch", "--wait", "-N3", "--ntasks-per-node=2", "--output=out"], {"RESMON": PATIENT, **ROOT}, [script])
    said = (job.directory / "said").read_text()
    assert "resmon: " not in said, said
    return job.check(3)


def disturbed(examples, pull, undisturbed):
    """A cable that is pulled, and plugged again when the job has ended: what was kept is sent then."""
    request, lose, how = pull
    server = os.environ["MLFLOW_TRACKING_URI"].removeprefix("http://")

    def use(job):
        said = job.run(["srun", "-N4"], {"RESMON": "mlflow,stop_timeout=10s", **IMPATIENT})
        kept = job.kept()
        is_pulled = not cable.status()["is_plugged"]
        cable.plug()
        print(f"  {'pulled' if is_pulled else 'NOT pulled'}, {len(kept)} documents wait", flush=True)
        assert len([line for line in said if test_mlflow.WAITS_FOR in line]) == len(kept), said
        if kept:  # in either order: that of rank 0 first, or last
            job.push(*kept[::1 if how == "drop" else -1])
        found = job.check(4, start_slack_ms=10000)  # whoever is first makes the run
        assert found == undisturbed, (found, undisturbed)
        return is_pulled

    with blackhole.Blackhole("proxy", server, "--pull-at", request, "--lose", lose, "--how", how) as cable:
        return with_job(examples, f"cable pulled at request {request} {lose} {how}", use,
                        f"http://127.0.0.1:{cable.port}")


def main(examples, program):
    if not pathlib.Path(examples, "wordindex").exists():
        print("skipped: the example wordindex is not built")
        return 77
    undisturbed = with_job(examples, "four nodes", four_nodes)
    eight = with_job(examples, "eight processes", eight_processes)
    assert eight == undisturbed, (eight, undisturbed)
    with_job(examples, "in code", in_code)
    with_job(examples, "two monitors", lambda job: two_monitors(job, program))
    if shutil.which("mpirun.openmpi"):
        with_job(examples, "mpirun", mpirun)
    for launcher in ("mpirun.openmpi", "mpirun.mpich"):
        if shutil.which(launcher):
            with_job(examples, f"{launcher} in batch", lambda job, launcher=launcher: mpirun_in_batch(job, launcher))
        else:
            print(f"not checked here: {launcher} (Debian: openmpi-bin, mpich)")
    pulled = [disturbed(examples, pull, undisturbed) for pull in PULLS]
    assert sum(pulled) >= 6, pulled
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
