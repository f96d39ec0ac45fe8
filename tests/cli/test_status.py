# SPDX-License-Identifier: MIT
"""Exit statuses, signals, streams and the terminal of `resmon run`, beside those of timeout and strace."""
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest

import place


def of(*words):
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode


COMMANDS = [
    ["true"], ["false"], ["sh", "-c", "exit 7"], ["sh", "-c", "exit 255"], ["sh", "-c", "exit 137"],
    ["sh", "-c", "kill -TERM $$"], ["sh", "-c", "kill -KILL $$"], ["sh", "-c", "kill -INT $$"],
    ["sh", "-c", "ulimit -c 0; kill -SEGV $$"], ["sh", "-c", "kill -HUP $$"], ["sh", "-c", "kill -USR1 $$"],
    ["sh", "-c", "kill -PIPE $$"],
]


class Status(place.Case):
    def test_it_is_that_of_the_command(self):
        can_trace = shutil.which("strace") and of("strace", "-qq", "-o", "/dev/null", "true") == 0
        for command in COMMANDS:
            alone = of(*command)
            with self.subTest(command=command):
                self.assertEqual(place.run("run", "-q", "--", *command).code, alone)
                if can_trace:
                    self.assertEqual(of("strace", "-qq", "-o", "/dev/null", *command), alone)

    @place.needs_json
    def test_who_only_looks_on(self):
        """Stopping to look is no end of the program; and how it ended, Linux 6.15 says to others than its parent, too."""
        for ends, known in (("goes on", ["unknown"]), ("exit 3", ["failed", "unknown"]), ("kill -9 $$", ["killed", "unknown"])):
            command = ["sh", "-c", f"read gate; {ends}"]
            with self.subTest(ends=ends), subprocess.Popen(command, stdin=subprocess.PIPE) as process:
                with subprocess.Popen([place.RESMON, "attach", "-q", "--record=run.rec", "-o", "run.json", str(process.pid)]) as attached:
                    place.until(lambda: os.path.exists("run.rec"))
                    if ends == "goes on":
                        attached.terminate()
                        self.assertEqual(attached.wait(), 0)
                    process.stdin.close()
                    process.wait()
                    self.assertEqual(attached.wait(), 0)
                with open("run.json", encoding="utf-8") as file:
                    end = json.load(file)["run"]["end"]
                self.assertIn(end["reason"], known)
                wanted = {"failed": (3, 0), "killed": (0, signal.SIGKILL), "unknown": (0, 0)}[end["reason"]]
                self.assertEqual((end["exit_status"], end["signal"]), wanted)
                os.unlink("run.rec")

    def test_a_command_that_cannot_be_run(self):
        os.mkdir("directory")
        with open("text", "w", encoding="utf-8") as file:
            file.write("no program\n")
        with open("wrong", "w", encoding="utf-8") as file:
            file.write("#!/nonexistent/interpreter\n")
        os.chmod("wrong", 0o700)
        for command in ("nonexistent-command", "./nonexistent", "./text", "./directory", "./wrong", "/dev/null", ""):
            done = place.run("run", "--", command)
            with self.subTest(command=command):
                self.assertEqual(done.code, of("timeout", "60", command))
                self.assertEqual(len(done.err.splitlines()), 1, done.err)
                self.assertEqual(done.out, "")

    def test_our_own_failures(self):
        for words in ([], ["--"], ["--nonsense", "true"], ["--interval=0", "true"], ["-o", "run.xls", "true"],
                      ["-o", "/proc/none/run.json", "true"], ["--record=/nonexistent/run.rec", "-q", "true"]):
            done = place.run("run", *words)
            with self.subTest(words=words):
                if words[:1] == ["--record=/nonexistent/run.rec"]:
                    self.assertEqual(done.code, 0)  # the command runs unobserved
                    self.assertIn("runs unobserved", done.err)
                else:
                    self.assertEqual(done.code, 125)
                    self.assertIn("resmon", done.err)

    def test_the_streams_are_the_commands(self):
        done = place.run("run", "--", "sh", "-c", "cat; echo to stderr >&2", stdin=None, input=b"a\0b\nc")
        self.assertEqual(done.out, "a\0b\nc")
        self.assertTrue(done.err.startswith("to stderr\nsh took "), done.err)

    def test_closed_streams(self):
        probe = 'for i in 0 1 2; do [ -e /proc/self/fd/$i ] && printf 1 || printf 0; done >result'
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed=closed):
                code = of("sh", "-c", f"exec '{place.RESMON}' run -- sh -c '{probe}' {closed}")
                self.assertEqual(code, 0)
                with open("result", encoding="utf-8") as file:
                    by_us = file.read()
                of("sh", "-c", f"exec sh -c '{probe}' {closed}")
                with open("result", encoding="utf-8") as file:
                    self.assertEqual(by_us, file.read())

    def test_no_descriptor_of_ours_is_in_the_command(self):
        by_us = place.run("run", "-q", "--", "sh", "-c", "ls /proc/self/fd | wc -l").out
        alone = subprocess.run(["sh", "-c", "ls /proc/self/fd | wc -l"], capture_output=True, check=True, text=True).stdout
        self.assertEqual(by_us, alone)

    def test_signals_to_us_alone_are_passed_on(self):
        script = ("import os, signal, sys, time\n"  # a handler may not print while print() does
                  "def on(number, frame): os.write(1, b'%d\\n' % number); sys.exit(3)\n"
                  "for n in (1, 2, 10, 12, 15): signal.signal(n, on)\n"
                  "print('ready', flush=True); time.sleep(60)")
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM):
            with subprocess.Popen([place.RESMON, "run", "-q", "--", sys.executable, "-c", script],
                                  stdout=subprocess.PIPE, text=True) as process, self.subTest(number=number):
                self.assertEqual(process.stdout.readline(), "ready\n")
                process.send_signal(number)
                self.assertEqual(process.stdout.read(), f"{int(number)}\n")
                self.assertEqual(process.wait(timeout=60), 3)

    def test_other_signals_reach_it_too(self):
        script = ("import os, signal, time\n"
                  "for n in (14, 24, 28, 34): signal.signal(n, lambda number, frame: os.write(1, b'%d\\n' % number))\n"
                  "print('ready', flush=True)\nfor _ in range(2000): time.sleep(0.05)\n")
        with subprocess.Popen([place.RESMON, "run", "-q", "--", sys.executable, "-c", script], stdout=subprocess.PIPE,
                              text=True) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            for number in (14, 24, 28, 34):
                process.send_signal(number)
                self.assertEqual(process.stdout.readline(), f"{number}\n")
            process.terminate()
            self.assertEqual(process.wait(timeout=60), -signal.SIGTERM)

    def test_what_it_sends_to_its_parent_does_not_come_back(self):
        done = place.run("run", "-q", "--", "sh", "-c", "kill -TERM $PPID; sleep 0.2; echo survived")
        self.assertEqual((done.code, done.out), (0, "survived\n"))

    def test_a_command_that_did_not_begin_has_failed(self):
        self.assertEqual(place.run("run", "--json=run.json", "--", "nonexistent-command").code, 127)
        with open("run.json", encoding="utf-8") as file:
            end = json.load(file)["run"]["end"]
        self.assertEqual((end["reason"], end["exit_status"]), ("failed", 127))

    def test_what_is_ignored_stays_ignored(self):
        code = of("sh", "-c", f"trap '' HUP; exec '{place.RESMON}' run -q -- sh -c 'kill -HUP $$; exit 5'")
        self.assertEqual(code, 5)
        # SIGCHLD ignored would take the status away.
        code = of("sh", "-c", f"trap '' CHLD; exec '{place.RESMON}' run -q -- sh -c 'exit 6'")
        self.assertEqual(code, 6)

    def test_a_command_that_leaves_children(self):
        done = place.run("run", "--", "sh", "-c", "setsid sleep 1000 >/dev/null 2>&1 & echo $! >pid; exit 4", stdin=None)
        with open("pid", encoding="utf-8") as file:
            os.kill(int(file.read()), signal.SIGKILL)  # it was not waited for
        self.assertEqual(done.code, 4)
        self.assertIn("sh failed after", done.err)


