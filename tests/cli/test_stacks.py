# SPDX-License-Identifier: MIT
"""Stacks of programs that know nothing of libresmon, taken from outside: whose shares are known, of
several kinds of executables and languages, and beside Linux's perf."""
import collections
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import place

MIB = 1 << 20

# Programs whose functions have 70 %, 20 % and 10 % of the time: each turn is as long as chance says, as samples at
# even distances would else be of the same places in turns of their own length.
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
volatile unsigned long sink;
static double used(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
#define WORK __attribute__((noinline)) void
WORK burn(long n) { for (long i = 0; i < n; i++) sink += (unsigned long)(i * i); }
WORK seventy(long n) { burn(7 * n); __asm__ volatile(""); }
WORK twenty(long n) { burn(2 * n); __asm__ volatile(""); }
WORK ten(long n) { burn(n); __asm__ volatile(""); }
WORK grow(size_t bytes)
{
    char *memory = malloc(bytes);
    for (size_t i = 0; i < bytes; i += 4096) ((volatile char *)memory)[i] = 1;
    __asm__ volatile("");
}
WORK grow_more(void) { grow(48 << 20); __asm__ volatile(""); }
WORK grow_less(void) { grow(16 << 20); __asm__ volatile(""); }
int main(int count, char **words)
{
    double until = count > 1 ? atof(words[1]) : 0.5;
    grow_more();
    grow_less();
    until += used();
    for (unsigned x = 1; used() < until; x = x * 1103515245U + 12345U) {
        long n = 1 + (x >> 8) % 200000;
        seventy(n);
        twenty(n);
        ten(n);
    }
    return 0;
}
"""

GO = r"""
package main
import "syscall"
var sink uint64
//go:noinline
func burn(n uint64) { s := uint64(0); for i := uint64(0); i < n; i++ { s = s*31 + i }; sink += s }
//go:noinline
func seventy(n uint64) { burn(7 * n); sink++ }
//go:noinline
func thirty(n uint64) { burn(3 * n); sink++ }
func used() int64 {
    var u syscall.Rusage
    syscall.Getrusage(0, &u)
    return u.Utime.Nano()
}
func main() {
    for x := uint32(1); used() < 1e9; x = x*1103515245 + 12345 {
        n := 1 + uint64(x>>8)%2000000
        seventy(n); thirty(n)
    }
}
"""

RUST = r"""
use std::hint::black_box;
#[inline(never)] #[no_mangle] fn burn(n: u64) -> u64 { let mut s = 0u64;
    let mut i = 0; while i < n { s = black_box(s ^ i); i += 1; } s }
#[inline(never)] #[no_mangle] fn seventy(n: u64) -> u64 { burn(black_box(7 * n)) | 1 }
#[inline(never)] #[no_mangle] fn thirty(n: u64) -> u64 { burn(black_box(3 * n)) | 1 }
extern "C" { fn clock() -> std::os::raw::c_long; }
fn main() {
    let (mut sum, mut x) = (0u64, 1u32);
    while unsafe { clock() } < 1_000_000 {
        let n = 1 + (x >> 8) as u64 % 2000000;
        sum ^= seventy(n) ^ thirty(n);
        x = x.wrapping_mul(1103515245).wrapping_add(12345);
    }
    println!("{}", sum);
}
"""

CXX = r"""
#include <ctime>
#include <string>
namespace app {
volatile unsigned long sink;
struct Model {
    std::string name;
    __attribute__((noinline)) void burn(long n) { for (long i = 0; i < n; i++) sink += i * i; }
    __attribute__((noinline)) void seventy(long n) { std::string a(name + "70"); burn(7 * n); sink += a.size(); }
    __attribute__((noinline)) void thirty(long n) { std::string a(name + "30"); burn(3 * n); sink += a.size(); }
};
}
int main()
{
    app::Model model{"a name that is longer than what fits into a short string"};
    for (unsigned x = 1; clock() < CLOCKS_PER_SEC; x = x * 1103515245U + 12345U) {
        long n = 1 + (x >> 8) % 2000000;
        model.seventy(n);
        model.thirty(n);
    }
}
"""

PYTHON = """
import time
def seventy(n):
    s = 0
    for i in range(7 * n): s = (s * 31 + i) & 0xffff
    return s
def thirty(n):
    s = 0
    for i in range(3 * n): s = (s * 31 + i) & 0xffff
    return s
