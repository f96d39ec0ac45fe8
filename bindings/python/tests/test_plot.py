# SPDX-License-Identifier: MIT
"""The figure of a run, drawn without a screen."""
import copy
import json
import math
from pathlib import Path

import pytest
from conftest import burn

import resmon
from resmon import human, plots

matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    """Whatever is drawn."""
    yield
    from matplotlib import pyplot
    pyplot.close("all")


def texts(axes):
    return [text.get_text() for text in axes.texts]


def drawn(plot):
    """Draws, so that ticks get their labels."""
    plot.figure.canvas.draw()
    return plot


def test_panels(run):
    plot = drawn(run.plot())
    assert list(plot.axes)[:4] == ["cpu", "memory", "read", "write"] and "scopes" in plot.axes
    assert plot.axes["cpu"].get_title(loc="left").startswith("CPU")
    assert "a run on " in plot.figure.get_suptitle() if hasattr(plot.figure, "get_suptitle") else True
    assert repr(plot).startswith("<resmon plot: cpu, memory")
    low, high = plot.axes["cpu"].get_xlim()
    assert low == 0 and high == pytest.approx(run.info.duration_s, rel=0.01)


def test_lines_are_the_series(run):
    axes = run.plot("memory").axes["memory"]
    line = axes.get_lines()[0]
    expected = [(t, v) for t, v in zip(run.times, run.series("proc.mem.rss")) if math.isfinite(v)]
    shown = [(t, v) for t, v in zip(*line.get_data()) if math.isfinite(v)]
    assert shown == expected
    assert axes.get_ylim()[0] == 0


def test_tags(run):
    axes = run.plot("cpu").axes["cpu"]
    assert "done & <dusted> $5" in texts(axes), "as it is: no markup, no mathematics"
    assert all(text.get_rotation() == 90 for text in axes.texts)
    lines, = (one for one in axes.collections if one.get_zorder() == 1)
    assert [segment[0][0] for segment in lines.get_segments()] == pytest.approx([tag.t_s for tag in run.tags])
    assert axes.get_ylim() == run.plot("cpu", tags=False).axes["cpu"].get_ylim()
    assert texts(run.plot("cpu", tags=False).axes["cpu"]) == []


def test_timeline(run):
    axes = run.plot("scopes").axes["scopes"]
    bars = [path for bars in axes.collections[:-1] for path in bars.get_paths()]
    spans = sorted(tuple(path.vertices[[0, 2], 0]) for path in bars)
    expected = sorted((event.start_s, event.start_s + event.duration_s) for event in run.events)
    assert len(spans) == len(expected) == 5
    assert [edge for span in spans for edge in span] == pytest.approx([edge for span in expected for edge in span])
    assert "load" in texts(axes)


def test_every_bar_has_its_name():
    names = [f"a phase with a name that no bar is wide enough for, number {i}" for i in range(5)]
    with resmon.Monitor(3600, events=100) as monitor:
        for name in names:
            with resmon.scope(name):
                with resmon.scope("s"):
                    sum(range(20_000))
    axes = monitor.plot("scopes").axes["scopes"]
    shown = {*texts(axes), *(text.get_text() for text in axes.get_legend().get_texts())}
    assert {name for name in names if name not in shown} == set() and "s" in shown
    low, high = axes.get_position().x0, axes.get_position().x1
    assert high - low > 0.75, "the timeline is as wide as the figure"


def test_units_for_people(run):
    plot = drawn(run.plot("memory", "read"))
    memory = [label.get_text() for label in plot.axes["memory"].get_yticklabels()]
    assert any("MiB" in label for label in memory) and not any("e+" in label for label in memory)
    read = [label.get_text() for label in plot.axes["read"].get_yticklabels()]
    assert all(label in ("", "0") or label.endswith("/s") for label in read)


def test_chosen_panels(run):
    assert list(run.plot("memory").axes) == ["memory"]
    assert list(run.plot("node_cpu", "node_memory", "network").axes) == ["node_cpu", "node_memory", "network"]
    assert len(run.plot("cpu", title="mine", figsize=(3, 2)).figure.axes) == 1
    with pytest.raises(ValueError, match="'cpux'"):
        run.plot("cpux")


def test_every_panel(run):
    drawn(run.plot(*plots.PANELS, "scopes"))


def test_not_measured():
    with resmon.Monitor(3600, domains="memory", scopes=False) as monitor:
        pass
    plot = drawn(monitor.plot())
    assert texts(plot.axes["cpu"]) == ["not measured"] and list(plot.axes) == ["cpu", "memory", "read", "write"]


@pytest.mark.parametrize("samples", [0, 1, 50])
def test_short_and_merged_runs(samples):
    with resmon.Monitor(3600, rows=4) as monitor:
        for _ in range(samples):
            monitor.sample_now()
        drawn(monitor.plot())  # while it runs
    drawn(monitor.plot())
    assert (monitor.info.stride > 1) == (samples == 50)


