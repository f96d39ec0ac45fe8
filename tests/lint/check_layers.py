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


rows = list(table_after("## Who may", "layer"))
order = [row[0] for row in rows]  # "common/base"
folders = {str(path.relative_to(root / "lib")) for path in (root / "lib").glob("*/*") if path.is_dir()}
problems = [f"lib/README.md: no row for layer {layer}" for layer in sorted(folders - set(order))]
problems += [f"lib/README.md: layer {layer} does not exist" for layer in sorted(set(order) - folders)]
paths = {layer.split("/")[1]: layer for layer in order if not layer.endswith("/api")}  # nobody includes an api but itself
allowed = {}
for layer, _, others in rows:
    allowed[layer] = {layer} | {paths.get(other, other) for other in others.split()}
    for other in allowed[layer] - {layer}:
        if other not in order or order.index(other) > order.index(layer):
            problems.append(f"lib/README.md: {layer} may not include {other}, which comes after it")
owners = {row[0].strip("`"): row[1].strip("`") for row in table_after("## Who may", "library")}

for name in sorted(set(re.findall(r"`([a-z]+/[a-z_]+\.(?:c|h|def))`", readme)) - set(owners)):
    if not list((root / "lib").glob(f"*/{name}")):
        problems.append(f"lib/README.md: {name} does not exist")
collectors = {path.stem for path in (root / "lib/recorder/collect").glob("*.c")
              if f"const struct rm_collector rm_collect_{path.stem} = {{" in path.read_text()}
checked, included = 0, set()
uses = {}  # of a file, with its header as one: "store/block" -> the files that it includes
for path in sorted((root / "lib").rglob("*.[ch]")):
    part, folder, *rest = path.relative_to(root / "lib").parts
    layer = f"{part}/{folder}"
    relative = "/".join((folder, *rest))
    used = uses.setdefault(relative[:-2], set())
    for number, line in enumerate(path.read_text().splitlines(), 1):
        quoted = re.match(r'#include "([^"]+)"', line)
        angled = re.match(r"#include <([^>]+)>", line)
        where = f"lib/{part}/{relative}:{number}"
        if quoted:
            checked += 1
            if quoted.group(1).endswith(".inc"):  # made by the build
                continue
            target = quoted.group(1).split("/")[0]
            target = layer if target == folder else paths.get(target, target)
            included.add((layer, target))
            used.add(quoted.group(1)[:-2])
            if target not in allowed.get(layer, ()):
                problems.append(f"{where}: layer {layer} may not include {quoted.group(1)}")
            if folder == "collect" and pathlib.Path(quoted.group(1)).stem in collectors - {path.stem}:
                problems.append(f"{where}: a collector may not include another")
        elif angled and angled.group(1) in owners and relative != owners[angled.group(1)]:
            problems.append(f"{where}: <{angled.group(1)}> belongs to {owners[angled.group(1)]}")
        elif angled and folder in ("store", "run") and angled.group(1) in ("pthread.h", "unistd.h", "fcntl.h"):
            problems.append(f"{where}: {folder} is pure: no threads, no I/O")
problems += [f"lib/README.md: {layer} does not include {other}, which its row allows" for layer in order
             for other in sorted(allowed[layer] - {layer}) if (layer, other) not in included]
while True:  # a file that includes no file of the rest is in no circle, nor is one that none of the rest includes
    whole = uses
    uses = {file: (used - {file}) & whole.keys() for file, used in whole.items()
            if (used - {file}) & whole.keys() and any(file in other for name, other in whole.items() if name != file)}
    if uses.keys() == whole.keys():
        break
problems += [f"lib: {file} is in a circle: it includes {' '.join(sorted(used))}" for file, used in sorted(uses.items())]

print("\n".join(problems) or f"{checked} includes agree with lib/README.md")
sys.exit(1 if problems or checked < 100 or len(collectors) < 10 else 0)