def main():
    until = time.process_time() + 1.0
    x = 1
    while time.process_time() < until:
        n = 1 + (x >> 8) % 20000
        seventy(n)
        thirty(n)
        x = (x * 1103515245 + 12345) & 0xffffffff
main()
"""

PYTHON_FRAMES = """\
import sys, threading, time

def seventy(n):
    s = 0
    # the loop
    for i in range(7 * n):
        s = (s * 31 + i) & 0xffff
    return s

class Job:
    def twenty(self, n):
        s = 0
        for i in range(2 * n):
            s = (s * 31 + i) & 0xffff

def ten(n):
    s = 0
    for i in range(n):
        s = (s * 31 + i) & 0xffff

def generate(n):
    for i in range(n):
        yield i * i

def in_a_thread():
    until = time.process_time() + 0.2
    while time.process_time() < until:
        sum(generate(10000))

def main():
    until = time.process_time() + float(sys.argv[1])
    x = 1
    while time.process_time() < until:
        n = 1 + (x >> 8) % 20000
        sorted([n], key=seventy)
        Job().twenty(n)
        ten(n)
        x = (x * 1103515245 + 12345) & 0xffffffff

main()
thread = threading.Thread(target=in_a_thread)
thread.start()
thread.join()
"""

# 300,000 lists of 216 bytes, and as many integers of 32; and a line beside it that needs no memory.
PYTHON_GROWTH = """\
def big():
    return bytearray(128 << 20)

def small(n):
    out = []
    for i in range(n):
        out.append([i] * 20)
        if i % 50 == 0:
            idle()
    return out

def idle():
    t = 0
    for i in range(1500):
        t += i

kept = big()
more = small(300000)
"""

NODE = """
function burn(n) { let s = 0; for (let i = 0; i < n; i++) { s = (s * 31 + i) | 0; } return s; }
function seventy(n) { return burn(7 * n) + 1; }
function thirty(n) { return burn(3 * n) + 1; }
let sum = 0;
for (let x = 1; process.cpuUsage().user < 1e6; x = (Math.imul(x, 1103515245) + 12345) >>> 0) {
    const n = 1 + (x >>> 8) % 200000;
    sum += seventy(n) + thirty(n);
}
"""


def tool(*names):
    """The first of the programs that there is; None: none."""
    return next((found for found in map(shutil.which, names) if found), None)


def interpreter(*names):
    """As tool(); a script that finds no interpreter (a shim) is none."""
    return next((found for found in filter(None, map(shutil.which, names))
                 if subprocess.run([found, "-c", ""], check=False, capture_output=True).returncode == 0), None)


FEWEST_SAMPLES = 21  # a share of fewer says nothing

PYTHON_KEEPS = """
import time

def touch(size):
    block = bytearray(size << 20)
    for i in range(0, len(block), 4096):
        block[i] = 1
    return block

def kept():
    return [touch(1) for _ in range(64)]

def freed():
    touch(96)

def again():
    return touch(48)

one = kept()
freed()
freed()
two = again()
time.sleep(0.5)
"""

# Two programs whose many threads fill the rings while their recorder is stopped.
STOPPED = """
import os, signal, threading, time
def work():
    for _ in range(20000):
        thread = threading.Thread(target=int)
        thread.start()
        thread.join()
    os._exit(0)
recorder = os.getppid()
os.kill(recorder, signal.SIGSTOP)
programs = [os.fork() or work() for _ in range(2)]
for program in programs:
    os.waitpid(program, 0)
