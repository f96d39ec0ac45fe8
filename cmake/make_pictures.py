#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The README's pictures, from a real run: the top of the HTML report, and `resmon live`.

    cmake/make_pictures.py BUILD [DIRECTORY]

BUILD is a build with examples and the command; DIRECTORY is what the example indexes (/usr/share).  Takes chromium.
"""
import html
import os
import pathlib
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
</style><pre><b>$ resmon live run.rec</b>

{}</pre>"""


def shoot(page, picture, width, height):
    """A picture of a page, as chromium draws it."""
    browser = shutil.which("chromium") or sys.exit("chromium is not installed")
    with tempfile.TemporaryDirectory() as home:
        subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={home}",
                        f"--window-size={width},{height}", "--virtual-time-budget=4000", f"--screenshot={picture}",
                        pathlib.Path(page).as_uri()], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(f"{picture}: {os.path.getsize(picture) // 1000} kB")


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


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
