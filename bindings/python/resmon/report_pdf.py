# SPDX-License-Identifier: MIT
"""Reports as PDF on A4, drawn with matplotlib: the tables and charts of the library's page.

Figures are made without pyplot, and the caller's settings are restored: a notebook's own figures are not changed.
"""
import functools
import math
import textwrap
import warnings
from datetime import datetime, timedelta, timezone

from . import human, views
from ._library import version
from .frames import wanted
from .pages import Share, Table

_WIDTH, _HEIGHT = 8.27, 11.69  # inches
_LEFT, _RIGHT, _TOP, _BOTTOM = 0.075, 0.925, 0.95, 0.055
_WHOLE = (_RIGHT - _LEFT) * _WIDTH
_LEAST_WIDE = 1.3  # inches for a column of long text
_LABEL = 0.09  # of the page, for the labels of answers
_SOFT, _ACCENT = "#56606e", "#0072b2"
_COLOURS = ("#0072b2", "#d55e00", "#5f8f7b", "#8a5fb0", "#b58900", "#2aa6c9", "#c2528b", "#6b7280")
_LIMIT = "#c0182b"
_MAX_DETAILED = 16  # runs with pages of their own


def need_matplotlib():
    """Raises MissingPackage if matplotlib is not installed."""
    return wanted("matplotlib", "report() as PDF")


def _plain(text):
    """Escapes text for matplotlib: a dollar begins no formula."""
    return text.replace("$", r"\$")


def _cut(text, points, width):
    """Cuts text to fit about a width in inches, for proportional type of half its size per letter."""
    room = max(int(width * 72 / (points * 0.56)), 2)
    return text if len(text) <= room else text[:room - 1] + "\u2026"


