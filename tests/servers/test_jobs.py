# SPDX-License-Identifier: MIT
"""Jobs on the four Slurm nodes and under MPI's launchers, with a directory that gathers them:

    CLUSTER_HOST_NAMES=1 CLUSTER_CONTROL_GROUPS=1 sh slurm_cluster.sh python3 test_jobs.py RESMON HELLO
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

    def batch(self, *lines, words=("-N4", "--ntasks-per-node=2")):
        """Runs a batch script to its end; what it printed."""
        pathlib.Path("script").write_text("\n".join(("#!/bin/sh", *lines, "")), encoding="ascii")
        self.run_it("sbatch", "--wait", *words, "--output=out", "script", code=None)
        return pathlib.Path("out").read_text(encoding="utf-8")

    def test_monitors_of_a_batch_script(self):
        said = self.batch(f"{RESMON} job start --interval=50ms", "srun sh -c 'sleep 1'", f"{RESMON} job stop")
        self.assertIn("4 nodes are observed", said)
        [path] = [path for path in pathlib.Path("resmon").glob("*.json") if path.name.count(".") == 1]
        job = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual([node["name"] for node in job["nodes"]], ["n1", "n2", "n3", "n4"])
        self.assertEqual((job["ranks"], [node["ranks"] for node in job["nodes"]]), ([], [0] * 4))
        for node in job["nodes"]:
            self.assertGreater(node["host_duration_ns"], 1e9)
        self.assertFalse(list(pathlib.Path("resmon").glob("*.rec")) + list(pathlib.Path("resmon").glob("*.stop")))
        self.assertRegex(said, r"script was observed for [0-9.]+ s")
        self.assertEqual(job["run"]["end"]["reason"], "unknown")  # what became of its tasks nobody saw
        self.assertRegex(said, r"(?m)^  nodes +4 ")
        self.assertNotRegex(said, r"(?m)^  ranks ")

    def test_monitors_beside_ranks(self):
        """Both in one directory: the machine's figures are those of the monitors, and ranks have theirs."""
        self.batch(f"{RESMON} job start -o job -q --interval=50ms", f"srun {RESMON} run -q -o job/ -- {HELLO}", "sleep 1", f"{RESMON} job stop -o job -q")
        [path] = [path for path in pathlib.Path("job").glob("*.json") if path.name.count(".") == 1]
        job = json.loads(path.read_text(encoding="utf-8"))
        self.check(job, ["n1", "n2", "n3", "n4"], 8)
        self.assertEqual([node["ranks"] for node in job["nodes"]], [2] * 4)
        for node in job["nodes"]:
            self.assertGreater(node["host_duration_ns"], 1e9)

    def test_monitors_of_a_job_that_is_cancelled(self):
        """Nobody stops them: they end in the time that Slurm leaves them, and the first makes one run."""
        self.batch(f"{RESMON} job start --interval=50ms", "scancel $SLURM_JOB_ID", "sleep 100")
        until(lambda: not list(pathlib.Path("resmon").glob("*.rec")) and len(list(pathlib.Path("resmon").glob("*.n?.*.json"))) == 4)
        until(lambda: [path for path in pathlib.Path("resmon").glob("*.json") if path.name.count(".") == 1])
        job, said = self.merged("resmon")
        self.assertEqual({node["state"] for node in job["nodes"]}, {"stopped"})

    def test_two_jobs_on_a_node(self):
        """In one directory, at one time: each has its own run."""
        pathlib.Path("script").write_text(f"#!/bin/sh\nsrun {RESMON} run -q -o job/ --interval=50ms -- sleep 1\n", encoding="ascii")
        jobs = [subprocess.Popen(["sbatch", "--wait", "-w", "n1", "-n1", "--output=out.%j", "script"], stdout=subprocess.DEVNULL) for _ in range(2)]
        self.assertEqual([job.wait(100) for job in jobs], [0, 0])
        merged = [json.loads(path.read_text(encoding="utf-8")) for path in pathlib.Path("job").iterdir() if path.name.count(".") == 1]
        self.assertEqual([(len(job["ranks"]), [node["name"] for node in job["nodes"]]) for job in merged], [(1, ["n1"])] * 2)
        self.assertEqual(len({job["job"]["id"] for job in merged}), 2)

    def test_a_heterogeneous_job(self):
        """Two parts with other tasks; monitors are on the nodes of both."""
        pathlib.Path("script").write_text("\n".join((
            "#!/bin/sh", f"{RESMON} job start --interval=50ms", f"srun -n2 {RESMON} run -q -o resmon/ -- {HELLO} : -n1 {RESMON} run -q -o resmon/ -- sleep 0.2",
            f"{RESMON} job stop -q", "")), encoding="ascii")
        self.run_it("sbatch", "--wait", "-N2", "-n4", "--output=out", ":", "-N1", "-n2", "script")
        self.assertIn("3 nodes are observed", pathlib.Path("out").read_text(encoding="utf-8"))
        [path] = [path for path in pathlib.Path("resmon").glob("*.json") if path.name.count(".") == 1]
        job = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual(sorted(node["name"] for node in job["nodes"]), ["n1", "n2", "n3"])
        self.assertEqual([(rank["rank"], rank["name"]) for rank in job["ranks"]], [(0, "hello"), (1, "hello"), (2, "sleep")])

    def test_requeue(self):
        """Both starts of the job are runs of their own in the directory."""
        pathlib.Path("script").write_text("\n".join((
            "#!/bin/sh", f"srun {RESMON} run -q -o job/ --interval=50ms -- sh -c 'sleep ${{SLURM_RESTART_COUNT:+0.}}100'", "")), encoding="ascii")
        job = self.run_it("sbatch", "--parsable", "--requeue", "-N2", "--ntasks-per-node=1", "--output=out", "script").stdout.strip()
        until(lambda: len(list(pathlib.Path("job").glob("*.rec"))) == 2)
        self.run_it("scontrol", "requeue", job)
        until(lambda: "JobState=PENDING" in self.run_it("scontrol", "show", "job", job).stdout)
        self.run_it("scontrol", "update", f"JobId={job}", "StartTime=now")  # which is in two minutes otherwise
        until(lambda: pathlib.Path(f"job/{job}-restart1.json").exists())
        again, _ = self.merged("job", "--job", job)
        self.assertEqual((again["job"]["id"], again["job"]["restarts"], len(again["ranks"])), (job, 1, 2))
        self.assertEqual({rank["reason"] for rank in again["ranks"]}, {"finished"})
        first, _ = self.merged("job", "--job", f"{job}-restart0")
        self.assertEqual((first["job"]["id"], first["job"].get("restarts", 0), len(first["ranks"])), (job, 0, 2))
        self.assertNotIn("finished", {rank["reason"] for rank in first["ranks"]})

    def grouped(self):
        if not os.environ.get("CLUSTER_HAS_GROUPS"):
            self.skipTest("jobs have no control groups here: /sys/fs/cgroup/memory cannot be written")

    def test_a_rank_that_runs_out_of_memory(self):
        """The kernel kills it at the job's limit; the others go on, and all that is said names the reason."""
        self.grouped()
        program = "import os,time\nif os.environ['SLURM_PROCID'] == '2':\n  a = []\n  while True: a.append(bytearray(1 << 20)); time.sleep(0.003)\ntime.sleep(2)"
        srun = self.run_it("srun", "-N2", "--ntasks-per-node=2", "--mem=120", "--kill-on-bad-exit=0", "--wait=0", RESMON, "run", "-o", "job/",
                           "--interval=50ms", "--", sys.executable, "-c", program, code=None)
        self.assertIn("Out Of Memory", srun.stderr)
        [path] = [path for path in pathlib.Path("job").iterdir() if path.name.count(".") == 1]
        job = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual([(rank["reason"], rank["signal"], rank["text"]) for rank in job["ranks"]],
                         [("killed", 9, "out of memory") if rank == 2 else ("finished", 0, "") for rank in range(4)])
        said = self.run_it(RESMON, "report", path).stdout
        self.assertIn("was killed by SIGKILL (out of memory) after", said)
        self.assertIn("1 ended badly: rank 2 on n2 killed by SIGKILL (out of memory)", said)
        self.assertIn("State: OUT_OF_MEMORY", self.run_it(RESMON, "report", "--form=seff", path).stdout)
        [own] = pathlib.Path("job").glob("*.r2.*[0-9].json")
        self.assertRegex(self.run_it(RESMON, "report", own).stdout, r"limit +of memory: 120.0 MiB; processes killed for lack of it \(oom_kill\): 1;")

    def test_memory_of_a_node_is_that_of_all_its_ranks(self):
        self.grouped()
        program = "import time\na = bytearray(50 << 20)\ntime.sleep(1)"
        self.run_it("srun", "-N2", "--ntasks-per-node=2", "--mem=200", RESMON, "run", "-q", "-o", "job/", "--interval=50ms", "--", sys.executable, "-c", program)
        [path] = [path for path in pathlib.Path("job").iterdir() if path.name.count(".") == 1]
        job = json.loads(path.read_text(encoding="utf-8"))
        for node in job["nodes"]:
            self.assertGreater(node["used_bytes"], 100 << 20)
            self.assertLess(node["used_bytes"], 200 << 20)
            self.assertEqual(node["allotted_bytes"], 200 << 20)  # which srun does not tell its tasks
        for part in pathlib.Path("job").glob("*.r?.*.json"):
            facts = json.loads(part.read_text(encoding="utf-8"))["job"] if part.name.count(".") == 4 else {}
            if facts.get("reports_host"):
                self.assertEqual(facts["cgroup"], f"/sys/fs/cgroup/memory/slurm_{facts['node_name']}/uid_0/job_{facts['id']}")

    def test_monitors_observe_the_group_of_the_job(self):
        self.grouped()
        self.batch(f"{RESMON} job start -q --interval=50ms", f"srun {sys.executable} -c 'import time; a = bytearray(50 << 20); time.sleep(1)'",
                   f"{RESMON} job stop -q", words=("-N2", "--ntasks-per-node=1", "--mem=200"))
        parts = [json.loads(path.read_text(encoding="utf-8")) for path in pathlib.Path("resmon").glob("*.monitor.*.json")]
        self.assertEqual(len(parts), 2)
        for part in parts:  # which watch the machine and the group, and no processes
            self.assertEqual(part["run"]["cgroup"], f"/sys/fs/cgroup/memory/slurm_{part['job']['node_name']}/uid_0/job_{part['job']['id']}")
            most = {column["metric"]: figures.get("max") for column, figures in zip(part["columns"], part["summary"]["columns"]) if column["instance"] == ""}
            self.assertGreater(most["cg.mem.current"], 50 << 20)

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


