# SPDX-License-Identifier: MIT
"""Traces in real viewers: the Firefox profiler's importer (npm @firefox-devtools/profiler-cli) and
speedscope (npm speedscope, in a headless Chromium).  Both are installed by npm into the working
directory, once, as tests/locks has them.  What cannot be had is said; with neither, the test is skipped.
Arguments: made_traces, a directory to work in."""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from live import needs_live  # noqa: E402: the directory first
from locked import later_node, npm_modules  # noqa: E402


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=100, **options)


def slices_of(trace):
    events = json.loads(trace.read_text())["traceEvents"]
    slices = [e for e in events if e["ph"] == "X"]
    return events, slices, {(e["pid"], e["tid"]) for e in slices}


def in_firefox_profiler(trace, directory, place):
    home = npm_modules("profiler-cli", directory) / "@firefox-devtools/profiler-cli"
    tool = ["node", str(home / json.loads((home / "package.json").read_text())["bin"]["profiler-cli"])]
    environment = dict(os.environ, PROFILER_CLI_SESSION_DIR=str(place / f"sessions-{trace.stem}"))
    loaded = run(*tool, "load", str(trace), env=environment)
    for _ in range(20):  # "load" gives its daemon half a second to start, and fails on a busy machine
        listed = run(*tool, "thread", "list", env=environment)
        if listed.returncode == 0:
            break
        time.sleep(0.5)
    run(*tool, "stop", env=environment)
    events, slices, threads = slices_of(trace)
    markers = {}
    for line in listed.stdout.splitlines():
        words = line.replace("*", " ").split()
        if words and words[0].startswith("t-"):
            markers[words[0]] = int(words[-1].replace(",", ""))
    marks = sum(e["ph"] == "i" for e in events)
    if sum(markers.values()) != len(slices) + marks or len(markers) < len(threads):
        print(loaded.stdout, loaded.stderr, listed.stdout, listed.stderr)
        if listed.returncode != 0 and (why := later_node("profiler-cli")):
            raise LookupError(why)
        return f"{len(slices)} slices and {marks} tags of {len(threads)} threads became {markers}"
    print(f"{trace.name}: the Firefox profiler shows {sum(markers.values())} markers in {len(markers)} threads")
    return None


def speedscope_page(profile, directory, place):
    """The text of speedscope's page once it has opened a file."""
    page = npm_modules("speedscope", directory) / "speedscope/dist/release/index.html"
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        raise LookupError("chromium is not installed (Debian: chromium)")
    script = place / "profile.js"
    content = base64.b64encode(profile.read_bytes()).decode()
    script.write_text(f"speedscope.loadFileFromBase64({json.dumps(profile.name)},{json.dumps(content)})")
    result = run(browser, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={place}/browser",
                 "--allow-file-access-from-files", "--virtual-time-budget=20000", "--dump-dom",
                 f"file://{page}#localProfilePath={script}")
    if result.returncode != 0 or "<html" not in result.stdout or "ERR_" in result.stdout:
        raise LookupError(f"chromium does not run here: {result.stderr[-200:]}")
    return result.stdout.replace("&quot;", '"').replace("&amp;", "&")


def in_speedscope(trace, directory, place):
    text = speedscope_page(trace, directory, place)
    _, _, threads = slices_of(trace)
    counted = f"(1/{len(threads)})"
    names = [e["args"]["name"] for e in slices_of(trace)[0] if e["name"] == "process_name"]
    if counted not in text or not any(name in text for name in names):
        return f"no title with {counted} and one of {names}: {text[-600:]}"
    print(f"{trace.name}: speedscope shows {len(threads)} profiles")
    return None


def main():
    needs_live("trace_viewers", "programs of npm, and a browser")
    maker, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    missing, failures = [], []
    with tempfile.TemporaryDirectory(prefix="resmon-viewers-") as name:
        place = pathlib.Path(name)
        subprocess.run([maker, name], check=True)
        for look in (in_firefox_profiler, in_speedscope):
            for trace in (place / "single.json", place / "several.json"):
                try:
                    failure = look(trace, directory, place)
                    failures += [failure] if failure else []
                except (LookupError, subprocess.TimeoutExpired) as reason:
                    missing.append(f"{look.__name__}: {reason}")
    for line in sorted(set(missing)):
        print("skipped:", line)
    for line in failures:
        print("wrong:", line)
    if failures:
        return 1
    if len(missing) == 4:
        print("skipped: no viewer can be had here")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
