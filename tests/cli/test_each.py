# SPDX-License-Identifier: MIT
"""`resmon run --each`: a row for each process, beside what wait4(2) and the processes themselves say."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import place

MIB = 1 << 20

TREE = """
import os, sys, time
def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until: pass
def child(work):
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    return pid
def third():
    time.sleep(0.2)
    os._exit(7)
def second():
    burn(0.3)
    block = bytearray(%d << 20)
    time.sleep(0.1)
    os.waitpid(child(third), 0)
    os.kill(os.getpid(), 9)
pids = [child(second), child(lambda: burn(0.1))]
for pid in pids: os.waitpid(pid, 0)
"""


# Five processes with one number, each of which used 30 ms more than the one before.
SAME_NUMBER = """
import ctypes, os, struct, time
number = os.fork()
if number == 0:
    os._exit(0)
os.waitpid(number, 0)
wanted = ctypes.c_int(number)
arguments = struct.pack("11Q", 0, 0, 0, 0, 17, 0, 0, 0, ctypes.addressof(wanted), 1, 0)
for status in range(1, 6):
    pid = ctypes.CDLL(None).syscall(435, arguments, len(arguments))  # clone3() with set_tid
    if pid == 0:
        while time.process_time() < 0.03 * status:
            pass
        os._exit(status)
    if pid < 0:
        os._exit(9)
    os.waitpid(pid, 0)
