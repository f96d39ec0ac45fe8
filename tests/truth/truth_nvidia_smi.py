#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""GPUs against nvidia-smi, while a kernel runs: truth_nvidia_smi.py GPU_LOAD.  77: there is no GPU here."""
import datetime
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from live import needs_live

SECONDS = 12
BYTES = 1 << 30
# nvidia-smi's query, our metric, what theirs is in, and how far apart means may be (of theirs, and at least)
FIGURES = [("power.draw", "gpu.power", 1.0, 0.10, 5.0), ("utilization.gpu", "gpu.util", 1.0, 0.05, 10.0),
           ("memory.used", "gpu.mem.used", 2**20, 0.02, 2**26), ("memory.total", "gpu.mem.total", 2**20, 0.02, 2**20),
           ("clocks.sm", "gpu.clock.sm", 1e6, 0.05, 5e6), ("clocks.mem", "gpu.clock.mem", 1e6, 0.01, 1e6),
           ("temperature.gpu", "gpu.temp", 1.0, 0.10, 3.0), ("enforced.power.limit", "gpu.power_limit", 1.0, 0.01, 1.0)]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def query():
    """One number for each figure of GPU 0; None: not available."""
    names = ",".join(name for name, *_ in FIGURES)
    text = subprocess.run(["nvidia-smi", "-i", "0", f"--query-gpu={names}", "--format=csv,noheader,nounits"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    return [float(word) if word.replace(".", "").isdigit() else None for word in text.strip().split(", ")]


def observe(load, path):
    environment = {**os.environ, "RESMON": f"json={path},interval=200ms"}
    child = subprocess.Popen([load, str(SECONDS), str(BYTES)], env=environment, stdout=subprocess.PIPE, text=True)
    if child.stdout.readline() != "busy\n":
        child.wait()
        skip("no kernel can be run here")
    time.sleep(3)  # clocks and the mean power settle
    rows = []
    begin = time.time()
    while child.poll() is None and time.time() < begin + SECONDS - 5:
        rows.append(query())
        time.sleep(0.2)
    span = (begin, time.time())
    child.wait()
    return rows, span


def ours(document, metric, span):
    """The mean of the samples within the span, of GPU 0."""
    index = next((i for i, column in enumerate(document["columns"])
                  if column["metric"] == metric and column["instance"] == "0"), None)
    if index is None:
        return None
    start = datetime.datetime.fromisoformat(document["run"]["start"][:26] + "+00:00").timestamp()
    times = [start + t / 1e9 for t in document["series"]["t_last_ns"]]
    values = document["series"]["columns"][index]["mean"]
    inside = [value for t, value in zip(times, values) if value is not None and span[0] <= t <= span[1]]
    return statistics.mean(inside) if inside else None


def main(load):
    needs_live("nvidia_smi", "a GPU, and nobody else on it")
    if shutil.which("nvidia-smi") is None or not pathlib.Path("/dev/nvidiactl").exists():
        skip("there is no NVIDIA GPU (nvidia-smi, /dev/nvidiactl)")
    with tempfile.TemporaryDirectory(prefix="resmon-nvidia-") as work:
        path = pathlib.Path(work, "run.json")
        rows, span = observe(load, path)
        document = json.loads(path.read_text())
    bad = 0
    for place, (name, metric, scale, share, least) in enumerate(FIGURES):
        theirs = [row[place] for row in rows if row[place] is not None]
        mine = ours(document, metric, span)
        wanted = statistics.mean(theirs) * scale if theirs else None
        is_right = (mine is None) == (wanted is None) and \
            (mine is None or abs(mine - wanted) <= max(share * wanted, least))
        bad += not is_right
        print(f"{'ok ' if is_right else 'BAD'} {metric}: {mine}, nvidia-smi {wanted}")
    energy = next(part for part in document["energy"]["parts"] if part["name"] == "gpu")
    power = ours(document, "gpu.power", span)
    print(f"energy {energy['node_joules']} J, the program's share {energy['tree_joules']} J, mean power {power} W")
    gpus = document["machine"].get("gpus", 1)
    if gpus == 1 and not 0.6 * power * SECONDS < energy["node_joules"] < 1.3 * power * (SECONDS + 5):
        bad += 1
        print("BAD the energy is not the power over the time")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
