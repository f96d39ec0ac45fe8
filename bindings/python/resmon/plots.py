# SPDX-License-Identifier: MIT
"""The familiar figure: CPU, memory, read and write over time, tags as vertical labels, and more where there is more."""
import math

from . import human
from .frames import wanted

# Each panel: title, unit, what is added for a rate, and its lines: (label, metric, series), where "power" is the
# growth of a counter over a quarter of a second or more: energy counters, and models of it, move in steps that may be
# longer than the time between samples.  A line whose metric was not measured, or never has a value, is left out.
PANELS = {
    "cpu": ("CPU (100 % = one CPU)", "%", "", (("process", "proc.cpu.percent", "value"),
                                               ("with children", "tree.cpu.percent", "value"))),
    "memory": ("memory (RSS)", "B", "", (("process", "proc.mem.rss", "value"), ("with children", "tree.mem.rss", "value"))),
    "read": ("read", "B", "/s", (("from storage", "tree.io.read_bytes", "mean"),
                                 ("by read calls", "tree.io.read_chars", "mean"))),
    "write": ("write", "B", "/s", (("to storage", "tree.io.write_bytes", "mean"),
                                   ("by write calls", "tree.io.write_chars", "mean"))),
    "energy": ("power", "W", "", (("machine: processors", "node.energy.cpu", "power"),
                                  ("machine: memory", "node.energy.ram", "power"),
                                  ("machine: GPUs", "node.energy.gpu", "power"),
                                  ("program: processors", "tree.energy.cpu", "power"),
                                  ("program: GPUs", "tree.energy.gpu", "power"))),
    "gpu": ("GPU in use", "%", "", (("", "gpu.util", "value"),)),
    "gpu_memory": ("GPU memory", "B", "", (("", "gpu.mem.used", "value"),)),
    "network": ("network", "B", "/s", (("sent", "node.net.ext.sent", "mean"), ("received", "node.net.ext.recv", "mean"))),
    "node_cpu": ("CPU of the machine", "%", "", (("all CPUs", "node.cpu.percent", "value"),
                                                 ("busiest CPU", "node.cpu.core.max", "value"))),
    "node_memory": ("memory of the machine", "%", "", (("in use", "node.mem.percent", "value"),)),
}
_ALWAYS = ("cpu", "memory", "read", "write")
_MORE = ("energy", "gpu", "gpu_memory")


class Plot:
    """A figure: ``plot.figure`` and ``plot.axes`` (by panel) are matplotlib's; ``plot.save("plot.png")``."""

    def __init__(self, figure, axes):
        self.figure, self.axes = figure, axes

    def save(self, path, **options):
        """Writes the figure; the ending of the path decides on the format."""
        self.figure.savefig(path, **options)

    def __repr__(self):
        return f"<resmon plot: {', '.join(self.axes)}>"


def _columns_of(run, metric):
    """Columns of a metric: its own, or one for each instance; of a tree that was not sampled, the process's."""
    found = [column for column in run.columns if column.metric == metric]
    if not found and metric.startswith("tree.io."):
        return _columns_of(run, "proc." + metric[len("tree."):])
    return found


def _finite(values):
    return any(math.isfinite(value) for value in values)


def _lines(run, panel):
    """The lines of a panel that have something to show: (label, column, series)."""
    found = []
    for label, metric, series in PANELS[panel][3]:
        for column in _columns_of(run, metric):
            if not _finite(run.series(column.name, "last")):
                continue
            name = " ".join(filter(None, (label, column.instance)))
            found.append((name or metric, column.name, series))
    if panel in ("cpu", "memory") and len(found) == 2 and _has_no_children(run):
        del found[1]
    return found


def _has_no_children(run):
    summary = run.summary
    return "tree.processes" in summary and summary["tree.processes"].max == 1


