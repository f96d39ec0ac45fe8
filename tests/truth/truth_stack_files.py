# SPDX-License-Identifier: MIT
"""Files of stacks as their readers see them: pprof by go tool pprof, gzip and speedscope (npm, in a headless
Chromium), folded lines as flamegraph.pl parses them.  A reader that cannot be had is said.  Arguments: made_stack_files, a directory to work in."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from locked import npm_modules  # noqa: E402: the directory first
from truth_trace_viewers import run, speedscope_page  # noqa: E402

failures = []
KEPT = pathlib.Path(sys.argv[2]).resolve() / "stacks"
# Of made_profile.h: CPU time by function, in ns, itself and with what it called.
CPU = {"square": (600e6, 600e6), "work": (139999700, 739999700), "memset": (200e6, 200e6), "main": (0, 949999700)}
SUMS = {"few": 1e9, "many": 10 * 1e10 + 19990 * 1e7, "none": 0}


def check(condition, *what):
    if not condition:
        failures.append(" ".join(map(str, what)))


# ---- folded ---------------------------------------------------------------------------------------------


def folded(place):
    """flamegraph.pl: /^(.*)\\s+?(\\d+(?:\\.\\d*)?)$/ twice: a second number would be taken for a difference."""
    for name, wanted in SUMS.items():
        text = (place / f"{name}.folded").read_text(encoding="utf-8", errors="strict")
        lines = text.split("\n")[:-1]
        total, sums = 0, {}
        for line in lines:
            match = re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", line)
            check(match is not None, name, "is no folded line:", line)
            stack, count = match.groups()
            check(re.fullmatch(r"(.*)\s+?(\d+(?:\.\d*)?)", stack) is None, name, "has two numbers:", line)
            check(all(stack.split(";")), name, "has an empty frame:", line)
            total += int(count)
            for function in set(stack.split(";")):
                sums[function] = sums.get(function, 0) + int(count)
        check(len(set(line.rpartition(" ")[0] for line in lines)) == len(lines), name, "has a stack twice")
        check(lines == sorted(lines, key=lambda line: line.rpartition(" ")[0].encode() + b" "), name, "is not sorted")
        check(abs(total - wanted / 1000) <= len(lines), name, "sums to", total, "instead of", wanted / 1000)
        for function, (_, inclusive) in CPU.items() if name == "few" else ():
            check(abs(sums[function] - inclusive / 1000) <= 3, function, "has", sums[function])
    print("folded lines parse, and weigh what they should")


# ---- pprof ----------------------------------------------------------------------------------------------


def gzip(place):
    if shutil.which("gzip") is None:
        raise LookupError("gzip is not installed")
    for name in SUMS:
        done = run("gzip", "-t", str(place / f"{name}.pb.gz"))
        check(done.returncode == 0, name, "is no gzip file:", done.stderr)
    print("pprof: the files are gzip files")


def pprof_tool(place, *arguments):
    """Newer Gos build their pprof when it is first wanted: it is kept with what npm gets."""
    environment = dict(os.environ, PPROF_BINARY_PATH=str(place), HOME=str(place), GOTOOLCHAIN="local", GOPROXY="off",
                       GOCACHE=str(KEPT / "go"), GOFLAGS="-mod=mod")
    return run("go", "tool", "pprof", *arguments, env=environment, cwd=place)


def seconds(text):
    match = re.fullmatch(r"([\d.]+)(ns|us|ms|s|mins)?", text)
    return float(match[1]) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "mins": 60, None: 1}[match[2]]


def pprof(place):
    if shutil.which("go") is None:
        raise LookupError("go is not installed")
    first = pprof_tool(place, "-symbolize=none", "-raw", "few.pb.gz")
    if first.returncode != 0 and "no such tool" in first.stderr:
        raise LookupError(f"go has no pprof: {first.stderr.strip()[:200]}")
    check(first.returncode == 0, "go tool pprof -raw:", first.stderr[-400:])
    check("samples/count cpu/nanoseconds[dflt] memory/bytes file/bytes" in first.stdout, first.stdout[:400])
    check("scope:[training/epoch]" in first.stdout, "no label in", first.stdout[:800])
    check("/opt/bin/train 00ff17 [FN][FL][LN][IN]" in first.stdout, "no mapping in", first.stdout[-600:])
    top = pprof_tool(place, "-symbolize=none", "-top", "-nodecount=100", "few.pb.gz")
    rows = {words[-1]: words for words in map(str.split, top.stdout.replace("(inline)", "").splitlines())
            if len(words) == 6 and words[1].endswith("%")}
    for function, (own, inclusive) in CPU.items():
        check(function in rows, function, "is not in", top.stdout, top.stderr[-400:])
        flat, cumulative = (seconds(rows.get(function, "000000")[i]) for i in (0, 3))
        check(abs(flat - own / 1e9) < 0.011, function, "itself has", flat)
        check(abs(cumulative - inclusive / 1e9) < 0.011, function, "has", cumulative)
    comments = pprof_tool(place, "-symbolize=none", "-comments", "few.pb.gz").stdout
    check(comments.startswith("libresmon ") and "lost: 3: samples came faster" in comments, comments)
    memory = pprof_tool(place, "-symbolize=none", "-top", "-sample_index=memory", "few.pb.gz")
    check(re.search(r"2\.86MB +95\.\d+% .* memset", memory.stdout), memory.stdout, memory.stderr[-400:])
    many = pprof_tool(place, "-symbolize=none", "-top", "-nodecount=12", "many.pb.gz")
    check(many.returncode == 0 and "function_9" in many.stdout, many.stdout[-600:], many.stderr[-400:])
    merged = pprof_tool(place, "-symbolize=none", "-top", "few.pb.gz", "many.pb.gz")
    check(merged.returncode == 0, "pprof cannot merge:", merged.stderr[-400:])
    check(pprof_tool(place, "-symbolize=none", "-raw", "none.pb.gz").returncode == 0, "an empty profile")
    cut = place / "cut.pb.gz"
    cut.write_bytes((place / "few.pb.gz").read_bytes()[:-40])
    check(pprof_tool(place, "-symbolize=none", "-raw", "cut.pb.gz").returncode != 0, "pprof takes half a file")
    print("pprof: go tool pprof reads the functions, lines, labels and mappings")


def in_speedscope(place):
    for name in ("few.folded", "few.pb.gz"):
        text = speedscope_page(place / name, KEPT, place)
        check(name in text, "speedscope does not open", name, text[-600:])
    print("speedscope: opens folded lines and pprof")


def main():
    maker = sys.argv[1]
    KEPT.mkdir(exist_ok=True)
    missing = []
    with tempfile.TemporaryDirectory(prefix="resmon-stacks-") as name:
        place = pathlib.Path(name)
        subprocess.run([maker, name], check=True)
        folded(place)
        is_live = "RESMON_TEST_LIVE" in os.environ
        if not is_live:
            print("live: stack_files: needs this host's go, programs of npm and a browser")
        for look in (gzip, pprof, in_speedscope) if is_live else (gzip,):
            try:
                look(place)
            except (LookupError, subprocess.TimeoutExpired) as reason:
                missing.append(str(reason))
    for line in missing:
        print("skipped:", line)
    for line in failures[:20]:
        print("wrong:", line)
    return 1 if failures else 0


sys.exit(main())
