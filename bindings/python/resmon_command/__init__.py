# SPDX-License-Identifier: MIT
"""The script `resmon`: becomes the command, a program in C that comes with the package resmon.

A package of its own, so that starting the command does not import resmon, which has its library watch this process where
the variable RESMON says so.
"""
import importlib.util
import os
import sys


def main():
    """Runs the command with this process's arguments; returns only when it cannot."""
    package = importlib.util.find_spec("resmon")
    command = os.path.join(os.path.dirname(package.origin), "bin", "resmon") if package and package.origin else ""
    try:
        os.execv(command, ["resmon", *sys.argv[1:]])
    except OSError as error:
        sys.stderr.write(f"resmon: the command that comes with the package resmon cannot be run: {command}: {error}\n")
        return 125
