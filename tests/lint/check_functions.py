# SPDX-License-Identifier: MIT
"""No function of the library and the command is longer than 60 lines; pmccabe counts."""
import pathlib
import shutil
import subprocess
import sys

root = pathlib.Path(sys.argv[1])
if shutil.which("pmccabe") is None:
    print("skipped: pmccabe is not installed (Debian: pmccabe)")
    sys.exit(77)
files = sorted(str(path) for folder in ("lib", "bindings/cli") for path in (root / folder).rglob("*.c"))
lines = subprocess.run(["pmccabe", *files], capture_output=True, text=True, check=True).stdout.splitlines()
problems = []
for line in lines:
    fields = line.split("\t")
    complexity, length, name = int(fields[0]), int(fields[4]), fields[6] if len(fields) > 6 else fields[5]
    if length > 60 or complexity > 15:
        problems.append(f"{fields[5]} {name}: {length} lines, complexity {complexity}")
print("\n".join(problems) or f"{len(lines)} functions, none over 60 lines or complexity 15")
sys.exit(1 if problems or len(lines) < 300 else 0)
