# SPDX-License-Identifier: MIT
"""Figures against what others say of the same known load: psutil, /proc, the clocks."""
import multiprocessing
import os
import random
import re
import resource
import subprocess
import sys
import threading
import time

import pytest
from conftest import MIB, PATIENCE_S, RSS_SLACK, burn, needs_live, threads, touched

import resmon

SLOW = 3600


@pytest.fixture
def psutil():
    """The other witness."""
    needs_live("what psutil says of this host")
    return pytest.importorskip("psutil", reason="psutil, the other witness, is not installed")


def storage(path):
    """Whether writes to a path reach a device that the kernel accounts for."""
    device = os.stat(path).st_dev
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            fields = line.split()
            if fields[2] == f"{os.major(device)}:{os.minor(device)}":
                return line.split(" - ")[1].split()[0] not in ("tmpfs", "overlay", "ramfs", "9p", "virtiofs")
    return False


# ---- the process ------------------------------------------------------------------------------------


def test_cpu_time(psutil):
    process = psutil.Process()
    with resmon.Monitor(SLOW) as monitor:
        before = process.cpu_times()
        burn(0.5)
        after = process.cpu_times()
    expected = after.user + after.system - before.user - before.system  # in ticks of 10 ms
    summary = monitor.summary
    assert summary["proc.cpu.time"].last == pytest.approx(expected, abs=0.04) and expected >= 0.45
    assert summary["proc.cpu.user"].last + summary["proc.cpu.system"].last == pytest.approx(
        summary["proc.cpu.time"].last, abs=0.03)
    assert monitor.headline["cpu_s"] == pytest.approx(expected, abs=0.06)


def test_cpu_percent_is_time_over_time():
    """100 is one CPU; over the run, percent is CPU time by wall time."""
    def clocks():
        return time.process_time(), time.perf_counter()
    outer = clocks()
    with resmon.Monitor(SLOW) as monitor:
        inner = clocks()
        burn(0.3)
        inner = [now - then for now, then in zip(clocks(), inner)]
        used = time.process_time()
        monitor.sample_now()
        outer = [now - then for now, then in zip(clocks(), outer)]
        time.sleep(0.2)
    used = time.process_time() - used
    one = monitor.summary["proc.cpu.percent"]
    _, busy, idle = monitor.series("proc.cpu.percent", "last")
    start, middle, end = monitor.times
    assert one.mean == pytest.approx((busy * (middle - start) + idle * (end - middle)) / (end - start))
    # Both clocks are read between ours; the kernel may round the CPU time to ticks.
    assert (inner[0] - 0.02) / outer[1] * 100 <= busy <= (outer[0] + 0.02) / inner[1] * 100
    assert 0 <= idle <= (used + 0.02) / 0.2 * 100
    assert (one.min, one.max) == (min(busy, idle), max(busy, idle))


def test_threads_count(psutil):
    done = threading.Event()
    crowd = [threading.Thread(target=done.wait) for _ in range(7)]
    with resmon.Monitor(SLOW) as monitor:
        for thread in crowd:
            thread.start()
        monitor.sample_now()
        seen = sum(not name.startswith("rm-") for name in threads())
        done.set()
        for thread in crowd:
            thread.join()
    assert monitor.summary["proc.threads"].max == seen >= 8


def test_memory(psutil):
    process = psutil.Process()
    with resmon.Monitor(SLOW) as monitor:
        before = process.memory_info()
        block = touched(100)
        monitor.sample_now()
        during = process.memory_info()
        del block
        monitor.sample_now()
        after = process.memory_info()
    bound = monitor.facts["machine"]["rss_error_bound_bytes"] * 2 + MIB
    first, second, third = list(monitor.series("proc.mem.rss", "last"))[:3]
    for found, expected in ((first, before.rss), (second, during.rss), (third, after.rss)):
        assert found == pytest.approx(expected, abs=bound)
    assert second - first == pytest.approx(100 * MIB, abs=bound) and second - third == pytest.approx(100 * MIB, abs=bound)
    assert monitor.series("proc.mem.vms", "last")[1] == pytest.approx(during.vms, abs=2 * MIB)
    assert monitor.series("proc.mem.shared", "last")[1] == pytest.approx(during.shared, abs=bound)


@pytest.mark.usefixtures("one_cpu")
def test_peak_between_samples():
    """A peak that no sample sees: the kernel's mark has it where it rose, and a scope in any case."""
    with resmon.Monitor(SLOW, scopes="rss") as monitor:
        with resmon.scope("spike"):
            touched(300).close()
    scope, sampled = monitor.scopes["spike"], monitor.summary["proc.mem.rss"].max
    assert scope.rss_peak_bytes - sampled == pytest.approx(300 * MIB, abs=8 * MIB + RSS_SLACK)
    assert monitor.headline["rss_peak_bytes"] == pytest.approx(scope.rss_peak_bytes, abs=8 * MIB + RSS_SLACK)
    mark = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if scope.rss_provenance == "measured":
        assert scope.rss_peak_bytes <= mark + MIB + RSS_SLACK


