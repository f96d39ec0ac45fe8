# SPDX-License-Identifier: MIT
"""Plots of a run: CPU, memory, read and write over time, tags as vertical labels, and further panels with data."""
from __future__ import annotations

import difflib
import math
from collections import namedtuple

from . import human, views
from .errors import ArgumentError
from .frames import wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._types import Path
    from .run import Recorded


def _panels():
    """Returns each panel: title, unit, unit of a rate, and its rows of the table of views, alternatives together."""
    panels = {}
    for group in views.groups("plot"):
        title, unit = views.head("plot", group)
        panels[group] = (title, *_split(unit), views.by_label("plot", group))
    for row in views.rows("plot", views.OTHER):
        panels[row.metric] = (row.label, *_split(row.unit), [[row._replace(label="")]])
    return panels


def _split(unit):
    name, slash, per = unit.partition("/")
    return name, slash + per


PANELS = _panels()
_ALWAYS = ("cpu", "memory", "read", "write")
_MORE = ("energy", "gpu", "gpu_memory")
_MOST_LINES = 8   # of a panel; more are a band
_MOST_BESIDE = 5  # names beside the title


class Plot:
    """A figure: ``plot.figure`` and ``plot.axes`` (by panel) are matplotlib's; ``plot.save("plot.png")`` writes it."""

    def __init__(self, figure, axes):
        self.figure, self.axes = figure, axes

    def save(self, path: Path, **options: Any) -> None:
        """Writes the figure; the suffix of the path selects the format."""
        self.figure.savefig(path, **options)

    def __repr__(self):
        return f"<resmon plot: {', '.join(self.axes)}>"


class _Group(namedtuple("_Group", "label row members")):
    """What a label stands for: a metric of one or several instances, devices or nodes, as (name, column) each."""

    __slots__ = ()


def _finite(values):
    return any(math.isfinite(value) for value in values)


def _by_metric(run):
    """Returns {metric: {label: [(name, column)]}}: the label is "", but of what a node has only for each of its parts.

    The name is the instance's; in a merged run that of the node.
    """
    found, apart = {}, {}
    for column, part, node in run._columns_of_nodes() if run.nodes else ((column, "", column.instance) for column in run.columns):
        of_metric = (apart if part else found).setdefault(column.metric, {})
        of_metric.setdefault(part, []).append((node, column.name))
    return {**apart, **found}


def _series_of(column):
    """Returns (unit, divisor, series) of a metric that has no panel: of counters what they grow by in a second."""
    if not column.is_counter:
        return column.unit, 1, "value"
    return {"s": ("%", 0.01, "mean"), "J": ("W", 1, "mean"), "1": ("/s", 1, "mean")}.get(
        column.unit, (column.unit + "/s", 1, "mean"))


def _panel(run, name):
    """Returns a panel by its name, or that of a metric or column of the run; None: the run has none of this name."""
    if name in PANELS:
        return PANELS[name]
    column = next((one for one in run.columns if name in (one.metric, one.name)), None)
    if column is None:
        return None
    unit, divisor, series = _series_of(column)
    row = views.View("plot", name, column.metric, "", unit, "", divisor, series, 0, column.level, column.unit, "")
    return (name, *_split(unit), [[row]])