class WithoutGroups(Jobs):
    """The processes of a job are found by their environment, as far as Slurm knows them: scontrol listpids."""
    for name in [name for name in dir(Jobs) if name.startswith("test_")]:
        locals()[name] = None

    def setUp(self):
        super().setUp()
        if os.environ.get("CLUSTER_HAS_GROUPS"):
            self.skipTest("jobs have control groups here")

    def test_the_processes_that_slurm_knows(self):
        program = "import time\na = bytearray(50 << 20)\nwhile time.process_time() < 1: pass\ntime.sleep(3)"
        self.batch(f"{RESMON} job start -q --interval=50ms", "setsid env -i sleep 4 &", "(env -i sh -c 'sleep 4; true') &",
                   f'srun -n2 --overlap {sys.executable} -c "{program}" &', "sleep 3",
                   f"{RESMON} attach -q --job=$SLURM_JOB_ID --interval=20ms --each -o seen.json & observer=$!",
                   "sleep 0.6; scontrol listpids $SLURM_JOB_ID > pids", "kill $observer; wait $observer",
                   "wait", f"{RESMON} job stop -q", words=("-N1", "-n2"))
        seen = json.loads(pathlib.Path("seen.json").read_text(encoding="utf-8"))
        known = {int(line.split()[0]) for line in pathlib.Path("pids").read_text(encoding="ascii").splitlines()[1:]}
        ours = {process["pid"]: process["name"] for process in seen["processes"]}
        self.assertLessEqual(len(known - ours.keys()), 2, (known, ours))  # the observer and scontrol
        self.assertGreaterEqual(sum("sleep" in command for command in ours.values()), 2, ours)
        self.assertIn("SLURM_JOB_ID=", json.dumps(seen["sources"]))
        [path] = pathlib.Path("resmon").glob("*.monitor.*.json")
        part = json.loads(path.read_text(encoding="utf-8"))
        figures = {column["metric"]: figures for column, figures in zip(part["columns"], part["summary"]["columns"]) if column["instance"] == ""}
        self.assertGreater(figures["tree.cpu.time"]["last"], 2.0)  # both tasks
        self.assertLess(figures["tree.cpu.time"]["last"], 4.0)
        self.assertGreater(figures["tree.mem.rss"]["max"], 100 << 20)
        [path] = [path for path in pathlib.Path("resmon").glob("*.json") if path.name.count(".") == 1]
        [node] = json.loads(path.read_text(encoding="utf-8"))["nodes"]
        self.assertEqual((node["has_job"], node["ranks"]), (1, 0))
        self.assertGreater(node["cpu_s"], 2.0)

    def test_a_job_that_is_not_here(self):
        said = self.run_it(RESMON, "attach", "--job=4711", code=None).stderr
        self.assertIn("no process with this id in its environment", said)


if __name__ == "__main__":
    del sys.argv[1:3]
    result = unittest.main(exit=False).result
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}")
    sys.exit(0 if result.wasSuccessful() else 1)