def _ticks(ticker, axis, unit, per):
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: human.text_of(value, unit, per) if value else "0"))
    low, high = axis.get_view_interval()
    if unit == "B" and high > low:
        axis.set_major_locator(ticker.MultipleLocator(2.0 ** math.ceil(math.log2(max(high - low, 5) / 5))))
    else:
        axis.set_major_locator(ticker.MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))


POWER_SECONDS = 0.25


def power(times, growth):
    """(times, growth per second) where the counter was read, over the shortest stretch before that lasts POWER_SECONDS."""
    known = [(time, value) for time, value in zip(times, growth) if math.isfinite(value)]
    points, first = [], 0
    for now in range(1, len(known)):
        while first + 1 < now and known[now][0] - known[first + 1][0] >= POWER_SECONDS:
            first += 1
        span = known[now][0] - known[first][0]
        if span > 0:
            points.append((known[now][0], (known[now][1] - known[first][1]) / span))
    return [time for time, _ in points], [rate for _, rate in points]


def _bridged(times, values):
    """Points without the readings that were left out now and then; a gap where there is none for long."""
    points, missing = [], 0
    for time, value in zip(times, values):
        if math.isfinite(value):
            if missing > 3:
                points.append((time, math.nan))
            points.append((time, value))
        missing = 0 if math.isfinite(value) else missing + 1
    return [time for time, _ in points], [value for _, value in points]


def _draw_lines(axes, run, panel, lines):
    times = run.times
    for number, (label, name, series) in enumerate(lines):
        points = power(times, run.series(name, "last")) if series == "power" else _bridged(times, run.series(name, series))
        line, = axes.plot(*points, label=label, linewidth=1.4, zorder=3 - number * 0.01)
        if run.info.stride > 1 and series != "power":
            low, high = list(run.series(name, "min")), list(run.series(name, "max"))
            axes.fill_between(times, low, high, color=line.get_color(), alpha=0.18, linewidth=0)
    title, _, _, _ = PANELS[panel]
    axes.set_title(title, fontsize=10, loc="left")
    if len(lines) > 1 or lines[0][0] not in ("process", ""):
        axes.legend(fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.985), ncols=len(lines),
                    borderaxespad=0, columnspacing=1.2, handlelength=1.2)


def _draw_tags(axes, tags, span):
    """Labels that would lie on each other are left out; their lines are not."""
    collections = wanted("matplotlib.collections", "plot()")
    # One object for all lines: there may be a thousand, in each panel.
    lines = [[(tag.t_s, 0), (tag.t_s, 1)] for tag in tags]
    axes.add_collection(collections.LineCollection(
        lines, colors="0.5", linewidths=0.8, linestyles=":", zorder=1, transform=axes.get_xaxis_transform()), autolim=False)
    last = -math.inf
    for tag in tags:
        if tag.t_s - last >= span * 0.018:
            axes.text(tag.t_s, 0.98, tag.label[:40], rotation="vertical", fontsize=7.5, color="0.35",
                      transform=axes.get_xaxis_transform(), ha="left", va="top", zorder=4, parse_math=False)
            last = tag.t_s


_TIMELINE_EVENTS = 5000


def _draw_timeline(axes, run):
    """Scope instances as bars: a lane for each thread and depth, a colour for each name."""
    events = run.events[:_TIMELINE_EVENTS]
    lanes, colours, bars = {}, {}, {}
    for event in events:
        lane = lanes.setdefault((event.thread_id, event.depth), len(lanes))
        colour = colours.setdefault(event.name, f"C{len(colours) % 10}")
        bars.setdefault((lane, colour), []).append((event.start_s, event.duration_s))
    for (lane, colour), spans in bars.items():
        axes.broken_barh(spans, (lane + 0.08, 0.84), facecolors=colour, alpha=0.75, linewidth=0)
    longest = sorted(events, key=lambda event: event.duration_s, reverse=True)[:60]
    span = max(run.info.duration_s, 1e-9)
    for event in longest:
        if event.duration_s > span * 0.012 * (len(event.name) + 1):
            axes.text(event.start_s + event.duration_s / 2, lanes[event.thread_id, event.depth] + 0.5, event.name,
                      ha="center", va="center", fontsize=8, clip_on=True, parse_math=False)
    axes.set_ylim(max(len(lanes), 1), 0)
    axes.set_yticks([])
    axes.set_title("scopes", fontsize=10, loc="left")
    patches = wanted("matplotlib.patches", "plot()")
    handles = [patches.Patch(facecolor=colour, alpha=0.75, label=name[:24]) for name, colour in list(colours.items())[:6]]
    axes.legend(handles=handles, fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.985),
                ncols=len(handles), borderaxespad=0, columnspacing=1.2, handlelength=0.9)


