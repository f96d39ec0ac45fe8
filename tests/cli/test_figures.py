# SPDX-License-Identifier: MIT
"""The figures of `resmon run` beside those of wait4(2), and who sees what."""
import json
import os
import pathlib
import re
import resource
import signal
import stat
import subprocess
import sys
import time

import place

MIB = 1 << 20


def burn(seconds):
    return f"import time\nwhile time.process_time() < {seconds}: pass"


class Figures(place.Case):
    def column(self, document, metric):
        names = [column["metric"] for column in document["columns"]]
        return document["summary"]["columns"][names.index(metric)]

    def test_cpu_of_a_thousand_short_processes(self):
        script = "for i in $(seq 1000); do /bin/true; done"
        document = self.document("--", "sh", "-c", script)
        usage = document["run"]["usage"]
        tree = self.column(document, "tree.cpu.time")["last"]
        self.assertGreater(usage["minor_faults"], 10000)  # they were there
        self.assertAlmostEqual(tree / (usage["user_s"] + usage["system_s"]), 1, delta=0.01)

    def test_cpu_is_what_wait4_says_of_the_same_work(self):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        script = burn(0.5) + "\nprint(time.process_time(), file=open('said', 'w'))"
        document = self.document("--", sys.executable, "-c", script)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        ours = document["run"]["usage"]
        theirs = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        said = float(pathlib.Path("said").read_text(encoding="utf-8"))
        self.assertGreaterEqual(said, 0.5)
        self.assertGreater(ours["user_s"] + ours["system_s"], said - 0.001)
        self.assertLess(ours["user_s"] + ours["system_s"], theirs)  # which have what resmon itself used, too

    def test_the_last_sample_has_all_sources(self):
        """A zombie has no smaps: whoever asks for these learns no less of it."""
        document = self.document("--smaps", "--each", "--", "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
        usage = document["run"]["usage"]
        tree = self.column(document, "tree.cpu.time")["last"]
        self.assertAlmostEqual(tree / (usage["user_s"] + usage["system_s"]), 1, delta=0.01)
        self.assertEqual(self.column(document, "tree.processes")["last"], 0)

    def test_no_scopes(self):
        document = self.document("--scopes=none", "--", "true")
        self.assertEqual(document["run"]["end"]["exit_status"], 0)

    def test_orphans_are_counted(self):
        script = (f"({sys.executable} -c '{burn(0.3)}' & echo $! >pid); "
                  "while kill -0 $(cat pid) 2>/dev/null; do sleep 0.05; done")
        usage = self.document("--", "sh", "-c", script)["run"]["usage"]
        self.assertGreater(usage["user_s"] + usage["system_s"], 0.3)

    def test_orphans_are_in_all_figures(self):
        """Of a shell's "(cmd &)", and of a daemon that has left the session; both end before the command does."""
        pathlib.Path("work.py").write_text(
            f"import os, sys, time\nx = bytearray({100 * MIB})\nr, w = os.pipe()\n"
            "for _ in range(100):\n    os.write(w, bytes(50000))\n    os.read(r, 50000)\n"
            "while time.process_time() < 0.3: pass\ntime.sleep(0.2)\nos.unlink(sys.argv[1])\n", encoding="utf-8")
        for start in (f"({sys.executable} work.py going & )", f"(setsid {sys.executable} work.py going & )"):
            script = f"touch going; {start}; while [ -e going ]; do sleep 0.05; done"
            document = self.document("--interval=20ms", "--", "sh", "-c", script)
            self.assertGreater(self.column(document, "tree.mem.rss")["max"], 100 * MIB)
            self.assertGreaterEqual(self.column(document, "tree.processes")["max"], 2)
            self.assertGreater(self.column(document, "tree.cpu.time")["last"], 0.3)
            written = self.column(document, "tree.io.write_chars")["last"]
            self.assertAlmostEqual(written / 5e6, 1, delta=0.02)
            rates = self.column(document, "tree.cpu.percent")
            self.assertLess(rates["max"], 130 * (os.cpu_count() or 1))  # it comes with its samples, not at once

    def test_what_goes_on_is_said(self):
        script = "(sleep 60 >/dev/null 2>&1 & echo $! >pid); sleep 0.2"
        done = place.run("run", "--interval=20ms", "--", "sh", "-c", script)
        os.kill(int(pathlib.Path("pid").read_text(encoding="utf-8")), signal.SIGKILL)
        self.assertIn("1 of its processes outlived it: their later use is not counted", " ".join(done.err.split()))

    def test_children_from_before_are_not_counted(self):
        script = (f"({sys.executable} -c '{burn(0.4)}' & ) ; {sys.executable} -c '{burn(0.4)}' & "
                  f"exec '{place.RESMON}' run -q --interval=20ms --json=run.json -- sleep 0.6")
        subprocess.run(["sh", "-c", script], check=True)
        document = json.loads(pathlib.Path("run.json").read_text(encoding="utf-8"))
        self.assertEqual(self.column(document, "tree.processes")["max"], 1)
        self.assertLess(self.column(document, "tree.cpu.time")["last"], 0.2)

    def test_memory_of_several_at_once_comes_first(self):
        script = f"{sys.executable} -c 'import time; x = bytearray({50 * MIB}); time.sleep(1)' & " * 3 + "wait"
        done = place.run("run", "--interval=20ms", "--", "sh", "-c", script)
        first, line = done.err.splitlines()[0], next(at for at in done.err.splitlines() if at.startswith("  memory"))
        at_once = re.search(r"([\d.]+) MiB of memory", first)
        self.assertGreater(float(at_once.group(1)), 150)
        self.assertRegex(line, rf"{re.escape(at_once.group(1))} MiB +all processes together, sampled; "
                         r"largest process \d+\.\d+ MiB, exact")

    def test_the_peak_is_exact(self):
        """Of a child that lives for less than an interval."""
        script = f"x = bytearray({200 * MIB})"
        document = self.document("--interval=10s", "--", "sh", "-c", f"{sys.executable} -c '{script}'; true")
        peak = document["run"]["usage"]["rss_peak_bytes"]
        self.assertGreater(peak, 200 * MIB)
        self.assertLess(peak, 300 * MIB)

    @place.needs_json
    def test_files_in_memory_are_in_no_rss(self):
        """Made: the group's account of them before and after."""
        document = self.document("--interval=10ms", "--domains=all", "--", "true")
        names = [column["metric"] for column in document["columns"]]
        if "cg.mem.shmem" not in names:
            self.skipTest("there is no control group of memory here")
        for grown, is_said in ((1 << 20, False), (1 << 30, True)):
            document["summary"]["columns"][names.index("cg.mem.shmem")] = {
                "n": 2, "first": 1 << 22, "last": 1 << 22, "min": 1 << 22, "max": (1 << 22) + grown, "mean": 1 << 22, "integral": 1.0}
            with open("made.json", "w", encoding="utf-8") as file:
                json.dump(document, file)
            text = " ".join(place.run("report", "made.json").out.split())
            self.assertEqual("shared memory of its cgroup grew by 1.00 GiB more" in text, is_said, text)

    @place.not_sanitized
    def test_the_launcher_is_in_no_peak(self):
        """As of a launcher of next to no size."""
        code = ("import os, resource\n"
                "pid = os.posix_spawn('/bin/true', ['true'], os.environ)\n"
                "_, _, usage = os.wait4(pid, 0)\nprint(usage.ru_maxrss)")
        large = int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)
        peak = self.document("--", "/bin/true")["run"]["usage"]["rss_peak_bytes"] / 1024
        self.assertLess(peak, large)
        # As the kernel knows the program's own, after its exec; the launcher has more.
        script = "grep VmHWM /proc/$PPID/status; exec grep VmHWM /proc/self/status"
        done = place.run("run", "-q", "--json=run.json", "--", "sh", "-c", script)
        launcher, own = (int(line.split()[1]) for line in done.out.splitlines())
        peak = json.loads(pathlib.Path("run.json").read_text(encoding="utf-8"))["run"]["usage"]["rss_peak_bytes"] / 1024
        if launcher - own < 512:
            self.skipTest("this kernel knows memory of processes roughly only")
        self.assertLess(peak - own, (launcher - own) / 2)

    def test_how_it_ended_and_what_it_was(self):
        document = self.document("--name=build", "--", "sh", "-c", "exit 3", "secret")
        run = document["run"]
        self.assertEqual((run["end"]["reason"], run["end"]["exit_status"]), ("failed", 3))
        self.assertEqual((run["name"], run["program"], run["executable"]), ("build", "sh", "sh"))
        self.assertEqual(run["command_line"], "sh -c exit 3 secret")
        document = self.document("--redact", "--", "sh", "-c", "kill -9 $$", "secret")
        self.assertEqual((document["run"]["end"]["reason"], document["run"]["end"]["signal"]), ("killed", 9))
        self.assertNotIn("secret", json.dumps(document))

    def test_wall_time(self):
        begin = time.monotonic()
        document = self.document("--", "sleep", "0.3")
        whole = time.monotonic() - begin
        self.assertGreaterEqual(document["run"]["duration_ns"], 0.3e9)
        self.assertLess(document["run"]["duration_ns"] / 1e9, whole)

    def test_files_are_for_their_owner(self):
        self.document("--record=run.rec", "-o", "run.csv", "--", "true")
        for name in ("run.json", "run.rec"):
            self.assertEqual(stat.S_IMODE(os.stat(name).st_mode) & 0o077, 0, name)

    def test_energy_by_a_model_is_about_right(self):
        done = place.run("run", "--summary", "--", "sh", "-c", "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done")
        first, energy = done.err.splitlines()[0], [line for line in done.err.splitlines() if "by a model" in line]
        if not first.endswith("J"):
            self.assertFalse(energy)
            self.skipTest("no energy is known here: counters that stand still")
        self.assertRegex(first, r", (about )?\d[\d.]* [a-zA-Z]*J$")
        self.assertEqual("about" in first, bool(energy), done.err)