class Leader(place.Case):
    """resmon is what a terminal was made for: `ssh -t HOST resmon run ...`."""

    def test_the_terminal_goes_away(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(place.RESMON, ["resmon", "run", "-q", "--", "sh", "-c", "echo $$ >pid; exec sleep 60"])
        while not (os.path.exists("pid") and os.path.getsize("pid") > 0):
            time.sleep(0.02)
        with open("pid", encoding="utf-8") as file:
            command = int(file.read())
        os.close(terminal)
        status = os.waitpid(pid, 0)[1]
        self.assertTrue(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGHUP, status)
        self.assertFalse(os.path.exists(f"/proc/{command}"))


@unittest.skipUnless(shutil.which("bash"), "bash is not installed")
class Terminal(place.Case):
    """With a shell that has job control, on a terminal of its own."""

    def setUp(self):
        super().setUp()
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ.update(PS1="$ ", TERM="dumb")
            os.environ["RESMON_TEST"] = place.RESMON
            os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
        self.seen = ""
        self.addCleanup(self.end)

    def end(self):
        os.close(self.terminal)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    def type(self, text):
        os.write(self.terminal, text.encode())

    def expect(self, text, again=None):
        """Reads until the text has come; meanwhile types something again each second."""
        until = time.monotonic() + 60
        while text not in self.seen:
            left = until - time.monotonic()
            self.assertGreater(left, 0, f"no {text!r} in {self.seen!r}")
            if select.select([self.terminal], [], [], 1 if again else left)[0]:
                self.seen += os.read(self.terminal, 65536).decode(errors="replace")
            elif again:
                self.type(again)
        self.seen = self.seen[self.seen.index(text) + len(text):]

    def go_on_and_read(self):
        self.type("fg\n")
        place.until(lambda: os.tcgetpgrp(self.terminal) != self.pid)  # the terminal is the program's
        self.type("word\n")
        self.expect("got-word")

    def test_control_c_comes_once(self):
        script = ("trap 'echo int-$((++n))' INT; echo up; while test -z $n; do sleep 0.1; done; "
                  "for i in 1 2 3 4 5 6; do sleep 0.1; done; echo n=$n end")
        self.type(f'"$RESMON_TEST" run -q -- bash -c "{script.replace("$", chr(92) + "$")}"; echo code-$?\n')
        self.expect("\nup\r\n")
        self.type("\x03")
        self.expect("int-1")
        self.expect("n=1 end")
        self.expect("code-0")

    def test_control_c_ends_both(self):
        self.type('"$RESMON_TEST" run -- sh -c "echo up; exec sleep 1000"; echo code-$?\n')
        self.expect("\nup\r\n")
        self.type("\x03")
        self.expect("sh was interrupted by SIGINT after")
        self.type("echo code=$?\n")
        self.expect("code=130")

    def test_control_z_and_back(self):
        self.type('"$RESMON_TEST" run -q -- sh -c "echo up; read x; echo got-\\$x"; echo code-$?\n')
        self.expect("\nup\r\n")
        self.type("\x1a")
        self.expect("Stopped")
        self.go_on_and_read()

    def test_control_z_below_a_page(self):
        """The command waits without starting any: a child of vfork(2) that is stopped keeps its parent from stopping."""
        os.mkfifo("go")
        self.type('TERM=xterm "$RESMON_TEST" run --live -- sh -c "read x <go; '
                  'echo went-\\$((6 * 7))"; echo code-$?\n')
        self.expect("q end")
        self.type("\x1a")
        self.expect("Stopped")
        self.type("fg\n")
        with open("go", "w", encoding="utf-8") as file:
            file.write("on\n")
        self.expect("went-42")
        self.expect("sh took")

    def test_control_z_of_a_page_alone(self):
        self.type('TERM=xterm "$RESMON_TEST" live $$\n')
        self.expect("q end")
        self.type("\x1a")
        self.expect("Stopped")
        self.type("stty -a | tr ' ' '\\n' | grep -c -x -e icanon -e echo; fg\n")
        self.expect("2\r\n")
        self.expect("q end")
        self.type("q")
        self.expect("1049l")
        self.type("echo code=$?\n")
        self.expect("code=0")

    def test_a_program_that_stops_itself(self):
        self.type('"$RESMON_TEST" run -q -- sh -c "kill -TSTP \\$\\$; echo went-on"; echo code-$?\n')
        self.expect("Stopped")
        self.type("fg\n")
        self.expect("went-on")

    def test_a_program_that_is_stopped_for_good(self):
        """SIGSTOP by itself: the shell has its prompt back, and fg lets it go on."""
        self.type('"$RESMON_TEST" run -q -- sh -c "kill -STOP \\$\\$; echo went-on"; echo code-$?\n')
        self.expect("Stopped")
        self.type("fg\n")
        self.expect("went-on")

    def test_a_terminal_that_stops_writers(self):
        self.type("stty tostop\n")
        self.type('"$RESMON_TEST" run -q -- nonexistent-command &\n')
        self.expect("No such file")
        self.type("wait $!; echo code-$?\n")
        self.expect("code-127")

    def test_a_background_job_reads_the_terminal(self):
        self.type('"$RESMON_TEST" run -q -- sh -c "read x; echo got-\\$x" &\n')
        self.expect("Stopped", again="\n")  # which the shell says before a prompt
        self.go_on_and_read()


if __name__ == "__main__":
    place.main()
