# SPDX-License-Identifier: MIT
"""How programs of Python end, under RESMON and with monitors of their own: whoever waits for them, and whoever reads
what they print, sees the same as without; and the run says how it was."""
import signal
import subprocess
import sys

import pytest

import resmon
from conftest import child_environment

KEYS = "record=run.rec,scopes=wall+cpu"

# of a run of the command and of a monitor of the program's own
# name: source, exit code (as subprocess has it), (reason, exit status, signal, text); each begins with "import resmon"
BOTH = {
    "the end": ("", 0, ("finished", 0, "", "")),
    "sys.exit()": ("import sys; sys.exit()", 0, ("finished", 0, "", "")),
    "sys.exit(3)": ("import sys; sys.exit(3)", 3, ("failed", 3, "", "")),
    "sys.exit(text)": ("import sys; sys.exit('no data')", 1, ("failed", 1, "", "")),
    "os._exit(0)": ("import os; os._exit(0)", 0, ("finished", 0, "", "")),
    "os._exit(4)": ("import os; os._exit(4)", 4, ("failed", 4, "", "")),
    "os._exit in a thread": ("import os, threading, time; threading.Thread(target=os._exit, args=(5,)).start()\n"
                             "time.sleep(60)", 5, ("failed", 5, "", "")),
    "a child of a fork": ("import os; pid = os.fork()\nif pid == 0: os._exit(7)\nassert os.waitpid(pid, 0)[1] == 7 << 8", 0,
                          ("finished", 0, "", "")),
}
WAYS = BOTH | {
    "an exception": ("raise ValueError('no such  \\n column')", 1, ("failed", 1, "", "ValueError: no such column")),
    "one without a text": ("def f(): raise KeyError\nf()", 1, ("failed", 1, "", "KeyError")),
    "one that has none": ("class Bad(Exception):\n def __str__(self): raise Exception\nraise Bad()", 1,
                          ("failed", 1, "", "Bad")),
    "a hook of the program's": ("import sys; sys.excepthook = lambda *_: None; raise OSError('hooked')", 1,
                                ("failed", 1, "", "OSError: hooked")),
    "one that is caught": ("try: 1 / 0\nexcept ZeroDivisionError: pass", 0, ("finished", 0, "", "")),
    "one of a thread": ("import threading as t; x = t.Thread(target=lambda: 1 / 0); x.start(); x.join()", 0,
                        ("finished", 0, "", "")),
    "one that is shown": ("import sys, traceback\ntry: 1 / 0\nexcept Exception:\n sys.excepthook(*sys.exc_info())", 0,
                          ("finished", 0, "", "")),
    "an interrupt": ("import os, signal, time; os.kill(os.getpid(), signal.SIGINT); time.sleep(60)", -signal.SIGINT,
                     ("interrupted", 0, "SIGINT", "KeyboardInterrupt")),
    "an interrupt that is caught": (
        "import os, signal, time\ntry: os.kill(os.getpid(), signal.SIGINT); time.sleep(60)\n"
        "except KeyboardInterrupt: pass", 0, ("finished", 0, "", "")),
    "os._exit(-1)": ("import os; os._exit(-1)", 255, ("failed", 255, "", "")),
    "SIGTERM": ("import os, signal, time; os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)", -signal.SIGTERM,
                ("killed", 0, "SIGTERM", "")),
    "SIGHUP": ("import os, signal, time; os.kill(os.getpid(), signal.SIGHUP); time.sleep(60)", -signal.SIGHUP,
               ("killed", 0, "SIGHUP", "")),
    "SIGTERM that is handled": (
        "import os, signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(6))\n"
        "os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)", 6, ("failed", 6, "", "")),
    "SIGTERM with its default again": (
        "import os, signal, time; signal.signal(signal.SIGTERM, signal.SIG_DFL)\n"
        "os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)", -signal.SIGTERM, ("unknown", 0, "", "")),
    "SIGKILL": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL, ("unknown", 0, "", "")),
    "a child that is terminated": (
        "import os, signal, time; pid = os.fork()\nif pid == 0: time.sleep(60)\nos.kill(pid, signal.SIGTERM)\n"
        "assert os.waitpid(pid, 0)[1] == signal.SIGTERM", 0, ("finished", 0, "", "")),
    "a pool of processes": (
        "import multiprocessing as m\nif __name__ == '__main__':\n"
        " with m.get_context('fork').Pool(2) as p: assert p.map(abs, [-1, 2]) == [1, 2]", 0, ("finished", 0, "", "")),
}