def test_bytes_written_and_read(psutil, tmp_path):
    process = psutil.Process()
    path = tmp_path / "file"
    with resmon.Monitor(SLOW) as monitor:
        before = process.io_counters()
        with open(path, "wb", buffering=0) as file:
            for _ in range(32):
                file.write(os.urandom(MIB))
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        with open(path, "rb", buffering=0) as file:
            while file.read(MIB):
                pass
        after = process.io_counters()
    summary = monitor.summary
    for metric, expected in (("write_chars", after.write_chars - before.write_chars),
                             ("write_bytes", after.write_bytes - before.write_bytes),
                             ("read_bytes", after.read_bytes - before.read_bytes)):
        assert summary["proc.io." + metric].last == pytest.approx(expected, abs=0.2 * MIB), metric
        assert summary["tree.io." + metric].last == pytest.approx(expected, abs=0.2 * MIB), metric
    # os.urandom reads no file; the library leaves out what it reads itself, psutil does not.
    assert summary["proc.io.read_chars"].last == pytest.approx(32 * MIB, abs=0.2 * MIB)
    assert summary["proc.io.write_chars"].last == pytest.approx(32 * MIB, abs=0.2 * MIB)
    if storage(tmp_path):
        assert summary["proc.io.write_bytes"].last == pytest.approx(32 * MIB, rel=0.05)
        assert monitor.headline["write_bytes"] == pytest.approx(32 * MIB, rel=0.05)


def test_descriptors_and_context_switches(psutil):
    process = psutil.Process()
    with resmon.Monitor(SLOW) as monitor:
        monitor.sample_now()
        files = [open(os.devnull, "rb") for _ in range(20)]
        switches = process.num_ctx_switches()
        for _ in range(50):
            time.sleep(0.0005)
        switched = process.num_ctx_switches().voluntary - switches.voluntary
        monitor.sample_now()
        for file in files:
            file.close()
    counts = list(monitor.series("proc.fds", "last"))
    assert counts[2] - counts[1] == 20
    assert monitor.summary["proc.ctx.voluntary"].last >= switched >= 50


# ---- the machine ------------------------------------------------------------------------------------


def test_memory_of_the_machine(psutil):
    with resmon.Monitor(SLOW) as monitor:
        expected = psutil.virtual_memory()
    summary = monitor.summary
    assert summary["node.mem.total"].last == expected.total == monitor.facts["machine"]["memory_bytes"]
    for name, value in (("available", expected.available), ("free", expected.free), ("cached", expected.cached)):
        assert summary["node.mem." + name].mean == pytest.approx(value, rel=0.1, abs=200 * MIB), name
    assert summary["node.mem.percent"].mean == pytest.approx(expected.percent, abs=3)


def test_cpus_of_the_machine(psutil):
    outer = psutil.cpu_times()
    with resmon.Monitor(SLOW) as monitor:
        inner = psutil.cpu_times()
        burn(0.5)
        inner = [now - then for now, then in zip(psutil.cpu_times(), inner)]
    outer = [now - then for now, then in zip(psutil.cpu_times(), outer)]
    assert monitor.facts["machine"]["cpus"] == psutil.cpu_count()
    assert monitor.summary["node.cpu.online"].last == psutil.cpu_count()
    tick = 0.02
    for field, name in ((0, "user"), (3, "idle")):
        assert inner[field] - tick <= monitor.summary["node.cpu." + name].last <= outer[field] + tick, name
    assert 100 / psutil.cpu_count() * 0.7 <= monitor.summary["node.cpu.percent"].max <= 100.1


def test_disk_space_and_network(psutil):
    with resmon.Monitor(SLOW) as monitor:
        expected = psutil.disk_usage("/")
        before = psutil.net_io_counters(pernic=True).get("lo")
        import socket
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
            peer, _ = server.accept()
            for _ in range(16):
                client.sendall(bytes(65536))
                left = 65536
                while left:
                    left -= len(peer.recv(left))
            peer.close()
        after = psutil.net_io_counters(pernic=True).get("lo")
    used = [column.name for column in monitor.columns if column.name == "node.fs.used[/]"]
    if used:
        assert monitor.summary["node.fs.used[/]"].last == pytest.approx(expected.used, rel=0.02)
        assert monitor.summary["node.fs.percent[/]"].last == pytest.approx(expected.percent, abs=1)
    if before is None or "node.net.lo.sent" not in monitor.summary:
        pytest.skip("there is no interface lo here")
    assert monitor.summary["node.net.lo.sent"].last >= after.bytes_sent - before.bytes_sent >= MIB


