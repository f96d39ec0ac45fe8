#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What MLflow's page draws in the tab "System metrics" of a run, seen by a real Chromium.

check_tab.py --run ID [--experiment-id 0] [--screenshot FILE] [--least N] KEY...

Each KEY must have a chart of lines with at least N points (2).  MLflow draws a bar, not a line, where no
step is above 0.  The browser is driven through chromedriver and can reach the loopback only.  Status 1 and
one line per complaint; 77 without chromium and chromium-driver.
"""
import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from browser import browser, wait_for

SETTLING_SECONDS = 20  # that a wrong chart is given to become right, on a busy machine

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


def drawn(page, key, least, seconds):
    """{kind, points} of the key's chart, or None: once it is as wanted, else as it stays."""
    def is_right():
        found = page.run(CARD, key)
        return found and found["kind"] == "lines" and found["points"] >= least
    wait_for(lambda: (page.run(CARD, key) or {}).get("kind"), seconds)
    wait_for(is_right, SETTLING_SECONDS)
    return page.run(CARD, key)


def open_tab(page, uri, experiment_id, run):
    page.open("about:blank")
    page.open(f"{uri}/#/experiments/{experiment_id}/runs/{run}/system-metrics")


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
            page.save_screenshot(options.screenshot)
    for line in problems:
        print(line)
    print(f"run {options.run}: {len(options.key)} charts looked for, {len(problems)} wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