def outcome(directory, source, resmon_keys, *flags, stdin=None):
    """Exit code, output and errors of a script that begins with `import resmon`."""
    directory.mkdir(exist_ok=True)
    path = directory / "script.py"
    path.write_text("import resmon\n" + source, encoding="utf-8")
    # Python 3.12 and later warn of forks of programs with threads, which a monitor makes of every program.
    quiet = {"RESMON": resmon_keys, "PYTHONWARNINGS": "ignore::DeprecationWarning"}
    words = [sys.executable, *(flags or [str(path)])]
    done = subprocess.run(words, cwd=str(directory), env=child_environment(**quiet), input=stdin,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, universal_newlines=True)
    return done.returncode, done.stdout, done.stderr


def end_of(path):
    end = resmon.load(path).end
    return end.reason, end.exit_status, end.signal, end.text


@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_end(tmp_path, way):
    source, code, end = WAYS[way]
    without = outcome(tmp_path, source, None)
    found = outcome(tmp_path, source, KEYS)
    assert found == without and found[0] == code, found
    assert end_of(tmp_path / "run.rec") == end


def test_the_document_is_finished(tmp_path):
    """In each of these ways it would have been "running" for ever."""
    for way in ("an interrupt", "SIGTERM", "os._exit(4)", "an exception"):
        source, _, end = WAYS[way]
        outcome(tmp_path, source, "json=run.json")
        run = resmon.load(tmp_path / "run.json")
        assert run.info.state == "stopped" and end_of(tmp_path / "run.json") == end
        assert resmon.parse(run.to_json()).end == run.end and end[0] in str(run.end)
        (tmp_path / "run.json").unlink()


def test_signals_none(tmp_path):
    assert outcome(tmp_path, WAYS["SIGTERM"][0], KEYS + ",signals=none")[0] == -signal.SIGTERM
    assert end_of(tmp_path / "run.rec") == ("unknown", 0, "", "")


@pytest.mark.parametrize("flags", [("-c", "import resmon; 1 / 0"), ("-m", "script"), ("-",)], ids=lambda f: f[0])
def test_however_it_was_started(tmp_path, flags):
    code, _, errors = outcome(tmp_path, "1 / 0", KEYS, *flags, stdin="import resmon; 1 / 0\n")
    assert code == 1 and "ZeroDivisionError" in errors
    assert end_of(tmp_path / "run.rec") == ("failed", 1, "", "ZeroDivisionError: division by zero")


def test_an_interrupt_of_a_module(tmp_path):
    source = WAYS["an interrupt"][0]
    without = outcome(tmp_path, source, None, "-m", "script")
    assert outcome(tmp_path, source, KEYS, "-m", "script") == without
    assert end_of(tmp_path / "run.rec") == ("interrupted", 0, "SIGINT", "KeyboardInterrupt")


def test_a_prompt_goes_on(tmp_path):
    """What fails at a prompt is not the end."""
    typed = "import resmon, _thread\n1 / 0\nraise KeyboardInterrupt\nprint(resmon.__name__)\nexit()\n"
    code, output, _ = outcome(tmp_path, "", KEYS, "-i", "-q", stdin=typed)
    assert code == 0 and "resmon" in output
    assert end_of(tmp_path / "run.rec") == ("finished", 0, "", "")


def test_scopes_at_os_exit(tmp_path):
    outcome(tmp_path, "import os\nwith resmon.scope('work'): os._exit(0)", KEYS)
    scope = resmon.load(tmp_path / "run.rec").scopes["work"]
    assert scope.calls == 1 and scope.ended_at_exit == 1 and scope.open == 0 and scope.cpu_calls == 1


def test_nothing_is_changed_without_a_run(tmp_path):
    source = """
import atexit, os, signal, sys
assert os._exit.__module__ == 'posix', os._exit
assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL and sys.excepthook is sys.__excepthook__
assert 'resmon.ends' not in sys.modules
with open('/proc/self/status') as file: caught = [line for line in file if line.startswith('SigCgt')][0]
print(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)
"""
    for keys in (None, "", " "):
        assert outcome(tmp_path, source, keys)[:2] == (0, "0\n")


# ---- monitors of the program's own ------------------------------------------------------------------------


