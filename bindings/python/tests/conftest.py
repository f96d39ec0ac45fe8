# SPDX-License-Identifier: MIT
"""Fixtures and helpers of the tests of the Python binding.

They need the package and its library, wherever those are: a wheel, or a checkout with RESMON_LIBRARY and PYTHONPATH.
What needs an optional package, a kernel feature or the sources is skipped with the reason.
"""
import contextlib
import ctypes
import mmap
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import resmon

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(resmon.__file__)))
MIB = 1 << 20

# Large blocks are maps of their own, and go back to the kernel when they are freed.  Left alone, malloc learns from the
# blocks of earlier tests to keep them, and nothing shows in the RSS.  Nor has it an arena for each of many CPUs.
M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8
for _parameter, _value in ((M_MMAP_THRESHOLD, 128 * 1024), (M_ARENA_MAX, 2)):
    getattr(ctypes.CDLL(None), "mallopt", lambda *_: None)(_parameter, _value)

# What two readings of RSS may be off by, of a process that stays on one CPU: kernels 6.2 to 6.16 add it up in batches.
RSS_SLACK = 2 * max(32, 2 * (os.cpu_count() or 1)) * mmap.PAGESIZE

# What nohup, or a shell for its jobs in the background, has ignored would be ignored in the scripts too.
for _number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, lambda *_: None)

# A script that hangs is ended and fails; no test waits for so long otherwise.
SCRIPT_LIMIT_S = 120
# For what must come: it comes long before, or never.
PATIENCE_S = 60


def needs_live(why):
    """The first line of a test that needs real time to be right, or figures of this host: `test all` runs it."""
    if "RESMON_TEST_LIVE" not in os.environ:
        pytest.skip(f"live: needs {why}")


def burn(cpu_seconds):
    """Uses so much CPU time in this thread."""
    end = time.thread_time() + cpu_seconds
    while time.thread_time() < end:
        sum(range(2000))


def touched(mib):
    """Memory that is resident, and no longer so when it is closed or dropped.  Not of the heap, which keeps some back."""
    block = mmap.mmap(-1, int(mib * MIB))
    for page in range(0, len(block), mmap.PAGESIZE):
        block[page] = 1
    return block


def child_environment(**more):
    """The environment in which a script finds the same package and library."""
    paths = [PACKAGE, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **more}
    return {name: value for name, value in environment.items() if value is not None}


class Scripts:
    """Runs scripts in interpreters of their own, in a directory of their own."""

    def __init__(self, directory):
        self.directory = directory
        self.started = []

    def start(self, source, *arguments, flags=(), env=None, **options):
        """A Popen; output is piped."""
        path = self.directory / "script.py"
        path.write_text(textwrap.dedent(source), encoding="utf-8")
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": str(self.directory), **options}
        process = subprocess.Popen([sys.executable, "-X", "faulthandler", *flags, str(path), *map(str, arguments)],
                                   env=child_environment(**(env or {})), **options)
        self.started.append(process)
        return process

    def end(self):
        """Kills those that a test which failed has left behind."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.communicate()

    def __call__(self, source, *arguments, code=0, **options):
        """Output and errors of a script that ends with such a code."""
        process = self.start(source, *arguments, **options)
        try:
            output, errors = process.communicate(timeout=SCRIPT_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # faulthandler says where it hangs
            output, errors = process.communicate()
            pytest.fail(f"the script hangs:\n{errors.decode(errors='replace')}")
        output, errors = ((text or b"").decode(errors="replace") for text in (output, errors))
        assert process.returncode == code, f"exit code {process.returncode}\n{output}\n{errors}"
        return output, errors


@pytest.fixture
def script(tmp_path):
    """script(source, *arguments, code=0): runs a script, gives its output and errors."""
    scripts = Scripts(tmp_path)
    yield scripts
    scripts.end()


@pytest.fixture
def one_cpu():
    """Keeps this thread, and those that it makes, on one CPU: RSS is then known but for RSS_SLACK."""
    before = os.sched_getaffinity(0)
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, {min(before)})
    yield
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, before)


@pytest.fixture
def monitor():
    """A running monitor that samples only when asked to, with all meters of scopes."""
    with resmon.Monitor(interval=3600, scopes="wall+cpu+rss+io", domains="process+tree", name="test") as running:
        yield running


@pytest.fixture(scope="session")
def stopped():
    """A monitor that has stopped after some seconds' worth of everything: samples, scopes, tags, files."""
    with resmon.Monitor(interval=0.01, scopes="wall+cpu+rss+io", name="a run", carbon="FR", max_overhead=1.0) as made:
        made.set_label("phase two")
        with open(os.devnull, "wb") as nowhere:
            nowhere.write(b"for tree.io.write_chars")
        with resmon.scope("load"):
            made.tag("loading")
            block = touched(20)
            with resmon.scope("parse"):
                burn(0.1)
        del block
        for _ in range(3):
            with resmon.scope("step"):
                burn(0.03)
        made.tag("done & <dusted> $5")
        assert comes(lambda: made.info.samples >= 10)  # long since, unless the machine is busy with others
    return made


@pytest.fixture(scope="session")
def run(stopped):
    """The run of it."""
    return stopped.snapshot()


def same(one, other, tolerance=0.0):
    """Whether two numbers are equal, or both are not known."""
    if one != one or other != other:
        return one != one and other != other
    return abs(one - other) <= tolerance * max(abs(one), abs(other))


def open_descriptors():
    """Files that this process has open."""
    return len(os.listdir("/proc/self/fd"))


def threads():
    """Kernel threads of this process, by name."""
    names = []
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/comm", encoding="utf-8") as file:
                names.append(file.read().strip())
        except OSError:
            pass  # it has ended
    return names


def ends(name):
    """Whether no thread of that name is left.  One that was joined may be listed for a moment longer."""
    return comes(lambda: name not in threads())


def comes(condition):
    """Whether it becomes true, with patience."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.001)
    return True


def delivered(monitor):
    """Waits until the first sample has been through the callbacks: one that is running holds what it knows."""
    if not comes(lambda: all(sink.calls >= 2 for sink in monitor.sinks)
                 and not any(callback._threads for callback in monitor._callbacks)):
        pytest.fail(f"the first sample was not delivered in {PATIENCE_S} s")


# What these compare with RSS must come fresh from the kernel, and not from what large tables have left to malloc.
_FIRST = ("test_watch", "test_scopes", "test_lines", "test_truth", "test_compat")


def pytest_collection_modifyitems(items):
    """Tests of memory come first."""
    order = {name: number for number, name in enumerate(_FIRST)}
    items.sort(key=lambda item: order.get(item.module.__name__.rpartition(".")[2], len(order)))