# ---- children ---------------------------------------------------------------------------------------


def _child_work(mib, cpu_seconds, path, barrier_in, barrier_out):
    block = touched(mib)
    burn(cpu_seconds)
    with open(path, "wb", buffering=0) as file:
        file.write(bytes(4 * MIB))
    barrier_in.wait()
    barrier_out.wait()
    del block


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_of_multiprocessing(method, tmp_path, monkeypatch):
    """Their CPU time, memory and I/O are in tree.*, not in proc.*; what they used before they ended stays."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [os.path.dirname(__file__), os.environ.get("PYTHONPATH")])))
    context = multiprocessing.get_context(method)
    ready, go_on = context.Barrier(3), context.Barrier(3)
    with resmon.Monitor(SLOW, domains="process+tree") as monitor:
        children = [context.Process(target=_child_work, args=(60, 0.3, tmp_path / str(i), ready, go_on)) for i in range(2)]
        for child in children:
            child.start()
        ready.wait()
        monitor.sample_now()
        go_on.wait()
        for child in children:
            child.join()
        assert [child.exitcode for child in children] == [0, 0]
    summary = monitor.summary
    assert summary["tree.processes"].max >= 3
    assert summary["tree.cpu.time"].last - summary["proc.cpu.time"].last >= 0.55
    assert summary["tree.mem.rss"].max - summary["proc.mem.rss"].max >= 2 * 60 * MIB
    assert summary["tree.io.write_chars"].last == pytest.approx(8 * MIB, abs=0.2 * MIB)
    # Of children that were waited for, the kernel adds I/O to the parent's own: only while they live it tells them apart.
    both = [list(monitor.series(f"{level}.io.write_chars", "last"))[1] for level in ("tree", "proc")]
    assert both[0] - both[1] >= 7.9 * MIB
    assert monitor.headline["cpu_s"] == summary["tree.cpu.time"].last


def test_children_that_lived_between_two_samples():
    """The kernel tells a parent what its children used."""
    with resmon.Monitor(SLOW) as monitor:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.2: pass"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = monitor.summary["tree.cpu.time"].last - monitor.summary["proc.cpu.time"].last
    assert found == pytest.approx(used, abs=0.05) and used > 0.1


# ---- watches and scopes against the clocks ----------------------------------------------------------


def test_watch_against_the_clocks(psutil):
    process = psutil.Process()
    before = time.process_time(), time.perf_counter()
    with resmon.Watch("cpu+rss") as watch:
        first = time.process_time(), time.perf_counter()
        block = touched(50)
        burn(0.2)
        last = time.process_time(), time.perf_counter()
    after = time.process_time(), time.perf_counter()
    for ours, outer_begin, begin, end, outer_end in zip((watch.watched.cpu_s, watch.watched.wall_s), before, first, last, after):
        assert end - begin - 0.001 <= ours <= outer_end - outer_begin + 0.001
    assert watch.watched.rss_bytes == pytest.approx(process.memory_info().rss, abs=2 * MIB) and block


def test_scope_against_the_clocks(monitor):
    cpu, wall = time.thread_time(), time.perf_counter()
    inside = [0.0, 0.0]
    for _ in range(10):
        with resmon.scope("work"):
            begin = time.thread_time(), time.perf_counter()
            burn(0.01)
            time.sleep(0.005)
            end = time.thread_time(), time.perf_counter()
            inside = [one + now - then for one, now, then in zip(inside, end, begin)]
    cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
    scope = monitor.scopes["work"]
    assert scope.calls == 10 and inside[1] <= scope.wall_s <= wall
    assert inside[0] - 0.001 <= scope.cpu_s <= cpu + 0.001
    assert scope.wall_min_s >= 0.015 and scope.wall_min_s <= scope.wall_s / 10 <= scope.wall_max_s


def test_info_against_the_clock():
    start = time.time()
    wall = time.perf_counter()
    with resmon.Monitor(0.01) as monitor:
        time.sleep(0.3)
    wall = time.perf_counter() - wall
    info = monitor.info
    assert start - 0.5 <= info.start.timestamp() <= start + wall + 0.5
    assert 0.3 <= info.duration_s <= wall
    # One for each interval that is over, the first and the last.
    assert 2 <= info.samples <= info.duration_s / 0.01 + 2
    assert info.sampler_cpu_s < wall and info.sampler_wall_s < wall


def test_times_of_tags(monitor):
    expected = []
    for i in range(5):
        before = time.perf_counter()
        monitor.tag(str(i))
        expected.append((before, time.perf_counter()))
        burn(0.005)
    gaps = [later.t_s - earlier.t_s for earlier, later in zip(monitor.tags, list(monitor.tags)[1:])]
    for gap, (one, other) in zip(gaps, zip(expected, expected[1:])):
        assert other[0] - one[1] <= gap <= other[1] - one[0]


# ---- Python's lock ----------------------------------------------------------------------------------


class _Sort:
    """A longer list each time."""

    def __init__(self):
        chance = random.Random(1)
        few = [chance.random() for _ in range(1000)]  # a list of pointers to few numbers takes less memory
        self._numbers = chance.choices(few, k=250_000)

    def __call__(self):
        sorted(self._numbers)

    def longer(self):
        self._numbers += self._numbers


class _Match:
    """It takes twice as long with each letter more."""

    def __init__(self):
        self._letters = 20

    def __call__(self):
        re.match(r"(a+)+$", "a" * self._letters + "b")

    def longer(self):
        self._letters += 1


def long_call(kind):
    """One that takes half a second of CPU time on this machine."""
    call, used = kind(), 0
    while used < 0.5:
        call.longer()
        begin = time.thread_time()
        call()
        used = time.thread_time() - begin
    return call


def sampled_while(hold):
    """From when to when a call has held Python's lock, and how many samples were taken meanwhile."""
    done, turns = threading.Event(), []

    def witness():
        while not done.is_set():
            turns.append(time.perf_counter())
            time.sleep(0.001)
    thread = threading.Thread(target=witness)
    thread.start()
    with resmon.Monitor(0.01, domains="process", rows=65536, scopes=False, max_overhead=1.0) as monitor:
        origin = time.perf_counter() - monitor.snapshot().info.duration_s
        begin = time.perf_counter()
        hold()
        end = time.perf_counter()
    done.set()
    thread.join()
    if getattr(sys, "_is_gil_enabled", lambda: True)():
        # From the last turn before the call to the first one after it, whatever else the machine does.
        moments = [begin, *(turn for turn in turns if begin < turn < end), end]
        begin, end = max(zip(moments, moments[1:]), key=lambda pair: pair[1] - pair[0])
    return begin, end, sum(begin - origin <= at <= end - origin for at in monitor.times)


