# SPDX-License-Identifier: MIT
"""Which libresmon.so is loaded, and what is said when it is none."""
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import resmon
from resmon import _library

OWN = Path(resmon.__file__).resolve().parent / _library.SONAME
if not OWN.exists():
    pytest.skip("these tests are for an installed wheel", allow_module_level=True)

SAY = """
try:
    import resmon
except ImportError as error:
    print(f"{type(error).__name__}: {error}")
"""

# A C extension with scopes of its own, as far as the loader knows.
LOAD_FIRST = """
import ctypes, sys
extension = ctypes.CDLL(sys.argv[1])
import resmon
with resmon.Monitor(interval=0.01) as monitor, resmon.scope("outer"):
    assert extension.in_scope() == 0
print([scope.path for scope in monitor.scopes])
print(sorted({line.split()[-1] for line in open("/proc/self/maps") if "/libresmon.so" in line}))
"""
EXTENSION = """
#include <stddef.h>
#include <stdint.h>
int32_t resmon_site_intern(const char *name, void **site);
uint64_t resmon_scope_begin(void *site);
void resmon_scope_end(uint64_t scope);
int in_scope(void)
{
    void *site = NULL;
    int32_t status = resmon_site_intern("extension", &site);
    if (status == 0) {
        resmon_scope_end(resmon_scope_begin(site));
    }
    return status;
}
"""
OTHER = 'const char *resmon_version(void) { return "0.9.0"; }'


def run(code, *words, **variables):
    environment = {name: value for name, value in os.environ.items() if name != "RESMON_LIBRARY"}
    done = subprocess.run([sys.executable, "-c", code, *map(str, words)], env={**environment, **variables},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    """build(name, source, *words): the path of a shared object."""
    compiler = os.environ.get("CC") or next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        pytest.skip("no C compiler (cc, gcc, clang) is here")
    directory = tmp_path_factory.mktemp("objects")

    def build(name, source, *words):
        (directory / "source.c").write_text(source)
        subprocess.run([*shlex.split(compiler), "-shared", "-fPIC", directory / "source.c", "-o", directory / name, *words],
                       check=True)
        return directory / name
    return build


def test_the_own_library():
    assert run("import resmon._library as it; print(it.path)") == [str(OWN)]


def test_the_one_that_is_named(tmp_path):
    named = tmp_path / "another-name.so"
    shutil.copy(OWN, named)
    shutil.copy(OWN.with_name("libcjson.so.1"), tmp_path)
    assert run("import resmon._library as it; print(it.path)", RESMON_LIBRARY=str(named)) == [str(named)]


def test_the_one_that_is_loaded_already(build, tmp_path):
    """One library, for one tree of scopes: the extension's is in it."""
    for library in (OWN, OWN.with_name("libcjson.so.1")):
        shutil.copy(library, tmp_path)
    extension = build("extension.so", EXTENSION, tmp_path / OWN.name, "-Wl,-rpath," + str(tmp_path))
    assert run(LOAD_FIRST, extension) == ["['outer', 'outer/extension']", str([str(tmp_path / OWN.name)])]


def test_missing(tmp_path):
    missing = tmp_path / "missing.so"
    assert run(SAY, RESMON_LIBRARY=str(missing)) == [
        f"LibraryError: RESMON_LIBRARY names {missing}, which cannot be loaded: cannot open shared object file: No such "
        "file or directory"]


def test_no_library(tmp_path):
    text = tmp_path / "text.so"
    text.write_text("This is no library, but long enough for one to be looked for in it.\n" * 100)
    assert run(SAY, RESMON_LIBRARY=str(text)) == [
        f"LibraryError: RESMON_LIBRARY names {text}, which cannot be loaded: invalid ELF header"]


def test_another_library(build):
    other = build("libother.so", "int other;")
    assert run(SAY, RESMON_LIBRARY=str(other)) == [
        f"LibraryError: RESMON_LIBRARY names {other}, which is no libresmon: it has no resmon_version()"]


def test_another_version(build):
    other = build("libnine.so", OTHER)
    wanted = ".".join(resmon.__version__.split(".")[:2])
    assert run(SAY, RESMON_LIBRARY=str(other)) == [
        f"LibraryError: RESMON_LIBRARY names {other}, which is libresmon 0.9.0, and this package is for {wanted}: install "
        "both from the same release"]


def test_another_version_is_loaded_already(build):
    other = build(_library.SONAME, OTHER, "-Wl,-soname," + _library.SONAME)
    said = run("import ctypes; ctypes.CDLL(__import__('sys').argv[1])" + SAY, other)
    assert said[0].startswith("LibraryError: libresmon.so.0, which this process has loaded already, is libresmon 0.9.0, and")


def test_an_older_one_of_the_same_version(build):
    """The first function that it lacks is named."""
    older = build("libolder.so", 'const char *resmon_version(void) { return "0.1.0"; } '
                  'const char *resmon_last_error(void) { return ""; }')
    assert run(SAY, RESMON_LIBRARY=str(older)) == [
        f"LibraryError: {older} (libresmon 0.1.0) has no resmon_scope_begin: this package and the library are not from the "
        "same release"]


def test_the_command_comes_along(tmp_path):
    """As a script beside the interpreter; and its status is the command's."""
    script = Path(sys.executable).parent / "resmon"
    if not script.exists():
        pytest.skip(f"{script} is not there: the package was not installed by pip into this environment")
    document = tmp_path / "run.json"
    environment = {**os.environ, "RESMON": "summary"}  # of the program that is run, not of the script
    done = subprocess.run([str(script), "run", f"--json={document}", "--", "sh", "-c", "exit 3"], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    run = resmon.load(document)
    assert run.end.reason == "failed" and run.end.exit_status == 3
    assert 0 < run.usage.user_s + run.usage.system_s < 10 and run.usage.rss_peak_bytes > 100_000


def test_parquet_of_the_command(tmp_path):
    """What others read in it is the run's table."""
    parquet = pytest.importorskip("pyarrow.parquet")
    script = Path(sys.executable).parent / "resmon"
    if not script.exists():
        pytest.skip(f"{script} is not there: the package was not installed by pip into this environment")
    subprocess.run([str(script), "run", "-q", "--interval=10ms", f"--json={tmp_path / 'run.json'}",
                    "-o", str(tmp_path / "run.parquet"), "--", "sleep", "0.15"], check=True,
                   env=dict(os.environ, PATH=f"{script.parent}:{os.environ['PATH']}"))
    table, run = parquet.read_table(tmp_path / "run.parquet"), resmon.load(tmp_path / "run.json")
    assert str(table.schema.field("time").type) == "timestamp[ns, tz=UTC]"
    assert run.info.start_realtime_ns <= table.column("time")[0].value < run.info.start_realtime_ns + 1e9
    assert table.column_names[:3] == ["time", "elapsed", "samples"] and sum(table.column("samples").to_pylist()) == \
        run.info.samples
    for name in ("node.mem.total", "tree.cpu.time", "proc.mem.rss"):
        ours = [None if value != value else value for value in run.series(name)]
        assert table.column(name).to_pylist() == ours, name
    assert table.schema.field("proc.mem.rss").metadata[b"resmon.unit"] == b"B"