def _chosen(run, panels):
    """The panels to draw, with their lines."""
    unknown = [panel for panel in panels if panel not in PANELS and panel != "scopes"]
    if unknown:
        raise ValueError(f"there is no panel {unknown[0]!r}; there are {', '.join((*PANELS, 'scopes'))}")
    names = panels or (*_ALWAYS, *_MORE, "scopes")
    found = []
    for name in names:
        lines = None if name == "scopes" else _lines(run, name)
        if lines or (name == "scopes" and len(run.events)) or name in (panels or _ALWAYS):
            found.append((name, lines))
    return found


def plot(run, *panels, title=None, tags=True, figsize=None):
    """Draws a run with matplotlib; gives a :class:`Plot`.

    :param panels: which, by name: "cpu", "memory", "read", "write", "energy", "gpu", "gpu_memory", "network", "node_cpu",
        "node_memory", "scopes"; by default the first four, and of energy, GPUs and scopes what was measured
    :param tags: whether tags are drawn
    """
    pyplot = wanted("matplotlib.pyplot", "plot()")
    ticker = wanted("matplotlib.ticker", "plot()")
    run = run._get_run()
    if len(panels) == 1 and isinstance(panels[0], (list, tuple)):
        panels = tuple(panels[0])
    chosen = _chosen(run, panels)
    rows = (len(chosen) + 1) // 2
    # Drawn on a white ground whatever the notebook's theme is: labels and lines are made for it.
    figure, grid = pyplot.subplots(rows, 2 if len(chosen) > 1 else 1, figsize=figsize or (12, 2.9 * rows + 0.6),
                                   squeeze=False, sharex=True, layout="constrained")
    span = max(run.info.duration_s, run.times[-1] if run.times else 0, 1e-9)
    cells, shown = list(grid.flat), {}
    for axes, (name, lines) in zip(cells, chosen):
        shown[name] = axes
        if name == "scopes":
            _draw_timeline(axes, run)
        elif lines:
            _draw_lines(axes, run, name, lines)
            axes.set_ylim(0, max(axes.get_ylim()[1], 1e-9))
            _, unit, per, _ = PANELS[name]
            _ticks(ticker, axes.yaxis, unit, per)
        else:
            axes.set_title(PANELS[name][0], fontsize=10, loc="left")
            axes.set_yticks([])
            axes.text(0.5, 0.5, "not measured", ha="center", va="center", transform=axes.transAxes, color="0.5")
        axes.set_xlim(0, span)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="0.92")
        axes.set_axisbelow(True)
        if tags:
            _draw_tags(axes, run.tags, span)
    for axes in cells[len(chosen):]:
        axes.set_visible(False)
    _finish(figure, cells[:len(chosen)], run, title)
    return Plot(figure, shown)


def _finish(figure, cells, run, title):
    for axes in cells[-2:]:
        axes.set_xlabel("s since the start", fontsize=9)
        axes.tick_params(labelbottom=True)
    for axes in cells:
        axes.tick_params(labelsize=8)
    figure.suptitle(run.title if title is None else title, fontsize=11, parse_math=False)
