# SPDX-License-Identifier: MIT
"""The types that the package promises: mypy sees what is there, and no more."""
import subprocess
import sys

import pytest

USED = """
from typing import Optional
import resmon

@resmon.timer
def fit(rows: int, depth: int = 3) -> float:
    return rows / depth

@resmon.peak_rss("big", log=False)
def big() -> int:
    return 1

class Model:
    @resmon.profile_lines
    def step(self, number: int) -> int:
        return number

@resmon.scope("load")
def load() -> str:
    return ""

with resmon.Monitor(interval=0.1, scopes="wall+cpu", json="run.json", carbon="FR") as m:
    with resmon.scope("x"), resmon.timer("y") as found:
        a: float = fit(1, depth=2)
    b: int = big() + Model().step(1)
    c: str = load()
seconds: float = found.seconds
last: Optional[resmon.wrappers.Finding] = fit.last
wall: float = m.scopes["x"].wall_s
peak: float = m.summary["proc.mem.rss"].max
run: resmon.Run = resmon.load("run.json")
try:
    resmon.carbon.set_place("FR")
except resmon.errors.RangeError as error:
    status: int = error.status
energy = run.energy
if energy is not None:
    joules: float = energy.parts["cpu"].node_j
fit("1")  # wrong: an argument
m.tag()  # wrong: without a label
m.nothing  # wrong: not there
"""


def mypy(*arguments, cwd=None):
    pytest.importorskip("mypy", reason="types: mypy is not installed")
    done = subprocess.run([sys.executable, "-m", "mypy", *arguments], capture_output=True, text=True, cwd=cwd, check=False)
    return done.stdout + done.stderr


def test_what_a_program_may_do(tmp_path):
    (tmp_path / "used.py").write_text(USED, encoding="utf-8")
    found = mypy("--strict", "--cache-dir", str(tmp_path / "cache"), "used.py", cwd=tmp_path)
    errors = [line for line in found.splitlines() if ": error:" in line]
    wrong = [number for number, line in enumerate(USED.splitlines(), 1) if "# wrong" in line]
    assert [int(line.split(":")[1]) for line in errors] == wrong, found


def test_the_package(tmp_path):
    found = mypy("--ignore-missing-imports", "--cache-dir", str(tmp_path / "cache"), "-p", "resmon", cwd=tmp_path)
    assert found.startswith("Success: no issues found in"), found
