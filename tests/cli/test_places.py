# SPDX-License-Identifier: MIT
"""`resmon run` where little can be seen: as nobody, as process 1, without /proc, behind filters, of a setuid program."""
import os
import pathlib
import shutil
import stat
import subprocess

import place

PROFILE = os.environ.get("RESMON_WITH_PROFILE", "")


def wrapped(wrapper, *words):
    return subprocess.run([*wrapper, place.RESMON, "run", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, timeout=60)


class Places(place.Case):
    limits_of_memory = () if "SANITIZER" in os.environ.get("RESMON_CLI_BUILD", "") else ("ulimit -v 400000",)

    def needs(self, *tools):
        for tool in tools:
            if not shutil.which(tool):
                self.skipTest(f"{tool} is not installed")
        if os.getuid() != 0:
            self.skipTest("only root makes such places")

    def needs_namespaces(self):
        self.needs("unshare")
        if subprocess.run(["unshare", "-pf", "--mount-proc", "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no namespaces can be made here")

    def test_as_nobody(self):
        self.needs("setpriv")
        os.chmod(self.room, 0o777)
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        if subprocess.run([*as_nobody, place.RESMON, "--version"], capture_output=True, check=False).returncode != 0:
            self.skipTest("nobody cannot reach the command here")
        done = wrapped(as_nobody, "--json=run.json", "--", "sh", "-c", "id -u; exit 3")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (3, "65534\n", ""))
        self.assertEqual(stat.S_IMODE(os.stat("run.json").st_mode), 0o600)

    def test_a_setuid_program(self):
        """Its I/O is closed to us: what was seen before its exec is not shown for its own."""
        self.needs("setpriv")
        os.chmod(self.room, 0o777)
        shutil.copy(shutil.which("dd"), "dd")
        os.chmod("dd", 0o4755)
        as_nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        status = pathlib.Path("/proc/self/status").read_text(encoding="utf-8")
        if os.statvfs(".").f_flag & os.ST_NOSUID or "NoNewPrivs:\t1" in status:
            self.skipTest("setuid programs have no rights of their own here")
        os.mkfifo("fifo", 0o666)
        command = [*as_nobody, place.RESMON, "run", "--interval=10ms", "--json=run.json", "--json.interval=50ms",
                   "--summary", "--", "./dd", "if=fifo", "of=/dev/null"]
        with open("said", "wb") as said, subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=said) as process:
            def opened():
                """Once dd has it open, it is behind its exec."""
                try:
                    return os.open("fifo", os.O_WRONLY | os.O_NONBLOCK)
                except OSError:
                    return process.poll() is not None and -1
            fifo = place.until(opened)
            if fifo == -1:
                self.skipTest("nobody cannot run the commands here")
            before = place.seen_of("run.json", "tree.processes", "n")
            place.until(lambda: place.seen_of("run.json", "tree.processes", "n") > before + 2)
            os.close(fifo)
            self.assertEqual(process.wait(timeout=60), 0)
        self.assertRegex(pathlib.Path("said").read_text(encoding="utf-8"), r"(?m)^  read .*(\n .*)?unavailable: .*denied")

    def test_as_process_1(self):
        self.needs_namespaces()
        done = wrapped(["unshare", "-pf", "--mount-proc"], "--", "sh", "-c", "exit 4")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("sh failed after", done.stderr)
        done = wrapped(["unshare", "-pf", "--mount-proc"], "-q", "--", "sh", "-c", "kill -9 $$")
        self.assertEqual(done.returncode, 137, done.stderr)  # no signal ends process 1

    def test_another_proc(self):
        self.needs_namespaces()
        done = wrapped(["unshare", "-pf"], "--", "sh", "-c", "exit 5")
        self.assertEqual(done.returncode, 5, done.stderr)

    @place.not_sanitized  # which reads it
    def test_without_proc(self):
        self.needs_namespaces()
        done = subprocess.run(["unshare", "-m", "sh", "-c", f"umount -l /proc && exec '{place.RESMON}' run -- sh -c 'exit 6'"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)
        if "umount" in done.stderr:
            self.skipTest("/proc cannot be taken away here")
        self.assertEqual(done.returncode, 6, done.stderr)
        self.assertIn("there is no /proc here", done.stderr)
        self.assertIn("of CPU time", done.stderr)

    def test_behind_filters_of_system_calls(self):
        if not os.path.exists(PROFILE):
            self.skipTest("there are no filters in this build")
        for profile in ("container", "rhel8", "no-close-range", "no-waitid"):
            done = wrapped([PROFILE, profile], "--", "sh", "-c", "exit 7")
            self.assertEqual(done.returncode, 7, (profile, done.stderr))
            self.assertIn("sh failed after", done.stderr)

    def test_few_descriptors_and_little_memory(self):
        for limit in ("ulimit -n 12", "ulimit -f 0", *self.limits_of_memory):
            done = subprocess.run(["sh", "-c", f"{limit}; exec '{place.RESMON}' run -- sh -c 'exit 9'"], capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL, check=False, timeout=60,
                                  env={"PATH": os.environ["PATH"]})  # texts of a language may take all of the memory
            self.assertEqual(done.returncode, 9, (limit, done.stderr))

    def test_a_terminal_that_goes_away(self):
        """Nobody reads what is said."""
        with subprocess.Popen([place.RESMON, "run", "--", "sh", "-c", "sleep 0.3; exit 8"], stderr=subprocess.PIPE) as process:
            process.stderr.close()
            self.assertEqual(process.wait(timeout=60), 8)

    def test_a_full_disk(self):
        self.needs_namespaces()
        script = ("mkdir full && mount -t tmpfs -o size=8k none full && exec '" + place.RESMON +
                  "' run --json=full/run.json -- sh -c 'exit 3'")
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=60)
        if "mount" in done.stderr:
            self.skipTest("no file system can be mounted here")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("json: ", done.stderr)
        self.assertIn("sh failed after", done.stderr)  # the summary instead


if __name__ == "__main__":
    place.main()