class _Document:
    """Pages that are filled from top to bottom."""

    def __init__(self, pages, figure_type, title, header):
        self._pages, self._figure_type, self._title, self._header = pages, figure_type, title, header
        self.figure, self._y, self._number = None, 0.0, 0

    def new_page(self):
        """Finishes the page and begins another."""
        self.finish()
        self._number += 1
        self.figure = self._figure_type(figsize=(_WIDTH, _HEIGHT))
        self._y = _TOP
        self.figure.text(_LEFT, 0.03, _plain(_cut(self._title, 7, 5)), size=7, color=_SOFT)
        self.figure.text(_LEFT, _TOP + 0.015, _plain(_cut(self._header, 7, _WHOLE)), size=7, color=_SOFT)
        self.figure.text(_RIGHT, 0.03, f"resmon {version} \u00b7 {self._number}", size=7, color=_SOFT, ha="right")

    def finish(self):
        """Writes the current page."""
        if self.figure is not None:
            self._pages.savefig(self.figure)
            self.figure = None

    def room(self, inches):
        """Begins a new page unless this much room is left; returns the position of the top."""
        if self.figure is None or self._y - inches / _HEIGHT < _BOTTOM:
            self.new_page()
        return self._y

    def down(self, inches):
        """Moves down."""
        self._y -= inches / _HEIGHT

    def text(self, text, size=8.5, colour="black", weight="normal", width=None):
        """Adds a paragraph."""
        letters = max(int((width or (_RIGHT - _LEFT) * _WIDTH) * 72 / (size * 0.53)), 20)
        for line in textwrap.wrap(text, letters) or [""]:
            y = self.room(size * 1.4 / 72)
            self.figure.text(_LEFT, y, _plain(line), size=size, color=colour, weight=weight, va="top")
            self.down(size * 1.4 / 72)

    def heading(self, text, after=1.0):
        """Adds a heading, kept with the following content."""
        self.down(0.14)
        self.room(0.3 + after)
        self.text(text, 11.5, weight="bold")
        self.down(0.05)

    def tiles(self, tiles):
        """Adds headline values, four in a row."""
        for start in range(0, len(tiles), 4):
            letters = int((_WHOLE / 4 - 0.15) * 72 / (6.5 * 0.53))
            notes = [textwrap.wrap(small, letters)[:4] for _, _, small in tiles[start:start + 4]]
            height = 0.42 + 0.115 * max(map(len, notes))
            y = self.room(height)
            for index, ((label, value, _), lines) in enumerate(zip(tiles[start:start + 4], notes)):
                x = _LEFT + index * (_RIGHT - _LEFT) / 4
                self.figure.text(x, y, _plain(label), size=7.5, color=_SOFT, va="top")
                self.figure.text(x, y - 0.13 / _HEIGHT, _plain(value), size=14, weight="bold", va="top")
                for line, words in enumerate(lines):
                    self.figure.text(x, y - (0.37 + line * 0.115) / _HEIGHT, _plain(words), size=6.5, color=_SOFT, va="top")
            self.down(height + 0.06)

    def answers(self, rows):
        """Adds rows of a label, a value and a text that may need several lines."""
        letters = int((_RIGHT - _LEFT - _LABEL) * _WIDTH * 72 / (8 * 0.53))
        for label, value, text in rows:
            lines = textwrap.wrap(f"{value}  {text}".strip(), letters) or [""]
            for number, words in enumerate(lines):
                y = self.room(0.16)
                self.figure.text(_LEFT, y, "" if number else _plain(label), size=8, color=_SOFT, va="top")
                self.figure.text(_LEFT + _LABEL, y, _plain(words), size=8, va="top")
                self.down(0.16)

    def table(self, table, size=7.0):
        """Adds a table, with its headers on each page.

        Columns that do not fit on the page follow below, after the first column.
        """
        for number, part in enumerate(_parts(table, size)):
            self._table(part, size, number > 0)
        for note in table.notes:
            self.text(note, 6.5, _SOFT)

    def _table(self, table, size, is_continued):
        cells = [[_cell_text(cell) for cell in row] for row in table.rows]
        widths = _widths(table, cells, size)
        line = size * 1.55 / 72
        room = line * min(len(cells) + 2, 22)  # small tables are not torn
        if is_continued:
            self.down(0.12)
            self.room(room)
        else:
            self.heading(table.title, room)
        self._headers(table, widths, size, line)
        for texts, row in zip(cells, table.rows):
            wrapped = [textwrap.wrap(text, max(int(width * 72 / (size * 0.52)), 8)) or [""] if index in table.wide else
                       [_cut(text, size, width)] for index, (text, width) in enumerate(zip(texts, widths))]
            height = max(len(lines) for lines in wrapped)
            before = self._number
            self.room(line * height)
            if self._number != before:
                self._headers(table, widths, size, line)
            self._row(table, row, wrapped, widths, size, line)
            self.down(line * height)

    def _headers(self, table, widths, size, line):
        if not any(table.headers):
            return
        headers = [textwrap.wrap(header, max(int(width * 72 / (size * 0.6)), 4))[:3] or [""]
                   for header, width in zip(table.headers, widths)]
        height = max(len(lines) for lines in headers)
        headers = [[""] * (height - len(lines)) + lines for lines in headers]
        self._row(table, [""] * len(widths), headers, widths, size, line, _SOFT)
        self.down(line * height)
        self._rule(self._y + 0.03 / _HEIGHT, sum(widths))
        self.down(0.02)

    def _rule(self, y, width):
        from matplotlib.lines import Line2D
        self.figure.add_artist(Line2D([_LEFT, _LEFT + width / _WIDTH], [y, y], color="#c3cad4", linewidth=0.6))

    def _row(self, table, row, wrapped, widths, size, line, colour="black"):
        x = _LEFT
        for index, (cell, lines, width) in enumerate(zip(row, wrapped, widths)):
            is_text = index < table.left or index in table.wide
            if isinstance(cell, Share):
                self._bar(cell, x, width, line)
            for number, words in enumerate(lines):
                self.figure.text(x if is_text else x + (width - 0.06) / _WIDTH, self._y - number * line / _HEIGHT,
                                 _plain(words), size=size, color=colour, va="top", ha="left" if is_text else "right")
            x += width / _WIDTH

    def _bar(self, cell, x, width, line):
        from matplotlib.patches import Rectangle
        for share, alpha in ((cell.share, 0.16), (cell.inner, 0.25)):
            self.figure.add_artist(Rectangle((x, self._y - line / _HEIGHT * 0.82), share * (width - 0.06) / _WIDTH,
                                             line / _HEIGHT * 0.9, color=_ACCENT, alpha=alpha, linewidth=0))


def _cell_text(cell):
    return cell.replace("\u2003", "   ")


