#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What MLflow's page draws in the tab "System metrics" of a run, seen by a real Chromium.

check_tab.py --run ID [--experiment-id 0] [--screenshot FILE] [--least N] KEY...

Each KEY must have a chart of lines with at least N points (2).  MLflow draws a bar, not a line, where no
step is above 0.  The browser is driven through chromedriver and can reach the loopback only.  Status 1 and
one line per complaint; 77 without chromium and chromium-driver.
"""
import argparse
import base64
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

SETTLING_SECONDS = 3

# Of the card with this key as its title: what is drawn.  null: no card; no kind: not drawn yet.
CARD = """
const title = Array.from(document.querySelectorAll('h4[title]')).find(h4 => h4.title === arguments[0]);
if (!title) return null;
title.scrollIntoView({block: 'center'});
const card = title.closest('[data-testid="experiment-view-compare-runs-card"]');
const plot = card && card.querySelector('.js-plotly-plot');
if (!plot) return {kind: '', points: 0};
const drawn = selector => plot.querySelectorAll(selector).length;
return {kind: [drawn('.scatterlayer .trace path.js-line') ? 'lines' : '',
               drawn('.barlayer .trace .point path') ? 'bars' : ''].join(''),
        points: Math.max(0, ...plot.data.map(trace => (trace.x || []).length))};
"""
TITLES = """
return Array.from(document.querySelectorAll('[data-testid="experiment-view-compare-runs-card"] h4[title]'))
    .map(h4 => h4.title);
"""


class Browser:
    """A WebDriver session."""

    def __init__(self, directory):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        environment = {**os.environ, "HOME": directory, "TMPDIR": directory}
        self.driver = subprocess.Popen(["chromedriver", f"--port={self.port}", "--log-level=SEVERE"],
                                       env=environment, stdout=subprocess.DEVNULL)
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.session = None
        flags = ["--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 "--disable-default-apps", "--disable-extensions", "--metrics-recording-only",
                 "--no-proxy-server", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
                 "--window-size=1400,1800", f"--user-data-dir={directory}/profile"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        self.wait_for(self.is_up, 30)
        options = {"args": flags, "binary": shutil.which("chromium")}
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options}}})
        self.session = answer["sessionId"]

    def is_up(self):
        try:
            return self.call("GET", "/status")["ready"]
        except OSError:
            return False

    def call(self, method, path, words=None):
        body = json.dumps(words).encode() if words is not None else None
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, method=method,
                                         headers={"Content-Type": "application/json"})
        with self.opener.open(request, timeout=100) as answer:
            return json.load(answer)["value"]

    def command(self, method, path, words=None):
        return self.call(method, f"/session/{self.session}/{path}", words)

    def run(self, script, *arguments):
        return self.command("POST", "execute/sync", {"script": script, "args": arguments})

    @staticmethod
    def wait_for(condition, seconds):
        """What the condition gave once it was true, else the last that it gave."""
        end = time.monotonic() + seconds
        while True:
            found = condition()
            if found or time.monotonic() > end:
                return found
            time.sleep(0.2)

    def close(self):
        if self.session is not None:
            with contextlib.suppress(OSError):
                self.call("DELETE", f"/session/{self.session}")
        self.driver.terminate()
        self.driver.wait()


@contextlib.contextmanager
def browser():
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            print(f"skipped: there is no {program} (Debian: chromium, chromium-driver)")
            sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="resmon-tab-", ignore_cleanup_errors=True) as directory:
        found = Browser(directory)
        try:
            yield found
        finally:
            found.close()


def drawn(page, key, least, seconds):
    """{kind, points} of the key's chart, or None: once it is as wanted, else as it stays."""
    def is_right():
        found = page.run(CARD, key)
        return found and found["kind"] == "lines" and found["points"] >= least
    Browser.wait_for(lambda: (page.run(CARD, key) or {}).get("kind"), seconds)
    Browser.wait_for(is_right, SETTLING_SECONDS)
    return page.run(CARD, key)


def open_tab(page, uri, experiment_id, run):
    page.command("POST", "url", {"url": "about:blank"})
    page.command("POST", "url", {"url": f"{uri}/#/experiments/{experiment_id}/runs/{run}/system-metrics"})


def check_charts(page, keys, least, seconds=60):
    """The complaints: a key that has no chart, or one that is not of lines."""
    problems = []
    for key in keys:
        found = drawn(page, key, least, seconds)
        if found is None:
            problems.append(f"{key}: no chart; there are {page.run(TITLES)}")
            seconds = 1  # the page has had its time
        elif found["kind"] != "lines" or found["points"] < least:
            problems.append(f"{key}: drawn are {found['kind'] or 'nothing'}, {found['points']} points; lines of "
                            f"{least} at least are right")
    return problems


def save_screenshot(page, path):
    pathlib.Path(path).write_bytes(base64.b64decode(page.command("GET", "screenshot")))


def main(words):
    parser = argparse.ArgumentParser(description="The charts of a run's system metrics in MLflow's page.")
    parser.add_argument("--uri", default=os.environ.get("MLFLOW_TRACKING_URI"))
    parser.add_argument("--experiment-id", default="0")
    parser.add_argument("--run", required=True)
    parser.add_argument("--screenshot", metavar="FILE")
    parser.add_argument("--least", type=int, default=2, metavar="N")
    parser.add_argument("key", nargs="+")
    options = parser.parse_args(words)
    with browser() as page:
        open_tab(page, options.uri, options.experiment_id, options.run)
        problems = check_charts(page, options.key, options.least)
        if options.screenshot:
            save_screenshot(page, options.screenshot)
    for line in problems:
        print(line)
    print(f"run {options.run}: {len(options.key)} charts looked for, {len(problems)} wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
