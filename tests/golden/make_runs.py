# SPDX-License-Identifier: MIT
"""How the runs of tests/golden/runs were recorded, once: each shows something that others do not.  Numbers are of the day
and the machine; what tests compare is what is made of them.  The runs made-*.json with stacks were saved from
tests/unit/made_profile.h, whose source is made.c.

    make_runs.py BUILD [NAME]...
"""
import copy
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(sys.argv[1]).resolve()
RUNS = HERE / "runs"
RESMON = str(BUILD / "bin/resmon")
FEW = "domains=process+tree+cpu+energy,rows=8"
MAKERS = {}

PHASES = """
import asyncio, threading, time, resmon

def busy(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        sum(range(100))

def parts():
    with resmon.scope("part"):
        busy(0.01)
        yield 1
        busy(0.01)
        yield 2

def depth(n):
    with resmon.scope("again"):
        busy(0.002)
        if n:
            depth(n - 1)

async def request(seconds):
    async with resmon.scope("request"):
        await asyncio.sleep(seconds)

async def serve():
    await asyncio.gather(*(request(0.01 * i) for i in range(1, 4)))

def work(here):
    with resmon.scope("gradient", under=here):
        busy(0.02)

with resmon.scope("train"):
    threads = [threading.Thread(target=work, args=(resmon.here(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    list(parts())
    depth(3)
with resmon.scope("serve"):
    asyncio.run(serve())
for text in ("1", "x"):
    try:
        with resmon.scope("parse"):
            busy(0.001)
            int(text)
    except ValueError:
        pass
"""

LINES = """
#include <resmon/scope.h>
#include <stdlib.h>
#include <string.h>

static void train(void)
{
    char *data;
    RESMON_FUNCTION();
    RESMON_LINE();
    data = malloc(32 << 20); RESMON_LINE();
    memset(data, 1, 32 << 20); RESMON_LINE();
    free(data); RESMON_LINE();
}

int main(void)
{
    train();
    train();
    return 0;
}
"""


def maker(function):
    MAKERS[function.__name__.replace("_", "-")] = function
    return function


def run(*words, **variables):
    environment = {**os.environ, "RESMON_LIBRARY": str(BUILD / "libresmon.so"), "PYTHONPATH": str(ROOT / "bindings/python"),
                   "PATH": f"{BUILD / 'bin'}:{BUILD / 'examples'}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1",
                   "LC_ALL": "C.UTF-8", **variables}
    return subprocess.run(words, env=environment, check=False, stdout=subprocess.DEVNULL)


def by_python(options, body="pass", after=""):
    """A run of Python's Monitor."""
    text = f"import resmon\nm = resmon.Monitor({options})\nwith m:\n    {body}\n{after or 'm.save(%r)' % 'run.json'}\n"
    run(sys.executable, "-c", text)


@maker
def plain():
    run("resmon", "run", "-q", "-o", "run.json", "--interval=50ms", "--domains=process+tree+cpu+energy", "--rows=8", "--", "sleep", "0.3")


@maker
def halved():
    run("resmon", "run", "-q", "-o", "run.json", "--interval=1ms", "--domains=process+tree", "--rows=8", "--name=busy", "--",
        "sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done; exit 3")


@maker
def one_sample():
    by_python(f"fs_root={str(ROOT / 'tests/fixtures/amd-epyc/t0')!r}, scopes=False, name='one'")


@maker
def nothing():
    os.mkdir("empty")
    by_python("fs_root='empty', scopes=False, domains='process+cgroup'")


@maker
def limits():
    by_python(f"fs_root={str(ROOT / 'tests/fixtures/cgroup2-limits/t0')!r}, scopes=False", "m.tag('full'); m.tag('<b>')")


@maker
def meters():
    run("hello", RESMON=f"scopes=all,json=run.json,events=16,{FEW}")


@maker
def phases():
    run("resmon", "run", "-q", "-o", "run.json", "--scopes=wall+cpu+rss+io", "--domains=process+tree+cpu+energy", "--rows=4", "--",
        sys.executable, "-c", PHASES)


@maker
def many_paths():
    by_python("domains='process', rows=2, interval=1.0", "[resmon.scope(f'layer {i % 7}/{i:03}').__enter__().__exit__(None, None, None) "
              "for i in range(90)]")


@maker
def killed():
    script = ("import os, resmon\nwith resmon.scope('main'):\n    with resmon.scope('done'):\n        pass\n    with resmon.scope('fit'):\n"
              "        os.kill(os.getpid(), 9)\n")
    run(sys.executable, "-c", script, RESMON=f"record=run.rec,scope_paths=16,scope_threads=4,tags=4,{FEW}")
    run("resmon", "recover", "run.rec")  # what is in /dev/shm is in the file then


