# SPDX-License-Identifier: MIT
"""The gate with real runs on a loaded machine: commands that are alike, 100 times, and one that takes 10 % more CPU
time, which hangs less on what else runs than wall time."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from live import needs_live  # noqa: E402

COMPARISONS = 100
RESMON = os.path.abspath(sys.argv[1])


def command(rounds):
    return f"i=0; while [ $i -lt {rounds} ]; do i=$((i+1)); done"


def verdict(figure, runs, before, after):
    """Of runs in turns."""
    subprocess.run([RESMON, "bench", "-q", "-n", str(runs), "-o", "bench.json", "--domains=process+tree", "--", before, "--",
                    after], check=True)
    done = subprocess.run([RESMON, "diff", "--json", f"--fail={figure}>3%", "bench.json"], capture_output=True, check=False)
    return json.loads(done.stdout)["verdict"]


def main():
    rounds = 12000  # some 10 ms
    load = [subprocess.Popen([sys.executable, "-c", "import time\nwhile True:\n    sum(range(20000)); time.sleep(0.002)"])
            for _ in range(os.cpu_count() or 1)]
    try:
        # One of them begins with a space: two commands, that do the same.
        alike = [verdict("wall", 8, command(rounds), " " + command(rounds)) for _ in range(COMPARISONS)]
        slower = [verdict("cpu", 20, command(rounds), command(rounds * 11 // 10)) for _ in range(10)]
    finally:
        for process in load:
            process.kill()
            process.wait()
    print(f"alike: {alike.count('worse')} of {COMPARISONS} are called worse, {alike.count('not_worse')} not worse")
    print(f"10 % more: {slower.count('worse')} of {len(slower)} are found")
    # By chance 2.5 of 100; twelve are less likely than 1 in 100,000.
    return alike.count("worse") < 12 and slower.count("worse") >= 5


needs_live("compare", "real time: commands are run for minutes, beside a load")
with tempfile.TemporaryDirectory(prefix="resmon-truth-") as directory:
    os.chdir(pathlib.Path(directory))
    sys.exit(0 if main() else 1)