@pytest.mark.parametrize("kind", [_Sort, _Match], ids=["sort", "regex"])
def test_sampling_goes_on_while_python_holds_its_lock(kind):
    """A call into C that lasts: no thread of Python gets a turn, and samples are taken."""
    hold = long_call(kind)
    begin, end, samples = sampled_while(hold)
    assert end - begin > 0.2, "too short to show anything, or the lock was not held"
    # If they needed the lock, there would be one at most at either end, however long it is held.
    patience = time.monotonic() + PATIENCE_S
    while samples < 5 and time.monotonic() < patience:
        hold.longer()
        begin, end, samples = sampled_while(hold)
    assert samples >= 5, f"in {end - begin} s"


@pytest.mark.parametrize("kind", [_Sort, _Match], ids=["sort", "regex"])
def test_all_samples_are_taken_while_python_holds_its_lock(kind):
    needs_live("samples to come as often as another process wakes")
    hold = long_call(kind)
    words = "import time\nwhile True:\n    print(time.perf_counter(), flush=True)\n    time.sleep(0.01)"
    with subprocess.Popen([sys.executable, "-c", words], stdout=subprocess.PIPE, text=True) as sleeper:
        assert sleeper.stdout.readline()
        begin, end, samples = sampled_while(hold)
        sleeper.kill()
        woken = sum(begin <= float(line) <= end for line in sleeper.stdout if line.endswith("\n"))
    assert woken > 5
    assert samples >= woken / 2, f"of {(end - begin) / 0.01} in {end - begin} s"


def test_stop_lets_go_of_the_lock():
    """While stop() waits, a callback in Python ends: it could not if stop() held the lock."""
    begun, ended = threading.Event(), []

    def on_stop(_run):
        begun.set()
        burn(0.05)
        ended.append(True)
    monitor = resmon.Monitor(SLOW, stop_timeout=60)
    monitor.add_callback(lambda sample: None, on_stop)
    monitor.start()
    monitor.stop()
    assert begun.is_set() and ended == [True]


def test_which_functions_let_go_of_the_lock():
    """Those that wait, write or call back do; those that are called a million times do not."""
    import ctypes

    from resmon._library import lib
    keeps = 0x4  # FUNCFLAG_PYTHONAPI of ctypes
    for name in ("monitor_start", "monitor_stop", "monitor_free", "monitor_sample_now", "monitor_snapshot", "run_save",
                 "run_load", "run_parse", "run_save_csv", "trace_save", "run_push_mlflow_text", "measure_idle", "report_text"):
        assert not getattr(lib, name)._flags_ & keeps, name
    for name in ("scope_begin", "scope_end", "watch_lap", "timed_watch", "timed_take", "monitor_tag"):
        assert getattr(lib, name)._flags_ & keeps, name
    assert ctypes.pythonapi.PyCapsule_New._flags_ & keeps, "this is how ctypes says it"
