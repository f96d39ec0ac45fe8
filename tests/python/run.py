#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the package of bindings/python: as it is among the sources, and as a wheel that is installed.

run.py WHAT SOURCES OUT LIBRARY

Of the sources, with LIBRARY (a build's libresmon.so): "system.1" and "system.2" run a half of bindings/python/tests each,
with pytest alone.
Of a wheel: "wheel" builds it, looks at what is in it, uses it in an environment that has nothing else, and runs the
tests of which library is loaded; "packages" makes an environment with all of tests/locks/packages.txt; "full" runs
bindings/python/tests there; "engines" those beside Dask, Ray, Spark, scikit-learn, Keras and reportseff, with engines.txt there; "3.9" ...
"3.13" what of them matters under that Python.
OUT is a directory of the build; what is in it is used again.  77: it cannot be had here.
"""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from locked import Environments, checked, skip  # noqa: E402: the directory first

PACKAGES_SINCE = (3, 11)
# The oldest and the newest Python run all tests that need no other package; those in between, what a version of Python
# can change: the interface by ctypes, functions of all kinds, and the tracing of lines.
BETWEEN = ("3.10", "3.11", "3.12")
OF_A_WHEEL = ("test_library",)
SHARDS = 2
OF_THE_VERSION = ("test_import", "test_library", "test_monitor", "test_scopes", "test_tasks", "test_lines",
                  "test_run")
# What needs whole systems, or commands, of others: tests/locks/engines.in has them.
BESIDE_OTHERS = ("test_engines", "test_frameworks", "test_reportseff")
# What a wheel holds besides the files of bindings/python/resmon.
BUILT = {"resmon/libresmon.so.0", "resmon/libresmon-reader.so.0", "resmon/libcjson.so.1", "resmon/resmon-names",
         "resmon/_generated.py", "resmon/_generated_records.py", "resmon/__init__.pyi"}

OUTSIDE = """
import os, sys, resmon
assert resmon.__file__.startswith(sys.prefix + os.sep), resmon.__file__
with resmon.Monitor(interval=0.01) as monitor:
    with resmon.scope("sum"):
        total = sum(range(2_000_000))
monitor.save("run.json")
run = resmon.load("run.json")
assert [scope.path for scope in run.scopes] == ["sum"], run.scopes
assert "sum" in run.summary.text(), run.summary.text()
assert run.scopes[0].calls == 1 and 0 < run.scopes[0].wall_s < 60, run.scopes[0]
libraries = {line.split()[-1] for line in open("/proc/self/maps") if "/libresmon" in line or "/libcjson.so" in line}
assert len(libraries) == 3 and all(path.startswith(sys.prefix) for path in libraries), libraries
print(f"resmon {resmon.__version__} on Python {sys.version.split()[0]}: {run.scopes[0]}")
"""


class Place(Environments):
    """The directory of the build, with the interpreters in it, the sources, and the build's library."""

    def __init__(self, sources, out, library):
        super().__init__(out)
        self.sources, self.library = pathlib.Path(sources).resolve(), pathlib.Path(library).resolve()

    def wheel(self):
        found = list((self.out / "wheel").glob("resmon-*.whl"))
        if not found:
            skip("there is no wheel: python.wheel says why")
        return found[0]

    def install_wheel(self, python):
        """It needs nothing else."""
        self.pip("install", "--no-index", "--no-compile", "--force-reinstall", self.wheel(), python=python)


# ---- the wheel -----------------------------------------------------------------------------------------


def package_files(sources):
    package = sources / "bindings/python"
    found = {str(path.relative_to(package)) for part in ("resmon", "resmon_pytest")
             for path in (package / part).rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    # What git ignores stays out of a wheel; without git there is nothing to tell it by.
    with contextlib.suppress(OSError):
        ignored = subprocess.run(["git", "-c", "safe.directory=*", "check-ignore", "-z", "--stdin"], input="\0".join(sorted(found)), cwd=package,
                                 capture_output=True, text=True, check=False)
        if ignored.returncode == 0:
            found -= set(ignored.stdout.split("\0"))
    return found


def check_content(wheel, sources):
    """Everything of the package is in it, and nothing else."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        records = {name for name in names if ".dist-info/" in name}
        licenses = {name.rpartition("/licenses/")[2]: archive.read(name).decode() for name in records if "/licenses/" in name}
        library = archive.read("resmon/libresmon.so.0")
    wanted = package_files(sources) | BUILT | {f"{'-'.join(wheel.name.split('-')[:2])}.data/scripts/resmon"}
    if names - records != wanted:
        sys.exit(f"{wheel.name}: missing: {sorted(wanted - names)}; not wanted: {sorted(names - records - wanted)}")
    for file, owner in (("LICENSE", "libresmon"), ("LICENSE.cjson", "Dave Gamble"), ("LICENSE.uplot", "Leon Sorokin")):
        if not all(words in licenses.get(file, "") for words in (owner, "Permission is hereby granted")):
            sys.exit(f"{wheel.name}: {file} is not the licence of {owner}: {sorted(licenses)}")
    with tempfile.NamedTemporaryFile() as file:
        file.write(library)
        file.flush()
        dynamic = checked(["env", "LC_ALL=C", "readelf", "-dS", file.name])
    for words in ("soname: [libresmon.so.0]", "[$ORIGIN]", "Shared library: [libcjson.so.1]"):
        if words not in dynamic:
            sys.exit(f"{wheel.name}: libresmon.so.0 has no '{words}':\n{dynamic}")
    if ".debug_info" in dynamic:
        sys.exit(f"{wheel.name}: libresmon.so.0 has debug information")


def build_wheel(place):
    """As `pip wheel ./bindings/python` does, with what builds it locked; nothing is left among the sources."""
    built, new = place.out / "wheel", place.out / "wheel.new"
    for directory in (built, new):
        shutil.rmtree(directory, ignore_errors=True)
    package = place.sources / "bindings/python"
    before = set(package.rglob("*"))
    begin = time.monotonic()
    python = place.environment("build", sys.executable, "build")
    place.pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", new, package, python=python)
    new.rename(built)  # of a run that is killed nothing counts
    wheel = place.wheel()
    left = {path for path in set(package.rglob("*")) - before if "__pycache__" not in path.parts}
    if left:
        sys.exit(f"building the wheel leaves among the sources: {sorted(map(str, left))}")
    check_content(wheel, place.sources)
    print(f"{wheel.name}: {wheel.stat().st_size / 1024:.0f} KiB, {time.monotonic() - begin:.0f} s")


# ---- the tests -----------------------------------------------------------------------------------------


# Variables that change what is tested: of ours, of Python, pytest and Jupyter, of servers, and of languages.
NOT_KEPT = ("RESMON", "PYTHON", "PYTEST", "JUPYTER", "IPYTHON", "MLFLOW_", "CODECARBON_", "VIRTUAL_ENV", "LANG", "LC_",
            "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY")
# What `test all` says to tests that need real time, or figures of this host; and what keeps those from the library.
KEPT = ("RESMON_TEST_LIVE", "RESMON_NVML", "RESMON_SITE_CONF", "RESMON_ENERGY_ROOT", "RESMON_NOTEBOOKS")


def variables(place, scratch):
    """The environment of tests: nothing of ours, and none of their files elsewhere."""
    kept = {name: value for name, value in os.environ.items()
            if name in KEPT or not name.upper().startswith(NOT_KEPT)}
    return {**kept, "HOME": str(scratch), "LANG": "C.UTF-8", "PYTHONNOUSERSITE": "1",
            "PYTHONPYCACHEPREFIX": str(place.out / "pycache"), "RESMON_SOURCES": str(place.sources)}


def interpreter_of(version):
    """A Python of this version: of PATH, or of pyenv."""
    homes = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    candidates = [shutil.which(f"python{version}"), *sorted(homes.glob(f"versions/{version}.*/bin/python"))]
    for candidate in filter(None, candidates):
        # One of pyenv in PATH may stand for none.
        asked = subprocess.run([candidate, "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"],
                               capture_output=True, text=True, check=False)
        if asked.stdout.strip() == version:
            return str(candidate)
    return skip(f"there is no Python {version} here, in PATH or of pyenv")


def shard_of(tests, number):
    """A part of the modules: the largest first, each to the part that has least."""
    shards = [[] for _ in range(SHARDS)]
    sizes = [0] * SHARDS
    for path in sorted(tests, key=lambda path: -path.stat().st_size):
        least = sizes.index(min(sizes))
        shards[least].append(path)
        sizes[least] += path.stat().st_size
    return shards[number - 1]


def chosen_tests(place, name):
    tests = place.sources / "bindings/python/tests"
    beside = [tests / f"{module}.py" for module in BESIDE_OTHERS]
    if name.startswith("system."):
        there = set(tests.glob("test_*.py")) - set(beside) - {tests / f"{module}.py" for module in OF_A_WHEEL}
        return shard_of(sorted(there), int(name.partition(".")[2]))
    if name == "wheel":
        return [tests / f"{module}.py" for module in OF_A_WHEEL]
    if name == "engines":
        return beside
    if name in BETWEEN:
        return [tests / f"{module}.py" for module in OF_THE_VERSION]
    # Reports are looked at in a browser, whichever Python has written them.
    others = [f"--ignore={path}" for path in beside]
    return [tests, *others] if name == "full" else [tests, *others, f"--ignore={tests / 'test_reports.py'}"]


def run_pytest(place, name, python, environment, scratch):
    """From a directory of their own: with the sources' directory in sys.path, the sources would be tested."""
    tests = [python, "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider", *chosen_tests(place, name)]
    missing = []
    with subprocess.Popen(tests, cwd=scratch, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          text=True, errors="replace") as process:
        for line in process.stdout:
            print(line, end="", flush=True)
            missing += [line] if re.match("SKIPPED .*(not installed|could not import)", line) else []
    if name == "full" and missing:
        sys.exit("tests/locks/packages.in has not all that the tests want:\n" + "".join(missing))
    return process.returncode


def run_sources(place, name):
    python = place.environment("system", sys.executable, "pytest")
    with tempfile.TemporaryDirectory(prefix=f"run-{name}-", dir=place.out) as scratch:
        environment = {**variables(place, scratch), "PYTHONPATH": str(place.sources / "bindings/python"),
                       "RESMON_LIBRARY": str(place.library)}
        return run_pytest(place, name, python, environment, scratch)


def run_wheel(place, name, make_environment):
    place.wheel()
    python = make_environment()
    place.install_wheel(python)
    with tempfile.TemporaryDirectory(prefix=f"run-{name}-", dir=place.out) as scratch:
        environment = variables(place, scratch)
        where = [python, "-c", "import resmon, sys; sys.exit(not resmon.__file__.startswith(sys.prefix))"]
        subprocess.run(where, cwd=scratch, env=environment, check=True)
        return run_pytest(place, name, python, environment, scratch)


def listed_environment(place, name, lock):
    if sys.version_info < PACKAGES_SINCE:
        skip(f"{lock}.txt is for Python {'.'.join(map(str, PACKAGES_SINCE))} or newer; RESMON_PYTHON names the interpreter")
    return place.environment(name, sys.executable, lock)


def full_environment(place):
    return listed_environment(place, "full", "packages")


def run_outside(place):
    place.wheel()
    python = place.environment("outside", sys.executable)
    place.install_wheel(python)
    with tempfile.TemporaryDirectory(prefix="run-outside-", dir=place.out) as scratch:
        return subprocess.run([python, "-I", "-c", OUTSIDE], cwd=scratch, env=variables(place, scratch),
                              check=False).returncode


def test_wheel(place):
    build_wheel(place)
    return run_outside(place) or run_wheel(place, "wheel", lambda: place.environment("wheel-tests", sys.executable, "pytest"))


def main(what, sources, out, library):
    place = Place(sources, out, library)
    if what == "wheel":
        return test_wheel(place)
    if what == "packages":
        full_environment(place)
        return 0
    if what == "full":
        return run_wheel(place, what, lambda: full_environment(place))
    if what == "engines":
        return run_wheel(place, what, lambda: listed_environment(place, what, "engines"))
    if what.startswith("system."):
        return run_sources(place, what)
    return run_wheel(place, what, lambda: place.environment(what, interpreter_of(what), "pytest"))


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
