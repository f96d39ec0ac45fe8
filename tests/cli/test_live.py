# SPDX-License-Identifier: MIT
"""`resmon live`: one page, and a terminal that it takes and gives back."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import place

SLOW = ("import sys, time\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import resmon\n"
        "with resmon.Monitor(record='run.rec', interval=0.05):\n"
        "    with resmon.scope('training'):\n"
        "        for _ in range(40000):\n"
        "            with resmon.scope('step'): time.sleep(0.02); sum(range(20000))\n")


class Terminal:
    """A command on a terminal of 100 by 30."""

    def __init__(self, *words, **environment):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.process = subprocess.Popen([place.RESMON, *map(str, words)], stdin=slave, stdout=slave, stderr=slave,
                                        env={**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environment},
                                        start_new_session=True)
        os.close(slave)
        self.text = ""

    def read_until(self, pattern, seconds=100):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if re.search(pattern, self.text):
                return True
            ready, _, _ = select.select([self.master], [], [], 0.1)
            try:
                self.text += os.read(self.master, 65536).decode(errors="replace") if ready else ""
            except OSError:
                break
        return bool(re.search(pattern, self.text))

    def type(self, keys):
        os.write(self.master, keys.encode())

    def end(self):
        try:
            self.process.wait(100)
        finally:
            self.process.kill()
            if self.master is not None:
                os.close(self.master)
        return self.process.returncode


class Live(place.Case):
    def setUp(self):
        super().setUp()
        self.sleeper = subprocess.Popen([sys.executable, "-c", "import time\nfor i in range(100000): time.sleep(0.01)"])
        self.addCleanup(self.sleeper.wait)
        self.addCleanup(self.sleeper.kill)

    def terminal(self, *words, **environment):
        places = (f"{base}/terminfo/x/xterm-256color" for base in ("/etc", "/lib", "/usr/lib", "/usr/share"))
        if not any(map(os.path.exists, places)):
            self.skipTest("no terminal xterm-256color is known here (Debian: ncurses-base)")
        terminal = Terminal(*words, **environment)
        self.addCleanup(terminal.process.kill)
        if not terminal.read_until(r"memory|ncurses"):
            self.fail(f"no page: {terminal.text!r}")
        if "ncurses" in terminal.text:
            self.skipTest("ncurses is not installed")
        return terminal

    def test_one_page_of_a_process(self):
        done = place.run("live", "--once", self.sleeper.pid)
        self.assertEqual(done.code, 0, done.err)
        self.assertRegex(done.out, rf"^python\S*   pid {self.sleeper.pid} on \S+   running for ")
        self.assertRegex(done.out, r"(?m)^  memory +\S+ MiB .*peak .* left ")
        self.assertRegex(done.out, r"(?m)^  CPU +\d+ %")

    def test_one_page_of_a_recording_with_open_scopes(self):
        package = os.environ.get("RESMON_PACKAGE")
        if not package:
            self.skipTest("the Python package is not here")
        program = subprocess.Popen([sys.executable, "-c", SLOW, package],
                                   env={**os.environ, "RESMON_LIBRARY": os.environ.get("RESMON_LIBRARY_BUILT", "")})
        try:
            page = ""
            until = time.monotonic() + 100
            while "step" not in page and time.monotonic() < until and program.poll() is None:
                time.sleep(0.2)
                page = place.run("live", "-1", "run.rec").out
            if program.poll() is not None and "step" not in page:
                self.skipTest("the package does not run here")
            self.assertRegex(page, r"(?m)^  training +1 .*\d (m|u)?s$")
            self.assertRegex(page, r"(?m)^    step +\d+ ")
            self.assertIn("running for", page)
        finally:
            program.kill()
            program.wait()
        self.assertNotIn("running for", place.run("live", "-1", "run.rec").out)

    def test_a_terminal_is_taken_and_given_back(self):
        terminal = self.terminal("live", "-n", "0.2", self.sleeper.pid)
        self.assertTrue(terminal.read_until(r"q end"))
        terminal.type("wfp")
        self.assertTrue(terminal.read_until(r"paused"))
        terminal.type("q")
        self.assertEqual(terminal.end(), 0)
        self.assertIn("\x1b[?1049h", terminal.text)

    def test_the_end_of_the_process_stays_on_the_page(self):
        terminal = self.terminal("live", "-n", "0.1", self.sleeper.pid)
        self.sleeper.kill()
        self.sleeper.wait()
        self.assertTrue(terminal.read_until(r"it has ended"))
        terminal.type("q")
        self.assertEqual(terminal.end(), 0)

    def test_a_terminal_that_goes_away(self):
        terminal = self.terminal("live", "-n", "0.1", self.sleeper.pid)
        os.close(terminal.master)
        terminal.master = None
        self.assertIn(terminal.end(), (0, -signal.SIGHUP))

    def test_wrong_words(self):
        for words in (("live",), ("live", "nothing"), ("live", "0"), ("live", "-n", "x", "1"), ("live", "/etc/passwd")):
            done = place.run(*words)
            self.assertNotEqual(done.code, 0, words)
            self.assertTrue(done.err, words)
        self.assertIn("--once", place.run("live", self.sleeper.pid).err)


if __name__ == "__main__":
    place.main()