def test_an_exception_out_of_a_block():
    with pytest.raises(LookupError):
        with resmon.Monitor(3600) as monitor:
            raise LookupError("no\nrow")
    assert monitor.info.state == "stopped"
    assert (monitor.end.reason, monitor.end.text) == ("failed", "LookupError: no row")
    assert str(monitor.end) == "failed: LookupError: no row"
    assert ": failed: LookupError: no row, " in repr(monitor) and "failed: LookupError" in monitor._repr_html_()
    assert " failed after " in str(monitor).split("\n")[0] and "LookupError: no row" in str(monitor)


def test_reports_say_it(tmp_path):
    with pytest.raises(ValueError):
        with resmon.Monitor(3600) as monitor:
            raise ValueError("<b> & co")
    monitor.report(tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert '<span class="state interrupted"><bdi>failed: ValueError: &lt;b&gt; &amp; co</bdi></span>' in page
    resmon.report([monitor, monitor.snapshot()], tmp_path / "both.html")
    assert page.count("ValueError: &lt;b&gt;") >= 1 and "<b> & co" not in page


@pytest.mark.parametrize("error, end", [
    (KeyboardInterrupt(), ("interrupted", 0, "SIGINT", "KeyboardInterrupt")),
    (SystemExit(), ("finished", 0, "", "")), (SystemExit(0), ("finished", 0, "", "")),
    (SystemExit(3), ("failed", 3, "", "")), (SystemExit("why"), ("failed", 1, "", "")),
    (GeneratorExit(), ("finished", 0, "", "")),
], ids=repr)
def test_what_a_block_is_left_by(error, end):
    with pytest.raises(type(error)):
        with resmon.Monitor(3600) as monitor:
            raise error
    assert (monitor.end.reason, monitor.end.exit_status, monitor.end.signal, monitor.end.text) == end


def test_a_monitor_that_runs(monitor):
    assert monitor.end.reason == "running" and str(monitor.end) == "running"


def test_a_monitor_that_nobody_stops(tmp_path):
    outcome(tmp_path, "monitor = resmon.Monitor(3600, record='own.rec').start()\nraise OSError('gone')", None)
    assert end_of(tmp_path / "own.rec") == ("failed", 0, "", "OSError: gone")


OWN = BOTH | {
    "sys.exit(3) in a scope": ("import sys\nwith resmon.scope('phase'): sys.exit(3)", 3, ("failed", 3, "", "")),
    "one that is caught": ("import sys\ntry: sys.exit(3)\nexcept SystemExit: pass", 0, ("finished", 0, "", "")),
    "an interrupt": ("raise KeyboardInterrupt", -signal.SIGINT, ("interrupted", 0, "SIGINT", "KeyboardInterrupt")),
    "a child that exits": ("import os, sys; pid = os.fork()\nif pid == 0: sys.exit(7)\n"
                           "assert os.waitpid(pid, 0)[1] == 7 << 8", 0, ("finished", 0, "", "")),
}


@pytest.mark.parametrize("way", OWN)
def test_a_monitor_that_is_left_to_the_exit(way, tmp_path):
    source, code, end = OWN[way]
    begin = "monitor = resmon.Monitor(3600, json='own.json', record='own.rec').start()\n"
    got = outcome(tmp_path, begin + source, None)
    assert got[0] == code, got
    assert end_of(tmp_path / "own.json") == end and end_of(tmp_path / "own.rec") == end
    run = resmon.load(tmp_path / "own.json")
    assert run.info.state == "stopped"
    if run.scopes:
        assert (run.scopes["phase"].failed, run.scopes["phase"].open) == (1, 0)


def test_what_cannot_be_written_at_the_exit_is_said(tmp_path):
    begin = "import os; monitor = resmon.Monitor(3600, json='gone/own.json')\nmonitor.start(); os.rmdir('gone')"
    (tmp_path / "gone").mkdir(parents=True)
    code, _, errors = outcome(tmp_path, begin, None)
    assert code == 0 and "gone/own.json" in errors, errors


def test_callbacks_are_called_before_the_interpreter_goes(tmp_path):
    begin = ("monitor = resmon.Monitor(3600)\nmonitor.add_callback(lambda sample: None, lambda run: print('stopped', "
             "run.info.samples > 0))\nmonitor.start()\nimport sys; sys.exit(2)")
    assert outcome(tmp_path, begin, None)[:2] == (2, "stopped True\n")
