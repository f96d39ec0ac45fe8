# SPDX-License-Identifier: MIT
"""docs/reference/older-tools.md: every row of the five systems, and that what it names exists."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
ROWS = 189
STATES = {"works", "better", "differs", "no"}


def read(path):
    return (root / path).read_text(encoding="utf-8")


metrics = set(re.findall(r'^RM_METRIC\(\d+, \w+, "([\w.]+)"', read("lib/common/metric/metrics.def"), re.MULTILINE))
options = set(re.findall(r'CLI_OPTION\(\w+, "([\w-]+)"', read("bindings/cli/commands.def")))
for table in ("lib/recorder/setup/options.def", "lib/recorder/sink/sinks.def"):
    options |= set(re.findall(r'RM_OPTION\("(\w+)"', read(table)))
    options |= set(re.findall(r"RM_SINK\((\w+)\)", read(table)))
options |= {"prometheus", "summary", "help"}
tests = {}
for folder in ("tests", "bindings/python/tests"):
    for path in (root / folder).rglob("*.*"):
        if path.suffix in (".py", ".c", ".sh"):
            tests.setdefault(path.stem, "")
            tests[path.stem] += path.read_text(encoding="utf-8")
    for path in (root / folder).rglob("CMakeLists.txt"):
        tests["CMakeLists"] = tests.get("CMakeLists", "") + path.read_text(encoding="utf-8")
package = {path.relative_to(root / "bindings/python").with_suffix("").as_posix().replace("/", "."): path.read_text(encoding="utf-8")
           for path in (root / "bindings/python/resmon").rglob("*.py")}


def is_there(name):
    """"resmon.compat.perf.Name": a module of the package, or a name that one defines."""
    module, _, last = name.rpartition(".")
    return name in package or f"{name}.__init__" in package or any(
        re.search(rf"\b{last}\b", package.get(owner, "")) for owner in (module, f"{module}.__init__"))


problems, numbers = [], []
for line in read("docs/reference/older-tools.md").splitlines():
    cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("| ") else []
    if len(cells) != 5 or not cells[0].isdigit():
        continue
    number, _, state, here, test = cells
    numbers.append(int(number))
    if state not in STATES or (state in ("differs", "no") and not here):
        problems.append(f"{number}: '{state}' is no state, or has no reason")
    for code in re.findall(r"`([^`]+)`", here):
        first = code.split()[0].split("[")[0].split("(")[0]
        if re.fullmatch(r"(proc|tree|node|cg|gpu|perf|energy)\.[\w.]+", first) and first not in metrics:
            problems.append(f"{number}: there is no metric {first}")
        for option in re.findall(r"--([\w-]+)", code):
            if option.replace("-", "_") not in options and option not in options:
                problems.append(f"{number}: there is no option --{option}")
        if re.fullmatch(r"resmon(\.\w+)+", first) and not is_there(first):
            problems.append(f"{number}: there is no {first}")
    file, _, name = test.removesuffix(".py").partition(":")
    if file not in tests or (name and not re.search(rf"(def |TEST\(){name}\b", tests[file])):
        problems.append(f"{number}: there is no test {test}")
if numbers != list(range(1, ROWS + 1)):
    problems.append(f"the rows are not 1 to {ROWS}: {sorted(set(range(1, ROWS + 1)) ^ set(numbers))}")

print("\n".join(f"docs/reference/older-tools.md: {problem}" for problem in problems) or f"{len(numbers)} rows name what is there")
sys.exit(1 if problems else 0)
