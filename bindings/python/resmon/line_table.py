# SPDX-License-Identifier: MIT
"""The tables of lines.py: values of a Recorder beside the source, in the formats of line_profiler and
memory_profiler.

The source is read when a table is shown, not when the function is decorated.
"""
import linecache
import os
from collections import namedtuple
from time import time

from .line_cost import cost_of, pace_of
from .line_track import MemoryTrack, Recorder, TimeTrack

TimeRow = namedtuple("TimeRow", "line hits seconds text")
MemoryRow = namedtuple("MemoryRow", "line hits rss_bytes increment_bytes peak_bytes text")
MIB = 1 << 20


class LineTable:
    """Values for each line of one function, summed over its calls."""

    def __init__(self, name, code, module_globals):
        self.function = name
        self.file = code.co_filename
        self.first_line = code.co_firstlineno
        self.is_seen = False  # somebody looked, so that the table need not be printed at exit
        self.stream = None  # where it goes at exit, stdout if None
        self.began = None  # called when a thread first runs the function
        self._globals = module_globals
        self._defined = time()
        self._recorder = Recorder(code, self._track, self._begin, cost_of)

    def _begin(self):
        if self.began is not None:
            self.began(self)

    @property
    def rows(self):
        """The lines that ran, as named tuples."""
        self.is_seen = True
        source = self._source()
        return [self._row(line, figures, source.get(line, ""))
                for line, figures in self._totals().items() if figures[0]]

    def clear(self):
        """Deletes the values; the next call starts from zero."""
        self._recorder.clear()
        self.is_seen = False

    def has_figures(self):
        return any(figures[0] for figures in self._totals().values())

    def after_fork(self):
        self.is_seen = False
        return self._recorder.after_fork()

    def to_pandas(self):
        """Returns the rows as a pandas.DataFrame."""
        from .frames import wanted
        return wanted("pandas", "to_pandas()").DataFrame(self.rows, columns=self._row_type._fields)

    def _totals(self):
        return self._recorder.totals()

    def __repr__(self):
        lines = [*self._title(), ""]
        headings = self._headings()
        rows, source = self._shown()
        cells = self._cells(rows)
        widths = [max([width, *(len(row[i]) for row in cells.values())]) for i, width in enumerate(self._widths())]
        heading = self._line(widths, headings)
        lines += [heading, "=" * len(heading)]
        blank = [""] * len(widths)
        for line in sorted({*source, *rows}):
            lines.append(self._line(widths, [str(line), *cells.get(line, blank), source.get(line, "")]).rstrip())
        return "\n".join([*lines, "", *self._notes()])

    def _repr_html_(self):
        from html import escape
        rows, source = self._shown()
        headings = self._headings()
        figures = self._cells(rows)
        blank = [""] * (len(headings) - 2)
        shares = self._shares(rows)
        body = []
        for line in sorted({*source, *rows}):
            share = shares.get(line, 0.0)
            bar = f"background:linear-gradient(to right,rgba(240,140,40,.35) {share:.1f}%,transparent {share:.1f}%)"
            cells = [f'<td style="text-align:right;padding:0 .6em">{escape(cell.strip())}</td>'
                     for cell in (str(line), *figures.get(line, blank))]
            text = f'<td style="text-align:left;white-space:pre;{bar}">{escape(source.get(line, ""))}</td>'
            body.append(f'<tr>{"".join(cells)}{text}</tr>')
        heading = "".join(f'<th style="text-align:{"left" if heading == headings[-1] else "right"};padding:0 .6em">'
                          f'{escape(heading)}</th>' for heading in headings)
        parts = [f"<div>{escape(line)}</div>" for line in self._title() if line]
        parts += ['<table style="border-collapse:collapse;font-family:monospace;font-size:90%">',
                  f"<thead><tr>{heading}</tr></thead><tbody>", *body, "</tbody></table>"]
        parts += [f"<div>{escape(line)}</div>" for line in self._notes() if line]
        return "<div>" + "\n".join(parts) + "</div>"

    def _shown(self):
        rows = {row.line: row for row in self.rows}
        source = self._source()
        return rows, source

    def _source(self):
        """Returns {line: text} of the whole function; empty if the source cannot be found."""
        if os.path.exists(self.file) and not self._is_changed():
            linecache.checkcache(self.file)
        lines = linecache.getlines(self.file, self._globals)[self.first_line - 1:]
        if not lines:
            return {}
        from inspect import getblock
        try:
            lines = getblock(lines)
        except Exception:  # the file changed, and what is there now need not be Python
            lines = lines[:self._recorder.last_line() - self.first_line + 1]
        return {self.first_line + i: line.rstrip() for i, line in enumerate(lines)}

    def _is_changed(self):
        try:
            return os.stat(self.file).st_mtime > self._defined
        except OSError:
            return False

    def _notes(self):
        if not self._is_changed():
            return []
        return [f"{self.file} has changed since {self.function} was defined: the text may not be what ran.", ""]