@maker
def torn():
    killed()
    data = pathlib.Path("run.rec").read_bytes()
    pathlib.Path("run.rec").write_bytes(data[:len(data) * 3 // 5])


@maker
def each():
    pathlib.Path("a.c").write_text("int main(void) { return 0; }\n", encoding="ascii")
    run("resmon", "run", "-q", "-o", "run.json", "--each", "--domains=process+tree+cpu+energy", "--rows=4", "--", "gcc", "-O2", "a.c")


@maker
def stacks():
    run("hello", RESMON=f"stacks=cpu+memory,stack_hz=250,json=run.json,{FEW}")


@maker
def unnamed():
    by_python("stacks='cpu', domains='process', rows=4", "resmon.scope('work').__enter__(); sum(i * i for i in range(2000000)); "
              "m.snapshot().save('run.json')", "pass")


@maker
def peak():
    by_python("stacks='peak', domains='process', rows=4, interval=0.01",
              "a = [bytes(1000) for i in range(100000)]; import time; time.sleep(0.1); del a")


@maker
def lines():
    pathlib.Path("train.c").write_text(LINES, encoding="ascii")
    subprocess.run(["cc", "-g", "train.c", f"-I{ROOT / 'include'}", str(BUILD / "libresmon.so"), f"-Wl,-rpath,{BUILD}", "-o", "train"],
                   check=True)
    run("./train", RESMON=f"json=run.json,{FEW}")


@maker
def counters():
    run("resmon", "run", "-q", "-o", "run.json", "--counters=default", "--domains=process+tree", "--rows=4", "--", "gzip", "-c", "/usr/bin/perl")


@maker
def scope_counters():
    run("hello", RESMON=f"scope_counters=page-faults+task-clock+context-switches,json=run.json,{FEW}")


@maker
def rapl():
    run(sys.executable, str(ROOT / "tests/truth/energy_host.py"), "moving", "sh", "-c",
        f"RESMON_ENERGY_ROOT=$RESMON_TEST_ENERGY_ROOT RESMON=scopes=wall+cpu,carbon=FR,interval=20ms,json=run.json,{FEW} hello")


@maker
def gpus():
    library, = BUILD.rglob("libfake_nvml.so")
    by_python("domains='process+tree+cpu+energy+gpu', rows=4, interval=0.02", "import time; time.sleep(0.2)",
              "m.save('run.json')") if not os.environ.update(RESMON_NVML=str(library)) else None
    del os.environ["RESMON_NVML"]


def job(count=4):
    """One rank after the other: on one time, but not at the same time."""
    script = ("import time, resmon\nrank = resmon.job().rank\nwith resmon.scope('load'):\n    time.sleep(0.02)\n"
              "with resmon.scope('train'):\n    time.sleep(0.05 + 0.05 * (rank == 2))\n")
    for rank in range(count):
        run("resmon", "run", "-q", "--domains=process+tree+cpu+energy", "--rows=4", "--scopes=wall+rss", "-o", f"rank{rank}.json", "--",
            sys.executable, "-c", script, RESMON_JOB_ID="demo", RESMON_RANKS="4", RESMON_RANK=str(rank),
            RESMON_LOCAL_RANK=str(rank % 2), RESMON_NODES="2")
    for rank in range(count):
        document = json.loads(pathlib.Path(f"rank{rank}.json").read_text(encoding="utf-8"))
        document["job"].update(node_name=f"n{rank // 2 + 1}")
        document["machine"].update(host_name=f"n{rank // 2 + 1}", boot_id=f"00000000-0000-0000-0000-00000000000{rank // 2}")
        pathlib.Path(f"rank{rank}.json").write_text(json.dumps(document), encoding="utf-8")


@maker
def merged():
    job()
    run("resmon", "merge", "-q", *(f"rank{rank}.json" for rank in range(4)), "-o", "run.json")


@maker
def merged_with_losses():
    job(3)
    path = pathlib.Path("rank1.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    document["run"].update(state="interrupted")
    document["run"]["end"] = {"reason": "killed", "exit_status": 0, "signal": 9, "text": "out of memory"}
    path.write_text(json.dumps(document), encoding="utf-8")
    run("resmon", "merge", "-q", *(f"rank{rank}.json" for rank in range(3)), "-o", "run.json")


def document_of(name):
    return json.loads((RUNS / f"{name}.json").read_text(encoding="utf-8"))


@maker
def hostile_names():
    document = document_of("phases")
    names = iter(["<script>alert(1)</script>", "\x1b[31mred\x07", "\u202egnirts", "a|b*c_d`e`", "", "x" * 300, "line\nbreak", "=cmd()", "\u00e4\u4e2d"])

    def rename(scopes):
        for scope in scopes:
            scope["name"] = next(names, scope["name"])
            rename(scope.get("children", []))
    rename(document["scopes"])
    document["run"].update(name="</title><b>", program="\x1b]0;x\x07", label="[a](http://b)")
    document["machine"]["host_name"] = "n\u202e1"
    save(document)


@maker
def hostile_numbers():
    document = copy.deepcopy(document_of("meters"))
    odd = iter([None, 1e308, -1e308, 2 ** 63, -5, 0, 1e-300])
    for column in document["summary"]["columns"]:
        for key, value in column.items():
            if isinstance(value, (int, float)) and key not in ("column", "n"):
                column[key] = next(odd, value)
    document["run"]["duration_ns"] = 0
    save(document)


@maker
def made_hostile_times():
    """Times and counts of samples that cannot be added, scopes without a time before those that have one."""
    document = document_of("plain")
    series = document["series"]
    document["run"].update(start="2261-12-31T23:59:59.999999999Z", duration_ns=2 ** 62)
    for key in ("t_first_ns", "t_last_ns"):
        series[key] = [2 ** 63 - 1024 * (len(series[key]) - i) for i in range(len(series[key]))]
    series["samples"] = [2 ** 63 - 1024] * len(series["samples"])
    document["scopes"] = [{"name": f"scope {i}", "calls": 1, "wall_ns": 1e9 if i % 3 == 0 else None, "children": []} for i in range(300)]
    save(document)


def save(document):
    pathlib.Path("run.json").write_text(json.dumps(document), encoding="utf-8")


def bench(times, peak):
    save({"results": [{"command": "./train", "times": times, "user": 0.9 * times[0], "system": 0.1 * times[0],
                       "memory_usage_byte": [peak] * len(times)}]})


@maker
def bench_before():
    bench([1.000, 1.012, 0.991, 1.020, 1.004, 0.998, 1.007, 1.011, 0.996, 1.002], 100 << 20)


@maker
def bench_same():
    bench([1.003, 1.010, 0.994, 1.017, 1.001, 1.000, 1.006, 1.009, 0.999, 1.005], 100 << 20)


@maker
def bench_worse():
    bench([1.153, 1.160, 1.144, 1.167, 1.151, 1.150, 1.156, 1.159, 1.149, 1.155], 112 << 20)


@maker
def bench_few():
    bench([1.2, 1.0], 101 << 20)


def column(document, metric, unit, kind, instance="", **values):
    """A column that nobody sampled."""
    document["columns"].append({"metric": metric, "instance": instance, "unit": unit, "kind": kind, "level": "process", "source": "made"})
    document["summary"]["columns"].append({"n": 9, **dict.fromkeys(
        ("first", "last", "min", "max", "mean", "integral", "p50", "p95"), 0), "duration_s": 10, "resets": 0, "over_s": [0, 0, 0, 0], **values})


def estimate(key, value, low, high, calls):
    return {f"{key}_calls": calls, f"{key}_provenance": "measured" if calls == 10 else "sampled", f"{key}_ns": value,
            **({} if calls == 10 else {f"{key}_ns_low": low, f"{key}_ns_high": high})}


def made_report(state, peak, memory_percent):
    """Each source, cost, limit and estimate that a report tells apart."""
    document = document_of("nothing")
    document["run"].update(state=state, duration_ns=10_000_000_000, samples=1001, program="made", name="made")
    document["settings"].update(interval_ms=1, max_overhead=0.01)
    document["sources"] = [{"name": name, "status": status, "provenance": "none", "reason": reason, "reads": reads, "failures": failures,
                            "cost_ns": 0, "cost_max_ns": 0, "every": 1} for name, status, reason, reads, failures in (
        ("sound", "RESMON_OK", "", 9, 0), ("remarked", "RESMON_OK", "not all of it", 9, 0), ("denied", "RESMON_EACCES", "no permission", 0, 0),
        ("shaky", "RESMON_OK", "it broke", 3, 1), ("no_hardware", "RESMON_ENODEV", "there is none", 0, 0),
        ("cgroup_mem", "RESMON_OK", "limit, percent and events of the group /outer", 9, 0))]
    document["overhead"].update(sampler_cpu_ns=80080000, skipped_samples=9000, delivery_cpu_ns=5000000, handlers_ns=2000000)
    mib = 1 << 20
    column(document, "proc.mem.rss", "B", "gauge", first=40 * mib, last=90 * mib, max=100 * mib, mean=90 * mib, p95=100 * mib)
    column(document, "proc.mem.peak_rss", "B", "gauge", first=peak[0] * mib, last=peak[1] * mib, max=peak[1] * mib)
    column(document, "cg.mem.limit", "B", "gauge", last=512 * mib)
    column(document, "cg.mem.percent", "%", "gauge", last=memory_percent, max=memory_percent)
    column(document, "cg.mem.events.max", "1", "counter", last=6901 if memory_percent > 95 else 0)
    column(document, "cg.mem.events.oom_kill", "1", "counter", last=1 if memory_percent > 95 else 0)
    for number, event in enumerate(("page-faults", "INST_RETIRED:ANY_P", "task-clock:u")):
        column(document, "perf.event", "1", "counter", event, mean=10, p95=20, max=30, last=4000 + number)
    column(document, "perf.event", "1", "counter", "never-read", n=0)
    for name, cpu, pcpu in (("sure", (1, 1, 1, 10), (2, 2, 2, 10)), ("about", (3, 2, 4.9, 4), (4, 1, 6, 4)), ("vague", (5, 2, None, 4), (6, 6, 6, 10))):
        scope = {"name": name, "file": "", "function": "", "line": 0, "calls": 10, "recursive_calls": 0, "threads": 1, "wall_ns": 7e9,
                 "self_ns": 7e9, "wall_min_ns": 1, "wall_max_ns": 2e9, "wall_stddev_ns": None, "open": 0, "open_ns": 0, "concurrent_ns": 0,
                 "children": []}
        for key, values in (("cpu", cpu), ("pcpu", pcpu)):
            scope.update(estimate(key, *(value and value * 1e9 for value in values[:3]), values[3]))
        scope["pcpu_provenance"] = "sampled" if name == "vague" else scope["pcpu_provenance"]  # all calls, beside children
        document["scopes"].append(scope)
    document["series"] = {"t_first_ns": [], "t_last_ns": [], "samples": [], "columns": []}
    save(document)


@maker
def made_killed_at_its_limit():
    made_report("interrupted", (40, 160), 98)


@maker
def made_far_from_its_limit():
    made_report("stopped", (160, 160), 83)


# ---- what is of this machine goes -------------------------------------------------------------------

def anonymous(text):
    """Without paths of this machine, and build ids by which its own files would be found."""
    text = re.sub(r"(?<=\"build_id\":\")[0-9a-f]+", lambda match: "0" * len(match[0]), text)
    text = re.sub(r"/root/[\w./-]*/lib/(?=python)", "/usr/lib/", text)
    text = re.sub(r"/[\w./-]*/(libpython[\w.]*|python[\d.]*|hello|train|libresmon\.so[\d.]*|resmon|cc1|as|collect2|ld|gcc)(?=[\"\\ ])", r"/opt/\1", text)
    text = re.sub(rf"{re.escape(os.uname().release)}", "6.1.0", text)
    return re.sub(rf"{re.escape(str(ROOT))}|/tmp/golden-\w+", "/opt", text)


def finish(name):
    if os.path.exists("run.rec"):
        (RUNS / f"{name}.rec.gz").write_bytes(gzip.compress(pathlib.Path("run.rec").read_bytes(), mtime=0))
        return
    document = json.loads(pathlib.Path("run.json").read_text(encoding="utf-8"))
    if document.get("format") == "resmon-run":
        machine = document["machine"]
        if machine.get("host_name") == os.uname().nodename:
            machine["host_name"] = "node"
        if "boot_id" in machine and not name.startswith("merged"):
            machine["boot_id"] = "00000000-0000-0000-0000-000000000000"
        if "observer" in document.get("run", {}):  # pid, start, boot: of a boot that is no machine's, so that it is nowhere gone
            document["run"]["observer"] = re.sub(r"^(\d+ \d+) \d+", r"\1 1", document["run"]["observer"])
    (RUNS / f"{name}.json").write_text(anonymous(json.dumps(document, indent=None, separators=(",", ":"))) + "\n", encoding="utf-8")


RUNS.mkdir(exist_ok=True)
for wanted in sys.argv[2:] or MAKERS:
    with tempfile.TemporaryDirectory(prefix="golden-") as room:
        os.chdir(room)
        MAKERS[wanted]()
        finish(wanted)
        os.chdir(HERE)
    print(wanted, *(f"{path.stat().st_size}" for path in RUNS.glob(f"{wanted}.*")))
