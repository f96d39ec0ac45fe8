# SPDX-License-Identifier: MIT
"""The types that the package promises: mypy sees what is there, and no more."""
import ast
import importlib
import pathlib
import subprocess
import sys

import pytest

import resmon

PACKAGE = pathlib.Path(resmon.__file__).parent
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
    (tmp_path / "used.py").write_text(USED.replace("resmon.wrappers.Finding", "Finding").replace(
        "import resmon\n", "import resmon\nfrom resmon.wrappers import Finding\n", 1), encoding="utf-8")
    found = mypy("--strict", "--cache-dir", str(tmp_path / "cache"), "used.py", cwd=tmp_path)
    errors = [line for line in found.splitlines() if ": error:" in line]
    wrong = [number for number, line in enumerate((tmp_path / "used.py").read_text().splitlines(), 1) if "# wrong" in line]
    assert [int(line.split(":")[1]) for line in errors] == wrong, found


@pytest.mark.parametrize("stub", sorted(path.stem for path in PACKAGE.glob("*.pyi")))
def test_what_a_stub_names_is_there(stub):
    module = importlib.import_module("resmon" if stub == "__init__" else f"resmon.{stub}")
    tree = ast.parse((PACKAGE / f"{stub}.pyi").read_text(encoding="utf-8"))
    only_types = {"Place", "Wrapped", "Profiled", "Lines"}
    for node in tree.body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)) or node.name.startswith("_") or node.name in only_types:
            continue
        there = getattr(module, node.name)
        if not isinstance(node, ast.ClassDef):
            continue
        for member in node.body:
            name = member.target.id if isinstance(member, ast.AnnAssign) else getattr(member, "name", None)
            instance_only = node.name in ("Plot", "Diagnosis", "Watch", "Finding") and isinstance(member, ast.AnnAssign)
            assert name is None or instance_only or hasattr(there, name), f"{stub}.{node.name} has no {name}"