def job(count):
    """A merged run of nodes, of which the last one has four times the memory of the others."""
    content = json.loads((Path(__file__).parent / "data" / "merged_run.json").read_text())
    runs = []
    for index in range(count):
        node = copy.deepcopy(content)
        node["machine"]["host_name"] = f"n{index}"
        node["job"] = {"system": "slurm", "id": "7", "node_index": index, "rank": index}
        for column, series in zip(node["columns"], node["series"]["columns"]):
            factor = 4 if index == count - 1 else 1 + index / 1000
            if column["metric"] == "tree.mem.rss":
                series.update({kind: [value and value * factor for value in values] for kind, values in series.items()})
        runs.append(resmon.parse(json.dumps(node)))
    return resmon.merge(*runs)


def labels(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_nodes_of_a_job():
    merged = job(3)
    plot = drawn(merged.plot("memory", "energy.zone"))
    axes = plot.axes["memory"]
    assert labels(axes) == ["with children n0", "with children n1", "with children n2"]
    assert len({line.get_color() for line in axes.get_lines()}) == 3
    shown = [y for _, y in zip(*axes.get_lines()[2].get_data()) if math.isfinite(y)]
    assert shown == [y for y in merged.series("tree.mem.rss[n2]", "mean") if math.isfinite(y)]
    assert "core-0 n1" in labels(plot.axes["energy.zone"]) or "package-0 n1" in labels(plot.axes["energy.zone"])


def test_many_nodes_are_a_band():
    merged = job(20)
    axes = drawn(merged.plot("memory")).axes["memory"]
    assert axes.get_title(loc="left").endswith("median and range of 20 nodes")
    assert labels(axes) == ["with children", "with children n19"], "the node that is far from the others is named"
    middle = sorted(merged.series(f"tree.mem.rss[n{node}]", "mean")[2] for node in range(20))
    assert axes.get_lines()[0].get_ydata()[2] == pytest.approx((middle[9] + middle[10]) / 2)


def test_any_metric(run):
    plot = drawn(run.plot("proc.threads", "node.cpu.percent"))
    assert list(plot.axes) == ["proc.threads", "node.cpu.percent"]
    assert [y for y in plot.axes["proc.threads"].get_lines()[0].get_ydata() if math.isfinite(y)] == \
        [y for y in run.series("proc.threads") if math.isfinite(y)]
    column = next(column.name for column in run.columns if "[" in column.name)
    assert len(drawn(run.plot(column)).axes[column].get_lines()) >= 1
    with pytest.raises(resmon.ArgumentError, match="no metric 'proc.thread'; similar ones are proc.threads"):
        run.plot("proc.thread")


def test_loaded_run(run, tmp_path):
    run.save(tmp_path / "run.json")
    first, second = run.plot(), resmon.load(tmp_path / "run.json").plot()
    assert list(first.axes) == list(second.axes)
    for name, axes in first.axes.items():
        for one, other in zip(axes.get_lines(), second.axes[name].get_lines()):
            assert one.get_xydata() == pytest.approx(other.get_xydata(), nan_ok=True)


def test_save(run, tmp_path):
    for name in ("plot.png", "plot.svg", "plot.pdf"):
        run.plot("cpu").save(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    resmon.plot(run, "cpu").save(str(tmp_path / "small.png"), dpi=20)
    assert (tmp_path / "small.png").read_bytes().startswith(b"\x89PNG")


def test_many_tags_and_scopes(tmp_path):
    with resmon.Monitor(3600, tags=3000, events=8192) as monitor:
        for i in range(2000):
            monitor.tag(f"tag {i} " + "x" * 200)
            with resmon.scope(f"$scope_{i % 20}$"):
                pass
        burn(0.01)
    drawn(monitor.plot())


def test_missing_matplotlib(run, monkeypatch):
    import importlib
    real = importlib.import_module

    def without(name, *arguments):
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *arguments)
    monkeypatch.setattr(importlib, "import_module", without)
    with pytest.raises(resmon.MissingPackage) as caught:
        run.plot()
    assert str(caught.value) == "plot() needs matplotlib, which is not installed: pip install matplotlib"


def test_a_package_that_is_broken_says_so_itself(run, monkeypatch):
    import importlib
    monkeypatch.setattr(importlib, "import_module", lambda name: __import__("no_such_module_of_matplotlib"))
    with pytest.raises(ModuleNotFoundError, match="no_such_module_of_matplotlib"):
        run.plot()


# The rules are tested in C.
@pytest.mark.parametrize("value, unit, per, text", [
    (1023, "B", "", "1023 B"), (687.5 * 2 ** 20, "B", "", "687.5 MiB"), (2 ** 60, "B", "/s", "1024.0 PiB/s"),
    (0.00123, "s", "", "1.230 ms"), (3725, "s", "", "62 min 05 s"), (15000, "J", "", "15.00 kJ"), (99.84, "%", "", "99.8 %"),
    (1234567, "1", "", "1.235 M"), (0.5, "s", "/s", "50.0 %"), (math.nan, "B", "", "-"), (math.inf, "J", "", "-"),
    (None, "s", "", "-")])
def test_human(value, unit, per, text):
    assert human.text_of(value, unit, per) == text
