# SPDX-License-Identifier: MIT
"""Makes the manual pages of docs/reference: resmon(1), resmon-VERB(1), resmon(5), resmon(7), libresmon(3).  It reads the
part of Markdown that these pages use, and runs nothing that was built, so that it works for another machine, too.

    make_manual.py REFERENCE VERSION OUTPUT
"""
import pathlib
import re
import sys

REFERENCE, VERSION, OUTPUT = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
SECTIONS = {1: "User Commands", 3: "Library Functions", 5: "File Formats", 7: "Miscellaneous"}
WHAT = "time, CPU, memory, I/O, energy and CO2eq of programs"
MEANINGS = ("meaning", "purpose", "what it is", "you free the result by")  # heads of columns that say what a row is
TOKENS = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<bold>[^*]+)\*\*|\[(?P<link>[^]]+)\]\([^)]*\)")


def escaped(text):
    """What roff would take for its own."""
    text = text.replace("\\|", "|").replace("\\*", "*").replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def inline(text):
    made, at = [], 0
    for token in TOKENS.finditer(text):
        made.append(escaped(text[at:token.start()]) if at or token.start() else "")
        inner = token["code"] or token["bold"]
        made.append(f"\\fB{escaped(inner)}\\fR" if inner else inline(token["link"]))
        at = token.end()
    return "".join(made) + escaped(text[at:])


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def table(lines):
    """A term for each row: its first cell; its text: what it means, and the others with their heads."""
    _, *heads = cells(lines[0])
    for line in lines[2:]:
        first, *others = cells(line)
        text = " ".join(inline(cell) for head, cell in zip(heads, others) if head in MEANINGS)
        more = "; ".join(f"{head}: {inline(cell)}" for head, cell in zip(heads, others) if cell and head not in MEANINGS)
        yield from [".TP", inline(first) or "\\ ", " ".join(filter(None, [text, more and f"({more})"])) or "\\ "]


def blocks(text):
    """(kind, lines) of each block of a text: heading, code, table, item or text."""
    lines = re.sub(r"<!--.*?-->", "", text, flags=re.S).split("\n")
    while lines:
        line = lines.pop(0)
        if line.startswith("```"):
            end = lines.index("```")
            yield "code", lines[:end]
            del lines[:end + 1]
        elif line.startswith("#"):
            yield "heading", [line]
        elif line.strip():
            kind = "table" if line.startswith("|") else "item" if line.startswith("- ") else "text"
            block = [line]
            while lines and lines[0].strip() and not lines[0].startswith(("```", "#", "- ")):
                block.append(lines.pop(0))
            yield kind, block


def roff(text):
    for kind, lines in blocks(text):
        if kind == "heading":
            yield f'.SH "{escaped(lines[0].lstrip("# ").replace("`", "").upper())}"'
        elif kind == "code":
            yield from [".PP", ".nf", ".RS", *map(escaped, lines), ".RE", ".fi"]
        elif kind == "table":
            yield from table(lines)
        elif kind == "item":
            yield from [".IP \\[u2022] 2", *inline(" ".join(line.strip() for line in lines)[2:]).split("\n")]
        elif not lines[0].startswith("See also"):
            yield from [".PP", inline(" ".join(lines))]


def write(name, section, what, body, see):
    lines = [f'.TH {name.upper()} {section} "" "resmon {VERSION}" "{SECTIONS[section]}"', ".SH NAME",
             f"{escaped(name)} \\- {escaped(what)}", *body, ".SH SEE ALSO"]
    lines.append(", ".join(f"\\fB{escaped(other)}\\fR({number})" for other, number in see))
    (OUTPUT / f"{name}.{section}").write_text("\n".join(lines) + "\n", encoding="utf-8")


def page(name):
    """A page without its title."""
    return re.sub(r"\A# .*\n", "", (REFERENCE / f"{name}.md").read_text(encoding="utf-8"))


def main():
    OUTPUT.mkdir(parents=True, exist_ok=True)
    everywhere = [("resmon", 1), ("resmon", 5), ("resmon", 7), ("libresmon", 3)]
    overview, *verbs = re.split(r"^## resmon ", page("command"), flags=re.M)
    see = [(f"resmon-{text.split(None, 1)[0]}", 1) for text in verbs] + everywhere[1:]
    write("resmon", 1, WHAT, [".SH SYNOPSIS", "\\fBresmon\\fR \\fIVERB\\fR [\\fIOPTION\\fR]... [\\fIARGUMENT\\fR]...",
                              ".SH DESCRIPTION", *roff(overview), ".SH EXIT STATUS", *roff(page("exit-status"))], see)
    for text in verbs:
        verb, text = text.split("\n", 1)
        what, synopsis, text = re.match(r"\n(.*?)\.\n\n```text\n(.*?)\n```\n(.*)", text, re.S).groups()
        write(f"resmon-{verb}", 1, what[0].lower() + what[1:],
              [".SH SYNOPSIS", escaped(synopsis), ".SH DESCRIPTION", *roff(text.replace("\n```sh\n", "\n## Examples\n```sh\n"))],
              everywhere)
    write("resmon", 5, "the run document", [".SH DESCRIPTION", *roff(page("run-document"))], everywhere)
    write("resmon", 7, "the variable RESMON: options of monitors and sinks",
          [".SH DESCRIPTION", *roff(page("environment")), *roff("## Sinks\n" + page("sinks"))], everywhere)
    write("libresmon", 3, WHAT + " (library)",
          [".SH SYNOPSIS", ".B #include <resmon/resmon.h>", ".SH DESCRIPTION", *roff(page("c-api"))], everywhere)


main()
