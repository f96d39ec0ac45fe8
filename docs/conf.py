# SPDX-License-Identifier: MIT
"""Sphinx's settings for the site of the documentation.  cmake/make_site.py lays out what Sphinx reads: the repository as it
is, so that links that work on a forge work here, and a page for each public header.
"""
import os
import pathlib
import re

SOURCE = pathlib.Path(os.environ["RESMON_SITE_SOURCE"])

project = "libresmon"
author = "the libresmon authors"
release = version = os.environ["RESMON_SITE_VERSION"]
root_doc = "docs/README"
extensions = ["myst_parser", "hawkmoth", "sphinx.ext.autodoc"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["docs/conf.py"]
suppress_warnings = ["toc.not_included"]
language = "en"
smartquotes = False  # "--option" stays what one types

html_theme = "furo"
html_title = "libresmon"
html_copy_source = False
html_show_copyright = False

myst_heading_anchors = 3

hawkmoth_root = str(SOURCE / "include/resmon")
hawkmoth_compiler = os.environ["RESMON_SITE_COMPILER"]
hawkmoth_clang = [f"-I{SOURCE / 'include'}", "-std=c11"]

autodoc_member_order = "bysource"


def contents(page):
    """A table of contents for each section of the first page, of the links in it."""
    for section in re.split(r"^## ", page, flags=re.M)[1:]:
        caption = section.split("\n", 1)[0].split(":")[0]
        links = list(dict.fromkeys(re.findall(r"\]\(([\w./-]+)\.md\)", section)))
        yield "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *links, "```", ""])


def read(_, name, source):
    text = re.sub(r"\]\((?:\.\./)*include/resmon/(\w+)\.h\)", r"](/c/\1.rst)", source[0])
    text = re.sub(r"\[([^]]+)\]\([\w./-]*/(?:site|notebooks)\)", r"\1", text)  # directories, which are no pages
    if name == root_doc:
        text += "".join(contents(text))
    if name == "docs/reference/c-api":
        text += "\n```{toctree}\n:hidden:\n:glob:\n\n/c/*\n```\n"
    if name == "docs/reference/python-api":
        text += "\n```{toctree}\n:hidden:\n\n/python\n```\n"
    source[0] = text


def marked(line):
    """A line of plain text as reStructuredText; functions are links."""
    line = re.sub(r"[\\*`|]|(?<=\w)_(?!\w)", r"\\\g<0>", line.strip())
    return re.sub(r"\b(resmon_\w+)\(\)", r":c:func:`\1`", line)


def marked_lines(lines):
    """A comment of a header, which is plain text; code is indented by 4, and begins after an empty line."""
    made, was_code, in_item = [""], False, False
    for line in lines:
        is_code = line.startswith("    ") and (was_code or not made[-1]) or was_code and not line.strip()
        begins_item = re.match(r" {0,2}- ", line) is not None
        in_item = begins_item or in_item and bool(line.strip())
        made += ["::", ""] if is_code and not was_code else []
        if is_code:
            made.append(line)
        elif in_item:
            made += ([""] if made[-1] else []) + [marked(line)] if begins_item else ["  " + marked(line)]
        else:
            made += "\n\n".join(re.split(r" *(?=Thread class: )", marked(line), maxsplit=1)).split("\n")
        was_code = is_code
    return made[1:]


def process(_, lines, *__):
    lines[:] = marked_lines(lines)


def setup(app):
    app.connect("source-read", read)
    app.connect("hawkmoth-process-docstring", process)
