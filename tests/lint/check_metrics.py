# SPDX-License-Identifier: MIT
"""metrics.def: ids ascend and are unique, names too; every metric has a collector, every token a name."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
text = (root / "lib/common/metric/metrics.def").read_text()
rows = re.findall(r'^RM_METRIC\((\d+), (\w+), "([^"]+)", "([^"]+)", (\w+), (\w+), "([^"]+)", "([^"]+)"\)$',
                  text, re.M)
problems = []
if len(rows) != text.count("\nRM_METRIC("):
    problems.append("metrics.def: a row does not have the documented form")
for earlier, later in zip(rows, rows[1:]):
    if int(earlier[0]) >= int(later[0]):
        problems.append(f"metrics.def: id {later[0]} does not ascend")
for column, what in ((1, "token"), (2, "name")):
    values = [row[column] for row in rows]
    problems += [f"metrics.def: {what} {v} twice" for v in sorted(set(values)) if values.count(v) > 1]
collectors = "".join(path.read_text() for path in (root / "lib/recorder/collect").glob("*.c"))
for number, token, name, unit, kind, level, origin, help_ in rows:
    if not re.search(rf"\bRM_{token}\b", collectors):
        problems.append(f"metrics.def: no collector reads {name}")
    if name.upper().replace(".", "_") != token.replace("_MEM_SOME", "_MEMORY_SOME").replace("_MEM_FULL", "_MEMORY_FULL"):
        problems.append(f"metrics.def: token {token} is not the name {name}")
    if unit not in ("B", "s", "%", "1", "J", "W", "Hz", "C"):
        problems.append(f"metrics.def: {name} has unit {unit}")
    if kind not in ("GAUGE", "INTERVAL", "COUNTER", "GROWTH"):
        problems.append(f"metrics.def: {name} has kind {kind}")
print("\n".join(problems) or f"{len(rows)} metrics are in order")
sys.exit(1 if problems or len(rows) < 100 else 0)
