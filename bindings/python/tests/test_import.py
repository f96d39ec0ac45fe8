# SPDX-License-Identifier: MIT
"""What `import resmon` brings along, and that its sources are Python 3.9."""
import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import resmon

PACKAGE = Path(resmon.__file__).resolve().parent
OLDEST = (3, 9)
# Costly ones of the standard library, and what is wanted only by those who have it already.
NOT_IMPORTED = {"inspect", "logging", "json", "dataclasses", "typing", "asyncio", "pandas", "numpy", "matplotlib",
                "pyarrow", "IPython"}


def modules_after(code):
    """Those that the code imports, and Python by itself did not."""
    code = f"import sys; before = set(sys.modules); {code}; print(*set(sys.modules) - before)"
    # -S: what site packages import when Python starts is not ours; -I: nor is what stands in this directory.
    where = f"import sys; sys.path.insert(0, {str(PACKAGE.parent)!r}); "
    environment = {name: value for name, value in os.environ.items() if name != "RESMON"}
    done = subprocess.run([sys.executable, "-I", "-S", "-c", where + code], stdout=subprocess.PIPE, check=True,
                          universal_newlines=True, env=environment)
    return set(done.stdout.split())


def test_import_brings_little_along():
    modules = modules_after("import resmon")
    assert "resmon._library" in modules
    assert not modules & NOT_IMPORTED


def test_a_scope_brings_little_along():
    modules = modules_after("import resmon; resmon.scope('a').__enter__()")
    assert not modules & NOT_IMPORTED


def test_the_check_can_fail():
    assert "json" in modules_after("import resmon, json") & NOT_IMPORTED


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_syntax_of_the_oldest_python(path):
    ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=OLDEST)


def test_the_oldest_python_is_looked_for():
    with pytest.raises(SyntaxError):
        ast.parse("match x:\n    case 1: pass", feature_version=OLDEST)
