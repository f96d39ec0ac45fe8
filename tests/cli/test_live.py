# SPDX-License-Identifier: MIT
"""`resmon live` and `resmon run --live`: one page, and a terminal that is taken and given back."""
import fcntl
import os
import pathlib
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
    """A command on a terminal of 100 by 30, whose session it leads."""

    def __init__(self, *words, stdout=None, **environment):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.process = subprocess.Popen([place.RESMON, *map(str, words)], stdin=slave, stdout=stdout or slave,
                                        stderr=slave,
                                        env={**os.environ, "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **environment},
                                        start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
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


class Page(place.Case):
    def terminal(self, *words, **environment):
        terminal = Terminal(*words, **environment)
        self.addCleanup(terminal.process.kill)
        if not terminal.read_until(r"memory"):
            self.fail(f"no page: {terminal.text!r}")
        return terminal


class Live(Page):
    def setUp(self):
        super().setUp()
        self.sleeper = subprocess.Popen([sys.executable, "-c", "import time\nfor i in range(100000): time.sleep(0.01)"])
        self.addCleanup(self.sleeper.wait)
        self.addCleanup(self.sleeper.kill)

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

    def modes(self, terminal):
        return termios.tcgetattr(terminal.master)

    def test_a_signal_gives_the_terminal_back(self):
        plain = os.environ.get("ASAN_OPTIONS", "") + ":handle_segv=0"  # else the sanitizer has the last signal
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGSEGV):
            terminal = self.terminal("live", "-n", "0.2", self.sleeper.pid, ASAN_OPTIONS=plain)
            taken = self.modes(terminal)
            terminal.process.send_signal(number)
            self.assertEqual(terminal.process.wait(100), -number)
            self.assertTrue(terminal.read_until(r"\x1b\[\?25h\x1b\[\?1049l$"), terminal.text[-200:])
            self.assertFalse(taken[3] & termios.ECHO)
            self.assertTrue(self.modes(terminal)[3] & termios.ECHO and self.modes(terminal)[3] & termios.ICANON)
            terminal.end()

    def test_a_page_that_is_stopped_and_goes_on(self):
        terminal = self.terminal("live", "-n", "0.2", self.sleeper.pid)
        stat = pathlib.Path(f"/proc/{terminal.process.pid}/stat")
        terminal.process.send_signal(signal.SIGSTOP)
        place.until(lambda: stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "T")
        changed = self.modes(terminal)
        changed[3] |= termios.ECHO | termios.ICANON  # as a shell does
        termios.tcsetattr(terminal.master, termios.TCSANOW, changed)
        terminal.text = ""
        terminal.process.send_signal(signal.SIGCONT)
        self.assertTrue(terminal.read_until(r"(?s)1049h.*q end"), terminal.text)
        self.assertFalse(self.modes(terminal)[3] & termios.ECHO)
        terminal.type("q")
        self.assertEqual(terminal.end(), 0)

    def test_the_page_follows_the_size_of_the_terminal(self):
        terminal = self.terminal("live", "-n", "0.2", self.sleeper.pid)
        self.assertTrue(terminal.read_until(r"\x1b\[30;1H[^\n]* q end  p pause .*fold one"))
        terminal.text = ""
        fcntl.ioctl(terminal.master, termios.TIOCSWINSZ, struct.pack("HHHH", 12, 40, 0, 0))
        self.assertTrue(terminal.read_until(r"\x1b\[12;1H\x1b\[2K\x1b\[2m q end  p pause"), terminal.text)
        rows = re.findall(r"\x1b\[(\d+);1H\x1b\[2K(?:\x1b\[[0-9;]*m)*([^\x1b]*)", terminal.text)
        self.assertLessEqual(max(int(row) for row, _ in rows), 12)
        self.assertLessEqual(max(len(text) for _, text in rows), 40)
        terminal.type("\x1b")  # alone, it is the key that ends
        self.assertEqual(terminal.end(), 0)

    def test_keys_of_the_cursor_are_no_escape(self):
        terminal = self.terminal("live", "-n", "0.2", self.sleeper.pid)
        for keys in ("\x1b[A\x1b[B", "\x1bOA\x1bOB", "\x1b[1;5C\x1b[3~", "p"):
            terminal.type(keys)
        self.assertTrue(terminal.read_until(r"paused"))
        terminal.type("q")
        self.assertEqual(terminal.end(), 0)

    def test_terminals_that_cannot_have_a_page(self):
        for kind in ("dumb", ""):
            terminal = Terminal("live", self.sleeper.pid, TERM=kind)
            self.assertTrue(terminal.read_until(rf"TERM={kind}: --once prints the values once"), terminal.text)
            self.assertEqual(terminal.end(), 1)
            self.assertNotIn("\x1b", terminal.text)

    def test_a_name_is_no_sequence_of_the_terminal(self):
        """Colors are those of the page alone, and there are none with NO_COLOR."""
        program = subprocess.Popen([sys.executable, "-c", "import time\n"
                                    "open('/proc/self/comm', 'w').write('\\x1b[31mred')\ntime.sleep(1000)"])
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        place.until(lambda: "red" in pathlib.Path(f"/proc/{program.pid}/comm").read_text(encoding="utf-8"))
        terminal = self.terminal("live", "-n", "0.2", program.pid, NO_COLOR="1")
        self.assertTrue(terminal.read_until(r"q end"))
        terminal.type("q")
        self.assertEqual(terminal.end(), 0)
        self.assertNotRegex(terminal.text, r"\x1b\[[0-9;]*3[0-9]m")

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


class Run(Page):
    """What the command prints to the terminal is there when the page is gone, and before the summary."""

    WAIT = "while ! test -e go; do sleep 0.05; done"

    def shell(self, script, **how):
        return self.terminal("run", "--live", "--", "sh", "-c", script, **how)

    def ended(self, terminal, pattern):
        pathlib.Path("go").touch()
        self.assertTrue(terminal.read_until(pattern), terminal.text)
        return terminal.text[terminal.text.index("\x1b[?1049l"):]

    def test_until_the_command_ends(self):
        terminal = self.shell(f"echo printed-$((6 * 7)); cat; echo to-stderr >&2; {self.WAIT}; exit 3")
        self.assertTrue(terminal.read_until("to-stderr"), terminal.text)
        after = self.ended(terminal, "sh failed after")
        self.assertLess(after.index("printed-42"), after.index("to-stderr"))
        self.assertLess(after.index("to-stderr"), after.index("sh failed after"))
        self.assertEqual(terminal.end(), 3)

    def test_until_a_key_ends_it(self):
        terminal = self.shell(f"echo first; {self.WAIT}; echo second; kill -TERM $$")
        self.assertTrue(terminal.read_until("q end"))
        terminal.type("q")
        self.assertTrue(terminal.read_until(r"(?s)1049l.*first"), terminal.text)
        after = self.ended(terminal, "sh was killed")
        self.assertLess(after.index("first"), after.index("second"))
        self.assertEqual(after.count("first"), 1)
        self.assertEqual(terminal.end(), -signal.SIGTERM)

    def test_all_are_stopped_and_go_on_one_by_one(self):
        terminal = self.shell(f"echo up; {self.WAIT}")
        self.assertTrue(terminal.read_until("q end"))
        resmon = terminal.process.pid
        command = int(pathlib.Path(f"/proc/{resmon}/task/{resmon}/children").read_text(encoding="ascii").split()[0])
        for pid in (resmon, command):
            os.kill(pid, signal.SIGSTOP)
            stat = pathlib.Path(f"/proc/{pid}/stat")
            place.until(lambda stat=stat: stat.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "T")
        os.kill(resmon, signal.SIGCONT)
        time.sleep(0.02)
        os.kill(command, signal.SIGCONT)
        self.ended(terminal, "sh took")
        self.assertEqual(terminal.end(), 0)

    def test_of_open_scopes_which_can_be_folded(self):
        if not os.environ.get("RESMON_PACKAGE") or not place.can_be_loaded:
            self.skipTest("Python cannot load this library")
        pathlib.Path("work.py").write_text(
            "import os, time, resmon\nwith resmon.scope('training'):\n    with resmon.scope('epoch'):\n"
            "        while not os.path.exists('go'):\n            time.sleep(0.05)\n", encoding="utf-8")
        terminal = self.terminal("run", "--live", "--", sys.executable, "work.py",
                                 PYTHONPATH=os.environ["RESMON_PACKAGE"],
                                 RESMON_LIBRARY=os.environ.get("RESMON_LIBRARY_BUILT", ""))
        self.assertTrue(terminal.read_until(r"(?s)scope of work.py.*training.*epoch"), terminal.text)
        terminal.type("j")
        terminal.type("\r")
        self.assertTrue(terminal.read_until(r"\+ +training|\+[^ ]*\x1b"), terminal.text)
        self.ended(terminal, "work.py took")
        self.assertEqual(terminal.end(), 0)

    def test_what_is_no_terminal_is_left_alone(self):
        with open("out", "wb") as file:
            terminal = self.shell(f"echo to-file; {self.WAIT}; echo to-terminal >&2", stdout=file)
        place.until(lambda: pathlib.Path("out").read_bytes() == b"to-file\n")
        self.assertIn("to-terminal", self.ended(terminal, "sh took"))
        self.assertEqual((terminal.end(), pathlib.Path("out").read_bytes()), (0, b"to-file\n"))

    def test_without_a_terminal_nothing_begins(self):
        with open("out", "wb") as file:
            done = subprocess.run([place.RESMON, "run", "--live", "--", "touch", "ran"], stdin=subprocess.DEVNULL,
                                  stdout=file, stderr=subprocess.PIPE, start_new_session=True, check=False)
        self.assertEqual(done.returncode, 125)
        self.assertIn(b"a terminal is needed", done.stderr)
        self.assertFalse(os.path.exists("ran"))

    def test_a_command_that_cannot_be(self):
        done = Terminal("run", "--live", "--", "nonexistent-command")
        self.addCleanup(done.process.kill)
        self.assertTrue(done.read_until("No such file"), done.text)
        self.assertEqual(done.end(), 127)


if __name__ == "__main__":
    place.main()
