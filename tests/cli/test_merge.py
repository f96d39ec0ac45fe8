# SPDX-License-Identifier: MIT
"""A job: `resmon run -o DIRECTORY/` in each of its tasks, and `resmon merge`."""
import base64
import collections
import gzip
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tarfile
import time
import unittest

import place

HELLO = os.environ.get("RESMON_EXAMPLES", "") + "/hello"


def task(rank, local_rank, node, ranks=6, nodes=3, job="4711"):
    """What Slurm says to a task of a job step."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "RESMON_JOB"))}
    environment.update({
        "SLURM_JOB_ID": job, "SLURM_STEP_ID": "0", "SLURM_CLUSTER_NAME": "made", "SLURM_JOB_NAME": "train",
        "SLURM_JOB_NODELIST": f"n[1-{nodes}]", "SLURM_JOB_NUM_NODES": str(nodes), "SLURM_NNODES": str(nodes),
        "SLURM_STEP_NODELIST": f"n[1-{nodes}]", "SLURM_STEP_NUM_NODES": str(nodes), "SLURM_STEP_NUM_TASKS": str(ranks),
        "SLURM_NTASKS": str(ranks), "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(local_rank),
        "SLURM_NODEID": str(node - 1), "SLURMD_NODENAME": f"n{node}",
        "SLURM_STEP_TASKS_PER_NODE": f"{ranks // nodes}(x{nodes})", "TMPDIR": os.getcwd(), "TZ": "UTC",
    })
    return environment


@place.needs_json
class Job(place.Case):
    def start(self, *command, environment, options=()):
        """`resmon run -o job/ -- COMMAND` as a task, on its way."""
        words = [place.RESMON, "run", "-o", "job/", *options, "--", *command]
        process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def merged(self, *words):
        done = place.run("merge", *words, "-o", "merged.json")
        self.assertEqual(done.code, 0, done.err)
        return json.loads(pathlib.Path("merged.json").read_text(encoding="utf-8")), done

    def test_all_ranks_of_all_nodes(self):
        if not os.path.exists(HELLO):
            self.skipTest("the examples are not built")
        started = [self.start(HELLO, environment=task(2 * (node - 1) + local, local, node))
                   for node in (1, 2, 3) for local in (0, 1)]
        said = [process.communicate()[1].decode() for process in started]
        self.assertEqual([process.returncode for process in started], [0] * 6, said)
        # The first rank has made one run of all.
        names = sorted(path.name for path in pathlib.Path("job").iterdir() if ".node." not in path.name)
        self.assertEqual(len(names), 7, names)
        job = json.loads(pathlib.Path("job/4711.json").read_text(encoding="utf-8"))
        self.assertEqual([node["name"] for node in job["nodes"]], ["n1", "n2", "n3"])
        self.assertEqual([node["state"] for node in job["nodes"]], ["stopped"] * 3)
        self.assertEqual([(rank["rank"], rank["node"]) for rank in job["ranks"]],
                         [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (5, 2)])
        self.assertIn("nodes", said[0])
        self.assertEqual(said[1:], [""] * 5)
        parts = [json.loads(path.read_text(encoding="utf-8")) for path in pathlib.Path("job").glob("*.n?.r?.*.json")]
        # Scopes: calls add up, and each rank has its time.
        [main] = job["scopes"]
        [rounds] = [scope for scope in main["children"] if scope["name"] == "round"]
        self.assertEqual(rounds["calls"], 18)
        walls = {part["job"]["rank"]: part["scopes"][0]["wall_ns"] for part in parts if part["scopes"]}
        self.assertEqual(main["over_ranks"]["wall_ns"], [walls[rank] for rank in range(6)])
        self.assertEqual(main["over_ranks"]["ranks"], 6)
        self.assertAlmostEqual(main["over_ranks"]["imbalance"], max(walls.values()) * 6 / sum(walls.values()) - 1)
        # One process of each node has the machine's figures; CPU time is of all.
        hosts = [part for part in parts if part["job"]["reports_host"]]
        parts = [part for part in parts if part["scopes"]]  # and not those of a machine that was watched on
        self.assertEqual(len({part["job"]["node_name"] for part in hosts}), 3)
        self.check_sum(job, hosts, "node.disk.read_bytes")
        self.check_sum(job, parts, "tree.cpu.time")
        self.assertIsNone(job["run"]["usage"]["wall_s"])  # of ranks beside each other there is no sum
        self.assertIsNotNone(parts[0]["run"]["usage"]["wall_s"])
        if job["energy"] is not None and job["energy"]["node"]["joules"] is not None:
            self.assertAlmostEqual(job["energy"]["node"]["joules"], sum(part["energy"]["node"]["joules"] or 0 for part in hosts))
        # A merge by hand of the directory that has the first rank's result makes the same run.
        again, done = self.merged("job")
        self.assertEqual(again["ranks"], job["ranks"])
        self.assertNotIn("left out", done.err)

    def test_a_machine_is_watched_until_its_last_rank_ends(self):
        """The first rank of the node is over at once; its machine's figures go on for the other one."""
        os.mkfifo("stop")
        second = self.start("sh", "-c", "read line <stop; exit 0", environment=task(1, 1, 1, 2, 1), options=("--interval=20ms",))
        place.until(lambda: list(pathlib.Path("job").glob("*.r1.*.rec")))
        first = self.start("true", environment=task(0, 0, 1, 2, 1), options=("--interval=20ms",))
        place.until(lambda: list(pathlib.Path("job").glob("*.r0.*.node.rec")))
        time.sleep(0.3)
        with open("stop", "w", encoding="ascii"):
            pass
        self.assertEqual((second.wait(), first.wait()), (0, 0))
        job = json.loads(pathlib.Path("job/4711.json").read_text(encoding="utf-8"))
        [node] = job["nodes"]
        self.assertEqual(node["ranks"], 2)
        self.assertEqual([rank["rank"] for rank in job["ranks"]], [0, 1])
        self.assertGreater(node["host_duration_ns"], 3e8)
        self.assertGreater(node["host_duration_ns"], job["ranks"][0]["duration_ns"])
        parts = [json.loads(path.read_text(encoding="utf-8")) for path in pathlib.Path("job").glob("*.r0.*.json")]
        self.assertEqual(len(parts), 2)
        self.check_sum(job, parts, "node.disk.read_bytes")
        self.assertEqual([path.name for path in pathlib.Path(".").glob("resmon-*.ranks")], [])

    def check_sum(self, job, parts, metric):
        """The column of all nodes, and those of each, are what the parts have."""
        def last(document, instance):
            for column, statistics in zip(document["columns"], document["summary"]["columns"]):
                if column["metric"] == metric and instance in (column["instance"], None) and statistics["n"]:
                    return statistics["last"]
            return 0
        wanted = collections.Counter()
        for part in parts:
            wanted[part["job"]["node_name"]] += last(part, None)
        self.assertAlmostEqual(last(job, ""), sum(wanted.values()))
        for node, amount in wanted.items():
            self.assertAlmostEqual(last(job, node), amount)

    def test_a_node_that_dies_and_one_that_never_came(self):
        os.mkfifo("stop")
        first = self.start("sh", "-c", "read line <stop; exit 0", environment=task(0, 0, 1, ranks=4, nodes=4))
        second = self.start("sleep", "1000", environment=task(1, 0, 2, ranks=4, nodes=4))
        third = self.start("sh", "-c", "exit 3", environment=task(2, 0, 3, ranks=4, nodes=4), options=("--interval=20ms",))
        self.assertEqual(third.wait(), 3)
        place.until(lambda: len(list(pathlib.Path("job").glob("*.rec"))) == 2)
        os.killpg(second.pid, signal.SIGKILL)
        second.wait()
        job, done = self.merged("job")
        self.assertEqual({node["name"]: node["state"] for node in job["nodes"]},
                         {"n1": "running", "n2": "interrupted", "n3": "stopped", "n4": "missing"})
        self.assertEqual([rank["reason"] for rank in job["ranks"]], ["running", "unknown", "failed"])
        self.assertEqual(job["run"]["state"], "interrupted")
        self.assertEqual((job["run"]["end"]["reason"], job["run"]["end"]["exit_status"]), ("failed", 3))
        for said in ("missing: n4", "interrupted: n2", "still running: n1", "of 4", "rank 2 on n3 failed"):
            self.assertIn(said, done.out)
        # What there is, is merged when the first rank is over, which does not wait for ever.
        with open("stop", "w", encoding="ascii"):
            pass
        said = first.communicate()[1].decode()
        self.assertEqual(first.returncode, 0)
        self.assertIn("3 of 4 ranks have files in job, and 1 recordings there are unfinished (still running, or killed)", said)
        job = json.loads(pathlib.Path("job/4711.json").read_text(encoding="utf-8"))
        self.assertEqual([node["state"] for node in job["nodes"]], ["stopped", "interrupted", "stopped", "missing"])

    def test_what_does_not_belong_is_named(self):
        os.mkdir("job")
        for job, name in (("4711", "one"), ("4711", "two"), ("12", "foreign")):
            rank = int(name == "two")
            done = place.run("run", "-q", "-o", f"job/{name}.json", "--", "true", env=task(rank, rank, 1, 2, 1, job))
            self.assertEqual(done.code, 0, done.err)
        document = json.loads(pathlib.Path("job/one.json").read_text(encoding="utf-8"))
        document["version"] = 99
        pathlib.Path("job/future.json").write_text(json.dumps(document), encoding="utf-8")
        pathlib.Path("job/cut.json").write_bytes(pathlib.Path("job/one.json").read_bytes()[:5000])
        pathlib.Path("job/copy.json").write_bytes(pathlib.Path("job/one.json").read_bytes())
        pathlib.Path("job/other.json").write_text('{"no": "run"}', encoding="utf-8")
        pathlib.Path("job/empty.rec").write_bytes(b"")
        latest = pathlib.Path("job/two.json").stat().st_mtime + 100
        os.utime("job/two.json", (latest, latest))  # of its job is the directory
        job, done = self.merged("job")
        self.assertEqual([rank["rank"] for rank in job["ranks"]], [0, 1])
        lines = [line for line in done.err.splitlines() if "is left out" in line]
        self.assertEqual(len(lines), 6, done.err)
        for name, why in (("foreign", "to another job: id 12, where the others have 4711"), ("future", "version 99"),
                          ("cut", "JSON"), ("other", "not a run document"), ("empty", "is empty")):
            [line] = [line for line in lines if f"job/{name}." in line]
            self.assertIn(why, line)
        self.assertEqual(sum("is already in the merge" in line for line in lines), 1)  # of two that are the same

    def test_starts_of_a_job(self):
        """A job that was requeued: of its last start, or of the one that is named."""
        for restarts, program in ((0, "false"), (1, "true"), (10, "true")):
            more = {"SLURM_RESTART_COUNT": str(restarts)} if restarts else {}
            for job in ("4711", "471"):
                place.run("run", "-q", "-o", "job/", "--", program, env={**task(0, 0, 1, 1, 1, job), **more})
        for name, restarts in (("4711", 10), ("4711-restart0", 0), ("4711-restart1", 1), ("4711-restart10", 10)):
            job, done = self.merged("job", "--job", name)
            self.assertEqual((job["job"]["id"], job["job"].get("restarts", 0), len(job["ranks"])), ("4711", restarts, 1), name)
            self.assertEqual(job["ranks"][0]["reason"], "finished" if restarts else "failed")
            self.assertEqual(done.err, "")
        self.assertIn("there is no run to merge", place.run("merge", "job", "--job", "4711-restart2").err)

    def test_results(self):
        for rank in (0, 1):
            done = place.run("run", "-q", "-o", f"r{rank}.json", "--", "true", env=task(rank, 0, rank + 1, 2, 2))
            self.assertEqual(done.code, 0, done.err)
        done = place.run("merge", "-q", "r0.json", "r1.json", "-o", "job.json", "-o", "job.csv", "-o", "job.txt")
        self.assertEqual((done.code, done.out), (0, ""), done.err)
        self.assertIn("node.mem.used[n2]", pathlib.Path("job.csv").read_text(encoding="utf-8").splitlines()[0])
        self.assertIn("nodes", pathlib.Path("job.txt").read_text(encoding="utf-8"))
        ranks = json.loads(place.run("show", "job.json", "ranks", "--json").out)
        self.assertEqual([(row["rank"], row["node"]) for row in ranks], [(0, "n1"), (1, "n2")])
        nodes = json.loads(place.run("show", "job.json", "nodes", "--json").out)
        self.assertEqual([row["state"] for row in nodes], ["stopped", "stopped"])
        # A merged run merges with another rank.
        done = place.run("run", "-q", "-o", "r2.json", "--", "true", env=task(2, 1, 2, 3, 2))
        merged, done = self.merged("job.json", "r2.json")
        self.assertEqual([rank["rank"] for rank in merged["ranks"]], [0, 1, 2])
        self.assertEqual([node["ranks"] for node in merged["nodes"]], [1, 2])

    def test_an_archive_of_traces(self):
        """What tar knows, with what Perfetto's manifest says of each: a trace for each machine, behind the earliest."""
        for rank, node in ((0, 2), (1, 1), (2, 2)):
            done = place.run("run", "-q", "-o", f"r{rank}.json", "--", "true", env=task(rank, 0, node, 3, 2))
            self.assertEqual(done.code, 0, done.err)
        done = place.run("export", "r1.json", "r2.json", "r0.json", "-o", "job.trace.tar")
        self.assertEqual(done.code, 0, done.err)
        with tarfile.open("job.trace.tar", "r:") as archive:
            members = {member.name: json.loads(archive.extractfile(member).read()) for member in archive.getmembers()}
        self.assertEqual(list(members), ["perfetto_manifest.json", "machine-1.json", "machine-2.json"])
        manifest = members["perfetto_manifest.json"]["perfetto_manifest"]
        first, second = manifest["files"]
        self.assertEqual(manifest["version"], 1)
        self.assertEqual((first["path"], first["machine"]["name"]), ("machine-1.json", "n1"))
        self.assertEqual(second, {"path": "machine-2.json", "machine": {"name": "n2"}})  # of the earliest run
        starts = [int(members[name]["otherData"]["start_realtime_ns"]) for name in ("machine-1.json", "machine-2.json")]
        self.assertEqual(first["clocks"], {"sync_to": {"file": "machine-2.json"}, "offset_ns": starts[0] - starts[1]})
        self.assertGreater(starts[0], starts[1])
        processes = [sum(event["name"] == "process_name" for event in members[name]["traceEvents"])
                     for name in ("machine-1.json", "machine-2.json")]
        self.assertEqual(processes, [1, 2])
        if shutil.which("tar"):
            self.assertEqual(subprocess.run(["tar", "tf", "job.trace.tar"], capture_output=True, text=True, check=True).stdout.split(), list(members))

    def test_in_the_words_of_others(self):
        for rank in (0, 1):
            done = place.run("run", "-q", "-o", f"r{rank}.json", "--", "true", env=task(rank, 0, rank + 1, 2, 2))
        job, done = self.merged("r0.json", "r1.json")
        self.assertEqual(place.run("report", "--form=jobstats", "merged.json").out, "JS1:Short\n")
        # The job as if it had lasted for an hour.
        job["run"]["duration_ns"] = int(3600e9)
        for node in job["nodes"]:
            node.update(start_ns=0, duration_ns=int(3600e9), allotted_cpus=4, allotted_bytes=8 << 30, cpu_s=7200, used_bytes=2 << 30)
        for column, figures in zip(job["columns"], job["summary"]["columns"]):
            if column["metric"] == "tree.cpu.time":
                figures["last"] = 14400 if column["instance"] == "" else 7200
        pathlib.Path("hour.json").write_text(json.dumps(job), encoding="utf-8")
        done = place.run("report", "--form=seff", "hour.json")
        self.assertEqual(done.out.splitlines(), [
            "Job ID: 4711", "Cluster: made", "State: COMPLETED (exit code 0)", "Nodes: 2", "Cores per node: 4",
            "CPU Utilized: 04:00:00", "CPU Efficiency: 50.00% of 08:00:00 core-walltime", "Job Wall-clock time: 01:00:00",
            "Memory Utilized: 4.00 GB", "Memory Efficiency: 25.00% of 16.00 GB"], done.err)
        job["run"]["end"].update(reason="killed", signal=9)
        for state, kills, limit_s in (("CANCELLED", 0, 86400), ("TIMEOUT", 0, 3630), ("OUT_OF_MEMORY", 1, 3630)):
            for column, figures in zip(job["columns"], job["summary"]["columns"]):
                if column["metric"] == "cg.mem.events.oom_kill":
                    figures.update(n=1, last=kills)
            job["job"]["time_limit_s"] = limit_s
            pathlib.Path("killed.json").write_text(json.dumps(job), encoding="utf-8")
            if state != "OUT_OF_MEMORY" or "cg.mem.events.oom_kill" in [column["metric"] for column in job["columns"]]:
                self.assertIn(f"State: {state} (exit code 0)", place.run("report", "--form=seff", "killed.json").out)
        done = place.run("report", "--form=jobstats", "hour.json")
        self.assertTrue(done.out.startswith("JS1:"), done.err)
        stats = json.loads(gzip.decompress(base64.b64decode(done.out[4:])))
        self.assertEqual((stats["total_time"], stats["gpus"]), (3600, 0))
        self.assertEqual(stats["nodes"], {name: {"total_memory": 8 << 30, "used_memory": 2 << 30, "total_time": 7200, "cpus": 4}
                                          for name in ("n1", "n2")})
        self.assertIn("CPU: 4 h 00 min of the 8 h 00 min that 8 CPUs had were used, 50 %",
                      " ".join(place.run("report", "hour.json").out.split()))
        self.assertIn("not a merged one", place.run("report", "--form=seff", "r0.json").err)
        self.assertIn("seff, jobstats", place.run("report", "--form=xml", "hour.json").err)

    def test_nothing_to_merge(self):
        os.mkdir("job")
        done = place.run("merge", "job")
        self.assertEqual((done.code, done.out), (1, ""))
        self.assertIn("there is no run to merge", done.err)
        self.assertIn("nowhere", place.run("merge", "nowhere").err)
        self.assertEqual(place.run("merge").code, 2)

    def test_outside_of_a_job(self):
        done = place.run("run", "-o", "job/", "--", "true", env={"PATH": os.environ["PATH"]})
        self.assertEqual((done.code, done.err), (0, ""))
        [path] = pathlib.Path("job").iterdir()
        self.assertRegex(path.name, r"^nojob\.[^.]+\.r0\.p\d+\.json$")
        done = place.run("run", "-q", "-o", "runs/of/today/", "--", "true")
        self.assertEqual((done.code, len(list(pathlib.Path("runs/of/today").iterdir()))), (0, 1), done.err)
        pathlib.Path("file").touch()
        done = place.run("run", "-o", "file/", "--", "true")
        self.assertEqual(done.code, 125)
        self.assertIn("file/: Not a directory", done.err)
        done = place.run("run", "--record=x", "-o", "job/", "--", "true")
        self.assertEqual(done.code, 125)
        self.assertIn("--record cannot be combined with a directory", done.err)


if __name__ == "__main__":
    place.main()
