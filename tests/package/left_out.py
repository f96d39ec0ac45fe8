# SPDX-License-Identifier: MIT
"""Python with a library that parts were left out of: it is imported, measures, and says what is missing.

What is missing tells the doctor; of a library that has everything, nothing may be said to be missing.
"""
import os
import sys
import tempfile

root, library = sys.argv[1:]
os.environ["RESMON_LIBRARY"] = library
sys.path.insert(0, os.path.join(root, "bindings", "python"))

import resmon  # noqa: E402: by the path above

KEPT = tempfile.TemporaryDirectory()
FOLDER = KEPT.name
MISSING = [finding.name for finding in resmon.doctor() if finding.group == "build"]

MONITOR = resmon.Monitor(domains="process+cpu+energy", scopes="wall+perf", stacks="memory", counters="default")
with MONITOR:
    with resmon.scope("work"):
        sum(range(1000000))
run = MONITOR.snapshot()
run.save(os.path.join(FOLDER, "run.json"))
assert run.scopes and run.headline["wall_s"] > 0 and "work" in str(run.summary)


def source(name):
    return next((source.reason for source in run.sources if source.name == name), "")


ASKED = (
    ("STACKS", lambda: run.save_folded(os.path.join(FOLDER, "stacks.folded"))),
    ("STACKS", lambda: resmon.Monitor(pprof=os.path.join(FOLDER, "stacks.pb.gz"))),
    ("STACKS", lambda: run.stack_info["memory"].reason),
    ("NET", lambda: resmon.Monitor(mlflow={"tracking_uri": "http://h.invalid", "no_spool": True})),
    ("NET", lambda: resmon.Monitor(pushgateway="http://h.invalid")),
    ("NET", lambda: resmon.promql.value("nowhere", "up")),
    ("COUNTERS", lambda: run.counters[0].reason),
    ("COUNTERS", lambda: source("perf")),
    ("ENERGY", lambda: resmon.carbon.intensity("FR")),
    ("ENERGY", lambda: source("energy")),
    ("ENERGY", lambda: resmon.Monitor(emissions=os.path.join(FOLDER, "emissions.csv"))),
    ("CJSON", lambda: resmon.load(os.path.join(FOLDER, "run.json"))),
)
for part, ask in ASKED:
    option = f"RESMON_WITH_{part}"
    try:
        told = str(ask())
    except resmon.Error as error:
        told = f"{type(error).__name__}: {error}"
    assert (option in told) == (option in MISSING), (option, MISSING, told)
print("without", ", ".join(MISSING) or "nothing")
