# SPDX-License-Identifier: MIT
"""Documents: links lead somewhere, also to their headings; each page is reached from docs/README.md; first pages stay short.
Public headers: each has an example, each function a comment of its own."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
MOST_LINES = {"README.md": 150, "CONTRIBUTING.md": 150, "bindings/python/README.md": 80}
LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
pages = [root / name for name in (*MOST_LINES, "SECURITY.md", "examples/README.md", "lib/README.md")]
pages += sorted((root / "docs").rglob("*.md"))


def prose(path):
    """The text without code, which has brackets of its own."""
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    return re.sub(r"`[^`\n]*`", lambda match: "x" * len(match[0]), text)


def anchors(path):
    """As forges make them of headings."""
    found = {}
    for line in re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M).split("\n"):
        if re.match(r"#{1,6} ", line):
            name = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
            count = found.setdefault(name, 0)
            found[name] += 1
            if count:
                found[f"{name}-{count}"] = 1
    return found


problems, targets, count = [], {}, 0
for page in pages:
    name = str(page.relative_to(root))
    lines = page.read_text(encoding="utf-8").count("\n")
    if lines > MOST_LINES.get(name, lines):
        problems.append(f"{name}: {lines} lines, and {MOST_LINES[name]} at most")
    for match in LINK.finditer(prose(page)):
        link = match[1] or match[2]
        if re.match(r"[a-z]+:", link):
            continue
        count += 1
        path, _, heading = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        targets.setdefault(page, set()).add(target)
        if not target.exists():
            problems.append(f"{name}: {link}: there is no such file")
        elif heading and target.suffix == ".md" and heading not in anchors(target):
            problems.append(f"{name}: {link}: there is no such heading")
reached, waiting = set(), [root / "docs/README.md"]
while waiting:
    page = waiting.pop()
    if page not in reached:
        reached.add(page)
        waiting += [target for target in targets.get(page, ()) if target.suffix == ".md"]
problems += [f"{page.relative_to(root)}: no link leads there from docs/README.md" for page in pages
             if page.is_relative_to(root / "docs") and page not in reached]


# ---- public headers ---------------------------------------------------------------------------------

FUNCTION = re.compile(r"(/\*\*(?:(?!\*/).)*\*/\n)?RESMON_API [^;]*?(resmon_\w+)\([^;]*;", re.S)
functions = 0
for header in sorted((root / "include/resmon").glob("*.h")):
    text = header.read_text(encoding="utf-8")
    if not re.search(r"\A/\*.*\*/\n/\*\n \* resmon/\w+\.h - (?:(?!\*/).)*^ \*\n \*     \S", text, re.S | re.M):
        problems.append(f"{header.name}: the first comment has no example")
    for match in FUNCTION.finditer(text):
        functions += 1
        for wanted, what in ((r"/\*\*", "comment of its own"), (r"\bSince[\s*]+\d", "'Since'"), (r"[Tt]hread", "thread class")):
            if not re.search(wanted, match[1] or ""):
                problems.append(f"{header.name}: {match[2]}() has no {what}")
                break

print("\n".join(problems) or f"{count} links in {len(pages)} pages lead somewhere, {functions} functions have a comment")
sys.exit(1 if problems or count < 200 or functions < 150 else 0)
