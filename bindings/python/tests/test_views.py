# SPDX-License-Identifier: MIT
"""views: the library's table of what is shown where, as charts and figures read it."""
import resmon
from resmon import plots, views


def test_every_row_names_a_metric():
    known = {metric.name for metric in resmon.metrics()}
    assert views.rows("chart") and views.rows("plot")
    for view in ("summary", "trace", "mlflow", "node", "headline", "plot", "chart", "compare", "spark", "detail"):
        assert {row.metric for row in views.rows(view)} <= known
        assert all(row.level and row.metric_unit and row.help for row in views.rows(view))


def test_rows_of_a_group_are_in_order():
    assert [row.metric for row in views.rows("headline", "cpu_s")] == ["tree.cpu.time", "proc.cpu.time"]
    assert views.rows("headline", "wall_s") == ()
    assert views.head("chart", "cpu") == ("CPU", "%")
    assert [[row.metric for row in rows] for rows in views.by_label("spark", "memory")] == [["tree.mem.rss", "proc.mem.rss"]]


def test_bounds_and_powers():
    bounds = {row.metric for row in views.rows("chart") if row.colour < 0}
    assert bounds == {"cg.cpu.quota", "cg.mem.limit"}
    powers = {row.metric for row in views.rows("plot") if row.is_power}
    assert "node.energy.cpu" in powers and "gpu.power" not in powers


def test_panels_are_those_of_the_documentation():
    described = plots.plot.__doc__
    assert all(f'"{panel}"' in described for panel in views.groups("plot"))
    assert list(plots.PANELS)[:4] == ["cpu", "memory", "read", "write"]
