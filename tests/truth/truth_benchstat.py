# SPDX-License-Identifier: MIT
"""p of `resmon diff` against benchstat's, which is Go's: for random runs, with and without equal values."""
import csv
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from live import needs_live  # noqa: E402

RESMON = os.path.abspath(sys.argv[1])
BENCHSTAT = "golang.org/x/perf/cmd/benchstat@latest"
choose = random.Random(20261125)


def command(*words):
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def of_benchstat(program, path):
    """Of the time: "~" is said beside p, too."""
    for row in csv.reader(command(program, "-format=csv", "-col=/command", path).splitlines()):
        if row and row[0] == "Run":
            return float(row[6].split()[0].partition("=")[2])
    raise AssertionError("benchstat compares nothing")


def check(program, sizes, digits):
    before, after = ([round(choose.gauss(middle, 3), digits) for _ in range(size)] for middle, size in zip((100, 102), sizes))
    pathlib.Path("bench.json").write_text(json.dumps({"results": [{"command": "a", "times": before},
                                                                  {"command": "b", "times": after}]}))
    command(RESMON, "export", "bench.json", "--format=go", "-o", "bench.txt")
    [row] = json.loads(command(RESMON, "diff", "--json", "--fail=wall>0%", "bench.json"))["figures"]
    theirs = of_benchstat(program, "bench.txt")
    print(f"{sizes[0]:3} and {sizes[1]:3} runs, {digits} digits: p {row['p']:.4f}, benchstat {theirs}")
    return abs(row["p"] - theirs) <= 0.00051


def main():
    go = shutil.which("go")
    if go is None:
        print("skipped: there is no Go to build benchstat with")
        return 77
    os.environ.update(GOBIN=os.getcwd(), GOFLAGS="-modcacherw")
    if subprocess.run([go, "install", BENCHSTAT], check=False).returncode != 0:
        print("skipped: benchstat cannot be had from Go's registry")
        return 77
    sizes = [(5, 5), (6, 9), (10, 10), (20, 20), (13, 7), (50, 50), (60, 70)]
    agree = [check(os.path.abspath("benchstat"), pair, 6) for pair in sizes]
    agree += [check(os.path.abspath("benchstat"), pair, 0) for pair in ((6, 6), (10, 10), (12, 9), (60, 70))]
    return 0 if all(agree) else 1


needs_live("benchstat", "Go, and benchstat from its registry")
with tempfile.TemporaryDirectory(prefix="resmon-truth-") as directory:
    os.chdir(directory)
    sys.exit(main())