"""


@place.needs_json
class Each(place.Case):
    def setUp(self):
        super().setUp()
        probe = self.document("--each", "--", "true")
        if not probe.get("processes"):
            lack = probe["settings"]["each_lack"]
            self.assertTrue(lack)
            self.skipTest(lack)

    def test_a_tree(self):
        document = self.document("--each", "--", sys.executable, "-c", TREE % 64)
        rows = document["processes"]
        self.assertEqual(len(rows), 4, rows)
        first, second, other = rows[0], rows[1], rows[2]
        third = rows[3]
        self.assertEqual({second["parent_pid"], other["parent_pid"]}, {first["pid"]})
        if second["cpu_s"] < other["cpu_s"]:
            second, other = other, second
        self.assertEqual(third["parent_pid"], second["pid"])
        self.assertEqual((first["reason"], first["exit_status"]), ("finished", 0))
        self.assertIn((second["reason"], second["signal"]), (("killed", 9), ("unknown", 0)))
        self.assertIn((third["reason"], third["exit_status"]), (("failed", 7), ("unknown", 0)))
        # Nobody has what another has used: 0.3 s with the zeroes of 64 MiB, 0.1 s, and next to nothing.
        self.assertGreater(second["cpu_s"], 0.29)
        self.assertGreater(other["cpu_s"], 0.09)
        self.assertLess(other["cpu_s"], 0.29)
        self.assertLess(third["cpu_s"], 0.09)
        self.assertGreaterEqual(third["duration_ns"], 199e6)
        self.assertGreaterEqual(second["duration_ns"], third["duration_ns"] + 390e6)
        self.assertGreater(third["start_ns"], second["start_ns"])
        self.assertAlmostEqual(second["rss_peak_bytes"] - other["rss_peak_bytes"], 64 * MIB, delta=16 * MIB)
        whole = document["run"]["usage"]
        self.assertAlmostEqual(sum(row["cpu_s"] for row in rows) / (whole["user_s"] + whole["system_s"]), 1, delta=0.1)

    @place.not_sanitized
    @place.needs_live("a reader of events that is never late for 500 processes")
    def test_many_short_ones(self):
        document = self.document("--each", "--", "sh", "-c", "i=0; while [ $i -lt 500 ]; do /bin/true; i=$((i+1)); done")
        rows = document["processes"]
        names = [row["name"] for row in rows]
        self.assertEqual(names.count("true"), 500)
        self.assertEqual(len(rows), 501)
        self.assertTrue(all(row["parent_pid"] == rows[0]["pid"] for row in rows[1:]))
        usage = document["run"]["usage"]
        total = sum(row["cpu_s"] or 0.0 for row in rows)
        self.assertAlmostEqual(total / (usage["user_s"] + usage["system_s"]), 1, delta=0.15)
        self.assertLess(sum(row["cpu_s"] is None for row in rows), 5)

    @place.not_sanitized
    def test_a_number_that_is_used_again(self):
        document = self.document("--each", "--", sys.executable, "-c", SAME_NUMBER)
        rows = document["processes"]
        if os.geteuid() != 0 or document["run"]["end"]["exit_status"] == 9:
            self.skipTest("no accounts of tasks, or no numbers that are asked for")
        self.assertEqual([row["exit_status"] for row in rows], [0, 0, 1, 2, 3, 4, 5])
        self.assertEqual(len({row["pid"] for row in rows[1:]}), 1)
        # Each has what it used at least; what a host steals may be counted to any, but to one.
        for status in range(1, 6):
            self.assertGreater(rows[status + 1]["cpu_s"], 0.0299 * status)
        usage = document["run"]["usage"]  # of the first one since its exec, which its row is not
        self.assertLess(sum(row["cpu_s"] for row in rows[1:]), usage["user_s"] + usage["system_s"])

    def test_threads_are_of_their_process(self):
        script = ("import hashlib, threading, time\n"
                  "def burn():\n    for i in range(40): hashlib.sha256(bytes(1 << 22)).digest()\n"
                  "threads = [threading.Thread(target=burn) for _ in range(3)]\n"
                  "[thread.start() for thread in threads]; [thread.join() for thread in threads]\n"
                  "open(\"used\", \"w\").write(str(time.process_time()))")
        document = self.document("--each", "--", "sh", "-c", f"{sys.executable} -c '{script}'; true")
        usage, rows = document["run"]["usage"], document["processes"]
        python = max(rows, key=lambda row: row["cpu_s"] or 0)
        # Without the accounts of tasks, events may miss some beside busy programs.
        missing = 0.05 if python["rss_peak_provenance"] == "measured" else 0.5
        used = float(pathlib.Path("used").read_text(encoding="ascii"))
        self.assertGreater(python["cpu_s"], (1 - missing) * used)
        self.assertLess(python["cpu_s"], 1.05 * (usage["user_s"] + usage["system_s"]))

    def test_with_stacks(self):
        document = self.document("--each", "--stacks=cpu", "--", "sh", "-c", "/bin/true; /bin/true; exit 3")
        self.assertEqual([row["name"] for row in document["processes"]], ["sh", "true", "true"])
        self.assertEqual(document["processes"][0]["exit_status"], 3)

    WORK = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; exit 6"

    def of_nobody(self, name, *words):
        """The document of a program that begins another one, as a user who is not root."""
        how = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
        if pathlib.Path("/proc/sys/fs/suid_dumpable").read_text(encoding="ascii").strip() == "1":
            self.skipTest("the kernel hides nothing here: fs.suid_dumpable is 1")
        os.chmod(".", 0o777)
        shutil.copy(place.RESMON, "resmon")
        done = subprocess.run(["./resmon", "run", "-q", "--json=run.json", "--each", *words], capture_output=True,
                              check=False, timeout=120, env={**os.environ, "DO": self.WORK}, **how)
        if not os.path.exists("run.json"):
            self.skipTest(f"as nobody: {done.stderr.decode()}")
        document = json.loads(pathlib.Path("run.json").read_text(encoding="utf-8"))
        if not document["processes"]:
            self.skipTest("as nobody: " + document["settings"]["each_lack"])
        row = document["processes"][1]
        self.assertEqual((row["name"], row["cpu_provenance"]), (name, "sampled"))
        usage = document["run"]["usage"]
        used = usage["user_s"] + usage["system_s"]
        # A look that comes late may miss much of it; by events alone it were a thousandth.
        self.assertTrue(0.2 * used < row["cpu_s"] < 1.01 * used, (row, used))
        self.assertGreater(row["duration_ns"], 0.2e9 * used)
        self.assertIn((row["reason"], row["exit_status"]), (("failed", 6), ("unknown", 0)))
        self.assertGreater(row["rss_peak_bytes"], 0)
        return document

    def test_a_program_that_may_not_be_read(self):
        shutil.copy("/bin/sh", "unreadable")
        os.chmod("unreadable", 0o111)
        document = self.of_nobody("unreadable", "--stacks=cpu", "--counters=task-clock", "--", "sh", "-c",
                                  './unreadable -c "$DO"; :')
        counters = next(source for source in document["sources"] if source["name"] == "perf_events")
        if counters["status"] == "RESMON_OK":
            self.assertIn("not counted: ", counters["reason"])
        kind = document["profile"]["kinds"]["cpu"]
        if kind["status"] == "RESMON_OK":
            self.assertIn("1 processes that the kernel hides", kind["reason"])
        text = place.run("report", "--full", "run.json").out
        self.assertRegex(text, r"(?m)^    unreadable .* >=")
        self.assertIn("the kernel hides", text)

    def test_a_starter_that_gives_its_rights_up(self):
        if os.getuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("a program with the rights of root is root's to make, of setpriv")
        if os.statvfs(".").f_flag & os.ST_NOSUID:
            self.skipTest("this file system gives no program other rights")
        shutil.copy(shutil.which("setpriv"), "starter")
        shutil.copy("/bin/sh", "worker")
        os.chmod("starter", 0o4755)
        start = './starter --reuid 65534 --regid 65534 --clear-groups ./worker -c "$DO"; :'
        document = self.of_nobody("worker", "--stacks=cpu", "--", "sh", "-c", start)
        profile = document["profile"]
        if profile["kinds"]["cpu"]["status"] == "RESMON_OK":  # it is sampled again
            row = document["processes"][1]
            self.assertGreater(sum(profile["stacks"]["samples"]["cpu"]), 0)
            self.assertAlmostEqual(sum(profile["stacks"]["weight"]["cpu"]) * 1e-9, row["cpu_s"], delta=0.1)

    def test_what_people_see(self):
        done = place.run("run", "--each", "--json=run.json", "--summary", "--", "sh", "-c", "/bin/true; exit 3")
        self.assertEqual(done.code, 3)
        self.assertRegex(done.err, r"(?m)^  process +pid +began ")
        self.assertRegex(done.err, r"(?m)^  sh  .* 3$")
        self.assertRegex(done.err, r"(?m)^    true  .* [0-]$")
        rows = json.loads(place.run("show", "run.json", "processes", "--json").out)
        self.assertEqual([row["name"] for row in rows], ["sh", "true"])
        self.assertEqual(rows[0]["exit_status"], 3)
        self.assertEqual(rows[1]["parent_pid"], rows[0]["pid"])
        many = place.run("run", "--each", "--", "sh", "-c", "i=0; while [ $i -lt 50 ]; do /bin/true; i=$((i+1)); done")
        self.assertRegex(many.err, r"(?m)^  program +count +CPU ")
        self.assertRegex(many.err, r"(?m)^  true +50 ")

    def test_programs_with_scopes_are_rows_once(self):
        hello = os.path.join(os.environ.get("RESMON_EXAMPLES", ""), "hello")
        if not os.path.exists(hello) or not os.access("/dev/shm", os.W_OK):
            self.skipTest("the examples are not built, or there is no /dev/shm")
        document = self.document("--each", "--", "sh", "-c", f"{hello}; true")
        rows = document["processes"]
        self.assertEqual([row["name"] for row in rows if row["scopes"] > 0], ["hello"], rows)
        self.assertEqual(len({row["pid"] for row in rows}), len(rows))

    @staticmethod
    def attached(pid):
        """Once it has a row for the process."""
        if os.path.exists("run.json"):
            os.unlink("run.json")  # of the run before
        words = ["attach", "-q", "--each", "--json=run.json", "--json.interval=50ms", "--interval=20ms", str(pid)]
        attach = subprocess.Popen([place.RESMON, *words])
        place.until(lambda: (place.document_so_far("run.json") or {}).get("processes") or attach.poll() is not None)
        return attach

    def test_attached(self):
        script = "read x; for i in 1 2 3 4 5 6; do sleep 0.01; done; echo; read x"
        with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            with self.attached(running.pid) as attach:
                running.stdin.write(b"\n")
                running.stdin.flush()
                running.stdout.readline()
                attach.send_signal(signal.SIGINT)
                self.assertEqual(attach.wait(100), 0)
        with open("run.json", encoding="utf-8") as file:
            rows = json.load(file)["processes"]
        self.assertEqual([row["name"] for row in rows], ["sh", *["sleep"] * 6])
        self.assertEqual(rows[0]["pid"], running.pid)
        self.assertEqual(rows[0]["reason"], "running")

    def test_what_was_used_before_is_not_counted(self):
        burn = "def burn(s):\n    end = time.process_time() + s\n    while time.process_time() < end: pass\n"
        script = f"import sys, time\n{burn}burn(0.5); print(flush=True); sys.stdin.readline(); burn(0.2)"
        with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
            running.stdout.readline()
            with self.attached(running.pid) as attach:
                running.stdin.close()
                self.assertEqual(attach.wait(100), 0)
        with open("run.json", encoding="utf-8") as file:
            [row] = json.load(file)["processes"]
        self.assertEqual(row["reason"], "finished")
        self.assertGreater(row["cpu_s"], 0.18)
        self.assertLess(row["cpu_s"], 0.5)

    def test_killed_with_a_recording(self):
        is_there = f"'{place.RESMON}' show run.rec processes --json | grep -q '\"true\"'"
        script = f"/bin/true; /bin/true; until {is_there}; do sleep 0.1; done; kill -9 $PPID"
        done = place.run("run", "--each", "--record=run.rec", "-q", "--", "sh", "-c", script)
        self.assertEqual(done.code, -9)
        rows = json.loads(place.run("show", "run.rec", "processes", "--json").out)
        self.assertGreaterEqual([row["name"] for row in rows].count("true"), 1)


if __name__ == "__main__":
    place.main()
