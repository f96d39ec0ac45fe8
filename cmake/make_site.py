# SPDX-License-Identifier: MIT
"""Makes the site of the documentation with Sphinx: what tests/locks/docs.txt lists, in an environment of its own.

    make_site.py BUILD LIBRARY VERSION COMPILER

The site is BUILD/docs/html.  Warnings are errors, broken links within it are warnings, and each public function is in it.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
import locked  # noqa: E402

BUILD, LIBRARY, VERSION, COMPILER = sys.argv[1:]
OUT = pathlib.Path(BUILD).resolve() / "docs"
SOURCE, HTML = OUT / "source", OUT / "html"
PAGES = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "LICENSE", "docs", "include", "examples", "lib/README.md",
         "lib/common/format/resmon-run.schema.json", "lib/common/counter/groups.def", "lib/common/counter/events.def", "lib/reader/view/advice.def",
         "bindings/python/README.md")


def lay_out():
    """The repository, as far as documents link to it, and what is made of sources."""
    for made in (SOURCE, HTML, OUT / "doctrees"):
        shutil.rmtree(made, ignore_errors=True)
    for page in PAGES:
        target = SOURCE / page
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / page).is_dir():
            shutil.copytree(ROOT / page, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / page, target)
    for header in (SOURCE / "include/resmon").glob("*.h"):
        header.write_text(with_comments_in_front(header.read_text(encoding="utf-8")), encoding="utf-8")
    (SOURCE / "c").mkdir()
    for header in sorted((ROOT / "include/resmon").glob("*.h")):
        (SOURCE / "c" / f"{header.stem}.rst").write_text("\n".join(page_of(header)), encoding="utf-8")
    modules = ("resmon", "resmon.results", "resmon.records", "resmon.carbon", "resmon.promql", "resmon.mlflow")
    (SOURCE / "python.rst").write_text("".join(
        f"{module}\n{'=' * len(module)}\n\n.. automodule:: {module}\n   :members:\n   :inherited-members: BaseException, Sequence, Mapping\n"
        + ("   :imported-members:\n\n" if module == "resmon" else "\n") for module in modules), encoding="utf-8")


def page_of(header):
    """What its first comment explains, then what it declares."""
    title, first, text = re.search(r"/\*\n \* (resmon/\w+\.h) - (.)(.*?)\n \*/", header.read_text(encoding="utf-8"), re.S).groups()
    yield from [title, "=" * len(title), ""]
    yield from conf.marked_lines([line[3:] for line in f" * {first.upper()}{text}".split("\n")])
    if "/**" in header.read_text(encoding="utf-8"):
        yield from ["", f".. c:autodoc:: {header.name}", ""]


def with_comments_in_front(text):
    """Hawkmoth knows comments in front of what they are about, and takes those behind ("/**< ... */") to be of what follows."""
    parts = re.split(r"/\*\*<(.*?)\*/", text, flags=re.S)
    made = parts[0]
    for comment, rest in zip(parts[1::2], parts[2::2]):
        end = len(made.rstrip().rstrip(";,"))
        begin = max(made.rfind(mark, 0, end) + len(mark) for mark in (";", "{", "*/", "\n#define", "\nenum"))
        begin = made.rfind("\n", 0, begin) if made[:begin].endswith(("#define", "enum")) else begin
        words = " ".join(re.sub(r"\\\n", " ", comment).split())
        made = f"{made[:begin]}\n/** {words} */{made[begin:]}" + rest
    return made


def missing_names():
    """What the headers declare and no page shows."""
    declared = [name for header in sorted((ROOT / "include/resmon").glob("*.h"))
                for name in re.findall(r"^RESMON_API [^;]*?(resmon_\w+)\(", header.read_text(encoding="utf-8"), re.M)]
    shown = "".join(page.read_text(encoding="utf-8") for page in (HTML / "c").glob("*.html"))
    return [name for name in declared if f'id="c.{name}"' not in shown], len(declared)


os.environ.update(RESMON_SITE_SOURCE=str(SOURCE), RESMON_SITE_VERSION=VERSION, RESMON_SITE_COMPILER=COMPILER,
                  RESMON_LIBRARY=LIBRARY, PYTHONPATH=str(ROOT / "bindings/python"), RESMON="")
sys.path.insert(0, str(ROOT / "docs"))
import conf  # noqa: E402

lay_out()
python = locked.Environments(OUT).environment("venv", sys.executable, "docs")
made = subprocess.run([python, "-B", "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "auto", "-c", ROOT / "docs", "-d", OUT / "doctrees",
                       SOURCE, HTML], check=False)
if made.returncode != 0:
    sys.exit("the site was not made: see above")
(HTML / "index.html").write_text('<meta http-equiv="refresh" content="0; url=docs/README.html">\n', encoding="utf-8")
missing, count = missing_names()
if missing or count < 100:
    sys.exit(f"not in the site, for want of a comment: {', '.join(missing)} (of {count} functions)")
print(f"{count} functions; the site: {HTML}/index.html")
