# SPDX-License-Identifier: MIT
"""Jobs on the four Slurm nodes and under MPI's launchers, with a directory that gathers them:

    CLUSTER_HOST_NAMES=1 sh slurm_cluster.sh python3 test_jobs.py RESMON HELLO
"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

RESMON, HELLO = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])


def until(is_so, seconds=60):
    end = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > end:
            raise AssertionError(f"it did not come to that in {seconds} s")
        time.sleep(0.05)


def processes_of(node):
    """Those of an emulated node: all nodes are this machine."""
    for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if f"SLURMD_NODENAME={node}".encode() in variables and f"SLURM_CONF={os.environ['SLURM_CONF']}".encode() in variables:
            yield int(path.parent.name)


class Jobs(unittest.TestCase):
    def setUp(self):
        room = tempfile.TemporaryDirectory(prefix="resmon-jobs-")
        self.addCleanup(room.cleanup)
        before = os.getcwd()
        os.chdir(room.name)
        self.addCleanup(os.chdir, before)

    def run_it(self, *words, code=0, **how):
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120, **how)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def merged(self, *words):
        done = self.run_it(RESMON, "merge", *words, "-o", "merged.json")
        return json.loads(pathlib.Path("merged.json").read_text(encoding="utf-8")), done.stdout

    def check(self, job, nodes, ranks):
        self.assertEqual([node["name"] for node in job["nodes"]], nodes)
        self.assertEqual([rank["rank"] for rank in job["ranks"]], list(range(ranks)))
        [main] = job["scopes"]
        self.assertEqual((main["calls"], main["over_ranks"]["ranks"]), (ranks, ranks))
        self.assertEqual({node["state"] for node in job["nodes"]}, {"stopped"})

    def test_srun(self):
        done = self.run_it("srun", "-N4", "--ntasks-per-node=2", RESMON, "run", "-o", "job/", "--", HELLO)
        [path] = [path for path in pathlib.Path("job").iterdir() if path.name.count(".") == 1]
        job = json.loads(path.read_text(encoding="utf-8"))
        self.check(job, ["n1", "n2", "n3", "n4"], 8)
        self.assertEqual(job["job"]["rank_count"], 8)
        self.assertIn("on 4 nodes", done.stderr)

    def test_a_batch_script_and_an_array(self):
        pathlib.Path("script").write_text(f"#!/bin/sh\nsrun {RESMON} run -q -o job/ -- {HELLO}\n", encoding="ascii")
        self.run_it("sbatch", "--wait", "-N2", "--ntasks-per-node=1", "--array=1-2", "--output=out.%a", "script")
        names = sorted(path.name for path in pathlib.Path("job").iterdir() if path.name.count(".") == 1)
        self.assertEqual(len(names), 2, names)  # each of the array is a job of its own
        for name in names:
            job, _ = self.merged("job", "--job", name.split(".")[0])
            self.assertEqual(len(job["nodes"]), 2)
            self.check(job, [node["name"] for node in job["nodes"]], 2)

    def test_a_node_that_is_killed(self):
        """All of it at once, as when its power fails: the others go on, and the result says which one."""
        srun = subprocess.Popen(["srun", "-N4", "--ntasks-per-node=1", "--kill-on-bad-exit=0", "--no-kill", RESMON, "run", "-q", "-o", "job/",
                                 "--interval=50ms", "--", "sh", "-c", "while [ ! -e stop ]; do sleep 0.1; done"],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(srun.stdout.close)
        self.addCleanup(srun.wait)
        self.addCleanup(srun.kill)
        until(lambda: len(list(pathlib.Path("job").glob("*.rec"))) == 4)
        time.sleep(1)
        observers = [pid for pid in processes_of("n3") if b"resmon" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
                     or b"while" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
        self.assertTrue(observers)
        for pid in observers:
            os.kill(pid, signal.SIGKILL)
        pathlib.Path("stop").touch()
        srun.wait(60)
        job, said = self.merged("job")
        self.assertEqual({node["name"]: node["state"] for node in job["nodes"]},
                         {"n1": "stopped", "n2": "stopped", "n3": "interrupted", "n4": "stopped"})
        self.assertIn("interrupted: n3", said)
        third = job["ranks"][2]
        self.assertEqual((third["rank"], third["reason"]), (2, "unknown"))
        self.assertGreater(third["duration_ns"], 0)

    def test_scancel(self):
        srun = subprocess.Popen(["srun", "-N2", "--ntasks-per-node=1", RESMON, "run", "-q", "-o", "job/", "--", "sleep", "1000"],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(srun.stdout.close)
        self.addCleanup(srun.wait)
        self.addCleanup(srun.kill)
        until(lambda: len(list(pathlib.Path("job").glob("*.rec"))) == 2)
        self.run_it("scancel", "--user=root")
        srun.wait(60)
        job, said = self.merged("job")
        self.assertEqual(len(job["ranks"]), 2)
        for rank in job["ranks"]:  # by TERM, which the observers outlive, or by the KILL that follows
            self.assertIn((rank["reason"], rank["signal"]), {("killed", 15), ("unknown", 0), ("killed", 9)})
        self.assertIn("nodes", said)

    def launch(self, *launcher):
        if not shutil.which(launcher[0]):
            self.skipTest(f"there is no {launcher[0]}")
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
        self.run_it(*launcher, RESMON, "run", "-q", "-o", "job/", "--", HELLO, env=environment)
        job, _ = self.merged("job")
        self.assertEqual([rank["rank"] for rank in job["ranks"]], [0, 1, 2])
        self.assertEqual(len(job["nodes"]), 1)

    def test_open_mpi(self):
        self.launch("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "3")

    def test_mpich(self):
        self.launch("mpiexec.mpich", "-n", "3")


if __name__ == "__main__":
    del sys.argv[1:3]
    result = unittest.main(exit=False).result
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}")
    sys.exit(0 if result.wasSuccessful() else 1)
