#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A command on a host with energy counters of our own making, whatever this one has.

energy_host.py moving|still|psys COMMAND...

moving   two sockets and their memory in powercap, brought up to date each 2 ms, that wrap soon
still    the same counters, that never move, as hypervisors show them
psys     no powercap, and a PMU "power" with energy-psys alone, that counts nothing: a real event of the kernel's
         (its dummy), in a mount namespace of our own; skipped (77) where that needs root

The tests have the first two by RESMON_TEST_ENERGY_ROOT (tests/clean_room.sh).
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

WATTS = {"intel-rapl:0": ("package-0", 60.0), "intel-rapl:0:0": ("dram", 5.0),
         "intel-rapl:1": ("package-1", 40.0), "intel-rapl:1:0": ("dram", 5.0)}
RANGE_UJ = 65532610987
START_UJ = RANGE_UJ - 20_000_000
BEGIN = time.monotonic()


class Counters:
    """Files that grow; written in one piece, as a reader of sysfs sees them."""

    def __init__(self, root, is_moving=True):
        self.files = {}
        for zone, (name, watts) in WATTS.items():
            directory = root / "sys/class/powercap" / zone
            directory.mkdir(parents=True)
            (directory / "name").write_text(name + "\n")
            (directory / "max_energy_range_uj").write_text(f"{RANGE_UJ}\n")
            self.files[os.open(directory / "energy_uj", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o444)] = watts
        self.stamps = []  # when they were brought up to date
        self.count()
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        if is_moving:
            self.thread.start()

    def count(self):
        now = time.monotonic()
        for file, watts in self.files.items():
            uj = (START_UJ + int(watts * (now - BEGIN) * 1e6)) % RANGE_UJ
            os.pwrite(file, f"{uj:011d}\n".encode(), 0)
        self.stamps.append((now, time.monotonic()))

    def run(self):
        while not self.is_over.wait(0.002):
            self.count()
            del self.stamps[:-100_000]

    def end(self):
        self.is_over.set()
        if self.thread.ident is not None:
            self.thread.join()
        for file in self.files:
            os.close(file)

    def span(self, begin, end):
        """Of what was read in between: the most seconds that it can be of, and how old a figure can have been."""
        behind = [done - before for (before, _), (_, done) in zip(self.stamps, self.stamps[1:])]
        first = max(now for now, done in self.stamps if done <= begin)
        return max(now for now, _ in self.stamps if now <= end) - first, max(behind)


PMUS = "/sys/bus/event_source/devices"
# Run by a shell in a mount namespace: what there is of PMUs, and one more.
PSYS = f"""
set -e
mount --make-rprivate /
links=$(cd {PMUS} && for name in *; do echo "$name $(readlink "$name")"; done)
mount -t tmpfs -o mode=755 tmpfs {PMUS}
cd {PMUS}
echo "$links" | while read -r name link; do [ "$name" = power ] || ln -s "$link" "$name"; done
mkdir -p power/events power/format
echo 1 >power/type
echo 0 >power/cpumask
echo config:0-7 >power/format/event
echo event=0x09 >power/events/energy-psys
echo 2.3283064365386962890625e-10 >power/events/energy-psys.scale
echo Joules >power/events/energy-psys.unit
if [ -d /sys/class/powercap ]; then mount -t tmpfs tmpfs /sys/class/powercap; fi
cd "$1"
shift
exec "$@"
"""


def on_psys(command):
    if subprocess.run(["unshare", "-m", "sh", "-c", PSYS, "sh", os.getcwd(), "true"], check=False).returncode != 0:
        print("skipped: a PMU of our own needs a mount namespace, which needs root")
        return 77
    return subprocess.run(["unshare", "-m", "sh", "-c", PSYS, "sh", os.getcwd(), *command], check=False).returncode


def on_powercap(command, is_moving):
    with tempfile.TemporaryDirectory(prefix="resmon-energy-host-") as root:
        os.chmod(root, 0o755)  # some tests become another user
        counters = Counters(pathlib.Path(root), is_moving)
        try:
            return subprocess.run(command, env={**os.environ, "RESMON_TEST_ENERGY_ROOT": root}, check=False).returncode
        finally:
            counters.end()


def main(kind=None, *command):
    if not command or kind not in ("moving", "still", "psys"):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    return on_psys(command) if kind == "psys" else on_powercap(command, kind == "moving")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