class Attached(place.Case):
    def attach(self, *words, **how):
        with subprocess.Popen([place.RESMON, "attach", "-q", "--json=run.json", "--interval=20ms", *map(str, words)],
                              **how) as process:
            yield process
        with open("run.json", encoding="utf-8") as file:
            self.run_document = json.load(file)

    def test_until_it_ends(self):
        script = ("import sys, time\nsys.stdin.readline()\nbefore = time.process_time()\n"
                  "while time.process_time() < before + 0.4: pass\nsys.stdin.readline()\n"
                  "print(time.process_time() - before, file=open('said', 'w'))")
        with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE) as target:
            for process in self.attach("--json.interval=50ms", target.pid):
                place.until(lambda: place.seen_of("run.json", "proc.cpu.time", "n"))
                target.stdin.write(b"\n")
                target.stdin.flush()
                place.until(lambda: place.seen_of("run.json", "proc.cpu.time") > 0.39)
                target.stdin.close()
                target.wait()
                self.assertEqual(process.wait(timeout=100), 0)
        self.assertEqual(self.run_document["run"]["pid"], target.pid)
        columns = [column["metric"] for column in self.run_document["columns"]]
        cpu = self.run_document["summary"]["columns"][columns.index("proc.cpu.time")]["last"]
        said = float(pathlib.Path("said").read_text(encoding="utf-8"))
        self.assertGreater(cpu, 0.39)
        self.assertLess(cpu, said + 0.2)  # and its end

    def test_until_we_are_told(self):
        with subprocess.Popen(["sleep", "60"]) as target:
            for number in (signal.SIGINT, signal.SIGTERM):
                for process in self.attach(target.pid):
                    while not os.path.exists("run.json"):
                        time.sleep(0.02)
                    process.send_signal(number)
                    self.assertEqual(process.wait(timeout=100), 0)
                os.unlink("run.json")
            self.assertIsNone(target.poll())  # it goes on
            target.kill()

    def test_for_a_time(self):
        begin = time.monotonic()
        for process in self.attach("--for=300ms", os.getpid()):
            self.assertEqual(process.wait(timeout=100), 0)
        self.assertGreaterEqual(time.monotonic() - begin, 0.3)
        self.assertGreaterEqual(self.run_document["run"]["duration_ns"], 0.3e9)

    def test_nobody(self):
        done = place.run("attach", 4194305)
        self.assertEqual((done.code, len(done.err.splitlines())), (1, 1), done.err)


class Recordings(place.Case):
    def test_what_survives_us(self):
        """The command goes on when resmon is killed, and the recording is the run."""
        with subprocess.Popen([place.RESMON, "run", "--record=run.rec", "--interval=10ms", "--", "sh", "-c",
                               "echo $$ >pid; exec sleep 1000"]) as process:
            while not (os.path.exists("pid") and os.path.getsize("pid") > 0):
                time.sleep(0.01)
            process.kill()
        with open("pid", encoding="utf-8") as file:
            pid = int(file.read())
        done = place.run("recover", "run.rec")
        self.assertRegex(done.out, r"(?m)\Ash was observed (for|once).*\n  its observer was killed; it still runs, as process "
                         f"{pid}$")
        os.kill(pid, 9)
        place.until(lambda: "still runs" not in place.run("recover", "run.rec").out)
        done = place.run("recover", "run.rec", "-o", "run.json")
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("\n  its observer was killed; how it ended is not known\n", done.out)
        end = json.loads(pathlib.Path("run.json").read_text(encoding="utf-8"))["run"]["end"]
        self.assertEqual(end["reason"], "unknown")
        self.assertNotIn("finished", done.out)


if __name__ == "__main__":
    place.main()
