# SPDX-License-Identifier: MIT
"""What a site installs for all of its users (examples/site): a TaskProlog under a real slurmd, and a module file.

    CLUSTER_TASK_PROLOG=task_prolog.sh sh slurm_cluster.sh python3 test_site.py HELLO SITE
"""
import glob
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HELLO, SITE = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])


class TaskProlog(unittest.TestCase):
    def setUp(self):
        room = tempfile.TemporaryDirectory(prefix="resmon-site-")
        self.addCleanup(room.cleanup)
        self.home = pathlib.Path(room.name)

    def srun(self, *words, **variables):
        environment = {name: value for name, value in os.environ.items() if name != "RESMON"}
        done = subprocess.run(["srun", *words], capture_output=True, text=True, check=False, timeout=120, cwd="/",
                              env={**environment, "HOME": str(self.home), **variables})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_each_task_leaves_a_recording(self):
        self.srun("-N2", "--ntasks-per-node=2", HELLO)
        names = sorted(path.name.split("-p")[0] for path in (self.home / "resmon").iterdir())
        job = names[0].split("-")[0]
        self.assertEqual(names, [f"{job}-{node}-r{rank}" for rank, node in enumerate(("n1", "n1", "n2", "n2"))])

    def test_what_the_user_said_stays(self):
        self.assertEqual(self.srun("-n1", "printenv", "RESMON", RESMON="summary").strip(), "summary")
        self.assertFalse((self.home / "resmon").exists())

    def test_no_task_fails_for_it(self):
        """Nor is a node drained."""
        (self.home / "resmon").write_text("no directory")
        self.assertEqual(self.srun("-n1", "sh", "-c", "echo ${RESMON-none}").strip(), "none")
        self.assertEqual(self.srun("-n1", "sh", "-c", "echo ${RESMON-none}", HOME="").strip(), "none")
        states = subprocess.run(["sinfo", "-h", "-N", "-o", "%t"], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("drain", states)


class Module(unittest.TestCase):
    def test_load(self):
        commands = [*glob.glob("/usr/lib/*/modulecmd.tcl"), *glob.glob("/usr/share/modules/libexec/modulecmd.tcl")]
        if not commands or not shutil.which("tclsh"):
            self.skipTest("no Environment Modules (Debian: environment-modules)")
        with tempfile.TemporaryDirectory(prefix="resmon-module-") as room:
            shutil.copy(f"{SITE}/resmon.module", f"{room}/resmon")
            done = subprocess.run(["sh", "-c", 'eval "$(tclsh "$1" sh load resmon)"; echo "$PATH"; echo "$LD_LIBRARY_PATH"', "sh", commands[0]],
                                  capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"], "MODULEPATH": room})
        path, libraries = done.stdout.splitlines()
        self.assertEqual((path.split(":")[0], libraries), ("/opt/resmon/bin", "/opt/resmon/lib"), done.stderr)


if __name__ == "__main__":
    del sys.argv[1:3]
    result = unittest.main(exit=False).result
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}")
    sys.exit(0 if result.wasSuccessful() else 1)
