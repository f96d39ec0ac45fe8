# SPDX-License-Identifier: MIT
"""The command resmon for tests: where it is, and what it does with a command line."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import unittest

_BUILD = os.environ.get("RESMON_CLI_BUILD", "CJSON").split()
needs_json = unittest.skipUnless("CJSON" in _BUILD, "this build cannot read JSON")
can_be_loaded = "SANITIZER" not in _BUILD  # by Python
not_sanitized = unittest.skipIf("SANITIZER" in _BUILD, "a sanitizer takes memory of its own")


def needs_live(why):
    """For a test that needs real time to be right, or figures of this host: `test all` runs it."""
    return unittest.skipUnless("RESMON_TEST_LIVE" in os.environ, f"live: needs {why}")


RESMON = str(pathlib.Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else "resmon"


def run(*words, **how):
    """Runs `resmon WORD...`: code (of subprocess: a signal is negative), out, err."""
    how = {"stdin": subprocess.DEVNULL, "timeout": 120, **how}
    done = subprocess.run([RESMON, *map(str, words)], capture_output=True, check=False, **how)
    return types.SimpleNamespace(code=done.returncode, out=done.stdout.decode(errors="replace"),
                                 err=done.stderr.decode(errors="replace"))


def until(is_so, seconds=100):
    """What the condition is, once it is true."""
    end = time.monotonic() + seconds
    while not (found := is_so()):
        if time.monotonic() > end:
            raise AssertionError(f"it did not come to that in {seconds} s")
        time.sleep(0.02)
    return found


def document_so_far(path):
    """A document that is still written again and again; None: nothing so far."""
    try:
        return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def seen_of(path, metric, what="last"):
    """Of a metric, what the document says so far; 0: nothing."""
    document = document_so_far(path)
    if document is None:
        return 0
    names = [column["metric"] for column in document["columns"]]
    return document["summary"]["columns"][names.index(metric)][what] or 0 if metric in names else 0


class Case(unittest.TestCase):
    """In a directory of its own."""

    def setUp(self):
        self._room = tempfile.TemporaryDirectory(prefix="resmon-cli-")
        self.addCleanup(self._room.cleanup)
        self.room = pathlib.Path(self._room.name)
        before = os.getcwd()
        os.chdir(self.room)
        self.addCleanup(os.chdir, before)
        os.environ.pop("RESMON", None)

    def document(self, *words, **how):
        """The run document of `resmon run WORD...`."""
        done = run("run", "-q", "--json=run.json", *words, **how)
        self.assertTrue(os.path.exists("run.json"), done.err)
        return json.loads(pathlib.Path("run.json").read_text(encoding="utf-8"))


def main():
    del sys.argv[1]
    result = unittest.main(exit=False).result
    for test, reason in result.skipped:
        print(f"skipped: {test}: {reason}")
    sys.exit(0 if result.wasSuccessful() else 1)