os.kill(recorder, signal.SIGCONT)
time.sleep(0.2)
"""


class Profile:
    """The stacks of a document, outermost first, with their samples and weights."""

    def __init__(self, document):
        profile = document["profile"]
        self.kinds, self.lost = profile["kinds"], profile["lost"]
        texts, places, stacks = profile["texts"], profile["places"], profile["stacks"]
        modules = [os.path.basename(module["path"]) for module in profile["modules"]]

        def name(place_):
            function = texts[places["function"][place_]]
            module = places["module"][place_]
            return function or (modules[module] if module >= 0 else "?")

        self.lines = collections.defaultdict(set)
        for function, line in zip(places["function"], places["line"]):
            self.lines[texts[function]].add(line)
        self.stacks = [[name(frame) for frame in reversed(frames)] for frames in stacks["frames"]]
        self.cut = stacks["cut"]
        self.samples, self.weight = stacks["samples"], stacks["weight"]

    def sum_of(self, *functions, kind="cpu", what="weight"):
        """Over all stacks that have the functions in this order, outer ones first."""
        total = 0
        for stack, value in zip(self.stacks, getattr(self, what)[kind]):
            at = -1
            for function in functions:
                at = next((i for i in range(at + 1, len(stack)) if re.search(function, stack[i])),
                          None)
                if at is None:
                    break
            total += value if at is not None else 0
        return total


@place.needs_json
class Kinds(place.Case):
    def test_each_is_sampled_or_says_why_not(self):
        kinds = self.document("--stacks=cpu+memory", "--", "true")["profile"]["kinds"]
        for kind in ("cpu", "memory"):
            if kinds[kind]["status"] != "RESMON_OK":
                self.assertTrue(kinds[kind]["reason"], kind)


@place.needs_json
@place.needs_live("events of the kernel, and shares of CPU time as they were spent")
class Stacks(place.Case):
    def setUp(self):
        super().setUp()
        probe = self.document("--stacks=cpu+memory", "--", "true")
        kinds = probe["profile"]["kinds"]
        for kind in ("cpu", "memory"):
            if kinds[kind]["status"] != "RESMON_OK":
                self.skipTest(kinds[kind]["reason"])

    def profile(self, *words, **how):
        return Profile(self.document(*words, **how))

    def build(self, flags=(), source=PROGRAM, name="program", suffix=".c", tools=("cc", "gcc")):
        compiler = tool(*tools)
        if not compiler:
            self.skipTest(f"{tools[0]} is not installed")
        pathlib.Path(name + suffix).write_text(source, encoding="utf-8")
        done = subprocess.run([compiler, *flags, name + suffix, "-o", name], check=False,
                              capture_output=True, timeout=170)
        if done.returncode != 0:
            self.skipTest(f"{tools[0]} {' '.join(flags)}: {done.stderr.decode()[:200]}")
        return os.path.abspath(name)

    def assert_share(self, profile, expected, functions, among):
        """Of what `among` has: within five standard errors, and 2 % for what is no sampling."""
        count = profile.sum_of(*among, what="samples")
        self.assertGreaterEqual(count, FEWEST_SAMPLES, profile.lost)
        share = profile.sum_of(*functions) / profile.sum_of(*among)
        error = 5 * math.sqrt(expected * (1 - expected) / count) + 0.02
        self.assertAlmostEqual(share, expected, delta=error, msg=str(functions))

    def assert_program(self, profile):
        for expected, name in ((0.7, "seventy"), (0.2, "twenty"), (0.1, "ten")):
            self.assert_share(profile, expected, ("^main$", f"^{name}$", "^burn$"),
                              (r"^\[program\]$", "^burn$"))
        for mib, name in ((48, "grow_more"), (16, "grow_less")):
            grown = profile.sum_of("^main$", f"^{name}$", "^grow$", kind="memory")
            self.assertAlmostEqual(grown / MIB, mib, delta=1.01)

    def test_kinds_of_executables(self):
        for flags in (("-g",), ("-g", "-fno-pie", "-no-pie"), ("-static",), ("-static-pie",),
                      ("-O2", "-fomit-frame-pointer"), ("-Wl,--build-id=none",)):
            with self.subTest(flags=flags):
                program = self.build(("-O1", *flags))
                self.assert_program(self.profile("--stacks=cpu+memory", "--", program, "0.7"))

    def test_lines(self):
        program = self.build(("-O1", "-g"))
        self.document("--stacks=cpu", "--", program, "0.7")
        lines = place.run("report", "--lines=burn", "run.json").out
        self.assertRegex(lines, r"WORK burn\(long n\)")

    def test_a_stripped_program(self):
        program = self.build(("-O2", "-s"))
        profile = self.profile("--stacks=cpu", "--", program, "0.5")
        self.assertEqual(profile.sum_of("seventy"), 0)
        whole = profile.sum_of(r"^\[program\]$", "^program$", "^program$", "^program$")
        self.assertGreater(whole, 0.8 * profile.sum_of())

    def test_without_rights_to_watch_the_kernel(self):
        if os.geteuid() != 0:
            self.skipTest("the test changes the user, which only root can")
        program = self.build(("-O1", "-g"))
        os.chmod(".", 0o777)
        os.chmod(program, 0o755)
        shutil.copy(place.RESMON, "resmon")
        os.chmod("resmon", 0o755)
        os.environ.pop("LD_PRELOAD", None)
        done = subprocess.run(["./resmon", "run", "-q", "--json=nobody.json",
                               "--stacks=cpu+memory", "--", program, "0.7"], user=65534, group=65534,
                              extra_groups=[], capture_output=True, check=False, timeout=120)
        if not os.path.exists("nobody.json"):
            self.skipTest("as nobody: " + done.stderr.decode())
        document = json.loads(pathlib.Path("nobody.json").read_text(encoding="utf-8"))
        profile = Profile(document)
        if profile.kinds["cpu"]["status"] != "RESMON_OK":
            self.skipTest(profile.kinds["cpu"]["reason"])
        self.assert_program(profile)

    def test_all_of_the_time_stands_somewhere(self):
        script = "for i in $(seq 300); do /bin/true; done; " + f"{sys.executable} -c 'sum(range(9999999))'"
        document = self.document("--stacks=cpu", "--", "sh", "-c", script)
        profile, usage = Profile(document), document["run"]["usage"]
        used = usage["user_s"] + usage["system_s"]
        self.assertAlmostEqual(profile.sum_of() * 1e-9 / used, 1, delta=0.15)
        names = {stack[0] for stack in profile.stacks}
        self.assertLessEqual({"[sh]", "[true]"}, names)
        self.assertTrue(any(name.startswith("[python") for name in names), names)
        self.assertGreater(profile.sum_of(r"^\[true\]$"), 0.05 * used * 1e9)

    def test_time_whose_records_were_lost(self):
        """A recorder that is stopped loses how long each thread ran: that time is of no known process."""
        document = self.document("--stacks=cpu", "--stack_hz=1000", "--", sys.executable, "-c", STOPPED)
        profile, usage = Profile(document), document["run"]["usage"]
        used = usage["user_s"] + usage["system_s"]
        self.assertGreater(profile.lost["ring_full"], 0)
        # the kernel adds the start and end of each thread
        self.assertAlmostEqual(profile.sum_of() * 1e-9 / used, 1, delta=0.3)
        self.assertGreater(profile.sum_of(r"^\[unknown process\]$"), 0.4 * used * 1e9)

    def test_samples_of_one_program_that_were_lost(self):
        """They cannot be of another one."""
        spin = "import time\nwhile time.process_time() < 5: pass"
        with subprocess.Popen([sys.executable, "-c", spin]) as running:
            with subprocess.Popen([place.RESMON, "attach", "-q", "--stacks=cpu", "--stack_hz=1000", "--json=run.json",
                                   str(running.pid)]) as recorder:
                time.sleep(0.6)
                recorder.send_signal(signal.SIGSTOP)
                time.sleep(3)
                recorder.send_signal(signal.SIGCONT)
        profile = Profile(json.loads(pathlib.Path("run.json").read_text(encoding="utf-8")))
        self.assertGreater(profile.lost["ring_full"], 0)
        self.assertEqual(profile.sum_of(r"unknown process"), 0)
        self.assertGreater(profile.sum_of(r"^\[python"), 3.5e9)

    def attached(self, pid, seconds):
        done = place.run("attach", "-q", "--stacks=cpu", f"--for={seconds}s", "--json=run.json", pid)
        self.assertEqual(done.code, 0, done.err)
        return Profile(json.loads(pathlib.Path("run.json").read_text(encoding="utf-8")))

    def test_attached(self):
        program = self.build(("-O1", "-g"))
        with subprocess.Popen([program, "120"]) as running:
            try:
                time.sleep(0.5)
                for seconds in (1, 4, 16):  # a busy host gives it little of a CPU
                    profile = self.attached(running.pid, seconds)
                    if profile.sum_of("^burn$", what="samples") >= FEWEST_SAMPLES:
                        break
                self.assertIsNone(running.poll())
            finally:
                running.kill()
        for expected, name in ((0.7, "seventy"), (0.2, "twenty"), (0.1, "ten")):
            self.assert_share(profile, expected, ("^main$", f"^{name}$", "^burn$"), ("^burn$",))

    def test_a_program_that_is_deleted(self):
        """While it runs its names are there for whoever looks; afterwards the reason is, and its stacks are whole."""
        program = self.build(("-O1", "-g"))
        with subprocess.Popen([program, "120"]) as running:
            try:
                time.sleep(0.5)
                os.unlink(program)
                for seconds in (1, 4, 16):
                    profile = self.attached(running.pid, seconds)
                    if profile.sum_of("^burn$", what="samples") > 10:
                        break
            finally:
                running.kill()
        self.assertGreater(profile.sum_of("^burn$", what="samples"), 10)
        source = PROGRAM.replace("double until", "remove(words[0]); double until")
        profile = self.profile("--stacks=cpu", "--", self.build(("-O1", "-g"), source), "0.7")
        self.assertEqual(profile.lost["not_unwound"], 0)
        self.assertIn("names are missing: cannot open ", profile.kinds["cpu"]["reason"])

    def test_cplusplus(self):
        program = self.build(("-O1",), CXX, suffix=".cc", tools=("c++", "g++"))
        profile = self.profile("--stacks=cpu", "--", program)
        self.assert_share(profile, 0.7, ("^main$", r"^app::Model::seventy\(long\)", "burn"), ("burn",))
        self.assert_share(profile, 0.3, ("^main$", r"^app::Model::thirty\(long\)", "burn"), ("burn",))

    def test_go(self):
        compiler = tool("go")
        if not compiler:
            self.skipTest("go is not installed")
        pathlib.Path("m.go").write_text(GO, encoding="utf-8")
        environment = {**os.environ, "GOCACHE": os.path.abspath("cache"), "GOFLAGS": "-mod=mod"}
        done = subprocess.run([compiler, "build", "-o", "m", "m.go"], capture_output=True,
                              check=False, timeout=170, env=environment)
        if done.returncode != 0:
            self.skipTest("go build: " + done.stderr.decode()[:200])
        profile = self.profile("--stacks=cpu", "--", os.path.abspath("m"))
        self.assert_share(profile, 0.7, (r"^main\.main$", r"^main\.seventy$", r"^main\.burn$"),
                          (r"main\.burn",))

    def test_rust(self):
        program = self.build(("-O",), RUST, suffix=".rs", tools=("rustc",))
        profile = self.profile("--stacks=cpu", "--", program)
        self.assert_share(profile, 0.7, ("^seventy$", "^burn$"), ("^burn$",))

    def test_python(self):
        """Functions and lines of a script that imports nothing of ours, under each Python that there is."""
        room = os.environ.get("RESMON_PYTHONS", "")
        versions = ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
        pythons = {sys.executable, *filter(None, (interpreter(f"{room}/{version}/bin/python", f"python{version}")
                                                  for version in versions))}
        pathlib.Path("work.py").write_text(PYTHON_FRAMES, encoding="utf-8")
        loops = {"seventy": {6, 7}, "twenty": {13, 14}, "ten": {18, 19}}
        for python in sorted(pythons):
            with self.subTest(python=python):
                profile = self.profile("--stacks=cpu", "--", python, "work.py", "1.0")
                for expected, name in ((0.7, "seventy"), (0.2, "twenty"), (0.1, "ten")):
                    self.assert_share(profile, expected, ("^<module>$", "^main$", rf"\b{name}$"),
                                      (r"\b(seventy|twenty|ten)$",))
                    lines = profile.lines[name] | profile.lines[f"Job.{name}"]
                    self.assertLessEqual(lines, loops[name], name)
                self.assertGreater(profile.sum_of(r"\bThread.run$|^run$", "^in_a_thread$", "^generate$"), 0)
                lost = profile.sum_of(r"^\[Python not read\]$", what="samples")
                self.assertLess(lost, 0.2 * profile.sum_of(what="samples"))

    def test_growth_of_python(self):
        """By the line that makes it grow, and not by those that run beside it."""
        room = os.environ.get("RESMON_PYTHONS", "")
        pathlib.Path("grow.py").write_text(PYTHON_GROWTH, encoding="utf-8")
        for version in ("3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15"):
            python = interpreter(f"{room}/{version}/bin/python", f"python{version}")
            if not python:
                continue
            with self.subTest(python=python):
                profile = self.profile("--stacks=memory", "--", python, "grow.py")
                whole = profile.sum_of(kind="memory")
                big = profile.sum_of("^<module>$", "^big$", kind="memory")
                small = profile.sum_of("^<module>$", "^small$", kind="memory")
                self.assertAlmostEqual(big / MIB, 128, delta=0.05 * 128)
                self.assertAlmostEqual(small / MIB, 76, delta=0.2 * 76)
                self.assertLess(profile.sum_of("^idle$", kind="memory"), 0.02 * whole)
                self.assertEqual(profile.lines["big"], {2})

    def test_memory_that_remains(self):
        """What was freed, and what came again for another line, is not of the line that had it before."""
        pathlib.Path("keep.py").write_text(PYTHON_KEEPS, encoding="utf-8")
        for version in ("3.9", "3.11", "3.13"):
            python = interpreter(f"{os.environ.get('RESMON_PYTHONS', '')}/{version}/bin/python", f"python{version}")
            if not python:
                continue
            with self.subTest(python=python):
                profile = self.profile("--stacks=memory", "--", python, "keep.py")
                kept, again, freed, grown = (profile.sum_of(f"^{name}$", kind=kind) / MIB for name, kind in
                                             (("kept", "resident"), ("again", "resident"), ("freed", "resident"), ("freed", "memory")))
                self.assertAlmostEqual(kept, 64, delta=0.05 * 64)
                self.assertAlmostEqual(again, 48, delta=0.05 * 48)
                self.assertLess(freed, 4)
                self.assertAlmostEqual(grown, 192, delta=0.05 * 192)

    def test_other_pythons(self):
        """A program that has the library of PyPy is not one of CPython, which the result says."""
        library = self.build(("-shared", "-fPIC"), source="int there(void) { return 1; }\n", name="libpypy3-c.so")
        program = self.build(("-Wl,--no-as-needed", library, f"-Wl,-rpath,{os.path.dirname(library)}"), name="pypy3", source=(
            "#include <time.h>\nint there(void);\n"
            "int main(void) { while (clock() < CLOCKS_PER_SEC / 5) there(); return 0; }\n"))
        self.assertIn("PyPy", self.profile("--stacks=cpu", "--", program).kinds["cpu"]["reason"])

    def test_python_with_perf_maps(self):
        room = os.environ.get("RESMON_PYTHONS", "")
        found = [f"{room}/{version}/bin/python" for version in ("3.12", "3.13")]
        found = [path for path in (*map(tool, found), tool("python3.13"), tool("python3.12")) if path and
                 subprocess.run([path, "-X", "perf", "-c", "import sys; sys.activate_stack_trampoline"],
                                check=False, capture_output=True).returncode == 0]
        if not found:
            self.skipTest("no Python that writes perf maps (3.12) is installed")
        python = found[0]
        pathlib.Path("work.py").write_text(PYTHON, encoding="utf-8")
        profile = self.profile("--stacks=cpu", "--", python, "-X", "perf", "work.py")
        if profile.sum_of("^main$") == 0:
            self.skipTest(f"{python} has no perf maps on this machine")
        self.assert_share(profile, 0.7, ("^<module>$", "^main$", "^seventy$"), ("seventy|thirty",))

    def test_node(self):
        node = tool("node", "nodejs")
        if not node:
            self.skipTest("node is not installed")
        pathlib.Path("work.js").write_text(NODE, encoding="utf-8")
        flags = ("--perf-basic-prof", "--interpreted-frames-native-stack", "--no-turbo-inlining")
        profile = self.profile("--stacks=cpu", "--", node, *flags, "work.js")
        if profile.sum_of("burn") == 0:
            self.skipTest(f"{node} has no perf maps on this machine")
        # Node.js 20 does not tell of all code that it makes: callers may be "[unknown]".
        self.assertGreater(profile.sum_of(r"^\[node\]$", r"work\.js:1:1", r"burn .*work\.js"),
                           0.4 * profile.sum_of())

    def test_beside_perf(self):
        perf = tool("perf")
        if not perf:
            self.skipTest("Linux's perf is not installed")
        program = self.build(("-O1", "-g"))
        done = subprocess.run([perf, "record", "-q", "-e", "cpu-clock:u", "-F", "199", "-g", "-o",
                               "perf.data", program, "1.0"], capture_output=True, check=False)
        report = subprocess.run([perf, "script", "-i", "perf.data", "-F", "ip,sym"],
                                capture_output=True, check=False).stdout.decode()
        if done.returncode != 0 or not report.strip():
            self.skipTest("perf record: " + done.stderr.decode()[:200])
        leaves = [text.strip().splitlines()[0].split()[-1] for text in report.split("\n\n")
                  if text.strip()]
        theirs = collections.Counter(leaves)
        profile = self.profile("--stacks=cpu", "--stack_hz=199", "--", program, "1.0")
        ours = profile.sum_of("^burn$") / profile.sum_of("^main$")
        burned = theirs["burn"] / sum(count for name, count in theirs.items()
                                      if name in ("burn", "grow", "seventy", "twenty", "ten"))
        self.assertAlmostEqual(ours, burned, delta=0.1)


if __name__ == "__main__":
    place.main()