def _wanted_widths(table, cells, size):
    """Returns inches for each column: the width of its longest text; 0 for long texts."""
    letter, widths = size * 0.56 / 72, []
    for index, header in enumerate(table.headers):
        words = len(header) if len(header) <= (16 if len(table.headers) <= 6 else 10) else \
            max((len(word) for word in header.split()), default=0)
        longest = max([words, *(len(row[index]) for row in cells)], default=1)
        least = 0.95 if any(isinstance(row[index], Share) for row in table.rows) else 0.0
        width = min(max(longest * letter + 0.14, least), 2.4 if index < table.left else 1.2)
        widths.append(width if index not in table.wide else 0.0)
    return widths


def _parts(table, size):
    """Splits a table into tables that fit the page, each with the first column."""
    widths = _wanted_widths(table, [[_cell_text(cell) for cell in row] for row in table.rows], size)
    widths = [max(width, _LEAST_WIDE) if index in table.wide else width for index, width in enumerate(widths)]
    if len(widths) < 3 or sum(widths) <= _WHOLE:
        return [table]
    spans, used = [[]], widths[0]
    for index in range(1, len(widths)):
        if spans[-1] and used + widths[index] > _WHOLE:
            spans.append([])
            used = widths[0]
        spans[-1].append(index)
        used += widths[index]
    return [_part(table, (0, *span)) for span in spans]


def _part(table, span):
    """Returns the columns of a table that have these numbers."""
    return Table(table.key, table.title, [table.headers[i] for i in span], [[row[i] for i in span] for row in table.rows],
                 sum(i < table.left for i in span), [place for place, i in enumerate(span) if i in table.wide])


def _widths(table, cells, size):
    """Returns the final widths: long texts share the rest, and all columns fit on the page."""
    widths, whole = _wanted_widths(table, cells, size), _WHOLE
    if table.wide:
        rest = max(whole - sum(widths), 1.5) / len(table.wide)
        widths = [rest if index in table.wide else width for index, width in enumerate(widths)]
    scale = min(whole / sum(widths), 1.0) if sum(widths) else 1.0
    return [width * scale for width in widths]


# ---- charts ---------------------------------------------------------------------------------------


