# SPDX-License-Identifier: MIT
"""The #include lines of lib/ against the tables of lib/README.md."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
readme = (root / "lib/README.md").read_text()


def table_after(heading, first):
    """Rows of the first table after `heading` whose heading row starts with `first`."""
    text = readme[readme.index(heading):]
    text = text[text.index("| " + first):]
    for line in text.splitlines()[2:]:
        if not line.startswith("|"):
            return
        yield [cell.strip() for cell in line.strip("|").split("|")]


allowed = {row[0]: set(row[2].split()) | {row[0]} for row in table_after("## Who may", "layer")}
owners = {row[0].strip("`"): row[1].strip("`") for row in table_after("## Who may", "library")}
layers = {path.name for path in (root / "lib").iterdir() if path.is_dir()}
problems = [f"lib/README.md: no row for layer {layer}" for layer in sorted(layers - set(allowed))]
problems += [f"lib/README.md: layer {layer} does not exist" for layer in sorted(set(allowed) - layers)]

order = list(allowed)
for layer, others in allowed.items():
    for other in others - {layer}:
        if other not in order or order.index(other) > order.index(layer):
            problems.append(f"lib/README.md: {layer} may not include {other}, which comes after it")

collectors = {path.stem for path in (root / "lib/collect").glob("*.c")
              if f"const struct rm_collector rm_collect_{path.stem} = {{" in path.read_text()}
checked = 0
for path in sorted((root / "lib").rglob("*.[ch]")):
    relative = path.relative_to(root / "lib")
    layer = relative.parts[0]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        quoted = re.match(r'#include "([^"]+)"', line)
        angled = re.match(r"#include <([^>]+)>", line)
        where = f"lib/{relative}:{number}"
        if quoted:
            checked += 1
            target = quoted.group(1).split("/")[0]
            if quoted.group(1).endswith(".inc"):  # made by the build
                continue
            if target not in allowed.get(layer, ()):
                problems.append(f"{where}: layer {layer} may not include {quoted.group(1)}")
            if layer == "collect" and pathlib.Path(quoted.group(1)).stem in collectors - {path.stem}:
                problems.append(f"{where}: a collector may not include another")
        elif angled and angled.group(1) in owners and str(relative) != owners[angled.group(1)]:
            problems.append(f"{where}: <{angled.group(1)}> belongs to {owners[angled.group(1)]}")
        elif angled and layer in ("store", "run") and angled.group(1) in ("pthread.h", "unistd.h", "fcntl.h"):
            problems.append(f"{where}: {layer} is pure: no threads, no I/O")

print("\n".join(problems) or f"{checked} includes agree with lib/README.md")
sys.exit(1 if problems or checked < 100 or len(collectors) < 10 else 0)