def _groups(run, name, panel, columns):
    """Returns the groups of a panel that have values."""
    found = []
    for alternatives in panel[3]:
        row = next((row for row in alternatives if row.metric in columns), None)
        parts = columns[row.metric] if row else {}
        if row and name not in (*PANELS, row.metric):
            parts = {"": [("", name)]}  # one column
        for part, members in parts.items():
            members = [one for one in members if _finite(run.series(one[1], "last"))]
            if members:
                found.append(_Group(" ".join(filter(None, (row.label, part))), row, members))
    if name in ("cpu", "memory") and len(found) == 2:
        if run.nodes:
            del found[0]  # the processes of a job, with their children
        elif _has_no_children(run):
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
    """Returns (times, growth per second) where the counter was read.

    The growth is over the shortest stretch before that lasts POWER_SECONDS.
    """
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
    """Returns the points without the rows in which the metric is not read; a long interruption becomes a gap."""
    known = [row for row, value in enumerate(values) if math.isfinite(value)]
    steps = sorted(row - before for before, row in zip(known, known[1:]))
    longest = 4 * steps[len(steps) // 2] if steps else 0
    points = []
    for before, row in zip(known[:1] + known, known):
        if row - before > longest:
            points.append((times[row], math.nan))
        points.append((times[row], values[row]))
    return [time for time, _ in points], [value for _, value in points]


def _scaled(run, name, row, series):
    return [value / row.divisor for value in run.series(name, series)]


def _points(run, row, name):
    # Energy counters, and models of it, move in steps that may be longer than the time between samples; the rows of a
    # merged run are longer than the steps.
    if row.is_power and not run.nodes:
        return power(run.times, run.series(name, "last"))
    return _bridged(run.times, _scaled(run, name, row, row.series))


def _draw_each(axes, run, groups):
    """Draws a line for each member."""
    number = 0
    for group in groups:
        for name, column in group.members:
            row = group.row
            label = " ".join(filter(None, (group.label, name)))
            line, = axes.plot(*_points(run, row, column), label=label or row.metric, linewidth=1.4, zorder=3 - number * 0.01)
            number += 1
            if run.info.stride > 1 and not row.is_power:
                low, high = (_scaled(run, column, row, series) for series in ("min", "max"))
                axes.fill_between(run.times, low, high, color=line.get_color(), alpha=0.18, linewidth=0)
    return [] if number == 1 and not groups[0].members[0][0] and groups[0].label in ("process", "") else axes.get_lines()


def _known(values):
    return sorted(value for value in values if math.isfinite(value))


def _middle(values):
    return values[len(values) // 2] if len(values) % 2 else (values[len(values) // 2 - 1] + values[len(values) // 2]) / 2


def _outliers(means):
    """Returns the members whose mean is far from that of the others: the highest and the lowest one, at most.

    Far is more than 4 times the median distance from the median, and more than a tenth of the median.
    """
    known = sorted((mean, name) for name, mean in means.items() if math.isfinite(mean))
    if len(known) < 3:
        return []
    middle = _middle([mean for mean, _ in known])
    bound = max(4 * _middle(sorted(abs(mean - middle) for mean, _ in known)), 0.1 * abs(middle))
    return [name for mean, name in (known[-1], known[0]) if abs(mean - middle) > bound]


def _draw_band(axes, run, group, number):
    """Draws the range over the members, their median, and the members that are far from it by name."""
    values = {name: _scaled(run, column, group.row, group.row.series) for name, column in group.members}
    rows = [_known(row) for row in zip(*values.values())]
    times, colour = run.times, f"C{number % 10}"
    low, middle, high = ([pick(row) if row else math.nan for row in rows] for pick in (min, _middle, max))
    axes.fill_between(times, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.plot(*_bridged(times, middle), color=colour, linewidth=1.6, zorder=3, label=group.label or "median")
    known = {name: _known(series) for name, series in values.items()}
    for place, name in enumerate(_outliers({name: sum(one) / len(one) for name, one in known.items() if one})):
        axes.plot(*_bridged(times, values[name]), color=colour, linewidth=1.0, zorder=2.9, linestyle=("--", ":")[place],
                  label=" ".join(filter(None, (group.label, name))))


def _draw_groups(axes, run, title, groups):
    if sum(len(group.members) for group in groups) <= _MOST_LINES:
        handles = _draw_each(axes, run, groups)
    else:
        for number, group in enumerate(groups):
            _draw_band(axes, run, group, number)
        handles = axes.get_lines()
        what = "nodes" if run.nodes else "instances"
        title += f": median and range of {max(len(group.members) for group in groups)} {what}"
    axes.set_title(title, fontsize=10, loc="left")
    if len(handles) > _MOST_BESIDE or run.nodes:
        axes.margins(y=0.3)  # room for names above the lines
        axes.legend(handles=handles, fontsize=7, framealpha=0.7, edgecolor="none", loc="upper right", ncols=2,
                    borderaxespad=0.2, columnspacing=1.2, handlelength=1.4)
    elif handles:
        legend = axes.legend(fontsize=8, frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.985), ncols=len(handles),
                             borderaxespad=0, columnspacing=1.2, handlelength=1.2)
        legend.set_in_layout(False)  # it is to take nothing of the width of the panel


def _draw_tags(axes, tags, span):
    """Draws tags; labels that would overlap are left out, their lines are not."""
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
_NAMED_EVENTS = 200  # the longest: others are too narrow for a name
_LETTER = 0.0065     # of the width of a timeline that is as wide as the figure


def _fitting(name, share):
    """Returns a name, or its beginning, that fits into this share of the width; "" if too short to be useful."""
    letters = int(share / _LETTER) - 1
    return name if len(name) <= letters else name[:letters - 1] + "\u2026" if letters >= 4 else ""


def _draw_timeline(axes, run):
    """Draws scope instances as bars: a lane for each thread and depth, a color for each name.

    The name is in its bars, or else in the legend.
    """
    events = run.events[:_TIMELINE_EVENTS]
    lanes, colours, bars, named = {}, {}, {}, set()
    for event in events:
        lane = lanes.setdefault((event.thread_id, event.depth), len(lanes))
        colour = colours.setdefault(event.name, f"C{len(colours) % 10}")
        bars.setdefault((lane, colour), []).append((event.start_s, event.duration_s))
    for (lane, colour), spans in bars.items():
        axes.broken_barh(spans, (lane + 0.08, 0.84), facecolors=colour, alpha=0.75, linewidth=0)
    longest = sorted(events, key=lambda event: event.duration_s, reverse=True)[:_NAMED_EVENTS]
    span = max(run.info.duration_s, 1e-9)
    for event in longest:
        text = _fitting(event.name, event.duration_s / span)
        if text:
            named |= {event.name} if text == event.name else set()
            axes.text(event.start_s + event.duration_s / 2, lanes[event.thread_id, event.depth] + 0.5, text,
                      ha="center", va="center", fontsize=8, clip_on=True, parse_math=False)
    axes.set_ylim(max(len(lanes), 1), 0)
    axes.set_yticks([])
    axes.set_title("scopes", fontsize=10, loc="left")
    patches = wanted("matplotlib.patches", "plot()")
    handles = [patches.Patch(facecolor=colour, alpha=0.75, label=f"{name[:59]}\u2026" if len(name) > 60 else name)
               for name, colour in colours.items() if name not in named]
    if handles:
        axes.legend(handles=handles[:24], fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(0.0, -0.22),
                    ncols=3 if max(map(len, colours)) < 36 else 2, borderaxespad=0, columnspacing=1.2, handlelength=0.9)


def _no_panel(run, name):
    known = (*PANELS, "scopes", *sorted({column.metric for column in run.columns}))
    near = difflib.get_close_matches(str(name), known, 5, 0.5) or [one for one in known if str(name).split(".")[0] in one][:5]
    return ArgumentError(f"the run has no metric {name!r}; " + (f"similar ones are {', '.join(near)}" if near else
                         f"the panels are {', '.join((*PANELS, 'scopes'))}"))


def _chosen(run, panels):
    """Returns the panels to draw: (name, panel, groups); of scopes the name alone."""
    columns, found = _by_metric(run), []
    for name in panels or (*_ALWAYS, *_MORE, "scopes"):
        panel = _panel(run, name) if isinstance(name, str) and name != "scopes" else None
        if panel is None and name != "scopes":
            raise _no_panel(run, name)
        groups = _groups(run, name, panel, columns) if panel else []
        if groups or (name == "scopes" and len(run.events)) or name in (panels or _ALWAYS):
            found.append((name, panel, groups))
    return found


def _cells(pyplot, names, figsize):
    """Returns a figure, and axes for the panels: two in a row, but scopes over the whole width."""
    others = sum(name != "scopes" for name in names)
    rows = (others + 1) // 2 + len(names) - others
    # Drawn on a white ground whatever the notebook's theme is: labels and lines are made for it.
    figure = pyplot.figure(figsize=figsize or (12, 2.9 * rows + 0.6), layout="constrained")
    grid, cells, place = figure.add_gridspec(rows, 2), [], 0
    for name in names:
        is_wide = name == "scopes" or (others == 1 and len(names) == 1)
        place += place % 2 if is_wide else 0
        cells.append(figure.add_subplot(grid[place // 2, :] if is_wide else grid[place // 2, place % 2],
                                        sharex=cells[0] if cells else None))
        place += 2 if is_wide else 1
    return figure, cells


def plot(run: Recorded, *panels: str | Sequence[str], title: str | None = None, tags: bool = True,
         figsize: tuple[float, float] | None = None) -> Plot:
    """Plots a run with matplotlib, and returns a :class:`Plot`.

    ::

        resmon.plot(run)
        resmon.plot(run, "cpu", "energy").save("plot.png")
        resmon.plot(run, "gpu.temp", "proc.threads")

    A merged run has a line for each node; more than eight nodes are a band from the lowest to the highest, with their
    median, and those far from it by name. ArgumentError: there is no such panel or metric. MissingPackage: without
    matplotlib.

    :param panels: names: "cpu", "memory", "read", "write", "energy", "gpu", "gpu_memory", "network", "node_cpu",
        "node_memory", "scopes", or any metric or column of the run. Default: the first four, and energy, GPUs and
        scopes if measured
    :param title: default: the name of the run and its host
    :param tags: whether tags are drawn
    :param figsize: width and height in inches; default: by the number of panels
    """
    pyplot = wanted("matplotlib.pyplot", "plot()")
    ticker = wanted("matplotlib.ticker", "plot()")
    run = run._get_run()
    if len(panels) == 1 and isinstance(panels[0], (list, tuple)):
        panels = tuple(panels[0])
    chosen = _chosen(run, panels)
    figure, cells = _cells(pyplot, [name for name, _, _ in chosen], figsize)
    span = max(run.info.duration_s, run.times[-1] if run.times else 0, 1e-9)
    shown = {}
    for axes, (name, panel, groups) in zip(cells, chosen):
        shown[name] = axes
        if name == "scopes":
            _draw_timeline(axes, run)
        elif groups:
            heading, unit, per, _ = panel
            _draw_groups(axes, run, heading, groups)
            axes.set_ylim(0, max(axes.get_ylim()[1], 1e-9))
            _ticks(ticker, axes.yaxis, unit, per)
        else:
            axes.set_title(panel[0], fontsize=10, loc="left")
            axes.set_yticks([])
            axes.text(0.5, 0.5, "not measured", ha="center", va="center", transform=axes.transAxes, color="0.5")
        axes.set_xlim(0, span)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="0.92")
        axes.set_axisbelow(True)
        if tags:
            _draw_tags(axes, run.tags, span)
    _finish(figure, cells, run, title)
    return Plot(figure, shown)


def _finish(figure, cells, run, title):
    for axes in cells:
        axes.tick_params(labelsize=8)
        if axes in cells[-2:]:
            axes.set_xlabel("s since the start", fontsize=9)
        else:
            axes.tick_params(labelbottom=False)
    figure.suptitle(run.title if title is None else title, fontsize=11, parse_math=False)
