#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_tab.py on the real page: rising steps are lines, a run of step 0 alone is bars and is complained of.

test_check_tab.py DIRECTORY: the screenshots stay there.
"""
import os
import sys
import time
import urllib.parse

import check_tab
from check_tab import browser
from test_fake_mlflow import Client, metric

KEYS = ("system/node_0/cpu_utilization_percentage", "system/node_0/process_threads",
        "system/node_1/cpu_utilization_percentage")


def filled(uri, steps):
    """The id of a run with a point for each of the steps."""
    client = Client(urllib.parse.urlsplit(uri).port)
    now = int(time.time() * 1000) - 60000
    run = client.post("runs/create", experiment_id="0", start_time=now)[1]["run"]["info"]["run_id"]
    metrics = [metric(key, 10.0 + 3 * (step % 7), now + 1000 * step, step) for key in KEYS for step in steps]
    answer = client.post("runs/log-batch", run_id=run, metrics=metrics)
    client.close()
    assert answer == (200, {}), answer
    return run


def main(directory):
    uri = os.environ["MLFLOW_TRACKING_URI"]
    seen = {}
    with browser() as page:
        for name, steps in (("lines", range(20)), ("bars", [0])):
            check_tab.open_tab(page, uri, "0", filled(uri, steps))
            seen[name] = check_tab.check_charts(page, KEYS, 20)
            if name == "lines":
                seen["missing"] = check_tab.check_charts(page, ["system/node_0/absent"], 20, 1)
                seen["few"] = check_tab.check_charts(page, KEYS[:1], 21)
            page.save_screenshot(os.path.join(directory, f"system-metrics-{name}.png"))
    for name, problems in seen.items():
        print(f"{name}: {problems}")
    right = not seen["lines"] and len(seen["few"]) == 1 and "no chart" in seen["missing"][0] and \
        len(seen["bars"]) == len(KEYS) and all("drawn are bars" in line for line in seen["bars"])
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
