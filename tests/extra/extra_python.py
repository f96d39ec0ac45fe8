# SPDX-License-Identifier: MIT
"""A metric that the Python package has never heard of is in all that it shows of a run.

Needs the run that test_extra_metric saved, and the library that knows its metrics.
"""
import os
import sys
import tempfile

root, library, document = sys.argv[1:]
if not os.path.exists(document):
    print("skipped: test_extra_metric has saved no run: this build has no JSON (cJSON)")
    sys.exit(77)
os.environ["RESMON_LIBRARY"] = library
sys.path.insert(0, os.path.join(root, "bindings", "python"))

import resmon  # noqa: E402: by the path above
from resmon import pages, plots  # noqa: E402

NAMES = ("node.files", "node.extra.time[a]", "node.extra.time[b/c]")
PLACED = ("node.extra.placed[a]", "node.extra.placed[b/c]")  # with a row in views.def, of the text report

run = resmon.load(document)
assert {metric.name for metric in resmon.metrics()} >= {"node.files", "node.extra.time"}
assert {column.name for column in run.columns} == {*NAMES, *PLACED}, run.columns
assert run.summary["node.files"].max == 2000 and run.summary["node.extra.time[a]"].last == 50
assert list(run.series("node.files")) == [1000, 2000]

text = run.summary.text(full=True)
page = run._repr_html_()
for name in NAMES:
    assert f"\n  {name} " in text, text
    assert name in page, page

drawn = {chart.key: chart for chart in pages.page_of([run]).runs[0].charts}
assert "node.extra.placed" not in drawn and "memory with a place" in text
assert drawn["node.files"].unit == "1" and drawn["node.files"].note == "open file handles of the machine"
assert drawn["node.files"].lines[0].mean == [1000, 2000]
assert drawn["node.extra.time"].unit == "%"  # of a second
assert [line.label for line in drawn["node.extra.time"].lines] == ["a", "b/c"]
with tempfile.TemporaryDirectory() as directory:
    path = os.path.join(directory, "report.html")
    run.report(path)
    with open(path, encoding="utf-8") as file:
        report = file.read()
assert "open file handles of the machine" in report and "node.extra.time" in report

assert "node.files" in plots.PANELS and "node.extra.time" in plots.PANELS
try:
    import matplotlib
except ImportError:
    print("not tested: plot(), for there is no matplotlib")
else:
    matplotlib.use("Agg")
    assert list(run.plot("node.files", "node.extra.time").axes) == ["node.files", "node.extra.time"]
print("a new metric is in the summary, the notebook's page, charts, the report and panels")
