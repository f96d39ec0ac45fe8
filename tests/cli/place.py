# SPDX-License-Identifier: MIT
"""The command resmon for tests: where it is, and what it does with a command line."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest

_BUILD = os.environ.get("RESMON_CLI_BUILD", "CJSON NET ENERGY STACKS").split()
needs_json = unittest.skipUnless("CJSON" in _BUILD, "this build cannot read JSON")
needs_energy = unittest.skipUnless("ENERGY" in _BUILD, "this build knows no energy")
needs_net = unittest.skipUnless("NET" in _BUILD, "this build asks no servers")
not_sanitized = unittest.skipIf("SANITIZER" in _BUILD, "a sanitizer takes memory of its own")
RESMON = str(pathlib.Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else "resmon"


def run(*words, **how):
    """Runs `resmon WORD...`: code (of subprocess: a signal is negative), out, err."""
    how = {"stdin": subprocess.DEVNULL, "timeout": 120, **how}
    done = subprocess.run([RESMON, *map(str, words)], capture_output=True, check=False, **how)
    return types.SimpleNamespace(code=done.returncode, out=done.stdout.decode(errors="replace"),
                                 err=done.stderr.decode(errors="replace"))


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
