#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each /proc figure of libresmon against psutil's, of the same process in the same moment.

truth_psutil.py TRUTH_DUMP DIRECTORY: a program that works on command is observed by both.  psutil is
asked before and after each sample of ours, so ours must lie between its two answers, give or take
the tolerance that stands with each comparison.  77: psutil is not installed.
"""
import math
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from live import needs_live

MIB = 1 << 20
TICK = 1.0 / os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


# ---- the observed program --------------------------------------------------------------------


def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def transfer(count):
    """Sends bytes to ourselves over the loopback interface."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as sender:
            receiver, _ = server.accept()

            def send():
                for _ in range(count // MIB):
                    sender.sendall(bytes(MIB))

            thread = threading.Thread(target=send)
            thread.start()
            left = count
            while left > 0:
                left -= len(receiver.recv(min(left, MIB)))
            thread.join()
            receiver.close()


def work(directory):
    threads = [threading.Thread(target=burn, args=(0.4,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    path = os.path.join(directory, "truth-%d" % os.getpid())
    with open(path, "wb") as file:
        file.write(os.urandom(8 * MIB))
        file.flush()
        os.fsync(file.fileno())
    with open(path, "rb") as file:
        file.read()
    os.unlink(path)
    try:
        transfer(4 * MIB)
    except OSError:
        pass  # no loopback interface in this namespace
    for thread in threads:
        thread.join()


def answer_commands(directory):
    """On each line of input: work, then say so.  One process of the target's small tree."""
    ballast = []
    while sys.stdin.readline():
        work(directory)
        ballast.append(bytearray(b"x") * (16 * MIB))
        print("done", flush=True)


def be_target(directory, depth):
    child = None
    if depth > 0:
        child = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--target", directory, str(depth - 1)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        child.stdin.write(b"go\n")
        child.stdin.flush()
        child.stdout.readline()
    print("ready", flush=True)
    answer_commands(directory)
    if child is not None:
        child.communicate()


# ---- both observers --------------------------------------------------------------------------


def ask_psutil(psutil, process):
    """{name of ours: value}; counters are totals here."""
    values = {}
    tree = [process] + process.children(recursive=True)
    with process.oneshot():
        memory, cpu = process.memory_info(), process.cpu_times()
        values["proc.cpu.user"], values["proc.cpu.system"] = cpu.user, cpu.system
        values["proc.cpu.time"] = cpu.user + cpu.system
        values["proc.threads"] = process.num_threads()
        switches = process.num_ctx_switches()
        values["proc.ctx.voluntary"] = switches.voluntary
        values["proc.ctx.involuntary"] = switches.involuntary
    values["proc.mem.rss"], values["proc.mem.vms"] = memory.rss, memory.vms
    values["proc.mem.shared"] = memory.shared
    values["proc.mem.host_percent"] = process.memory_percent()
    values["proc.fds"] = process.num_fds()
    try:
        full = process.memory_full_info()
        values["proc.mem.uss"], values["proc.mem.pss"] = full.uss, full.pss
        values["tree.mem.uss"] = sum(p.memory_full_info().uss for p in tree)
        values["tree.mem.pss"] = sum(p.memory_full_info().pss for p in tree)
        io = process.io_counters()
        values["proc.io.read_bytes"], values["proc.io.write_bytes"] = io.read_bytes, io.write_bytes
        values["proc.io.read_count"], values["proc.io.write_count"] = io.read_count, io.write_count
        values["proc.io.read_chars"], values["proc.io.write_chars"] = io.read_chars, io.write_chars
        values["tree.io.read_bytes"] = sum(p.io_counters().read_bytes for p in tree)
        values["tree.io.write_bytes"] = sum(p.io_counters().write_bytes for p in tree)
        values["tree.io.read_chars"] = sum(p.io_counters().read_chars for p in tree)
        values["tree.io.write_chars"] = sum(p.io_counters().write_chars for p in tree)
    except (psutil.AccessDenied, NotImplementedError, AttributeError) as error:
        print("skipped: smaps or I/O of the process:", type(error).__name__, error)
    values["tree.processes"] = len(tree)
    values["tree.threads"] = sum(p.num_threads() for p in tree)
    values["tree.fds"] = sum(p.num_fds() for p in tree)
    values["tree.mem.rss"] = sum(p.memory_info().rss for p in tree)
    values["tree.mem.vms"] = sum(p.memory_info().vms for p in tree)
    values["tree.mem.shared"] = sum(p.memory_info().shared for p in tree)
    values["tree.cpu.time"] = sum(
        t.user + t.system + t.children_user + t.children_system for t in (p.cpu_times() for p in tree)
    )
    ask_psutil_node(psutil, values)
    return values


def ask_psutil_node(psutil, values):
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    for ours, theirs in (("total", "total"), ("available", "available"), ("free", "free"),
                         ("percent", "percent"), ("buffers", "buffers"), ("cached", "cached"),
                         ("shmem", "shared"), ("slab", "slab")):
        values["node.mem." + ours] = getattr(memory, theirs)
    values["node.mem.used"] = memory.total - memory.available
    values["node.swap.used"] = swap.used
    if swap.total > 0:
        values["node.swap.percent"] = swap.percent
    values["node.swap.in"], values["node.swap.out"] = swap.sin, swap.sout
    values.update(zip(("node.load.1", "node.load.5", "node.load.15"), psutil.getloadavg()))
    usage = psutil.disk_usage("/")
    values["node.fs.used[/]"], values["node.fs.free[/]"] = usage.used, usage.free
    values["node.fs.percent[/]"] = usage.percent
    values["node.cpu.online"] = psutil.cpu_count()
    times = psutil.cpu_times()
    for field in ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"):
        values["node.cpu." + field] = getattr(times, field)
    values["node.cpu.guest"] = times.guest + times.guest_nice
    stats = psutil.cpu_stats()
    values["node.ctx"] = stats.ctx_switches
    disks = psutil.disk_io_counters(perdisk=False, nowrap=False)
    if disks is not None:
        values["node.disk.all.read_bytes"] = disks.read_bytes
        values["node.disk.all.write_bytes"] = disks.write_bytes
    for group in ("lo", "ext", "all"):
        values["node.net.%s.sent" % group] = values["node.net.%s.recv" % group] = 0
    sums = dict.fromkeys(("packets_sent", "packets_recv", "errors", "dropped"), 0)
    for name, net in psutil.net_io_counters(pernic=True, nowrap=False).items():
        is_loopback = name.lower() == "lo" or "loopback" in name.lower()
        for group in ("all", "lo" if is_loopback else "ext"):
            values["node.net.%s.sent" % group] += net.bytes_sent
            values["node.net.%s.recv" % group] += net.bytes_recv
        sums["packets_sent"] += net.packets_sent
        sums["packets_recv"] += net.packets_recv
        sums["errors"] += net.errin + net.errout
        sums["dropped"] += net.dropin + net.dropout
    values.update(("node.net.all." + name, value) for name, value in sums.items())


class Dump:
    def __init__(self, program, pid):
        self.process = subprocess.Popen(
            [program, str(pid)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def sample(self):
        self.process.stdin.write("sample\n")
        self.process.stdin.flush()
        values = {}
        for line in self.process.stdout:
            if line == ".\n":
                return values
            if line.startswith("!"):
                print("not available:", line[2:].rstrip())
            else:
                name, value = line.rsplit(" ", 1)
                values[name] = None if value == "-\n" else float(value)
        raise SystemExit("truth_dump ended early")

    def close(self):
        self.process.stdin.close()
        return self.process.wait()


# ---- comparison ------------------------------------------------------------------------------

# Gauges, with what ours may be off psutil's bracket: the target waits meanwhile, so its numbers
# stand still; the machine's do not.
GAUGES = {
    "proc.mem.rss": 0, "proc.mem.vms": 0, "proc.mem.shared": 0, "proc.mem.host_percent": 1e-6,
    "proc.mem.uss": 64 * PAGE, "proc.mem.pss": 64 * PAGE, "proc.threads": 0, "proc.fds": 0,
    "tree.processes": 0, "tree.threads": 0, "tree.fds": 0, "tree.mem.rss": 0,
    "tree.mem.vms": 0, "tree.mem.shared": 0, "tree.mem.uss": 128 * PAGE,
    "tree.mem.pss": 128 * PAGE, "node.mem.total": 0, "node.mem.available": 32 * MIB,
    "node.mem.free": 32 * MIB, "node.mem.used": 32 * MIB, "node.mem.percent": 0.3,
    "node.mem.buffers": 4 * MIB, "node.mem.cached": 32 * MIB, "node.mem.shmem": 4 * MIB,
    "node.mem.slab": 8 * MIB, "node.swap.used": MIB, "node.swap.percent": 0.1,
    "node.load.1": 0.01, "node.load.5": 0.01, "node.load.15": 0.01, "node.fs.used[/]": 16 * MIB,
    "node.fs.free[/]": 16 * MIB, "node.fs.percent[/]": 0.06, "node.cpu.online": 0,
}  # fmt: skip

# Counters, with what growth may be off: 0, or a tick at each end (ours is in nanoseconds).
COUNTERS = {
    "proc.cpu.user": 2 * TICK, "proc.cpu.system": 2 * TICK, "proc.cpu.time": 3 * TICK,
    "proc.ctx.voluntary": 0, "proc.ctx.involuntary": 0, "proc.io.read_bytes": 0,
    "proc.io.write_bytes": 0, "proc.io.read_count": 0, "proc.io.write_count": 0,
    "proc.io.read_chars": 0, "proc.io.write_chars": 0, "tree.cpu.time": 8 * TICK,
    "tree.io.read_bytes": 0, "tree.io.write_bytes": 0, "tree.io.read_chars": 0,
    "tree.io.write_chars": 0, "node.cpu.user": 0, "node.cpu.nice": 0, "node.cpu.system": 0,
    "node.cpu.idle": 0, "node.cpu.iowait": 0, "node.cpu.irq": 0, "node.cpu.softirq": 0,
    "node.cpu.steal": 0, "node.cpu.guest": 0, "node.ctx": 0, "node.swap.in": 0, "node.swap.out": 0,
    "node.disk.all.read_bytes": 0, "node.disk.all.write_bytes": 0, "node.net.lo.sent": 0,
    "node.net.lo.recv": 0, "node.net.ext.sent": 0, "node.net.ext.recv": 0, "node.net.all.sent": 0,
    "node.net.all.recv": 0, "node.net.all.packets_sent": 0, "node.net.all.packets_recv": 0,
    "node.net.all.errors": 0, "node.net.all.dropped": 0,
}  # fmt: skip


# What the machine has may go up and come down again between two readings of psutil: a figure of it that is wrong is so each
# time.  The target waits meanwhile, and its figures have one try.
TRIES = 5


class Comparison:
    def __init__(self):
        self.compared, self.wrong = 0, set()

    def check(self, name, ours, low, high, tolerance):
        self.compared += 1
        slack = tolerance + 1e-9 * max(abs(low), abs(high))
        is_right = low - slack <= ours <= high + slack
        self.wrong.update([] if is_right else [name])
        print(
            "%-5s %-28s ours %.10g, psutil %.10g ... %.10g, tolerance %.4g"
            % ("ok" if is_right else "WRONG", name, ours, low, high, tolerance)
        )


def is_known(name, *values):
    if all(v.get(name) is not None for v in values):
        return True
    print("skipped: %s is not known to both" % name)
    return False


def compare(samples, percents, comparison):
    (before1, ours1, after1), (before2, ours2, after2) = samples
    for name, tolerance in GAUGES.items():
        if is_known(name, before2, ours2, after2):
            pair = (before2[name], after2[name])
            comparison.check(name, ours2[name], min(pair), max(pair), tolerance)
    for name, tolerance in COUNTERS.items():
        if is_known(name, before1, ours1, after1, before2, ours2, after2):
            low, high = before2[name] - after1[name], after2[name] - before1[name]
            # iowait may run backwards, which ours leaves out.
            high += abs(after1[name] - before1[name]) if name == "node.cpu.iowait" else 0
            comparison.check(name, ours2[name] - ours1[name], min(low, high), high, tolerance)
    for name, (theirs, tolerance) in percents.items():
        if is_known(name, ours2):
            comparison.check(name, ours2[name], theirs, theirs, tolerance)


def observe(psutil, dump, target):
    """Two samples with the target's work between them."""
    process = psutil.Process(target.pid)
    samples, stamps = [], []
    for turn in range(2):
        if turn == 1:
            target.stdin.write("work\n")
            target.stdin.flush()
            target.stdout.readline()
        stamps.append([time.monotonic()])
        before = ask_psutil(psutil, process)
        node, own = psutil.cpu_percent(), process.cpu_percent()
        ours = dump.sample()
        samples.append((before, ours, ask_psutil(psutil, process)))
        stamps[-1].append(time.monotonic())
    # Intervals of two observers that do not quite coincide: what may have happened in the rest.
    gap = sum(end - begin for begin, end in stamps) + 2 * TICK
    share = 100.0 * gap / (stamps[1][0] - stamps[0][1])
    percents = {
        "node.cpu.percent": (node, share),
        "proc.cpu.percent": (own, 2 * share + own * share / 100.0),
    }
    return samples, percents


def main():
    needs_live("psutil", "a machine on which nothing else runs")
    if sys.argv[1:2] == ["--target"]:
        be_target(sys.argv[2], int(sys.argv[3]))
        return 0
    try:
        import psutil
    except ImportError:
        print(f"skipped: psutil is not installed (Debian: python3-psutil) for {sys.executable} (RESMON_PYTHON chooses another)")
        return 77
    program, directory = sys.argv[1], sys.argv[2]
    print("psutil", psutil.__version__)
    target = subprocess.Popen(
        [sys.executable, os.path.abspath(__file__), "--target", directory, "2"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    target.stdout.readline()
    wrong = None  # in each try so far
    try:
        for _ in range(TRIES):
            dump = Dump(program, target.pid)
            samples, percents = observe(psutil, dump, target)
            if dump.close() != 0:
                return 1
            comparison = Comparison()
            compare(samples, percents, comparison)
            print("%d figures compared, wrong: %s" % (comparison.compared, sorted(comparison.wrong) or "none"))
            grown = samples[1][1]["proc.cpu.time"] - samples[0][1]["proc.cpu.time"]
            if not math.isfinite(grown) or grown < 0.7:
                print("the target did not work: %g s of CPU time" % grown)
                return 1
            wrong = comparison.wrong if wrong is None else wrong & comparison.wrong
            if not wrong:
                return 0
            if any(not name.startswith("node.") for name in comparison.wrong):
                return 1
    finally:
        target.communicate()
    print("wrong in each of %d tries: %s" % (TRIES, sorted(wrong)))
    return 1


if __name__ == "__main__":
    sys.exit(main())
