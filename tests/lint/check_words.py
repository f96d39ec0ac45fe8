# SPDX-License-Identifier: MIT
"""Functions and literals that the library must not use, the first lines of every file, and phrases that users do not read."""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
BANNED = {
    r"\b(atoi|atol|atof|sscanf|strtok|strtod|strtol|strtoul|strcpy|strcat|sprintf|gets|alloca)\s*\(":
        "bounded parsing and copying only (base/parse.h, base/text.h)",
    r"\b(exit|_exit|abort|quick_exit)\s*\(": "the library never ends its host program",
    r"\b(printf|puts|putchar|perror|fprintf)\s*\(": "the library never prints",
    r"\b(signal|sigaction|setlocale|umask|setenv|putenv|chdir)\s*\(":
        "no global side effects on the host program",
    r"\b(malloc|calloc|realloc|free)\s*\(": "memory goes through base/alloc.h",
}
EXEMPT = {("base/alloc.c", "memory goes through base/alloc.h"),
          # In place of the C library, when no thread but ours is left.
          ("engine/sampling.c", "the library never ends its host program"),
          # Only for a monitor with stacks, or where RESMON or a language asked for it, and only signals that the
          # program does not handle.
          ("os/program.c", "no global side effects on the host program"),
          # What __cxa_demangle() returns is the C library's memory.
          ("names/demangle.c", "memory goes through base/alloc.h"),
          # resmon-names is a program of its own, in no host.
          ("names/serve.c", "the library never ends its host program"),
          # Checks the library's own text of a number, in whatever locale printed it.
          ("base/number.c", "bounded parsing and copying only (base/parse.h, base/text.h)")}
problems = []
files = sorted((root / "lib").rglob("*.[ch]"))
for path in files:
    relative = "/".join(path.relative_to(root / "lib").parts[1:])
    text = path.read_text()
    if not text.startswith("/* SPDX-License-Identifier: MIT */\n"):
        problems.append(f"{path.relative_to(root)}:1: no SPDX line")
    # Comments out, so that they may speak of anything; strings stay for the path check.
    code = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    for number, line in enumerate(code.splitlines(), 1):
        bare = re.sub(r'"(\\.|[^"\\])*"', '""', line)
        for pattern, why in BANNED.items():
            if re.search(pattern, bare) and (relative, why) not in EXEMPT:
                problems.append(f"{path.relative_to(root)}:{number}: {line.strip()}: {why}")
        if re.search(r'"/(proc|sys)\b', line) and not relative.startswith(("os/", "symbols/symbolizer.")):
            problems.append(f"{path.relative_to(root)}:{number}: a literal path outside of os/")

# What users read is in the field's own words: phrase, and what stands for it.
PHRASES = {
    r"may be said again": "repeatable", r"said aloud": "reported", r"nobody can tell": "the data are insufficient",
    r"\b(is|are|was|were) told of": "is known, is notified", r"\bdraws? beyond": "consumes above idle", r"\bidling\b": "idle",
    r"\bits name says": "by file extension", r"of like with like": "of identical versions", r"without a word": "abnormally, without a message",
    r"page that goes on": "live view", r"\bcontrol groups?\b": "cgroup", r"is nobody's": "is not attributed",
    r"what (it|a run|a build|they) costs?\b": "time, CPU, memory ... of",
}
TEXTS = [root / "README.md", root / "CONTRIBUTING.md", root / "SECURITY.md", root / "bindings/python/README.md", root / "examples/README.md",
         root / "CHANGELOG.md", root / "bindings/cli/commands.def", root / "lib/recorder/setup/options.def", root / "lib/recorder/sink/sinks.def", root / "lib/common/metric/metrics.def"]
TEXTS += [*sorted((root / "docs").rglob("*.md")), *sorted((root / "include").rglob("*.h")),
          *sorted((root / "bindings/python/resmon").rglob("*.py")), *sorted((root / "bindings/cli").glob("*.c")), *files]
for path in TEXTS:
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    if path.suffix in (".def", ".c") or path.relative_to(root).parts[0] == "lib":  # comments there are not for users
        text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S)
    for phrase, better in PHRASES.items():
        for match in re.finditer(phrase.replace(" ", r"\s+"), text, re.IGNORECASE):
            line = text.count("\n", 0, match.start()) + 1
            problems.append(f"{path.relative_to(root)}:{line}: '{match[0]}': write: {better}")
print("\n".join(problems) or f"{len(files)} files use none of the banned words")
sys.exit(1 if problems or len(files) < 50 else 0)