def _set_axes(axes, unit):
    from matplotlib import ticker
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color("#cfd5de")
    axes.tick_params(labelsize=6.5, colors=_SOFT, length=0)
    axes.grid(axis="y", color="#e9ecf1", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.yaxis.set_major_formatter(ticker.FuncFormatter(
        lambda value, _: _short(human.text_of(value, unit)) if value else "0"))
    axes.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: _time_text(value, axes.get_xlim()[1])))
    top = axes.get_ylim()[1]
    if unit.startswith("B") and top > 0:
        axes.yaxis.set_major_locator(ticker.MultipleLocator(2.0 ** math.ceil(math.log2(max(top / 4, 1)))))
    else:
        axes.yaxis.set_major_locator(ticker.MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_locator(ticker.MaxNLocator(8, steps=[1, 1.2, 1.5, 2, 3, 6, 10] if axes.get_xlim()[1] > 120
                                                    else [1, 2, 5, 10]))


def _short(text):
    """Returns "50 MiB" for "50.0 MiB"."""
    number, _, unit = text.partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def _time_text(value, span):
    if span < 120:
        return f"{value:g} s"
    minutes, seconds = divmod(round(value), 60)
    if span < 7200:
        return f"{minutes}:{seconds:02d}"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}" if span < 86400 else f"{hours // 24} d {hours % 24:02d}:{minutes:02d}"


def _draw(axes, chart, seconds, tags, offsets):
    """Draws a chart with its title, legend and tags."""
    is_many = len(chart.lines) > 8
    for line in chart.lines:
        colour = _LIMIT if line.colour < 0 else _COLOURS[0 if is_many else line.colour % 8]
        shift = offsets[line.run] if offsets else 0.0
        times = [time + shift for time in line.times]
        mean = [math.nan if value is None else value for value in line.mean]
        known = sum(value == value for value in mean)
        axes.plot(times, mean, color=colour, linewidth=0.6 if is_many else 1.0, alpha=0.35 if is_many else 1,
                  linestyle="--" if line.is_level else "-", marker="o" if known < 3 else None, markersize=2.5,
                  label=_plain(_cut(f"{line.label}  {line.said}", 6, 3.5)))
        if line.low is not None:
            low, high = ([math.nan if value is None else value for value in one] for one in (line.low, line.high))
            axes.fill_between(times, low, high, color=colour, alpha=0.18, linewidth=0)
    axes.set_ylim(0, max(axes.get_ylim()[1], max((line.top or 0 for line in chart.lines), default=0) * 1.06, 1e-9))
    axes.set_xlim(0, max(seconds, 1e-6))
    _set_axes(axes, chart.unit)
    _draw_tags(axes, tags, seconds)
    if chart.lines and not is_many:
        lines = dict(zip(chart.lines, axes.get_lines()))
        ordered = sorted(chart.lines, key=lambda line: (line.colour < 0, line.colour))
        axes.legend(handles=[lines[line] for line in ordered], loc="upper left", bbox_to_anchor=(0, -0.14), fontsize=6.2,
                    frameon=False, ncol=2, borderaxespad=0, handlelength=1.2, columnspacing=1.5, labelcolor=_SOFT)


def _draw_tags(axes, tags, seconds):
    last = -math.inf
    for at, label in tags:
        axes.axvline(at, color="0.55", linewidth=0.6, linestyle=":")
        room = seconds * 0.012 * (min(len(label), 30) + 1)
        if at - last > 0 and at + room < seconds * 1.02:
            axes.annotate(_plain(_cut(label, 6, 2)), (at, 1), xycoords=("data", "axes fraction"), xytext=(1.5, 2),
                          textcoords="offset points", size=6, color=_SOFT)
            last = at + room


def _chart_pages(document, described, seconds, tags=(), offsets=None):
    for chart in described:
        legend = 0 if len(chart.lines) > 8 else (len(chart.lines) + 1) // 2 * 0.13
        height = 1.25 if chart.has_points else 0.3
        y = document.room(height + legend + 0.52)
        document.figure.text(_LEFT, y, _plain(chart.title), size=9, weight="bold", va="top")
        beside = _LEFT + (len(chart.title) * 9 * 0.62 / 72 + 0.12) / _WIDTH
        document.figure.text(beside, y - 0.02 / _HEIGHT, _plain(_cut(chart.note, 7, 5.4)), size=7, color=_SOFT, va="top")
        if chart.has_points:
            axes = document.figure.add_axes((_LEFT + 0.075, y - (0.36 + height) / _HEIGHT, _RIGHT - _LEFT - 0.075,
                                             height / _HEIGHT))
            _draw(axes, chart, seconds, tags, offsets)
        else:
            document.figure.text(_LEFT, y - 0.22 / _HEIGHT, _plain(chart.missing or "Not measured."), size=7.5,
                                 color=_SOFT, va="top")
        document.down(height + legend + 0.66)


# ---- nodes of a job -------------------------------------------------------------------------------


def _maps(run):
    """Returns (title, note, unit, values by node and row) of the metrics of each node that the library's page shows."""
    names = {(column.metric, part, node): column.name for column, part, node in run._columns_of_nodes()}
    parts = {}
    for column in run.columns:
        if column.level == "job":
            parts.setdefault(column.metric, []).append(column.instance)
    for group in views.groups("job"):
        title, unit = views.head("job", group)
        row = next((row for row in views.rows("job", group) if row.metric in parts), None)
        for part in parts[row.metric] if row else ():
            of_nodes = [names.get((row.metric, part, node.name)) for node in run.nodes]
            values = [[value / row.divisor for value in run.series(name, "mean")] if name else
                      [math.nan] * len(run.times) for name in of_nodes]
            if any(value > 0 for series in values for value in series):
                yield title, part or row.label, unit, values


def _key_text(unit, value, _):
    return _short(human.text_of(value, unit)) if value else "0"


def _map_pages(document, run):
    """Adds a heat map of nodes and times for each metric."""
    nodes = [node.name for node in run.nodes]
    height = min(max(len(nodes) * 0.13, 0.6), 2.6)
    for title, note, unit, values in _maps(run):
        y = document.room(height + 0.6)
        document.figure.text(_LEFT, y, _plain(title), size=9, weight="bold", va="top")
        beside = _LEFT + (len(title) * 9 * 0.64 / 72 + 0.2) / _WIDTH
        document.figure.text(beside, y - 0.02 / _HEIGHT, _plain(f"{note}; each node over time"), size=7, color=_SOFT, va="top")
        axes = document.figure.add_axes((_LEFT + 0.1, y - (0.25 + height) / _HEIGHT, _RIGHT - _LEFT - 0.2, height / _HEIGHT))
        most = max(value for series in values for value in series if value == value)
        image = axes.imshow(values, aspect="auto", interpolation="nearest", cmap="viridis", vmin=0,
                            vmax=max(most, 100 if unit == "%" else 0), extent=(0, run.times[-1], len(nodes), 0))
        named = range(len(nodes)) if len(nodes) <= 20 else (0, len(nodes) - 1)
        axes.set_yticks([place + 0.5 for place in named], [_plain(_cut(nodes[place], 6.5, 0.9)) for place in named])
        axes.tick_params(labelsize=6.5, colors=_SOFT, length=0)
        axes.xaxis.set_major_formatter(lambda value, _: _time_text(value, run.times[-1]))
        key = document.figure.add_axes((_RIGHT - 0.09, y - (0.25 + height) / _HEIGHT, 0.012, height / _HEIGHT))
        bar = document.figure.colorbar(image, cax=key, format=functools.partial(_key_text, unit))
        bar.ax.tick_params(labelsize=6, colors=_SOFT, length=0)
        bar.outline.set_visible(False)
        document.down(height + 0.6)


def _header(run):
    """Returns the line above each page of a job: its id, user, nodes and dates; of another run ""."""
    job = run.facts.get("job") or {}
    if "id" not in job:
        return ""
    start = datetime.fromtimestamp(run.info.start_realtime_ns / 1e9, timezone.utc)
    end = start + timedelta(seconds=run.info.duration_s)
    nodes = [node.name for node in run.nodes]
    parts = [f"job {job['id']}", job.get("name"), job.get("user"),
             f"{len(nodes)} nodes ({nodes[0]} to {nodes[-1]})" if len(nodes) > 4 else ", ".join(nodes),
             f"{start:%Y-%m-%d %H:%M:%S} to {end:%Y-%m-%d %H:%M:%S} UTC"]
    return "  \u00b7  ".join(str(part) for part in parts if part)


# ---- the document ---------------------------------------------------------------------------------


def _add_run(document, run, title, has_figures, source):
    """Adds headline, charts and tables of one run; ``source`` is the run itself."""
    document.new_page()
    document.text(title, 16, weight="bold")
    document.text("  \u00b7  ".join(run.meta), 8.5, _SOFT)
    document.down(0.18)
    document.tiles(run.tiles)
    document.answers(run.answers)
    scopes = run.table("scopes")
    if scopes:
        document.table(scopes)
    document.down(0.2)
    _chart_pages(document, run.charts, run.seconds, run.tags)
    if source.nodes and source.times:
        _map_pages(document, source)
    if run.quiet:
        document.text(f"Measured, and nothing throughout: {', '.join(run.quiet)}.", 7.5, _SOFT)
    for table in run.tables:
        if table is not scopes and (has_figures or not table.key.startswith("node")):
            document.table(table)


def _add_combined(document, page, title):
    document.new_page()
    document.text(title, 16, weight="bold")
    document.text(page.all.meta, 8.5, _SOFT)
    document.down(0.18)
    document.tiles(page.all.tiles)
    first = [table for table in page.all.tables if not table.key.startswith("node")]
    for table in first:
        document.table(table, 6.5 if table.key == "runs" else 7.0)
    offsets = page.all.offsets
    document.heading("All together" + (", by the clock" if offsets else ", each from its start"), 2.5)
    document.down(0.06)
    seconds = max(run.seconds + (offsets[index] if offsets else 0) for index, run in enumerate(page.runs))
    _chart_pages(document, page.all.charts, seconds, offsets=offsets)
    for table in page.all.tables:
        if table not in first:
            document.table(table, 6.5)


def write(page, title, file, runs):
    """Writes the document about the runs to a binary file."""
    need_matplotlib()
    from matplotlib import style
    from matplotlib.backends.backend_pdf import PdfPages
    from matplotlib.figure import Figure
    with warnings.catch_warnings(), style.context("default"):
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # a box is drawn instead
        with PdfPages(file, metadata={"Title": title, "Creator": f"resmon {version}"}) as pages:
            document = _Document(pages, Figure, title, _header(runs[0]) if page.all is None else "")
            if page.all is None:
                _add_run(document, page.runs[0], title, True, runs[0])
            else:
                _add_combined(document, page, title)
                for run, source in zip(page.runs[:_MAX_DETAILED], runs):
                    _add_run(document, run, run.label, False, source)
                if len(page.runs) > _MAX_DETAILED:
                    document.text(f"Pages of their own for the first {_MAX_DETAILED} of {len(page.runs)}; the HTML report "
                                  "has all of them.", 8, _SOFT)
            document.finish()
