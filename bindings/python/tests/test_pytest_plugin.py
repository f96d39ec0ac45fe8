# SPDX-License-Identifier: MIT
"""pytest --resmon: figures of tests, limits, and a gate; each in a pytest of its own."""
import importlib.util
import json
import os
import subprocess
import sys
import xml.etree.ElementTree

import pytest

TESTS = """
import pytest

def test_quick():
    pass

def test_large():
    assert len(bytearray(SIZE << 20)) > 0

@pytest.mark.resmon(growth="8MiB", wall="100s")
def test_within():
    bytearray(1 << 20)

@pytest.mark.resmon(growth="8MiB", wall="100s")
def test_beyond():
    bytearray(LIMITED << 20)

def test_fails():
    assert FAILS == 0
"""


@pytest.fixture
def run(tmp_path):
    """Runs pytest over the tests above."""
    def run_pytest(*words, size=1, limited=1, fails=0, more=""):
        text = TESTS.replace("SIZE", str(size)).replace("LIMITED", str(limited)).replace("FAILS", str(fails)) + more
        (tmp_path / "test_it.py").write_text(text)
        done = subprocess.run([sys.executable, "-B", "-m", "pytest", "-p", "resmon_pytest", "-p", "no:cacheprovider",
                               "--strict-markers", *words, "test_it.py"], cwd=tmp_path, capture_output=True, text=True,
                              env={**os.environ, "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, timeout=200,
                              check=False)
        return done.returncode, done.stdout + done.stderr
    return run_pytest


def test_without_options(run):
    code, text = run()
    assert code == 0 and "5 passed" in text and "resmon:" not in text


def test_figures_are_shown(run, tmp_path):
    code, text = run("--resmon", "--resmon-rows=0", "--junitxml=out.xml", size=64)
    assert code == 0, text
    assert "resmon: 5 of 5 tests" in text and "test_it.py::test_quick" in text
    cases = {case.get("name"): {part.get("name"): float(part.get("value")) for part in case.iter("property")}
             for case in xml.etree.ElementTree.parse(tmp_path / "out.xml").getroot().iter("testcase")}
    assert cases["test_large"]["resmon.growth"] > 60 << 20 > cases["test_quick"]["resmon.growth"]
    assert 0 < cases["test_quick"]["resmon.wall"] < 10


def test_limits_hold_without_an_option(run):
    code, text = run(limited=64)
    assert code == 1 and "1 failed, 4 passed" in text
    assert "growth of RSS at its peak was 6" in text and "8.00 MiB is the limit" in text
    assert run(limited=1)[0] == 0


def test_a_failure_stays_the_test_s_own(run):
    code, text = run("--resmon", fails=1, more="\n@pytest.mark.resmon(wall='1ns')\ndef test_own(): assert 'own' == ''\n")
    assert code == 1 and "2 failed" in text and "assert 'own' == ''" in text and "is the limit" not in text


@pytest.mark.parametrize("marker, words", [("speed='1s'", "knows no 'speed'"), ("wall='1MB'", "is not an amount"),
                                           ("'1s'", "by their names")])
def test_limits_that_are_wrong(run, marker, words):
    code, text = run(more=f"\n@pytest.mark.resmon({marker})\ndef test_wrong(): pass\n")
    assert code != 0 and words in text


def test_a_gate(run, tmp_path):
    assert run("--resmon-json=old.json")[0] == 0
    results = {result["command"]: result for result in json.loads((tmp_path / "old.json").read_text())["results"]}
    assert len(results) == 5 and results["test_it.py::test_quick"]["exit_codes"] == [0]
    code, text = run("--resmon-compare=old.json", "--resmon-fail=peak>5%+200MiB")
    assert code == 0 and "5 not worse" in text, text
    code, text = run("--resmon-compare=old.json", "--resmon-fail=peak>5%+16MiB", size=256)
    assert code == 1 and "test_it.py::test_large: Worse" in text, text


@pytest.mark.skipif(not importlib.util.find_spec("xdist"), reason="pytest-xdist is not installed")
def test_with_xdist(run):
    code, text = run("-p", "xdist", "-n", "2", "--resmon", "--resmon-rows=0", limited=64)
    assert code == 1 and "resmon: 5 of 5 tests" in text and "8.00 MiB is the limit" in text
