# SPDX-License-Identifier: MIT
"""Programs that libresmon is in, below `resmon run`: their scopes are in its run, whatever becomes of them."""
import fcntl
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import termios
import unittest

import place

HELLO = os.environ.get("RESMON_EXAMPLES", "") + "/hello"
LIBRARY = os.environ.get("RESMON_LIBRARY_BUILT", "")
PACKAGE = os.environ.get("RESMON_PACKAGE", "")


def directory_so_far():
    """Which its program was given, and has written down; what a resmon has open may be another's, that it looks at."""
    try:
        with open("directory", encoding="utf-8") as file:
            return file.read().rstrip("\n")
    except OSError:
        return ""


def named(scopes, path):
    for name in path.split("/"):
        scopes = [scope for scope in scopes if scope["name"] == name]
        found, scopes = scopes[0], scopes[0].get("children", [])
    return found


class Scopes(place.Case):
    def setUp(self):
        super().setUp()
        if not os.path.exists(HELLO):
            self.skipTest("the examples are not built")
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("there is no /dev/shm to gather in")

    @staticmethod
    def running(script="read x"):
        """Below resmon, until the end of the block, which is that of its input."""
        script = f'echo "$RESMON_RUN" >directory; {script}'
        return subprocess.Popen([place.RESMON, "run", "-q", "--", "sh", "-c", script], stdin=subprocess.PIPE)

    def test_of_one_program(self):
        document = self.document("--", HELLO)
        self.assertEqual(named(document["scopes"], "main/round")["calls"], 3)
        [process] = document["processes"]
        self.assertEqual((process["name"], process["reason"], process["scopes"]), ("hello", "finished", 4))
        self.assertGreater(process["pid"], 1)

    def test_it_has_its_streams_for_itself(self):
        alone = subprocess.run([HELLO], capture_output=True, check=True)
        done = place.run("run", "-q", "--json=run.json", "--", HELLO)
        self.assertEqual((done.out.encode(), done.err), (alone.stdout, ""))

    def test_of_several(self):
        document = self.document("--scopes=wall+rss", "--", "sh", "-c", f"{HELLO} & {HELLO} & wait; exec {HELLO}")
        self.assertEqual(named(document["scopes"], "main")["calls"], 3)
        self.assertEqual(named(document["scopes"], "main/round/sort")["calls"], 9)
        self.assertGreater(named(document["scopes"], "main/round/sort")["rss_peak_bytes"], 1 << 20)
        self.assertEqual([process["name"] for process in document["processes"]], ["hello"] * 3)
        # Nothing is counted twice: the tree's CPU time is the kernel's account.
        usage = document["run"]["usage"]
        columns = [column["metric"] for column in document["columns"]]
        tree = document["summary"]["columns"][columns.index("tree.cpu.time")]["last"]
        self.assertAlmostEqual(tree / (usage["user_s"] + usage["system_s"]), 1, delta=0.02)

    def test_energy_of_scopes(self):
        """Each program divides what its processes bear, with the carbon intensity of the run; nothing, where the run
        has no energy."""
        document = self.document("--carbon.g_per_kwh=250", "--", "sh", "-c", f"{HELLO}; {HELLO}")
        main = named(document["scopes"], "main")
        self.assertAlmostEqual(main["energy_gco2eq"], 250 * main["energy_it_kwh"], delta=1e-9)
        document = self.document("--domains=process+tree", "--", HELLO)
        self.assertNotIn("energy_joules", named(document["scopes"], "main"))

    def test_options_of_scopes(self):
        """They are of the programs that have some."""
        document = self.document("--scopes=wall", "--scope-depth=1", "--", HELLO)
        self.assertEqual(named(document["scopes"], "main").get("children", []), [])
        self.assertIn("there is no option '--scopes'", place.run("attach", "--scopes=wall", "1").err)

    def test_of_a_resmon_run_in_it(self):
        """Both have the scopes."""
        document = self.document("--", "sh", "-c", f"{place.RESMON} run -q --json=inner.json -- {HELLO} && {HELLO}")
        with open("inner.json", encoding="utf-8") as file:
            inner = json.load(file)
        self.assertEqual(named(inner["scopes"], "main")["calls"], 1)
        self.assertEqual(named(document["scopes"], "main")["calls"], 2)
        self.assertEqual([process["name"] for process in document["processes"]], ["hello"] * 2)

    @place.not_sanitized
    @unittest.skipUnless(shutil.which("stdbuf"), "stdbuf is not installed")
    def test_of_one_that_is_killed(self):
        """While it cannot write the second of its lines, to a pipe that has room for the first."""
        reader, writer = os.pipe()
        room = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
        os.write(writer, bytes(room - 40))
        script = f"stdbuf -oL {HELLO} & echo $! >pid; wait $!; exit 0"
        command = [place.RESMON, "run", "-q", "--json=run.json", "--", "sh", "-c", script]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=writer) as process:
            os.close(writer)
            waiting = bytearray(4)
            place.until(lambda: not fcntl.ioctl(reader, termios.FIONREAD, waiting, True) and
                        int.from_bytes(waiting, sys.byteorder) > room - 40)
            with open("pid", encoding="utf-8") as file:
                os.kill(int(file.read()), signal.SIGKILL)
        os.close(reader)
        with open("run.json", encoding="utf-8") as file:
            document = json.load(file)
        [process] = document["processes"]
        self.assertEqual(process["reason"], "unknown")
        self.assertEqual(named(document["scopes"], "main")["open"], 1)

    def test_its_own_options_hold(self):
        os.environ["RESMON"] = "json=own.json,scopes=wall+cpu"
        try:
            document = self.document("--", HELLO)
        finally:
            del os.environ["RESMON"]
        self.assertTrue(os.path.exists("own.json"))
        self.assertGreater(named(document["scopes"], "main").get("cpu_calls", 0), 0)

    def test_of_one_that_records(self):
        """As a site's TaskProlog has it: its recording has them, too, and is where it was wanted."""
        os.environ["RESMON"] = f"record={os.path.abspath('own-%p.rec')}"
        try:
            document = self.document("--", HELLO)
            killed = self.document("--", "sh", "-c", f"{HELLO} & until [ -s own-$!.rec ]; do sleep 0.01; done; kill -9 $!; wait")
        finally:
            del os.environ["RESMON"]
        self.assertEqual(named(document["scopes"], "main/round")["calls"], 3)
        self.assertEqual([process["name"] for process in killed["processes"]], ["hello"])
        recordings = glob.glob("own-*.rec")
        self.assertEqual(len(recordings), 2)
        for recording in recordings:
            self.assertEqual(place.run("report", recording).code, 0)

    def test_wrong_meters(self):
        done = place.run("run", "--scopes=wall+magic", "--", "touch", "ran")
        self.assertEqual(done.code, 125)
        self.assertIn("magic", done.err)
        self.assertFalse(os.path.exists("ran"))

    def test_nothing_is_left(self):
        """However the program ends, or when resmon is told to."""
        for script, wanted in (("read x", None), ("read x; kill -9 $$", None), ("exec sleep 1000", signal.SIGTERM)):
            with self.running(script) as process:
                path = place.until(directory_so_far)
                if wanted is not None:
                    process.send_signal(wanted)
            self.assertFalse(os.path.exists(path), script)
            os.unlink("directory")

    def test_what_a_killed_resmon_left_is_swept(self):
        with self.running() as process:
            path = place.until(directory_so_far)
            process.kill()
        place.run("run", "-q", "--", "true")  # this one or another of a test beside
        self.assertFalse(os.path.exists(path))

    def test_what_is_not_ours_is_not_swept(self):
        """Links, files, and directories that others can write to or whose owner is alive."""
        os.mkdir("victim")
        with open("victim/file", "w", encoding="utf-8") as file:
            file.write("mine")
        link, shared = f"/dev/shm/resmon-run-99999999-{os.getpid()}", f"/dev/shm/resmon-run-shared-{os.getpid()}"
        os.symlink(os.path.abspath("victim"), link)
        os.mkdir(shared)
        os.chmod(shared, 0o777)
        try:
            with self.running() as process:
                held = place.until(directory_so_far)
                place.run("run", "-q", "--", "true")
                self.assertTrue(os.path.exists(held))
                self.assertEqual(os.listdir("victim"), ["file"])
                self.assertTrue(os.path.isdir(shared))
        finally:
            os.unlink(link)
            os.rmdir(shared)

    def test_no_secret_of_a_program_is_in_the_result(self):
        with open("work.sh", "w", encoding="utf-8") as file:
            file.write(f"exec {HELLO} hunter2secret\n")
        document = self.document("--redact", "--", "sh", "work.sh", "hunter2secret")
        self.assertEqual(len(document["processes"]), 1)
        self.assertNotIn("hunter2secret", json.dumps(document))

    @unittest.skipUnless(os.path.exists(LIBRARY) and "SANITIZER" not in os.environ.get("RESMON_CLI_BUILD", ""),
                         "Python cannot load this library")
    def test_of_python(self):
        script = ("import resmon\nwith resmon.scope('outer'):\n    for _ in range(3):\n"
                  "        with resmon.scope('inner'):\n            sum(range(1000))\n")
        with open("work.py", "w", encoding="utf-8") as file:
            file.write(script)
        environment = {**os.environ, "RESMON_LIBRARY": LIBRARY, "PYTHONPATH": PACKAGE}
        document = self.document("--", sys.executable, "-B", "work.py", env=environment)
        self.assertEqual(named(document["scopes"], "outer/inner")["calls"], 3)
        self.assertEqual(document["processes"][0]["name"], "work.py")


if __name__ == "__main__":
    place.main()
