#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pictures of the documentation, from real runs: the top of the HTML report, `resmon live`, the flame graph of a Python
program (which takes NumPy), and cells of a notebook (nbclient and ipykernel).

    cmake/make_pictures.py BUILD [DIRECTORY]

BUILD is a build with examples and the command; DIRECTORY is what the example indexes (/usr/share).  Takes chromium.
"""
import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

SOURCES = pathlib.Path(__file__).resolve().parent.parent
PICTURES = SOURCES / "examples/pictures"
PAGE = """<!DOCTYPE html><meta charset=utf-8><style>
body {{ margin: 0; background: #0d1117 }}
pre {{ margin: 14px 18px; color: #d7dee8; font: 15px/1.35 "DejaVu Sans Mono", monospace }}
b {{ color: #7ee2a8 }}
i {{ color: #9ecbff; font-style: normal }}
</style><pre><b>$ resmon live run.rec</b>

{}</pre>"""


PROGRAM = """\
import time
import numpy as np

def multiply(a, b):
    return a @ b

def sort(a):
    return np.sort(a.ravel())

def score(n):
    s = 0
    for i in range(n):
        s += i % 7
    return s

def main():
    a = np.random.rand(400, 400)
    end = time.time() + 6
    while time.time() < end:
        for _ in range(3):
            multiply(a, a)
        sort(a)
        score(60000)

main()
"""


def shoot(page, picture, width, height):
    """A picture of a page, as chromium draws it."""
    browser = shutil.which("chromium") or sys.exit("chromium is not installed")
    with tempfile.TemporaryDirectory() as home:
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={home}",
                        f"--window-size={width},{height}", "--virtual-time-budget=4000", f"--screenshot={picture}",
                        pathlib.Path(page).as_uri()], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(f"{picture}: {os.path.getsize(picture) // 1000} kB")


def flame_graph(build, room):
    """A page with nothing but the flame graph of a Python program."""
    (room / "train.py").write_text(PROGRAM, encoding="utf-8")
    subprocess.run([build / "bin/resmon", "run", "-q", "--stacks=cpu", "-o", "run.html", "--", "python3", "train.py"], cwd=room,
                   check=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    page = (room / "run.html").read_text(encoding="utf-8")
    at = page.index('aria-label="Flame graph of CPU time')
    figure = page[page.rindex("<figure", 0, at):page.index("</figure>", at)]
    styles = "".join(re.findall("<style>.*?</style>", page, re.DOTALL))
    graph = room / "graph.html"
    graph.write_text(f"<!DOCTYPE html><meta charset=utf-8>{styles}<body>{figure}</figure>", encoding="utf-8")
    return graph


CELLS = ["""\
import resmon
%load_ext resmon

def rows(n):
    return [[i] * 50 for i in range(n)]

def total(table):
    s = 0
    for row in table:
        s += sum(row)
    return s""", """\
%%resmon -k cpu+memory
table = rows(150000)
for _ in range(10):
    total(table)"""]
CELL = "<b>In [{}]:</b>\n<i>{}</i>\n\n{}\n"


def notebook(build, room):
    """A page with cells of a notebook and what they print."""
    import nbclient
    import nbformat
    os.environ.update(RESMON_LIBRARY=str(build / "libresmon.so.0"), PYTHONPATH=str(SOURCES / "bindings/python"))
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbclient.NotebookClient(book, timeout=100).execute()
    texts = [CELL.format(number, html.escape(cell.source), html.escape("".join(
        output.get("text") or output["data"]["text/plain"] + "\n" for output in cell.outputs)))
        for number, cell in enumerate(book.cells, 1)]
    page = room / "notebook.html"
    page.write_text(PAGE.replace("<b>$ resmon live run.rec</b>\n\n", "").format("\n".join(texts)), encoding="utf-8")
    return page, "".join(texts).count("\n") + 2


def main(build, directory="/usr/share"):
    """Runs the example, looks at it while it runs, and makes its report."""
    build = pathlib.Path(build).resolve()
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as room:
        words = [build / "examples/wordindex", directory, "words.gz", "run.json", "trace.json", "run.rec"]
        with subprocess.Popen(words, cwd=room, stdout=subprocess.DEVNULL, env={**os.environ, "RESMON_COUNTRY": "FR"}) as program:
            time.sleep(1.8)
            page = subprocess.run([build / "bin/resmon", "live", "--once", "run.rec"], cwd=room, check=True,
                                  env={**os.environ, "LC_ALL": "C.UTF-8"}, capture_output=True).stdout.decode()
            if program.wait() != 0:
                sys.exit("the example failed")
        live, report = pathlib.Path(room, "live.html"), pathlib.Path(room, "report.html")
        live.write_text(PAGE.format(html.escape(page)), encoding="utf-8")
        subprocess.run([build / "bin/resmon", "report", "run.json", "-o", report], cwd=room, check=True)
        shoot(live, PICTURES / "live.png", 1010, 72 + 21 * (page.count("\n") + 1))
        shoot(report, PICTURES / "report.png", 1340, 880)
        shoot(flame_graph(build, pathlib.Path(room)), PICTURES / "python.png", 1250, 440)
        page, lines = notebook(build, pathlib.Path(room))
        shoot(page, PICTURES / "notebook.png", 1010, 28 + 21 * lines)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
