# SPDX-License-Identifier: MIT
"""Control groups: `resmon attach --cgroup`, `--job` and `resmon live DIRECTORY`, where this user may make one."""
import json
import os
import pathlib
import subprocess
import sys
import time

import place

MIB = 1 << 20
ROOTS = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct"]  # version 1
WORK = """
import subprocess, time
block = bytearray(40 << 20)
end = time.process_time() + 0.6
while time.process_time() < end: pass
subprocess.run(["sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"])
"""


def own_roots():
    """Mount points that a group is made below."""
    if os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
        return ["/sys/fs/cgroup"]
    return [root for root in ROOTS if os.path.isdir(root)]


@place.needs_live("control groups, and time in which they are seen")
class Group(place.Case):
    def setUp(self):
        super().setUp()
        self.paths = [f"{root}/resmon-test-{os.getpid()}" for root in own_roots()]
        self.addCleanup(self.remove)
        try:
            for path in self.paths:
                os.mkdir(path)
        except OSError as error:
            self.skipTest(f"no control group can be made here: {error.strerror}")
        if not self.paths:
            self.skipTest("no control groups are mounted here")

    def remove(self):
        for path in self.paths:
            until = time.monotonic() + 10
            while os.path.isdir(path) and time.monotonic() < until:
                try:
                    os.rmdir(path)
                except OSError:
                    time.sleep(0.05)

    def start(self, *words):
        """Runs a program in the group."""
        enter = "".join(f"echo $$ >{path}/cgroup.procs; " for path in self.paths)
        process = subprocess.Popen(["sh", "-c", f'{enter} exec "$@"', "sh", *words], stdin=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stdin.close)
        until = time.monotonic() + 30
        while str(process.pid) not in pathlib.Path(self.paths[-1], "cgroup.procs").read_text(encoding="ascii").split():
            self.assertLess(time.monotonic(), until)
            time.sleep(0.01)
        return process

    @place.needs_json
    def test_until_nobody_is_in_it(self):
        script = "import sys; sys.stdin.readline()\n" + WORK
        process = self.start(sys.executable, "-c", script)
        attached = [place.RESMON, "attach", "-q", "--json=run.json", "--interval=20ms", "--cgroup", self.paths[0]]
        with subprocess.Popen(attached) as attach:
            time.sleep(1)
            process.stdin.write(b"\n")
            process.stdin.flush()
            self.assertEqual(attach.wait(60), 0)
        self.assertIsNotNone(process.poll())
        with open("run.json", encoding="utf-8") as file:
            document = json.load(file)
        names = [column["metric"] for column in document["columns"]]
        columns = document["summary"]["columns"]
        cpu = columns[names.index("tree.cpu.time")]["last"]
        self.assertGreater(cpu, 0.6)
        self.assertGreater(columns[names.index("tree.mem.rss")]["max"], 40 * MIB)
        self.assertEqual(columns[names.index("tree.processes")]["last"], 0)
        reasons = {source["name"]: source["reason"] for source in document["sources"]}
        self.assertEqual(reasons["proc_mem"], "a group of processes is observed, not one process")
        self.assertEqual(document["run"]["cgroup"], self.paths[0])
        text = place.run("report", "run.json").out
        self.assertRegex(text, r"(?m)^  memory +>= \d+\.\d MiB +RSS of all processes")

    def test_one_page(self):
        self.start("sleep", "20")
        done = place.run("live", "--once", self.paths[0])
        self.assertEqual(done.code, 0, done.err)
        self.assertRegex(done.out, r"CPU")


class Words(place.Case):
    def test_wrong_words(self):
        for words, said in ((["--cgroup=/no/such/group"], "there is no cgroup"),
                            (["--cgroup=relative"], "is not a cgroup path"),
                            (["--job=999999999"], "no cgroup of a job"),
                            (["--cgroup=/", "1"], "attach"), (["--job=1", "1"], "attach")):
            done = place.run("attach", *words)
            self.assertNotEqual(done.code, 0)
            self.assertIn(said, done.err)


if __name__ == "__main__":
    place.main()