class LineTimes(LineTable):
    """Time for each line, in the format of line_profiler."""

    _track = TimeTrack
    _row_type = TimeRow

    def __init__(self, name, code, module_globals):
        super().__init__(name, code, module_globals)
        self.unit = 1e-6
        self._pace = 0, 1  # of events, as known when there were so many

    def _seconds(self, figures):
        return max(figures[1] - self._pace[1] * figures[2], 0) / 1e9

    def _totals(self):
        """Uses one correction for everything that is shown of the same values."""
        recorder, totals = self._recorder, super()._totals()
        hits = sum(figures[0] for figures in totals.values())
        if hits != self._pace[0]:
            self._pace = hits, pace_of(recorder.code, recorder.cost)
        return totals

    def _row(self, line, figures, text):
        return TimeRow(line, figures[0], self._seconds(figures), text)

    def _title(self):
        total = sum(map(self._seconds, self._totals().values()))
        return [f"Timer unit: {self.unit:g} s", "", f"Total time: {total:g} s", f"File: {self.file}",
                f"Function: {self.function} at line {self.first_line}"]

    def _headings(self):
        return ["Line #", "Hits", "Time", "Per Hit", "% Time", "Line Contents"]

    def _widths(self):
        return [9, 12, 8, 8]

    def _line(self, widths, cells):
        return "{:>6} {:>{}} {:>{}} {:>{}} {:>{}}  {}".format(
            cells[0], *(part for pair in zip(cells[1:5], widths) for part in pair), cells[5])

    def _cells(self, rows):
        shares = self._shares(rows)
        return {line: [_fit("%d", "%g", row.hits, 9), _fit("%5.1f", "%5.3g", row.seconds / self.unit, 12),
                       _fit("%5.1f", "%5.3g", row.seconds / self.unit / row.hits, 8), "%5.1f" % shares[line]]
                for line, row in rows.items()}

    def _shares(self, rows):
        total = sum(row.seconds for row in rows.values())
        return {line: 100 * row.seconds / total if total else 0.0 for line, row in rows.items()}


class LineMemory(LineTable):
    """Memory for each line, in the format of memory_profiler, with the peak while the line ran."""

    _track = MemoryTrack
    _row_type = MemoryRow

    def __init__(self, name, code, module_globals):
        super().__init__(name, code, module_globals)
        self.precision = 1

    def _row(self, line, figures, text):
        hits, rss, increment, peak = figures
        return MemoryRow(line, hits, rss, increment, None if self._recorder.no_peak else peak, text)

    def _title(self):
        return [f"Filename: {self.file}"]

    def _headings(self):
        peak = [] if self._recorder.no_peak else ["Peak"]
        return ["Line #", "Mem usage", "Increment", *peak, "Occurrences", "Line Contents"]

    def _widths(self):
        return [12, 12] + ([] if self._recorder.no_peak else [12]) + [10]

    def _line(self, widths, cells):
        middle = "".join(f" {cell:>{width}}" for cell, width in zip(cells[1:-2], widths))
        return f"{cells[0]:>6}{middle}  {cells[-2]:>{widths[-1]}}   {cells[-1]}"

    def _cells(self, rows):
        return {line: [*self._sizes(row), str(row.hits)] for line, row in rows.items()}

    def _sizes(self, row):
        sizes = [row.rss_bytes, row.increment_bytes] + ([] if self._recorder.no_peak else [row.peak_bytes])
        return [f"{size / MIB:{self.precision + 4}.{self.precision}f} MiB" for size in sizes]

    def _shares(self, rows):
        # The function's own row is what was there before.
        grown = {line: max(row.increment_bytes, 0) for line, row in rows.items() if line != self.first_line}
        total = sum(grown.values())
        return {line: 100 * figure / total if total else 0.0 for line, figure in grown.items()}

    def _notes(self):
        why = self._recorder.no_peak
        return ([f"No Peak: {why}", ""] if why else []) + super()._notes()


def _fit(form, short, figure, width):
    text = form % figure
    return text if len(text) <= width else short % figure
